"""Compiled exponentials of logits in float32, which are the weights of a row up to a common factor.

Each row is read twice: once for its largest logit, and once for the exponentials. They are computed from the
powers of two and a polynomial, several entries at a time, because the loops contain neither branches nor
calls. `bound_of_error` says how far the weights may be from exact ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled, compiled_fused
from labelgrove.ontology.geometry.kernels.lanes import greater, load, store
from labelgrove.ontology.geometry.kernels.outputs.halves import as_float

__all__ = ["TEMPERATURES", "bound_of_error", "write_exponentials"]

TEMPERATURES = 2.0**-100, 2.0**100
"""The lowest and the highest temperature for which `bound_of_error` holds."""

_LEAST = np.float32(-87.0)  # smaller exponents give the same exponential, 2^-125.5
_ONE = np.float32(1.0)
_TURNS = np.float32(1.44269504)  # 1 / log(2)
_TO_WHOLE = np.float32(1.5 * 2.0**23)  # added and taken away again, it rounds to a whole number
_LOG_OF_TWO = np.float32(0.693359375)  # with so few digits that its multiples up to 126 are exact
_REST_OF_LOG = np.float32(-2.12194440e-4)
# exp(x) = 1 + x + x^2 (c[5] + c[4] x + ... + c[0] x^5) for |x| <= log(2) / 2, within 2^-23
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(c)
    for c in (1.9875691e-4, 1.3981999e-3, 8.3334519e-3, 4.1665796e-2, 1.6666665e-1, 5.0000001e-1)
)
_BIAS, _DIGITS = np.int32(127), np.int32(23)


def bound_of_error(n_columns: int) -> float:
    """Return the largest sum of differences between the weights of a row and the exact ones.

    Both kinds of weights are first divided by their sum, over `n_columns` columns.

    Notes
    -----
    Let x be the logits minus the largest one, divided by the temperature, and p the exact weights. The
    difference, the factor and their product are each rounded to float32, so the relative error of the
    exponential of x is at most ``3 * 2^-24 |x|``, and ``2^-22`` for the exponential itself. The sum of
    ``p |x|`` is the entropy of p minus the logarithm of the sum of all exponentials, which is at least 1. So
    it is at most ``log(n_columns)``. Exponents below -87 add at most ``2^-125`` for each column. Dividing by
    the sum doubles these errors. The result is twice as large as needed, which also covers the products of
    errors and the rounding of the exact weights.

    float32 has neither numbers above 2^128 nor steps below 2^-149, and neither matters at temperatures within
    `TEMPERATURES`. A difference that becomes infinite gives an x below -2^27, for which -87 is used anyway. A
    difference near 0 is off by at most 2^-150, and x by at most 2^-50.
    """
    rounding = 2.0**-22 + 3 * 2.0**-24 * math.log(n_columns)
    return 4 * (rounding + n_columns * 2.0**-125)


@compiled
def _largest(rows: NDArray[Any], start: int, stop: int, lanes: NDArray[np.float64]) -> float:
    # the largest entry; NaN counts as less than all others, and comes out in the weights
    lanes[:] = -np.inf
    most = load(lanes, 0)
    for i in range(start, stop - 7, 8):
        most = greater(load(rows, i), most)
    store(lanes, 0, most)
    largest = lanes[0]
    for lane in range(1, 8):
        largest = max(largest, lanes[lane])
    for i in range(stop - (stop - start) % 8, stop):
        largest = max(largest, np.float64(rows[i]))
    return float(largest)


@compiled_fused
def _write_row(row: NDArray[Any], largest: float, factor: np.float32, out: NDArray[np.float32]) -> None:
    # Without a call or a branch, and with indices that cannot be negative, so that several entries are read,
    # computed and written at a time.
    for i in range(len(row)):
        x = np.float32(row[i] - largest) * factor
        x = _LEAST if x < _LEAST else x  # NaN stays
        whole = (x * _TURNS + _TO_WHOLE) - _TO_WHOLE
        rest = x - whole * _LOG_OF_TWO
        rest = rest - whole * _REST_OF_LOG
        value = _C0 * rest + _C1
        value = value * rest + _C2
        value = value * rest + _C3
        value = value * rest + _C4
        value = value * rest + _C5
        value = value * (rest * rest) + (rest + _ONE)
        out[i] = value * as_float(np.int32((np.int32(whole) + _BIAS) << _DIGITS))


@compiled
def write_exponentials(
    rows: NDArray[Any], factor: np.float32, most: float, weights: NDArray[np.float32]
) -> bool:
    """Write the exponentials of the logits of each row, minus the largest one and times `factor`.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns), dtype=float32 or float64
        Logits, C-contiguous.
    factor : float32
        One divided by the temperature, which is within `TEMPERATURES`.
    most : float
        The largest number that a row may contain.
    weights : ndarray of shape (n_samples, n_columns), dtype=float32
        Where to write the exponentials, C-contiguous; it may be `rows`.

    Returns
    -------
    valid : bool
        False if the largest number of a row is infinite or above `most`. A row that contains NaN may count as
        valid; its weights then contain NaN.
    """
    n_samples, n_columns = rows.shape
    flat = rows.reshape(-1)
    lanes = np.empty(8)
    valid = True
    for sample in range(n_samples):
        start = sample * n_columns
        largest = _largest(flat, start, start + n_columns, lanes)
        valid = valid and largest <= most and largest > -np.inf
        _write_row(rows[sample], rows.dtype.type(largest), factor, weights[sample])
    return valid
