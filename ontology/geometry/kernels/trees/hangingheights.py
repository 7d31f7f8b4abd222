"""Distances from a part of a tree, or from the nearest marked vertex; vertices are in preorder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["hanging_heights", "nearest_marked"]


@compiled
def hanging_heights(
    parent: NDArray[np.int64], length: NDArray[np.float64], part: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for each vertex, the nearest vertex in `part` and the distance to that vertex (the height).

    `part` contains the vertices of a connected part of the tree, ascending.
    """
    # parent, length: (n,); part: a connected set of vertices, ascending -> foot, height: (n,). O(n).
    n = len(parent)
    foot = np.full(n, -1, dtype=np.int64)
    height = np.zeros(n)
    foot[part] = part
    v = part[0]
    while v > 0:  # vertices above the part are nearest to its top
        foot[parent[v]] = part[0]
        height[parent[v]] = height[v] + length[v]
        v = parent[v]
    for v in range(n):
        if foot[v] < 0:
            foot[v] = foot[parent[v]]
            height[v] = height[parent[v]] + length[v]
    return foot, height


@compiled
def nearest_marked(
    parent: NDArray[np.int64], length: NDArray[np.float64], marked: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the distance of each vertex to the nearest marked vertex."""
    # parent, length, marked: (n,) -> (n,). O(n).
    n = len(parent)
    nearest = np.where(marked, 0.0, np.inf)
    for v in range(n - 1, 0, -1):
        nearest[parent[v]] = min(nearest[parent[v]], nearest[v] + length[v])
    for v in range(1, n):
        nearest[v] = min(nearest[v], nearest[parent[v]] + length[v])
    return nearest
