"""Shortest paths with edge lengths that are whole numbers of any size, stored as digits; sums are exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.heap import pop, push
from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["DIGIT_BITS", "sums_from"]

DIGIT_BITS = 50
_BASE = 2.0**DIGIT_BITS
_MASK = (1 << DIGIT_BITS) - 1

Integers = NDArray[np.int64]


@compiled
def sums_from(
    begin: Integers,
    neighbor: NDArray[np.int32],
    edge: NDArray[np.int32],
    digits: Integers,
    sources: Integers,
    targets: Integers,
    out: Integers,
) -> None:
    """Write the lengths of the shortest paths from each source to each target.

    The neighbors of v are ``neighbor[begin[v]:begin[v + 1]]``, and ``edge[begin[v]:begin[v + 1]]`` are the
    edges to them. `digits` (n_edges, n_digits) contains the edge lengths; the path lengths are written to
    `out` (n_sources, n_targets, n_digits). Both are whole numbers in base ``2 ** DIGIT_BITS``, most
    significant digit first. There must be enough digits for every path length. If there is no path, every
    digit of the path length is -1.
    """
    # Dijkstra's algorithm, vertices in the order of rounded lengths: a vertex that is reached by a shorter
    # path after its turn gets another turn, so the final lengths are exact
    n = len(begin) - 1
    n_digits = digits.shape[1]
    length = np.empty((n, n_digits), np.int64)
    waits = np.zeros(n, np.bool_)
    known = np.empty(n, np.bool_)
    sum_ = np.empty(n_digits, np.int64)
    keys = np.empty(n + 16)
    held = np.empty(n + 16, np.int64)
    for s in range(len(sources)):
        known[:] = False
        source = sources[s]
        length[source, :] = 0
        known[source] = True
        waits[source] = True
        push(keys, held, 0, 0.0, source)
        n_held = 1
        while n_held > 0:
            v = held[0]
            pop(keys, held, n_held)
            n_held -= 1
            if not waits[v]:
                continue
            waits[v] = False
            for i in range(begin[v], begin[v + 1]):
                u = neighbor[i]
                e = edge[i]
                carry = 0
                for j in range(n_digits - 1, -1, -1):
                    digit = length[v, j] + digits[e, j] + carry
                    carry = digit >> DIGIT_BITS
                    sum_[j] = digit & _MASK
                shorter = not known[u]
                if known[u]:
                    for j in range(n_digits):
                        if sum_[j] != length[u, j]:
                            shorter = sum_[j] < length[u, j]
                            break
                if shorter:
                    key = 0.0
                    for j in range(n_digits):
                        length[u, j] = sum_[j]
                        key = key * _BASE + sum_[j]
                    known[u] = True
                    waits[u] = True
                    if n_held == len(keys):
                        keys = np.append(keys, np.empty(n_held))
                        held = np.append(held, np.empty(n_held, np.int64))
                    push(keys, held, n_held, key, u)
                    n_held += 1
        for t in range(len(targets)):
            if known[targets[t]]:
                out[s, t, :] = length[targets[t], :]
            else:
                out[s, t, :] = -1
