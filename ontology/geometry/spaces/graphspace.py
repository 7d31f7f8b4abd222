"""GraphSpace: shortest paths on a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import refuse_other_than
from labelgrove.ontology.geometry.paths.shortestpaths import ShortestPaths, exact_diameter
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["GraphSpace", "refuse_parts"]


class GraphSpace(MetricSpace):
    """Shortest paths on a connected graph, over its edges in both directions.

    If every edge has length 1, numba or scipy must be installed (numba is faster, the results are the same).
    If edges have other lengths and floats represent the sums of these exactly (as with whole numbers), scipy
    must be installed. If floats would round the sums, neither is needed, but numba makes measuring faster.

    Distances are float64 if lengths are not whole numbers; a caller may store them as float32 if that
    precision is enough. A distance is the exact sum of edge lengths, rounded once, so it is the same in both
    directions.

    Parameters
    ----------
    graph : LabelGraph
        A connected graph.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default. Paths may run over other labels.

    Attributes
    ----------
    paths : ShortestPaths
        The object that measures distances between points.

    Raises
    ------
    SpaceError
        If the graph is in several parts.

    Examples
    --------
    >>> space = GraphSpace(LabelGraph.grid((3, 3)))
    >>> space.distances(rows=[0], cols=[4, 8]).tolist(), space.diameter()
    ([[2, 4]], 4.0)
    """

    kind = "graph"

    def __init__(self, graph: LabelGraph, allowed: ArrayLike | None = None) -> None:
        refuse_other_than(LabelGraph, "graph", graph, "from LabelGraph.from_edges or read(path).graph")
        super().__init__(graph.keys, allowed)
        refuse_parts(graph)
        self.paths = ShortestPaths(graph.n_labels, graph.edge_child, graph.edge_parent, graph.edge_weight)

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""
        return self.paths.dtype

    @property
    def has_short_distances(self) -> bool:
        """Whether all distances are free of rounding (`ontology.geometry.paths.wholenumbers.are_short`)."""
        return self.paths.has_short_distances

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels, exactly (see `exact_diameter`)."""
        allowed = self.allowed
        among = np.arange(self.n_points) if allowed is None else allowed
        return exact_diameter(self.paths.from_point, among)

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return self.paths.distances(rows, cols)

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        self.paths.fill(rows, cols, out)


def refuse_parts(graph: LabelGraph) -> None:
    """Raise `SpaceError` if `graph` is not connected."""
    n = graph.n_components
    if n > 1:
        raise SpaceError(
            f"the graph has {n} parts, and a distance needs a path; join them "
            "(ingest with the policy roots=virtual), keep the largest (roots=largest) or use a subgraph"
        )
