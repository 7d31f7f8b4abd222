"""The simplex method in fixed-point numbers with any number of bits.

A corner of a matrix game consists of the rows and columns that the best mixtures use. If float64 is not exact
enough to find the right corner, numbers with more bits are used. They cost far less than exact whole numbers,
which would get as many digits as determinants of the payoff matrix. The answer is rounded, so it is only a
proposal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["corner_of_game"]

_STEPS = 20  # times rows and columns: the limit ends the method if rounding makes it cycle


def corner_of_game(
    payoff: NDArray[Any], unit: int, n_bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the rows and the columns that the best mixtures of a matrix game use, as a proposal.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns), dtype=object
        The payoffs times ``2**unit``, as whole numbers above ``-2**unit``.
    unit : int
        Exponent of the power of two by which the payoffs have been multiplied.
    n_bits : int
        Number of bits after the binary point in the computation. Numbers that differ from 0 only in the
        second half of these bits are treated as 0.

    Returns
    -------
    rows, columns : ndarray of int64
        Equally many rows and columns. The result is None if the method does not come to an end.

    Examples
    --------
    >>> rows, columns = corner_of_game(np.array([[3, -1], [-1, 1], [5, 5]], dtype=object), 4, 64)
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 1])
    """
    n_rows, n_columns = payoff.shape
    one, noise = 1 << n_bits, 1 << (n_bits // 2)
    table = np.zeros((n_columns + 1, n_rows + 1), dtype=object)
    # shifted to be positive, as in `ontology.geometry.loci.proofs.exactgame.solve_game`
    table[:-1, :-1] = (payoff.T + (1 << unit)) * one >> unit
    table[:-1, -1] = one
    table[-1, :-1] = -one
    basic, outside = np.arange(n_rows, n_rows + n_columns), np.arange(n_rows)
    for _ in range(_STEPS * (n_rows + n_columns)):
        enter = int(table[-1, :-1].argmin())
        if table[-1, enter] >= -noise:
            return np.sort(basic[basic < n_rows]), np.sort(outside[outside >= n_rows] - n_rows)
        usable = np.flatnonzero(table[:-1, enter] > noise)
        if not len(usable):
            return None
        ratios = np.maximum(table[usable, -1], 0) * one // table[usable, enter]
        leave = int(usable[ratios.argmin()])
        _exchange(table, leave, enter, n_bits)
        basic[leave], outside[enter] = outside[enter], basic[leave]
    return None


def _exchange(table: NDArray[Any], r: int, c: int, n_bits: int) -> None:
    pivot, column = table[r, c], table[:, c].copy()
    row = (table[r] << n_bits) // pivot
    table -= np.multiply.outer(column, row) >> n_bits
    table[r], table[:, c] = row, -(column << n_bits) // pivot
    table[r, c] = (1 << 2 * n_bits) // pivot
