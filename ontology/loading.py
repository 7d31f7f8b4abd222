"""Bringing a version into the graph and making it the current one: the steps that ingest and repair share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ontology.errors import ServiceError
from ontology.labelgraph import LabelGraph
from ontology.workspace import Workspace

if TYPE_CHECKING:
    from ontology.catalog import Lease, Version

__all__ = ["STEPS", "Progress", "Steps", "drop_from_graph", "go_live", "load"]

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total): ``done`` is 0 when a step begins and `total` when it has ended."""

STEPS = ("snapshot", "version", "batches", "counts", "commit", "publish", "index")
"""The numbered steps of `ontology.ingest.register`, in order."""


class Steps:
    """Tells the caller's `Progress` where the work is, and takes the time of each step."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}

    def report(self, step: str, done: int, total: int) -> None:
        """Pass one report on."""
        if self._progress is not None:
            self._progress(step, done, total)

    @contextmanager
    def step(self, name: str, total: int = 1) -> Iterator[None]:
        """Report beginning and end of a step; one that raises does not end."""
        begin = time.perf_counter()
        self.report(name, 0, total)
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self.report(name, total, total)


def load(workspace: Workspace, lease: Lease, version: Version, steps: Steps) -> None:
    """Take steps 3 and 4: bring the graph to hold `version` as the snapshot has it, and ready."""
    store, catalog = workspace.graph, workspace.catalog
    graph = workspace.snapshot(version)
    wanted, n_batches = (graph.n_labels, graph.n_edges), store.batch_count(graph)
    for attempt in ("as recorded", "afresh"):
        with steps.step("batches", n_batches):
            _load_batches(workspace, lease, version, graph, n_batches, steps)
        with steps.step("counts"):
            found = store.counts(version.digest)
            if found == wanted:
                store.mark_ready(version.digest)
                return
            if attempt == "as recorded":  # the graph was emptied, exchanged or edited since
                drop_from_graph(workspace, version.digest)
                catalog.restart_batches(lease, version, n_batches)
    raise ServiceError(
        f"graph of {lease.name!r}: holds (labels, edges) = {found} after loading, the snapshot has {wanted}; "
        "something else writes to it: stop that, then run the ingest again"
    )


def go_live(workspace: Workspace, lease: Lease, version: Version, steps: Steps) -> None:
    """Take steps 5 to 7: commit, then let graph and index file follow."""
    with steps.step("commit"):
        workspace.catalog.commit(lease, version)
    with steps.step("publish"):
        if workspace.graph.current(lease.name) != version.digest:
            workspace.graph.publish(lease.name, version.digest, lease.fence)
    with steps.step("index"):
        workspace.refresh_index(lease.name)


def drop_from_graph(workspace: Workspace, digest: str) -> None:
    """Drop a version from the graph, also where names answer with it: the next opening puts those right."""
    for name in workspace.catalog.currents():
        if workspace.graph.current(name) == digest:
            workspace.graph.drop_ontology(name)
    workspace.graph.drop_version(digest)


def _load_batches(
    workspace: Workspace, lease: Lease, version: Version, graph: LabelGraph, n_batches: int, steps: Steps
) -> None:
    """Load the batches that are still pending; none are when the version is ready and whole."""
    store, catalog = workspace.graph, workspace.catalog
    pending = catalog.pending_batches(version)
    if not pending:
        return
    state = store.begin_version(lease.name, graph)
    whole = state == "ready" and store.counts(graph.digest) == (graph.n_labels, graph.n_edges)
    for number in pending:
        if not whole:  # another name may have loaded the same content
            catalog.renew(lease)  # a holder that was taken over stops before it writes
            store.load_batch(graph, number)
        catalog.batch_done(lease, version, number)
        if number + 1 < n_batches:
            steps.report("batches", number + 1, n_batches)
