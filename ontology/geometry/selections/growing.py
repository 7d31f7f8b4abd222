"""GrowingLocus: a locus that grows as labels are observed one by one, and the choice of the next label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FixedBounds", "GainBounds", "GrowingLocus", "Limits", "Picks", "drawn", "per_cost"]


@dataclass(frozen=True)
class Limits:
    """Limits on the picks of a selection.

    Attributes
    ----------
    n : int or None
        Number of picks. None: pick until no label adds anything to the locus, or, in uniform draws, until no
        label is left.
    cost : ndarray of shape (n_points,), dtype=float64, or None
        Cost of each point, finite and not negative; None: costs are ignored.
    budget : float
        Upper limit of the sum of the costs of all picks; may be infinite.
    draw : numpy.random.Generator or None
        Generator that draws some of the candidates if there are too many to compare all their gains. If a
        generator is given, every candidate must be an allowed label. None: all candidates are compared,
        however long it takes.
    """

    n: int | None
    cost: NDArray[np.float64] | None = None
    budget: float = np.inf
    draw: np.random.Generator | None = None


@dataclass(frozen=True, eq=False)
class Picks:
    """The picks of a selection, in order, and a bound on what other picks could gain.

    Attributes
    ----------
    index, gains : ndarray of shape (n_picks,), dtype=int64
        Point index of each pick, and the number of labels that it adds to the locus.
    upper_bound : int
        Upper bound of the total gain of any selection within the limits.
    """

    index: NDArray[np.int64]
    gains: NDArray[np.int64]
    upper_bound: int

    @classmethod
    def of(cls, index: ArrayLike, gains: ArrayLike, upper_bound: int | None = None) -> Picks:
        """Build the result from the indices and the gains of the picks, given as any sequences.

        By default the picks are taken to be the best, so `upper_bound` is their total gain.
        """
        gained = np.asarray(gains, dtype=np.int64)
        bound = int(gained.sum()) if upper_bound is None else upper_bound
        return cls(np.asarray(index, dtype=np.int64), gained, bound)


class GrowingLocus(Protocol):
    """The locus of a growing set of observed labels; labels are point indices."""

    @property
    def size(self) -> int:
        """Number of labels in the locus."""
        ...

    def holds(self, point: int) -> bool:
        """Return whether the label `point` is in the locus."""
        ...

    def add(self, point: int) -> int:
        """Observe `point`; return the number of labels that this adds to the locus."""
        ...

    def pick(self, pool: NDArray[np.int64], limits: Limits) -> Picks:
        """Observe labels of `pool` (ascending) one by one within `limits`, the largest gain first.

        Returns the labels picked in this call and their gains.
        """
        ...


class GainBounds(Protocol):
    """Upper bounds of the gains of the candidates in one round of a selection.

    Attributes
    ----------
    values : ndarray of shape (n_pool,), dtype=int64
        Upper bound of the gain of each candidate.
    """

    values: NDArray[np.int64]

    def refine(self, i: int) -> bool:
        """Try to lower the bound of candidate `i`; return whether it fell."""
        ...

    def settle(self, i: int, gain: int) -> None:
        """Record the measured gain of candidate `i`."""
        ...


class FixedBounds:
    """Gain bounds that can only fall by measuring.

    Parameters
    ----------
    values : ndarray of shape (n_pool,), dtype=int64
        Upper bound of the gain of each candidate.
    """

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values = values

    def refine(self, i: int) -> bool:
        """Return False, because there is no sharper bound for candidate `i`."""
        return False

    def settle(self, i: int, gain: int) -> None:
        """Record the measured gain of candidate `i`."""
        self.values[i] = gain


def drawn(
    growing: GrowingLocus,
    pool: NDArray[np.int64],
    limits: Limits,
    rng: np.random.Generator,
    *,
    outside: bool,
) -> tuple[list[int], list[int]]:
    """Observe labels drawn uniformly from `pool`, or only from those outside the locus if `outside` is True.

    Returns
    -------
    index, gains : list of int
        The labels in the order drawn, and their gains. Labels that cost more than the rest of the budget are
        skipped. Suppose that `outside` is True and no label is left outside the locus. If `limits.n` is a
        number, the draws continue among the labels in the locus; if `limits.n` is None, the draws end.

    Notes
    -----
    The pool is shuffled once, and labels are drawn in the shuffled order. After any number of draws, each
    label that is still outside the locus is equally likely to be the next such label in this order. A locus
    never shrinks and a budget never grows, so a label that was skipped once need not be tried again.
    """
    index: list[int] = []
    gains: list[int] = []
    budget = limits.budget

    def take(points: Sequence[int], *, only_outside: bool) -> list[int]:
        nonlocal budget
        passed = []
        for point in points:
            if limits.n is not None and len(index) == limits.n:
                break
            price = 0.0 if limits.cost is None else float(limits.cost[point])
            if price > budget:
                continue
            if only_outside and growing.holds(point):
                passed.append(point)
                continue
            index.append(point)
            gains.append(growing.add(point))
            budget -= price
        return passed

    passed = take(rng.permutation(pool).tolist(), only_outside=outside)
    if limits.n is not None:
        take(rng.permutation(np.array(passed, dtype=np.int64)).tolist(), only_outside=False)
    return index, gains


def per_cost(gain: NDArray[np.int64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return gain / cost: infinity for a positive gain at cost 0, and 0 for a gain of 0 at any cost.

    >>> per_cost(np.array([3, 1, 0]), np.array([2.0, 0.0, 0.0])).tolist()
    [1.5, inf, 0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(gain > 0, gain / cost, 0.0)
