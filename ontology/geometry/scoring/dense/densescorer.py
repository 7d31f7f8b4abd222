"""DenseScorer: exact Fréchet means from rows of distances, on any space and with any exponent.

Each allowed label has one row of distances. The scorer takes a block of rows at a time, raises their
distances to the exponent, and multiplies the resulting matrix by the weights of the samples. The product
serves only as a filter; it is computed in float32, or in float64 if float32 might overflow or lose too many
digits. All terms of the product are non-negative, so its relative rounding error has a proven bound. A row
becomes a finalist if, with rounding errors up to this bound, it may be best or tied with the best. The plain
sum decides among the finalists (see `ontology.geometry.ties`). Only a few blocks are in memory at any time,
never the values of all samples for all labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.scoring.frechetscorer import Scorer
from labelgrove.ontology.geometry.scoring.ranking import (
    Finalists,
    gathered,
    in_halves,
    ranked,
)
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.ties import (
    TIE_RELATIVE,
    FrechetResult,
    check_beta,
    check_weights,
    largest_power,
    plain_sums,
    powers,
    sound_weights,
    tied,
)

__all__ = ["DenseScorer", "RowsOnDemand"]

_BLOCK_ENTRIES = 1 << 21
_BATCH = 1024
_MOST_PAIRS = 1 << 22
_LARGEST_SINGLE = 1e30
_DTYPES = (np.uint8, np.uint16, np.float32, np.float64)
_MOST_SINGLE = 1 << 20  # above it, the error bound of a float32 sum is useless


class Rows(Protocol):
    """Input of a `DenseScorer`: a matrix, or an object whose rows are sliced and indexed as in a matrix."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_labels, n_observed)."""
        ...

    def __getitem__(self, rows: slice | NDArray[np.int64], /) -> NDArray[Any]:
        """Return the distances from the labels `rows` to all observed labels."""
        ...


class RowsOnDemand:
    """The distances from the allowed labels of a space to some of its points, measured when they are read.

    Parameters
    ----------
    space : MetricSpace
        The space, whose allowed labels are the rows.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels: the columns.
    """

    def __init__(self, space: MetricSpace, points: NDArray[np.int64]) -> None:
        self._space, self._points = space, points
        self.shape = (space.n_labels, len(points))

    def __getitem__(self, rows: slice | NDArray[np.int64], /) -> NDArray[Any]:
        """Measure the distances from the labels `rows` to all the points."""
        index = np.arange(*rows.indices(self.shape[0])) if isinstance(rows, slice) else rows
        return self._space.distances(index, self._points)


class DenseScorer(Scorer):
    """Scores every allowed label from its distances to the observed labels.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_observed) or RowsOnDemand
        Distances from each allowed label, in canonical order, to each observed label, in the order of the
        columns of the weights.
    beta : float, default=2
        Exponent of the distances, positive.

    Notes
    -----
    O(n_samples * n_observed * n_labels) time, at the speed of a float32 matrix product.

    Examples
    --------
    >>> DenseScorer(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8)).score([[1.0, 1.0]]).index
    array([1])
    """

    def __init__(self, distances: Rows, *, beta: float = 2) -> None:
        _refuse_unfit(distances)
        self.beta = check_beta(beta)
        self.n_labels, self.n_observed = distances.shape
        self._distances = distances

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights."""
        checked = sound_weights(given)
        batches = self.decided(checked, candidates, top)
        return gathered(len(checked), top, ((of, ranked(*finalists, top)) for of, finalists in batches))

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        ((_, (_, row, total)),) = self.decided(sound_weights(given), None, 1)
        return row[tied(total)]

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label; shape (n_samples, n_labels), dtype=float64.

        Raises
        ------
        WeightError, InputError
            If weights break a rule of `check_weights`, or a distance to the power of `beta` exceeds 1e157.

        Notes
        -----
        The values come from a float64 matrix product. They equal the plain sums if these are whole numbers
        below 2^53; otherwise the relative difference is about ``n_observed * 2**-53``.
        """
        checked = check_weights(weights, self.n_observed)
        out = np.empty((len(checked), self.n_labels))
        step = max(1, _BLOCK_ENTRIES // max(self.n_observed, len(checked)))
        for start in range(0, self.n_labels, step):
            block = self._distances[start : start + step]
            largest_power(block, self.beta)
            np.matmul(checked, powers(block, self.beta).T, out=out[:, start : start + step])
        return out

    def decided(
        self, weights: NDArray[np.float64], rows: NDArray[np.int64] | None, top: int
    ) -> Iterator[tuple[slice, Finalists]]:
        """Yield the samples (a slice) and finalists of each batch; split batches with too many finalists."""
        sifted = in_halves(len(weights), _BATCH, lambda of: self.sifted(weights[of], rows, top))
        return ((of, (*pairs, self.totals(weights[of], *pairs))) for of, pairs in sifted)

    def sifted(
        self, weights: NDArray[np.float64], rows: NDArray[np.int64] | None, top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the finalists as sorted (sample, row) pairs, or None if there are too many for memory.

        The finalists include the `top` best rows of each sample, and all rows tied with them.
        """
        sieve = _Sieve(weights, top)
        n_rows = self.n_labels if rows is None else len(rows)
        step = max(1, _BLOCK_ENTRIES // max(self.n_observed, len(weights)))
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            wanted = slice(start, stop) if rows is None else rows[start:stop]
            sieve.add(np.arange(start, stop), self._distances[wanted], self.beta)
            if sieve.overflows():
                return None
        sample, row = sieve.pairs()
        return sample, row if rows is None else rows[row]

    def totals(
        self, weights: NDArray[np.float64], sample: NDArray[np.int64], row: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each (sample, row) pair, reading each row of distances once."""
        total = np.empty(len(row))
        by = np.argsort(row, kind="stable")
        step = max(1, _BLOCK_ENTRIES // self.n_observed)
        for start in range(0, len(by), step):
            part = by[start : start + step]
            distinct, which = np.unique(row[part], return_inverse=True)
            block = self._distances[distinct]
            largest_power(block, self.beta)  # raises if sums may overflow
            powered = powers(block, self.beta)
            of_sample = weights.T.take(sample[part], axis=1)
            total[part] = plain_sums(of_sample, powered.T, which)
        return total


def _refuse_unfit(distances: Any) -> None:
    """Raise `SpaceError` if `distances` has a wrong shape, dtype or value.

    If `distances` is not an array but a `RowsOnDemand`, only its shape is checked.
    """
    shape = getattr(distances, "shape", ())
    if len(shape) != 2 or 0 in shape:
        raise SpaceError(
            f"distances: shape {shape} given; expected (n_labels, n_observed), with at least 1 label and "
            "1 observed label"
        )
    if not isinstance(distances, np.ndarray):
        return
    if isinstance(distances, np.ma.MaskedArray) or distances.dtype not in _DTYPES:
        raise SpaceError(
            f"distances: {type(distances).__name__} of dtype {distances.dtype} given; give an array of "
            "uint8, uint16, float32 or float64"
        )
    if distances.dtype.kind == "f" and not (distances.min() >= 0 and distances.max() < np.inf):
        raise SpaceError(
            "distances: contain NaN, infinity or a negative number; each must be finite and at least 0"
        )


class _Sieve:
    """Keeps the pairs of a sample and a row of distances that a matrix product cannot rule out.

    Each row of distances belongs to one allowed label. A kept (sample, row) pair means that this label may be
    among the answers for the sample. A product rules a pair out only if rounding cannot change the verdict.
    Let u be the rounding unit. A sum of n non-negative products, added in any order, lies within a factor of
    ``1 +- (n + 8) u`` of the true value, except for products too small for the floating-point format.

    Parameters
    ----------
    weights : ndarray of shape (n_samples, n_observed)
        Weights that have passed `check_weights`.
    top : int
        Number of labels requested for each sample.
    """

    def __init__(self, weights: NDArray[np.float64], top: int) -> None:
        self._top = top
        self._share = weights / weights.sum(axis=1, keepdims=True)
        self._single_share = self._share.astype(np.float32)
        # shares below the normal range slow every product down; `absolute` in `add` allows for dropping them
        self._single_share[self._single_share < np.finfo(np.float32).tiny] = 0
        # the tie rule, plus the rounding error of the two plain sums that it compares
        self._tolerance = 1 + TIE_RELATIVE + 8 * (weights.shape[1] + 8) * 2.0**-53
        self._best = np.full((top, len(weights)), np.inf)  # upper bounds of the smallest values
        self._pairs: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self._n_pairs = 0
        # one block of powers and its product, reused for every block of the same size
        self._powered = np.empty((0, weights.shape[1]), dtype=np.float32)
        self._product = np.empty((0, len(weights)), dtype=np.float32)

    def add(self, rows: NDArray[np.int64], distances: NDArray[Any], beta: float) -> None:
        """Compare a block of rows with the best rows so far, and keep the pairs that cannot be ruled out.

        `rows` contains the indices of the rows in the block, and `distances` the rows themselves.
        """
        n_observed = distances.shape[1]
        largest = largest_power(distances, beta)
        approximate: NDArray[Any]
        if largest <= _LARGEST_SINGLE and n_observed <= _MOST_SINGLE:
            approximate = self._single(distances, beta)
            relative, absolute = (n_observed + 8) * 2.0**-24, n_observed * 2.0**-125 * (1 + largest)
        else:
            approximate = powers(distances, beta) @ self._share.T
            relative, absolute = (n_observed + 8) * 2.0**-53, n_observed * 2.0**-1020 * (1 + largest)
        relative *= 1.25  # the bound is of first order; this covers the higher orders
        smallest = approximate if len(approximate) <= self._top else _smallest(approximate, self._top)
        above = (smallest.astype(np.float64) + absolute) / (1 - relative)
        self._best = _smallest(np.concatenate([self._best, above]), self._top)
        limit = self.bound() * (1 + relative) + absolute
        within = np.flatnonzero(approximate <= _rounded_down(limit, approximate.dtype))
        at, sample = np.divmod(within, len(limit))
        least = (approximate.reshape(-1)[within].astype(np.float64) - absolute) / (1 + relative)
        self._pairs.append((sample, rows[at], least))
        self._n_pairs += len(at)

    def _single(self, distances: NDArray[Any], beta: float) -> NDArray[np.float32]:
        """Return, for each row and sample, the weighted sum of ``distances**beta``, per unit of weight.

        The result is float32 of shape (n_rows, n_samples); the next call overwrites it.
        """
        if len(self._powered) < len(distances):
            self._powered = np.empty(distances.shape, dtype=np.float32)
            self._product = np.empty((len(distances), len(self._share)), dtype=np.float32)
        powered = self._powered[: len(distances)]
        if beta == 2:  # squared in float32: two more roundings, of the eight to spare in the bound
            np.copyto(powered, distances, casting="same_kind")
            np.multiply(powered, powered, out=powered)
        else:
            np.copyto(powered, powers(distances, beta), casting="same_kind")
        return np.matmul(powered, self._single_share.T, out=self._product[: len(distances)])

    def bound(self) -> NDArray[np.float64]:
        """Return, for each sample, the largest sum per unit of weight that a finalist can have.

        The shape is (n_samples,).
        """
        bound: NDArray[np.float64] = self._best.max(axis=0) * self._tolerance
        return bound

    def overflows(self) -> bool:
        """Return whether the kept pairs need too much memory, so that the caller should split the batch.

        The result is False for a batch of one sample, which cannot be split.
        """
        if self._n_pairs <= _MOST_PAIRS:
            return False
        self._shrink()
        return self._n_pairs > _MOST_PAIRS // 2 and len(self._share) > 1

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sample and row of each kept pair, sorted."""
        self._shrink()
        ((sample, row, _),) = self._pairs
        by = np.lexsort((row, sample))
        return sample[by], row[by]

    def _shrink(self) -> None:
        """Drop the kept pairs that are ruled out by better rows that were added later."""
        sample, row, least = (np.concatenate(column) for column in zip(*self._pairs, strict=True))
        kept = least <= self.bound()[sample]
        self._pairs = [(sample[kept], row[kept], least[kept])]
        self._n_pairs = int(kept.sum())


def _rounded_down(limit: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return, for each limit, the largest number of `dtype` that is not above it.

    Numbers of `dtype` can be compared with the result directly, without converting them to float64.
    """
    nearest = limit.astype(dtype)
    return np.where(nearest > limit, np.nextafter(nearest, dtype.type(0)), nearest)


def _smallest(values: NDArray[Any], top: int) -> NDArray[Any]:
    """Return the `top` smallest numbers of each column, in any order."""
    if top == 1:
        return np.asarray(values.min(axis=0, keepdims=True))
    return np.asarray(np.partition(values, top - 1, axis=0)[:top])
