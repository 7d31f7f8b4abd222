"""must_observe: the labels that every locus cover contains.

A label has to be observed when all others together, observed, cannot reach it. Most are settled by comparing
rows of distances. Let z be *no farther* than y from every observed label that still counts. Where z is
strictly closer to one of them, weight there makes z better than y, and nothing can make up for it: that label
no longer counts. When none counts any more, no weights reach y. On a star this finds every leaf, on a tree
every vertex of degree one, on a graph of unit edges every label whose neighbours are all joined to each
other. A label between two others, on a shortest path from one to the other, is reached. What is left is
decided by the exact locus of all other labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.observed import allowed_points
from ontology.geometry.spaces import CompleteSpace, MatrixSpace, MetricSpace, TreeSpace
from ontology.geometry.status import Status
from ontology.geometry.ties import TIE_RELATIVE

__all__ = ["EXACT_LABELS", "MustObserve", "degree_one", "far_hanging", "must_observe", "required_rows"]

EXACT_LABELS = 2_000
"""Most labels whose distances are all compared with each other."""

_NEAREST = 16


@dataclass(frozen=True)
class MustObserve:
    """The labels that every locus cover made of allowed labels contains.

    Attributes
    ----------
    keys : tuple of str
        In canonical order.
    status : {"exact", "lower_bound"}
        Whether these are all of them, or those that were found.
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
        Where the labels are; each of them must be a point.

    Returns
    -------
    found : MustObserve
        Exact on complete graphs and on trees with every label allowed, of any size, and on other spaces up to
        `EXACT_LABELS` labels. Beyond that, as a lower bound: on trees the labels that hang farther from
        where the others are than another label does, and on other spaces none.

    Raises
    ------
    SpaceError
        If a label is not a point of the space.

    Notes
    -----
    O(n_points) on trees with every label allowed. On other spaces O(n_labels^2) memory, and an exact locus
    test for every label that comparisons leave open.

    Examples
    --------
    >>> from ontology.geometry.metricspace import metric_space
    >>> from ontology.labelgraph import LabelGraph
    >>> star = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
    >>> must_observe(metric_space(star, labels="leaves"))
    MustObserve(keys=('ash', 'elm', 'oak'), status='exact')
    """
    points = allowed_points(space)
    status: Status = "exact"
    if isinstance(space, CompleteSpace):
        found = points
    elif isinstance(space, TreeSpace) and space.allowed is None:
        found = degree_one(space)
    elif space.n_labels <= EXACT_LABELS:
        between = not isinstance(space, MatrixSpace)
        found = points[required_rows(space.distances(cols=points), between=between)]
    else:
        found, status = far_hanging(space) if isinstance(space, TreeSpace) else points[:0], "lower_bound"
    return MustObserve(space.points.take(found), status)


def degree_one(space: TreeSpace) -> NDArray[np.int64]:
    """Return the vertices of a tree with one edge or none, a root with one child among them; ascending."""
    parent = space.parent
    degree = np.bincount(parent[parent >= 0], minlength=len(parent)) + (parent >= 0)
    return np.flatnonzero(degree <= 1)


def required_rows(distances: NDArray[Any], *, between: bool, identifying: bool = False) -> NDArray[np.int64]:
    """Return the labels that every (identifying) locus cover contains, ascending.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_labels)
        Of the allowed labels to each other.
    between : bool
        Whether the triangle inequality is known to hold, so that a label between two others is reached.
    identifying : bool, default=False
        Whether labels must be uniquely reachable.
    """
    n = len(distances)
    if n == 1:
        return np.zeros(1, dtype=np.int64)
    required = np.zeros(n, dtype=bool)
    open_: dict[int, NDArray[np.int64]] = {}
    for y in range(n):
        counting = _counting(distances, y, between and not identifying, identifying)
        if counting is not None:
            required[y] = not len(counting)
            if len(counting):
                open_[y] = counting
    if required.any() and open_:
        # what the required ones reach without the others, the others do not take away
        known = np.flatnonzero(required)
        for y in reached_rows(distances, known, np.array(list(open_)), identifying).tolist():
            del open_[y]
    for y, counting in open_.items():
        required[y] = not _is_reached(distances, y, counting, identifying)
    return np.flatnonzero(required)


def reached_rows(
    distances: NDArray[Any], observed: NDArray[np.int64], rows: NDArray[np.int64], identifying: bool
) -> NDArray[np.int64]:
    """Return those of `rows` that weights over the columns `observed` reach (uniquely); exact, ascending."""
    from ontology.geometry.loci.general import general_locus

    found = general_locus(distances[:, observed], rows)
    return found.unique_index if identifying else found.index


def _counting(distances: NDArray[Any], y: int, between: bool, identifying: bool) -> NDArray[np.int64] | None:
    """Return the other labels that may carry weight where y is best; None where y is known to be reached."""
    own = distances[y]
    others = np.delete(np.arange(len(own)), y)
    others = others[np.argsort(own[others], kind="stable")]
    if between and _is_between(distances, own, others[:_NEAREST]):
        return None
    counting = others
    while len(counting):
        rivals = _no_farther(distances, own, others, counting)
        if identifying and len(rivals):
            return counting[:0]
        closer = (distances[np.ix_(rivals, counting)] * (1 + TIE_RELATIVE) < own[counting]).any(axis=0)
        if not closer.any():
            break
        counting = counting[~closer]
    return np.sort(counting)


def _is_between(distances: NDArray[Any], own: NDArray[Any], near: NDArray[np.int64]) -> bool:
    """Whether y stands on a shortest path between two of `near`, whose weights can make it a best label."""
    to = own[near].astype(np.float64)
    return bool((to[:, None] + to == distances[np.ix_(near, near)]).any())


def _no_farther(
    distances: NDArray[Any], own: NDArray[Any], others: NDArray[np.int64], counting: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the other labels no farther than y from all that count; near columns first, they drop most."""
    rivals = others
    for columns in (counting[:1], counting[:_NEAREST], counting):
        rivals = rivals[(distances[np.ix_(rivals, columns)] <= own[columns]).all(axis=1)]
    return rivals


def _is_reached(distances: NDArray[Any], y: int, counting: NDArray[np.int64], identifying: bool) -> bool:
    """Whether weights on `counting` reach y; its nearest rivals alone mostly refute it."""
    near = np.argsort(distances[y], kind="stable")[: 4 * _NEAREST]
    near = np.append(y, near[near != y])
    seen = np.unique(distances[np.ix_(near, counting)], axis=1)  # from so near, most far labels look alike
    if not len(reached_rows(seen, np.arange(seen.shape[1]), np.zeros(1, dtype=np.int64), identifying)):
        return False
    return len(near) == len(distances) or y in reached_rows(distances, counting, np.array([y]), identifying)


def far_hanging(space: TreeSpace) -> NDArray[np.int64]:
    """Return allowed points that hang farther from where the others are than another label does.

    Let all paths from y to other labels lead through the vertex x, at distance h from y. A label closer to x
    than h is closer than y to every other label, so nothing but y itself reaches y. O(n_points).
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
    foot = list(range(len(tree)))  # the first vertex upwards that is not alone with its label
    for v in range(1, len(tree)):
        nearest[v] = min(nearest[v], nearest[parent[v]] + length[v])
        if is_alone[v]:
            foot[v] = foot[parent[v]]

    labels = np.flatnonzero(is_allowed & alone)
    x = np.array(foot)[labels]
    far = np.array(nearest)[x] * (1 + TIE_RELATIVE) < tree.depth_at(labels) - tree.depth_at(x)
    return np.sort(tree.points(labels[far]))
