"""Distances in bulk: from many allowed labels to many points, in one matrix."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.arguments import refuse_other_than
from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["pairwise_distances"]


def pairwise_distances(
    space: MetricSpace | LabelGraph,
    rows: ArrayLike | None = None,
    cols: ArrayLike | None = None,
    *,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the distances from allowed labels to points.

    Parameters
    ----------
    space : MetricSpace or LabelGraph
        The space to measure in. In a `LabelGraph`, a distance is the length of a shortest path over all edges
        in both directions.
    rows : array_like of int, optional
        Indices among the allowed labels of the space, or among all labels of a graph; all by default.
    cols : array_like of int, optional
        Indices among the points of the space, or among all labels of a graph; all by default.
    out : ndarray of shape (n_rows, n_cols), optional
        Array to write the distances to; it must have the dtype of the result. By default a new array is made.
        Reusing an array saves the time that is needed to clear new memory. If the measurement is fast,
        clearing takes as long as measuring.

    Returns
    -------
    distances : ndarray of shape (n_rows, n_cols)
        In edge-length units, equal to ``space.distances(rows, cols)``. The dtype is the smallest of uint8,
        uint16, float32 and float64 that represents every distance of the space exactly.

    Raises
    ------
    SpaceError
        If a graph is in several parts; the message states their number.
    InputError
        For indices out of range, or an `out` that does not fit.

    Notes
    -----
    The call needs working memory in addition to the output. On a graph of unit edges, this is about 64 bytes
    times the number of points times the number of binary digits of the diameter; on a tree, it is a few
    megabytes.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    >>> pairwise_distances(graph).tolist()
    [[0, 1, 1], [1, 0, 2], [1, 2, 0]]
    """
    if isinstance(space, LabelGraph):
        space = GraphSpace(space)
    refuse_other_than(
        MetricSpace, "space", space, "build one with metric_space(graph), or give the LabelGraph"
    )
    return space.distances(rows, cols, out=out)
