"""Compiled search for the best rows of distances, from groups of rows to the rows themselves.

`ontology.geometry.scoring.rows.rowtree` explains the search. Each sample walks on its own, lowest bound
first. Sums are taken in float32, sixteen columns side by side, and only filter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.heap import pop, push
from labelgrove.ontology.geometry.kernels.jit import compiled
from labelgrove.ontology.geometry.kernels.lanes import SINGLES, Emitter, places, read

__all__ = ["FULL", "WIDE", "find_rows"]

FULL, WIDE = -1, -2
"""What is returned where room for pairs ran out, and where the groups rule out too little."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _none(_: Any) -> Emitter:
    """Return 0 sixteen times."""

    def emit(_: Any, __: Any, ___: Any, ____: Any) -> Any:
        return ir.Constant(SINGLES.vector, [0.0] * SINGLES.width)

    return SINGLES(), emit


def _add_squares(_: Any, total: Any, share: Any, i: Any, rows: Any, at: Any) -> Emitter:
    """Add ``share[i + j] * rows[at + j] ** 2`` to lane j of `total`."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        factor = read(context, builder, signature.args[1], given[1], given[2], SINGLES)
        away = read(context, builder, signature.args[3], given[3], given[4], SINGLES)
        return builder.fadd(given[0], builder.fmul(factor, builder.fmul(away, away)))

    return SINGLES(total, share, types.int64, rows, types.int64), emit


def _sum_of_all(_: Any, one: Any, other: Any) -> Emitter:
    """Add up the lanes of both, by halves."""

    def emit(_: Any, builder: Any, __: Any, given: Any) -> Any:
        lanes = builder.fadd(*given)
        width = SINGLES.width
        while width > 1:
            width //= 2
            low = builder.shuffle_vector(lanes, lanes, places(list(range(width))))
            high = builder.shuffle_vector(lanes, lanes, places(list(range(width, 2 * width))))
            lanes = builder.fadd(low, high)
        return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))

    return types.float32(one, other), emit


none: Any = intrinsic(_none)
add_squares: Any = intrinsic(_add_squares)
sum_of_all: Any = intrinsic(_sum_of_all)


@compiled
def _value(share: NDArray[np.float32], items: NDArray[Any], start: int, n_observed: int) -> float:
    # the sum of squared distances of the item that starts there, each times its share
    even = none()
    odd = none()
    i = 0
    while i + 32 <= n_observed:
        even = add_squares(even, share, i, items, start + i)
        odd = add_squares(odd, share, i + 16, items, start + i + 16)
        i += 32
    if i + 16 <= n_observed:
        even = add_squares(even, share, i, items, start + i)
        i += 16
    total = sum_of_all(even, odd)
    while i < n_observed:
        away = np.float32(items[start + i])
        total += share[i] * (away * away)
        i += 1
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
    """Write the rows that may be among the `top` of each sample, or tied; return their number, or why not."""
    # shares (n_samples, n_observed); items: the groups of a RowTree, then its rows, one after the other;
    # begin: where the items of each group begin. A value is off by a share `relative` of itself and by
    # `absolute` at most; `tolerance` is the factor of the tie rule
    n_samples, n_observed = shares.shape
    n_groups = len(begin) - 1
    n_roots = begin[0]
    n_items = len(items) // n_observed
    keys = np.empty(n_groups)  # a heap of open groups, lowest bound first
    held = np.empty(n_groups, np.int64)
    found = np.empty(n_items - n_groups, np.int64)  # rows that were not ruled out when they were met
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
                value = _value(share, items, item * n_observed, n_observed)
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
