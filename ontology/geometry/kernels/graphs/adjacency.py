"""The adjacency of a graph as a list of neighbors for each vertex; every compiled graph search reads it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["adjacency"]


@compiled
def adjacency(
    n: int, ends: NDArray[np.integer], others: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return `begin` and `neighbor`; ``neighbor[begin[v]:begin[v + 1]]`` are the neighbors of vertex v.

    `begin` is int64 (n + 1,), `neighbor` is int32 (2 n_edges,).

    `ends` and `others` are the two ends of each edge. The neighbors of a vertex are in the order of the
    edges. O(n + n_edges).
    """
    begin = np.zeros(n + 1, np.int64)
    for e in range(len(ends)):
        begin[ends[e] + 1] += 1
        begin[others[e] + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    free = begin[:-1].copy()
    neighbor = np.empty(2 * len(ends), np.int32)
    for e in range(len(ends)):
        neighbor[free[ends[e]]] = others[e]
        free[ends[e]] += 1
        neighbor[free[others[e]]] = ends[e]
        free[others[e]] += 1
    return begin, neighbor
