"""Sums of edge lengths that are rounded once, at the end.

Each length is split into *parts* that add up to it. The first part contains the leading binary digits, the
second part the next ones, and so on. A part has so few digits that floats can add the first parts of many
lengths exactly, and likewise the second parts, and so on. So these sums do not depend on the order of their
terms, and their differences are exact too. A distance computed from them is the exact sum of the lengths on
its path, rounded once. Whole numbers and similar lengths need only one part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.wholenumbers import unit_exponent

__all__ = ["are_exact", "expansion", "narrowed", "parts_of", "rounded"]

_MANTISSA_BITS = 53


def are_exact(lengths: NDArray[np.float64], largest: float) -> bool:
    """Return whether floats represent every sum of `lengths` up to `largest` exactly, without parts.

    >>> are_exact(np.array([0.25, 3.0]), 1e6), are_exact(np.array([0.1, 0.2]), 1.0)
    (True, False)
    """
    return bool(np.ldexp(largest, -unit_exponent(lengths)) <= 1 << _MANTISSA_BITS)


def parts_of(lengths: NDArray[np.float64], n_terms: int, digits: int = _MANTISSA_BITS) -> NDArray[np.float64]:
    """Split each length into parts, so that floats can add the same part of many lengths exactly.

    The sum of the first parts of at most `n_terms` lengths is exact. So is the sum of their second parts, and
    so on.

    Parameters
    ----------
    lengths : ndarray of shape (n,)
        Not negative, at least one of them positive.
    n_terms : int
        Largest number of terms of a sum.
    digits : int, default=53
        Number of mantissa bits of the type in which the sums are stored.

    Returns
    -------
    parts : ndarray of shape (n_parts, n)
        Parts of each length, none negative, the largest first; their sum is exactly `lengths`.

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
    """Rewrite each sum of parts as a sum of terms whose binary digits do not overlap, the largest term first.

    Each term is so small that adding it to the term before it, in floats, would not change that term.

    Parameters
    ----------
    parts : ndarray of shape (n_parts, ...)
        For each part, the exact sum over some lengths; none negative.

    Returns
    -------
    terms : ndarray, same shape
        Terms that add up, over the first axis, to exactly the sums of the parts. Equal sums have equal terms.

    Notes
    -----
    This uses a result of D. E. Knuth and T. J. Dekker: the rounding error of an addition is itself a float,
    and a few more additions compute it.
    """
    terms = parts.copy()
    unsettled = len(terms) > 1
    while unsettled:
        unsettled = False
        for i in range(len(terms) - 1, 0, -1):
            total = terms[i - 1] + terms[i]
            taken = total - terms[i - 1]
            left = (terms[i - 1] - (total - taken)) + (terms[i] - taken)
            # one addition settles two terms
            unsettled |= len(terms) > 2 and bool((total != terms[i - 1]).any())
            terms[i - 1], terms[i] = total, left
    return terms


def rounded(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the parts (first axis), rounded to the nearest float; ties go to the even float.

    >>> rounded(np.array([[1.0], [2.0**-53], [2.0**-200]])).item() - 1
    2.220446049250313e-16
    """
    if len(parts) == 1:
        return np.asarray(parts[0])
    if len(parts) == 2:
        return np.asarray(parts[0] + parts[1])
    terms = expansion(parts)
    total, twice = terms[0], 2 * terms[1]
    # half way between two floats the remainder decides, and the first addition did not include it
    beyond = total + twice
    return np.asarray(np.where((beyond - total == twice) & (terms[1] * terms[2] > 0), beyond, total))


def narrowed(parts: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Split sums of parts into more parts, with so few binary digits that their differences are exact.

    Parameters
    ----------
    parts : ndarray of shape (n_parts, n)
        For each part, exact sums over some lengths.
    digits : int
        Number of mantissa bits of the type in which the differences will be stored.

    Returns
    -------
    narrow : ndarray of shape (n_narrow, n)
        Parts, none negative, the largest first. A difference between two entries of the same row, and also
        the sum of two such differences, has at most `digits` binary digits.
    """
    if not parts.any():
        return parts
    narrow = [parts_of(part, 4, digits) for part in parts if part.any()]
    return np.concatenate(narrow)
