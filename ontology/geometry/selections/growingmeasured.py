"""Growing loci on spaces other than trees with every label allowed; gains of some candidates are measured.

The gain of a candidate is measured by computing the exact locus with this label added. In general, gains are
not submodular: a label may gain more after another label was picked than before. So a gain that was measured
in one round is not an upper bound in a later round. Lazy evaluation, which would use it as a bound, may pick
wrong labels. Bounds are therefore computed again in each round. The bounds of `attachmentbounds`, for trees,
are so sharp that few candidates have to be measured. With the bounds of `entrants`, for any space, more
candidates have to be measured; if there are too many, only some of them, drawn at random, are measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.loci.general import general_locus, is_tolerant
from labelgrove.ontology.geometry.loci.restrictedtree import nearest_at_hull
from labelgrove.ontology.geometry.selections.attachmentbounds import AttachmentBounds, HungTree
from labelgrove.ontology.geometry.selections.entrants import Entrants
from labelgrove.ontology.geometry.selections.growing import FixedBounds, GainBounds, Limits, Picks, per_cost
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["MOST_DRAWN", "MOST_MEASURED", "DistinctLocus", "MeasuredLocus"]

MOST_DRAWN = 512
"""Number of candidates that a round draws if there are more than that and drawing is allowed."""

MOST_MEASURED = 16
"""Number of drawn candidates whose gains are measured: those farthest from the nearest observed label."""


class DistinctLocus:
    """The locus on a complete graph whose labels are all allowed: the observed labels themselves.

    Parameters
    ----------
    points : ndarray of int64
        Point indices of the labels that are observed at the start.
    """

    def __init__(self, points: NDArray[np.int64]) -> None:
        self._points = set(points.tolist())

    @property
    def size(self) -> int:
        """Number of labels in the locus."""
        return len(self._points)

    def holds(self, point: int) -> bool:
        """Return whether the label `point` is observed."""
        return point in self._points

    def add(self, point: int) -> int:
        """Observe `point`; return 1, or 0 if it was observed already."""
        gained = 0 if point in self._points else 1
        self._points.add(point)
        return gained

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Picks:
        """Observe the cheapest labels first; ties go to the lowest index. No other choice gains more.

        Each label gains 1, so the costs alone decide how many labels can be picked.
        """
        picks = pool
        if limits.cost is not None:
            picks = pool[np.argsort(limits.cost[pool], kind="stable")]
            picks = picks[np.cumsum(limits.cost[picks]) <= limits.budget]
        picks = picks[: limits.n]
        self._points.update(picks.tolist())
        return Picks.of(picks, np.ones(len(picks)))


class MeasuredLocus:
    """The locus on any space, to which observed labels are added one by one.

    Parameters
    ----------
    space : MetricSpace
        The space. In a `MatrixSpace`, every allowed label must have a column in the matrix.
    points : ndarray of int64
        Point indices of the labels that are observed at the start.
    members : ndarray of int64, optional
        The locus of `points` if it is known: the attribute `members` of another `MeasuredLocus` with the same
        observed labels.

    Attributes
    ----------
    n_measured : int
        Number of exact loci computed to measure the gains of labels, including labels that were not added.
    """

    def __init__(
        self, space: MetricSpace, points: NDArray[np.int64], members: NDArray[np.int64] | None = None
    ) -> None:
        self._space = space
        self._hangs = isinstance(space, TreeSpace) and space.distance_dtype != np.float64
        self._allowed = allowed_points(space)
        self.n_measured = 0
        self._hung: HungTree | None = None
        self._latest: Entrants | None = None  # after the first round that needs them
        self._ahead: dict[int, NDArray[np.int64]] = {}  # the labels that one more label would add
        if members is None:
            members = locus_index(space, points).index if len(points) else points
        self._become(points, members)

    def _become(self, points: NDArray[np.int64], index: NDArray[np.int64]) -> None:
        self._points, self._index, self._ahead = points, index, {}
        self._held = np.zeros(self._space.n_labels, dtype=bool)
        self._held[index] = True
        self._holds = np.zeros(self._space.n_points, dtype=bool)
        self._holds[self._allowed[index]] = True

    @property
    def _entrants(self) -> Entrants:
        if self._latest is None:
            self._latest = Entrants(self._space, self._points, self._index)
        return self._latest

    @property
    def size(self) -> int:
        """Number of labels in the locus."""
        return len(self._index)

    @property
    def members(self) -> NDArray[np.int64]:
        """The labels in the locus, as ascending indices among the allowed labels."""
        return self._index

    def holds(self, point: int) -> bool:
        """Return whether the label `point` is in the locus."""
        return bool(self._holds[point])

    def gain(self, point: int) -> int:
        """Return the number of labels that observing `point` would add to the locus."""
        if point not in self._ahead:
            self.n_measured += 1
            self._ahead[point] = self._entering(np.append(self._points, point))
        return len(self._ahead[point])

    def _entering(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the labels in the locus of `points` that are not in the current locus.

        `points` includes all labels that are observed already. No label leaves the locus when more labels are
        observed, so only the labels outside the current locus are tested.
        """
        if isinstance(self._space, CompleteSpace) or len(points) == 1:
            found = locus_index(self._space, points).index
            return found[~self._held[found]]
        if not (self._hangs and isinstance(self._space, TreeSpace)):
            return self._entrants.of(int(points[-1]))
        competing = nearest_at_hull(self._space, points)
        outside = np.flatnonzero(~self._held[competing])
        distances = self._space.distances(competing, points)
        return competing[general_locus(distances, outside, tolerant=is_tolerant(self._space)).index]

    def add(self, point: int) -> int:
        """Observe `point`; return the number of labels that this adds to the locus."""
        gained = self.gain(point)
        index = np.union1d(self._index, self._ahead[point])
        self._become(np.append(self._points, point), index)
        if self._latest is not None:
            self._latest.observe(point, index)
        return gained

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Picks:
        """Observe the label with the largest gain (per cost), repeatedly; ties go to the lowest index.

        Notes
        -----
        If no label is observed, the first pick is the candidate farthest from the first candidate. In every
        other round, the gains of candidates are measured in the order of their upper bounds, largest first,
        until none of the other candidates could win. At worst this computes one locus for each candidate and
        round. The pick is the best of all candidates that the round compares.

        A round usually compares all candidates. But the bounds are weak on spaces other than complete graphs
        and trees with whole lengths. On such a space, if `limits.draw` is given and there are more than
        `MOST_DRAWN` candidates, each round draws `MOST_DRAWN` labels outside the locus, and compares only the
        `MOST_MEASURED` of them that are farthest from their nearest observed labels.

        Without costs the picks continue up to `limits.n` even if no single label gains anything, because two
        labels together may gain something.
        """
        from_nothing = not len(self._points)
        index, gains, _ = self.pick_some(pool, limits)
        return Picks.of(index, gains, self.upper_bound(pool, limits, gains, from_nothing=from_nothing))

    def pick_some(
        self, pool: NDArray[np.int64], limits: Limits, most: int | None = None
    ) -> tuple[list[int], list[int], bool]:
        """Observe the first `most` labels that `pick` would pick, or all of them if `most` is None.

        Returns
        -------
        index, gains : list of int
            The picks and their gains. To continue, call again with what is left of the pool and the limits.
        ended : bool
            True if there are no more picks. After `most` picks it may be False although no label can follow;
            then the next call returns no picks and True.
        """
        cost = np.ones(self._space.n_points) if limits.cost is None else limits.cost
        budget, draw = limits.budget, self._drawing(limits)
        picks: list[int] = []
        gains: list[int] = []
        while limits.n is None or len(picks) < limits.n:
            if len(picks) == most:
                return picks, gains, False
            pool = pool[cost[pool] <= budget]
            if not len(pool):
                break
            best, score = self._next(pool, cost, draw) if len(self._points) else (self._start(pool), 1.0)
            if score == 0 and (limits.n is None or limits.cost is not None):
                break
            picks.append(best)
            gains.append(self.add(best))
            budget -= cost[best]
            pool = pool[pool != best]
        return picks, gains, True

    def upper_bound(
        self, pool: NDArray[np.int64], limits: Limits, gains: Sequence[int], *, from_nothing: bool
    ) -> int:
        """Return an upper bound of the total gain of any picks from `pool` within `limits`.

        Call this method after the last call of `pick_some`; `gains` are the gains of the picks from all those
        calls. `from_nothing` is True if no label was observed before these picks.
        """
        total = sum(gains)
        all_count = self._drawing(limits) is None or len(pool) <= MOST_DRAWN
        chosen_best = limits.n == 1 and limits.cost is None and not from_nothing and all_count
        if chosen_best or len(gains) == len(pool):
            return total
        return self._space.n_labels - (self.size - total)

    def _drawing(self, limits: Limits) -> np.random.Generator | None:
        return None if self._hangs or isinstance(self._space, CompleteSpace) else limits.draw

    def _start(self, pool: NDArray[np.int64]) -> int:
        """Return the first pick if no label is observed: the candidate farthest from the first candidate.

        Only allowed labels are considered, and ties go to the lowest index. If no candidate is allowed, the
        first candidate is returned.
        """
        rows = np.flatnonzero(np.isin(self._allowed, pool))
        if not len(rows):
            return int(pool[0])
        return int(self._allowed[rows[np.argmax(self._space.distances(rows, pool[:1])[:, 0])]])

    def _next(
        self, pool: NDArray[np.int64], cost: NDArray[np.float64], draw: np.random.Generator | None
    ) -> tuple[int, float]:
        """Return the candidate to pick in this round, and its gain per cost."""
        if draw is not None and len(pool) > MOST_DRAWN:
            outside = pool[~self._holds[pool]]
            of = outside if len(outside) else pool
            drawn = draw.choice(of, min(len(of), MOST_DRAWN), replace=False)
            rows = np.searchsorted(self._allowed, drawn)
            to_nearest = self._space.distances(rows, self._points).min(axis=1)
            pool = np.sort(drawn[np.argsort(to_nearest, kind="stable")[-MOST_MEASURED:]])
        return self._best(pool, cost[pool])

    def _best(self, pool: NDArray[np.int64], cost: NDArray[np.float64]) -> tuple[int, float]:
        """Return the candidate with the largest gain per cost (ties: the lowest index), and this ratio."""
        bounds = self.bounds(pool)
        measured = np.zeros(len(pool), dtype=bool)
        best, best_score = -1, -1.0
        while not measured.all():
            most = np.where(measured, -1.0, per_cost(bounds.values, cost))
            i = int(most.argmax())
            point = int(pool[i])
            if most[i] < best_score or (most[i] == best_score and point > best):
                break
            if bounds.refine(i):
                continue
            gain = self.gain(point)
            bounds.settle(i, gain)
            measured[i] = True
            score = float(per_cost(np.array([gain]), cost[[i]])[0])
            if score > best_score or (score == best_score and point < best):
                best, best_score = point, score
        return best, best_score

    def bounds(self, pool: NDArray[np.int64]) -> GainBounds:
        """Return upper bounds on the gains of the points of `pool`."""
        if self._hangs and isinstance(self._space, TreeSpace):
            if self._hung is None:
                self._hung = HungTree(self._space, int(self._points[0]))
            return AttachmentBounds(self._hung, self._points, self._allowed[self._index], pool)
        if isinstance(self._space, CompleteSpace):
            outside = self._space.n_labels - self.size
            return FixedBounds(np.where(np.isin(pool, self._allowed), 1, outside))
        return FixedBounds(self._entrants.bounds(pool))
