"""Compiled scoring over all labels of a tree: one pass over each row of weights, then a descent.

`ontology.geometry.scoring.tree.treescorer` explains the algorithm, and
`ontology.geometry.kernels.trees.runningsums` how a row is read.

This module decides a row only if rounding cannot change the answer. It marks every other row, for the caller
to decide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled
from labelgrove.ontology.geometry.kernels.trees.runningsums import (
    CLEAR,
    REFUSED,
    ROWS,
    STRIDE,
    before,
    read_rows,
    sum_rows,
)

__all__ = ["CLEAR", "CROWDED", "REFUSED", "Descent", "descend", "find_lowest"]

CROWDED = -2
"""Like `CLEAR` (there is no rival) and `REFUSED`, a mark instead of a rival: there may be several."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LOW, HIGH, BEGIN, END, CHAIN_FIRST, CHAIN_LAST = range(6)


class Descent(NamedTuple):
    """The arrays that the descent over a skeleton reads; `find_lowest` explains them."""

    columns: NDArray[np.uint32]
    depth: Floats
    node: NDArray[np.int32]
    node_depth: Floats
    chain_depth: Floats


@compiled
def descend(
    data: NDArray[Any],
    first: int,
    step: int,
    rest: NDArray[Any],
    depth: Floats,
    weight: Floats,
    moment: Floats,
    total: Floats,
    node: NDArray[np.int32],
    node_depth: Floats,
    chain_depth: Floats,
    slack: float,
    spread: float,
    vertex: Integers,
    rival: Integers,
    about_vertex: Floats,
) -> None:
    """Write the best vertex of each row that is not refused, its rival, and the moment about the vertex.

    The rows are as `sum_rows` leaves them; the other arguments are those of `find_lowest`. A rival is written
    only if it may be tied. The steps are those of `Skeleton.descend`.
    """
    n_blocks = weight.shape[1]
    full = (n_blocks // 8 - 1) * STRIDE
    for r in range(len(rival)):
        if rival[r] == REFUSED:
            continue
        start = first + r * step
        start_of_rest = r * STRIDE - full
        at = r * n_blocks
        whole = total[r, 0]
        about = total[r, 1]  # the first moment about the current node
        v = np.int64(0)
        w0 = 0.0  # the sums before the node, and before its end
        q0 = 0.0
        w1 = whole
        q1 = about
        found = np.int64(node[0, CHAIN_LAST])
        while node[v, BEGIN] < node[v, END]:
            z = node_depth[v]
            half = 0.5 * ((q1 - q0) - z * (w1 - w0))
            a = np.int64(node[v, BEGIN])  # one of its children a, ..., b holds the half-moment
            b = np.int64(node[v, END]) - 1
            wa = w0
            qa = q0
            if node[a, LOW] > node[v, LOW]:
                k = np.int64(node[a, LOW])
                wa, qa = before(k, full, (data, rest), (start, start_of_rest), depth, weight, moment, at)
            while a < b:
                m = (a + b + 1) >> 1
                k = np.int64(node[m, LOW])
                wm, qm = before(k, full, (data, rest), (start, start_of_rest), depth, weight, moment, at)
                if (qm - q0) - z * (wm - w0) > half:
                    b = m - 1
                    w1 = wm  # children are adjacent: each ends where the next begins
                    q1 = qm
                else:
                    a = m
                    wa = wm
                    qa = qm
            w0 = wa
            q0 = qa
            share = w1 - w0
            t = (2 * ((q1 - q0) - z * share) - about) / whole
            length = node_depth[a] - z
            if t >= length:
                about += length * (whole - 2 * share)
                v = a
                found = np.int64(node[v, CHAIN_LAST])
                continue
            if t > 0:
                wanted = z + t
                top = np.int64(node[a, CHAIN_FIRST])
                low = top
                high = np.int64(node[a, CHAIN_LAST])
                while low < high:  # the first vertex of the chain at or below the lowest point
                    m = (low + high) >> 1
                    if chain_depth[m] >= wanted:
                        high = m
                    else:
                        low = m + 1
                above = found if low == top else low - 1
                to_above = wanted - chain_depth[above]
                to_below = chain_depth[low] - wanted
                found, beyond = (low, above) if to_below < to_above else (above, low)
                apart = to_below + to_above
                if abs(to_below * to_below - to_above * to_above) <= slack + spread * apart:
                    rival[r] = beyond
                about += (chain_depth[found] - z) * (whole - 2 * share)
            break
        vertex[r] = found
        about_vertex[r] = about


@compiled
def find_lowest(
    rows: NDArray[Any],
    columns: NDArray[np.uint32],
    depth: Floats,
    node: NDArray[np.int32],
    node_depth: Floats,
    chain_depth: Floats,
    nearest: Floats,
    slack: float,
    totals: tuple[float, float],
    spread: float,
    vertex: Integers,
    rival: Integers,
) -> int:
    """Write the best vertex of each row of weights, and a vertex that may be tied with it, if there is one.

    Return the number of rows for which a tie is possible or that may be invalid: those whose entry in `rival`
    is not `CLEAR`.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_observed), dtype=float32 or float64
        Weights, C-contiguous; they need not be valid: invalid rows are marked `REFUSED`.
    columns : ndarray of uint32, length 0 or n_observed
        The column of each observed label, in preorder of the labels; empty if the columns are in preorder.
    depth : ndarray of float64
        Depth of each observed label, in preorder, padded with 0 to a multiple of `STRIDE` above n_observed.
    node : ndarray of shape (n_nodes, 6), dtype=int32
        For each node of the `Skeleton`: ``LOW, HIGH``, the range of the observed labels at or below it;
        ``BEGIN, END``, the range of its children, which have consecutive indices (node 0 is the root);
        ``CHAIN_FIRST, CHAIN_LAST``, the indices in ``Skeleton.chain`` of the first and the last vertex of a
        path. The path ends at the node, and begins at the vertex after its parent node.
    node_depth, chain_depth : ndarray of float64
        Depth of each node, and depth of each vertex of ``Skeleton.chain``.
    nearest : ndarray of float64
        Length of the shortest edge at each vertex of ``Skeleton.chain``.
    slack : float
        Two vertices may be tied if their Fréchet variances, divided by the total weight, differ by at most
        this.
    totals : tuple of float
        Smallest and largest total weight that a row may have. Other rows are marked `REFUSED`.
    spread : float
        If the weights are inexact, two vertices may also be tied if this difference is at most `spread` times
        the distance between them; 0 for exact weights.
    vertex, rival : ndarray of shape (n_samples,), dtype=int64
        Where to write the vertices, as indices in ``Skeleton.chain``: the best vertex of each row to
        `vertex`, and the vertex that may be tied with it to `rival`. Instead of the latter, a mark may be
        written: `CLEAR` (no vertex may be tied), `CROWDED` (several may be tied) or `REFUSED` (the row may be
        invalid as weights).

    Notes
    -----
    O(n_observed) for each row, and a few running sums for each node on the way down to the best vertex.
    """
    n_samples, n_observed = rows.shape
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
    total = np.empty((n_rows, 2))
    about = np.empty(n_rows)
    for begin in range(0, n_samples, ROWS):
        end = min(begin + ROWS, n_samples)
        where = vertex[begin:end]
        other = rival[begin:end]
        first = 0 if gathered else begin * n_observed
        read_rows(rows, begin, end, columns, held, rest)
        sum_rows(data, first, step, rest, depth, weight, moment, totals, total, other)
        descend(
            data, first, step, rest, depth, weight, moment, total,
            node, node_depth, chain_depth, slack, spread, where, other, about,
        )  # fmt: skip
    n_marked = 0
    for r in range(n_samples):
        other_of = rival[r]
        if other_of != REFUSED:
            near = nearest[vertex[r]]
            if other_of >= 0:
                near = min(near, nearest[other_of])
            if near * near <= slack + spread * near:
                rival[r] = CROWDED
        n_marked += rival[r] != CLEAR
    return n_marked
