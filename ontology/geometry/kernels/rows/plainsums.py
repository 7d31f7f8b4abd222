"""Compiled plain sums, which decide every answer; terms are added in the order of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled
from labelgrove.ontology.geometry.kernels.lanes import DOUBLES, Emitter, places, read, store, zeros

__all__ = ["plain_sums", "sums_of_groups"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose 8 rows of 8 numbers by exchanging single numbers, then groups of two, then groups of four."""
    for step in (1, 2, 4):
        low = [lane if not lane & step else DOUBLES.width + lane - step for lane in range(DOUBLES.width)]
        high = [lane + step if not lane & step else DOUBLES.width + lane for lane in range(DOUBLES.width)]
        exchanged = list(rows)
        for i in range(DOUBLES.width):
            if not i & step:
                one, other = rows[i], rows[i + step]
                exchanged[i] = builder.shuffle_vector(one, other, places(low))
                exchanged[i + step] = builder.shuffle_vector(one, other, places(high))
        rows = exchanged
    return rows


def _add_columns(_: Any, total: Any, rows: Any, row: Any, squared: Any, which: Any, column: Any) -> Emitter:
    """Add 8 products to each of the 8 running sums in `total`, in the order of the columns.

    A product is a weight times a squared distance in the same column. For sum j, the weights are the 8
    entries of the flat array `rows` from index ``row[j] + column`` on, and the squared distances are the 8
    entries of the flat array `squared` from index ``which[j] + column`` on.
    """

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lanes, products = given[0], []
        for pair in range(DOUBLES.width):
            factors = []
            for kind, array, starts in ((1, given[1], given[2]), (3, given[3], given[4])):
                start = builder.extract_value(starts, pair)
                at = builder.add(start, given[5])
                factors.append(read(context, builder, signature.args[kind], array, at))
            products.append(builder.fmul(*factors))
        for products_of_column in _turned(builder, products):
            lanes = builder.fadd(lanes, products_of_column)
        return lanes

    return DOUBLES(total, rows, row, squared, which, types.int64), emit


add_columns: Any = intrinsic(_add_columns)


@compiled
def _sum_eight(
    row: NDArray[Any], factor: Floats, row_at: Integers, factor_at: Integers, n_observed: int, sums: Floats
) -> None:
    # eight plain sums are made side by side, because each addition of a sum waits for the previous one. A
    # plain loop over eight scalar sums took 1.7 to 2.4 times as long (100 and 1,000 columns, float32 and
    # float64)
    r = (row_at[0], row_at[1], row_at[2], row_at[3], row_at[4], row_at[5], row_at[6], row_at[7])
    f = (
        factor_at[0],
        factor_at[1],
        factor_at[2],
        factor_at[3],
        factor_at[4],
        factor_at[5],
        factor_at[6],
        factor_at[7],
    )
    total = zeros()
    i = 0
    while i + 8 <= n_observed:
        total = add_columns(total, row, r, factor, f, i)
        i += 8
    store(sums, 0, total)
    for j in range(8):
        for c in range(i, n_observed):
            sums[j] += row[row_at[j] + c] * factor[factor_at[j] + c]


@compiled
def plain_sums(
    rows: NDArray[Any],
    squared: Floats,
    sample: Integers,
    which: Integers,
    out: Floats,
) -> None:
    """Write the plain sum of each given pair of a row of weights and a row of squared distances.

    Pair i is row ``sample[i]`` of `rows` (the weights) and row ``which[i]`` of `squared`.
    """
    # rows (n_samples, n_observed), squared (n_rows, n_observed), out (n_pairs,); O(n_observed) for each pair
    n_pairs = len(sample)
    n_observed = rows.shape[1]
    row = rows.reshape(-1)
    factor = squared.reshape(-1)
    sums = np.empty(8)
    row_at = np.zeros(8, np.int64)
    factor_at = np.zeros(8, np.int64)
    for first in range(0, n_pairs, 8):
        n = min(8, n_pairs - first)
        for j in range(n):
            row_at[j] = sample[first + j] * n_observed
            factor_at[j] = which[first + j] * n_observed
        _sum_eight(row, factor, row_at, factor_at, n_observed, sums)
        out[first : first + n] = sums[:n]


@compiled
def _square(
    y: float,
    meet: float,
    low: int,
    high: int,
    label_depth: Floats,
    gap: Floats,
    column: NDArray[np.uint32],
    row: Floats,
) -> None:
    # the squared distances of a group, as in `RootedTree.distances`. The path to the labels low, ..., high -
    # 1 in preorder turns at `meet`; the path to other labels turns where neighboring labels meet, if that is
    # higher
    turn = meet
    for i in range(low, high):
        d = (y - turn) + (label_depth[i] - turn)
        row[column[i]] = d * d
    before = gap[:low][::-1]
    depth = label_depth[:low][::-1]
    to = column[:low][::-1]
    for i in range(low):
        if before[i] < turn:
            turn = before[i]
        d = (y - turn) + (depth[i] - turn)
        row[to[i]] = d * d
    turn = meet
    after = gap[high - 1 :]
    depth = label_depth[high:]
    to = column[high:]
    for i in range(len(to)):
        if after[i] < turn:
            turn = after[i]
        d = (y - turn) + (depth[i] - turn)
        row[to[i]] = d * d


@compiled
def sums_of_groups(
    rows: NDArray[Any],
    sample: Integers,
    group: Integers,
    by: Integers,
    depth: Floats,
    meet: Floats,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    label_depth: Floats,
    gap: Floats,
    column: NDArray[np.uint32],
    out: Floats,
) -> None:
    """Write the plain sum of each given pair of a sample and a group of labels on a tree.

    All labels of a group have the same distances to the observed labels. `by` contains the indices of
    the pairs, sorted by group, so that the distances of each group are measured once.
    """
    # rows (n_samples, n_observed); `by` sorts the pairs by group; depth, meet, low, high are of each group;
    # label_depth and column are of the labels in preorder; gap (n_observed - 1,) is the depth where neighbors
    # meet
    n_pairs = len(sample)
    n_observed = rows.shape[1]
    row = rows.reshape(-1)
    factor = np.empty((8, n_observed))  # the squared distances of the last eight groups
    flat = factor.reshape(-1)
    sums = np.empty(8)
    row_at = np.zeros(8, np.int64)
    factor_at = np.zeros(8, np.int64)
    last = -1
    place = 7
    for first in range(0, n_pairs, 8):
        n = min(8, n_pairs - first)
        for j in range(n):
            pair = by[first + j]
            g = group[pair]
            if g != last:
                last = g
                place = (place + 1) & 7
                _square(depth[g], meet[g], low[g], high[g], label_depth, gap, column, factor[place])
            row_at[j] = sample[pair] * n_observed
            factor_at[j] = place * n_observed
        _sum_eight(row, flat, row_at, factor_at, n_observed, sums)
        for j in range(n):
            out[by[first + j]] = sums[j]
