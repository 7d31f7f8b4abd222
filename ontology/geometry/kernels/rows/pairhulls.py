"""For pairs of observed labels, find the labels that weights on the two reach, and weights that reach them.

Each column of a matrix of distances contains the distances to one observed label. For two observed labels a
and b, draw each label as the point (d_a^2, d_b^2) of its squared distances to them. Weights on a and b are a
direction, and the best labels are the lowest points in this direction. So the labels that are reached form
the lower-left convex hull of the points: its vertices and the points on its edges. If all weight is on a, the
labels nearest to a are reached too, and likewise for b. A *bucket* is the set of all labels with the same
distance to a.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["BLOCK", "nearest_labels", "pair_hulls", "sorted_pair_hull"]

BLOCK = 32
"""Number of columns that `pair_hulls` handles together; fixed, so that the compiler uses one vector."""

_ON_EDGE, _VERTEX = 1, 2


@compiled
def nearest_labels(
    distances: NDArray[Any],
    n_columns: int,
    member: NDArray[np.bool_],
    unique: NDArray[np.bool_],
    columns: NDArray[np.int64],
    weights: NDArray[Any],
) -> None:
    """For each observed label, mark the labels nearest to it; they are best if all weight is on it."""
    # distances (n, at least n_columns); member, unique (n,), columns, weights (n, 2); O(n * n_columns)
    n = len(distances)
    lowest = distances[0, :n_columns].copy()
    for y in range(n):
        for c in range(n_columns):
            lowest[c] = min(lowest[c], distances[y, c])
    n_lowest = np.zeros(n_columns, dtype=np.int64)
    holder = np.zeros(n_columns, dtype=np.int64)
    for y in range(n):
        for c in range(n_columns):
            if distances[y, c] == lowest[c]:
                n_lowest[c] += 1
                holder[c] = y
                if not member[y]:
                    member[y] = True
                    columns[y, 0] = columns[y, 1] = c
                    weights[y, 0], weights[y, 1] = 1, 0
    for c in range(n_columns):
        y = holder[c]
        if n_lowest[c] == 1 and not unique[y]:
            unique[y] = True
            columns[y, 0] = columns[y, 1] = c
            weights[y, 0], weights[y, 1] = 1, 0


@compiled
def pair_hulls(
    distances: NDArray[Any],
    n_columns: int,
    first: int,
    end: int,
    n_buckets: int,
    member: NDArray[np.bool_],
    unique: NDArray[np.bool_],
    columns: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> None:
    """Mark the labels that weights on two columns reach, for many pairs of columns, in exact arithmetic.

    The first column of a pair is one of ``first, ..., end - 1``, and the second is any column after it.
    """
    # distances (n, multiple of BLOCK), uint8 or uint16, with its largest value beyond n_columns; whole
    # distances; the rest as above. O((end - first) * n_columns * (n / vector width + n_buckets)), O(n +
    # n_buckets) memory
    n, n_padded = distances.shape
    largest = distances.dtype.type(np.iinfo(distances.dtype).max)
    best = np.empty((n_buckets, BLOCK), dtype=distances.dtype)
    kind = np.empty((n_buckets, BLOCK), dtype=np.uint8)
    normal = np.empty((n_buckets, BLOCK, 2), dtype=np.int64)
    n_holders = np.empty((n_buckets, BLOCK), dtype=np.int64)
    holder = np.empty((n_buckets, BLOCK), dtype=np.int64)
    filled = np.empty(n_buckets, dtype=np.bool_)
    touching = np.empty(n, dtype=np.int64)
    chain = np.empty(n_buckets, dtype=np.int64)
    x = np.empty(n_buckets, dtype=np.uint64)
    z = np.empty(n_buckets, dtype=np.uint64)
    for a in range(first, end):
        filled[:] = False
        for y in range(n):
            filled[distances[y, a]] = True
        for block in range((a + 1) // BLOCK * BLOCK, n_padded, BLOCK):
            best[:] = largest
            _lower(distances, a, block, best)
            kind[:] = 0
            n_holders[:] = 0
            for j in range(max(0, a + 1 - block), min(BLOCK, n_columns - block)):
                _lower_hull(best[:, j], filled, chain, x, z, kind[:, j], normal[:, j])
            # if no point of a bucket is on the hull, search for a point below its lowest: there is none
            for bucket in range(n_buckets):
                for j in range(BLOCK):
                    if kind[bucket, j] == 0 and best[bucket, j] > 0:
                        best[bucket, j] -= 1
            for y in touching[: _touch(distances, a, block, best, touching)]:
                bucket = distances[y, a]
                for j in range(BLOCK):
                    if kind[bucket, j] and best[bucket, j] == distances[y, block + j]:
                        n_holders[bucket, j] += 1
                        holder[bucket, j] = y
                        if not member[y]:
                            member[y] = True
                            columns[y, 0], columns[y, 1] = a, block + j
                            weights[y] = normal[bucket, j]
            for bucket in range(n_buckets):
                for j in range(BLOCK):
                    y = holder[bucket, j]
                    if kind[bucket, j] == _VERTEX and n_holders[bucket, j] == 1 and not unique[y]:
                        unique[y] = True
                        columns[y, 0], columns[y, 1] = a, block + j
                        weights[y] = normal[bucket, j]


@compiled
def _lower(distances: NDArray[Any], a: int, block: int, best: NDArray[Any]) -> None:
    """Write, for each bucket of labels, the smallest distance in each of `BLOCK` columns to `best`.

    A bucket consists of all labels with the same distance in column `a`; this distance is its index. The
    smallest distance of its labels in column ``block + j`` is written to ``best[bucket, j]``. An entry of
    `best` that is smaller already is kept, so the caller first fills `best` with a large number.
    """
    for y in range(len(distances)):
        row, lowest = distances[y, block : block + BLOCK], best[distances[y, a]]
        for j in range(BLOCK):
            lowest[j] = min(lowest[j], row[j])


@compiled
def _touch(
    distances: NDArray[Any], a: int, block: int, best: NDArray[Any], touching: NDArray[np.int64]
) -> int:
    """List the labels that have the distance ``best[bucket, j]`` in some column ``block + j``.

    The bucket of a label is its distance in column `a`; j is from 0 to ``BLOCK - 1``. The labels are written
    to `touching`, and their number is returned.
    """
    n_touching = 0
    for y in range(len(distances)):
        row, wanted = distances[y, block : block + BLOCK], best[distances[y, a]]
        touches = np.uint8(0)
        for j in range(BLOCK):
            touches |= np.uint8(wanted[j] == row[j])
        touching[n_touching] = y
        n_touching += int(touches)
    return n_touching


@compiled
def _lower_hull(
    lowest: NDArray[Any],
    filled: NDArray[np.bool_],
    chain: NDArray[np.int64],
    x: NDArray[np.uint64],
    z: NDArray[np.uint64],
    kind: NDArray[np.uint8],
    normal: NDArray[np.int64],
) -> None:
    """Mark the buckets whose lowest point is on the lower-left hull; write weights that make this point best.

    A bucket consists of all labels with the same distance to the observed label a; this distance is its
    index. Its lowest point is that of the labels nearest to the other observed label, b. For each bucket,
    `lowest` contains the distance of these labels from b, and `filled` whether the bucket contains a label.
    """
    # products of differences of squares below 2^32 fit uint64, and none of them is negative
    n_chain = 0
    for bucket in range(len(lowest)):
        if not filled[bucket]:
            continue
        right = np.uint64(bucket) * np.uint64(bucket)
        up = np.uint64(lowest[bucket]) * np.uint64(lowest[bucket])
        if n_chain and up >= z[n_chain - 1]:
            continue
        while n_chain > 1:
            p, q = n_chain - 2, n_chain - 1
            if (z[p] - z[q]) * (right - x[p]) >= (z[p] - up) * (x[q] - x[p]):
                break
            n_chain -= 1
        chain[n_chain], x[n_chain], z[n_chain] = bucket, right, up
        n_chain += 1
    for i in range(n_chain):
        # weights between the normals of the two edges that meet here; at an end, of the edge and the axis
        bucket = chain[i]
        left_a, left_b = np.uint64(1), np.uint64(0)
        right_a, right_b = np.uint64(0), np.uint64(1)
        if i > 0:
            left_a, left_b = z[i - 1] - z[i], x[i] - x[i - 1]
        if i < n_chain - 1:
            right_a, right_b = z[i] - z[i + 1], x[i + 1] - x[i]
        if left_a * right_b == right_a * left_b:
            kind[bucket] = _ON_EDGE
            normal[bucket, 0], normal[bucket, 1] = left_a, left_b
        else:
            kind[bucket] = _VERTEX
            normal[bucket, 0], normal[bucket, 1] = left_a + right_a, left_b + right_b


@compiled
def sorted_pair_hull(
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    order: NDArray[np.int64],
    tie: float,
    pair: tuple[int, int],
    member: NDArray[np.bool_],
    unique: NDArray[np.bool_],
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> None:
    """Mark the labels that weights on one pair of columns reach, and write these weights.

    Unlike `pair_hulls`, the function takes floats: the squared distances `x` and `z` of the labels in the two
    columns, and `order`, which sorts the labels by `x`. Fréchet variances are tied if they differ by at most
    a relative `tie`.
    """
    # x, z (n,) squared distances to the two, order (n,) sorts x; O(n + vertices * members of the pair)
    n = len(x)
    chain = np.empty(n, dtype=np.int64)
    n_chain = 0
    for y in order:
        if n_chain and z[y] >= z[chain[n_chain - 1]]:
            continue
        if n_chain and x[y] == x[chain[n_chain - 1]]:
            n_chain -= 1
        while n_chain > 1:
            p, q = chain[n_chain - 2], chain[n_chain - 1]
            if (z[p] - z[q]) * (x[y] - x[p]) > (z[p] - z[y]) * (x[q] - x[p]):
                break
            n_chain -= 1
        chain[n_chain] = y
        n_chain += 1
    first, last = chain[0], chain[n_chain - 1]
    found = np.empty(n, dtype=np.int64)
    n_found = 0
    edge = 0
    for y in order:
        right, up = x[y] / (1.0 + tie), z[y] / (1.0 + tie)
        while edge < n_chain - 1 and x[chain[edge + 1]] < right:
            edge += 1
        if right <= x[first]:
            of_a, of_b = 1.0, 0.0
        elif up <= z[last]:
            of_a, of_b = 0.0, 1.0
        elif edge < n_chain - 1:
            p, q = chain[edge], chain[edge + 1]
            of_a, of_b = z[p] - z[q], x[q] - x[p]
            if of_a * right + of_b * up > of_a * x[p] + of_b * z[p]:
                continue
        else:
            continue
        found[n_found] = y
        n_found += 1
        if not member[y]:
            member[y] = True
            columns[y, 0], columns[y, 1] = pair
            weights[y, 0], weights[y, 1] = of_a, of_b
    for i in range(n_chain):
        y = chain[i]
        if unique[y]:
            continue
        of_a, of_b = 1.0 if i == 0 else 0.0, 1.0 if i == n_chain - 1 else 0.0
        for p, q in ((i - 1, i), (i, i + 1)):
            if p >= 0 and q < n_chain:
                down, along = z[chain[p]] - z[chain[q]], x[chain[q]] - x[chain[p]]
                of_a += down / (down + along)
                of_b += along / (down + along)
        limit = (of_a * x[y] + of_b * z[y]) * (1.0 + tie)
        alone = True
        for f in range(n_found):
            other = found[f]
            alone &= other == y or of_a * x[other] + of_b * z[other] > limit
        if alone:
            unique[y] = True
            columns[y, 0], columns[y, 1] = pair
            weights[y, 0], weights[y, 1] = of_a, of_b
