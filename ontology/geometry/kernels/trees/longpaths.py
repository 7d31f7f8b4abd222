"""Paths on trees: lengths in edges, paths that lead away from a hull, and the best paths within a budget.

Vertices are positions in the preorder of `ontology.geometry.paths.rootedtree`: ``parent[v] < v`` except for
the root, which is its own parent, and the subtree of v is ``v, ..., end[v] - 1``. A hop is one edge,
regardless of its length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["hop_distances", "long_paths", "tree_knapsack"]


@compiled
def hop_distances(parent: NDArray[np.int64], source: int) -> NDArray[np.int32]:
    """Return the number of hops from `source` to every vertex; shape (n,), O(n)."""
    hops = np.full(len(parent), -1, dtype=np.int32)
    v, steps = source, 0
    hops[v] = 0
    while parent[v] != v:
        v = parent[v]
        steps += 1
        hops[v] = steps
    for u in range(len(parent)):
        if hops[u] < 0:
            hops[u] = hops[parent[u]] + 1
    return hops


@compiled
def long_paths(
    parent: NDArray[np.int64],
    order: NDArray[np.int64],
    inside: NDArray[np.bool_],
    top: int,
    candidate: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut the branches outside a hull into paths; return each path's end and number of vertices.

    Each path begins next to the hull or next to another path, and leads away from the hull to its end. No two
    paths share a vertex. The longest come first. `inside` marks the hull and `top` is its first vertex;
    `candidate` marks the vertices where a path may end. `order` contains the canonical index of each
    position, and the ends are returned as canonical indices.

    Paths are followed from their ends towards the hull. Where several paths meet at a vertex, the longest one
    continues (of equally long paths, the one with the lowest end), and the others stop before this vertex.
    O(n): one pass towards the hull, and a counting sort.
    """
    n = len(parent)
    reach = np.zeros(n, dtype=np.int32)  # vertices from here to the farthest candidate, inclusive
    tip = np.full(n, n, dtype=np.int64)  # canonical number of that candidate
    length = np.zeros(n, dtype=np.int32)  # of the stopped path that ends at a canonical number
    above_top = np.zeros(n, dtype=np.bool_)
    n_above = 0
    v = top
    while parent[v] != v:
        v = parent[v]
        above_top[v] = True
        n_above += 1
    chain = np.empty(n_above + 1, dtype=np.int64)  # from the root down to the top of the hull
    v = top
    for i in range(n_above, -1, -1):
        chain[i] = v
        v = parent[v]
    # all vertices hang on their parent, except those above the hull, which hang on the next vertex down
    for i in range(n - 1 + n_above, -1, -1):
        at = i - n_above
        if at >= 0:
            v = at
            if inside[v] or above_top[v]:
                continue
            p = parent[v]
        else:
            v = chain[-1 - at]
            p = chain[-at]
        if reach[v] > 0:
            reach[v] += 1
        elif candidate[v]:
            reach[v] = 1
            tip[v] = order[v]
        else:
            continue
        if inside[p]:
            length[tip[v]] = reach[v]
        elif reach[v] > reach[p] or (reach[v] == reach[p] and tip[v] < tip[p]):
            if reach[p] > 0:
                length[tip[p]] = reach[p]
            reach[p] = reach[v]
            tip[p] = tip[v]
        else:
            length[tip[v]] = reach[v]

    count = np.zeros(n + 2, dtype=np.int64)
    for c in range(n):
        count[length[c]] += 1
    begin = np.zeros(n + 2, dtype=np.int64)
    total = 0
    for gain in range(n, 0, -1):
        begin[gain] = total
        total += count[gain]
    ends = np.empty(total, dtype=np.int64)
    gains = np.empty(total, dtype=np.int64)
    for c in range(n):
        if length[c] > 0:
            k = begin[length[c]]
            begin[length[c]] += 1
            ends[k] = c
            gains[k] = length[c]
    return ends, gains


@compiled
def tree_knapsack(
    parent: NDArray[np.int64],
    end: NDArray[np.int64],
    inside: NDArray[np.bool_],
    cost: NDArray[np.int64],
    budget: int,
) -> NDArray[np.int64]:
    """Return the vertices to buy so that the paths from them to the root contain the most vertices.

    `inside` marks a connected set of vertices that contains the root; the vertices of this set are not
    counted. `cost` is the cost of each vertex, or -1 if it may not be bought. The bought vertices together
    may cost at most `budget`. O(n * budget) time and memory.

    A vertex is *covered* if it is on the path from some bought vertex to the root, or marked `inside`. In the
    code, ``best[v, owed, b]`` is the largest number of covered vertices among v and the vertices after it in
    preorder, given that the parent of v is covered and b is left to spend. If `owed` is 1, the parent was not
    bought and none of its children before v is covered. Then v or a later child must be covered, because a
    path that covers the parent has to begin below it.
    """
    n = len(parent)
    none = -(n + 1)
    best = np.full((n + 1, 2, budget + 1), none, dtype=np.int32)
    best[n, 0, :] = 0
    for v in range(n - 1, -1, -1):
        after = end[v]
        last_child = after == end[parent[v]]
        for b in range(budget + 1):
            if inside[v]:
                best[v, 0, b] = best[v + 1, 0, b]
                continue
            covered = none
            if after > v + 1 and best[v + 1, 1, b] >= 0:
                covered = best[v + 1, 1, b] + 1
            if 0 <= cost[v] <= b:
                covered = max(covered, best[v + 1, 0, b - cost[v]] + 1)
            best[v, 0, b] = max(covered, best[after, 0, b])
            best[v, 1, b] = covered if last_child else max(covered, best[after, 1, b])

    bought = np.empty(n, dtype=np.int64)
    n_bought = 0
    v, owed, left = 0, 0, budget
    while v < n:
        value = best[v, owed, left]
        if inside[v]:
            v += 1
        elif end[v] > v + 1 and best[v + 1, 1, left] >= 0 and best[v + 1, 1, left] + 1 == value:
            v, owed = v + 1, 1
        elif 0 <= cost[v] <= left and best[v + 1, 0, left - cost[v]] + 1 == value:
            bought[n_bought] = v
            n_bought += 1
            left -= cost[v]
            v, owed = v + 1, 0
        else:
            v = end[v]
    return bought[:n_bought]
