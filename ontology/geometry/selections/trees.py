"""Selection on trees whose labels are all allowed: the greedy order of labels, and a knapsack for budgets.

On these trees the locus is the hull of the observed labels. A new label adds the vertices on its path to the
hull, and a set of labels adds the union of such paths. This is a coverage function, so gains never grow as
the hull grows. If every label costs the same, the greedy order is also the best order, and finding it takes
O(n_points) time. To find it, the vertices outside the hull are split into paths: each vertex continues the
longest of the paths that come up to it from its children. If the lower ends of the m longest paths are
picked, they add all vertices of these paths. No m labels add more: the vertices that they add can be split in
the same way into at most m paths, and the i-th longest of these is at most as long as the i-th longest of all
paths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["best_purchase", "greedy_order", "hung_from"]


def greedy_order(
    space: TreeSpace, points: NDArray[np.int64], pool: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels of `pool` that gain something, in greedy order, and their gains.

    Parameters
    ----------
    space : TreeSpace
        A tree with every label allowed.
    points : ndarray of int64
        Point indices of the observed labels. If there are none, the first pick is an end of a longest path
        between two labels of `pool`, where the length is counted in labels; among all such ends, the one with
        the lowest index is picked.
    pool : ndarray of shape (n_pool,), dtype=int64
        Point indices of the labels that may be picked, ascending.

    Notes
    -----
    This takes O(n_points) time. Ties go to the lowest index. Labels on the path from a pick to the hull are
    gained even if they are not in `pool`. For every m, the first m picks gain as much as any m labels of
    `pool` can.
    """
    tree, kernels = space.tree, _kernels()
    candidate = np.zeros(len(tree), dtype=bool)
    candidate[tree.positions(pool)] = True
    first = points[:0]
    if not len(points):
        if not len(pool):
            return pool, pool
        first = _end_of_longest_path(tree, pool)
        candidate[tree.positions(first)] = False
    reached = hull(tree, tree.positions(np.concatenate([points, first])))
    inside = np.zeros(len(tree), dtype=bool)
    inside[reached] = True
    order = tree.points(np.arange(len(tree)))
    ends, gains = kernels.long_paths(tree.parent, order, inside, int(reached[0]), candidate)
    return np.concatenate([first, ends]), np.concatenate([np.ones(len(first), dtype=np.int64), gains])


def _end_of_longest_path(tree: RootedTree, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lowest point index at which a longest path between two labels of `pool` ends; shape (1,)."""
    hops, parent = _kernels().hop_distances, tree.parent
    at = tree.positions(pool)
    one_end = at[np.argmax(hops(parent, at[0])[at])]
    from_one = hops(parent, one_end)[at]
    other_end = at[np.argmax(from_one)]
    farthest = np.maximum(from_one, hops(parent, other_end)[at])
    return pool[[np.argmax(farthest)]]


def best_purchase(
    space: TreeSpace, points: NDArray[np.int64], cost: NDArray[np.int64], budget: int
) -> NDArray[np.int64]:
    """Return the labels within a budget that add the most to the hull, by dynamic programming.

    Parameters
    ----------
    space : TreeSpace
        A tree with every label allowed.
    points : ndarray of int64
        Point indices of the observed labels, at least one.
    cost : ndarray of shape (n_points,), dtype=int64
        Whole costs; -1 for labels that may not be bought.
    budget : int
        Upper limit of the total cost.

    Returns
    -------
    bought : ndarray of int64
        Point indices, ascending.

    Notes
    -----
    This takes O(n_points * budget) time, and 8 bytes of memory for each pair of a point and a unit of budget.
    """
    tree = space.tree
    reached = hull(tree, tree.positions(points))
    top = int(reached[0])
    parent = np.empty(len(tree), dtype=np.int64)
    parent[tree.points(np.arange(len(tree)))] = tree.points(hung_from(tree, top))
    parent[tree.points(top)] = -1
    hung = RootedTree(parent)
    inside = np.zeros(len(tree), dtype=bool)
    inside[hung.positions(tree.points(reached))] = True
    costs = cost[hung.points(np.arange(len(hung)))]
    bought = _kernels().tree_knapsack(hung.parent, hung.end, inside, costs, budget)
    return np.sort(hung.points(bought))


def hung_from(tree: RootedTree, top: int) -> NDArray[np.int64]:
    """Return the parent that each position has if the tree is rooted at `top`; `top` is its own parent."""
    upwards = tree.parent
    parent = upwards.copy()
    above, v = top, int(upwards[top])
    parent[top] = top
    while v != above:
        parent[v] = above
        above, v = v, int(upwards[v])
    return parent


def _kernels() -> Any:
    try:
        from labelgrove.ontology.geometry.kernels.trees import longpaths
    except ImportError:
        raise MissingExtraError.of("numba", "science", "selecting classes on a tree") from None
    return longpaths
