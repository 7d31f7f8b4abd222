"""Blocks of distances as files: every allowed label against some points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MatrixSpace
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.results.layout import Packed, ResultFile, pack_space

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["FORMAT", "pack_distances", "read_distances"]

FORMAT = "labelgrove/distances/1"

_DTYPES = (np.uint8, np.uint16, np.float32, np.float64)


def pack_distances(
    graph: LabelGraph, space: MetricSpace, columns: NDArray[np.int64], distances: NDArray[Any]
) -> Packed:
    """Return arrays and metadata of a block of distances.

    Parameters
    ----------
    graph, space
        The version of the ontology, and its space.
    columns : ndarray of shape (n_columns,), dtype=int64
        Point indices, ascending.
    distances : ndarray of shape (n_labels, n_columns), dtype uint8, uint16, float32 or float64
        From every allowed label to these points.
    """
    arrays, metadata = pack_space(graph, space)
    arrays |= {"columns": columns, "distances": distances}
    return arrays, metadata | {"format": FORMAT, "n_columns": str(len(columns))}


def read_distances(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> MatrixSpace:
    """Return a block of distances as the space that it spans.

    Parameters
    ----------
    artifacts, digest, graph
        As `ontology.results.layout.ResultFile` takes them.

    Returns
    -------
    space : MatrixSpace
        Its labels are the allowed ones, its points the columns; in a local store the matrix is a view of the
        file.

    Raises
    ------
    NotFoundError, ArtifactError
        If it is not there, or is no such file of this ontology.
    """
    file = ResultFile(artifacts, digest, graph, FORMAT)
    if "distances" not in file.arrays or file.arrays["distances"].dtype not in _DTYPES:
        raise file.fault("array 'distances' is missing, or not uint8, uint16, float32 or float64")
    matrix = file.array("distances", file.arrays["distances"].dtype, 2)
    columns = file.index("columns", graph.n_labels)
    rows = graph.keys
    if "labels.allowed" in file.arrays:
        rows = Keys.from_strings(rows.take(file.allowed))
    if matrix.shape != (len(rows), len(columns)):
        raise file.fault(f"distances of shape {matrix.shape} for {len(rows)} labels, {len(columns)} columns")
    try:
        return MatrixSpace(matrix, rows, Keys.from_strings(graph.keys.take(columns)))
    except InputError as error:
        raise file.fault(str(error)) from None
