"""Which rows of distances need scoring: equal rows are one class, and classes bounded by another are dropped.

A row *bounds* another where its distances are at most the other's, column by column. Then so is its plain
sum, for any weights, to the last bit: products and sums of non-negative numbers never fall when a factor
rises. The smallest value is therefore found among the classes kept. Which dropped classes are tied with it
follows from their bounds: a class can only be tied where the one that bounds it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.ties import powers

__all__ = ["Classes", "Dominance"]

_BLOCK_ENTRIES = 1 << 21
_FIRST_COLUMNS = 32
_ROUNDS = 64


@dataclass(frozen=True)
class Classes:
    """Labels with equal rows of distances.

    Attributes
    ----------
    row : ndarray of shape (n_classes,), dtype=int64
        The first row of each class, ascending.
    first : ndarray of shape (n_classes + 1,), dtype=int64
        The labels of class c are ``label[first[c]:first[c + 1]]``, ascending.
    label : ndarray of shape (n_labels,), dtype=int64
    """

    row: NDArray[np.int64]
    first: NDArray[np.int64]
    label: NDArray[np.int64]

    @classmethod
    def of(cls, distances: NDArray[Any]) -> Classes:
        """Find the classes of the rows of `distances`, by a 128-bit digest of each."""
        known: dict[bytes, int] = {}
        step = max(1, _BLOCK_ENTRIES // distances.shape[1])
        of_row = np.empty(len(distances), dtype=np.int64)
        for start in range(0, len(distances), step):
            block = np.ascontiguousarray(distances[start : start + step])
            for i, row in enumerate(block, start=start):
                of_row[i] = known.setdefault(blake2b(row, digest_size=16).digest(), len(known))
        label = np.argsort(of_row, kind="stable")
        first = np.searchsorted(of_row[label], np.arange(len(known) + 1))
        return cls(label[first[:-1]], first, label)


@dataclass(frozen=True)
class Dominance:
    """Rows that another row bounds, as a forest below the rows kept.

    Attributes
    ----------
    kept : ndarray of shape (n_kept,), dtype=int64
        The rows that were found to be bounded by no other, ascending.
    begin, below : ndarray, dtype=int64
        Row r bounds ``below[begin[r]:begin[r + 1]]``, by the number of columns in which they are farther.
    n_farther : ndarray, dtype=int64
        That number, in the same order.
    least_gap : float
        The least by which a squared distance of a bounded row exceeds that of the row that bounds it, where
        it does.
    """

    kept: NDArray[np.int64]
    begin: NDArray[np.int64]
    below: NDArray[np.int64]
    n_farther: NDArray[np.int64]
    least_gap: float

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Dominance:
        """Find rows that others bound.

        Notes
        -----
        Not every such row is found. What bounds a row is mostly nearer to everything, and to the observed
        label nearest to it above all: so rows that share their nearest observed label are compared with one
        another's best, by sum of distances, in rounds; a round takes O(n_kept * n_observed) time at most.
        """
        bound_by = _bounds(rows)
        bounded = np.flatnonzero(bound_by >= 0)
        n_farther = np.empty(len(bounded), dtype=np.int64)
        least_gap = np.inf
        step = max(1, _BLOCK_ENTRIES // rows.shape[1])
        for start in range(0, len(bounded), step):
            part = bounded[start : start + step]
            gap = powers(rows[part], 2) - powers(rows[bound_by[part]], 2)
            farther = gap > 0
            n_farther[start : start + step] = farther.sum(axis=1)
            least_gap = min(least_gap, float(gap.min(initial=np.inf, where=farther)))
        by = np.lexsort((n_farther, bound_by[bounded]))
        return cls(
            kept=np.flatnonzero(bound_by < 0),
            begin=np.searchsorted(bound_by[bounded][by], np.arange(len(rows) + 1)),
            below=bounded[by],
            n_farther=n_farther[by],
            least_gap=least_gap,
        )


def _bounds(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return a row that bounds each row, -1 where none was found; rows are distinct."""
    by_sum = np.argsort(rows.sum(axis=1, dtype=np.float64), kind="stable")
    nearest = rows.argmin(axis=1)
    bound_by = np.full(len(rows), -1, dtype=np.int64)
    left = by_sum[np.argsort(nearest[by_sum], kind="stable")]  # by nearest label, then by sum
    step = max(1, _BLOCK_ENTRIES // rows.shape[1])
    for round_ in range(_ROUNDS):
        start = np.searchsorted(nearest[left], nearest[left])
        place = start + round_  # of the row that the others with this nearest label are compared with
        later = np.flatnonzero(np.arange(len(left)) > place)
        if not len(later):
            break
        mine, best = left[later], left[place[later]]
        may = (rows[best, :_FIRST_COLUMNS] <= rows[mine, :_FIRST_COLUMNS]).all(axis=1)
        mine, best, later = mine[may], best[may], later[may]
        for at in range(0, len(mine), step):
            part = slice(at, at + step)
            bounds = (rows[best[part]] <= rows[mine[part]]).all(axis=1)
            bound_by[mine[part][bounds]] = best[part][bounds]
        left = left[bound_by[left] < 0]
    return bound_by
