"""Slow and obvious answers, in exact arithmetic, that fast code is compared with."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

from labelgrove.ontology.labelgraph import LabelGraph

Number = int | Fraction


def all_distances(n: int, edges: Sequence[tuple[int, int, Number]]) -> list[list[Number]]:
    """Shortest paths between all pairs (Dijkstra from each vertex), edges taken both ways."""
    neighbors: list[list[tuple[int, Number]]] = [[] for _ in range(n)]
    for a, b, length in edges:
        neighbors[a].append((b, length))
        neighbors[b].append((a, length))
    table = []
    for source in range(n):
        known: dict[int, Number] = {}
        heap: list[tuple[Number, int]] = [(0, source)]
        while heap:
            distance, v = heapq.heappop(heap)
            if v not in known:
                known[v] = distance
                for u, length in neighbors[v]:
                    heapq.heappush(heap, (distance + length, u))
        table.append([known[v] for v in range(n)])
    return table


def graph_distances(graph: LabelGraph) -> list[list[Number]]:
    """Shortest paths over every edge of a label graph."""
    return all_distances(graph.n_labels, [(c, p, w) for c, p, w, _ in _edges(graph)])


def primary_tree_distances(graph: LabelGraph) -> list[list[Number]]:
    """Paths over primary parents alone: the edge of each label with the smallest (rank, parent key)."""
    best: dict[int, tuple[int, bytes, int, Number]] = {}
    for c, p, w, rank in _edges(graph):
        entry = (rank, graph.keys[p].encode(), p, w)
        best[c] = min(best.get(c, entry), entry)
    return all_distances(graph.n_labels, [(c, p, w) for c, (_, _, p, w) in best.items()])


def _edges(graph: LabelGraph) -> list[tuple[int, int, Number, int]]:
    columns = (graph.edge_child, graph.edge_parent, graph.edge_weight, graph.edge_rank)
    return [
        (c, p, int(w) if w.is_integer() else Fraction(w), rank)
        for c, p, w, rank in zip(*(column.tolist() for column in columns), strict=True)
    ]


def variances(
    distances: Sequence[Sequence[Number]],
    allowed: Sequence[int],
    observed: Sequence[int],
    weights: Sequence[Number],
    beta: int = 2,
) -> list[Number]:
    """The weighted sum of powered distances of every allowed label, exactly."""
    return [sum(w * distances[y][o] ** beta for w, o in zip(weights, observed, strict=True)) for y in allowed]


def smallest(values: Sequence[Number]) -> list[int]:
    """Indices of all that share the smallest value, ascending."""
    least = min(values)
    return [i for i, value in enumerate(values) if value == least]


def ranking(values: Sequence[Number], top: int) -> list[int]:
    """Indices of the `top` smallest values, the lower index first among equals."""
    return sorted(range(len(values)), key=lambda i: (values[i], i))[:top]


def float_plain_sum(weights: Sequence[float], distances: Sequence[float]) -> float:
    """The weighted sum of squares in float64, one rounded term added after the other."""
    total = 0.0
    for w, d in zip(weights, distances, strict=True):
        total += w * (d * d)
    return total
