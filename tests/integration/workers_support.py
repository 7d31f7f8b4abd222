"""Settings, an ontology without a graph store, and kinds of jobs, for the tests of the workers."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.ontology.errors import InputError, TransientError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import kinds
from labelgrove.workers.kinds import JobKind, Product, Step, Subject, Work
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.requests.plan import plan_job

UNREACHED_GRAPH = "bolt://neo4j:unused@127.0.0.1:1"
"""The URL of a graph that does not exist, since no unit here uses it."""


def settings_in(home: Path, *, broker_url: str | None = None, database_url: str | None = None) -> Settings:
    return Settings(
        home=home,
        graph_url=UNREACHED_GRAPH,
        database_url=database_url or f"sqlite:///{home / 'catalog.db'}",
        artifacts_url=str(home / "artifacts"),
        broker_url=broker_url,
    )


def add_version(workspace: Workspace, name: str, graph: LabelGraph) -> None:
    """Register a version only in the catalog and the artifact store."""
    snapshot = workspace.artifacts.put_arrays(*graph.to_arrays())
    lease = workspace.catalog.acquire(name)
    version = workspace.catalog.open_version(
        lease,
        digest=graph.digest,
        snapshot=(snapshot, workspace.artifacts.size(snapshot)),
        annotations=None,
        n_labels=graph.n_labels,
        n_edges=graph.n_edges,
        layout=graph.layout,
        source=None,
        n_batches=1,
    )
    workspace.catalog.commit(lease, version)
    workspace.catalog.release(lease)


@contextmanager
def registered(*extra: JobKind) -> Iterator[None]:
    """Register more kinds while the block runs."""
    for kind in extra:
        kinds.register(kind)
    try:
        yield
    finally:
        for kind in extra:
            del kinds.registry._registry()[kind.name]


def as_given(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    """Return the parameters unchanged, for a kind that accepts any."""
    del subject
    return dict(given)


# ---- parts: a fan of units, then one that adds them up ---------------------------------------------------


def _parts_complete(parameters: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    if not isinstance(parameters.get("numbers"), list):
        raise InputError("parts: give numbers, a list of integers")
    return {"log": "", **parameters}


def _parts_plan(parameters: Mapping[str, Any]) -> list[Step]:
    units = [Step({"number": n, "log": parameters["log"]}) for n in parameters["numbers"]]
    return [*units, Step({"sum": len(units)}, stage=1)]


def _parts_execute(work: Work) -> Product:
    if "sum" in work.parameters:
        values = [int(work.artifacts.open_arrays(digest)[0]["value"][0]) for digest in work.inputs]
    else:
        values = [work.parameters["number"] ** 2]
        if work.parameters["log"]:
            note(Path(work.parameters["log"]), f"{work.parameters['number']}")
    return Product({"value": np.array([sum(values)], dtype=np.int64)}, {"format": "parts"})


PARTS = JobKind("parts", 1, _parts_complete, _parts_plan, _parts_execute)


def plan_parts(numbers: list[int], log: Path | None = None) -> PlannedJob:
    return plan_job(PARTS, {"numbers": numbers, "log": "" if log is None else str(log)})


# ---- gated: a unit that waits for a file ---------------------------------------------------------------


def _gated_execute(work: Work) -> Product:
    """Record the process, and wait for the file `go`; check for cancellation meanwhile."""
    folder = Path(work.parameters["folder"])
    note(folder / "started", f"{os.getpid()}")
    pause = threading.Event()
    while not (folder / "go").exists():
        work.check()
        pause.wait(0.02)
    return Product(
        {"value": np.frombuffer(work.parameters["name"].encode(), dtype=np.uint8)}, {"format": "gated"}
    )


GATED = JobKind("gated", 1, as_given, lambda parameters: [Step(parameters)], _gated_execute)


# ---- sleeping: a unit that ignores cancellation ---------------------------------------------------


def _sleeping_execute(work: Work) -> Product:
    """Record the process, and wait for the file `go`; never check for cancellation, like compiled code."""
    folder = Path(work.parameters["folder"])
    note(folder / "started", f"{os.getpid()}")
    pause = threading.Event()
    while not (folder / "go").exists():
        pause.wait(0.02)
    return Product({"value": np.zeros(1, dtype=np.uint8)}, {"format": "sleeping"})


SLEEPING = JobKind("sleeping", 1, as_given, lambda parameters: [Step(parameters)], _sleeping_execute)


# ---- scripted: a unit that ends by a script -------------------------------------------------------------


def _scripted_execute(work: Work) -> Product:
    """Raise the error that the script names for this attempt; attempts are counted in a file."""
    log = Path(work.parameters["log"])
    note(log, "attempt")
    script = json.loads(work.parameters["script"])
    match script[min(len(notes(log)), len(script)) - 1]:
        case "transient":
            raise TransientError("the moon is full")
        case "input":
            raise InputError("seven is not a color")
        case "bug":
            raise ZeroDivisionError("a defect")
        case "full disk":
            raise OSError(28, "No space left on device")
    return Product({"value": np.zeros(3, dtype=np.uint8)}, {"format": "scripted"})


SCRIPTED = JobKind("scripted", 1, as_given, lambda parameters: [Step(parameters)], _scripted_execute)


def note(path: Path, line: str) -> None:
    """Append a line, which stays whole even if many processes write at the same time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def notes(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
