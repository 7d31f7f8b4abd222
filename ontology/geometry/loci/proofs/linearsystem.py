"""Systems of linear equations in whole numbers, solved exactly by digits in a prime base.

Gaussian elimination in whole numbers would take n^3 products of long numbers, with as many digits as
determinants of the matrix. Dixon's method is faster. It inverts the matrix modulo one prime p and finds the
p-adic digits of the solution one by one. Each digit takes two products of a matrix and a vector of short
numbers. Euclid's algorithm turns the digits into fractions. The primes are so small that these products can
be computed exactly in float64, if a matrix of long numbers is first cut into pieces of a few bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearSystem"]

_PRIMES = (33_554_393, 33_554_383, 33_554_371)  # the largest below 2^25
_PRIME_BITS, _HALF_BITS, _EXACT_BITS = 25, 13, 53
_FIRST_DIGITS = 16


class LinearSystem:
    """A square matrix of whole numbers, whose linear systems are solved exactly.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), dtype=object
        Whole numbers.

    Notes
    -----
    O(n^3) to prepare, and O(n^3 b) for each solution with numbers of b bits [1]_.

    References
    ----------
    .. [1] J. D. Dixon (1982), Exact Solution of Linear Equations Using P-Adic Expansions, Numer. Math. 40,
           137-141.

    Examples
    --------
    >>> system = LinearSystem(np.array([[2, 1], [1, 3]], dtype=object))
    >>> system.solve(np.array([1, 1], dtype=object))
    (array([2, 1], dtype=object), 5)
    """

    def __init__(self, matrix: NDArray[Any]) -> None:
        self._matrix = matrix
        self._pieces = _Pieces(matrix)
        self._inverse: NDArray[np.int64] | None = None
        for self._prime in _PRIMES:
            self._inverse = _inverse((matrix % self._prime).astype(np.int64), self._prime)
            if self._inverse is not None:
                break

    def solve(self, right: NDArray[Any], *, transposed: bool = False) -> tuple[NDArray[Any], int] | None:
        """Return whole numbers x and d > 0 with ``matrix @ x == right * d``, in lowest terms.

        Parameters
        ----------
        right : ndarray of shape (n,), dtype=object
            Whole numbers.
        transposed : bool, default=False
            Whether to solve with the transposed matrix.

        Returns
        -------
        x, d : (ndarray of shape (n,), dtype=object, int) or None
            None if the matrix is singular, or at least singular modulo each of a few primes.
        """
        if self._inverse is None:
            return None
        prime, matrix, inverse = self._prime, self._matrix, self._inverse
        pieces = self._pieces
        if transposed:
            matrix, inverse, pieces = matrix.T, inverse.T, pieces.transposed()
        high, low = (
            (inverse >> _HALF_BITS).astype(np.float64),
            (inverse % (1 << _HALF_BITS)).astype(np.float64),
        )
        left, digits = right, []
        most, due = _most_digits(matrix, right), _FIRST_DIGITS
        while True:
            rest = (left % prime).astype(np.float64)
            upper = (high @ rest).astype(np.int64) % prime << _HALF_BITS
            digit = (upper + (low @ rest).astype(np.int64)) % prime
            digits.append(digit)
            left = (left - pieces.times(digit)) // prime
            if len(digits) >= min(due, most):
                found = _fractions(_composed(digits, prime), prime ** len(digits))
                if found and (matrix @ found[0] == right * found[1]).all():
                    return found
                due *= 2


class _Pieces:
    """A matrix of whole numbers, cut into pieces of a few bits, so that float64 gives exact products."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        self._width = _EXACT_BITS - 1 - _PRIME_BITS - len(matrix).bit_length()
        self._pieces = []
        rest = matrix
        while ((rest != 0) & (rest != -1)).any():
            self._pieces.append((rest & ((1 << self._width) - 1)).astype(np.float64))
            rest = rest >> self._width
        self._pieces.append(rest.astype(np.float64))

    def transposed(self) -> _Pieces:
        other = object.__new__(_Pieces)
        other._width, other._pieces = self._width, [piece.T for piece in self._pieces]
        return other

    def times(self, vector: NDArray[np.int64]) -> NDArray[Any]:
        product = np.zeros(len(vector), dtype=object)
        short = vector.astype(np.float64)
        for piece in reversed(self._pieces):
            product = (product << self._width) + (piece @ short).astype(np.int64)
        return product


def _inverse(matrix: NDArray[np.int64], prime: int) -> NDArray[np.int64] | None:
    n = len(matrix)
    table = np.concatenate([matrix, np.eye(n, dtype=np.int64)], axis=1)
    for c in range(n):
        usable = np.flatnonzero(table[c:, c])
        if not len(usable):
            return None
        r = c + int(usable[0])
        table[[c, r]] = table[[r, c]]
        table[c] = table[c] * pow(int(table[c, c]), -1, prime) % prime
        factor = table[:, c].copy()
        factor[c] = 0
        table = (table - np.multiply.outer(factor, table[c])) % prime
    return table[:, n:]


def _most_digits(matrix: NDArray[Any], right: NDArray[Any]) -> int:
    """Return how many digits are enough for the solution, according to Hadamard's bound on determinants."""
    squares = (matrix * matrix).sum(axis=1) + right * right
    bits = sum(int(square).bit_length() / 2 for square in squares)
    return math.ceil((2 * bits + 2) / (_PRIME_BITS - 1))


def _composed(digits: list[NDArray[np.int64]], prime: int) -> NDArray[Any]:
    """Return the numbers with the given digits in base `prime`, the least significant digit first."""
    parts, base = [digit.astype(object) for digit in digits], prime
    while len(parts) > 1:
        if len(parts) % 2:
            parts.append(np.zeros(len(parts[0]), dtype=object))
        parts = [low + high * base for low, high in zip(parts[::2], parts[1::2], strict=True)]
        base *= base
    return parts[0]


def _fractions(residues: NDArray[Any], modulus: int) -> tuple[NDArray[Any], int] | None:
    """Return the numerators and the common denominator of fractions that equal `residues` modulo `modulus`.

    The numerators and the denominator are at most ``sqrt(modulus / 2)`` in absolute value. Returns None if no
    such fractions are found.
    """
    bound = math.isqrt(modulus // 2)
    denominator = 1
    for residue in residues.tolist():
        scaled = residue * denominator % modulus
        if min(scaled, modulus - scaled) > bound:
            denominator *= _denominator(scaled, modulus, bound)
            if denominator > bound:
                return None
    numerators = residues * denominator % modulus
    numerators = np.where(numerators > bound, numerators - modulus, numerators)
    common = math.gcd(denominator, *numerators.tolist())
    return numerators // common, denominator // common


def _denominator(residue: int, modulus: int, bound: int) -> int:
    """Return the smallest denominator of the fractions that equal `residue` modulo `modulus`.

    Only fractions whose numerator is at most `bound` in absolute value are considered.
    """
    (before, now), (last, factor) = (modulus, residue), (0, 1)
    while now > bound:
        quotient, rest = divmod(before, now)
        before, now = now, rest
        last, factor = factor, last - quotient * factor
    return abs(factor)
