"""The number of labels that a new observed label of a tree adds to the locus; vertices are in preorder.

The tree is rooted at an observed label, so every vertex above an observed label is in the hull of the
observed labels. The path from the hull to a vertex is therefore the part of its path from the root that is
outside the hull.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["counts_along_ways", "nearest_by_side"]


@compiled
def nearest_by_side(
    parent: NDArray[np.int64],
    length: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    missing: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each vertex, the distances to the nearest allowed labels inside and outside its subtree.

    `missing` marks the allowed labels that are not in the locus yet. The function also returns, for each
    vertex, how many of them are among the nearest allowed labels inside its subtree, and how many are among
    the nearest allowed labels outside it.
    """
    # parent, length, allowed, missing (a part of the allowed labels): (n,) -> down, up: distance of the
    # nearest allowed label in the subtree, and outside it; n_down, n_up: missing labels at that distance.
    # O(n).
    n = len(parent)
    first, second = np.full(n, np.inf), np.full(n, np.inf)  # the two smallest distinct distances
    n_first, n_second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    n_branches = np.zeros(n, dtype=np.int64)  # number of branches with the smallest distance
    for v in range(n - 1, -1, -1):
        if allowed[v]:
            second[v], n_second[v] = first[v], n_first[v]
            first[v], n_first[v], n_branches[v] = 0.0, np.int64(missing[v]), 1
        if v == 0:
            break
        u, far = parent[v], first[v] + length[v]
        if far < first[u]:
            second[u], n_second[u] = first[u], n_first[u]
            first[u], n_first[u], n_branches[u] = far, n_first[v], 1
        elif far == first[u]:
            n_first[u] += n_first[v]
            n_branches[u] += 1
        elif far < second[u]:
            second[u], n_second[u] = far, n_first[v]
        elif far == second[u]:
            n_second[u] += n_first[v]
    up = np.full(n, np.inf)
    n_up = np.zeros(n, dtype=np.int64)
    for v in range(1, n):
        u = parent[v]
        if first[v] + length[v] > first[u]:
            beside, n_beside = first[u], n_first[u]
        elif n_branches[u] > 1:
            beside, n_beside = first[u], n_first[u] - n_first[v]
        else:
            beside, n_beside = second[u], n_second[u]
        up[v] = min(beside, up[u]) + length[v]
        if beside <= up[u]:
            n_up[v] += n_beside
        if up[u] <= beside:
            n_up[v] += n_up[u]
    return first, up, n_first, n_up


@compiled
def counts_along_ways(
    parent: NDArray[np.int64],
    length: NDArray[np.float64],
    inside: NDArray[np.bool_],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    n_down: NDArray[np.int64],
    n_up: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return an upper bound on the number of labels that each vertex adds to the locus if it is observed.

    Only allowed labels that are not in the locus yet are counted, and only those in branches that leave the
    path from the hull to the vertex.
    """
    # inside: the hull; the rest as `nearest_by_side` returns it; lengths are whole numbers -> (n,). O(n).
    # A vertex of the path counts the labels nearest to it, unless a label in a direction of the path is as
    # near.
    n = len(parent)
    passed = np.zeros(n, dtype=np.int64)
    count = np.zeros(n, dtype=np.int64)
    for v in range(n):
        u = parent[v]
        if v > 0 and not inside[v]:
            passed[v] = passed[u]
            if not inside[u] and down[u] < up[u] and down[v] + length[v] > down[u]:
                passed[v] += n_down[u]
        count[v] = passed[v]
        if down[v] <= up[v]:
            count[v] += n_down[v]
        if up[v] <= down[v]:
            count[v] += n_up[v]
    return count
