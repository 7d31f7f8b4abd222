"""Compute slow and obvious answers, in exact arithmetic, with which tests compare those of fast code."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

from labelgrove.ontology.labelgraph import LabelGraph

Number = int | Fraction


def all_distances(n: int, edges: Sequence[tuple[int, int, Number]]) -> list[list[Number]]:
    """Return the lengths of shortest paths between all vertices of an undirected graph (Dijkstra)."""
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
    """Return the lengths of shortest paths over all edges of a label graph."""
    return all_distances(graph.n_labels, [(c, p, w) for c, p, w, _ in _edges(graph)])


def primary_tree_distances(graph: LabelGraph) -> list[list[Number]]:
    """Return the lengths of paths over primary parents, those with the smallest (rank, key)."""
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
    """Return the exact weighted sum of powers of the distances of every allowed label."""
    return [sum(w * distances[y][o] ** beta for w, o in zip(weights, observed, strict=True)) for y in allowed]


def smallest(values: Sequence[Number]) -> list[int]:
    """Return the indices of all smallest values, in ascending order."""
    least = min(values)
    return [i for i, value in enumerate(values) if value == least]


def ranking(values: Sequence[Number], top: int) -> list[int]:
    """Return the indices of the `top` smallest values; among equal values, the lower index comes first."""
    return sorted(range(len(values)), key=lambda i: (values[i], i))[:top]


def float_plain_sum(weights: Sequence[float], distances: Sequence[float]) -> float:
    """Return the weighted sum of squares in float64, with each term rounded and added in order."""
    total = 0.0
    for w, d in zip(weights, distances, strict=True):
        total += w * (d * d)
    return total
