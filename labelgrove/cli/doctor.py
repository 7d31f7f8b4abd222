"""``grove doctor``: what is in use, whether it answers, and the fix for what is wrong."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata

import click

from labelgrove.cli.common import emit, json_option, table
from ontology.errors import GroveError, ServiceError
from ontology.settings import Settings, masked

__all__ = ["doctor"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `ok` is None where nothing is wrong but something could be had."""

    part: str
    ok: bool | None
    uses: str
    detail: str
    reachable: bool = True


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say which parts are in use, reach each of them, and name the fix for what is wrong.

    Exit code 5 when a service cannot be reached, 1 when something else is wrong.
    """
    settings = Settings.from_env()
    findings = [
        Finding("python", True, platform.python_version(), f"labelgrove {metadata.version('labelgrove')}"),
        _look("artifacts", settings.artifacts_url, lambda: _artifacts(settings)),
        _look("database", settings.database_url, lambda: _database(settings)),
        _look("graph", settings.graph_url, lambda: _graph(settings)),
        _look("cache", settings.cache_url or "local folder", lambda: _cache(settings)),
        _look("workers", settings.broker_url or "in this process", lambda: _workers(settings)),
        _wordnet(),
    ]
    mark = {True: "ok", False: "WRONG", None: "note"}
    emit(
        {"ok": all(f.ok is not False for f in findings), "parts": [asdict(f) for f in findings]},
        as_json,
        lambda: table(
            ("part", "state", "in use", "detail"),
            [(f.part, mark[f.ok], f.uses, f.detail) for f in findings],
            limit=300,
        ),
    )
    if any(not f.reachable for f in findings):
        raise SystemExit(5)
    if any(f.ok is False for f in findings):
        raise SystemExit(1)


def _look(part: str, uses: str, check: Callable[[], str]) -> Finding:
    """Run one check; its error, which names the fix, becomes the detail."""
    try:
        return Finding(part, True, masked(uses), check())
    except GroveError as error:
        return Finding(part, False, masked(uses), masked(str(error)), not isinstance(error, ServiceError))


def _artifacts(settings: Settings) -> str:
    from ontology.artifacts import open_store

    store = open_store(settings.artifacts_url)
    probe = store.put_bytes(b"labelgrove doctor\n")
    store.read_bytes(probe)
    store.delete(probe)
    return "written, read back, deleted"


def _database(settings: Settings) -> str:
    from ontology.workspace import Workspace

    with Workspace.open(settings) as workspace:
        names = workspace.catalog.names()
        return f"{workspace.engine.dialect.name}, schema up to date, {len(names)} ontologies"


def _graph(settings: Settings) -> str:
    from ontology.graph.errors import GraphDamagedError
    from ontology.workspace import Workspace

    with Workspace.open(settings) as workspace:
        described = ", ".join(f"{k} {v}" for k, v in workspace.graph.describe().items())
        for version in workspace.catalog.versions():
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

    check_deployment(settings)
    return "broker answers and never evicts a message"


def _wordnet() -> Finding:
    from ontology.readers import find_wordnet

    found = find_wordnet()
    if found is None:
        fix = "for the second part of quickstart: apt-get install wordnet-base, or set WNHOME"
        return Finding("wordnet", None, "not found", fix)
    return Finding("wordnet", True, str(found), "noun and verb hierarchies can be ingested")
