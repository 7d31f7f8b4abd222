"""minimum_locus_cover: the smallest locus covers known in closed form, and elsewhere the search.

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
        Each of its labels must be a point.
    identifying : bool, default=False
        Whether every label must be uniquely reachable.

    Returns
    -------
    cover : Cover
        The labels in canonical order. The cover is exact:

        * on a tree with every label allowed and no edge so short that the tie rule blurs it (below 4e-12 of
          the diameter; 1e-6 for identifying covers): the vertices of degree one. These are all labels without
          children, and the root if it has a single child;
        * on a complete graph: all labels;
        * wherever all labels are on shortest paths between two labels, such as opposite corners of a grid of
          any dimension: these two labels. The smallest identifying cover of a path is its two ends, that of a
          grid of two dimensions its four corners. On a grid of k > 2 dimensions all corners are an
          identifying cover, and so are k + 1 of them: one corner, and the opposites of the k corners next to
          it along the sides. It is not known whether fewer corners are enough, so small grids are searched;
        * wherever the search (`ontology.geometry.covers.search.search_cover`) is exact.

        Elsewhere the result of the search.

    Raises
    ------
    SpaceError
        If a label is not a point, if an identifying cover is requested of labels that no weights tell apart
        (such as labels at distance 0), or if no closed form applies and the space is too large for the
        search.

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
    """Return a cover made of pairs of labels that have all other labels between them, or None.

    Let every label y be between a and b: d(a, y) + d(y, b) = d(a, b). Under the weights d(y, b) on a and
    d(a, y) on b, the best labels are exactly those at the same distance from a as y. So one such pair is a
    cover. Several pairs are an identifying cover if no two labels have the same distances to the first label
    of every pair: the sum of the weights that the pairs give to y makes y the only best label.
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
    """Return whether no two labels have the same distances to the first label of every pair."""
    return bool(pairs) and len(np.unique([pair.measured for pair in pairs], axis=1).T) == n_labels


def _is_box(space: MetricSpace, points: NDArray[np.int64], pairs: list[_Pair]) -> bool:
    """Return whether the labels are in a box of k > 2 dimensions that has the pairs as corners.

    Distances are measured along the sides. The first pair is a corner and its opposite. Each other pair
    begins at a corner that is next to the first corner along a side, and ends at the opposite of that corner.
    Let x be the distances of a label from the first corner along the sides. The distance from a corner c is
    affine in x, with slope 1 or -1 along each side. For the first corner all slopes are 1; for the opposite
    of the j-th adjacent corner the j-th slope is 1 and all others are -1. So ``k - 2`` times the slopes of
    the first corner plus the slopes of each other corner add up to zero, and these slopes span all
    directions. To reach a label y, let the weight of each corner be its factor (``k - 2`` or 1) divided by
    its distance from y: then the gradient of F is 0 at y. F is a sum of squares of affine functions that span
    all directions, so it is strictly convex, and y is the only best label.
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
    """Two labels with all others between them, and the distances of all labels from the first."""

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
    """Return, for a grid, the corners at the other ends of the sides that begin at a corner.

    `measured` has the distances from the first corner. Each label next to it lies on one side. The labels of
    this side are nearer to that neighbor than to the corner, but not nearer to any other neighbor.
    """
    step = measured[measured > 0].min()
    near = np.flatnonzero(measured == step)
    if len(near) > _MOST_AXES:
        return []
    nearer = space.distances(cols=points[near]) < measured[:, None]
    sides = [np.flatnonzero(nearer[:, i] & (nearer.sum(axis=1) == 1)) for i in range(len(near))]
    return [int(side[measured[side].argmax()]) for side in sides if len(side)]


def _is_dominated(space: MetricSpace, points: NDArray[np.int64], label: int) -> bool:
    """Return whether some nearby label is no farther than `label` from every label except `label` itself.

    Then every identifying cover contains `label`.
    """
    measured = _from_label(space, points, label)
    close = np.flatnonzero((measured > 0) & (measured <= 2 * measured[measured > 0].min()))[: 4 * _MOST_AXES]
    no_farther = space.distances(cols=points[close]) <= measured[:, None]
    no_farther[label] = True
    return bool(no_farther.all(axis=0).any())


def _from_label(space: MetricSpace, points: NDArray[np.int64], row: int) -> NDArray[np.float64]:
    return space.distances(cols=points[[row]])[:, 0].astype(np.float64)
