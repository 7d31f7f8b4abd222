"""GrowingHull: the locus on a tree whose labels are all allowed, and the best labels to add to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.selections.growing import Limits, Picks
from labelgrove.ontology.geometry.selections.purchases import (
    affordable_table,
    bought_greedily,
    most_purchases,
    purchase_bound,
)
from labelgrove.ontology.geometry.selections.trees import best_purchase, greedy_order, hung_from
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["GrowingHull"]


class GrowingHull:
    """The locus on a tree whose labels are all allowed: the hull of the observed labels.

    Parameters
    ----------
    space : TreeSpace
        A tree with every label allowed.
    points : ndarray of int64
        Point indices of the labels that are observed at the start.

    Attributes
    ----------
    size : int
        Number of labels in the hull.
    """

    def __init__(self, space: TreeSpace, points: NDArray[np.int64]) -> None:
        self._space, self._tree = space, space.tree
        self._observe(points)

    def _observe(self, points: NDArray[np.int64]) -> None:
        self._points = points.tolist()
        self._inside = np.zeros(len(self._tree), dtype=bool)
        self.size = 0
        if len(points):
            reached = hull(self._tree, self._tree.positions(points))
            self._towards = hung_from(self._tree, int(reached[0]))
            self._inside[reached] = True
            self.size = len(reached)

    def holds(self, point: int) -> bool:
        """Return whether the label `point` is in the hull."""
        return bool(self._inside[self._tree.positions(point)])

    def gain(self, point: int) -> int:
        """Return the number of labels that observing `point` would add to the hull; O(this number) time."""
        return len(self._way(point))

    def add(self, point: int) -> int:
        """Observe `point`; return the number of labels that this adds to the hull."""
        way = self._way(point)
        if not self._points:
            self._towards = hung_from(self._tree, way[0])
        self._points.append(point)
        self._inside[way] = True
        self.size += len(way)
        return len(way)

    def _way(self, point: int) -> list[int]:
        v = self._tree.positions(point)
        if not self._points:
            return [v]
        way = []
        while not self._inside[v]:
            way.append(v)
            v = int(self._towards[v])
        return way

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Picks:
        """Observe the label with the largest gain, repeatedly; ties go to the lowest index.

        Notes
        -----
        Without costs this takes O(n_points) time, and for every m the first m picks gain as much as any m
        labels can. If `limits.n` is larger than the number of labels that gain something, labels without gain
        follow in the order of their indices. The method with costs is explained in
        `ontology.geometry.select_classes`.
        """
        if limits.n == 0:
            return Picks.of([], [])
        points = np.array(self._points, dtype=np.int64)
        order, gains = greedy_order(self._space, points, pool)
        if limits.cost is not None:
            found = self._bought(points, pool, gains, limits, limits.cost)
        elif limits.n is None:
            found = Picks.of(order, gains)
        elif limits.n <= len(order):
            found = Picks.of(order[: limits.n], gains[: limits.n])
        else:
            rest = np.setdiff1d(pool, order, assume_unique=True)[: limits.n - len(order)]
            idle = np.zeros(len(rest), dtype=np.int64)
            found = Picks.of(np.concatenate([order, rest]), np.concatenate([gains, idle]))
        self._observe(np.concatenate([points, found.index]))
        return found

    def _bought(
        self,
        points: NDArray[np.int64],
        pool: NDArray[np.int64],
        longest: NDArray[np.int64],
        limits: Limits,
        cost: NDArray[np.float64],
    ) -> Picks:
        """Return the best purchase if dynamic programming is possible, otherwise a greedy one.

        `affordable_table` decides whether dynamic programming is possible. If not, the better of two greedy
        purchases is returned, with an upper bound of the total gain. `longest` contains the gains of the
        greedy order without costs: the sum of its first m entries is the most that m labels can gain.
        """
        pool = pool[cost[pool] <= limits.budget]
        table = affordable_table(pool, cost, limits)
        if table is not None:
            bought = best_purchase(self._space, points, *table)
            free = Limits(None, cost)
            return Picks.of(*bought_greedily(GrowingHull(self._space, points), bought, free, cost))
        found = []
        for price in (cost, np.ones(len(cost))):  # by gain per cost, and by gain
            grown = GrowingHull(self._space, points)
            index, gains = bought_greedily(grown, pool, limits, price)
            left = [grown.gain(point) for point in pool.tolist()]
            found.append((index, gains, sum(gains) + purchase_bound(np.array(left), cost[pool], limits)))
        at_start = purchase_bound(np.array([self.gain(p) for p in pool.tolist()]), cost[pool], limits)
        most = int(longest[: most_purchases(cost[pool], limits)].sum())
        upper_bound = min(most, at_start, *(bound for _, _, bound in found))
        index, gains, _ = max(found, key=lambda one: sum(one[1]))
        return Picks.of(index, gains, upper_bound)
