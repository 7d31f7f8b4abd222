"""Bounds on the difference between distances of supernodes and distances of their labels.

The source is the graph that was summarized, and the quotient graph is the graph between supernodes. A path
between two labels of the source becomes a walk between their supernodes that is not longer. Conversely, a
path between supernodes can be extended to a path between any label of the first supernode and any label of
the last. Inside each supernode on the path, including the first and the last, the extension adds at most the
diameter of that supernode. So, for labels u and v,
``quotient distance <= d(u, v) <= quotient distance + diameters of the supernodes on the path``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Distortion", "path_bounds", "supernode_diameters"]

_PURPOSE = "measuring the distortion of a summary"


@dataclass(frozen=True, eq=False)
class Distortion:
    """Bounds of the distances between labels of supernodes, in edge-length units of the source.

    In both arrays, there is a row for each supernode from which distances are measured, and a column for each
    supernode of the summary.

    Attributes
    ----------
    lower : ndarray of shape (n_sources, n_supernodes), dtype=float64
        The distance between the two supernodes in the quotient graph; 0 from a supernode to itself, infinite
        if no path joins the two.
    upper : ndarray of shape (n_sources, n_supernodes), dtype=float64
        The smallest value, over all paths between the two supernodes in the quotient graph, of the length of
        the path plus the diameters of the supernodes on it.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def path_bounds(
    edges: NDArray[np.int32],
    weights: NDArray[np.float64],
    diameters: NDArray[np.float64],
    sources: NDArray[Any],
) -> Distortion:
    """Return bounds of the distances from each supernode in `sources` to every supernode.

    This takes two Dijkstra runs for each source, one for the lower and one for the upper bounds. For the
    upper bounds, each edge is lengthened by half the diameters of the two supernodes that it joins. So the
    length of a path includes the diameter of every supernode between its ends, and half the diameter of each
    end. The other halves are added afterwards.
    """
    half = diameters / 2
    lower = _distances_from(len(diameters), edges.T, weights, sources)
    upper = _distances_from(len(diameters), edges.T, weights + half[edges].sum(axis=1), sources)
    return Distortion(lower, upper + half[sources][:, None] + half)


def supernode_diameters(
    graph: LabelGraph, assignment: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return an upper bound of the diameter, in `graph`, of each supernode.

    Parameters
    ----------
    graph : LabelGraph
    assignment : ndarray of shape (n_labels,)
        Supernode of each label.
    sizes : ndarray of shape (n_supernodes,)
        Number of labels of each supernode.

    Returns
    -------
    diameters : ndarray of shape (n_supernodes,), dtype=float64
        The bound of each supernode; infinite if no path joins its members.

    Notes
    -----
    The bounds come from labels that are called centers here: a center is a member of the supernode, or a
    label with edges to two members. No two members are farther apart than the sum of the two largest
    distances from a center to members. So each center gives a bound, and the smallest bound is returned.
    Distances from a center are measured only over edges with a member at one end. Four centers are tried for
    each supernode: the member with the smallest index; the member farthest from it; the member farthest from
    that second one; and a label in the middle between the second and the third.

    If these edges form a tree (such as a star or a path), the second and the third center are the ends of
    the tree's longest path. The length of that path is then the bound; the diameter can be smaller only if a
    path over other labels is shorter. If these edges do not connect the members, the member with the smallest
    index is the only center, and distances from it are measured in the whole graph, over paths with the
    fewest edges.

    This takes four Dijkstra runs over at most ``2 n_edges`` edges, for any number of supernodes: the edges
    used for one supernode form a separate part of one graph, and each run covers all parts. In addition,
    there is a breadth-first search for each supernode whose members these edges do not connect; the search
    ends when it has found all members.
    """
    n_supernodes = len(sizes)
    owner, length, ends = _neighborhoods(graph, assignment)
    is_member = np.zeros(len(owner), dtype=bool)
    is_member[: len(assignment)] = True
    starts = np.unique(assignment, return_index=True)[1]
    by_owner = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[by_owner], np.arange(n_supernodes))
    bound = np.full(n_supernodes, np.inf)

    def sweep(starts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for each vertex of the graph of `_neighborhoods`, its distance from the center of its part.

        Each supernode has its own part of this graph, and `starts` contains one center for each part. `bound`
        is lowered for the supernodes for which these distances prove a smaller bound.
        """
        found = _distances_from(
            len(owner), ends, length, starts, nearest=True
        )  # labels come first among the vertices
        np.minimum(bound, _two_largest(found[: len(assignment)], assignment, n_supernodes), out=bound)
        return found

    def farthest(distance: NDArray[np.float64]) -> NDArray[np.int64]:
        return _extreme(np.where(is_member & np.isfinite(distance), distance, -1.0), by_owner, begin)

    from_start = sweep(starts)
    from_first = sweep(farthest(from_start))
    is_tree = np.bincount(owner[ends[0]], minlength=n_supernodes) == np.bincount(owner) - 1
    is_tree[owner[np.isinf(from_start)]] = False
    longest = np.zeros(n_supernodes)
    np.maximum.at(longest, assignment, from_first[: len(assignment)])
    bound[is_tree] = np.minimum(bound, longest)[is_tree]
    from_second = sweep(farthest(from_first))
    sweep(_extreme(-np.maximum(from_first, from_second), by_owner, begin))
    apart = np.flatnonzero(np.isinf(bound))
    if len(apart):
        bound[apart] = _over_any_labels(graph, assignment, sizes, starts[apart])
    bound[sizes == 1] = 0.0
    return bound


def _neighborhoods(
    graph: LabelGraph, assignment: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Build a graph in which each supernode has a part of its own, without edges to other parts.

    The part of a supernode contains its members, and a copy of each label outside the supernode that has
    edges to at least two members. The first vertices of the graph are the labels, as members of their
    supernodes; the copies follow. Returns the supernode of each vertex, the lengths of the edges, and the
    ends of the edges, as an array of shape (2, n_edges).
    """
    n = graph.n_labels
    child, parent = graph.edge_child.astype(np.int64), graph.edge_parent.astype(np.int64)
    inside = assignment[child] == assignment[parent]
    member = np.concatenate([child[~inside], parent[~inside]])
    outside = np.concatenate([parent[~inside], child[~inside]])
    length = np.concatenate([graph.edge_weight[~inside]] * 2)
    pair = assignment[member] * np.int64(n) + outside
    codes, guest, touched = np.unique(pair, return_inverse=True, return_counts=True)
    useful = touched[guest] > 1
    used = np.flatnonzero(touched > 1)
    place = np.full(len(codes), -1, dtype=np.int64)
    place[used] = n + np.arange(len(used))
    ends = np.concatenate(
        [
            np.stack([child[inside], parent[inside]]),
            np.stack([member[useful], place[guest[useful]]]),
        ],
        axis=1,
    )
    owner = np.concatenate([assignment.astype(np.int64), codes[used] // n])
    return owner, np.concatenate([graph.edge_weight[inside], length[useful]]), ends


def _two_largest(
    distance: NDArray[np.float64], group: NDArray[np.integer], n_groups: int
) -> NDArray[np.float64]:
    """Return, for each group of distances, the sum of its two largest distances, or its only distance.

    ``group[i]`` is the index of the group of ``distance[i]``.
    """
    order = np.lexsort((distance, group))
    last = np.cumsum(np.bincount(group, minlength=n_groups)) - 1
    largest = distance[order[last]]
    before = np.maximum(last - 1, 0)
    second = np.where(group[order[before]] == np.arange(n_groups), distance[order[before]], 0.0)
    return np.asarray(largest + second)


def _extreme(
    value: NDArray[np.float64], by_group: NDArray[np.int64], begin: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each group of values, the index in `value` of the largest of them (ties: the first).

    `by_group` contains all indices in `value`, group after group. The indices of group g begin at
    ``by_group[begin[g]]``.
    """
    ordered = value[by_group]
    largest = np.repeat(np.maximum.reduceat(ordered, begin), np.diff(begin, append=len(ordered)))
    at = np.flatnonzero(ordered == largest)
    return by_group[at[np.searchsorted(at, begin)]]


def _over_any_labels(
    graph: LabelGraph, assignment: NDArray[np.int32], sizes: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the sum of the two largest distances from each label of `starts` to members of its supernode.

    Distances are measured over paths with the fewest edges, which may leave the supernode.
    """
    try:
        from labelgrove.ontology.geometry.kernels.graphs.reach import two_farthest
    except ImportError:
        raise MissingExtraError.of("numba", "science", _PURPOSE) from None
    ends = np.stack([graph.edge_child, graph.edge_parent])
    both = np.concatenate([ends, ends[::-1]], axis=1)
    matrix = _matrix(graph.n_labels, both, np.concatenate([graph.edge_weight] * 2))
    found: NDArray[np.float64] = two_farthest(
        matrix.indptr, matrix.indices, matrix.data, assignment, sizes, starts
    )
    return found


def _matrix(n: int, ends: NDArray[Any], length: NDArray[np.float64]) -> Any:
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise MissingExtraError.of("scipy", "science", _PURPOSE) from None
    return csr_array((length, (ends[0], ends[1])), shape=(n, n))


def _distances_from(
    n: int,
    ends: NDArray[Any],
    length: NDArray[np.float64],
    sources: NDArray[Any],
    *,
    nearest: bool = False,
) -> NDArray[np.float64]:
    """Return the distances from each source to all vertices, one row for each source.

    If `nearest` is True, return a single row: the distance of each vertex from its nearest source. A distance
    is infinite if no path exists. The two rows of `ends` are the two ends of each edge.
    """
    matrix = _matrix(n, ends, length)
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(matrix, directed=False, indices=sources, min_only=nearest))
