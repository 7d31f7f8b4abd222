"""Compiled search for the best rows of distances, from groups of rows down to single rows.

`ontology.geometry.scoring.rows.rowtree` explains the search. Here the search runs for one sample after
another. It always continues in the group whose lower bound on the weighted sums of its rows is the smallest.
Sums are computed in float32, in any order of the columns. These sums only rule out rows; plain sums decide
among the rows that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.heap import pop, push
from labelgrove.ontology.geometry.kernels.jit import compiled, compiled_sum

__all__ = ["FULL", "OPEN", "REFUSED", "WIDE", "decide_rows", "find_rows"]

FULL, WIDE, REFUSED = -1, -2, -3
"""Results: there is no more room for pairs; the groups rule out too few rows; a row may break a rule."""

OPEN = -1
"""In place of a label: inexact weights do not decide between several labels."""

_ROOM = 256
_TINY = np.float32(np.finfo(np.float32).tiny)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Shorts = NDArray[np.int32]


@compiled_sum
def _value(share: NDArray[np.float32], items: NDArray[Any], start: np.uint64) -> float:
    # the sum of squared distances of the item at `start`, each times its share; unsigned places are never
    # counted from the end
    total = np.float32(0)
    for i in range(np.uint64(len(share))):
        away = np.float32(items[start + i])
        total += share[i] * (away * away)
    return np.float64(total)


@compiled_sum
def _total(row: NDArray[Any]) -> float:
    total = 0.0
    for i in range(len(row)):
        total += np.float64(row[i])
    return total


@compiled
def _smallest(row: NDArray[Any]) -> float:
    smallest = row[0]
    for i in range(len(row)):
        smallest = min(smallest, row[i])
    return np.float64(smallest)


@compiled
def _longer_floats(held: Floats) -> Floats:
    longer = np.empty(2 * len(held))
    longer[: len(held)] = held
    return longer


@compiled
def _longer_integers(held: Integers) -> Integers:
    longer = np.empty(2 * len(held), np.int64)
    longer[: len(held)] = held
    return longer


@compiled
def _search(
    share: NDArray[np.float32],
    bounds: NDArray[Any],
    rows: NDArray[Any],
    begin: Shorts,
    first: Shorts,
    label: Shorts,
    errors: tuple[float, float, float],
    slack: float,
    most_values: int,
    best: Floats,
    keys: Floats,
    held: Integers,
    found: Integers,
    least: Floats,
) -> tuple[int, int, Floats, Integers, Integers, Floats]:
    # The number of classes found (or WIDE), the number of sums computed, and the last four arrays, which
    # grow as needed. bounds and rows are flat; the row of class c is that of its first label; errors are
    # those of a RowTree; slack is how far inexact weights may move a sum; best (top,) is overwritten
    relative, absolute, tolerance = errors
    n_observed = len(share)
    n_groups = len(begin) - 1
    best[:] = np.inf
    top = len(best)
    limit = np.inf
    n_open = 0
    n_found = 0
    n_values = 0
    start = np.int64(0)
    stop = np.int64(begin[0])
    while True:
        n_values += int(stop - start)
        for item in range(start, stop):
            if item < n_groups:
                value = _value(share, bounds, np.uint64(item) * np.uint64(n_observed))
            else:
                row = np.uint64(label[first[item - n_groups]])
                value = _value(share, rows, row * np.uint64(n_observed))
            low = (value - absolute) / (1 + relative) - slack
            if low > limit:
                continue
            if item < n_groups:
                if n_open == len(keys):
                    keys, held = _longer_floats(keys), _longer_integers(held)
                push(keys, held, n_open, low, item)
                n_open += 1
                continue
            if n_found == len(found):
                n_kept = 0
                for at in range(n_found):
                    if least[at] <= limit:
                        found[n_kept], least[n_kept] = found[at], least[at]
                        n_kept += 1
                n_found = n_kept
                if 2 * n_found > len(found):
                    found, least = _longer_integers(found), _longer_floats(least)
            found[n_found] = item - n_groups
            least[n_found] = low
            n_found += 1
            high = (value + absolute) / (1 - relative) + slack
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
            return WIDE, n_values, keys, held, found, least
        start = np.int64(begin[held[0]])
        stop = np.int64(begin[held[0] + 1])
        pop(keys, held, n_open)
        n_open -= 1
    n_kept = 0
    for at in range(n_found):
        if least[at] <= limit:
            found[n_kept] = found[at]
            n_kept += 1
    return n_kept, n_values, keys, held, found, least


@compiled
def find_rows(
    shares: NDArray[np.float32],
    bounds: NDArray[Any],
    rows: NDArray[Any],
    begin: Shorts,
    first: Shorts,
    label: Shorts,
    errors: tuple[float, float, float],
    top: int,
    most_values: int,
    pair_sample: Integers,
    pair_row: Integers,
) -> int:
    """Write the finalists, as pairs of a sample and a class of rows; return their number, `FULL` or `WIDE`.

    The finalists of a sample include its `top` best classes and all classes tied with these. `FULL` means
    that the arrays have no room for all pairs. `WIDE` means that the search has computed more than
    `most_values` sums and is not done, because the groups rule out too few rows.
    """
    # shares (n_samples, n_observed); the rest as for _search
    best = np.empty(top)
    keys, least = np.empty(_ROOM), np.empty(_ROOM)
    held, found = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    n_pairs = 0
    for sample in range(len(shares)):
        n_found, n_values, keys, held, found, least = _search(
            shares[sample],
            bounds,
            rows,
            begin,
            first,
            label,
            errors,
            0.0,
            most_values,
            best,
            keys,
            held,
            found,
            least,
        )
        if n_found == WIDE:
            return WIDE
        most_values -= n_values
        if n_pairs + n_found > len(pair_row):
            return FULL
        for at in range(n_found):
            pair_sample[n_pairs] = sample
            pair_row[n_pairs] = found[at]
            n_pairs += 1
    return n_pairs


@compiled
def _plain_sum(weights: NDArray[Any], column: Integers, rows: NDArray[Any], start: np.uint64) -> float:
    total = 0.0
    if len(column):
        for i in range(np.uint64(len(weights))):
            away = np.float64(rows[start + i])
            total += np.float64(weights[column[i]]) * (away * away)
    else:
        for i in range(np.uint64(len(weights))):
            away = np.float64(rows[start + i])
            total += np.float64(weights[i]) * (away * away)
    return total


@compiled
def decide_rows(
    weights: NDArray[Any],
    column: Integers,
    bounds: NDArray[Any],
    rows: NDArray[Any],
    begin: Shorts,
    first: Shorts,
    label: Shorts,
    errors: tuple[float, float, float],
    tie: float,
    slack: float,
    totals: tuple[float, float],
    most_values: int,
    out: Integers,
) -> int:
    """Write the best label of each row of weights; return how many are `OPEN`, or `WIDE` or `REFUSED`.

    If `slack` is 0, the weights are exact, and plain sums decide, so that no label is open. Otherwise a label
    is open if several classes may be best. A row is refused if it may be invalid as weights.
    """
    # weights (n_samples, n_observed); column: for each observed label its column in weights, empty if they
    # are in the order of the observed labels; totals: the limits of a row's sum; the rest as for _search
    n_samples, n_observed = weights.shape
    share = np.empty(n_observed, np.float32)
    best = np.empty(1)
    keys, least = np.empty(_ROOM), np.empty(_ROOM)
    held, found = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    n_open = 0
    for sample in range(n_samples):
        row = weights[sample]
        total = _total(row)
        if not (totals[0] <= total <= totals[1]) or _smallest(row) < 0:
            return REFUSED
        scale = 1 / total
        if len(column):
            for i in range(n_observed):
                share[i] = np.float32(np.float64(row[column[i]]) * scale)
        else:
            for i in range(n_observed):
                share[i] = np.float32(np.float64(row[i]) * scale)
        for i in range(n_observed):  # as in `RowTree.shares`
            share[i] = share[i] if share[i] >= _TINY else np.float32(0)
        n_found, n_values, keys, held, found, least = _search(
            share,
            bounds,
            rows,
            begin,
            first,
            label,
            errors,
            slack,
            most_values,
            best,
            keys,
            held,
            found,
            least,
        )
        if n_found == WIDE:
            return WIDE
        most_values -= n_values
        out[sample] = label[first[found[0]]]
        if n_found == 1:
            continue
        if slack > 0:
            out[sample] = OPEN
            n_open += 1
            continue
        lowest = np.inf
        if n_found > len(least):
            least = np.empty(n_found)
        for at in range(n_found):
            start = np.uint64(label[first[found[at]]]) * np.uint64(n_observed)
            least[at] = _plain_sum(row, column, rows, start)
            lowest = min(lowest, least[at])
        best_label = np.int64(len(label))
        for at in range(n_found):
            if least[at] <= lowest * tie:
                best_label = min(best_label, np.int64(label[first[found[at]]]))
        out[sample] = best_label
    return n_open
