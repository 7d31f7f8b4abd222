"""Empty the whole graph, load it again from the snapshots, and compare it with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import ArtifactError, ConflictError, GraphDamagedError, NotFoundError, counted
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.graphannotations import shown_annotations
from labelgrove.ontology.versions.graphloading import Progress, Steps, drop_from_graph
from labelgrove.ontology.versions.indexfile import index_is
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.repair import restore
from labelgrove.ontology.versions.workspace import Workspace

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Version

__all__ = ["empty_graph", "restore_graph", "verify_graph"]


def empty_graph(workspace: Workspace) -> list[str]:
    """Drop every version from the graph, and return the digests of these versions.

    The graph can then be restored from the snapshots.

    Edits that users made in the graph are lost unless `snapshot_graph` has kept them. Because the graph may
    contain the last copy of a version, these errors are raised before anything is dropped: `ConflictError`
    if somebody is changing an ontology, `ArtifactError` or `NotFoundError` if a snapshot is damaged or
    missing.
    """
    with ExitStack() as leases:  # hold every name first: the whole graph is emptied, or nothing
        for name in workspace.catalog.names():
            leases.enter_context(holding(workspace.stores, name))
        versions = _ready(workspace)
        for version in versions:
            workspace.label_graph_of(version)
        if not workspace.graph.wipe():
            for version in versions:
                drop_from_graph(workspace.stores, version.digest)
    return _digests(versions)


def restore_graph(workspace: Workspace, *, progress: Progress | None = None) -> list[str]:
    """Load missing versions into the graph and repair every ontology; return the digests of all versions.

    Versions are loaded in batches, and the catalog records each batch when it is loaded. If a restore is
    interrupted, the next one leaves out the batches that are recorded. Ontologies that somebody is changing
    are skipped; `ConflictError` names them after all others have been repaired.
    """
    busy = []
    for name in workspace.catalog.names():
        with ExitStack() as held:
            try:
                lease = held.enter_context(holding(workspace.stores, name))
            except ConflictError as error:
                busy.append(str(error))
            else:
                restore(workspace.stores, lease, Steps(progress))
    if busy:
        raise ConflictError("; ".join(busy))
    return _digests(_ready(workspace))


def verify_graph(workspace: Workspace, *, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Compare every ready version in the graph with its artifacts, and check CURRENT and the index files.

    CURRENT is what the graph records as the current version of a name.

    Returns
    -------
    list of dict
        One dictionary for each version, with the keys ``ontology``, ``digest``, ``current``, ``n_labels``,
        ``n_edges``, ``problems`` and ``same``. ``problems`` describes each difference in words; ``same`` is
        True if there are no problems.

    Notes
    -----
    Every version is read completely. The embedded graph is read in parts, which takes little memory.
    """
    ready = _ready(workspace)
    steps, findings = Steps(progress), []
    with steps.step("verify", len(ready)):
        for done, version in enumerate(ready, start=1):
            problems = list(_differences(workspace, version))
            findings.append(
                {
                    "ontology": version.ontology,
                    "digest": version.digest,
                    "current": version.current,
                    "n_labels": version.n_labels,
                    "n_edges": version.n_edges,
                    "problems": problems,
                    "same": not problems,
                }
            )
            if done < len(ready):
                steps.report("verify", done, len(ready))
    return findings


def _differences(workspace: Workspace, version: Version) -> Iterator[str]:
    store, wanted, snapshot = workspace.graph, (version.n_labels, version.n_edges), None
    try:
        snapshot = workspace.label_graph_of(version)
    except (ArtifactError, NotFoundError) as error:
        yield f"snapshot: {error}"
    found = store.counts(version.digest)
    if found != wanted:
        held = f"{counted(found[0], 'label')} and {counted(found[1], 'edge')}"
        yield f"graph: holds {held}, expected {wanted[0]:,} and {wanted[1]:,}"
    else:
        try:
            difference = store.difference(version.digest, snapshot)
        except (GraphDamagedError, NotFoundError) as error:
            yield f"graph: {error}"
        else:
            if difference:
                yield f"graph: {difference}"
            elif snapshot is not None:
                yield from _annotation_differences(workspace, snapshot)
    states = {row["digest"]: row["state"] for row in store.versions()}
    if states.get(version.digest) == "loading":
        yield "graph: the version is loading, expected ready"
    if version.current and store.current(version.ontology) != version.digest:
        yield f"graph: CURRENT is {store.current(version.ontology)}"
    document = workspace.catalog.index_document(version.ontology)
    if version.current and not index_is(workspace.artifacts, version.ontology, document):
        yield "index file: differs from the catalog"


def _annotation_differences(workspace: Workspace, graph: LabelGraph) -> Iterator[str]:
    try:
        shown = shown_annotations(workspace.stores, graph)
    except (ArtifactError, NotFoundError) as error:
        yield f"annotations: {error}"
        return
    try:
        yield from (f"graph: {text}" for text in workspace.graph.annotation_differences(shown))
    except GraphDamagedError as error:
        yield f"graph: {error}"


def _ready(workspace: Workspace) -> list[Version]:
    return [version for version in workspace.catalog.versions() if version.state == "ready"]


def _digests(versions: list[Version]) -> list[str]:
    return sorted({version.digest for version in versions})
