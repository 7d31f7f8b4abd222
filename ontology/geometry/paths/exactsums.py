"""Sums of edge lengths that are rounded once, at the end.

Lengths are split into *parts*: multiples of ever smaller powers of two, so narrow that floats hold every sum
of them that can occur. Such sums do not depend on any order, their differences cancel nothing, and a
distance made of them is the exact sum of the lengths on its way, rounded once. Whole numbers and the like are
one part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.wholenumbers import unit_exponent

__all__ = ["are_exact", "expansion", "narrowed", "parts_of", "rounded"]

_MANTISSA_BITS = 53


def are_exact(lengths: NDArray[np.float64], largest: float) -> bool:
    """Return whether floats hold every sum of `lengths` that is at most `largest`, without parts.

    >>> are_exact(np.array([0.25, 3.0]), 1e6), are_exact(np.array([0.1, 0.2]), 1.0)
    (True, False)
    """
    return bool(np.ldexp(largest, -unit_exponent(lengths)) <= 1 << _MANTISSA_BITS)


def parts_of(lengths: NDArray[np.float64], n_terms: int, digits: int = _MANTISSA_BITS) -> NDArray[np.float64]:
    """Split lengths so that sums of up to `n_terms` of one part are exact.

    Parameters
    ----------
    lengths : ndarray of shape (n,)
        Not negative, at least one of them positive.
    n_terms : int
        Most terms of a sum.
    digits : int, default=53
        Binary digits of the numbers that the sums are held in.

    Returns
    -------
    parts : ndarray of shape (n_parts, n)
        None negative, the largest first; their sum is `lengths`, exactly.

    Examples
    --------
    >>> parts_of(np.array([3.0, 2.0**-60]), 2).tolist()
    [[3.0, 0.0], [0.0, 8.673617379884035e-19]]
    """
    unit = unit_exponent(lengths)
    width = digits - n_terms.bit_length()
    n_parts = max(1, -(-(int(np.frexp(lengths.max())[1]) - unit) // width))
    rest = lengths
    parts = np.empty((n_parts, len(lengths)))
    for k, part in enumerate(parts):
        exponent = unit + width * (n_parts - 1 - k)
        part[:] = np.ldexp(np.floor(np.ldexp(rest, -exponent)), exponent)
        rest = rest - part
    return parts


def expansion(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of parts as numbers of which each holds what the ones before it leave.

    Parameters
    ----------
    parts : ndarray of shape (n_parts, ...)
        Exact sums of parts, none negative.

    Returns
    -------
    terms : ndarray, same shape
        With the same sum, exactly. Equal terms are equal sums.

    Notes
    -----
    After D. E. Knuth and T. J. Dekker: the rounding error of an addition is a float, found by a few more.
    """
    terms = parts.copy()
    unsettled = len(terms) > 1
    while unsettled:
        unsettled = False
        for i in range(len(terms) - 1, 0, -1):
            total = terms[i - 1] + terms[i]
            taken = total - terms[i - 1]
            left = (terms[i - 1] - (total - taken)) + (terms[i] - taken)
            # two terms are settled by one addition
            unsettled |= len(terms) > 2 and bool((total != terms[i - 1]).any())
            terms[i - 1], terms[i] = total, left
    return terms


def rounded(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of parts, each the float that is nearest to it, of two the even one.

    >>> rounded(np.array([[1.0], [2.0**-53], [2.0**-200]])).item() - 1
    2.220446049250313e-16
    """
    if len(parts) == 1:
        return np.asarray(parts[0])
    if len(parts) == 2:
        return np.asarray(parts[0] + parts[1])
    terms = expansion(parts)
    total, twice = terms[0], 2 * terms[1]
    # half way between two floats what is left decides, and the first addition has not seen it
    beyond = total + twice
    return np.asarray(np.where((beyond - total == twice) & (terms[1] * terms[2] > 0), beyond, total))


def narrowed(parts: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Return sums of parts as more parts, of fewer binary digits, whose differences are as exact.

    Parameters
    ----------
    parts : ndarray of shape (n_parts, n)
        Exact sums of parts.
    digits : int
        Binary digits of the numbers that differences are to be held in.

    Returns
    -------
    narrow : ndarray of shape (n_narrow, n)
        None negative, the largest first. The sum of two differences of one row has at most `digits` digits.
    """
    if not parts.any():
        return parts
    narrow = [parts_of(part, 4, digits) for part in parts if part.any()]
    return np.concatenate(narrow)
