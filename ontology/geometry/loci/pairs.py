"""The labels that weights on two observed labels reach, for all pairs, exactly and without a grid of weights.

For two observed labels a and b, draw each label as the point (d_a^2, d_b^2) of its squared distances to them.
The labels that some weights on a and b reach form the lower-left convex hull of these points. The union over
all pairs is part of the locus. If it is the whole locus, the locus is *pairwise decomposable*. This is so on
trees with every label allowed and on complete graphs. It is not so in general: not on the leaves of a tree,
not on grids of three dimensions, not on graphs with cycles.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError, SpaceError
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.loci.general import is_tolerant
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.loci.shortedges import hull_decides
from labelgrove.ontology.geometry.loci.witnesses import PairWitnesses
from labelgrove.ontology.geometry.paths.wholenumbers import are_short, whole_numbers
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import observed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.status import Status
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = [
    "PairHulls",
    "geodesic_interval",
    "hull_members",
    "is_pairwise_decomposable",
    "joined_hulls",
    "locus_of_hulls",
    "pairs_locus",
    "shares_of_pairs",
]


def pairs_locus(space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    """Return the union of the loci of all pairs of observed labels, given as distinct point indices.

    The status of the result is ``"exact"`` if a theorem says that the union is the whole locus: for up to two
    observed labels, on a complete graph, and on a tree with every label allowed and no edge shorter than
    4e-12 of its diameter. (The ends of a shorter edge may be tied.) Otherwise the status is
    ``"lower_bound"``. A witness has weight on at most two observed labels. `unique_index` contains the labels
    that some pair reaches uniquely.

    Raises
    ------
    MissingExtraError
        If numba is not installed.

    Notes
    -----
    If the distances are whole numbers below 65,536, possibly in units of 1/2, 1/4 and so on, the computation
    uses integers. It takes O(n_observed^2 * (n_labels + diameter)) time, and one or two bytes for each
    distance. For other distances, the computation uses float64 with the relative tolerance of the tie rule,
    `ontology.geometry.ties.TIE_RELATIVE`, and needs one sort for each observed label.
    """
    distances = space.distances(cols=points)
    return locus_of_hulls(space, points, hull_members(distances, tolerant=is_tolerant(space)))


def is_pairwise_decomposable(space: MetricSpace, observed: Iterable[str]) -> bool:
    """Return whether the locus equals the union of the loci of all pairs of observed labels.

    The answer is exact.

    Parameters
    ----------
    space, observed
        As for `ontology.geometry.locus`.

    Raises
    ------
    InputError, UnknownLabelError
        As for `ontology.geometry.locus`.

    Notes
    -----
    If a theorem says that the union is the whole locus (see `pairs_locus`), nothing is computed. Otherwise
    the locus and the union are computed and compared.

    Examples
    --------
    >>> is_pairwise_decomposable(CompleteSpace(["a", "b", "c"]), ["a", "b", "c"])
    True
    """
    points = observed_points(space, observed)
    if _status(space, points) == "exact":
        return True
    # pairs never reach more labels than all observed labels together, so sets of equal size are equal
    return len(pairs_locus(space, points)) == len(locus_index(space, points))


def geodesic_interval(space: MetricSpace, first: str, second: str) -> tuple[str, ...]:
    """Return the allowed labels on a shortest path between two points.

    On a graph of unit lengths with every label allowed this is the locus of the two points: for every label
    that is on no shortest path, a label on a shortest path has the same distance to the first point and is
    nearer to the second. With other lengths or fewer allowed labels it is part of the locus.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    first, second : str
        Keys of two different points, at least one of them an allowed label.

    Returns
    -------
    keys : tuple of str
        Keys in canonical order. A label is on a shortest path if its distances to the two points add up to
        the distance between the points. If distances are not whole numbers, a relative difference of
        `TIE_RELATIVE` is allowed.

    Raises
    ------
    InputError, UnknownLabelError
        If a key is not a point of the space, or the two keys are the same.
    SpaceError
        If neither point is an allowed label, because distances are known only from allowed labels.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> ring = GraphSpace(LabelGraph.from_edges(["ab", "bc", "cd", "da"], directed=False))
    >>> geodesic_interval(ring, "a", "c")
    ('a', 'b', 'd', 'c')
    """
    points = observed_points(space, [first, second], name="first, second")
    rows = [space.keys.find(first), space.keys.find(second)]
    apart = space.distances(cols=points).astype(np.float64)
    if rows[0] >= 0:
        length = apart[rows[0], 1]
    elif rows[1] >= 0:
        length = apart[rows[1], 0]
    else:
        raise SpaceError(
            f"first, second: neither {first!r} nor {second!r} is an allowed label, and distances are known "
            "only from allowed labels; allow one of them, or build the space with labels='all'"
        )
    return space.keys.take(np.flatnonzero(apart.sum(axis=1) <= length * (1 + TIE_RELATIVE)))


def _status(space: MetricSpace, points: NDArray[np.int64]) -> Status:
    whole_tree = isinstance(space, TreeSpace) and space.allowed is None and hull_decides(space)
    return "exact" if whole_tree or isinstance(space, CompleteSpace) or len(points) < 3 else "lower_bound"


def locus_of_hulls(space: MetricSpace, points: NDArray[np.int64], hulls: PairHulls) -> Locus:
    """Return the labels that pairs of observed labels reach, as a locus; see `pairs_locus`.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, each listed once.
    hulls : PairHulls
        The result of `hull_members` for the distances to these points, over all pairs.
    """
    index = np.flatnonzero(hulls.member)
    witnesses = PairWitnesses(len(points), hulls.columns[index], hulls.weights[index])
    tolerance = TIE_RELATIVE if hulls.weights.dtype == np.float64 else 0.0
    unique = np.flatnonzero(hulls.unique)
    return Locus(space, points, index, unique, _status(space, points), witnesses, tolerance)


class PairHulls(NamedTuple):
    """The labels that weights on pairs of columns of a matrix of distances reach.

    Attributes
    ----------
    member, unique : ndarray of shape (n_labels,), dtype=bool
        Whether some pair of columns reaches the label, and whether some pair reaches it uniquely.
    columns : ndarray of shape (n_labels, 2), dtype=int64
        For each member, two columns on which some weights reach it, or a single column, listed twice. Single
        columns are tried before pairs, and pairs in the order of their columns. The first of these that
        reaches the member uniquely is given; if none does, the first that reaches it.
    weights : ndarray of shape (n_labels, 2), dtype=int64 or float64
        Weights on these two columns that reach the member, uniquely if some weights do. They are whole
        numbers if the distances are whole numbers, and otherwise floats. With floats, sums are treated as
        equal if they differ by at most a relative `TIE_RELATIVE`.
    """

    member: NDArray[np.bool_]
    unique: NDArray[np.bool_]
    columns: NDArray[np.int64]
    weights: NDArray[Any]


def hull_members(
    distances: NDArray[Any], rows: range | None = None, *, tolerant: bool | None = None
) -> PairHulls:
    """Return the labels that weights on pairs of columns of a matrix of distances reach.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_observed)
        Finite and non-negative.
    rows : range, optional
        Consider only the pairs whose first column is in this range, which must have step 1. If the range
        begins at 0, single columns are considered too. By default, all pairs and single columns are
        considered. `joined_hulls` joins the results of several ranges.
    tolerant : bool, optional
        As for `ontology.geometry.loci.general.general_locus`.
    """
    try:
        from labelgrove.ontology.geometry.kernels.rows import pairhulls
    except ImportError:
        raise MissingExtraError.of(
            "numba", "science", "finding the labels that pairs of observed labels reach"
        ) from None
    n_labels, n_observed = distances.shape
    rows = range(n_observed - 1) if rows is None else rows
    member, unique = np.zeros(n_labels, dtype=bool), np.zeros(n_labels, dtype=bool)
    columns = np.zeros((n_labels, 2), dtype=np.int64)
    whole = None if tolerant else _as_small_integers(distances)
    if whole is None:
        floats = np.zeros((n_labels, 2))
        squared = distances.astype(np.float64).T ** 2
        if rows.start == 0:
            pairhulls.nearest_labels(squared.T, n_observed, member, unique, columns, floats)
        for a in rows:
            order = np.argsort(squared[a], kind="stable")
            for b in range(a + 1, n_observed):
                pairhulls.sorted_pair_hull(
                    squared[a], squared[b], order, TIE_RELATIVE, (a, b), member, unique, columns, floats
                )
        return PairHulls(member, unique, columns, floats)
    weights = np.zeros((n_labels, 2), dtype=np.int64)
    n_padded = -(-n_observed // pairhulls.BLOCK) * pairhulls.BLOCK
    padded = np.full((n_labels, n_padded), np.iinfo(whole.dtype).max, dtype=whole.dtype)
    padded[:, :n_observed] = whole
    if rows.start == 0:
        pairhulls.nearest_labels(padded, n_observed, member, unique, columns, weights)
    n_buckets = int(whole.max()) + 1
    pairhulls.pair_hulls(
        padded, n_observed, rows.start, rows.stop, n_buckets, member, unique, columns, weights
    )
    return PairHulls(member, unique, columns, weights)


def shares_of_pairs(n_observed: int, n_shares: int) -> list[range]:
    """Split all pairs of columns into shares of about equal size, for `hull_members`.

    Parameters
    ----------
    n_observed : int
        Number of columns, at least 1.
    n_shares : int
        Number of shares, from 1 to ``max(1, n_observed - 1)``.

    Returns
    -------
    shares : list of range
        For each share, the range of the first columns of its pairs. The ranges are ascending and adjacent. No
        range is empty, unless there is only one column, which forms no pair.

    Examples
    --------
    >>> shares_of_pairs(8, 3)
    [range(0, 2), range(2, 4), range(4, 7)]
    """
    last = n_observed - 1
    pairs_before = np.concatenate([[0], np.cumsum(np.arange(last, 0, -1))])
    cuts = [0]
    for share in range(1, n_shares):
        wanted = int(np.searchsorted(pairs_before, share * int(pairs_before[-1]) / n_shares))
        cuts.append(min(max(wanted, cuts[-1] + 1), last - (n_shares - share)))
    return [range(start, stop) for start, stop in pairwise([*cuts, last])]


def joined_hulls(shares: Iterable[PairHulls]) -> PairHulls:
    """Join the results of `hull_members` for several shares of the pairs, given in ascending order.

    The result equals that of one call of `hull_members` with the pairs of all shares. If several shares have
    a witness for a label, the first one is kept, but a witness that reaches the label uniquely replaces one
    under which the label ties.

    Parameters
    ----------
    shares : iterable of PairHulls
        At least one result; all for the same labels. They are read one after the other.
    """
    rest = iter(shares)
    first = next(rest)
    joined = PairHulls(first.member.copy(), first.unique.copy(), first.columns.copy(), first.weights.copy())
    for share in rest:
        better = (share.unique & ~joined.unique) | (share.member & ~joined.member)
        joined.columns[better], joined.weights[better] = share.columns[better], share.weights[better]
        joined.member[share.member] = True
        joined.unique[share.unique] = True
    return joined


def _as_small_integers(distances: NDArray[Any]) -> NDArray[Any] | None:
    """Return the distances as exact uint8 or uint16, in a suitable unit; None if there is no such unit.

    The unit is a power of two, which leaves every hull unchanged and causes no rounding.
    """
    if distances.dtype in (np.uint8, np.uint16):
        return distances
    if not are_short(distances):
        return None
    whole = whole_numbers(distances)
    return whole.astype(np.uint16) if whole.max() <= np.iinfo(np.uint16).max else None
