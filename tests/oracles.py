"""Slow and obvious answers, in exact arithmetic, that fast code is compared with."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

from ontology.labelgraph import LabelGraph


def all_distances(n: int, edges: Sequence[tuple[int, int, Fraction]]) -> list[list[Fraction]]:
    """Shortest paths between all pairs (Dijkstra from each vertex), edges taken both ways."""
    neighbours: list[list[tuple[int, Fraction]]] = [[] for _ in range(n)]
    for a, b, length in edges:
        neighbours[a].append((b, length))
        neighbours[b].append((a, length))
    table = []
    for source in range(n):
        known: dict[int, Fraction] = {}
        heap = [(Fraction(0), source)]
        while heap:
            distance, v = heapq.heappop(heap)
            if v not in known:
                known[v] = distance
                for u, length in neighbours[v]:
                    heapq.heappush(heap, (distance + length, u))
        table.append([known[v] for v in range(n)])
    return table


def graph_distances(graph: LabelGraph) -> list[list[Fraction]]:
    """Shortest paths over every edge of a label graph."""
    edges = zip(
        graph.edge_child.tolist(), graph.edge_parent.tolist(), map(Fraction, graph.edge_weight.tolist()), strict=True
    )
    return all_distances(graph.n_labels, list(edges))


def primary_tree_distances(graph: LabelGraph) -> list[list[Fraction]]:
    """Paths over primary parents alone: of each label's edges the one with the smallest (rank, parent key)."""
    best: dict[int, tuple[int, bytes, int, Fraction]] = {}
    for c, p, w, r in zip(
        graph.edge_child.tolist(),
        graph.edge_parent.tolist(),
        graph.edge_weight.tolist(),
        graph.edge_rank.tolist(),
        strict=True,
    ):
        entry = (r, graph.keys[p].encode(), p, Fraction(w))
        best[c] = min(best.get(c, entry), entry)
    return all_distances(graph.n_labels, [(c, p, w) for c, (_, _, p, w) in best.items()])


def variances(
    distances: Sequence[Sequence[Fraction]],
    allowed: Sequence[int],
    observed: Sequence[int],
    weights: Sequence[Fraction],
    beta: int = 2,
) -> list[Fraction]:
    """The weighted sum of powered distances of every allowed label, exactly."""
    return [
        sum((w * distances[y][o] ** beta for w, o in zip(weights, observed, strict=True)), Fraction(0))
        for y in allowed
    ]


def frechet(values: Sequence[Fraction]) -> tuple[int, Fraction, int, list[int]]:
    """Lowest index of the smallest value, that value, how many share it, and which."""
    least = min(values)
    sharing = [i for i, value in enumerate(values) if value == least]
    return sharing[0], least, len(sharing), sharing


def ranking(values: Sequence[Fraction], top: int) -> list[int]:
    """Indices of the `top` smallest values, the lower index first among equals."""
    return sorted(range(len(values)), key=lambda i: (values[i], i))[:top]
