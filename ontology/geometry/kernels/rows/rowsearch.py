"""Compiled search for the best rows of distances, from groups of rows down to single rows.

`ontology.geometry.scoring.rows.rowtree` explains the search. Here the search runs for one sample after
another. It always continues in the group whose lower bound on the weighted sums of its rows is the smallest.
Sums are computed in float32, in any order of the columns. These sums only rule out rows; they do not decide
which row is best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.heap import pop, push
from labelgrove.ontology.geometry.kernels.jit import compiled, compiled_sum

__all__ = ["FULL", "WIDE", "find_rows"]

FULL, WIDE = -1, -2
"""Results of `find_rows`: there is no more room for pairs; the groups rule out too few rows."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled_sum
def _value(share: NDArray[np.float32], items: NDArray[Any], start: np.uint64) -> float:
    # the sum of squared distances of the item at `start`, each times its share; unsigned places are never
    # counted from the end
    total = np.float32(0)
    for i in range(np.uint64(len(share))):
        away = np.float32(items[start + i])
        total += share[i] * (away * away)
    return np.float64(total)


@compiled
def find_rows(
    shares: NDArray[np.float32],
    items: NDArray[Any],
    begin: Integers,
    relative: float,
    absolute: float,
    tolerance: float,
    top: int,
    most_values: int,
    pair_sample: Integers,
    pair_row: Integers,
) -> int:
    """Write the finalists, as pairs of a sample and a row; return their number, or `FULL` or `WIDE`.

    The finalists of a sample include its `top` best rows and all rows tied with these. `FULL` means that
    the arrays have no room for all pairs. `WIDE` means that the search has computed more than `most_values`
    sums and is not done, because the groups of rows rule out too few rows.
    """
    # shares (n_samples, n_observed); items: the groups of a RowTree, then its rows, one after the other;
    # begin: where the items of each group begin. The error of a value is at most `relative` times the value
    # plus `absolute`; `tolerance` is the factor of the tie rule
    n_samples, n_observed = shares.shape
    n_groups = len(begin) - 1
    n_roots = begin[0]
    n_items = len(items) // n_observed
    keys = np.empty(n_groups)  # a heap of open groups, lowest bound first
    held = np.empty(n_groups, np.int64)
    found = np.empty(n_items - n_groups, np.int64)  # rows that were not ruled out when they were reached
    least = np.empty(n_items - n_groups)
    best = np.empty(top)  # upper bounds of the lowest values, ascending
    n_pairs = 0
    n_values = 0
    for sample in range(n_samples):
        share = shares[sample]
        best[:] = np.inf
        limit = np.inf
        n_open = 0
        n_found = 0
        first = 0
        last = n_roots
        while True:
            n_values += last - first
            for item in range(first, last):
                value = _value(share, items, np.uint64(item * n_observed))
                low = (value - absolute) / (1 + relative)
                if low > limit:
                    continue
                if item < n_groups:
                    push(keys, held, n_open, low, item)
                    n_open += 1
                    continue
                found[n_found] = item - n_groups
                least[n_found] = low
                n_found += 1
                high = (value + absolute) / (1 - relative)
                if high < best[top - 1]:
                    at = top - 1
                    while at > 0 and best[at - 1] > high:
                        best[at] = best[at - 1]
                        at -= 1
                    best[at] = high
                    limit = best[top - 1] * tolerance
            if n_open == 0 or keys[0] > limit:
                break
            if n_values > most_values:
                return WIDE
            first = begin[held[0]]
            last = begin[held[0] + 1]
            pop(keys, held, n_open)
            n_open -= 1
        for at in range(n_found):
            if least[at] <= limit:
                if n_pairs == len(pair_row):
                    return FULL
                pair_sample[n_pairs] = sample
                pair_row[n_pairs] = found[at]
                n_pairs += 1
    return n_pairs
