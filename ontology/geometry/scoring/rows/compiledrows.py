"""Rows of distances, compiled: the search of `rowtree`, and plain sums over rows.

Importing this module loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import plain_sums
from labelgrove.ontology.geometry.kernels.rows.rowsearch import find_rows
from labelgrove.ontology.geometry.scoring.rows.rowtree import MOST_PAIRS, Pairs, RowTree
from labelgrove.ontology.geometry.ties import powers

__all__ = ["find", "totals"]

_BLOCK_ENTRIES = 1 << 20
_SPARE_PAIRS = 1 << 16


def find(tree: RowTree, shares: NDArray[np.float32], top: int) -> Pairs | None:
    """Return the finalists as (sample, row) pairs, sorted by sample.

    The finalists include the `top` best rows of each sample, and all rows tied with them.

    Parameters
    ----------
    tree : RowTree
    shares : ndarray of shape (n_samples, n_observed)
        The result of `RowTree.shares`.
    top : int
        Number of rows requested for each sample.

    Returns
    -------
    pairs : tuple of ndarray, or None
        None if the groups of rows rule out too few rows, or there are too many pairs for memory.
    """
    most = min(len(shares) * top + _SPARE_PAIRS, MOST_PAIRS)
    sample, row = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    n_pairs = find_rows(
        shares,
        tree.items.reshape(-1),
        tree.begin,
        tree.relative,
        tree.absolute,
        tree.tolerance,
        top,
        tree.most_values(len(shares)),
        sample,
        row,
    )
    return None if n_pairs < 0 else (sample[:n_pairs], row[:n_pairs])


def totals(
    tree: RowTree, weights: NDArray[Any], sample: NDArray[np.int64], row: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the plain sum of each (sample, row) pair, reading each row of distances once."""
    total = np.empty(len(row))
    by = np.argsort(row, kind="stable")
    step = max(1, _BLOCK_ENTRIES // weights.shape[1])
    for start in range(0, len(by), step):
        part = by[start : start + step]
        distinct, which = np.unique(row[part], return_inverse=True)
        sums = np.empty(len(part))
        plain_sums(weights, powers(tree.rows[distinct], 2), sample[part], which, sums)
        total[part] = sums
    return total
