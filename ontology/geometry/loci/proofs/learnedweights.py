"""Look for weights that make a label best, for many labels at once and without linear programs.

This is the method of multiplicative weights for matrix games. In each round, every row that is not best yet
meets the rival with the smallest sum. Its weights are multiplied by the exponential of the difference between
the rival and the row, column by column: they grow where the rival is farther away. The first weights prefer
the observed labels near the row. On hierarchies most members are best after a few rounds, and a round is one
product of matrices. The weights are only proposals, which are then checked in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["learned_weights"]

_ROUNDS = 60
_FIRST_STEP = 4.0
_NEARNESS = 14.0  # the exponent by which the first weights fall over the largest distance
_BLOCK_ENTRIES = 1 << 22
_CLEAR = 1e-9  # what an only best row is ahead of all rivals; distances are at most 1
_EQUAL = 1e-13


def learned_weights(
    squares: NDArray[np.float64],
    n_rivals: int,
    asked: NDArray[np.int64],
    faces: NDArray[np.bool_],
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield rows and weights that seem to make them best; rows for which none are found are left out.

    Parameters
    ----------
    squares : ndarray of shape (n_rows, n_observed), dtype=float64
        Squared distances, scaled to be at most 1. The first `n_rivals` rows are the rivals.
    n_rivals : int
        Number of rivals.
    asked : ndarray of shape (n_asked,), dtype=int64
        Rows to find weights for.
    faces : ndarray of shape (n_asked, n_observed), dtype=bool
        The columns whose weights may be positive, for each row of `asked`; at least one.

    Yields
    ------
    row : int
        An index of `asked`.
    weights : ndarray of shape (n_observed,)
        Weights with sum one under which, in floating point, no rival has a smaller sum than the row. If the
        row is a rival itself, all others have larger sums.

    Notes
    -----
    At most 60 rounds of O(n_asked * n_rivals * n_observed) time; most rows need less than ten.
    """
    step = max(1, _BLOCK_ENTRIES // max(n_rivals, squares.shape[1]))
    for start in range(0, len(asked), step):
        block = slice(start, start + step)
        yield from _learned(squares, n_rivals, asked[block], faces[block])


def _learned(
    squares: NDArray[np.float64], n_rivals: int, asked: NDArray[np.int64], faces: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    rivals, own = squares[:n_rivals], squares[asked]
    exponent = np.where(faces, -_NEARNESS * np.sqrt(own), -np.inf)
    for n_done in range(_ROUNDS):
        if not len(asked):
            return
        weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        sums = weights @ rivals.T
        is_rival = asked < n_rivals
        sums[np.flatnonzero(is_rival), asked[is_rival]] = np.inf
        strongest = sums.argmin(axis=1)
        ahead = sums[np.arange(len(asked)), strongest] - (weights * own).sum(axis=1)
        best = ahead > np.where(is_rival, _CLEAR, -_EQUAL)
        for i in np.flatnonzero(best).tolist():
            yield int(asked[i]), weights[i]
        asked, own, exponent, strongest = asked[~best], own[~best], exponent[~best], strongest[~best]
        change = rivals[strongest] - own
        largest = np.maximum(np.abs(change).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        exponent = exponent + _FIRST_STEP / np.sqrt(n_done + 1) * change / largest
