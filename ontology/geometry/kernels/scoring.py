"""Compiled scoring on trees: the search for finalists, their rows of distances, and plain sums.

`ontology.geometry.scoring.treesearch` explains the search and has it in numpy. Here each sample walks on its
own, best bound first. Nothing is decided by what these loops compute but the plain sums, which are added up
in the same order everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.kernels.jit import compiled

__all__ = ["LARGEST_TOTAL", "SMALLEST_TOTAL", "Tables", "find_finalists", "plain_sums", "squared_rows"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STRETCH = 128
SMALLEST_TOTAL, LARGEST_TOTAL = 1e-150, 1e150  # other rows are refused by the caller


class Tables(NamedTuple):
    """Everything a walk reads; names as in `Skeleton`, `Hull` and `Hanging`, where `group` is `begin`.

    Labels stand in preorder, in blocks of 8: `order` and `label_depth` hold the column and the depth of label
    ``8 b + j`` at ``j * n_blocks + b``, so that the sums of all blocks run side by side. Padded with 0.
    """

    order: NDArray[np.uint32]
    label_depth: Floats
    node_depth: Floats
    node_length: Floats
    node_low: Integers
    node_high: Integers
    node_begin: Integers
    node_child: Integers
    chain_first: Integers
    chain_last: Integers
    depth: Floats
    parent: Integers
    low: Integers
    high: Integers
    begin: Integers
    child: Integers
    group: Integers
    height: Floats
    first: Integers
    nearest: Floats
    below: Floats
    above: Floats


@compiled
def _sum_blocks(
    row: NDArray[Any], order: NDArray[np.uint32], depth: Floats, held: Floats, weight: Floats, moment: Floats
) -> tuple[float, float]:
    # row (n_observed,) -> the last three, as in Sums; returns the weight and moment of all labels,
    # not numbers where one is negative
    # (slices and unsigned numbers need no check for a negative index: that lets the loops use vectors)
    n_blocks = len(weight)
    n_observed = len(row)
    weight[:] = 0.0
    moment[:] = 0.0
    negative = False
    for j in range(8):
        part = slice(j * n_blocks, (j + 1) * n_blocks)
        values = held[part]
        columns = order[part]
        depths = depth[part]
        for b in range((n_observed - j + 7) // 8):
            values[b] = row[columns[b]]
        for b in range(n_blocks):
            x = values[b]
            negative |= x < 0
            weight[b] += x
            moment[b] += x * depths[b]
    if negative:
        return np.nan, np.nan
    w = 0.0
    q = 0.0
    for b in range(n_blocks):
        next_w = w + weight[b]
        next_q = q + moment[b]
        weight[b] = w
        moment[b] = q
        w = next_w
        q = next_q
    return w, q


@compiled
def _before(k: int, depth: Floats, held: Floats, weight: Floats, moment: Floats) -> tuple[float, float]:
    # weight and moment of the first k labels in preorder
    n_blocks = len(weight)
    b = k >> 3
    w = weight[b]
    q = moment[b]
    for j in range(k & 7):
        x = held[j * n_blocks + b]
        w += x
        q += x * depth[j * n_blocks + b]
    return w, q


@compiled
def _descend(
    tables: Tables, held: Floats, weight: Floats, moment: Floats, total: float, total_moment: float
) -> tuple[int, float]:
    # the lowest vertex of the hull and the moment about it; a few running sums for each skeleton node passed
    node = 0
    about = total_moment
    start_w = 0.0
    start_q = 0.0
    end_w = total
    end_q = total_moment
    while tables.node_begin[node] < tables.node_begin[node + 1]:
        z = tables.node_depth[node]
        half = 0.5 * ((end_q - start_q) - z * (end_w - start_w))
        first = tables.node_begin[node]
        last = tables.node_begin[node + 1] - 1
        while first < last:
            middle = (first + last + 1) >> 1
            w, q = _before(
                tables.node_low[tables.node_child[middle]], tables.label_depth, held, weight, moment
            )
            if (q - start_q) - z * (w - start_w) > half:
                last = middle - 1
            else:
                first = middle
        c = tables.node_child[first]
        start_w, start_q = _before(tables.node_low[c], tables.label_depth, held, weight, moment)
        end_w, end_q = _before(tables.node_high[c], tables.label_depth, held, weight, moment)
        share = end_w - start_w
        pull = (end_q - start_q) - z * share
        t = (2 * pull - about) / total
        if t <= 0.0:
            break
        if t >= tables.node_length[c]:
            about += tables.node_length[c] * (total - 2 * share)
            node = c
            continue
        low = tables.chain_first[c]
        high = tables.chain_last[c]
        while low < high:  # the first vertex of the chain at or below the lowest point
            middle = (low + high) >> 1
            if tables.depth[middle] >= z + t:
                high = middle
            else:
                low = middle + 1
        vertex = low
        upper = tables.chain_last[node] if low == tables.chain_first[c] else low - 1
        if tables.depth[low] - (z + t) >= (z + t) - tables.depth[upper]:
            vertex = upper
        return vertex, about + (tables.depth[vertex] - z) * (total - 2 * share)
    return tables.chain_last[node], about


@compiled
def _push(keys: Floats, items: Integers, size: int, key: float, item: int) -> None:
    # into a binary heap, smallest key first
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        items[at] = items[up]
        at = up
    keys[at] = key
    items[at] = item


@compiled
def _pop(keys: Floats, items: Integers, size: int) -> None:
    # takes the first of `size` entries away
    key = keys[size - 1]
    item = items[size - 1]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size - 1:
            break
        if down + 1 < size - 1 and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[at] = keys[down]
        items[at] = items[down]
        at = down
    keys[at] = key
    items[at] = item


@compiled
def find_finalists(
    rows: NDArray[Any],
    tables: Tables,
    margin: float,
    room: float,
    top: int,
    total: Floats,
    pair_sample: Integers,
    pair_group: Integers,
) -> int:
    """Write the finalists of each row and its total weight; return their number, -1 where room ran out."""
    # rows (n_samples, n_observed), total (n_samples,), pairs sorted by sample. O(n_observed) for each sample,
    # and some running sums for each child of a vertex visited
    n_blocks = len(tables.order) // 8
    n_hull = len(tables.depth)
    held = np.zeros(8 * n_blocks)
    weight = np.empty(n_blocks)
    moment = np.empty(n_blocks)
    vertex = np.empty(n_hull, np.int64)  # every vertex pushed, by number
    before = np.empty(n_hull, np.int64)
    value = np.empty(n_hull)
    mean = np.empty(n_hull)
    keys = np.empty(n_hull)  # a heap of them, lowest bound first
    items = np.empty(n_hull, np.int64)
    visited = np.empty(n_hull, np.int64)
    pool = np.empty(top + 2)  # a heap of minus the upper bounds of the lowest groups, enough for `top` labels
    pool_count = np.empty(top + 2, np.int64)
    n_pairs = 0
    for sample in range(len(rows)):
        w, q = _sum_blocks(rows[sample], tables.order, tables.label_depth, held, weight, moment)
        total[sample] = w
        if not (w >= SMALLEST_TOTAL and w <= LARGEST_TOTAL):
            continue
        v, about = _descend(tables, held, weight, moment, w, q)
        vertex[0] = v
        before[0] = -1
        value[0] = 0.0
        mean[0] = max(about / w, 0.0)
        n_pushed = 1
        keys[0] = -np.inf
        items[0] = 0
        n_open = 1
        n_visited = 0
        n_pool = 0
        n_held = 0
        bound = np.inf  # the `top` best labels are no higher
        while n_open > 0 and keys[0] <= bound:
            item = items[0]
            _pop(keys, items, n_open)
            n_open -= 1
            visited[n_visited] = item
            n_visited += 1
            v = vertex[item]
            f = value[item]
            s = mean[item]
            if top == 1:
                r = tables.nearest[v]
                bound = min(bound, f + r * (2 * s + r * (1 + margin)) + room)
            else:
                for g in range(tables.group[v], tables.group[v + 1]):
                    h = tables.height[g]
                    upper = f + h * (2 * s + h * (1 + margin)) + room
                    if upper >= bound:
                        break
                    _push(pool, pool_count, n_pool, -upper, tables.first[g + 1] - tables.first[g])
                    n_held += tables.first[g + 1] - tables.first[g]
                    n_pool += 1
                    while n_held - pool_count[0] >= top:
                        n_held -= pool_count[0]
                        _pop(pool, pool_count, n_pool)
                        n_pool -= 1
                    if n_held >= top:
                        bound = -pool[0]
            z = tables.depth[v]
            up = tables.parent[v]
            if v > 0 and up != before[item] and tables.above[v] < np.inf:
                w0, q0 = _before(tables.low[v], tables.label_depth, held, weight, moment)
                w1, q1 = _before(tables.high[v], tables.label_depth, held, weight, moment)
                share = (w1 - w0) / w
                slope = 4 * ((q1 - q0) / w - z * share) - 2 * s
                length = z - tables.depth[up]
                f_up = f + length * (slope + length)
                r = tables.above[v]
                key = f_up + r * (max(slope + 2 * length, 0.0) + r * (1 - margin)) - room
                if key <= bound:
                    vertex[n_pushed] = up
                    before[n_pushed] = v
                    value[n_pushed] = f_up
                    mean[n_pushed] = max(s - length * (1 - 2 * share), 0.0)
                    _push(keys, items, n_open, key, n_pushed)
                    n_pushed += 1
                    n_open += 1
            known = -1  # children stand side by side: one's end is the next one's start
            w1 = 0.0
            q1 = 0.0
            for e in range(tables.begin[v], tables.begin[v + 1]):
                c = tables.child[e]
                if c == before[item] or tables.below[c] == np.inf:
                    continue
                length = tables.depth[c] - z
                r = tables.below[c]
                if tables.low[c] == known:
                    w0 = w1
                    q0 = q1
                else:
                    w0, q0 = _before(tables.low[c], tables.label_depth, held, weight, moment)
                known = tables.high[c]
                w1, q1 = _before(known, tables.label_depth, held, weight, moment)
                share = (w1 - w0) / w
                slope = 2 * s - 4 * ((q1 - q0) / w - z * share)
                f_down = f + length * (slope + length)
                key = f_down + r * (max(slope + 2 * length, 0.0) + r * (1 - margin)) - room
                if key <= bound:
                    vertex[n_pushed] = c
                    before[n_pushed] = v
                    value[n_pushed] = f_down
                    mean[n_pushed] = max(s + length * (1 - 2 * share), 0.0)
                    _push(keys, items, n_open, key, n_pushed)
                    n_pushed += 1
                    n_open += 1
        for i in range(n_visited):
            item = visited[i]
            for g in range(tables.group[vertex[item]], tables.group[vertex[item] + 1]):
                h = tables.height[g]
                if value[item] + h * (2 * mean[item] + h * (1 - margin)) - room > bound:
                    break
                if n_pairs == len(pair_group):
                    return -1
                pair_sample[n_pairs] = sample
                pair_group[n_pairs] = g
                n_pairs += 1
    return n_pairs


@compiled
def squared_rows(
    depth: Floats,
    meet: Floats,
    low: Integers,
    high: Integers,
    label_depth: Floats,
    gap: Floats,
    column: NDArray[np.uint32],
    out: Floats,
) -> None:
    """Write the squared distances of groups, as `RootedTree.distances` measures them."""
    # out (n_groups, n_observed). The way from a group to the labels low, ..., high - 1 in preorder turns at
    # `meet`; gap (n_observed - 1,) is where neighbouring labels meet. O(1) for each entry
    for g in range(len(out)):
        row = out[g]
        y = depth[g]
        turn = meet[g]
        for i in range(low[g], high[g]):
            d = (y - turn) + (label_depth[i] - turn)
            row[column[i]] = d * d
        for i in range(low[g] - 1, -1, -1):
            if gap[i] < turn:  # rarely so: guessed right, it costs nothing
                turn = gap[i]
            d = (y - turn) + (label_depth[i] - turn)
            row[column[i]] = d * d
        turn = meet[g]
        for i in range(high[g], len(column)):
            if gap[i - 1] < turn:
                turn = gap[i - 1]
            d = (y - turn) + (label_depth[i] - turn)
            row[column[i]] = d * d


@compiled
def plain_sums(
    rows: NDArray[Any],
    powered: Floats,
    sample: Integers,
    which: Integers,
    out: Floats,
) -> None:
    """Write the plain sums of (sample, row) pairs."""
    # out (n_pairs,), O(n_observed) each; eight side by side, because a sum waits for its own last addition
    n_pairs = len(sample)
    n_observed = rows.shape[1]
    terms = np.zeros((8, _STRETCH))
    for first in range(0, n_pairs, 8):
        n = min(8, n_pairs - first)
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for start in range(0, n_observed, _STRETCH):
            width = min(_STRETCH, n_observed - start)
            for j in range(n):
                term = terms[j]
                row = rows[sample[first + j], start : start + width]
                factor = powered[which[first + j], start : start + width]
                for i in range(width):
                    term[i] = row[i] * factor[i]
            for i in range(width):
                s0 += terms[0, i]
                s1 += terms[1, i]
                s2 += terms[2, i]
                s3 += terms[3, i]
                s4 += terms[4, i]
                s5 += terms[5, i]
                s6 += terms[6, i]
                s7 += terms[7, i]
        sums = (s0, s1, s2, s3, s4, s5, s6, s7)
        for j in range(n):
            out[first + j] = sums[j]
