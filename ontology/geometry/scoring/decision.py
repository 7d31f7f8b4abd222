"""Decision: the best label of each row of weights, found by compiled loops without a value or a ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.ties import FrechetResult

__all__ = ["Decision", "Found"]

Found = tuple[NDArray[np.int64], NDArray[np.int64] | None]
"""The label of each row, and the indices of the rows whose label is still open (None: of no row)."""

_ENTRIES_AT_ONCE = 1 << 20


class Decision(ABC):
    """Finds the labels that `Scorer.score` finds, for rows whose values are not checked yet.

    Parameters
    ----------
    order : ndarray of shape (n_observed,), dtype=int64, or None
        For each observed label, its column in the rows; None if the columns are in the order of the observed
        labels.
    score : callable
        The method `score` of the scorer, which takes rows with columns in the order of the observed labels.
    """

    def __init__(
        self, order: NDArray[np.int64] | None, score: Callable[[NDArray[Any]], FrechetResult]
    ) -> None:
        self._order, self._score = order, score

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return the label of each row; None if any row may be invalid as weights, or for want of memory.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_observed), dtype=float32 or float64
            Weights, C-contiguous, aligned and writable, because numba would compile the loops again for every
            other kind of array.
        """
        found = self.find(rows, 0.0)
        if found is None:
            return None
        index, left = found
        if left is not None:
            step = max(1, _ENTRIES_AT_ONCE // rows.shape[1])
            for start in range(0, len(left), step):
                some = left[start : start + step]
                part = rows[some] if self._order is None else rows[some[:, None], self._order]
                index[some] = self._score(part).index
        return index

    @abstractmethod
    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide although they are inexact, and the rows left open.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_observed)
            As for a call.
        error : float
            The largest sum of differences between the weights of a row and the exact ones, both divided by
            their sum. If it is 0, only rows that rounding may decide are left open.

        Returns
        -------
        found : Found, or None
            The labels of the rows left open are undefined. None as for a call.
        """
