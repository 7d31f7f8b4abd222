"""``grove doctor``: what is in use, whether it answers, and the fix for what is wrong."""

from __future__ import annotations

import functools
import importlib.util
import platform
import secrets
import shutil
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

from labelgrove.cli.common import emit, existing_folder, json_option, table, with_workspace
from ontology.artifacts import open_store
from ontology.errors import GroveError, ServiceError, SettingsError
from ontology.settings import Settings, masked
from ontology.workspace import Workspace

__all__ = ["doctor"]

_SKEW_NOTED_S, _SKEW_WRONG_S = 2.0, 10.0
_LOW_BYTES, _LOW_SHARE = 10**9, 20  # little room: below a gigabyte, or a twentieth of a smaller disk
_OPEN_FILES = 1024


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `ok` is None where nothing is wrong but something could be had."""

    part: str
    ok: bool | None
    uses: str
    detail: str
    reachable: bool = True


class Note(str):
    """What a check returns where work goes on but something could be better; its text names the fix."""

    __slots__ = ()


@click.command()
@json_option
@with_workspace
def doctor(workspace: Workspace, as_json: bool) -> None:
    """Say which parts are in use, reach each of them, and name the fix for what is wrong.

    Exit code 5 when a service cannot be reached, 1 when something else is wrong; notes leave it 0.
    """
    settings = workspace.settings
    parts = [
        Finding("python", True, platform.python_version(), f"labelgrove {metadata.version('labelgrove')}"),
        _look("artifacts", settings.artifacts_url, lambda: _artifacts(workspace)),
        _look("database", settings.database_url, lambda: _database(workspace)),
        _look("graph", settings.graph_url, lambda: _graph(workspace)),
        _look("cache", settings.cache_url or "local folder", lambda: _cache(settings)),
        _look("workers", settings.broker_url or "in this process", lambda: _workers(settings)),
    ]
    reached = {part.part for part in parts if part.ok is not False}
    parts.append(_look("clocks", "this host and its servers", lambda: _clocks(workspace, reached)))
    for name, folder in _folders(settings).items():
        parts.append(_look(f"disk of {name}", str(folder), functools.partial(_disk, folder)))
    parts += [_look("open files", "limit of a process", _open_files), _wordnet()]
    mark = {True: "ok", False: "WRONG", None: "note"}
    emit(
        {"ok": all(f.ok is not False for f in parts), "parts": [asdict(f) for f in parts]},
        as_json,
        lambda: table(
            ("part", "state", "in use", "detail"),
            [(f.part, mark[f.ok], f.uses, f.detail) for f in parts],
            limit=300,
        ),
    )
    if any(f.ok is False and not f.reachable for f in parts):
        raise SystemExit(5)
    if any(f.ok is False for f in parts):
        raise SystemExit(1)


def _look(part: str, uses: str, check: Callable[[], str]) -> Finding:
    """Run one check; its error, which names the fix, becomes the detail."""
    try:
        detail = check()
    except GroveError as error:
        # Work goes on without a cache: nobody should restart a worker for that.
        away = isinstance(error, ServiceError)
        ok = None if away and part == "cache" else False
        return Finding(part, ok, masked(uses), masked(str(error)), reachable=not away)
    return Finding(part, None if isinstance(detail, Note) else True, masked(uses), masked(detail))


# ---- services ------------------------------------------------------------------------------------------


def _artifacts(workspace: Workspace) -> str:
    store = workspace.artifacts
    # A content of its own: of two who look at once, one would delete what the other is about to read.
    probe = store.put_bytes(f"labelgrove doctor {secrets.token_hex(16)}\n".encode())
    store.read_bytes(probe)
    store.delete(probe)
    return "written, read back, deleted"


def _database(workspace: Workspace) -> str:
    from ontology.database import describe, find_damage

    names = workspace.catalog.names()  # connects, so that what follows is the way there and back alone
    began = time.perf_counter()
    facts = describe(workspace.engine)
    milliseconds = 1000 * (time.perf_counter() - began)
    if facts.get("journal", "wal") != "wal":
        raise SettingsError(
            f"journal_mode is {facts['journal']!r}: this file system cannot do write-ahead logging, which "
            "readers beside a writer need; point GROVE_DATABASE_URL to a local disk, or use PostgreSQL"
        )
    damage = find_damage(workspace.engine)
    if damage is not None:
        raise ServiceError(
            f"the file is damaged ({damage}); stop what uses it and restore "
            "a backup into a new one: grove restore"
        )
    detail = f"{workspace.engine.dialect.name}, schema up to date, {len(names)} ontologies"
    return f"{detail}, {facts['version']}, {milliseconds:.1f} ms there and back"


def _graph(workspace: Workspace) -> str:
    from ontology.graph.errors import GraphDamagedError

    described = ", ".join(f"{k} {v}" for k, v in workspace.graph.describe().items())
    try:
        versions = workspace.catalog.versions()
    except GroveError:  # the graph answers; what is wrong with the database is said in its own row
        return Note(f"{described}; the database cannot tell what it should hold")
    for version in versions:
        if version.state == "ready":
            workspace.artifacts.size(version.snapshot_sha256)  # NotFoundError: nothing could make it anew
        if version.current and workspace.graph.current(version.ontology) != version.digest:
            raise GraphDamagedError(
                f"the graph of {version.ontology!r} is out of date; see the warnings, then run: "
                "grove graph rebuild"
            )
    return described


def _cache(settings: Settings) -> str:
    from adapter.cache import check_cache

    return check_cache(settings)


def _workers(settings: Settings) -> str:
    if settings.broker_url is None:
        return "no broker: jobs run in the process that waits for them"
    from workers.broker_check import check_deployment

    broker = check_deployment(settings)
    detail = f"broker answers and never evicts a message, Redis {broker.version}"
    if broker.durable:
        return f"{detail}, append-only file"
    return Note(
        f"{detail}; it keeps nothing on disk, so after its restart waiting units are sent again from the "
        "ledger, within 10 minutes; CONFIG SET appendonly yes spares the wait"
    )


# ---- the host ------------------------------------------------------------------------------------------


def _clocks(workspace: Workspace, reached: Collection[str]) -> str:
    """Compare the clocks of what was reached with that of this host."""
    from ontology.database import describe
    from workers.broker_check import check_broker

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
    found = workspace.graph.run_user("RETURN datetime().epochMillis AS milliseconds")
    return float(found.rows[0][0]) / 1000


def _ahead(clock: Callable[[], float]) -> float:
    before = time.time()
    there = clock()
    return there - (before + time.time()) / 2


def _folders(settings: Settings) -> dict[str, Path]:
    """Return the local folders in use; those that share a disk with an earlier one are left out."""
    folders = {"GROVE_HOME": settings.home}
    url = settings.artifacts_url
    if "://" not in url or url.startswith("file://"):
        artifact = open_store(url).local_path("0" * 64)
        if artifact is not None and (
            existing_folder(artifact).stat().st_dev != existing_folder(settings.home).stat().st_dev
        ):
            folders["GROVE_ARTIFACTS_URL"] = artifact.parents[2]
    return folders


def _disk(folder: Path) -> str:
    usage = shutil.disk_usage(existing_folder(folder))
    low = min(_LOW_BYTES, usage.total // _LOW_SHARE)
    detail = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB free"
    if usage.free >= low:
        return detail
    fix = f"{detail}: make room, or move what the variable names to a larger disk"
    if usage.free < low / 10:
        raise SettingsError(fix)
    return Note(fix)


def _open_files() -> str:
    if importlib.util.find_spec("resource") is None:  # only POSIX systems have it, and this limit
        return "no limit"
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = soft == resource.RLIM_INFINITY
    if unlimited or soft >= _OPEN_FILES:
        return "no limit" if unlimited else f"{soft}"
    return Note(f"{soft}: artifacts are memory maps and each connection is a file; raise it (ulimit -n 4096)")


def _wordnet() -> Finding:
    from ontology.readers import find_wordnet

    found = find_wordnet()
    if found is None:
        fix = "for the second part of quickstart: apt-get install wordnet-base, or set WNHOME"
        return Finding("wordnet", None, "not found", fix)
    return Finding("wordnet", True, str(found), "noun and verb hierarchies can be ingested")
