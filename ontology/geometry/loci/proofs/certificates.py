"""Check, in whole numbers, proofs that a label can be best, can be the only best, or can never be best.

Let S[z, i] be the squared distance from label z (a row) to the observed label i (a column), and let w be the
weights. The sum of z is ``F(z) = sum_i w_i S[z, i]``. There are four statements about a row y, each with a
proof that is a short list of whole numbers:

=============================  ==============================================================================
y is best for some weights     weights with F(y) <= F(z) for every z
y is the only best             weights with F(y) < F(z) for every other z
y is best for no weights       multipliers u over other rows with ``sum_z u_z (S[y, i] - S[z, i]) > 0`` for
                               every observed label i: under any weights, one of these rows is better
y is never the only best       the same with >=: under any weights, one of these rows is as good
=============================  ==============================================================================

The origin of a proof does not matter: floating point may propose the numbers that are checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.proofs.exactgame import exact_product
from labelgrove.ontology.geometry.paths.wholenumbers import whole_numbers
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["Competition", "rounded"]

_EXACT_FLOATS = 1 << 53
_SCALES = (1 << 6, 1 << 12, 1 << 20, 1 << 30)


def rounded(mixture: NDArray[np.float64], *, positive: bool) -> Iterator[NDArray[np.int64]]:
    """Yield arrays of whole numbers whose ratios approximate those of `mixture`, more and more exactly.

    If `positive`, every number is at least 1.
    """
    for scale in _SCALES:
        fine = np.maximum(mixture, 0.0) * scale
        yield (np.floor(fine) + 1.0 if positive else np.rint(fine)).astype(np.int64)


class Competition:
    """Labels that compete for the smallest sum, as rows of squared distances in whole numbers.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_observed)
        Finite, non-negative; distinct rows.
    n_rivals : int
        Number of rivals. The rivals are the first rows, and every row is compared with them. Any other row
        can be best only under weights that make it tie with a rival.
    tolerant : bool
        If False, only equal sums tie. If True, sums tie within `TIE_RELATIVE`, as in all decisions on rounded
        numbers (`ontology.geometry.ties`). A row y is then best if ``F(y) <= F(z) (1 + TIE_RELATIVE)`` for
        every row z. It is the only best row if ``F(z) > F(y) (1 + TIE_RELATIVE)`` for every other row z.

    Attributes
    ----------
    squares : ndarray of shape (n_rows, n_observed), dtype=int64 or object
        Squared distances, all in the same unit.
    """

    def __init__(self, distances: NDArray[Any], n_rivals: int, *, tolerant: bool) -> None:
        whole = whole_numbers(distances)
        whole = whole.astype(object) if tolerant else whole
        self.squares = whole * whole
        self.n_rivals = n_rivals
        self._largest = int(self.squares[:n_rivals].max())
        self._one = round(1 / TIE_RELATIVE) if tolerant else 1
        self._more = self._one + 1 if tolerant else 1

    @property
    def tolerant(self) -> bool:
        """Whether sums tie within `TIE_RELATIVE`."""
        return self._more > self._one

    def is_best(self, row: int, weights: NDArray[Any]) -> bool:
        """Return whether no rival has a smaller sum than `row` under `weights`, by the rule of `tolerant`."""
        sums = self._rival_sums(weights)
        own = exact_product(self.squares[row : row + 1], weights)[0]
        return _valid(weights) and bool((self._lenient(sums) >= self._strict(own)).all())

    def is_only_best(self, row: int, weights: NDArray[Any]) -> bool:
        """Return whether every other rival has a larger sum than the rival `row`, by the rule of `tolerant`.

        If so, and no weight is 0, all other rows have larger sums too. For every row that is not a rival,
        some rival is at most as large in every column and smaller in at least one, so the sum of the rival
        is smaller.
        """
        sums = self._rival_sums(weights)
        others = np.delete(sums, row)
        return _valid(weights) and bool((self._strict(others) > self._lenient(sums[row])).all())

    def is_beaten(
        self, row: int, columns: NDArray[np.int64], rivals: NDArray[np.int64], multipliers: NDArray[Any]
    ) -> bool:
        """Return whether a mixture of `rivals` is smaller than `row` in each of the `columns`.

        The mixture is the sum of the rivals' rows times their `multipliers`, divided by the sum of the
        multipliers. If it is smaller, no weights on these columns make `row` a best row.
        """
        mixed = exact_product(self.squares[np.ix_(rivals, columns)].T, multipliers)
        own = self.squares[row, columns].astype(object) * sum(multipliers.tolist())
        return _valid(multipliers) and bool((self._lenient(mixed) < self._strict(own)).all())

    def is_matched(self, row: int, rivals: NDArray[np.int64], multipliers: NDArray[Any]) -> bool:
        """Return whether a mixture of `rivals` is at most as large as `row` in every column.

        The mixture is as in `is_beaten`. If it is at most as large, no weights make `row` the only best row.
        The result is False if `row` itself is part of the mixture.
        """
        mixed = exact_product(self.squares[rivals].T, multipliers)
        own = self.squares[row].astype(object) * sum(multipliers.tolist())
        apart = row not in rivals[multipliers > 0]
        return apart and _valid(multipliers) and bool((self._strict(mixed) <= self._lenient(own)).all())

    def payoff(
        self, row: int, columns: NDArray[np.int64], rivals: NDArray[np.int64], *, alone: bool = False
    ) -> NDArray[Any]:
        """Return a matrix of the entries of each rival minus those of `row`, adjusted by the tie rule.

        The matrix has a row for each of the `rivals` and a column for each of the `columns`. If weights on
        the columns give every row of the matrix a weighted sum of at least 0, they make `row` a best row.
        With `alone`, if every weighted sum is above 0, the weights make `row` the only best row.
        """
        theirs, own = self.squares[np.ix_(rivals, columns)], self.squares[row, columns]
        if alone:
            return np.asarray(self._strict(theirs) - self._lenient(own))
        return np.asarray(self._lenient(theirs) - self._strict(own))

    @cached_property
    def _rival_floats(self) -> NDArray[np.float64]:
        return np.asarray(self.squares[: self.n_rivals], dtype=np.float64)

    def _rival_sums(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the exact sum of each rival.

        No term is negative. So if the largest entry times the sum of the weights is below 2^53, every partial
        sum is a whole number that a float64 holds, and the product in floats, which is faster, is exact.
        """
        rivals = self.squares[: self.n_rivals]
        if rivals.dtype != object and self._largest * sum(weights.tolist()) < _EXACT_FLOATS:
            return np.asarray((self._rival_floats @ weights.astype(np.float64)).astype(np.int64))
        return exact_product(rivals, weights)

    def _strict(self, sums: Any) -> Any:
        return sums if self._one == 1 else sums * self._one

    def _lenient(self, sums: Any) -> Any:
        return sums if self._more == 1 else sums * self._more


def _valid(mixture: NDArray[Any]) -> bool:
    return bool((mixture >= 0).all() and (mixture > 0).any())
