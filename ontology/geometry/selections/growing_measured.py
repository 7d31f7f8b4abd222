"""Growing loci away from trees: measured anew for each candidate, or known on a complete graph.

In general gains are not submodular: a label may gain more after another was picked than before, so a gain
once measured says nothing about a later round, and lazy evaluation that trusts it picks wrong labels. What
does bound a gain is dominance. Where some allowed label z is strictly closer than y to every observed label
and to a new one, no weights make y the best; so if z is such a rival of y for the labels observed so far, a
candidate can win y only by being no farther from y than from z.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.sampling import allowed_points
from ontology.geometry.selections.growing import Found, Limits, per_cost
from ontology.geometry.spaces import MetricSpace

__all__ = ["DistinctLocus", "MeasuredLocus"]

_MOST_RIVALS = 64
_BLOCK_ENTRIES = 1 << 22
_CLOSER = 1 - 1e-9


class DistinctLocus:
    """The locus on a complete graph whose labels are all allowed: the observed labels themselves.

    Parameters
    ----------
    points : ndarray of int64
        Point indices of the observed labels to begin with.
    """

    exact = True

    def __init__(self, points: NDArray[np.int64]) -> None:
        self._points = set(points.tolist())

    @property
    def size(self) -> int:
        """Number of labels in the locus."""
        return len(self._points)

    def holds(self, point: int) -> bool:
        """Return whether a label is observed."""
        return point in self._points

    def add(self, point: int) -> int:
        """Observe `point`; return 1, or 0 where it was already."""
        gained = 0 if point in self._points else 1
        self._points.add(point)
        return gained

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Found:
        """Observe the cheapest labels first, of equals the lowest index: no other choice gains more."""
        picks = pool
        if limits.cost is not None:
            picks = pool[np.argsort(limits.cost[pool], kind="stable")]
            picks = picks[np.cumsum(limits.cost[picks]) <= limits.budget]
        picks = picks[: limits.n]
        self._points.update(picks.tolist())
        return Found.of(picks, np.ones(len(picks)))


class MeasuredLocus:
    """The locus on any space, by `ontology.geometry.loci.locus.locus_index`.

    Parameters
    ----------
    space : MetricSpace
        The space; its allowed labels are points.
    points : ndarray of int64
        Point indices of the observed labels to begin with.
    """

    def __init__(self, space: MetricSpace, points: NDArray[np.int64]) -> None:
        self._space = space
        self._allowed = allowed_points(space)
        self.exact = True
        self._points = points
        self._ahead: dict[int, NDArray[np.int64]] = {}  # the locus with one more label
        self._become(points, self._measured(points) if len(points) else points)

    def _become(self, points: NDArray[np.int64], index: NDArray[np.int64]) -> None:
        self._points, self._index, self._ahead = points, index, {}
        self._held = set(self._allowed[index].tolist())

    def _measured(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        from ontology.geometry.loci.locus import locus_index

        found = locus_index(self._space, points)
        self.exact &= found.status == "exact"
        return found.index

    @property
    def size(self) -> int:
        """Number of labels in the locus."""
        return len(self._index)

    def holds(self, point: int) -> bool:
        """Return whether a label is in the locus."""
        return point in self._held

    def gain(self, point: int) -> int:
        """Return by how many labels the locus would grow with `point`."""
        if point not in self._ahead:
            self._ahead[point] = self._measured(np.append(self._points, point))
        return len(self._ahead[point]) - self.size

    def add(self, point: int) -> int:
        """Observe `point`; return the number of labels gained."""
        gained = self.gain(point)
        self._become(np.append(self._points, point), self._ahead[point])
        return gained

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Found:
        """Observe the label of the largest gain (per cost), again and again; of equals the lowest index.

        Notes
        -----
        Each pick is the best of all candidates, not of those evaluated: they are evaluated in the order of
        what they could gain at most, until none that is left could win. At worst one locus for each candidate
        and round. Without costs the picks go on to `limits.n` also when no single label gains: two may.
        """
        whole, before, first_known = pool, self.size, len(self._points) > 0
        cost = np.ones(self._space.n_points) if limits.cost is None else limits.cost
        budget = limits.budget
        picks: list[int] = []
        gains: list[int] = []
        latest = np.zeros(self._space.n_points, dtype=np.int64)
        while limits.n is None or len(picks) < limits.n:
            pool = pool[cost[pool] <= budget]
            if not len(pool):
                break
            best, score = self._best(pool, cost, latest) if len(self._points) else (self._start(pool), 1.0)
            if score == 0 and (limits.n is None or limits.cost is not None):
                break
            picks.append(best)
            gains.append(self.add(best))
            budget -= cost[best]
            pool = pool[pool != best]
        chosen_best = limits.n == 1 and limits.cost is None and first_known
        if chosen_best or len(picks) == len(whole):
            return Found.of(picks, gains)
        return Found.of(picks, gains, self._space.n_labels - before)

    def _start(self, pool: NDArray[np.int64]) -> int:
        """Return the candidate farthest from the first one (the lowest of equals), where that is measured."""
        rows = np.flatnonzero(np.isin(self._allowed, pool))
        if not len(rows):
            return int(pool[0])
        return int(self._allowed[rows[np.argmax(self._space.distances(rows, pool[:1])[:, 0])]])

    def _best(
        self, pool: NDArray[np.int64], cost: NDArray[np.float64], latest: NDArray[np.int64]
    ) -> tuple[int, float]:
        """Return the candidate of the largest gain per cost, and that; keeps measured gains in `latest`."""
        most = per_cost(self.bounds(pool), cost[pool])
        order = np.lexsort((pool, -most)).tolist()
        favourite = int(np.lexsort((pool, -most, -latest[pool]))[0])
        best, best_score = -1, -1.0
        for i in [favourite, *order]:
            point = int(pool[i])
            if i != favourite and (most[i] < best_score or (most[i] == best_score and point > best)):
                break
            latest[point] = self.gain(point)
            score = float(per_cost(latest[[point]], cost[[point]])[0])
            if score > best_score or (score == best_score and point < best):
                best, best_score = point, score
        return best, best_score

    def bounds(self, pool: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each point of `pool`, a number that its gain does not exceed.

        Notes
        -----
        O(n_labels) for each, after O(n_labels * n_observed) for the rivals: up to 64 members of the locus are
        tried, and each label keeps the nearest one that beats it.
        """
        outside = np.setdiff1d(np.arange(self._space.n_labels), self._index, assume_unique=True)
        rival = self._rivals()[outside]
        beaten, rival = outside[rival >= 0], rival[rival >= 0]
        bounds = np.full(len(pool), len(outside), dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // self._space.n_labels)
        for start in range(0, len(pool) if len(beaten) else 0, step):
            distance = self._space.distances(cols=pool[start : start + step])
            bounds[start : start + step] -= _closer(distance[rival], distance[beaten]).sum(axis=0)
        return bounds

    def _rivals(self) -> NDArray[np.int64]:
        """Return, for each allowed label, a member that is strictly closer to every observed label, or -1."""
        spread = np.linspace(0, self.size - 1, min(self.size, _MOST_RIVALS)).astype(np.int64)
        members = self._index[spread]
        to_observed = self._space.distances(cols=self._points)
        to_members = self._space.distances(cols=self._allowed[members])
        rival = np.full(self._space.n_labels, -1, dtype=np.int64)
        nearest = np.full(len(rival), np.inf)
        for column, member in enumerate(members.tolist()):
            beats = _closer(to_observed[member], to_observed).all(axis=1)
            beats &= to_members[:, column] < nearest
            rival[beats] = member
            nearest[beats] = to_members[beats, column]
        return rival


def _closer(a: NDArray[np.number], b: NDArray[np.number]) -> NDArray[np.bool_]:
    """Return where distances `a` are certainly smaller than `b`, floats with room for rounding."""
    return np.asarray(a < b if a.dtype.kind == "u" else a < b * _CLOSER)
