"""The published algorithms for the locus: a grid of weights, and the Fréchet means under these weights.

Roberts et al. (2023), *Geometry-Aware Adaptation for Pretrained Models*, Algorithms 2 and 3. Both try the
weights 0/D, 1/D, ..., D/D, where D is the diameter of the graph. A grid never finds a label that is not in
the locus, but it can miss a member if no weights of the grid reach it. The exact method misses none; these
two algorithms are here for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.arguments import nonnegative_number
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.status import Status
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["grid_locus", "pair_grid_locus"]

_BLOCK_ENTRIES = 1 << 22


def pair_grid_locus(
    space: MetricSpace, points: NDArray[np.int64], divisions: float | None, largest_cost: float
) -> Locus:
    """Return the labels that grids of weights on pairs of observed labels reach: the paper's Algorithm 2.

    The status is ``"exact"`` on a tree if every label is allowed, edge lengths are whole numbers, the
    diameter is at most 2^24 and D is at least the diameter, because the grid then misses no member. Otherwise
    the status is ``"lower_bound"``.
    Witnesses are points of the grid.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, each listed once.
    divisions : float or None
        The number D in the weights 0/D, 1/D, ..., D/D; positive. By default it is the diameter of the allowed
        labels. If D is not a whole number, the last two weights are less than 1/D apart.
    largest_cost : float
        Largest number of multiply-adds that is allowed;
        ``n_observed * (n_observed - 1) * (divisions + 1) * n_labels`` are needed.

    Raises
    ------
    InputError
        If `divisions` is not positive and finite, or the estimated cost is above `largest_cost`.
    """
    largest = _divisions(space, divisions)
    pairs = list(combinations(range(len(points)), 2)) or [(0, 0)]
    _refuse_cost(len(pairs) * (math.ceil(largest) + 1), 2, space, largest_cost)
    steps = _steps(largest)
    squared = space.distances(cols=points).astype(np.float64).T ** 2
    found = _Reached(space, points)
    for a, b in pairs:
        for step in steps.tolist():
            rest = steps[-1] - step
            found.add(step * squared[a] + rest * squared[b], {a: step, b: rest} if a != b else {a: 1.0})
    whole_tree = isinstance(space, TreeSpace) and space.allowed is None and space.distance_dtype != np.float64
    return found.locus("exact" if whole_tree and steps[-1] >= space.diameter() else "lower_bound")


def grid_locus(
    space: MetricSpace, points: NDArray[np.int64], divisions: float | None, largest_cost: float
) -> Locus:
    """Return the labels that a grid of weights on all observed labels reaches: the paper's Algorithm 3.

    In the paper the grid includes weights that are all zero, under which every label ties, so the answer
    would always be every label. This function omits those weights. The status is always ``"lower_bound"``.
    Witnesses are points of the grid.

    Parameters
    ----------
    space, points, divisions
        As for `pair_grid_locus`.
    largest_cost : float
        Largest number of multiply-adds that is allowed;
        ``(divisions + 1)**n_observed * n_observed * n_labels`` are needed.

    Raises
    ------
    InputError
        As for `pair_grid_locus`.
    """
    largest = _divisions(space, divisions)
    _refuse_cost((math.ceil(largest) + 1) ** len(points), len(points), space, largest_cost)
    steps = _steps(largest)
    squared = space.distances(cols=points).astype(np.float64).T ** 2
    found = _Reached(space, points)
    for block in _grid(steps, len(points), max(1, _BLOCK_ENTRIES // space.n_labels)):
        for weights, variance in zip(block.tolist(), block @ squared, strict=True):
            found.add(variance, dict(enumerate(weights)))
    return found.locus("lower_bound")


class _Reached:
    """Collects the labels that are a Fréchet mean under some row of weights, and their witnesses."""

    def __init__(self, space: MetricSpace, points: NDArray[np.int64]) -> None:
        self._space, self._points = space, points
        self._witness: dict[int, tuple[int, ...]] = {}
        self._unique: set[int] = set()

    def add(self, variance: NDArray[np.float64], weights: dict[int, float]) -> None:
        """Add the labels that the weights reach: those with the smallest Fréchet variance.

        `variance` contains the Fréchet variance of each label under `weights`, a dictionary from column to
        weight. The first witness of a label is kept, unless a later one reaches the label uniquely.
        """
        best = np.flatnonzero(variance <= variance.min() * (1 + TIE_RELATIVE)).tolist()
        new = [y for y in best if y not in self._witness or (len(best) == 1 and y not in self._unique)]
        if new:
            witness = _whole([weights.get(column, 0.0) for column in range(len(self._points))])
            self._witness |= dict.fromkeys(new, witness)
        if len(best) == 1:
            self._unique.add(best[0])

    def locus(self, status: Status) -> Locus:
        """Return the labels that were added, as a locus with the given status."""
        index = np.array(sorted(self._witness), dtype=np.int64)
        unique = np.array(sorted(self._unique), dtype=np.int64)
        witnesses = [self._witness[y] for y in index.tolist()]
        return Locus(self._space, self._points, index, unique, status, witnesses, TIE_RELATIVE)


def _whole(weights: list[float]) -> tuple[int, ...]:
    """Return the smallest whole numbers with exactly the same ratios as `weights`."""
    ratios = [weight.as_integer_ratio() for weight in weights]
    common = math.lcm(*(denominator for _, denominator in ratios))
    whole = [numerator * (common // denominator) for numerator, denominator in ratios]
    divisor = math.gcd(*whole)
    return tuple(weight // divisor for weight in whole)


def _divisions(space: MetricSpace, divisions: float | None) -> float:
    if divisions is None:
        return space.diameter()
    steps = nonnegative_number("divisions", divisions)
    if not steps:
        raise InputError("divisions: 0 given; give a positive number of steps between weight 0 and weight 1")
    return steps


def _refuse_cost(n_weights: int, n_terms: int, space: MetricSpace, largest_cost: float) -> None:
    cost = n_weights * n_terms * space.n_labels
    largest_cost = nonnegative_number("largest_cost", largest_cost)
    if cost > largest_cost:
        raise InputError(
            f"observed: a grid of about 10^{math.log10(n_weights):.1f} rows of weights on {space.n_labels} "
            f"labels takes an estimated 10^{math.log10(cost):.1f} multiply-adds, above largest_cost = "
            f"{largest_cost:.0e}; observe fewer labels, raise largest_cost, or use the method 'exact'"
        )


def _steps(largest: float) -> NDArray[np.float64]:
    """Return the weights that a label may have in the grid: 0, 1, 2, ... below `largest`, and `largest`.

    `largest`, the number of divisions, need not be a whole number. If it is 0, for instance because a single
    label is allowed, the only weight is 1.
    """
    if largest == 0:  # a single allowed label, which gets all the weight
        return np.array([1.0])
    return np.append(np.arange(math.ceil(largest), dtype=np.float64), largest)


def _grid(steps: NDArray[np.float64], n_observed: int, n_rows: int) -> Iterator[NDArray[Any]]:
    """Yield every row in which each weight is one of `steps`, except the row of all zeros.

    Each array that is yielded contains `n_rows` of these rows; the last one may contain fewer.
    """
    shape = (len(steps),) * n_observed
    for start in range(int(len(steps) > 1), len(steps) ** n_observed, n_rows):
        flat = np.arange(start, min(start + n_rows, len(steps) ** n_observed))
        yield steps[np.stack(np.unravel_index(flat, shape), axis=1)]
