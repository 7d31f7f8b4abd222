"""Rows of distances, compiled: the search of `rowtree`, and plain sums over rows.

Importing this module loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import plain_sums
from labelgrove.ontology.geometry.kernels.rows.rowsearch import (
    OPEN,
    REFUSED,
    WIDE,
    decide_rows,
    find_rows,
)
from labelgrove.ontology.geometry.scoring.decision import Decision, Found
from labelgrove.ontology.geometry.scoring.rows.rowtree import MOST_PAIRS, Pairs, RowTree
from labelgrove.ontology.geometry.ties import SURE_TOTALS, TIE_RELATIVE, powers

__all__ = ["RowDecision", "find", "totals"]

_Shorts = NDArray[np.int32]
_Tables = tuple[NDArray[Any], NDArray[Any], _Shorts, _Shorts, _Shorts, tuple[float, float, float]]

_BLOCK_ENTRIES = 1 << 20
_SPARE_PAIRS = 1 << 16
_FEW_SAMPLES = 32  # for fewer samples, or fewer items, a search is fast enough if it computes all sums
_FEW_ITEMS = 1 << 10


class RowDecision(Decision):
    """A `Decision` for rows of distances, fast for single rows as well as large batches.

    Parameters
    ----------
    tree : RowTree
        Its method `fits` must be true.
    order : ndarray of shape (n_observed,), dtype=int64, or None
        For each observed label, its column in the rows; None if the columns are in the order of the observed
        labels.
    """

    def __init__(self, tree: RowTree, order: NDArray[np.int64] | None) -> None:
        self._tree = tree
        self._column = np.empty(0, dtype=np.int64) if order is None else np.array(order, dtype=np.int64)
        self._tables = _tables(tree)

    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide, and the rows left open; see `Decision.find`.

        No weight changes a sum by more than its own change times the square of the largest distance.
        """
        index = np.empty(len(rows), dtype=np.int64)
        n_open = decide_rows(
            rows,
            self._column,
            *self._tables,
            1 + TIE_RELATIVE,
            error * self._tree.largest**2,
            SURE_TOTALS,
            _most_values(self._tree, len(rows)),
            index,
        )
        if n_open in (WIDE, REFUSED):
            return None
        return index, np.flatnonzero(index == OPEN) if n_open else None


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
        *_tables(tree),
        top,
        _most_values(tree, len(shares)),
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
        plain_sums(weights, powers(tree[distinct], 2), sample[part], which, sums)
        total[part] = sums
    return total


def _tables(tree: RowTree) -> _Tables:
    """Return what the kernels read: arrays that cannot be written to, as numba compiles for each kind."""
    groups = tree.groups
    return (
        _read_only(groups.bounds.reshape(-1)),
        _read_only(tree.distances.reshape(-1)),
        _read_only(groups.begin),
        _read_only(groups.first),
        _read_only(groups.label),
        (tree.relative, tree.absolute, tree.tolerance),
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _most_values(tree: RowTree, n_samples: int) -> int:
    """Return after how many sums the search gives up, because a matrix product would have been faster."""
    if n_samples < _FEW_SAMPLES or tree.n_items <= _FEW_ITEMS:
        return n_samples * tree.n_items
    return tree.most_values(n_samples)
