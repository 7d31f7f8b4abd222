"""Store label graphs and annotations as artifacts at an ingest, and open them later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.errors import ArtifactError, DefectsError
from labelgrove.ontology.labelgraph import LabelGraph

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult, Report
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = [
    "Reading",
    "Snapshot",
    "Stored",
    "open_snapshot",
    "opened_annotations",
    "put_result",
    "put_snapshot",
    "stored_annotations",
    "stored_graph",
    "unpacked",
]

Stored = tuple[str, int]
"""An artifact: its sha256 and its size in bytes."""


@dataclass(frozen=True)
class Reading:
    """The record of how a version was read from its source.

    Attributes
    ----------
    fingerprint : str
        Digest of everything that the reading depended on (`ontology.readers.fingerprint`).
    report : Report
        The report of the reading. A defect in it lists only the places of its examples, not those of all its
        occurrences.
    read_at : float or None
        Time when the reading was recorded, in seconds since 1970 by the database's clock; None if it is not
        yet recorded.
    """

    fingerprint: str
    report: Report
    read_at: float | None = None


@dataclass(frozen=True)
class Snapshot:
    """A label graph and the artifacts in which it is stored.

    Attributes
    ----------
    graph : LabelGraph
        The graph itself.
    arrays, annotations : (str, int), (str, int) or None
        The artifact with the arrays of the graph, and the artifact with the annotations of its labels, each
        as (sha256, size in bytes). `annotations` is None if there are none.
    source : str or None
        Origin of the graph, as the catalog records it.
    reading : Reading or None
        The reading that the graph came from, if it is known.
    """

    graph: LabelGraph
    arrays: Stored
    annotations: Stored | None
    source: str | None = None
    reading: Reading | None = None


def unpacked(
    result: ReadResult | LabelGraph, source: str | None = None
) -> tuple[LabelGraph, Annotations | None, str | None]:
    """Return graph, annotations and source of a read result or graph.

    `DefectsError` is raised for a read result that has no graph because of its defects.
    """
    if isinstance(result, LabelGraph):
        return result, None, source
    if result.graph is None:
        raise DefectsError(
            f"{result.report.source}: its defects prevent an ingest; see the report, then correct the file "
            "or choose a policy for them",
            result.report,
        )
    return result.graph, result.annotations, source or str(result.report.source)


def put_snapshot(
    artifacts: ArtifactStore, graph: LabelGraph, annotations: Annotations | None, source: str | None
) -> Snapshot:
    """Store a graph and its annotations as artifacts; storing the same content again adds nothing."""
    arrays = _put_arrays(artifacts, *graph.to_arrays())
    described = None
    if annotations is not None:
        described = _put_arrays(artifacts, *annotations.to_arrays(graph.digest))
    return Snapshot(graph, arrays, described, source)


def put_result(
    artifacts: ArtifactStore, result: ReadResult | LabelGraph | Snapshot, source: str | None = None
) -> Snapshot:
    """Store a read result or a graph; a `Snapshot` is already stored and is only returned.

    If `source` is given, the returned snapshot has it as its `source`.

    Raises
    ------
    DefectsError
        For a read result with defects that prevent an ingest.
    """
    if isinstance(result, Snapshot):
        return replace(result, source=source or result.source)
    snapshot = put_snapshot(artifacts, *unpacked(result, source))
    if isinstance(result, LabelGraph) or result.reading is None:
        return snapshot
    fingerprint, digest = result.reading
    if digest != snapshot.graph.digest:  # somebody replaced the graph
        return snapshot
    return replace(snapshot, reading=Reading(fingerprint, result.report.shortened()))


# ---- opening -------------------------------------------------------------------------------------------


def open_snapshot(artifacts: ArtifactStore, arrays: str, annotations: str | None) -> Snapshot:
    """Return the snapshot whose arrays and annotations are the artifacts with these digests.

    Raises
    ------
    ArtifactError, NotFoundError
        If an artifact is damaged or missing, or the annotations belong to other labels.
    """
    graph = LabelGraph.from_arrays(*artifacts.open_arrays(arrays))
    described = None
    if annotations is not None:
        opened_annotations(artifacts, annotations, n_labels=graph.n_labels, digest=graph.digest)
        described = annotations, artifacts.size(annotations)
    return Snapshot(graph, (arrays, artifacts.size(arrays)), described)


def stored_graph(artifacts: ArtifactStore, snapshot: str, digest: str) -> LabelGraph:
    """Return the label graph in an artifact, after checking the sha256 of the artifact and `digest`.

    From a local store, its arrays are views of a memory map.

    Parameters
    ----------
    artifacts : ArtifactStore
    snapshot : str
        The sha256 of the artifact.
    digest : str
        The digest that the label graph must have.

    Raises
    ------
    ArtifactError, NotFoundError
        If the snapshot is missing, damaged or contains another ontology; ingesting the same source again
        repairs it.
    """
    graph = LabelGraph.from_arrays(*artifacts.open_arrays(snapshot))
    if graph.digest != digest:
        raise ArtifactError(
            f"snapshot {snapshot} contains ontology {graph.digest}, but {digest} is expected; ingest the "
            "source of the ontology again"
        )
    return graph


def stored_annotations(artifacts: ArtifactStore, version: Version) -> Annotations | None:
    """Return the annotations of `version`; None if there are none.

    Raises
    ------
    ArtifactError, NotFoundError
        For annotations that are damaged or missing; ingesting the same source again repairs them.
    """
    sha256 = version.annotations_sha256
    if sha256 is None:
        return None
    return opened_annotations(artifacts, sha256, n_labels=version.n_labels, digest=version.digest)


def opened_annotations(artifacts: ArtifactStore, sha256: str, *, n_labels: int, digest: str) -> Annotations:
    """Return the annotations in the artifact `sha256`, which must be those of the version `digest`.

    Errors are as for `stored_annotations`.
    """
    try:
        return Annotations.from_arrays(*artifacts.open_arrays(sha256), n_labels=n_labels, digest=digest)
    except ArtifactError as error:
        raise ArtifactError(f"artifact {sha256}: {error}") from None


# ---- arrays --------------------------------------------------------------------------------------------


def _put_arrays(
    artifacts: ArtifactStore, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> Stored:
    sha256 = artifacts.put_arrays(arrays, metadata)
    return sha256, artifacts.size(sha256)
