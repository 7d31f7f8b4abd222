"""Convert distances to exact whole numbers, by choosing a power of two as their unit.

Every finite float is a whole multiple of some power of two. So all distances are whole multiples of the
smallest of these powers. Taking this power as the unit does not change which of two sums of squared distances
is smaller, so exact arithmetic can use the whole multiples instead of the floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_short", "unit_exponent", "whole_numbers"]

_SHORT_BITS = 31
_MANTISSA_BITS = 53


def are_short(distances: NDArray[Any]) -> bool:
    """Return whether every distance is k * 2^e, with the same exponent e for all and a whole k below 2^31.

    Such distances are called *short numbers*. Sums of a few edge lengths have this form if the lengths are
    whole numbers or fractions such as 3/8. In floats such lengths are added without rounding, so ties between
    the sums are exact.

    Examples
    --------
    >>> are_short(np.array([1.5, 2.0, 0.25])), are_short(np.array([0.1, 0.2]))
    (True, False)
    """
    if distances.dtype.kind in "iu":
        return int(distances.max(initial=0)) < 1 << _SHORT_BITS
    return bool(np.ldexp(distances.max(initial=0), -unit_exponent(distances)) < 1 << _SHORT_BITS)


def whole_numbers(distances: NDArray[Any]) -> NDArray[Any]:
    """Return the distances, divided by the largest power of two that makes all of them whole numbers.

    Parameters
    ----------
    distances : ndarray
        Finite and non-negative. If the dtype is an integer type, nothing is divided.

    Returns
    -------
    whole : ndarray, same shape
        int64 if `are_short` is True for the distances, object (Python integers) otherwise.

    Examples
    --------
    >>> whole_numbers(np.array([1.5, 0.25])), whole_numbers(np.array([1.0, 2.0**40]))
    (array([6, 1]), array([1, 1099511627776], dtype=object))
    """
    short = are_short(distances)
    if distances.dtype.kind in "iu":
        return distances.astype(np.int64 if short else object)
    unit = unit_exponent(distances)
    if short:
        return np.ldexp(distances.astype(np.float64), -unit).astype(np.int64)
    mantissa, exponent = np.frexp(distances.astype(np.float64))
    digits = np.ldexp(mantissa, _MANTISSA_BITS).astype(np.int64).astype(object)
    shift = exponent.astype(np.int64) - _MANTISSA_BITS - unit
    # a negative shift only drops zeros, because the unit divides every number
    left, right = np.maximum(shift, 0).astype(object), np.maximum(-shift, 0).astype(object)
    return np.asarray((digits << left) >> right)


def unit_exponent(distances: NDArray[Any]) -> int:
    """Return the exponent of the largest power of two that divides all distances; 0 if all of them are 0.

    >>> unit_exponent(np.array([1.5, 2.0, 0.0])), unit_exponent(np.array([0.0]))
    (-1, 0)
    """
    mantissa, exponent = np.frexp(distances[distances > 0].astype(np.float64))
    if not len(mantissa):
        return 0
    digits = np.ldexp(mantissa, _MANTISSA_BITS).astype(np.int64)
    trailing = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return int((exponent - _MANTISSA_BITS + trailing).min())
