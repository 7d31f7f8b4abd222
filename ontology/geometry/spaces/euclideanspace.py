"""EuclideanSpace: labels as vectors, such as class embeddings, with straight-line distances.

Fréchet means on it need no matrix of distances: see `ontology.geometry.scoring.dense.euclideanscorer`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import given_array, key_table
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["EuclideanSpace"]

_BLOCK_ENTRIES = 1 << 21
_CACHED_ENTRIES = 1 << 15
_SMALLEST, _LARGEST = 1e-75, 1e75


class EuclideanSpace(MetricSpace):
    """Straight-line distances between vectors.

    Parameters
    ----------
    embeddings : ndarray of shape (n_points, n_dimensions)
        One vector of finite real numbers for each label. Unless `normalize` is True, the array (or memory
        map) is not copied and keeps its dtype. Every number is converted to float64 before anything is
        computed.
    keys : Keys or iterable of str, length n_points
        All labels, one for each row; their order is the canonical order.
    allowed : array_like of int, optional
        Indices of the labels that may be an answer; all by default.
    normalize : bool, default=False
        Whether each vector is first divided by its length, in float64.

    Attributes
    ----------
    embeddings : ndarray of shape (n_points, n_dimensions)
        The vectors between which distances are measured.

    Raises
    ------
    SpaceError
        For a wrong shape or dtype; for NaN or infinity; with `normalize`, for a vector of zeros; and without
        `normalize`, if the largest absolute value of all numbers is neither 0 nor within 1e-75..1e75. Within
        this range, squares keep full precision. If vectors are at fault, the message names the label of the
        first one.

    Notes
    -----
    A distance is the square root of the sum of squared differences, added in the order of the dimensions, in
    float64. It is the same in both directions, and does not depend on the other distances that are computed
    in the same call. Fréchet variances are weighted sums of the squares of these distances. Two labels may
    have the same vector; then they always tie.

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
        points = key_table("keys", keys)
        super().__init__(points, allowed)
        vectors = given_array("embeddings", embeddings, SpaceError)
        if vectors.dtype.kind not in "iuf" or vectors.dtype.itemsize > 8:
            raise SpaceError(f"embeddings: dtype {vectors.dtype} given; give real numbers of at most 64 bits")
        if vectors.ndim != 2 or len(vectors) != len(points) or not vectors.size:
            raise SpaceError(
                f"embeddings: shape {vectors.shape} given for {len(points)} keys; give one row for each key, "
                "with at least one label and one dimension"
            )
        step = max(1, _BLOCK_ENTRIES // vectors.shape[1])
        blocks = (vectors[start : start + step].astype(np.float64) for start in range(0, len(vectors), step))
        size = np.concatenate([np.abs(block).max(axis=1) for block in blocks])
        self._refuse(~np.isfinite(size), "contain NaN or infinity", "all numbers must be finite")
        if normalize:
            self._refuse(size == 0, "are all zero", "a vector of zeros cannot be normalized")
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
            raise SpaceError(f"embeddings: {len(found)} vectors {what}, the first for {first!r}; {rule}")

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""
        return np.dtype(np.float64)

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels.

        Notes
        -----
        This takes O(n_labels^2 n_dimensions) time at the speed of a matrix product, with one block of rows in
        memory at a time. The matrix product finds, for each label, the label farthest from it; then the
        distance between the two is measured. The result is the largest of these measured distances. Rounding
        in the matrix product may hide a pair of labels that are farther apart. The squared distance of such a
        pair exceeds the square of the result by at most ``8 (n_dimensions + 8) 2**-53 r^2``, where r is the
        largest distance from the vector of an allowed label to the mean of these vectors.
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
        """Return, for each i, the distance from the point ``first[i]`` to the point ``second[i]``."""
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
    """Return the square root of the sum of squares of each column of `difference`, which is overwritten.

    The squares are summed row by row: a numpy reduction over the first axis adds whole rows one after the
    other. For a single column numpy would sum pairs instead, so the column is duplicated beforehand.
    """
    n_columns = difference.shape[1]
    if n_columns == 1:
        difference = np.repeat(difference, 2, axis=1)
    np.multiply(difference, difference, out=difference)
    total: NDArray[np.float64] = np.add.reduce(difference, axis=0)
    return np.sqrt(total)[:n_columns]
