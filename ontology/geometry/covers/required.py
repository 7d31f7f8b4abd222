"""must_observe: the labels that every locus cover contains.

A label y must be observed if no weights on the other labels reach it. For most labels y, comparisons of
distances decide this, in two ways.

On the one hand, `Reaching.counting` tries to show that no weights reach y. It eliminates labels that cannot
have weight. A label *counts* if it may have weight under weights that reach y; at first all labels except y
count. Look for a label z for which no label that counts is closer to y than to z. Weight on a label that is
strictly closer to z than to y makes z better than y, and weight on other labels cannot compensate for this.
So the labels that are strictly closer to z than to y no longer count. If in the end no label counts, no
weights reach y. On a star this finds every leaf, on a tree every vertex of degree one, and on a graph of unit
edges every label whose neighbors are all joined to each other.

On the other hand, if y is on a shortest path between two other labels, weights on these two reach y. If
neither way decides, the exact locus of all other labels is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.general import is_tolerant
from labelgrove.ontology.geometry.loci.shortedges import hull_decides, largest_tied_difference
from labelgrove.ontology.geometry.paths.wholenumbers import are_short
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.matrixspace import MatrixSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.status import Status
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = [
    "EXACT_LABELS",
    "MustObserve",
    "Reaching",
    "degree_one",
    "far_hanging",
    "must_observe",
    "required_rows",
]

EXACT_LABELS = 2_000
"""Largest number of labels whose distances are all compared with each other."""

_NEAREST = 16
_FADING = 1e-3  # share of newly found rivals in a mixture with the earlier rivals


@dataclass(frozen=True)
class MustObserve:
    """The labels that every locus cover made of allowed labels contains.

    Attributes
    ----------
    keys : tuple of str
        Keys of the labels, in canonical order.
    status : {"exact", "lower_bound"}
        ``"exact"``: these are all such labels; every cover contains them, and for any other label there is a
        cover without it. ``"lower_bound"``: there may be more such labels.
    """

    keys: tuple[str, ...]
    status: Status

    def __len__(self) -> int:
        return len(self.keys)


def must_observe(space: MetricSpace) -> MustObserve:
    """Return the labels that every locus cover made of allowed labels contains.

    Parameters
    ----------
    space : MetricSpace
        A space in which every allowed label is a point, so that it can be observed. (In a `MatrixSpace`, some
        allowed labels may not be points.)

    Returns
    -------
    found : MustObserve
        On complete graphs and on trees with every label allowed, the result is exact, whatever their size. On
        other spaces it is exact for at most `EXACT_LABELS` labels. For more labels it is a lower bound: on a
        tree it contains the labels that `far_hanging` finds, and on any other space it is empty. If a tree
        has an edge shorter than 4e-12 of the diameter, the two labels at its ends may be tied. So such a tree
        is treated as one of the other spaces, even if every label is allowed.

    Raises
    ------
    SpaceError
        If an allowed label is not a point of the space.

    Notes
    -----
    O(n_points) on trees with every label allowed. On other spaces O(n_labels^2) memory, and an exact locus
    test for every label that comparisons of distances do not decide.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> star = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
    >>> must_observe(metric_space(star, labels="leaves"))
    MustObserve(keys=('ash', 'elm', 'oak'), status='exact')
    """
    points = allowed_points(space)
    status: Status = "exact"
    if isinstance(space, CompleteSpace):
        found = points
    elif isinstance(space, TreeSpace) and space.allowed is None and hull_decides(space):
        found = degree_one(space)
    elif space.n_labels <= EXACT_LABELS:
        between = not isinstance(space, MatrixSpace)
        distances = space.distances(cols=points)
        found = points[required_rows(distances, between=between, tolerant=is_tolerant(space))]
    else:
        found, status = far_hanging(space) if isinstance(space, TreeSpace) else points[:0], "lower_bound"
    return MustObserve(space.points.take(found), status)


def degree_one(space: TreeSpace) -> NDArray[np.int64]:
    """Return the vertices that have at most one edge, ascending; a root with one child is one of them."""
    parent = space.parent
    degree = np.bincount(parent[parent >= 0], minlength=len(parent)) + (parent >= 0)
    return np.flatnonzero(degree <= 1)


def required_rows(
    distances: NDArray[Any], *, between: bool, identifying: bool = False, tolerant: bool | None = None
) -> NDArray[np.int64]:
    """Return the labels that every locus cover contains, as ascending row indices of `distances`.

    With `identifying`, return the labels that every identifying cover contains.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_labels)
        Distances between the allowed labels.
    between : bool
        Whether the triangle inequality is known to hold. If it does, weights on two labels reach every label
        on a shortest path between them.
    identifying : bool, default=False
        Whether labels must be uniquely reachable.
    tolerant : bool, optional
        As for `ontology.geometry.loci.general.general_locus`.
    """
    n = len(distances)
    if n == 1:
        return np.zeros(1, dtype=np.int64)
    within = Reaching(distances, identifying, tolerant)
    required = np.zeros(n, dtype=bool)
    open_: dict[int, NDArray[np.int64]] = {}
    for y in range(n):
        counting = within.counting(y, between and not identifying)
        if counting is not None:
            required[y] = not len(counting)
            if len(counting):
                open_[y] = counting
    if required.any() and open_:
        # labels that the required labels reach stay reached when others are added
        known = np.flatnonzero(required)
        for y in within.reached(known, np.array(list(open_))).tolist():
            del open_[y]
    for y, counting in open_.items():
        required[y] = not within.is_reached(y, counting)
    return np.flatnonzero(required)


class Reaching:
    """Decides which labels some weights can reach if only given labels may have weight.

    A label is given as its row index in `distances`.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_labels)
        Distances between the allowed labels.
    identifying : bool
        Whether labels must be uniquely reachable.
    tolerant : bool or None
        As for `ontology.geometry.loci.general.general_locus`.

    Attributes
    ----------
    identifying : bool
        Whether labels must be uniquely reachable.
    """

    def __init__(self, distances: NDArray[Any], identifying: bool, tolerant: bool | None) -> None:
        self._distances, self.identifying, self._tolerant = distances, identifying, tolerant
        self._by_tie_rule = not are_short(distances) if tolerant is None else tolerant

    def reached(self, observed: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return exactly those labels of `rows` that some weights on `observed` reach; ascending."""
        return self._reached(self._distances[:, observed], rows)

    def _reached(self, distances: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        from labelgrove.ontology.geometry.loci.general import general_locus

        found = general_locus(distances, rows, tolerant=self._tolerant)
        return found.unique_index if self.identifying else found.index

    def counting(self, y: int, between: bool) -> NDArray[np.int64] | None:
        """Return the labels that may have positive weight if y is to be reached without weight on y itself.

        The result is None if y is known to be reached. With `between`, y is known to be reached if it is on a
        shortest path between two labels near it.
        """
        distances, own = self._distances, self._distances[y]
        others = np.delete(np.arange(len(own)), y)
        others = others[np.argsort(own[others], kind="stable")]
        if between and _is_between(distances, own, others[:_NEAREST]):
            return None
        counting = others
        mixed, share, total = np.zeros(len(own)), 1.0, 0.0
        while len(counting):
            rivals = _no_farther(distances, own, others, counting)
            if self.identifying and len(rivals):
                return counting[:0]
            closer = (distances[np.ix_(rivals, counting)] * (1 + TIE_RELATIVE) < own[counting]).any(axis=0)
            if not closer.any():
                break
            counting = counting[~closer]
            if self._by_tie_rule:
                mixed += share * np.square(distances[rivals], dtype=np.float64).mean(axis=0)
                total += share
                share *= _FADING
        if self._by_tie_rule and not len(counting):
            # weights that make y worse may still leave it tied, unless a mixture is below it everywhere
            below = mixed * (1 + 4 * TIE_RELATIVE) < total * np.square(own, dtype=np.float64)
            return counting if below[others].all() else np.sort(others)
        return np.sort(counting)

    def is_reached(self, y: int, counting: NDArray[np.int64]) -> bool:
        """Return whether some weights on the labels `counting` reach y.

        First, y is compared only with the labels nearest to it. If no weights reach y, this comparison
        usually proves it.
        """
        near = np.argsort(self._distances[y], kind="stable")[: 4 * _NEAREST]
        near = np.append(y, near[near != y])
        others = np.delete(np.arange(len(self._distances)), y)
        for columns in (counting, others):
            # seen from these few near labels, most far labels have equal distances
            seen = np.unique(self._distances[np.ix_(near, columns)], axis=1)
            found = len(self._reached(seen, np.zeros(1, dtype=np.int64))) > 0
            if found and len(near) < len(self._distances):
                found = y in self.reached(columns, np.array([y]))
            if found or not self._by_tie_rule or len(columns) == len(others):
                return found
        return False


def _is_between(distances: NDArray[Any], own: NDArray[Any], near: NDArray[np.int64]) -> bool:
    """Return whether the label y is on a shortest path between two of the labels `near`.

    If so, weights on these two labels reach y. `own` contains the distances of all labels from y.
    """
    to = own[near].astype(np.float64)
    return bool((to[:, None] + to == distances[np.ix_(near, near)]).any())


def _no_farther(
    distances: NDArray[Any], own: NDArray[Any], others: NDArray[np.int64], counting: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each label z of `others` for which no label in `counting` is closer to the label y than to z.

    `own` contains the distances of all labels from y. The first labels in `counting`, which are the nearest
    to y, are compared first, because they rule out most labels.
    """
    rivals = others
    for columns in (counting[:1], counting[:_NEAREST], counting):
        rivals = rivals[(distances[np.ix_(rivals, columns)] <= own[columns]).all(axis=1)]
    return rivals


def far_hanging(space: TreeSpace) -> NDArray[np.int64]:
    """Return allowed points that are so far from all others that only weight on themselves reaches them.

    Let x be a vertex on all paths from the point y to other labels, at distance h from y. If some other label
    z is at a distance below h from x, then z is closer than y to every label except y. So only weight on y
    itself reaches y. O(n_points).
    """
    tree = space.tree
    is_allowed = np.zeros(len(tree), dtype=bool)
    is_allowed[tree.positions(allowed_points(space))] = True
    within = np.concatenate([[0], np.cumsum(is_allowed)])
    alone = within[tree.end] - within[:-1] == 1  # one allowed label in the subtree

    parent, length, is_alone = tree.parent.tolist(), tree.length.tolist(), alone.tolist()
    nearest = np.where(is_allowed, 0.0, np.inf).tolist()
    for v in range(len(tree) - 1, 0, -1):
        nearest[parent[v]] = min(nearest[parent[v]], nearest[v] + length[v])
    foot = list(range(len(tree)))  # the first vertex upwards whose subtree holds another allowed label
    for v in range(1, len(tree)):
        nearest[v] = min(nearest[v], nearest[parent[v]] + length[v])
        if is_alone[v]:
            foot[v] = foot[parent[v]]

    labels = np.flatnonzero(is_allowed & alone)
    x = np.array(foot)[labels]
    far = np.array(nearest)[x] + largest_tied_difference(space) < tree.below(x, labels)
    return np.sort(tree.points(labels[far]))
