"""Compiled plain sums, which decide every answer; terms are added in the order of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled
from labelgrove.ontology.geometry.kernels.lanes import DOUBLES, Emitter, load, places, read, store

__all__ = ["plain_sums", "sums_of_groups"]

_COLUMNS = 1 << 10  # of which the squared distances of eight groups are held

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
    row: NDArray[Any], factor: Floats, row_at: Integers, factor_at: Integers, n_columns: int, sums: Floats
) -> None:
    # adds to `sums`. Eight plain sums are made side by side, because each addition of a sum waits for the
    # previous one. A plain loop over eight scalar sums took 1.7 to 2.4 times as long (100 and 1,000 columns,
    # float32 and float64)
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
    total = load(sums, 0)
    i = 0
    while i + 8 <= n_columns:
        total = add_columns(total, row, r, factor, f, i)
        i += 8
    store(sums, 0, total)
    for j in range(8):
        for c in range(i, n_columns):
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
        sums[:] = 0.0
        _sum_eight(row, factor, row_at, factor_at, n_observed, sums)
        out[first : first + n] = sums[:n]


@compiled
def _turns(
    v: int,
    meet: float,
    parent: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    depth: Floats,
    stop: Integers,
    turn: Floats,
) -> int:
    # where the paths from a group to the labels turn: at `meet` to the labels at or below its vertex v of the
    # hull, and at the lowest vertex above both to the others. `stop` and `turn` get the end of each range of
    # labels in preorder, and the depth at which their paths turn; returns the index of the first range. The
    # ranges before v are written from the middle of the arrays downwards, those after v upwards
    first = last = len(stop) >> 1
    stop[last] = high[v]
    turn[last] = meet
    while high[v] - low[v] < high[0] - low[0]:
        up = parent[v]
        if low[up] < low[v]:
            first -= 1
            stop[first] = low[v]
            turn[first] = depth[up]
        if high[up] > high[v]:
            last += 1
            stop[last] = high[up]
            turn[last] = depth[up]
        v = up
    return first


@compiled
def _square(
    y: float,
    begin: int,
    end: int,
    at: int,
    stop: Integers,
    turn: Floats,
    label_depth: Floats,
    column: NDArray[np.uint32],
    row: Floats,
) -> int:
    # the squared distances of a group to the labels begin, ..., end - 1 in preorder, as in
    # `RootedTree.distances`; `at` is the range of `begin`, and the range of `end` is returned
    i = begin
    while True:
        until = min(stop[at], end)
        t = turn[at]
        if len(column):
            for j in range(i, until):
                d = (y - t) + (label_depth[j] - t)
                row[column[j]] = d * d
        else:
            depth = label_depth[i:until]
            out = row[i - begin : until - begin]
            for j in range(len(out)):
                d = (y - t) + (depth[j] - t)
                out[j] = d * d
        i = until
        if i == end:
            return at
        at += 1


@compiled
def sums_of_groups(
    rows: NDArray[Any],
    sample: Integers,
    group: Integers,
    by: Integers,
    depth: Floats,
    meet: Floats,
    on: NDArray[np.integer],
    parent: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    hull_depth: Floats,
    steps: int,
    label_depth: Floats,
    column: NDArray[np.uint32],
    out: Floats,
) -> None:
    """Write the plain sum of each given pair of a sample and a group of labels on a tree.

    All labels of a group have the same distances to the observed labels. `by` contains the indices of
    the pairs, sorted by group, so that the distances of each group are measured once.
    """
    # rows (n_samples, n_observed); `by` sorts the pairs by group; depth, meet, on are of each group: the
    # depth of its labels, the depth where the path from them to the hull turns downwards, and the vertex of
    # the hull that they hang on; parent, low, high, hull_depth are of each vertex of the hull, and `steps` is
    # the largest number of edges from vertex 0 down; label_depth and column are of the labels in preorder.
    # `column` is empty if the columns are in preorder: then the columns are summed block after block, so that
    # the squared distances of a block stay in the cache
    n_pairs = len(sample)
    n_observed = rows.shape[1]
    width = n_observed if len(column) else min(n_observed, _COLUMNS)
    row = rows.reshape(-1)
    factor = np.empty((8, width))  # the squared distances of eight groups
    flat = factor.reshape(-1)
    stop = np.empty((8, 2 * steps + 3), np.int64)
    turn = np.empty((8, 2 * steps + 3))
    sums = np.empty(8)
    row_at = np.zeros(8, np.int64)
    factor_at = np.zeros(8, np.int64)
    at = np.zeros(8, np.int64)
    of = np.zeros(8, np.int64)  # the group at each place
    last = 7
    known = -1  # the group at the place `last`
    for first in range(0, n_pairs, 8):
        n = min(8, n_pairs - first)
        n_new = 0
        if width < n_observed:
            known = -1
        for j in range(n):
            pair = by[first + j]
            g = group[pair]
            if g != known:
                known = g
                last = (last + 1) & 7
                of[last] = g
                at[last] = _turns(on[g], meet[g], parent, low, high, hull_depth, stop[last], turn[last])
                n_new += 1
            row_at[j] = sample[pair] * n_observed
            factor_at[j] = last * width
        row_at[n:] = row_at[0]  # lanes without a pair
        factor_at[n:] = factor_at[0]
        sums[:] = 0.0
        for begin in range(0, n_observed, width):
            end = min(begin + width, n_observed)
            for k in range(n_new):
                p = (last - k) & 7
                y = depth[of[p]]
                at[p] = _square(y, begin, end, at[p], stop[p], turn[p], label_depth, column, factor[p])
            _sum_eight(row, flat, row_at, factor_at, end - begin, sums)
            row_at += width
        for j in range(n):
            out[by[first + j]] = sums[j]
