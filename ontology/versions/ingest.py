"""Register an ontology: make a label graph the current version in the catalog, the artifacts and the graph.

The steps have a fixed order, and each is safe to repeat:

1. ``snapshot``: the arrays and the annotations are stored as artifacts
2. ``version``: the catalog records the version as loading, and the batches in which it will be loaded
3. ``batches``: the batches are loaded into the graph one by one, and the catalog records each as done
4. ``counts``: the labels and edges in the graph are counted and compared with the snapshot
5. ``annotations``: names, definitions and deprecated labels are shown in the graph, in place of those that an
   earlier ingest of the same labels brought
6. ``commit``: one SQL transaction, which compares the fence, makes the version ready and current
7. ``publish``: the graph, too, records the version as the current one
8. ``index``: the index file is updated
9. ``labels``: the label index is built, in which labels are searched and walked (`ontology.browse`)

The embedded graph does steps 3 to 5 in one write if it has nothing of the version (`GraphStore.load_whole`).

Before the commit, readers see the previous version, whatever happens. If only annotations have changed, there
is no new version: step 5 replaces those of the current one (`GraphStore.annotate` says what readers see
meanwhile). What is missing of steps 5, 7 and 8 after a commit is completed when a workspace next opens its
graph. A label index that is missing is built when it is first used, so an ingest never fails because of it.
If a run is killed, running it again completes it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import ConflictError, ShrinkError, counted
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.ontology.versions.graphloading import STEPS, Progress, Steps, drop_from_graph, go_live, load
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.repair import clear
from labelgrove.ontology.versions.snapshots import Snapshot, put_result, put_snapshot, unpacked
from labelgrove.ontology.versions.stores import Stores
from labelgrove.ontology.versions.workspace import Workspace

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult
    from labelgrove.ontology.sql.catalog import Lease, Version

__all__ = [
    "STEPS",
    "Progress",
    "RegisterResult",
    "announce",
    "check_size",
    "delete_ontology",
    "register",
    "snapshot_graph",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RegisterResult:
    """The outcome of `register`.

    Attributes
    ----------
    created : bool
        Whether a version was added; False if the same content was already registered under this name.
    replaced : str or None
        Digest of the version that was current before; None if there was none, or if it was this version.
    seconds : mapping of str to float
        Wall-clock seconds of each step of `STEPS`.
    """

    name: str
    digest: str
    created: bool
    n_labels: int
    n_edges: int
    seconds: Mapping[str, float]
    replaced: str | None = None


def register(
    workspace: Workspace,
    name: str,
    result: ReadResult | LabelGraph | Snapshot,
    *,
    source: str | None = None,
    shrink: bool = False,
    progress: Progress | None = None,
) -> RegisterResult:
    """Make `result` the current version of the ontology `name`.

    Parameters
    ----------
    workspace : Workspace
        The workspace; its catalog, artifacts and graph are all changed.
    name : str
        1 to 64 characters of ``a-z 0-9 . _ -``; the first must be a letter or digit.
    result : ReadResult, LabelGraph or Snapshot
        What `ontology.read` or `ontology.versions.sources.read_once` returned; or a label graph, which has no
        annotations.
    source : str, optional
        Origin to record; by default the source in the reader's report.
    shrink : bool, default=False
        Whether the new version may have less than half of the labels of the current one.
    progress : callable, optional
        Called with (step, done, total); `STEPS` lists the steps.

    Raises
    ------
    DefectsError
        For a read result with defects that prevent an ingest.
    ShrinkError
        If the new version has less than half of the labels of the current one, unless `shrink` is given.
        Nothing was changed.
    ConflictError
        If somebody else is changing `name`; the message names the holder. Nothing was changed.
    ServiceError
        If database, artifact store or graph cannot be reached or written. The previous version remains
        current, and running `register` again completes the new one.

    Notes
    -----
    If the same content is already registered, no version is added, but missing steps are completed.
    Annotations and source are not part of the digest: if given, they replace those recorded with the version.
    """
    check_name(name)
    graph = result.graph if isinstance(result, Snapshot) else unpacked(result)[0]
    steps = Steps(progress)
    with holding(workspace.stores, name) as lease:
        if not shrink:
            check_size(workspace, name, graph.n_labels)
        with steps.step("snapshot"):
            snapshot = put_result(workspace.artifacts, result, source)
        return _make_current(workspace, lease, snapshot, steps)


def check_size(workspace: Workspace, name: str, n_labels: int) -> None:
    """Raise `ShrinkError` if `n_labels` is less than half of the labels in the current version of `name`."""
    current = next((version for version in workspace.catalog.versions(name) if version.current), None)
    if current is not None and 2 * n_labels < current.n_labels:
        raise ShrinkError(
            f"ontology {name!r} has {counted(current.n_labels, 'label')}, and would have {n_labels:,} in the "
            f"new version, less than half; version {current.digest[:12]} stays current. If the new version "
            "is right, allow it with --shrink (in a job: --param shrink=true; in Python: shrink=True)"
        )


def announce(workspace: Workspace, name: str, snapshot: Snapshot) -> None:
    """Record that `snapshot` will be registered as a version of `name` later; this is step 2 only.

    Because of this record, the artifacts of `snapshot` are not collected as garbage, and its parts that are
    already in the graph are not dropped. If somebody else is changing the ontology, nothing is recorded now;
    `register` then makes the record later.
    """
    try:
        with holding(workspace.stores, name) as lease:
            _open_version(workspace, lease, snapshot)
    except ConflictError as error:
        _log.info(
            "version %s of %s could not be recorded in advance (%s); it is recorded when it is registered",
            snapshot.graph.digest[:12],
            name,
            error,
        )


def _make_current(workspace: Workspace, lease: Lease, snapshot: Snapshot, steps: Steps) -> RegisterResult:
    with steps.step("version"):
        version = _open_version(workspace, lease, snapshot)
        _drop_abandoned(workspace.stores, lease, version)
    load(workspace.stores, lease, version, steps)
    before = go_live(workspace.stores, lease, version, steps)
    graph = snapshot.graph
    with steps.step("labels"):
        _build_label_index(workspace, lease.name, graph.digest)
    return RegisterResult(
        lease.name,
        graph.digest,
        version.state == "loading",
        graph.n_labels,
        graph.n_edges,
        steps.seconds,
        before if before != graph.digest else None,
    )


def _build_label_index(workspace: Workspace, name: str, digest: str) -> None:
    """Build the label index of a version, unless there is one; a fault is logged as a warning."""
    indexes = workspace.label_indexes
    try:
        workspace.label_index(name, digest)
    except Exception as error:  # the version is current already, and its first use builds the index again
        _log.warning(
            "%s: the label index of %s@%s is not built (%s: %s); the version is current, and the next "
            "command of `grove labels` builds its index: run `grove labels tree %s`",
            indexes.where,
            name,
            digest[:12],
            type(error).__name__,
            error,
            name,
        )


def _open_version(workspace: Workspace, lease: Lease, snapshot: Snapshot) -> Version:
    graph, reading = snapshot.graph, snapshot.reading
    return workspace.catalog.open_version(
        lease,
        digest=graph.digest,
        snapshot=snapshot.arrays,
        annotations=snapshot.annotations,
        n_labels=graph.n_labels,
        n_edges=graph.n_edges,
        layout=graph.layout,
        source=snapshot.source,
        n_batches=workspace.graph.batch_count(graph),
        read_by=None if reading is None else (reading.fingerprint, json.dumps(reading.report.to_dict())),
    )


def _drop_abandoned(stores: Stores, lease: Lease, keep: Version) -> None:
    """Drop versions that earlier ingests of the name left unfinished.

    These ingests have ended, because this one has the lease.
    """
    for version in stores.catalog.versions(lease.name):
        if version.state == "loading" and version.digest != keep.digest:
            stores.catalog.forget_version(lease, version)
            if version.digest not in {other.digest for other in stores.catalog.versions()}:
                drop_from_graph(stores, version.digest)


# ---- deletion and edits --------------------------------------------------------------------------------


def delete_ontology(workspace: Workspace, name: str, *, version: str | None = None) -> list[str]:
    """Delete an ontology, or only one of its versions, and return the digests of the deleted versions.

    Artifacts are left to garbage collection, because another name or a bundle may still need them.

    Raises
    ------
    NotFoundError
        For an unknown name or version.
    ConflictError
        If `version` is the current version, or if somebody is changing the ontology.
    """
    if version is not None:
        doomed = workspace.catalog.version(name, version)
        if doomed.current:
            raise ConflictError(
                f"version {doomed.digest[:12]} is the current version of {name!r}; ingest another one "
                "first, or delete the ontology"
            )
        with holding(workspace.stores, name) as lease:
            workspace.catalog.forget_version(lease, doomed)
            clear(workspace.stores, name)
        _drop_indexes(workspace, [doomed.digest])
        return [doomed.digest]
    workspace.catalog.version(name)
    with holding(workspace.stores, name) as lease:
        digests = [v.digest for v in workspace.catalog.versions(name)]
        workspace.catalog.forget_ontology(lease)  # deletes it; the other steps may happen later
        clear(workspace.stores, name)
    _drop_indexes(workspace, digests)
    return digests


def _drop_indexes(workspace: Workspace, digests: Iterable[str]) -> None:
    """Remove the label indexes of versions that no ontology has any more."""
    kept = {version.digest for version in workspace.catalog.versions()}
    for digest in digests:
        if digest not in kept:
            workspace.label_indexes.drop(digest)


def snapshot_graph(
    workspace: Workspace, name: str, *, shrink: bool = False, progress: Progress | None = None
) -> RegisterResult:
    """Make a new version of `name` from the edits that users made to its current version in the graph.

    Edits of labels and edges are kept. Edits of names, definitions and deprecated flags are not: labels that
    remain keep their recorded annotations. The old version is then restored in the graph from its
    snapshot. If nothing was edited, there is no new version.

    Raises
    ------
    ShrinkError
        If less than half of the labels remain, unless `shrink` is given; the edits in the graph are kept.
    """
    version = workspace.catalog.version(name)
    found = workspace.graph.read_back(version.digest)
    edited = found.digest != version.digest
    graph = _canonical(found) if edited else found
    annotations = workspace.annotations(name)
    if annotations is not None and edited:
        annotations = annotations.moved(workspace.label_graph_of(version), graph)
    source = f"edited in the graph of {version.digest}" if edited else version.source
    snapshot = put_snapshot(workspace.artifacts, graph, annotations, source)
    result = register(workspace, name, snapshot, shrink=shrink, progress=progress)
    if not edited:
        return result
    with holding(workspace.stores, name) as lease:
        drop_from_graph(workspace.stores, version.digest)
        load(workspace.stores, lease, version, Steps())
    return result


def _canonical(graph: LabelGraph) -> LabelGraph:
    """Return the graph with labels and edges in canonical order, which edits do not keep."""
    edges = list(graph.edges())
    return LabelGraph.from_edges(
        [(child, parent) for child, parent, _, _ in edges],
        weights=[weight for _, _, weight, _ in edges],
        ranks=[rank for _, _, _, rank in edges],
        names=dict(zip(graph.keys, graph.names, strict=True)),
        directed=graph.directed,
        labels=list(graph.keys),
    )
