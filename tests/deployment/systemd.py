"""Render deploy/systemd: what stands in docker-compose.yml, and what only units of systemd have."""

from __future__ import annotations

import shlex

from tests.deployment.compose import PARTS, ROOT, Part, part

__all__ = ["ENVIRONMENT", "FOLDER", "PREFIX", "files"]

FOLDER = ROOT / "deploy" / "systemd"
PREFIX = "/opt/grove/bin"
ENVIRONMENT = "/etc/labelgrove/environment"

_HEAD = """\
# {about}
#
# Rendered from docker-compose.yml: `python -m tests.deployment` writes it again.
# docs/deployment.md is the manual.
"""
_ABOUT = {
    "web": "The HTTP service, on 127.0.0.1:8321 unless a drop-in gives --host.",
    "worker": "The worker of this host, which runs jobs.",
    "sweeper": "What fires schedules and finds lost units while no worker runs, on one host of a deployment.",
}
_METRICS = {  # they share an address here, unlike containers
    "web": ("GROVE_SERVE_METRICS_PORT", "9466"),
    "worker": ("GROVE_METRICS_PORT", "9464"),
    "sweeper": ("GROVE_METRICS_PORT", "9465"),
}
_OF_CONTAINERS = {
    "GROVE_ARTIFACTS_URL",
    "GROVE_METRICS_ADDRESS",
    "GROVE_SERVE_HOSTS",
    *(variable for variable, _ in _METRICS.values()),
}
_FOLDERS = {"GROVE_HOME": "/var/lib/labelgrove", "NUMBA_CACHE_DIR": "/var/cache/labelgrove/numba"}

_HARDENING = """\
# As few rights as it can work with.
User=labelgrove
StateDirectory=labelgrove
StateDirectoryMode=0700
CacheDirectory=labelgrove
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
# Not set: MemoryDenyWriteExecute, because numba compiles; RestrictSUIDSGID, because a folder of artifacts
# that several users share passes its group on (setgid); ProcSubset, because /proc tells the free memory.
# Artifacts in another folder than /var/lib/labelgrove need a drop-in: ReadWritePaths=/srv/grove/artifacts
"""


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    parts = {name: part(name) for name in PARTS}
    return {
        "labelgrove.target": _target(),
        "labelgrove-migrate.service": _migrate(parts["sweeper"]),
        **{f"labelgrove-{name}.service": _service(one) for name, one in parts.items()},
    }


def _target() -> str:
    about = "All of labelgrove on this host: enable the parts that it is to have, and this."
    return f"""{_HEAD.format(about=about)}
[Unit]
Description=labelgrove

[Install]
WantedBy=multi-user.target
"""


def _migrate(like: Part) -> str:
    about = "Brings the database to the schema of this release, before the other parts start."
    return f"""{_HEAD.format(about=about)}
[Unit]
Description=labelgrove: the schema of its database
After=network-online.target postgresql.service
Wants=network-online.target
PartOf=labelgrove.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={PREFIX}/grove db upgrade
{_environment(like, own=False)}
TimeoutStartSec=900
Restart=on-failure
RestartSec=5

{_HARDENING}
[Install]
WantedBy=labelgrove.target
"""


def _service(one: Part) -> str:
    return f"""{_HEAD.format(about=_ABOUT[one.name])}
[Unit]
Description=labelgrove: {one.name}
# Not Requires: a database that starts a moment later would keep this from starting for good. Each part looks
# at the schema itself, ends if it is not that of its release, and is started again.
Wants=network-online.target labelgrove-migrate.service
After=network-online.target labelgrove-migrate.service postgresql.service redis-server.service neo4j.service
PartOf=labelgrove.target

[Service]
Type=exec
ExecStart={_command(one)}
{_environment(one, own=True)}
Restart=on-failure
RestartSec=5
# The first process alone is told to end: it decides what its children finish and what they give back.
KillMode=mixed
TimeoutStopSec={one.grace_s}
MemoryMax={one.memory_bytes // 2**20}M
TasksMax={one.processes}

{_HARDENING}
[Install]
WantedBy=labelgrove.target
"""


def _command(one: Part) -> str:
    """Return the command of the container, without the address that only a container may listen at."""
    program, *rest = one.command
    if "--host" in rest:
        at = rest.index("--host")
        del rest[at : at + 2]
    return shlex.join([f"{PREFIX}/{program}", *rest])


def _environment(one: Part, *, own: bool) -> str:
    settings = {key: value for key, value in one.settings.items() if key not in _OF_CONTAINERS} | _FOLDERS
    if own:
        variable, port = _METRICS[one.name]
        settings[variable] = port
    if not own:
        settings = {key: settings[key] for key in ("GROVE_HOME", "GROVE_LOG_FORMAT")}
    lines = [f"Environment={key}={value}" for key, value in settings.items()]
    return "\n".join([*lines, f"EnvironmentFile={ENVIRONMENT}"])
