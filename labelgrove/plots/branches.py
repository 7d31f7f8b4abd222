"""Choose which labels of a large hierarchy get their own mark in a picture, and which branches share one."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Forest", "Mark", "chosen_marks", "forest_of"]

_MOST_CHILDREN = 24
"""The most branches with reached labels that are drawn below one label; smaller ones share a mark."""


@dataclass(frozen=True)
class Forest:
    """A hierarchy by primary parents, in preorder.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The index of the label at each position of the preorder.
    parent : ndarray of shape (n,)
        For the label at each position, the position of its parent; -1 for a root.
    end : ndarray of shape (n,)
        For the label at each position v, the end of its branch: the label and all labels below it have the
        positions ``v, ..., end[v] - 1``.
    depth : ndarray of shape (n,)
        For the label at each position, the number of edges up to the root.
    """

    order: NDArray[np.int64]
    parent: NDArray[np.int64]
    end: NDArray[np.int64]
    depth: NDArray[np.int64]

    def children(self, v: int) -> list[int]:
        """Return the positions of the children of the label at position `v`, in ascending order."""
        found, c = [], v + 1
        while c < self.end[v]:
            found.append(c)
            c = int(self.end[c])
        return found


@dataclass
class Mark:
    """One mark of a picture, for one label (`branches` is then empty) or for whole branches.

    Attributes
    ----------
    top : int
        The position of the label, or of the top of the first branch.
    branches : tuple of int
        The positions of the tops of the branches that the mark represents; they are siblings.
    below : list of Mark
        The marks below the label.
    """

    top: int
    branches: tuple[int, ...]
    below: list[Mark]


def forest_of(graph: LabelGraph) -> Forest:
    """Return the hierarchy of primary parents; the root of an undirected tree is its first label.

    Raises
    ------
    SpaceError
        If the graph is undirected and not a tree.
    """
    if graph.directed:
        order = np.arange(graph.n_labels)
        parent = graph.primary_parent.astype(np.int64)
    else:
        space = metric_space(graph, "tree")
        assert isinstance(space, TreeSpace)  # what metric="tree" returns
        order, parent = space.tree.points(np.arange(graph.n_labels)), space.tree.parent
        parent[0] = -1
    n = len(order)
    above, depth, size = parent.tolist(), [0] * n, [1] * n
    for v in range(n):
        if above[v] >= 0:
            depth[v] = depth[above[v]] + 1
    for v in range(n - 1, -1, -1):
        if above[v] >= 0:
            size[above[v]] += size[v]
    return Forest(order, parent, np.arange(n) + np.array(size), np.array(depth))


def chosen_marks(forest: Forest, reached: NDArray[np.bool_], limit: int) -> tuple[list[Mark], int]:
    """Return the marks of the roots, each with the marks below it, and the total number of marks.

    Parameters
    ----------
    forest : Forest
    reached : ndarray of shape (n,), dtype=bool
        Whether the label at each position is reached, that is, in the locus or observed.
    limit : int
        The largest number of marks.

    Notes
    -----
    A hierarchy of at most `limit` labels is drawn whole. In a larger one, sibling branches without a reached
    label share a mark. Of the sibling branches with reached labels, all but the 24 largest share a mark too.
    Every other branch begins as a single mark. To open a branch means to give its top label its own mark,
    with marks for the branches below. Branches are opened one after the other, unless the limit would be
    exceeded. Branches with many reached and many unreached labels come first (by the smaller of the two
    numbers); of equal ones, the larger branch comes first.
    """
    whole = len(forest.order) <= limit
    before = np.concatenate([[0], np.cumsum(reached)])

    def closed(branches: tuple[int, ...]) -> Mark:
        return Mark(branches[0], branches, [])

    def siblings(tops: list[int]) -> list[Mark]:
        """Return the marks of sibling branches with the tops `tops`; several branches may share one mark."""
        if whole:
            return [closed((v,)) for v in tops]
        alive = [v for v in tops if before[forest.end[v]] > before[v]]
        idle = [v for v in tops if before[forest.end[v]] == before[v]]
        by_size = sorted(alive, key=lambda v: (int(v - forest.end[v]), v))
        shown = [closed((v,)) for v in sorted(by_size[:_MOST_CHILDREN])]
        return shown + [closed(tuple(sorted(rest))) for rest in (by_size[_MOST_CHILDREN:], idle) if rest]

    def urgency(mark: Mark) -> tuple[int, int, int]:
        start, stop = mark.top, int(forest.end[mark.top])
        hit = int(before[stop] - before[start])
        return (-min(hit, stop - start - hit), start - stop, start)

    top = siblings(np.flatnonzero(forest.parent < 0).tolist())
    n_marks = len(top)
    queue = [(urgency(m), m.top, m) for m in top if len(m.branches) == 1]
    heapq.heapify(queue)
    while queue:
        _, v, mark = heapq.heappop(queue)
        below = siblings(forest.children(v))
        if n_marks + len(below) > limit:
            continue
        mark.branches, mark.below = (), below
        n_marks += len(below)
        for m in below:
            if len(m.branches) == 1:
                heapq.heappush(queue, (urgency(m), m.top, m))
    return top, n_marks
