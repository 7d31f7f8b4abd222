"""Rows of distances on a tree; the row of each vertex is computed from the row of its parent."""

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
    """Write the distances of every vertex from the vertices `columns` into ``out[place[vertex]]``.

    Vertices are preorder positions; `depth`, `length` and `out` have the same dtype. The row of a vertex is
    computed from that of its parent. The length of the edge between them is subtracted in the columns that
    are in the vertex's subtree, and added in all other columns. For whole numbers the results are exact. The
    function first adds the length in every column, and then replaces the sum by the difference in the columns
    of the subtree. A sum that is replaced may overflow an unsigned type; this does no harm.
    O(n * n_columns), plus one subtraction for each pair of a column and a vertex at or above it.
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
