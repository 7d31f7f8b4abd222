"""Witnesses: weights on observed labels that reach the members of a locus, computed when they are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["PairWitnesses", "SharedWitnesses", "Weights", "Witnesses", "spread"]

Weights = tuple[int, ...]
"""One witness: whole numbers over all observed labels, none negative, not all zero."""


class Witnesses(Sequence[Weights]):
    """One witness for each member, in the order of the members."""

    @overload
    def __getitem__(self, i: int) -> Weights: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Weights, ...]: ...
    def __getitem__(self, i: int | slice) -> Weights | tuple[Weights, ...]:
        if isinstance(i, slice):
            return tuple(self.witness(j) for j in range(*i.indices(len(self))))
        return self.witness(i)

    @abstractmethod
    def witness(self, i: int) -> Weights:
        """Return the witness of member `i`."""

    def entries(self, i: int) -> Iterable[tuple[int, int]]:
        """Return the pairs (column, weight) of witness `i` whose weight is not 0; columns ascending."""
        return ((column, weight) for column, weight in enumerate(self.witness(i)) if weight)


def spread(n_observed: int, entries: Iterable[tuple[int, int]]) -> Weights:
    """Return the witness that consists of `entries`, pairs of a column and its weight; other weights are 0.

    >>> spread(4, [(0, 2), (2, 1)])
    (2, 0, 1, 0)
    """
    weights = [0] * n_observed
    for column, weight in entries:
        weights[column] = weight
    return tuple(weights)


class PairWitnesses(Witnesses):
    """Witnesses that have weight on only one or two observed labels.

    Each witness is stored as the columns of two observed labels and the weights of these labels.

    Parameters
    ----------
    n_observed : int
        Length of each witness.
    columns : ndarray of shape (n_members, 2), dtype=int64
        The columns of the observed labels that have weight.
    weights : ndarray of shape (n_members, 2), dtype=int64 or float64
        The weights; 0 for an unused column. `witness` converts them to coprime whole numbers with exactly the
        same ratio, which is possible for floats too.
    """

    def __init__(self, n_observed: int, columns: NDArray[np.int64], weights: NDArray[Any]) -> None:
        self._n_observed, self._columns, self._weights = n_observed, columns, weights

    @classmethod
    def single(cls, n_observed: int, columns: NDArray[np.int64]) -> PairWitnesses:
        """Return witnesses that each have all weight on one observed label."""
        weights = np.tile(np.array([1, 0]), (len(columns), 1))
        return cls(n_observed, np.column_stack([columns, columns]), weights)

    def __len__(self) -> int:
        return len(self._columns)

    def witness(self, i: int) -> Weights:
        """Return the witness of member `i`."""
        return spread(self._n_observed, self.entries(i))

    def entries(self, i: int) -> tuple[tuple[int, int], ...]:
        """Return the pairs (column, weight) of witness `i` whose weight is not 0; columns ascending."""
        (first, second), (of_first, of_second) = self._columns[i].tolist(), self._weights[i].tolist()
        if of_second == 0:
            return ((first, 1),)
        ratio = Fraction(of_first) / Fraction(of_second)
        if not ratio:
            return ((second, 1),)
        return (first, ratio.numerator), (second, ratio.denominator)


class SharedWitnesses(Witnesses):
    """Witnesses of members, where members with equal rows of distances share one witness.

    Parameters
    ----------
    distinct : sequence of tuple of int
        The distinct witnesses.
    which : ndarray of shape (n_members,), dtype=int64
        The index of each member's witness in `distinct`.
    """

    def __init__(self, distinct: Sequence[Weights], which: NDArray[np.int64]) -> None:
        self._distinct = distinct
        self._which: list[int] = which.tolist()

    def __len__(self) -> int:
        return len(self._which)

    def witness(self, i: int) -> Weights:
        """Return the witness of member `i`."""
        return self._distinct[self._which[i]]
