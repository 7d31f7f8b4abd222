"""Random matrix games and distances that are hard to decide exactly.

The games have payoffs of many bits. In some, a mixture of columns gives zero (`tied`, and one unit above and
below). In others, rows and columns differ in size by powers of two (`stretched`), or rows are equal in
float64 (`alike`). The distances are between leaves of random trees, with lengths that are differences of
information content or of all sizes, or they are rows that differ by as little as the tie rule or rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Generator = np.random.Generator


def whole(draw: Generator, shape: tuple[int, ...], n_bits: int) -> NDArray[Any]:
    """Return random whole numbers of `n_bits` bits, of either sign."""
    n_bytes = n_bits // 8 + 1
    count = int(np.prod(shape))
    raw = draw.bytes(n_bytes * count)
    half = 1 << (n_bits - 1)
    numbers = [
        int.from_bytes(raw[i * n_bytes : (i + 1) * n_bytes], "big") % (2 * half) - half for i in range(count)
    ]
    out = np.empty(count, dtype=object)
    out[:] = numbers
    return out.reshape(shape)


def tied(draw: Generator, n_rows: int, n_columns: int, n_bits: int, above: int = 0) -> NDArray[Any]:
    """Return a game of value 0, or of nearly 0 if `above` is added to a payoff.

    A mixture of all columns gives zero in as many rows as there are columns, and at least zero in the other
    rows. A mixture of these rows gives zero in every column. The rows are shuffled.
    """
    weights = draw.integers(1, 1000, n_columns).astype(object)
    multipliers = draw.integers(1, 1000, n_columns).astype(object)
    tight = whole(draw, (n_columns, n_columns), n_bits) * (weights[-1] * multipliers[-1])
    tight[:, -1] = -(tight[:, :-1] @ weights[:-1]) // weights[-1]
    tight[-1] = -(multipliers[:-1] @ tight[:-1]) // multipliers[-1]
    loose = whole(draw, (n_rows - n_columns, n_columns), n_bits)
    loose[:, -1] = -((loose[:, :-1] @ weights[:-1]) // weights[-1])
    tight[0, 0] += above
    return np.concatenate([tight, loose])[draw.permutation(n_rows)]


def stretched(draw: Generator, n_rows: int, n_columns: int, n_bits: int) -> NDArray[Any]:
    """Return a tied game whose rows and columns are multiplied by powers of two below ``2**n_bits``."""
    rows, columns = draw.integers(0, n_bits, n_rows), draw.integers(0, n_bits, n_columns)
    shift = (rows[:, None] + columns).astype(object)
    return tied(draw, n_rows, n_columns, n_bits, int(draw.integers(-1, 2))) << shift


def alike(draw: Generator, n_rows: int, n_columns: int, n_bits: int) -> NDArray[Any]:
    """Return a tied game with groups of rows that differ only in their lowest bits."""
    few = tied(draw, n_columns + 1, n_columns, n_bits) << 60
    more = few[draw.integers(0, len(few), n_rows - len(few))]
    return np.concatenate([few, more + whole(draw, more.shape, 20)])


def random_tree(draw: Generator, n_points: int) -> NDArray[np.int64]:
    """Return the parents of a random tree; each parent comes before its children."""
    upper = np.arange(1, n_points)
    return np.append(-1, (upper * draw.beta(2.0, 1.6, n_points - 1)).astype(np.int64))


def tree_distances(
    parent: NDArray[np.int64], length: NDArray[np.float64], observed: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the distances from every point to observed points, rounded like those of users."""
    n_points = len(parent)
    depth = np.zeros(n_points)
    for v in range(1, n_points):
        depth[v] = depth[parent[v]] + length[v]
    distances = np.empty((n_points, len(observed)))
    for i, o in enumerate(observed.tolist()):
        meeting = np.full(n_points, -1.0)
        v = o
        while v >= 0:
            meeting[v], v = depth[v], int(parent[v])
        for u in range(1, n_points):
            if meeting[u] < 0:
                meeting[u] = meeting[parent[u]]
        distances[:, i] = np.maximum(depth + depth[o] - 2 * meeting, 0.0)
    return distances


def information_content(draw: Generator, n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Return distances between leaves of a random tree with differences of information content as lengths."""
    parent = random_tree(draw, 4 * n_rows)
    n_leaves = np.bincount(parent[1:], minlength=len(parent)) == 0
    leaves, below, level = np.flatnonzero(n_leaves), n_leaves.astype(np.float64), np.zeros(len(parent))
    for v in range(len(parent) - 1, 0, -1):
        below[parent[v]] += below[v]
    for v in range(1, len(parent)):
        level[v] = level[parent[v]] + 1
    content = -np.log((below / (level + 1) + 1) / (below[0] + 1))
    length = np.abs(content - content[parent])
    observed = draw.choice(leaves, n_columns, replace=False)
    return tree_distances(parent, length, observed)[leaves[:n_rows]]


def all_sizes(draw: Generator, n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Return distances between leaves of a random tree with lengths of all sizes from 1e-9 to 1e9."""
    parent = random_tree(draw, 4 * n_rows)
    leaves = np.setdiff1d(np.arange(len(parent)), parent)
    length = 10.0 ** draw.uniform(-9, 9, len(parent))
    observed = draw.choice(leaves, n_columns, replace=False)
    return tree_distances(parent, length, observed)[leaves[:n_rows]]


def next_to_each_other(draw: Generator, n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Return rows with close copies, some as far apart as a rounding error, some as the tie rule allows."""
    few = np.sqrt(1.0 + draw.dirichlet(np.ones(n_columns), n_rows // 5))
    copies = few[draw.integers(0, len(few), n_rows - len(few))]
    apart = draw.choice([2.0**-53, 2.0**-50, 5e-13, 1e-12], len(copies))[:, None]
    return np.concatenate([few, copies * (1.0 + apart * draw.integers(-1, 2, copies.shape))])


GAMES: dict[str, Callable[[Generator, int, int, int], NDArray[Any]]] = {
    "tied": tied,
    "one above": lambda draw, n_rows, n_columns, n_bits: tied(draw, n_rows, n_columns, n_bits, 1),
    "one below": lambda draw, n_rows, n_columns, n_bits: tied(draw, n_rows, n_columns, n_bits, -1),
    "stretched": stretched,
    "alike": alike,
    "random": lambda draw, n_rows, n_columns, n_bits: whole(draw, (n_rows, n_columns), n_bits),
}

DISTANCES: dict[str, Callable[[Generator, int, int], NDArray[np.float64]]] = {
    "information content": information_content,
    "all sizes": all_sizes,
    "next to each other": next_to_each_other,
}
