"""``grove doctor``: check every used part of the deployment, and name the fix for each problem."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.workspace import open_workspace
from labelgrove.cli.printing.text import emit, json_option
from labelgrove.cli.printing.texttable import table
from labelgrove.ontology.errors import GroveError, ServiceError, SettingsError, counted, first_few, sized
from labelgrove.ontology.settings import Settings, masked, unknown_variables

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["doctor"]

_SKEW_NOTED_S, _SKEW_WRONG_S = 2.0, 10.0
_LOW_BYTES, _LOW_SHARE = 10**9, 20  # too little free: under 1 GB, or under 1/20 of a smaller disk
_OPEN_FILES = 1024


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    If nothing is wrong but something could be better, `ok` is None.
    """

    part: str
    ok: bool | None
    uses: str
    detail: str
    reachable: bool = True


class Note(str):
    """A text about something that works but could be better; the text names the fix."""

    __slots__ = ()


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check every part of the deployment that is in use, and name the fix for each problem.

    The exit code is 5 if a service cannot be reached, and 1 for another problem. It is 0 if there are only
    notes.
    """
    unknown = unknown_variables(os.environ)
    known = {name: value for name, value in os.environ.items() if name not in unknown}
    settings, malformed = _settings(known)
    with open_workspace(settings) as workspace:
        parts = [
            *_environment(known, malformed, unknown),
            *_services(workspace, malformed),
            *_host(settings),
        ]
    mark = {True: "ok", False: "WRONG", None: "note"}
    emit(
        {"ok": all(f.ok is not False for f in parts), "parts": [asdict(f) for f in parts]},
        as_json,
        lambda: table(
            ("part", "state", "in use", "detail"),
            [(f.part, mark[f.ok], f.uses, f.detail) for f in parts],
            wrap=True,
        ),
    )
    if any(f.ok is False and not f.reachable for f in parts):
        raise SystemExit(5)
    if any(f.ok is False for f in parts):
        raise SystemExit(1)


_NEEDS = {
    "artifacts": ("GROVE_ARTIFACTS_URL",),
    "database": ("GROVE_DATABASE_URL",),
    "graph": ("GROVE_GRAPH_URL", "GROVE_DATABASE_URL", "GROVE_ARTIFACTS_URL"),
    "cache": ("GROVE_CACHE_URL",),
    "workers": ("GROVE_BROKER_URL", "GROVE_DATABASE_URL", "GROVE_GRAPH_URL"),
}
"""The variables that each part depends on; the first one is the variable of the part itself."""


def _settings(known: Mapping[str, str]) -> tuple[Settings, dict[str, SettingsError]]:
    """Return the settings, and a dictionary from the names of malformed variables to their errors.

    In the settings, a malformed variable is replaced by its default, but parts that depend on it are not
    checked. For a malformed ``GROVE_HOME`` an error is raised, since nothing can be checked without it.
    """
    env = dict(known)
    malformed: dict[str, SettingsError] = {}
    while True:
        try:
            return Settings.from_env(env), malformed
        except SettingsError as error:
            if error.variable in ("", "GROVE_HOME", *malformed):
                raise
            malformed[error.variable] = error
            env.pop(error.variable, None)
            env.pop(f"{error.variable}_FILE", None)


def _environment(
    known: Mapping[str, str], malformed: Mapping[str, SettingsError], unknown: Mapping[str, str]
) -> list[Finding]:
    of_parts = {needs[0] for needs in _NEEDS.values()}
    names = ", ".join(sorted(name for name in known if name.startswith("GROVE_")))
    return [
        Finding("python", True, platform.python_version(), f"labelgrove {metadata.version('labelgrove')}"),
        Finding(
            "settings", True, "environment" + " and .env" * Path(".env").is_file(), names or "only defaults"
        ),
        *(
            Finding("settings", False, name, masked(str(error)))
            for name, error in malformed.items()
            if name not in of_parts
        ),
        *(Finding(name, False, "not a setting", advice) for name, advice in unknown.items()),
    ]


def _services(workspace: Workspace, malformed: Mapping[str, SettingsError]) -> list[Finding]:
    settings = workspace.settings

    ready = None if "GROVE_DATABASE_URL" in malformed else _ready(workspace)
    checks: dict[str, tuple[str, Callable[[], str]]] = {
        "artifacts": (settings.artifacts_url, lambda: _artifacts(workspace, ready)),
        "database": (settings.database_url, lambda: _database(workspace)),
        "graph": (settings.graph_url, lambda: _graph(workspace, ready)),
        "cache": (settings.cache_url or "local folder", lambda: _cache(settings)),
        "workers": (settings.broker_url or "in this process", lambda: _workers(settings)),
    }
    brokered = settings.broker_url is not None or "GROVE_BROKER_URL" in malformed
    parts = []
    for part, (uses, check) in checks.items():
        needs = _NEEDS[part] if brokered or part != "workers" else ()
        wrong = [name for name in needs if name in malformed]
        if wrong:
            own = wrong[0] == _NEEDS[part][0]
            detail = (
                str(malformed[wrong[0]]) if own else f"not checked: it depends on {wrong[0]}, which is wrong"
            )
            parts.append(Finding(part, False, wrong[0] if own else masked(uses), masked(detail)))
        else:
            parts.append(_look(part, uses, check))
    reached = {part.part for part in parts if part.ok is not False}
    return [
        *parts,
        _look("living workers", "reported within a minute", lambda: _living(workspace, reached, brokered)),
        _look("clocks", "this host and its servers", lambda: _clocks(workspace, reached)),
    ]


def _host(settings: Settings) -> list[Finding]:
    disks = [
        _look(f"disk of {name}", str(folder), functools.partial(_disk, folder))
        for name, folder in _folders(settings).items()
    ]
    return [*disks, _look("open files", "limit of a process", _open_files), _wordnet()]


def _look(part: str, uses: str, check: Callable[[], str]) -> Finding:
    """Run one check and return a finding; if the check fails, the finding has the message of the error."""
    try:
        detail = check()
    except GroveError as error:
        # Work goes on without a cache: no worker should be restarted because it is away.
        away = isinstance(error, ServiceError)
        ok = None if away and part == "cache" else False
        return Finding(part, ok, masked(uses), masked(str(error)), reachable=not away)
    return Finding(part, None if isinstance(detail, Note) else True, masked(uses), masked(detail))


# ---- services ------------------------------------------------------------------------------------------


def _ready(workspace: Workspace) -> list[Version] | None:
    """Return the versions in the catalog whose ingest is complete; None if the database cannot be read.

    In that case, the finding about the database says why.
    """
    try:
        return [version for version in workspace.catalog.versions() if version.state == "ready"]
    except GroveError:
        return None


def _holds_none(store: ArtifactStore, ready: Sequence[Version]) -> bool:
    """Return whether the store has none of the versions' snapshots, a sign that its URL may be wrong."""
    return bool(ready) and not any(store.exists(version.snapshot_sha256) for version in ready)


def _artifacts(workspace: Workspace, ready: Sequence[Version] | None) -> str:
    store = workspace.artifacts
    if ready and _holds_none(store, ready):
        has = "is empty" if next(store.digests(), None) is None else "has none of the snapshots"
        known = counted(len({version.ontology for version in ready}), "ontology", "ontologies")
        right = "folder" if store.folder is not None else "URL"
        raise SettingsError(
            f"this store {has}, but the catalog knows {known}: is GROVE_ARTIFACTS_URL the right {right}? "
            "If so, ingest each ontology again from its source, or restore a backup: grove restore "
            f"(first missing: snapshot {ready[0].snapshot_sha256} of {ready[0].ontology})"
        )
    if store.folder is not None and not store.folder.exists():
        above = _existing_folder(store.folder)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise SettingsError(
                f"the folder does not exist and cannot be made in {above}; point GROVE_ARTIFACTS_URL to one "
                "that you can write to"
            )
        what = "the folder does not exist yet; the first ingest makes it"
        if ready is None:
            return Note(
                f"{what}; the database cannot be read, so it is not known whether versions are missing"
            )
        return what
    # Random content: with equal content, one doctor would delete the file that another is about to read.
    probe = store.put_bytes(f"labelgrove doctor {secrets.token_hex(16)}\n".encode())
    store.read_bytes(probe)
    store.delete(probe)
    return "written, read back, deleted"


def _database(workspace: Workspace) -> str:
    import labelgrove.workers.ledger.schema  # noqa: F401 - the tables of the ledger are tried too
    from labelgrove.ontology.sql.database import describe, find_damage, try_writing

    names = workspace.catalog.names()  # connects, so that the time below is only that of a round trip
    began = time.perf_counter()
    facts = describe(workspace.engine)
    milliseconds = 1000 * (time.perf_counter() - began)
    try_writing(workspace.engine)
    if facts.get("journal", "wal") != "wal":
        raise SettingsError(
            f"journal_mode is {facts['journal']!r}: this file system cannot do write-ahead logging, so "
            "nobody could read during a write; point GROVE_DATABASE_URL to a local disk, or use PostgreSQL"
        )
    damage = find_damage(workspace.engine)
    if damage is not None:
        raise ServiceError(
            f"the file is damaged ({damage}); stop the processes that use it, and restore "
            "a backup into a new file: grove restore"
        )
    detail = f"{workspace.engine.dialect.name}, schema up to date, {len(names)} ontologies"
    return f"{detail}, {facts['version']}, {milliseconds:.1f} ms round trip"


def _graph(workspace: Workspace, ready: Sequence[Version] | None) -> str:
    from labelgrove.ontology.errors import GraphDamagedError

    described = ", ".join(f"{k} {v}" for k, v in workspace.graph.describe().items())
    if ready is None:  # the graph answers; the row of the database says what is wrong there
        return Note(f"{described}; not compared with the database, which cannot be read")
    if _holds_none(workspace.artifacts, ready):
        return Note(
            f"{described}; it cannot be rebuilt from this artifact store; the row `artifacts` says why"
        )
    for version in ready:
        workspace.artifacts.size(version.snapshot_sha256)  # NotFoundError: the graph could not be rebuilt
        if version.current and workspace.graph.current(version.ontology) != version.digest:
            raise GraphDamagedError(
                f"the graph of {version.ontology!r} is out of date; see the warnings, then run: "
                "grove graph rebuild"
            )
    return described


def _cache(settings: Settings) -> str:
    from labelgrove.adapter.loading.rediscache import check_cache

    return check_cache(settings)


def _workers(settings: Settings) -> str:
    if settings.broker_url is None:
        return "no broker: jobs run in the process that waits for them"
    from labelgrove.workers.celery_transport.broker_check import check_deployment

    broker = check_deployment(settings)
    detail = f"broker answers and never evicts a message, Redis {broker.version}"
    if broker.durable:
        return f"{detail}, append-only file"
    return Note(
        f"{detail}; the broker keeps nothing on disk: if it restarts, waiting units are sent again from the "
        "ledger within 10 minutes; to avoid this wait, run: redis-cli CONFIG SET appendonly yes"
    )


def _living(workspace: Workspace, reached: Collection[str], brokered: bool) -> str:
    """Say how many workers are alive.

    If none is alive although a broker or a schedule is set, return a `Note`.
    """
    from labelgrove.workers.running.presence import living
    from labelgrove.workers.schedules.schedule import Timetable

    if "database" not in reached:
        return Note("not known: the database cannot be read")
    found = living(workspace.engine)
    working = [worker for worker in found if worker.slots]
    if working:
        slots, names = sum(worker.slots for worker in working), [worker.name for worker in working]
        return f"{len(working)}, for {slots} units at a time: {first_few(names)}"
    if brokered:
        return Note("no worker is alive, so jobs wait; start one: grove worker")
    if Timetable(workspace.engine).schedules():
        if found:
            return Note("only a sweeper is alive: schedules submit jobs, which wait; start one: grove worker")
        return Note("no worker is alive, so no schedule submits jobs; start one: grove worker")
    return "no worker is alive, and none is needed"


# ---- the host ------------------------------------------------------------------------------------------


def _clocks(workspace: Workspace, reached: Collection[str]) -> str:
    """Compare the clock of this host with the clocks of the services in `reached`, which have answered."""
    from labelgrove.ontology.sql.database import describe
    from labelgrove.workers.celery_transport.broker_check import check_broker

    settings = workspace.settings
    ask: dict[str, Callable[[], float]] = {}
    if "database" in reached and workspace.engine.dialect.name != "sqlite":
        ask["database"] = lambda: float(describe(workspace.engine)["seconds"])
    if "graph" in reached and not settings.graph_is_embedded:
        ask["graph"] = lambda: _graph_seconds(workspace)
    if "workers" in reached and settings.broker_url is not None:
        ask["broker"] = lambda: check_broker(str(settings.broker_url)).seconds
    ahead = {name: _ahead(clock) for name, clock in ask.items()}
    worst = max(0.0, *ahead.values()) - min(0.0, *ahead.values()) if ahead else 0.0
    detail = ", ".join(f"{name} {seconds:+.1f} s" for name, seconds in ahead.items()) or "one clock"
    if worst <= _SKEW_NOTED_S:
        return detail
    fix = f"{detail}: they differ; run a time service (chronyd, systemd-timesyncd) on every host"
    if worst > _SKEW_WRONG_S:
        raise SettingsError(fix)
    return Note(fix)


def _graph_seconds(workspace: Workspace) -> float:
    found = workspace.graph.run_named("clock")  # a user query would start a separate process
    return float(found.rows[0][0]) / 1000


def _ahead(clock: Callable[[], float]) -> float:
    before = time.time()
    there = clock()
    return there - (before + time.time()) / 2


def _folders(settings: Settings) -> dict[str, Path]:
    """Return a dictionary from names of environment variables to the local folders that they name.

    It contains ``GROVE_HOME``. It contains ``GROVE_ARTIFACTS_URL`` only if that names a local folder on
    another disk.
    """
    from labelgrove.ontology.store.artifacts import open_store

    folders = {"GROVE_HOME": settings.home}
    url = settings.artifacts_url
    if "://" not in url or url.startswith("file://"):
        folder = open_store(url).folder
        if folder is not None and (
            _existing_folder(folder).stat().st_dev != _existing_folder(settings.home).stat().st_dev
        ):
            folders["GROVE_ARTIFACTS_URL"] = folder
    return folders


def _disk(folder: Path) -> str:
    usage = shutil.disk_usage(_existing_folder(folder))
    low = min(_LOW_BYTES, usage.total // _LOW_SHARE)
    detail = f"{sized(usage.free)} of {sized(usage.total)} free"
    if usage.free >= low:
        return detail
    fix = f"{detail}: free some space, or move the folder that the variable names to a larger disk"
    if usage.free < low / 10:
        raise SettingsError(fix)
    return Note(fix)


def _open_files() -> str:
    if importlib.util.find_spec("resource") is None:  # only POSIX systems have the module and the limit
        return "no limit"
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = soft == resource.RLIM_INFINITY
    if unlimited or soft >= _OPEN_FILES:
        return "no limit" if unlimited else f"{soft}"
    return Note(
        f"{soft}: each open artifact and each connection counts as an open file; raise the limit "
        "(ulimit -n 4096)"
    )


def _wordnet() -> Finding:
    from labelgrove.ontology.readers import find_wordnet

    found = find_wordnet()
    if found is None:
        fix = "to ingest it: apt-get install wordnet-base, or set WNHOME"
        return Finding("wordnet", None, "not found", fix)
    return Finding("wordnet", True, str(found), "noun and verb hierarchies can be ingested")


def _existing_folder(folder: Path) -> Path:
    """Return the folder; if it does not exist, its nearest existing parent, which is on the same disk."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())
