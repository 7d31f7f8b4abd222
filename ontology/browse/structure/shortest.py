"""Find shortest paths over all edges, whose directions do not matter, without scipy."""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.adjacency import Adjacency
from labelgrove.ontology.browse.structure.ranges import distinct

__all__ = ["shortest_path"]

_UNSEEN = -1


def shortest_path(adjacency: Adjacency, start: int, end: int) -> list[tuple[int, float]]:
    """Return the labels on a shortest path from `start` to `end`, each as (label, distance from `start`).

    The list is empty if there is no path. If several labels can follow a label on a shortest path, the first
    of them in canonical order is taken.

    Notes
    -----
    If all edges have length 1, labels are searched level by level from both ends; O(n_edges) time, and far
    less if the two labels are close. Otherwise Dijkstra's algorithm searches from `end` until it comes to
    `start`; O(n_edges log n_labels).

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> shortest_path(Adjacency.of(LabelGraph.grid((2, 2))), 0, 3)
    [(0, 0.0), (1, 1.0), (3, 2.0)]
    """
    if start == end:
        return [(start, 0.0)]
    if adjacency.graph.is_weighted:
        return _by_length(adjacency, start, end)
    return [(label, float(i)) for i, label in enumerate(_by_hops(adjacency, start, end))]


# ---- edges of length 1 ---------------------------------------------------------------------------------


class _Front:
    """A search from one end: the hops to every label seen so far, and the labels of the last level."""

    def __init__(self, adjacency: Adjacency, label: int) -> None:
        self._adjacency = adjacency
        self.hops = np.full(adjacency.graph.n_labels, _UNSEEN, dtype=np.int32)
        self.hops[label] = 0
        self.last: NDArray[np.integer] = np.array([label])
        self.level = 0

    @property
    def cost(self) -> int:
        return self._adjacency.n_ends(self.last)

    def advance(self) -> None:
        near = self._adjacency.neighbors(self.last)
        self.level += 1
        self.last = distinct(near[self.hops[near] == _UNSEEN], len(self.hops))
        self.hops[self.last] = self.level


def _by_hops(adjacency: Adjacency, start: int, end: int) -> list[int]:
    forth, back = _Front(adjacency, start), _Front(adjacency, end)
    meeting = np.zeros(0, dtype=np.int32)
    while not len(meeting):
        front, other = (forth, back) if forth.cost <= back.cost else (back, forth)
        front.advance()
        if not len(front.last):
            return []
        meeting = front.last[other.hops[front.last] != _UNSEEN]
    # Only shortest paths have a label that is `forth.level` hops from `start` and `back.level` from `end`.
    halves = [meeting] if forth.level else []
    while len(halves) < forth.level:
        near = adjacency.neighbors(halves[-1])
        halves.append(np.unique(near[forth.hops[near] == forth.level - len(halves)]))
    path = [start]
    for allowed in reversed(halves):
        path.append(int(np.intersect1d(adjacency.neighbors(np.array(path[-1:])), allowed)[0]))
    for left in range(back.level - 1, -1, -1):
        near = adjacency.neighbors(np.array(path[-1:]))
        path.append(int(near[back.hops[near] == left].min()))
    return path


# ---- edges of any length -------------------------------------------------------------------------------


def _by_length(adjacency: Adjacency, start: int, end: int) -> list[tuple[int, float]]:
    left: dict[int, float] = {}  # distance to `end` of the labels that are settled, in the order of settling
    heap = [(0.0, end)]
    while heap and start not in left:
        distance, label = heapq.heappop(heap)
        if label not in left:
            left[label] = distance
            for length, near in _edges(adjacency, label):
                if near not in left:
                    heapq.heappush(heap, (distance + length, near))
    if start not in left:
        return []
    settled = {label: i for i, label in enumerate(left)}
    path = [start]
    while path[-1] != end:
        at = path[-1]
        path.append(
            min(
                near
                for length, near in _edges(adjacency, at)
                # settled before: a length far below the distance may leave the sum as it is
                if settled.get(near, settled[at]) < settled[at] and left[near] + length == left[at]
            )
        )
    steps = [(start, 0.0)]
    for a, b in pairwise(path):
        steps.append((b, steps[-1][1] + min(length for length, near in _edges(adjacency, a) if near == b)))
    return steps


def _edges(adjacency: Adjacency, label: int) -> list[tuple[float, int]]:
    """Return the edges at `label`, each as (length, other end)."""
    graph, up, down = adjacency.graph, adjacency.edges_up(label), adjacency.edges_down(label)
    lengths = (*graph.edge_weight[up].tolist(), *graph.edge_weight[down].tolist())
    ends = (*graph.edge_parent[up].tolist(), *graph.edge_child[down].tolist())
    return list(zip(lengths, ends, strict=True))
