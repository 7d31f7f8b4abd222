"""Store label graphs and definitions as artifacts at an ingest, and open them later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from labelgrove.ontology.errors import ArtifactError, DefectsError, InputError, counted
from labelgrove.ontology.keys import Texts, stored_texts
from labelgrove.ontology.labelgraph import LabelGraph

if TYPE_CHECKING:
    from labelgrove.ontology.readers import ReadResult, Report
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = [
    "DEFINITIONS_FORMAT",
    "Reading",
    "Snapshot",
    "Stored",
    "open_snapshot",
    "put_result",
    "put_snapshot",
    "stored_definitions",
    "stored_graph",
    "unpacked",
]

DEFINITIONS_FORMAT = "labelgrove/definitions/1"

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
    arrays, definitions : (str, int), (str, int) or None
        The artifact with the arrays of the graph, and the artifact with the definitions of its labels, each
        as (sha256, size in bytes). `definitions` is None if there are no definitions.
    source : str or None
        Origin of the graph, as the catalog records it.
    reading : Reading or None
        The reading that the graph came from, if it is known.
    """

    graph: LabelGraph
    arrays: Stored
    definitions: Stored | None
    source: str | None = None
    reading: Reading | None = None


def unpacked(
    result: ReadResult | LabelGraph, source: str | None = None
) -> tuple[LabelGraph, Mapping[str, str], str | None]:
    """Return graph, definitions and source of a read result or graph.

    `DefectsError` is raised for a read result that has no graph because of its defects.
    """
    if isinstance(result, LabelGraph):
        return result, {}, source
    if result.graph is None:
        raise DefectsError(
            f"{result.report.source}: its defects prevent an ingest; see the report, then correct the file "
            "or choose a policy for them",
            result.report,
        )
    return result.graph, result.definitions, source or str(result.report.source)


def put_snapshot(
    artifacts: ArtifactStore, graph: LabelGraph, definitions: Mapping[str, str], source: str | None
) -> Snapshot:
    """Store a graph and its definitions as artifacts; storing the same content again adds nothing."""
    arrays = _put_arrays(artifacts, *graph.to_arrays())
    described = _put_arrays(artifacts, *_definition_arrays(graph, definitions)) if definitions else None
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


def open_snapshot(artifacts: ArtifactStore, arrays: str, definitions: str | None) -> Snapshot:
    """Return the snapshot whose arrays and definitions are the artifacts with these digests.

    Raises
    ------
    ArtifactError, NotFoundError
        If an artifact is damaged or missing, or the definitions belong to other labels.
    """
    graph = LabelGraph.from_arrays(*artifacts.open_arrays(arrays))
    described = None
    if definitions is not None:
        _, metadata = artifacts.open_arrays(definitions)
        if metadata != _definition_metadata(graph):
            raise ArtifactError(
                f"definitions {definitions}: format is {metadata.get('format')!r} and ontology is "
                f"{metadata.get('ontology')!r}, expected {DEFINITIONS_FORMAT!r} and {graph.digest!r}; "
                "give the definitions of this ontology"
            )
        described = definitions, artifacts.size(definitions)
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


def stored_definitions(artifacts: ArtifactStore, version: Version) -> Texts | None:
    """Return the definitions of `version`, one for each label in canonical order; None if there are none.

    The text is empty for a label without a definition.

    Raises
    ------
    ArtifactError, NotFoundError
        For definitions that are damaged or missing; ingesting the same source again repairs them.
    """
    sha256 = version.definitions_sha256
    if sha256 is None:
        return None
    arrays, metadata = artifacts.open_arrays(sha256)
    if metadata.get("format") != DEFINITIONS_FORMAT:
        raise ArtifactError(
            f"definitions {sha256}: format is {metadata.get('format')!r}, but this labelgrove reads "
            f"{DEFINITIONS_FORMAT!r}; ingest the source again"
        )
    try:
        texts = stored_texts(arrays, "definitions")
    except InputError as error:
        raise ArtifactError(f"definitions {sha256}: {error}; ingest the source again") from None
    if len(texts) != version.n_labels:
        raise ArtifactError(
            f"definitions {sha256}: {len(texts):,} texts for {counted(version.n_labels, 'label')}; "
            "ingest the source again"
        )
    return texts


# ---- arrays --------------------------------------------------------------------------------------------


def _put_arrays(
    artifacts: ArtifactStore, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> Stored:
    sha256 = artifacts.put_arrays(arrays, metadata)
    return sha256, artifacts.size(sha256)


def _definition_arrays(
    graph: LabelGraph, definitions: Mapping[str, str]
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    table = Texts.from_strings(definitions.get(key, "") for key in graph.keys)
    arrays: dict[str, NDArray[Any]] = {"definitions.blob": table.blob, "definitions.offsets": table.offsets}
    return arrays, _definition_metadata(graph)


def _definition_metadata(graph: LabelGraph) -> dict[str, str]:
    return {"format": DEFINITIONS_FORMAT, "ontology": graph.digest}
