"""The search for the best allowed labels on a tree, in numpy: all samples of a batch walk the hull together.

For a sample, let F be the Fréchet variance of a vertex, W the total weight, and S the weighted sum of
distances to the observed labels. At a vertex of the hull, let f be F / W and s be S / W. A label that hangs
on the vertex at height h has F / W equal to ``f + 2hs + h^2``. The *lowest* vertex of the hull is the one
with the smallest F / W. On a path that starts there, F / W never falls from one vertex to the next. Suppose
that such a path arrives at a vertex where F / W has slope g, and that the nearest allowed label ahead is at
distance r. Then F / W is at least ``f + gr + r^2`` for every label ahead. So the search starts at the lowest
vertex, and follows a path only while a label with this value would beat the labels found so far, or tie with
them.

The search finds *finalists*: it allows for rounding and the tie rule by a margin, and the plain sum decides.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.observedtree.hulltree import Hull
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.scoring.observedtree.skeleton import RunningMoments, Skeleton
from labelgrove.ontology.geometry.scoring.ranking import spans
from labelgrove.ontology.geometry.scoring.restricted.hanging import Hanging
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, plain_sums, powers, refuse_bad_rows

__all__ = ["MOST_PAIRS", "Batch", "NumpyBatch", "Pairs", "find_finalists", "search_margin"]

MOST_PAIRS = 1 << 22
_BLOCK_ENTRIES = 1 << 20

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sample and group of each finalist."""

_Walk = tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]
]
"""For each walk: its sample, its current vertex, the vertex before it (-1 at the start), f and s.

The text at the top of this module defines f and s; here they are those of the current vertex. But f is stored
as its difference from f at the lowest vertex, where the walk started.
"""

_Pool = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]
"""For each group: its sample, an upper bound of F / W, and its number of labels; sorted by sample and bound.

Like f in `_Walk`, the bounds are differences from F / W at the lowest vertex.
"""


class Batch(Protocol):
    """A batch of rows of weights; it finds the best allowed labels of all rows together."""

    def finalists(self, hanging: Hanging, top: int) -> Pairs | None:
        """Return the result of `find_finalists` for the rows of the batch."""
        ...

    def sums(
        self, hanging: Hanging, sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each (sample, group) pair."""
        ...


class NumpyBatch:
    """A `Batch` that needs only numpy.

    Parameters
    ----------
    observed : Observed
    given : ndarray of shape (n_samples, n_observed)
        Weights in any real dtype.
    first : int
        The number that error messages give to row 0.

    Raises
    ------
    WeightError
        For rows that break the rule of `check_weights`.
    """

    def __init__(self, observed: Observed, given: NDArray[Any], first: int) -> None:
        self._observed = observed
        self._columns = given.T.astype(np.float64, order="C")
        given_weight = self._columns.any(axis=1)
        self._listed = slice(None) if given_weight.all() else np.flatnonzero(given_weight)
        self._running = RunningMoments(self._columns[observed.by_preorder], observed.factors)
        refuse_bad_rows(given, self._running.total.real, first)

    def finalists(self, hanging: Hanging, top: int) -> Pairs | None:
        """Return the result of `find_finalists` for the rows of the batch."""
        return find_finalists(self._observed.skeleton, self._observed.hull, hanging, self._running, top)

    def sums(
        self, hanging: Hanging, sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each pair of a sample and a group of `hanging`.

        The distances of each group are read once. An observed label that has no weight in any sample of the
        batch adds nothing, so the distances to it are not read.
        """
        tree, at, columns = self._observed.tree, self._observed.at[self._listed], self._columns[self._listed]
        total = np.empty(len(group))
        by = np.argsort(group, kind="stable")
        step = max(1, _BLOCK_ENTRIES // len(at))
        for start in range(0, len(by), step):
            part = by[start : start + step]
            distinct, which = np.unique(group[part], return_inverse=True)
            powered = powers(tree.distances(at, hanging.position[distinct].astype(np.int64)), 2)
            total[part] = plain_sums(columns.take(sample[part], axis=1), powered, which)
        return total


def search_margin(hull: Hull, n_observed: int) -> float:
    """Return the margin m: the computed F / W of a label at height h may be off by ``m (reach^2 + h^2)``.

    The text at the top of this module explains F and W, and `reach` is `Skeleton.reach`. The margin also
    covers the differences that the tie rule ignores. Let n be the number of observed labels. The error of a
    running sum of weights is at most n rounding units of W; the error of a running sum of moments is at most
    n rounding units of W * reach. The slope of F / W along an edge is computed from two running sums and has
    four times this error. The difference in F / W between the lowest vertex and another hull vertex is a sum
    of slopes times lengths along a path. The error of this sum is at most the error of the slopes times the
    reach, plus one unit for each edge. The plain sums, which decide in the end, have an error of n units. The
    path has at most ``2 * hull.steps`` edges, so ``128 (n + 2 * hull.steps + 8)`` units cover all of this
    with room to spare.
    """
    return 4 * TIE_RELATIVE + 128 * (n_observed + 2 * hull.steps + 8) * 2.0**-53


def find_finalists(
    skeleton: Skeleton, hull: Hull, hanging: Hanging, running: RunningMoments, top: int
) -> Pairs | None:
    """Return the finalists as (sample, group) pairs, sorted by sample.

    The groups include the `top` best labels of each sample, and all labels tied with them. Returns None if
    there are too many pairs for memory and a smaller batch would help.

    Notes
    -----
    The search of each sample starts at the lowest vertex of the hull. In each round, it continues all its
    paths by one edge, away from that vertex; all samples do so together. The cost of a round is proportional
    to the number of children of the vertices that the paths have reached.
    """
    margin = search_margin(hull, len(skeleton.label_depth))
    room = margin * skeleton.reach**2
    place, _, _, moment = skeleton.descend(running)
    n_samples = len(place)
    walk: _Walk = (
        np.arange(n_samples),
        place,
        np.full(n_samples, -1),
        np.zeros(n_samples),
        np.maximum(moment / running.total.real, 0.0),
    )
    bound = np.full(n_samples, np.inf)  # upper bound of the `top` best values of each sample
    pool: _Pool = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    walks = []
    while len(walk[0]):
        sample, v, _, f, s = walk
        if top == 1:
            r = hanging.nearest[v]
            np.minimum.at(bound, sample, f + r * (2 * s + r * (1 + margin)) + room)
        else:
            pool, enough = _pooled(pool, walk, hanging, top, margin, room)
            bound[pool[0][enough]] = pool[1][enough]
        walks.append(walk)
        onwards, least = _ahead(hull, hanging, running, walk, margin)
        kept = least - room <= bound[onwards[0]]
        walk = tuple(column[kept] for column in onwards)  # type: ignore[assignment]
    sample, v, _, f, s = (np.concatenate(column) for column in zip(*walks, strict=True))
    low, high = hanging.begin[v], hanging.begin[v + 1]
    first = low.copy()
    limit = bound[sample] + room
    # values rise with height: look for the first group beyond the bound
    while len(wide := np.flatnonzero(low < high)):
        middle = (low[wide] + high[wide]) >> 1
        h = hanging.height[middle]
        within = f[wide] + h * (2 * s[wide] + h * (1 - margin)) <= limit[wide]
        low[wide] = np.where(within, middle + 1, low[wide])
        high[wide] = np.where(within, high[wide], middle)
    if n_samples > 1 and int((low - first).sum()) > MOST_PAIRS:
        return None
    by = np.argsort(sample, kind="stable")
    first, n_groups = first[by], (low - first)[by]
    return np.repeat(sample[by], n_groups), spans(first, n_groups)


def _ahead(
    hull: Hull, hanging: Hanging, running: RunningMoments, walk: _Walk, margin: float
) -> tuple[_Walk, NDArray[np.float64]]:
    """Return the next steps of `walk`, and for each step a lower bound of F / W of the allowed labels ahead.

    `walk` contains walks from the lowest vertices of the samples; each walk stands at one vertex of the hull.
    A step moves a walk along one edge, away from where the walk came from. Steps without any allowed label
    ahead are left out. Like f in `_Walk`, the bounds are differences from F / W at the lowest vertex.
    """
    sample, v, before, f, s = walk
    n_children = hull.begin[v + 1] - hull.begin[v]
    down = spans(hull.begin[v], n_children)
    item = np.concatenate([np.arange(len(v)), np.repeat(np.arange(len(v)), n_children)])
    upper = np.concatenate([hull.parent[v], np.repeat(v, n_children)])
    lower = np.concatenate([v, hull.child[down]])  # the step is along the edge above this vertex
    falls = np.arange(len(item)) < len(v)  # towards vertex 0
    to = np.where(falls, upper, lower)
    r = np.where(falls, hanging.above[lower], hanging.below[lower])
    open_ = np.flatnonzero((to != before[item]) & (r < np.inf))
    item, upper, lower, to = item[open_], upper[open_], lower[open_], to[open_]
    falls, r = falls[open_], r[open_]
    f, s, sample = f[item], s[item], sample[item]
    part = running.before(hull.high[lower], sample) - running.before(hull.low[lower], sample)
    total = running.total.real[sample]
    share = part.real / total  # of the weight below the edge
    pull = part.imag / total - hull.depth[v[item]] * share  # its moment about the vertex before the step
    length = hull.depth[lower] - hull.depth[upper]
    sign = np.where(falls, -1.0, 1.0)
    slope = sign * (2 * s - 4 * pull)
    f = f + length * (slope + length)
    s = np.maximum(s + sign * length * (1 - 2 * share), 0.0)
    least = f + r * (np.maximum(slope + 2 * length, 0.0) + r * (1 - margin))
    walk = (sample, to, np.where(falls, lower, upper), f, s)
    return walk, least


def _pooled(
    pool: _Pool, walk: _Walk, hanging: Hanging, top: int, margin: float, room: float
) -> tuple[_Pool, NDArray[np.int64]]:
    """Add groups of labels to the pool; return the new pool, and the indices of some of its groups.

    For each group, the pool lists its sample, an upper bound of F / W and its number of labels (see `_Pool`).
    The groups with the smallest heights are added, up to `top` groups at each current vertex of `walk`. A
    group is then dropped if other groups of its sample have smaller bounds, and these groups together have
    `top` or more labels. Suppose that the groups left for a sample have `top` or more labels together. Then
    the largest of their bounds is an upper bound of F / W for each of the sample's `top` best labels. For
    every such sample, the index that the group with this largest bound has in the new pool is returned.
    """
    sample, v, _, f, s = walk
    n_groups = np.minimum(hanging.begin[v + 1] - hanging.begin[v], top)
    group = spans(hanging.begin[v], n_groups)
    item = np.repeat(np.arange(len(v)), n_groups)
    h = hanging.height[group]
    upper = f[item] + h * (2 * s[item] + h * (1 + margin)) + room
    sample = np.concatenate([pool[0], sample[item]])
    upper = np.concatenate([pool[1], upper])
    count = np.concatenate([pool[2], hanging.first[group + 1] - hanging.first[group]])
    by = np.lexsort((upper, sample))
    sample, upper, count = sample[by], upper[by], count[by]
    before = np.cumsum(count) - count
    before -= before[np.searchsorted(sample, sample)]
    needed = before < top
    sample, upper, count, before = sample[needed], upper[needed], count[needed], before[needed]
    return (sample, upper, count), np.flatnonzero(before + count >= top)
