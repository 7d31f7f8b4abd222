"""EuclideanSpace: labels as vectors, such as class embeddings, and their Fréchet means without a matrix.

The weighted sum of squared distances from y to l_1, ..., l_K expands to
``W |y|^2 - 2 <y, sum_i w_i l_i> + const``, so that one inner product with each label finds the Fréchet mean.
Expanded sums cancel, so they only filter, with a proven bound; finalists are decided by the plain sum over
their distances, as everywhere (`ontology.geometry.ties`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ontology.errors import InputError, SpaceError
from ontology.geometry.scoring.densescorer import DenseScorer, RowsOnDemand
from ontology.geometry.spaces import MetricSpace
from ontology.geometry.ties import TIE_RELATIVE
from ontology.keys import Keys

__all__ = ["EuclideanScorer", "EuclideanSpace"]

_BLOCK_ENTRIES = 1 << 21
_CACHED_ENTRIES = 1 << 15
_MOST_PAIRS = 1 << 22
_SMALLEST, _LARGEST = 1e-75, 1e75


class EuclideanSpace(MetricSpace):
    """Straight-line distances between vectors.

    Parameters
    ----------
    embeddings : ndarray of shape (n_points, n_dimensions)
        One vector for each label, finite real numbers, read as given and kept in their dtype (memory maps
        included); every number is taken into float64 before anything is computed.
    keys : Keys or iterable of str, length n_points
        All labels, one for each row: their order is the canonical order.
    allowed : array_like of int, optional
        Indices of the labels that may be an answer; all by default.
    normalize : bool, default=False
        Whether each vector is first divided by its length, in float64.

    Attributes
    ----------
    embeddings : ndarray of shape (n_points, n_dimensions)
        The vectors that distances are measured between.

    Raises
    ------
    SpaceError
        For a wrong shape or dtype, NaN, infinity, a largest number outside 1e-75..1e75 (where squares keep
        their bits), and, with `normalize`, a vector of zeros; the first such label is named.

    Notes
    -----
    A distance is the square root of the sum of squared differences, added in the order of the dimensions, in
    float64: symmetrical, and the same whatever else is asked for in the same call. Fréchet variances are
    sums of the squares of these distances. Two labels may share a vector: they tie wherever they compete.

    Examples
    --------
    >>> space = EuclideanSpace(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]), ["a", "b", "c"])
    >>> space.distances(rows=[0]).tolist(), space.diameter()
    ([[0.0, 5.0, 1.0]], 5.0)
    """

    kind = "euclidean"

    def __init__(
        self,
        embeddings: NDArray[Any],
        keys: Iterable[str],
        allowed: ArrayLike | None = None,
        *,
        normalize: bool = False,
    ) -> None:
        if isinstance(keys, str):
            raise InputError(f"keys: the string {keys!r} given; give a list of keys, such as [{keys!r}]")
        points = keys if isinstance(keys, Keys) else Keys.from_strings(keys)
        super().__init__(points, allowed)
        vectors = np.asarray(embeddings)
        if vectors.dtype.kind not in "iuf" or vectors.dtype.itemsize > 8:
            raise SpaceError(f"embeddings: dtype {vectors.dtype}; give real numbers of at most 64 bits")
        if vectors.ndim != 2 or len(vectors) != len(points) or not vectors.size:
            raise SpaceError(
                f"embeddings: shape {vectors.shape} for {len(points)} keys; give one row for each key, "
                "with at least one label and one dimension"
            )
        step = max(1, _BLOCK_ENTRIES // vectors.shape[1])
        blocks = (vectors[start : start + step].astype(np.float64) for start in range(0, len(vectors), step))
        size = np.concatenate([np.abs(block).max(axis=1) for block in blocks])
        self._refuse(~np.isfinite(size), "hold NaN or infinity", "a vector is made of finite numbers")
        if normalize:
            self._refuse(size == 0, "are all zero", "only vectors with a direction can be normalised")
            scaled = vectors.astype(np.float64) / size[:, None]
            vectors = scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
        elif size.any():
            extreme = (size > _LARGEST) | (size.max() < _SMALLEST)
            self._refuse(extreme, f"reach {size.max():g}", "scale them so that the largest is in 1e-75..1e75")
        self.embeddings = vectors

    def _refuse(self, bad: NDArray[np.bool_], what: str, rule: str) -> None:
        found = np.flatnonzero(bad)
        if len(found):
            first = self.points[int(found[0])]
            raise SpaceError(f"embeddings: {len(found)} vectors {what}, that of {first!r} first; {rule}")

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of `distances`."""
        return np.dtype(np.float64)

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels.

        Notes
        -----
        O(n_labels^2 n_dimensions) time at the speed of a matrix product, a block of rows in memory at a time;
        each label's farthest is found by expanded squares, then measured. So the distance returned is that of
        a pair, and no other is larger by more than rounding, ``8 (n_dimensions + 8) 2**-53`` of the squared
        radius of the allowed labels.
        """
        among = np.arange(self.n_points) if self.allowed is None else self.allowed
        vectors = self.embeddings[among].astype(np.float64)
        vectors -= vectors.mean(axis=0)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        largest = 0.0
        step = max(1, _BLOCK_ENTRIES // len(among))
        for start in range(0, len(among), step):
            block = slice(start, start + step)
            far = (squares - 2 * (vectors[block] @ vectors.T)).argmax(axis=1)
            pairs = self._paired(among[block], among[far])
            largest = max(largest, float(pairs.max()))
        return largest

    def _paired(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance of each of `first` to its partner in `second`."""
        return _root_of_sum(
            self.embeddings[first].T.astype(np.float64) - self.embeddings[second].T.astype(np.float64)
        )

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        out = np.empty((len(rows), len(cols)))
        n_dimensions = self.embeddings.shape[1]
        entries = max(1, _CACHED_ENTRIES // n_dimensions)
        wide = max(1, min(len(cols), entries))
        high = max(1, entries // wide)
        for left in range(0, len(cols), wide):
            right = np.ascontiguousarray(self.embeddings[cols[left : left + wide]].T, dtype=np.float64)
            for top in range(0, len(rows), high):
                here = np.ascontiguousarray(self.embeddings[rows[top : top + high]].T, dtype=np.float64)
                difference = here[:, :, None] - right[:, None, :]
                found = _root_of_sum(difference.reshape(n_dimensions, -1))
                out[top : top + high, left : left + wide] = found.reshape(here.shape[1], -1)
        return out


def _root_of_sum(difference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root of the sum of squares of each column, added row after row; `difference` is consumed.

    A reduction over the first axis adds whole rows in turn; over a single column numpy would add pairwise,
    hence the spare one.
    """
    n_columns = difference.shape[1]
    if n_columns == 1:
        difference = np.repeat(difference, 2, axis=1)
    np.multiply(difference, difference, out=difference)
    total: NDArray[np.float64] = np.add.reduce(difference, axis=0)
    return np.sqrt(total)[:n_columns]


class EuclideanScorer(DenseScorer):
    """Exact Fréchet means (beta = 2) in O(n_labels * n_dimensions) for each sample.

    Answers, values and numbers of ties are those of `DenseScorer` over the same distances, to the last bit;
    only the finalists are found otherwise.

    Parameters
    ----------
    space : EuclideanSpace
        The labels.
    observed : array_like of shape (n_observed,), dtype=int
        Point indices of the observed labels, in the order of the columns of the weights.

    Notes
    -----
    Let a be the mean of the observed vectors, x' = x - a, p = w / W, m = sum_i p_i l_i', r the largest
    |l_i'|, and ``g(y) = |y'|^2 - 2 <y', m>``: the Fréchet variance divided by W, less a constant. With u the
    rounding unit, d dimensions and K labels, the rounding of x', of p and m, and of the products in g moves
    it by at most ``4 (d + K + 16) u (|y'| + r)^2``, and the plain sum is off by ``(d + K + 16) u`` of itself,
    itself no more than ``(|y'| + r)^2``. A label that may be tied with the best is therefore within
    ``E(y) + E(z)`` of the smallest g(z), with ``E = (8 (d + K + 16) u + 2 TIE_RELATIVE) (|y'| + r)^2``.

    Examples
    --------
    >>> space = EuclideanSpace(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "c"])
    >>> EuclideanScorer(space, [0, 2]).score([[1.0, 1.0], [9.0, 1.0]]).index
    array([1, 0])
    """

    def __init__(self, space: EuclideanSpace, observed: ArrayLike) -> None:
        points = np.asarray(observed, dtype=np.int64)
        super().__init__(RowsOnDemand(space, points), beta=2)
        self._space = space
        vectors = space.embeddings[points].astype(np.float64)
        self._origin = vectors.mean(axis=0)
        self._observed = vectors - self._origin
        radius = np.sqrt(np.einsum("ij,ij->i", self._observed, self._observed).max())
        self._square = np.empty(self.n_labels)
        step = max(1, _BLOCK_ENTRIES // vectors.shape[1])
        for start in range(0, self.n_labels, step):
            block = self._vectors(np.arange(start, min(start + step, self.n_labels)))
            self._square[start : start + step] = np.einsum("ij,ij->i", block, block)
        relative = 8 * (vectors.shape[1] + len(points) + 16) * 2.0**-53 + 2 * TIE_RELATIVE
        self._slack = relative * (np.sqrt(self._square) + radius) ** 2

    def _vectors(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vectors of allowed labels, seen from the mean of the observed ones."""
        at = labels if self._space.allowed is None else self._space.allowed[labels]
        moved: NDArray[np.float64] = self._space.embeddings[at].astype(np.float64)
        moved -= self._origin
        return moved

    def sifted(
        self, weights: NDArray[np.float64], rows: NDArray[np.int64] | None, top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the (sample, row) pairs that may be among the `top` or tied, sorted; None: too many."""
        labels = np.arange(self.n_labels) if rows is None else rows
        mean = -2 * ((weights / weights.sum(axis=1, keepdims=True)) @ self._observed).T
        best = np.full((top, len(weights)), np.inf)  # upper bounds of the smallest values
        kept: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        n_pairs = 0
        step = max(1, _BLOCK_ENTRIES // max(len(mean), len(weights)))
        for start in range(0, len(labels), step):
            block = labels[start : start + step]
            value = self._vectors(block) @ mean
            value += self._square[block, None]
            slack = self._slack[block, None]
            best = np.concatenate([best, value + slack])
            best = np.partition(best, top - 1, axis=0)[:top] if top > 1 else best.min(axis=0, keepdims=True)
            value -= slack
            at, sample = np.nonzero(value <= best.max(axis=0))
            kept.append((sample, block[at], value[at, sample]))
            n_pairs += len(at)
            if n_pairs > _MOST_PAIRS and len(weights) > 1:
                return None
        sample, row, least = (np.concatenate(column) for column in zip(*kept, strict=True))
        fair = least <= best.max(axis=0)[sample]
        by = np.lexsort((row[fair], sample[fair]))
        return sample[fair][by], row[fair][by]
