"""Compiled scoring on trees: the search for finalists.

`ontology.geometry.scoring.restricted.numpysearch` explains the search and implements it in numpy. Here the
search runs for one sample after another. It always visits next the vertex with the smallest lower bound on
the Fréchet variances of the labels ahead. The search only finds the finalists; their plain sums decide which
labels are returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.heap import pop, push
from labelgrove.ontology.geometry.kernels.jit import compiled
from labelgrove.ontology.geometry.kernels.trees.lowestvertex import Descent, descend
from labelgrove.ontology.geometry.kernels.trees.runningsums import (
    CLEAR,
    REFUSED,
    ROWS,
    STRIDE,
    before,
    read_rows,
    sum_rows,
)

__all__ = ["EDGE", "VERTEX", "Tables", "find_finalists"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = NDArray[np.void]

_FEW = 8  # up to so many edges are looked at one by one


def _record(floats: str, integers: str) -> np.dtype[np.void]:
    """Return a structured dtype with the named float64 and int32 fields, which are adjacent in memory."""
    return np.dtype(
        [(name, np.float64) for name in floats.split()] + [(name, np.int32) for name in integers.split()],
        align=True,
    )


VERTEX = _record("depth length nearest above through", "parent low high begin end group group_end")
"""A vertex of the hull, the edge to its parent, its edges downwards and the groups that hang on it.

`through` is the distance to the nearest label that hangs on a hull vertex below it.
"""

EDGE = _record("length below", "low high vertex")
"""The edge from a vertex of the hull to a vertex below it."""


class Tables(NamedTuple):
    """The arrays that a search reads beside those of the descent: the hull and the groups of labels on it.

    `Hull` and `Hanging` explain the fields that are not explained here.
    """

    vertex: Records
    edge: Records
    height: Floats
    first: NDArray[np.int32]


@compiled
def find_finalists(
    rows: NDArray[Any],
    descent: Descent,
    tables: Tables,
    margin: float,
    room: float,
    top: int,
    totals: tuple[float, float],
    total: Floats,
    pair_sample: Integers,
    pair_group: Integers,
) -> int:
    """Write the finalists of each row of weights, and the total weight of the row.

    The finalists are written as pairs of a sample and a group of labels, sorted by sample. Returns the number
    of pairs, or -1 if there is no room for them. The total of a row with a negative weight is NaN.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_observed), dtype=float32 or float64
        Weights, C-contiguous.
    descent, tables
        Tables of the observed labels and of the labels that may be answers.
    margin, room : float
        The rounding error of F / W at height h is at most ``margin * h^2 + room``.
    top : int
        Number of labels requested for each sample.
    totals : tuple of float
        Smallest and largest total weight that a row may have; other rows are not searched.
    total : ndarray of shape (n_samples,)
    pair_sample, pair_group : ndarray of int64
        Where to write.

    Notes
    -----
    O(n_observed) for each sample, and two running sums for each child of a vertex visited. Of many children,
    only those that may lead to a finalist are looked at: a range of children is left out if a child with the
    whole pull of the range, and the shortest way to a label, could not lead to one; otherwise it is halved.
    """
    n_samples, n_observed = rows.shape
    columns, depth = descent.columns, descent.depth
    n_full = n_observed // STRIDE * STRIDE
    flat = rows.reshape(-1)
    n_rows = min(ROWS, n_samples)
    rest = np.zeros((n_rows, STRIDE), rows.dtype)
    gathered = len(columns) > 0
    step = n_full if gathered else n_observed
    held = np.empty(n_rows * n_full if gathered else 0, rows.dtype)
    data = held if gathered else flat
    weight = np.empty((n_rows, n_full // 32 + 8))
    moment = np.empty((n_rows, n_full // 32 + 8))
    sums = np.empty((n_rows, 2))
    mark = np.empty(n_rows, np.int64)
    place = np.empty(n_rows, np.int64)
    about = np.empty(n_rows)
    most = 3 * len(tables.vertex)
    # of every pushed item: a vertex to visit, or the parent of a range of edges
    vertex = np.empty(most, np.int64)
    came_from = np.empty(most, np.int64)
    begin_of = np.empty(most, np.int64)  # the range of edges; empty for a vertex to visit
    end_of = np.empty(most, np.int64)
    value = np.empty(most)
    mean = np.empty(most)
    keys = np.empty(most)  # a heap of them, lowest bound first
    items = np.empty(most, np.int64)
    visited = np.empty(len(tables.vertex), np.int64)
    pool = np.empty(top + 2)  # a heap of negated upper bounds of the lowest groups, enough for `top` labels
    pool_count = np.empty(top + 2, np.int64)
    n_pairs = 0
    for sample in range(n_samples):
        r = sample % ROWS
        if r == 0:
            end = min(sample + ROWS, n_samples)
            first = 0 if gathered else sample * n_observed
            marks = mark[: end - sample]
            read_rows(rows, sample, end, columns, held, rest)
            sum_rows(data, first, step, rest, depth, weight, moment, totals, sums, marks)
            for i in range(len(marks)):
                w = sums[i, 0]
                if marks[i] == REFUSED and w >= totals[0] and w <= totals[1]:
                    if rows[sample + i].min() >= 0:  # the sign of a negative zero is no fault
                        marks[i] = CLEAR
                    else:
                        sums[i, 0] = np.nan
            descend(
                data, first, step, rest, depth, weight, moment, sums,
                descent.node, descent.node_depth, descent.chain_depth, 0.0, 0.0, place, marks, about,
            )  # fmt: skip
        total[sample] = sums[r, 0]
        if mark[r] == REFUSED:  # the caller refuses the row
            continue
        data_of = (data, rest)
        start = (first + r * step, r * STRIDE - n_full)
        at = r * weight.shape[1]
        w = sums[r, 0]
        unit = 1 / w
        vertex[0] = place[r]
        came_from[0] = -1
        begin_of[0] = 0
        end_of[0] = 0
        value[0] = 0.0
        mean[0] = max(about[r] * unit, 0.0)
        n_pushed = 1
        keys[0] = -np.inf
        items[0] = 0
        n_open = 1
        n_visited = 0
        n_pool = 0
        n_held = 0
        bound = np.inf  # upper bound of the `top` best values
        while n_open > 0 and keys[0] <= bound:
            item = items[0]
            pop(keys, items, n_open)
            n_open -= 1
            v = vertex[item]
            here = tables.vertex[v]
            f = value[item]
            s = mean[item]
            z = here.depth
            e0 = begin_of[item]
            e1 = end_of[item]
            if e0 == e1:
                visited[n_visited] = item
                n_visited += 1
                if top == 1:
                    h = here.nearest
                    bound = min(bound, f + h * (2 * s + h * (1 + margin)) + room)
                else:
                    for g in range(here.group, here.group_end):
                        h = tables.height[g]
                        upper = f + h * (2 * s + h * (1 + margin)) + room
                        if upper >= bound:
                            break
                        push(pool, pool_count, n_pool, -upper, tables.first[g + 1] - tables.first[g])
                        n_held += tables.first[g + 1] - tables.first[g]
                        n_pool += 1
                        while n_held - pool_count[0] >= top:
                            n_held -= pool_count[0]
                            pop(pool, pool_count, n_pool)
                            n_pool -= 1
                        if n_held >= top:
                            bound = -pool[0]
                up = here.parent
                if v > 0 and up != came_from[item] and here.above < np.inf:
                    w0, q0 = before(here.low, n_full, data_of, start, depth, weight, moment, at)
                    w1, q1 = before(here.high, n_full, data_of, start, depth, weight, moment, at)
                    share = (w1 - w0) * unit
                    slope = 4 * ((q1 - q0) * unit - z * share) - 2 * s
                    length = here.length
                    f_up = f + length * (slope + length)
                    h = here.above
                    s_up = max(s - length * (1 - 2 * share), 0.0)
                    if top == 1:  # the nearest label on this path is not above this
                        bound = min(bound, f_up + h * (2 * s_up + h * (1 + margin)) + room)
                    key = f_up + h * (max(slope + 2 * length, 0.0) + h * (1 - margin)) - room
                    if key <= bound:
                        vertex[n_pushed] = up
                        came_from[n_pushed] = v
                        begin_of[n_pushed] = 0
                        end_of[n_pushed] = 0
                        value[n_pushed] = f_up
                        mean[n_pushed] = s_up
                        push(keys, items, n_open, key, n_pushed)
                        n_pushed += 1
                        n_open += 1
                e0 = np.int64(here.begin)
                e1 = np.int64(here.end)
            if e0 == e1 or here.through == np.inf:
                continue
            w0, q0 = before(tables.edge[e0].low, n_full, data_of, start, depth, weight, moment, at)
            if e1 - e0 > _FEW:
                h = here.through
                middle = (e0 + e1) >> 1
                for stop in (middle, e1):
                    w1, q1 = before(
                        tables.edge[stop - 1].high, n_full, data_of, start, depth, weight, moment, at
                    )
                    slope = 2 * s - 4 * ((q1 - q0) * unit - z * ((w1 - w0) * unit))
                    if came_from[item] >= 0:
                        slope = max(slope, 0.0)  # F never falls on the way from the lowest vertex
                    key = -np.inf
                    if slope + 2 * h >= 0:  # else a label farther away may be better
                        key = f + h * (slope + h * (1 - margin)) - room
                    if key <= bound:
                        vertex[n_pushed] = v
                        came_from[n_pushed] = came_from[item]
                        begin_of[n_pushed] = e0
                        end_of[n_pushed] = stop
                        value[n_pushed] = f
                        mean[n_pushed] = s
                        push(keys, items, n_open, key, n_pushed)
                        n_pushed += 1
                        n_open += 1
                    e0 = stop
                    w0 = w1
                    q0 = q1
                continue
            for e in range(e0, e1):
                edge = tables.edge[e]
                w1, q1 = before(edge.high, n_full, data_of, start, depth, weight, moment, at)
                share = (w1 - w0) * unit
                pull = (q1 - q0) * unit - z * share
                w0 = w1  # the labels of each edge follow those of the one before
                q0 = q1
                if edge.vertex == came_from[item] or edge.below == np.inf:
                    continue
                length = edge.length
                h = edge.below
                slope = 2 * s - 4 * pull
                f_down = f + length * (slope + length)
                s_down = max(s + length * (1 - 2 * share), 0.0)
                if top == 1:
                    bound = min(bound, f_down + h * (2 * s_down + h * (1 + margin)) + room)
                key = f_down + h * (max(slope + 2 * length, 0.0) + h * (1 - margin)) - room
                if key <= bound:
                    vertex[n_pushed] = edge.vertex
                    came_from[n_pushed] = v
                    begin_of[n_pushed] = 0
                    end_of[n_pushed] = 0
                    value[n_pushed] = f_down
                    mean[n_pushed] = s_down
                    push(keys, items, n_open, key, n_pushed)
                    n_pushed += 1
                    n_open += 1
        for i in range(n_visited):
            item = visited[i]
            for g in range(tables.vertex[vertex[item]].group, tables.vertex[vertex[item]].group_end):
                h = tables.height[g]
                if value[item] + h * (2 * mean[item] + h * (1 - margin)) - room > bound:
                    break
                if n_pairs == len(pair_group):
                    return -1
                pair_sample[n_pairs] = sample
                pair_group[n_pairs] = g
                n_pairs += 1
    return n_pairs
