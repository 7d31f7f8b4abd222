"""Rows of distances on a tree, each computed from the row of the parent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["fill_rows"]


@compiled
def fill_rows(
    parent: NDArray[Any],
    end: NDArray[Any],
    depth: NDArray[Any],
    length: NDArray[Any],
    place: NDArray[Any],
    columns: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the distances of every vertex from `columns` into ``out[place[vertex]]``; O(n * n_columns).

    Vertices are preorder positions; `depth`, `length` and `out` have the same dtype. The row of a vertex is
    the row of its parent plus the length of the edge between them; in the columns of the vertex's subtree,
    minus that length. There is one subtraction for each pair of a column and a vertex at or above it.
    Sums of whole numbers are exact; an unsigned sum that wraps because it is too large is overwritten.
    """
    n = len(parent)
    n_columns = len(columns)
    order = np.argsort(columns)
    before = np.zeros(n + 1, np.int64)  # number of columns before a position
    for c in columns:
        before[c + 1] += 1
    for v in range(n):
        before[v + 1] += before[v]
    for j in range(n_columns):
        out[place[0], j] = depth[columns[j]]
    for v in range(1, n):
        row, above, step = out[place[v]], out[place[parent[v]]], length[v]
        for j in range(n_columns):
            row[j] = above[j] + step
        for i in range(before[v], before[end[v]]):
            row[order[i]] = above[order[i]] - step
