"""The parents and the children of each label, as slices of arrays."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.ranges import joined_ranges
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Adjacency"]


class Adjacency:
    """The edges of a graph, sorted by child and by parent.

    Parameters
    ----------
    graph : LabelGraph
    up : ndarray of shape (n_labels + 1,), dtype=int32
        The edges of label ``i`` to its parents are ``up[i]`` to ``up[i + 1]`` (exclusive).
    down : ndarray of shape (n_labels + 1,), dtype=int32
        The edges of label ``i`` to its children are ``by_parent[down[i]:down[i + 1]]``.
    by_parent : ndarray of shape (n_edges,), dtype=int32
        Indices of the edges, sorted by (parent, child).

    Notes
    -----
    In an undirected graph, the "parents" of a label are its neighbors with larger indices, and its "children"
    are those with smaller indices.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> adjacency = Adjacency.of(graph)
    >>> adjacency.children(1).tolist(), adjacency.parents(1).tolist()
    ([2, 3], [0])
    """

    __slots__ = ("by_parent", "down", "graph", "up")

    def __init__(
        self,
        graph: LabelGraph,
        up: NDArray[np.int32],
        down: NDArray[np.int32],
        by_parent: NDArray[np.int32],
    ) -> None:
        self.graph, self.up, self.down, self.by_parent = graph, up, down, by_parent

    @classmethod
    def of(cls, graph: LabelGraph) -> Self:
        """Sort the edges of a graph; O(n_edges log n_edges)."""
        by_parent = np.argsort(graph.edge_parent, kind="stable").astype(np.int32)  # edges ascend by child
        return cls(
            graph, _offsets(graph.edge_child, len(graph)), _offsets(graph.edge_parent, len(graph)), by_parent
        )

    def edges_up(self, label: int) -> slice:
        """Return the edges from `label` to its parents, in the order of their ranks."""
        return slice(int(self.up[label]), int(self.up[label + 1]))

    def edges_down(self, label: int) -> NDArray[np.int32]:
        """Return the edges from `label` to its children, as indices, in canonical order of the children."""
        return self.by_parent[int(self.down[label]) : int(self.down[label + 1])]

    def parents(self, label: int) -> NDArray[np.int32]:
        """Return the parents of `label`, in the order of their ranks."""
        return self.graph.edge_parent[self.edges_up(label)]

    def children(self, label: int) -> NDArray[np.int32]:
        """Return the children of `label`, in canonical order."""
        return self.graph.edge_child[self.edges_down(label)]

    def n_children(self, labels: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the number of children of each of the `labels`."""
        number: NDArray[np.int32] = self.down[labels + 1] - self.down[labels]
        return number

    def all_parents(self, labels: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the parents of all `labels`, one label after the other; a parent may occur repeatedly."""
        return self.graph.edge_parent[joined_ranges(self.up, labels)]

    def all_children(self, labels: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the children of all `labels`, one label after the other; a child may occur repeatedly."""
        return self.graph.edge_child[self.by_parent[joined_ranges(self.down, labels)]]

    def children_between(self, begin: int, end: int) -> NDArray[np.int32]:
        """Return the children of the labels from `begin` to `end` (exclusive), one label after the other."""
        return self.graph.edge_child[self.by_parent[self.down[begin] : self.down[end]]]

    def neighbors(self, labels: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the parents and the children of all `labels`; a label may occur repeatedly."""
        return np.concatenate([self.all_parents(labels), self.all_children(labels)])

    def n_ends(self, labels: NDArray[np.integer]) -> int:
        """Return the number of edges at the `labels`, counted once for each of their ends."""
        return int((self.up[labels + 1] - self.up[labels]).sum() + self.n_children(labels).sum())


def _offsets(ends: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    offsets = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(np.bincount(ends, minlength=n), out=offsets[1:])
    return offsets
