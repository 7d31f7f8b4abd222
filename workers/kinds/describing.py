"""Functions that kinds share to show and describe a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.workers.kinds.kind import Description

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.kinds.kind import JobResult

__all__ = [
    "CERTAIN",
    "describe_artifact",
    "facts",
    "labels_table",
    "named_labels",
    "places",
    "version_fields",
]

CERTAIN = {"exact": "exact", "lower_bound": "a lower bound: there may be more"}
"""The text for people for each status of a result."""

_ARRAY = ("array", "dtype", "shape")


def version_fields(workspace: Workspace, result: JobResult) -> dict[str, Any]:
    """Return a dictionary with the digest of a result's version, and the name of an ontology that has it.

    The name is that of the first ontology that has the version, or None if no ontology has it.
    """
    digest = result.parameters["ontology"]
    names = [version.ontology for version in workspace.catalog.versions() if version.digest == digest]
    return {"ontology": names[0] if names else None, "digest": digest}


def named_labels(graph: LabelGraph, keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return the key and the name of each label."""
    return [(key, graph.names[index]) for key, index in zip(keys, graph.keys.indices(keys), strict=True)]


def labels_table(
    line: str, document: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> Description:
    """Return a description with a table of labels; the document in the description has the table too."""
    listed = list(rows)
    labels = [dict(zip(columns, row, strict=True)) for row in listed]
    return Description(line, {**document, "labels": labels}, columns, listed)


def facts(line: str, document: Mapping[str, Any], **more: Any) -> Description:
    """Return a `Description` that lists the entries of `document`; `more` is passed to `Description`."""
    return Description(line, document, ("property", "value"), list(document.items()), **more)


def describe_artifact(workspace: Workspace, result: JobResult) -> Description:
    """Return a description of an artifact's contents, for a result that no kind describes."""
    from labelgrove.ontology.errors import ArtifactError
    from labelgrove.ontology.store.artifacts import read_safetensors

    del workspace
    line = f"{result.kind} is not a known kind of job; the artifact of the result is {result.sha256}"
    content = result.artifacts.read_bytes(result.sha256)
    try:
        arrays, metadata = read_safetensors(content)
    except ArtifactError:  # the artifact is a document, not an array file
        return facts(line, {"bytes": len(content)})
    rows = [(name, str(array.dtype), list(array.shape)) for name, array in arrays.items()]
    document = {"metadata": metadata, "arrays": [dict(zip(_ARRAY, row, strict=True)) for row in rows]}
    return Description(line, document, _ARRAY, rows)


def places(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers 1, 2, 3 and so on, one for each item of an array; the items can be anything.

    >>> places(np.array([30, 10, 20])).tolist()
    [1, 2, 3]
    """
    return np.arange(1, len(index) + 1, dtype=np.int64)
