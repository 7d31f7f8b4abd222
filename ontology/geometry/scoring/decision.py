"""Decision: the best label of each row of weights, found by compiled loops without a value or a ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Decision", "Found"]

Found = tuple[NDArray[np.int64], NDArray[np.int64] | None]
"""The label of each row, and the indices of the rows whose label is still open (None: of no row)."""


class Decision(ABC):
    """Finds the labels that `Scorer.score` finds, for rows whose values are not checked yet.

    Some rows are left open; the caller scores these with exact weights.
    """

    @abstractmethod
    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide although they are inexact, and the rows left open.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_observed), dtype=float32 or float64
            Weights, C-contiguous, aligned and writable, because numba would compile the loops again for every
            other kind of array. Their columns are in the order that the decision was made for.
        error : float
            The largest sum of differences between the weights of a row and the exact ones, both divided by
            their sum. If it is 0, only rows that rounding may decide are left open.

        Returns
        -------
        found : Found, or None
            The labels of the rows left open are undefined. None if any row may be invalid as weights, or for
            want of memory.
        """
