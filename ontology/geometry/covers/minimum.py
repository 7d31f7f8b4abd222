"""minimum_locus_cover: find a smallest locus cover.

For some kinds of spaces, a rule gives the cover. For all others, a search looks for it.
`ontology.geometry.covers.checks` defines covers and checks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.covers.checks import (
    Cover,
    covers,
)
from labelgrove.ontology.geometry.covers.required import (
    EXACT_LABELS,
    degree_one,
    far_hanging,
)
from labelgrove.ontology.geometry.covers.search import search_cover
from labelgrove.ontology.geometry.loci.general import is_tolerant
from labelgrove.ontology.geometry.loci.shortedges import hull_decides
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["minimum_locus_cover"]

_MOST_AXES = 16


def minimum_locus_cover(space: MetricSpace, *, identifying: bool = False) -> Cover:
    """Return a smallest locus cover made of allowed labels, or a small cover with a lower bound on the size.

    Parameters
    ----------
    space : MetricSpace
        A space in which every allowed label is a point, so that it can be observed. (In a `MatrixSpace`, some
        allowed labels may not be points.)
    identifying : bool, default=False
        Whether every label must be uniquely reachable.

    Returns
    -------
    cover : Cover
        The labels in canonical order. For three kinds of spaces, a rule gives the cover:

        * a tree on which every label is allowed and no edge is very short. The cover consists of the vertices
          of degree one: all labels without children, and the root if it has a single child. This cover is
          exact. An edge shorter than 4e-12 of the diameter (1e-6 for identifying covers) is too short for the
          rule, because it may cause ties;
        * a complete graph. The cover consists of all labels, and it is exact;
        * a space where all labels are on shortest paths between the same two labels, such as opposite corners
          of a grid of any dimension. The cover consists of these two labels, and it is exact. The smallest
          identifying cover of a path is its two ends; that of a grid of two dimensions is its four corners.
          On a grid of k > 2 dimensions, k + 1 corners are an identifying cover: one corner, and the corners
          opposite to its k neighboring corners. This cover is not exact, because it is not known whether
          fewer corners are enough.

        If no rule applies, the cover is the one that the search finds
        (`ontology.geometry.covers.search.search_cover`), with a lower bound on the size; it is exact if the
        search is exact. If the cover of a rule is not exact, the space is searched too, and the smaller of
        the two covers is returned.

        If the space is too large for the search, a cover with a lower bound on the size is returned in two
        cases. If the cover of a rule is not exact, such as the k + 1 corners of a grid, this cover is
        returned. If a tree has a very short edge and `identifying` is False, the vertices of degree one are
        returned.

    Raises
    ------
    SpaceError
        If an allowed label is not a point, if an identifying cover is requested but some labels are tied
        under all weights (such as labels at distance 0), or if the cover must be searched for and the space
        is too large for the search.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> minimum_locus_cover(metric_space(LabelGraph.grid((4, 5, 6))))
    Cover(keys=('0,0,0', '3,4,5'), status='exact', lower_bound=2)
    >>> minimum_locus_cover(metric_space(LabelGraph.grid((4, 5))), identifying=True)
    Cover(keys=('0,0', '0,4', '3,0', '3,4'), status='exact', lower_bound=4)
    """
    points = allowed_points(space)
    if len(points) == 1 or isinstance(space, CompleteSpace):
        return Cover.of(space, points, len(points))
    if isinstance(space, TreeSpace) and space.allowed is None:
        ends = degree_one(space)
        if hull_decides(space) and (not identifying or covers(space, ends, identifying=True)):
            return Cover.of(space, ends, len(ends))
        if len(points) > EXACT_LABELS and not identifying:
            return Cover.of(space, ends, max(2, len(far_hanging(space))))
        return search_cover(space, identifying=identifying)
    closed = _opposite_ends(space, points, identifying)
    if closed is not None and is_tolerant(space) is not False:
        # sums that are equal only by rounding prove nothing
        chosen = space.point_index(closed.keys)
        closed = closed if covers(space, chosen, identifying=identifying) else None
    if closed is None or (closed.gap and len(points) <= EXACT_LABELS):
        found = search_cover(space, identifying=identifying)
        if closed is None:
            return found
        smaller = found if len(found) < len(closed) else closed
        least = max(found.lower_bound, closed.lower_bound)
        return Cover.of(space, space.point_index(smaller.keys), least)
    return closed


def _opposite_ends(space: MetricSpace, points: NDArray[np.int64], identifying: bool) -> Cover | None:
    """Return a cover that consists of pairs of opposite labels; None if no such cover is found.

    Two labels a and b are *opposite* if every label y satisfies d(a, y) + d(y, b) = d(a, b). To reach y, put
    the weight d(y, b) on a and d(a, y) on b. Then the best labels are exactly those that are as far from a as
    y is. So one opposite pair is a cover.

    Several pairs are an identifying cover if no two labels have the same distances to the first labels of all
    pairs. To reach y uniquely, add up the weights above over all pairs: then y is the only best label. On a
    box (`_is_box`), the identifying cover needs only one label of each pair.
    """
    pair = _opposite(space, points, int(_from_label(space, points, 0).argmax()))
    if pair is None:
        return None
    pairs = [pair]
    if identifying:
        for corner in _corners(space, points, pair.measured):
            pair = _opposite(space, points, corner)
            if pair is None:
                return None
            pairs.append(pair)
        if len(pairs) > 3 and _is_box(space, points, pairs):
            ends = np.sort([pairs[0].end, *(pair.other for pair in pairs[1:])])
            return Cover.of(space, points[ends], 2)
        if _tell_apart(pairs[:-1], len(points)):  # usually the last side adds nothing
            pairs = pairs[:-1]
        elif not _tell_apart(pairs, len(points)):
            return None
    ends = np.unique([(pair.end, pair.other) for pair in pairs])
    least = sum(_is_dominated(space, points, int(end)) for end in ends) if identifying else 0
    return Cover.of(space, points[ends], max(2, least))


def _tell_apart(pairs: list[_Pair], n_labels: int) -> bool:
    """Return whether every two labels have different distances to the label `end` of some pair.

    The result is False if `pairs` is empty.
    """
    return bool(pairs) and len(np.unique([pair.measured for pair in pairs], axis=1).T) == n_labels


def _is_box(space: MetricSpace, points: NDArray[np.int64], pairs: list[_Pair]) -> bool:
    """Return whether all labels are points of a box of k > 2 dimensions, and those in `pairs` are corners.

    A distance in the box is a sum of steps along its k sides. Each of `pairs` consists of two opposite
    corners: `end`, its first label, and `other`, its last label. The first label of the first pair is the
    *first corner*. Each of the k other pairs begins at a corner next to the first corner, one for each side.
    If the labels form such a box, k + 1 corners are an identifying cover: the first corner, and the last
    label of every other pair. The proof:

    Let ``x_j`` be the distance of a label from the first corner along side j. The distance of the label from
    any corner is affine in x, with slope 1 or -1 along each side. For the first corner all slopes are 1. For
    the last label of the j-th other pair, slope j is 1 and all other slopes are -1. So ``k - 2`` times the
    slopes of the first corner, plus the slopes of the k other corners, add up to zero. Together these slopes
    span all directions.

    To reach a label y, divide the factor of each corner (``k - 2`` for the first, 1 for the others) by its
    distance from y, and use the result as its weight. Then the gradient of the Fréchet variance F is 0 at y.
    F is a sum of squares of affine functions that span all directions, so it is strictly convex, and y is the
    only best label.
    """
    first, others = pairs[0].measured, pairs[1:]
    sides = np.array([first[pair.end] for pair in others])
    x = (first[:, None] + sides - np.column_stack([pair.measured for pair in others])) / 2
    if len(np.unique(x, axis=0)) < len(x) or (x.sum(axis=1) != first).any():
        return False
    from_opposites = space.distances(cols=points[[pair.other for pair in others]])
    return bool((from_opposites == (sides - x).sum(axis=1)[:, None] - sides + 2 * x).all())


@dataclass(frozen=True)
class _Pair:
    """Two labels that are opposite, as defined in `_opposite_ends`.

    `end` and `other` are the indices of the two labels among the allowed labels, and `measured` contains the
    distances of all allowed labels from `end`.
    """

    end: int
    other: int
    measured: NDArray[np.float64]


def _opposite(space: MetricSpace, points: NDArray[np.int64], end: int) -> _Pair | None:
    measured = _from_label(space, points, end)
    other = int(measured.argmax())
    whole = measured[other]
    if not whole or (measured + _from_label(space, points, other) != whole).any():
        return None
    return _Pair(end, other, measured)


def _corners(space: MetricSpace, points: NDArray[np.int64], measured: NDArray[np.float64]) -> list[int]:
    """Return the neighboring corners of one corner of a grid: the far ends of the sides that begin there.

    `measured` contains the distances of all labels from the given corner. Each label next to this corner
    begins a side. A label is on this side if the side's first label is nearer to it than the corner is, while
    the first labels of all other sides are not. The far end of a side is its label farthest from the corner.
    """
    step = measured[measured > 0].min()
    near = np.flatnonzero(measured == step)
    if len(near) > _MOST_AXES:
        return []
    nearer = space.distances(cols=points[near]) < measured[:, None]
    sides = [np.flatnonzero(nearer[:, i] & (nearer.sum(axis=1) == 1)) for i in range(len(near))]
    return [int(side[measured[side].argmax()]) for side in sides if len(side)]


def _is_dominated(space: MetricSpace, points: NDArray[np.int64], label: int) -> bool:
    """Return whether a comparison with nearby labels shows that every identifying cover contains `label`.

    Every identifying cover contains `label` if, for some nearby label z, every label except `label` itself is
    at most as far from z as from `label`.
    """
    measured = _from_label(space, points, label)
    close = np.flatnonzero((measured > 0) & (measured <= 2 * measured[measured > 0].min()))[: 4 * _MOST_AXES]
    no_farther = space.distances(cols=points[close]) <= measured[:, None]
    no_farther[label] = True
    return bool(no_farther.all(axis=0).any())


def _from_label(space: MetricSpace, points: NDArray[np.int64], row: int) -> NDArray[np.float64]:
    return space.distances(cols=points[[row]])[:, 0].astype(np.float64)
