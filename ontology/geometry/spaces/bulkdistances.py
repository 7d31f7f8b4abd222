"""Distances in bulk: whole matrices, blocks of columns, and the eccentricity of each label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import index_array, refuse_other_than, whole_number
from labelgrove.ontology.geometry.paths.shortestpaths import ShortestPaths, exact_eccentricities
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["distance_blocks", "eccentricities", "pairwise_distances"]

Unreachable = Literal["refuse", "mark"]


def pairwise_distances(
    space: MetricSpace | LabelGraph,
    rows: ArrayLike | None = None,
    cols: ArrayLike | None = None,
    *,
    out: NDArray[Any] | None = None,
    unreachable: Unreachable = "refuse",
) -> NDArray[Any]:
    """Return the distances from allowed labels to points.

    Parameters
    ----------
    space : MetricSpace or LabelGraph
        The space to measure in. In a `LabelGraph`, a distance is the length of a shortest path over all edges
        in both directions.
    rows : array_like of int, optional
        Indices among the allowed labels of the space (the labels of the graph); all by default.
    cols : array_like of int, optional
        Indices among the points of the space (the labels of the graph); all by default.
    out : ndarray of shape (n_rows, n_cols), optional
        Array to write the distances to; it must have the dtype of the result. By default a new array is made.
        Reusing an array saves the time that is needed to clear new memory. If the measurement is fast,
        clearing takes as long as measuring.
    unreachable : {"refuse", "mark"}, default="refuse"
        How to treat a graph in several parts. ``"refuse"`` raises an error. ``"mark"``, only for a
        `LabelGraph`, writes the largest number of the dtype (255 or 65535, or infinity for a float) for pairs
        without a path. The dtype is then chosen so that every real distance is smaller than this number.

    Returns
    -------
    distances : ndarray of shape (n_rows, n_cols)
        In edge-length units, equal to ``space.distances(rows, cols)``. The dtype is the smallest of uint8,
        uint16, float32 and float64 that represents every distance of the space exactly.

    Raises
    ------
    SpaceError
        If a graph is in several parts and ``unreachable="refuse"``; the message states their number.
    InputError
        For indices out of range, an `out` that does not fit, or ``"mark"`` with a space.

    Notes
    -----
    The call needs working memory in addition to the output. On a graph of unit edges, this is about 64 bytes
    times the number of points times the number of binary digits of the diameter; on a tree, it is a few
    megabytes.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")], labels=["moss"])
    >>> pairwise_distances(graph, unreachable="mark").tolist()
    [[0, 255, 255, 255], [255, 0, 1, 1], [255, 1, 0, 2], [255, 1, 2, 0]]
    """
    return _space(space, unreachable).distances(rows, cols, out=out)


def distance_blocks(
    space: MetricSpace | LabelGraph,
    cols: ArrayLike | None = None,
    *,
    rows: ArrayLike | None = None,
    block: int = 512,
    unreachable: Unreachable = "refuse",
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the distances to `cols` a few columns at a time.

    Parameters
    ----------
    space, cols, rows, unreachable
        As for `pairwise_distances`.
    block : int, default=512
        Number of columns in a block. On graphs of unit edges, 512 columns are measured in one search.

    Yields
    ------
    columns : slice
        The part of `cols` in the block. The parts follow each other in ascending order without gaps.
    distances : ndarray of shape (n_rows, n_block)
        The distances of these columns, as a new array; the generator does not keep earlier blocks.

    Raises
    ------
    SpaceError, InputError
        As for `pairwise_distances`, and if `block` is below 1. Errors are raised by the call itself, before
        the first block is requested.

    Examples
    --------
    >>> space = CompleteSpace(["a", "b", "c"])
    >>> [(columns.start, columns.stop, found.shape) for columns, found in distance_blocks(space, block=2)]
    [(0, 2, (3, 2)), (2, 3, (3, 1))]
    """
    block = whole_number("block", block, 1)
    measured = _space(space, unreachable)
    # indices out of range are refused here, before the first block is requested
    columns = np.arange(measured.n_points) if cols is None else index_array("cols", cols, measured.n_points)
    measured.distances(rows, [])
    starts = range(0, len(columns), block)
    slices = (slice(first, min(first + block, len(columns))) for first in starts)
    return ((some, measured.distances(rows, columns[some])) for some in slices)


def eccentricities(space: MetricSpace) -> NDArray[Any]:
    """Return the distance of each allowed label from the allowed label farthest from it.

    Parameters
    ----------
    space : MetricSpace

    Returns
    -------
    eccentricities : ndarray of shape (n_labels,), dtype=distance_dtype
        The largest of them is the diameter.

    Raises
    ------
    SpaceError
        If an allowed label of a `MatrixSpace` has no column in its matrix.

    Notes
    -----
    Trees take three passes over the points, in O(n_points) time: for each label, one of the two ends of any
    longest path is a farthest label. If lengths are not whole numbers, the last bits may differ from a
    maximum over all pairs. On graphs of whole lengths, bounds give the eccentricities of most labels, and
    those of the others are measured (see `exact_eccentricities`). On other spaces all pairs are measured, in
    blocks.

    Examples
    --------
    >>> eccentricities(GraphSpace(LabelGraph.grid((3, 3)))).tolist()
    [4, 3, 4, 3, 2, 3, 4, 3, 4]
    """
    refuse_other_than(MetricSpace, "space", space, "build one with metric_space(graph)")
    if isinstance(space, CompleteSpace):
        return np.full(space.n_labels, space.n_labels > 1, dtype=space.distance_dtype)
    among = allowed_points(space)
    if isinstance(space, TreeSpace):
        end = among[np.argmax(space.distances(cols=among[:1]))]
        from_end = space.distances(cols=[end])[:, 0]
        from_other = space.distances(cols=[among[np.argmax(from_end)]])[:, 0]
        larger: NDArray[Any] = np.maximum(from_end, from_other)
        return larger
    if isinstance(space, GraphSpace):
        return exact_eccentricities(space.paths, among)
    found = np.zeros(space.n_labels, dtype=space.distance_dtype)
    for _, part in distance_blocks(space, among):
        np.maximum(found, part.max(axis=1), out=found)
    return found


class _GraphInParts(GraphSpace):
    """A graph in several parts. Labels in different parts have the distance `ShortestPaths.marker`.

    Such distances are not a metric, so the class is used only in this module.
    """

    def __init__(self, graph: LabelGraph) -> None:
        MetricSpace.__init__(self, graph.keys)
        edges = graph.edge_child, graph.edge_parent, graph.edge_weight
        self.paths = ShortestPaths(graph.n_labels, *edges, part=graph.components)


def _space(given: MetricSpace | LabelGraph, unreachable: Unreachable) -> MetricSpace:
    if not isinstance(unreachable, str) or unreachable not in ("refuse", "mark"):
        raise InputError(f"unreachable: {unreachable!r} given; choose 'refuse' or 'mark'")
    if isinstance(given, LabelGraph):
        return _GraphInParts(given) if unreachable == "mark" else GraphSpace(given)
    if unreachable == "mark":
        raise InputError(
            "unreachable='mark': works only with a LabelGraph, because every label of a space is reachable; "
            "give the LabelGraph, or leave unreachable out"
        )
    refuse_other_than(
        MetricSpace, "space", given, "build one with metric_space(graph), or give the LabelGraph"
    )
    return given
