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
from labelgrove.ontology.geometry.kernels.lanes import (
    add,
    any_negative,
    fetch,
    gather,
    lesser,
    load,
    multiply,
    store,
    zeros,
)

__all__ = [
    "EDGE",
    "LIMB",
    "NODE",
    "STRANDS",
    "VERTEX",
    "Tables",
    "find_finalists",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = NDArray[np.void]

STRANDS = 16
_AHEAD = 2  # number of rows between reading and prefetching


def _record(floats: str, integers: str) -> np.dtype[np.void]:
    """Return a structured dtype with the named float64 and int32 fields, which are adjacent in memory."""
    return np.dtype(
        [(name, np.float64) for name in floats.split()] + [(name, np.int32) for name in integers.split()],
        align=True,
    )


NODE = _record("depth", "begin end chain_last")
"""A node of the skeleton: its depth, the range of its limbs and the last vertex of its chain."""

LIMB = _record("length", "low high node chain_first chain_last")
"""The path from a node of the skeleton to a node below it, and the vertices of the hull on this path."""

VERTEX = _record("depth length nearest above", "parent low high begin end group group_end")
"""A vertex of the hull, the edge to its parent, its edges downwards and the groups that hang on it."""

EDGE = _record("length below", "low high vertex")
"""The edge from a vertex of the hull to a vertex below it."""


class Tables(NamedTuple):
    """The arrays that a search reads: the tree, its observed labels and its groups of labels.

    `Skeleton`, `Hull` and `Hanging` explain the fields that are not explained here.

    The observed labels, in preorder, are cut into 16 *strands* of equal length. `order` contains the columns
    of the labels and `label_depth` their depths; label i of each strand s is at index ``16 i + s`` of both.
    So the running sums of all strands are computed side by side. To fill the strands, at least one entry of 0
    is added to both arrays after the last label; `end` is the index of the first added entry. The fields
    `low` and `high` of `LIMB`, `VERTEX` and `EDGE` are indices of this kind too.
    """

    order: NDArray[np.uint32]
    label_depth: Floats
    end: int
    node: Records
    limb: Records
    chain_depth: Floats
    vertex: Records
    edge: Records
    height: Floats
    first: NDArray[np.int32]


@compiled
def _run(
    row: NDArray[Any],
    order: NDArray[np.uint32],
    depth: Floats,
    weight: Floats,
    moment: Floats,
    weight_before: Floats,
    moment_before: Floats,
) -> bool:
    # row (n_observed,) -> weight and moment of the labels before each label in its strand, and before each
    # strand; returns whether an entry is negative. With plain loops instead of lanes and prefetching, the
    # search took 1.0 to 1.2 times as long for 100 observed labels, 1.7 to 2.0 times for 1,000
    w0 = zeros()
    w1 = zeros()
    q0 = zeros()
    q1 = zeros()
    least = zeros()
    for at in range(0, len(order), 16):
        store(weight, at, w0)
        store(weight, at + 8, w1)
        store(moment, at, q0)
        store(moment, at + 8, q1)
        x0 = gather(row, order, at)
        x1 = gather(row, order, at + 8)
        least = lesser(lesser(x0, x1), least)
        w0 = add(w0, x0)
        w1 = add(w1, x1)
        q0 = add(q0, multiply(x0, load(depth, at)))
        q1 = add(q1, multiply(x1, load(depth, at + 8)))
    store(weight_before, 0, w0)
    store(weight_before, 8, w1)
    store(moment_before, 0, q0)
    store(moment_before, 8, q1)
    w = 0.0
    q = 0.0
    for strand in range(16):
        next_w = w + weight_before[strand]
        next_q = q + moment_before[strand]
        weight_before[strand] = w
        moment_before[strand] = q
        w = next_w
        q = next_q
    return bool(any_negative(least))


@compiled
def _before(
    place: int, weight: Floats, moment: Floats, weight_before: Floats, moment_before: Floats
) -> tuple[float, float]:
    # weight and moment of the labels before the label at a place
    strand = place & 15
    return weight_before[strand] + weight[place], moment_before[strand] + moment[place]


@compiled
def _descend(
    tables: Tables,
    weight: Floats,
    moment: Floats,
    weight_before: Floats,
    moment_before: Floats,
    total: float,
    total_moment: float,
) -> tuple[int, float]:
    # the lowest vertex of the hull and the moment about it; a few running sums for each skeleton node on the
    # way
    node = 0
    about = total_moment
    start_w = 0.0
    start_q = 0.0
    end_w = total
    end_q = total_moment
    while tables.node[node].begin < tables.node[node].end:
        here = tables.node[node]
        z = here.depth
        half = 0.5 * ((end_q - start_q) - z * (end_w - start_w))
        first = here.begin
        last = here.end - 1
        while first < last:
            middle = (first + last + 1) >> 1
            w, q = _before(tables.limb[middle].low, weight, moment, weight_before, moment_before)
            if (q - start_q) - z * (w - start_w) > half:
                last = middle - 1
            else:
                first = middle
        limb = tables.limb[first]
        start_w, start_q = _before(limb.low, weight, moment, weight_before, moment_before)
        end_w, end_q = _before(limb.high, weight, moment, weight_before, moment_before)
        share = end_w - start_w
        pull = (end_q - start_q) - z * share
        t = (2 * pull - about) / total
        if t <= 0.0:
            break
        if t >= limb.length:
            about += limb.length * (total - 2 * share)
            node = limb.node
            continue
        low = limb.chain_first
        high = limb.chain_last
        while low < high:  # the first vertex of the chain at or below the lowest point
            middle = (low + high) >> 1
            if tables.chain_depth[middle] >= z + t:
                high = middle
            else:
                low = middle + 1
        vertex = low
        upper = here.chain_last if low == limb.chain_first else low - 1
        if tables.chain_depth[low] - (z + t) >= (z + t) - tables.chain_depth[upper]:
            vertex = upper
        return vertex, about + (tables.chain_depth[vertex] - z) * (total - 2 * share)
    return tables.node[node].chain_last, about


@compiled
def find_finalists(
    rows: NDArray[Any],
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

    The finalists are written as pairs of a sample and a group of labels. Returns the number of pairs, or -1
    if there is no room for them.
    """
    # rows (n_samples, n_observed), totals: smallest and largest allowed, total (n_samples,), pairs sorted by
    # sample O(n_observed) for each sample, and two running sums for each child of a vertex visited
    n_hull = len(tables.vertex)
    weight = np.empty(len(tables.order))
    moment = np.empty(len(tables.order))
    weight_before = np.empty(16)
    moment_before = np.empty(16)
    vertex = np.empty(n_hull, np.int64)  # every pushed vertex, by number
    before = np.empty(n_hull, np.int64)
    value = np.empty(n_hull)
    mean = np.empty(n_hull)
    keys = np.empty(n_hull)  # a heap of them, lowest bound first
    items = np.empty(n_hull, np.int64)
    visited = np.empty(n_hull, np.int64)
    pool = np.empty(top + 2)  # a heap of negated upper bounds of the lowest groups, enough for `top` labels
    pool_count = np.empty(top + 2, np.int64)
    n_pairs = 0
    n_observed = rows.shape[1]
    flat = rows.reshape(-1)
    for sample in range(len(rows)):
        for i in range(0, n_observed, 16):  # columns are in any order, which no processor predicts
            fetch(flat, (sample + _AHEAD) * n_observed + i)
        negative = _run(
            rows[sample], tables.order, tables.label_depth, weight, moment, weight_before, moment_before
        )
        w, q = _before(tables.end, weight, moment, weight_before, moment_before)
        if negative:
            w = np.nan
        total[sample] = w
        if not (w >= totals[0] and w <= totals[1]):  # the caller refuses the row
            continue
        v, about = _descend(tables, weight, moment, weight_before, moment_before, w, q)
        unit = 1 / w
        vertex[0] = v
        before[0] = -1
        value[0] = 0.0
        mean[0] = max(about * unit, 0.0)
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
            visited[n_visited] = item
            n_visited += 1
            v = vertex[item]
            here = tables.vertex[v]
            f = value[item]
            s = mean[item]
            if top == 1:
                r = here.nearest
                bound = min(bound, f + r * (2 * s + r * (1 + margin)) + room)
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
            z = here.depth
            up = here.parent
            if v > 0 and up != before[item] and here.above < np.inf:
                w0, q0 = _before(here.low, weight, moment, weight_before, moment_before)
                w1, q1 = _before(here.high, weight, moment, weight_before, moment_before)
                share = (w1 - w0) * unit
                slope = 4 * ((q1 - q0) * unit - z * share) - 2 * s
                length = here.length
                f_up = f + length * (slope + length)
                r = here.above
                s_up = max(s - length * (1 - 2 * share), 0.0)
                if top == 1:  # the nearest label on this path is not above this
                    bound = min(bound, f_up + r * (2 * s_up + r * (1 + margin)) + room)
                key = f_up + r * (max(slope + 2 * length, 0.0) + r * (1 - margin)) - room
                if key <= bound:
                    vertex[n_pushed] = up
                    before[n_pushed] = v
                    value[n_pushed] = f_up
                    mean[n_pushed] = s_up
                    push(keys, items, n_open, key, n_pushed)
                    n_pushed += 1
                    n_open += 1
            for e in range(here.begin, here.end):
                edge = tables.edge[e]
                if edge.vertex == before[item] or edge.below == np.inf:
                    continue
                length = edge.length
                r = edge.below
                w0, q0 = _before(edge.low, weight, moment, weight_before, moment_before)
                w1, q1 = _before(edge.high, weight, moment, weight_before, moment_before)
                share = (w1 - w0) * unit
                slope = 2 * s - 4 * ((q1 - q0) * unit - z * share)
                f_down = f + length * (slope + length)
                s_down = max(s + length * (1 - 2 * share), 0.0)
                if top == 1:
                    bound = min(bound, f_down + r * (2 * s_down + r * (1 + margin)) + room)
                key = f_down + r * (max(slope + 2 * length, 0.0) + r * (1 - margin)) - room
                if key <= bound:
                    vertex[n_pushed] = edge.vertex
                    before[n_pushed] = v
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
