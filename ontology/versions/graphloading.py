"""Load a version into the graph and make it the current one, for an ingest or a repair."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import (
    ConflictError,
    GraphDamagedError,
    NotFoundError,
    QueryFailedError,
    ServiceError,
    TransientError,
)
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.graphannotations import readable_annotations
from labelgrove.ontology.versions.indexfile import refresh_index
from labelgrove.ontology.versions.snapshots import stored_graph
from labelgrove.ontology.versions.stores import Stores

if TYPE_CHECKING:
    from labelgrove.ontology.graph import GraphStore
    from labelgrove.ontology.sql.catalog import Catalog, Lease, Version

__all__ = [
    "NAMELESS",
    "STEPS",
    "Progress",
    "Steps",
    "complete",
    "drop_from_graph",
    "go_live",
    "holds",
    "load",
    "load_share",
]

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total); ``done`` is 0 when a step begins, and ``total`` when it has ended."""

STEPS = ("snapshot", "version", "batches", "counts", "annotations", "commit", "publish", "index", "labels")
"""The numbered steps of `ontology.versions.ingest.register`, in order."""

NAMELESS = ""
"""The name that a version has in the graph if it has none in the catalog."""


class Steps:
    """Measure the time of each step of an ingest, and report its progress to the caller's `Progress`."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}

    def report(self, step: str, done: int, total: int) -> None:
        """Call the caller's `Progress`, if there is one."""
        if self._progress is not None:
            self._progress(step, done, total)

    @contextmanager
    def step(self, name: str, total: int = 1) -> Iterator[None]:
        """Run a block of code as the step `name`: report its beginning and its end, and add up its time.

        If the block raises an error, its end is not reported.
        """
        begin = time.perf_counter()
        self.report(name, 0, total)
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self.report(name, total, total)


def load(stores: Stores, lease: Lease, version: Version, steps: Steps) -> None:
    """Load `version` into the graph, count its labels and edges, show its annotations, and mark it ready.

    These are steps 3 to 5 of an ingest (`ontology.versions.ingest`). A graph store that can write the version
    whole does all of them in step 3. If the numbers of labels and edges are wrong, because somebody changed
    the graph after the batches were recorded as done, everything is loaded once more.
    """
    store, catalog = stores.graph, stores.catalog
    graph = stored_graph(stores.artifacts, version.snapshot_sha256, version.digest)
    wanted, n_batches = (graph.n_labels, graph.n_edges), store.batch_count(graph)
    for attempt in ("as recorded", "afresh"):
        with steps.step("batches", n_batches):
            whole = n_batches == 1 and _load_whole(stores, lease, version, graph)
            if not whole:
                _load_batches(stores, lease, version, graph, n_batches, steps)
        with steps.step("counts"):
            found = wanted if whole else store.counts(version.digest)
            if found == wanted:
                break
            if attempt == "as recorded":  # the graph was emptied, replaced or edited after that
                drop_from_graph(stores, version.digest)
                catalog.restart_batches(lease, version, n_batches)
    else:
        raise ServiceError(
            f"graph of {lease.name!r}: (labels, edges) = {found} after loading, but {wanted} in the "
            "snapshot; another program writes to the graph: stop it, then run the ingest again"
        )

    def before_batch(done: int, total: int) -> None:
        catalog.renew(lease)  # a holder that lost the lease stops before it writes
        if done:
            steps.report("annotations", done, total)

    with steps.step("annotations"):
        if not whole:
            shown = readable_annotations(stores, graph)
            store.mark_ready(version.digest, shown, before_batch, counts=found)


def go_live(stores: Stores, lease: Lease, version: Version, steps: Steps) -> str | None:
    """Do steps 6 to 8 of an ingest: make `version` current in the catalog, the graph and the index file.

    Return the digest of the version that was current before; None if there was none.
    """
    with steps.step("commit"):
        before = stores.catalog.commit(lease, version)
    with steps.step("publish"):
        new = version.state == "loading"  # until the commit, so it was not published under this name
        if new or stores.graph.current(lease.name) != version.digest:
            stores.graph.publish(lease.name, version.digest, lease.fence, new=new)
    with steps.step("index"):
        refresh_index(stores.catalog, stores.artifacts, lease.name)
    return before


def drop_from_graph(stores: Stores, digest: str) -> None:
    """Drop a version from the graph, even if it is the current version of some names.

    Such names are repaired when a workspace next opens the graph.
    """
    for name in stores.catalog.currents():
        if stores.graph.current(name) == digest:
            stores.graph.drop_ontology(name)
    stores.graph.drop_version(digest)


# ---- loading without a name ----------------------------------------------------------------------------


def load_share(stores: Stores, graph: LabelGraph, share: int, shares: int, check: Callable[[], None]) -> None:
    """Load one share of a version's batches into the graph; safe to repeat.

    The batches are divided into `shares` shares, and `share` is the number of this one, from 0. Shares must
    be loaded in ascending order, because edges need the labels of earlier batches. The graph store
    determines the number of batches; if there are fewer batches than shares, some shares are empty. `check`
    is called before each batch; it ends the work by raising an error.

    Raises
    ------
    TransientError
        If somebody drops or loads the version at the same time.
    """
    store = stores.graph
    with _others_at_work(graph):
        if _begin(store, _first_name(stores.catalog, graph.digest), graph):
            return
    n_batches = store.batch_count(graph)
    for number in range(share * n_batches // shares, (share + 1) * n_batches // shares):
        check()
        with _others_at_work(graph):
            store.load_batch(graph, number)


def complete(stores: Stores, graph: LabelGraph, annotations: str | None, check: Callable[[], None]) -> None:
    """Count the labels and edges of a version in the graph, show its annotations, and mark it ready.

    If the numbers are wrong, or the version was dropped meanwhile, the version is loaded again first.
    `annotations` is the artifact to show if the catalog has none for the version. `check` and the errors are
    those of `load_share`; `check` is also called before each batch of annotations.
    """
    found: tuple[int, int] | None = stores.graph.counts(graph.digest)
    if found != (graph.n_labels, graph.n_edges):
        with _others_at_work(graph):  # dropped or edited while it was loaded
            drop_from_graph(stores, graph.digest)
        load_share(stores, graph, 0, 1, check)
        found = None  # to be counted again

    def before_batch(_done: int, _total: int) -> None:
        check()

    with _others_at_work(graph):
        shown = readable_annotations(stores, graph, annotations)
        stores.graph.mark_ready(graph.digest, shown, before_batch, counts=found)


def holds(store: GraphStore, graph: LabelGraph) -> bool:
    """Return whether the graph store contains the version of `graph`, ready and complete.

    To find out, count the labels and edges of the version in the graph store.
    """
    states = {row["digest"]: row["state"] for row in store.versions()}
    wanted = (graph.n_labels, graph.n_edges)
    return states.get(graph.digest) == "ready" and store.counts(graph.digest) == wanted


def _first_name(catalog: Catalog, digest: str) -> str:
    """Return the first ontology name that the catalog has for the version; `NAMELESS` if there is none."""
    names = (version.ontology for version in catalog.versions() if version.digest == digest)
    return next(names, NAMELESS)


@contextmanager
def _others_at_work(graph: LabelGraph) -> Iterator[None]:
    """Raise `TransientError` in place of errors that appear when other processes change the same version.

    A version has no lease, so another process may drop it or load it at the same time. If both load it, the
    embedded engine refuses a key as a duplicate.
    """
    try:
        yield
    except (ConflictError, GraphDamagedError, NotFoundError, QueryFailedError) as error:
        raise TransientError(
            f"version {graph.digest[:12]} was changed in the graph while it was loaded ({error}); "
            "the next attempt loads it again"
        ) from error


# ---- building blocks -----------------------------------------------------------------------------------


def _begin(store: GraphStore, name: str, graph: LabelGraph) -> bool:
    """Record in the graph store that a version is being loaded; return whether it is there and complete."""
    wanted = (graph.n_labels, graph.n_edges)
    return store.begin_version(name, graph) == "ready" and store.counts(graph.digest) == wanted


def _load_whole(stores: Stores, lease: Lease, version: Version, graph: LabelGraph) -> bool:
    """Load the only batch of a version in one write, if it is pending; return whether that was done.

    That write has also counted labels and edges, shown the annotations and marked the version ready.
    """
    pending = stores.catalog.pending_batches(version)
    if not pending:
        return False
    stores.catalog.renew(lease)  # a holder that lost the lease stops before it writes
    if not stores.graph.load_whole(lease.name, graph, partial(readable_annotations, stores, graph)):
        return False
    stores.catalog.batch_done(lease, version, pending[0])
    return True


def _load_batches(
    stores: Stores, lease: Lease, version: Version, graph: LabelGraph, n_batches: int, steps: Steps
) -> None:
    """Load the batches that the catalog records as pending; none if the version is already complete."""
    store, catalog = stores.graph, stores.catalog
    pending = catalog.pending_batches(version)
    if not pending or _begin(store, lease.name, graph):
        return
    for number in pending:
        catalog.renew(lease)  # a holder that lost the lease stops before it writes
        store.load_batch(graph, number)
        catalog.batch_done(lease, version, number)
        if number + 1 < n_batches:
            steps.report("batches", number + 1, n_batches)
