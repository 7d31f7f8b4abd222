"""Greedy purchases of labels within a budget, and upper bounds on what any purchase can gain.

`bought_greedily` and `purchase_bound` require that the gain of a label never grows as other labels are added.
"""

from __future__ import annotations

import heapq
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.selections.growing import Limits, per_cost

__all__ = ["affordable_table", "bought_greedily", "most_purchases", "purchase_bound"]

_MOST_ENTRIES = 1 << 25


class Coverage(Protocol):
    """A growing set of labels. As the set grows, the gain of each label falls or stays equal."""

    def gain(self, point: int) -> int:
        """Return how many labels `point` would add to the set."""
        ...

    def add(self, point: int) -> int:
        """Add `point`; return how many labels this added to the set."""
        ...


def bought_greedily(
    coverage: Coverage, pool: NDArray[np.int64], limits: Limits, price: NDArray[np.float64]
) -> tuple[list[int], list[int]]:
    """Buy the label with the largest gain per price, again and again, while some label gains anything.

    Parameters
    ----------
    coverage : Coverage
        The set to which the bought labels are added.
    pool : ndarray of int64
        Points that may be bought.
    limits : Limits
        Limits of the purchase. The sum of `limits.cost` over the bought labels is at most `limits.budget`;
        without costs every label is free.
    price : ndarray of shape (n_points,)
        For each point, the number by which its gain is divided before gains are compared: the cost of the
        point, or 1 to compare the gains themselves.

    Returns
    -------
    index, gains : list of int
        The labels in the order bought, and their gains.

    Notes
    -----
    Gains are evaluated lazily: gains never grow, so the gain of a label in an earlier round is an upper bound
    in every later round. Ties go to the lowest index.
    """
    index: list[int] = []
    gains: list[int] = []
    cost = np.zeros(len(price)) if limits.cost is None else limits.cost
    budget = limits.budget

    def entry(point: int) -> tuple[float, int, int]:
        score = per_cost(np.array([coverage.gain(point)]), price[[point]])
        return -float(score[0]), point, len(index)

    heap = [entry(point) for point in pool.tolist()]
    heapq.heapify(heap)
    while heap and (limits.n is None or len(index) < limits.n):
        negative, point, measured = heapq.heappop(heap)
        if cost[point] > budget:
            continue
        if measured < len(index):
            heapq.heappush(heap, entry(point))
        elif negative == 0:
            break
        else:
            index.append(point)
            gains.append(coverage.add(point))
            budget -= cost[point]
    return index, gains


def purchase_bound(gain: NDArray[np.int64], cost: NDArray[np.float64], limits: Limits) -> int:
    """Return an upper bound of the gain of any purchase within `limits`, from the gains of single labels.

    Labels together gain at most the sum of their single gains. So the value of the fractional knapsack (which
    may buy a part of a label for a part of its cost and gain) is a bound. If `limits.n` is set, the sum of
    the n largest single gains is another bound, and the smaller of the two is returned.

    Examples
    --------
    >>> purchase_bound(np.array([4, 3]), np.array([2.0, 2.0]), Limits(None, None, 3.0))
    5
    """
    by = np.argsort(-per_cost(gain, cost), kind="stable")
    gain, cost = gain[by], cost[by]
    spent = np.cumsum(cost)
    whole = int(np.searchsorted(spent, limits.budget, side="right"))
    most = float(gain[:whole].sum())
    if whole < len(gain):
        left = limits.budget - (spent[whole - 1] if whole else 0.0)
        most += left / cost[whole] * float(gain[whole])
    if limits.n is not None:
        most = min(most, float(np.sort(gain)[::-1][: limits.n].sum()))
    return int(np.floor(most * (1 + 1e-9)))


def most_purchases(cost: NDArray[np.float64], limits: Limits) -> int:
    """Return the largest number of labels that can be bought within `limits`, by buying the cheapest."""
    affordable = int(np.searchsorted(np.cumsum(np.sort(cost)), limits.budget, side="right"))
    return affordable if limits.n is None else min(affordable, limits.n)


def affordable_table(
    pool: NDArray[np.int64], cost: NDArray[np.float64], limits: Limits
) -> tuple[NDArray[np.int64], int] | None:
    """Return the costs and the budget as whole numbers, or None if dynamic programming is not possible.

    The cost of points that may not be bought is -1. Dynamic programming is not possible if `limits.n` is set,
    if a cost is not a whole number, or if the table for it (points times budget) would have more than 2^25
    entries.
    """
    budget = np.floor(min(limits.budget, float(cost[pool].sum())))
    if limits.n is not None or (budget + 1) * len(cost) > _MOST_ENTRIES:
        return None
    if (cost[pool] != np.floor(cost[pool])).any():
        return None
    whole = np.full(len(cost), -1, dtype=np.int64)
    whole[pool] = cost[pool].astype(np.int64)
    return whole, int(budget)
