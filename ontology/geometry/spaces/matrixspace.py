"""MatrixSpace: distances given as a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import given_array, key_table
from labelgrove.ontology.geometry.paths.wholenumbers import are_short
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["MatrixSpace"]

_SMALLEST, _LARGEST = 1e-75, 1e150  # between them squares and their sums neither overflow nor lose bits


class MatrixSpace(MetricSpace):
    """Distances given as a matrix.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_points)
        Each distance must be zero or within 1e-75..1e150, so that its square keeps full precision. The array
        (or memory map) is not copied; its dtype must be uint8, uint16, float32 or float64. A label that is
        also a point must be at distance 0 from itself, and two labels that are points must have the same
        distance in both directions. The triangle inequality is not checked, because the time for that is
        cubic in the number of labels.
    keys : Keys or iterable of str, length n_labels
        The allowed labels, one for each row.
    points : Keys or iterable of str, length n_points, optional
        The labels of the columns; the same as `keys` by default.

    Raises
    ------
    SpaceError
        For a matrix that breaks one of these rules; the message names the first wrong entry.

    Examples
    --------
    >>> MatrixSpace(np.array([[0.0, 2.5], [2.5, 0.0]]), ["a", "b"]).diameter()
    2.5
    """

    kind = "matrix"

    def __init__(
        self, distances: NDArray[Any], keys: Iterable[str], points: Iterable[str] | None = None
    ) -> None:
        rows = key_table("keys", keys)
        columns = rows if points is None else key_table("points", points)
        super().__init__(columns)
        self.__dict__["keys"] = rows
        self.n_labels = len(rows)
        self._matrix = given_array("distances", distances, SpaceError)
        if self._matrix.dtype not in (np.uint8, np.uint16, np.float32, np.float64):
            raise SpaceError(
                f"distances: dtype {self._matrix.dtype} given; give uint8, uint16, float32 or float64"
            )
        if self._matrix.shape != (len(rows), len(columns)) or not self._matrix.size:
            raise SpaceError(
                f"distances: shape {self._matrix.shape} for {len(rows)} keys and {len(columns)} points; "
                "give one row for each key and one column for each point, at least one key and one point"
            )
        self._column = np.full(len(rows), -1, dtype=np.int64)
        for column, key in enumerate(columns):  # usually few columns, many rows
            row = rows.find(key)
            if row >= 0:
                self._column[row] = column
        self._refuse_faults()

    def _refuse_faults(self) -> None:
        matrix = self._matrix
        bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
        if not len(bad):
            shared = np.flatnonzero(self._column >= 0)
            square = matrix[np.ix_(shared, self._column[shared])]
            bad = np.argwhere((square != square.T) | ((square != 0) & np.eye(len(shared), dtype=bool)))
            bad = np.column_stack([shared[bad[:, 0]], self._column[shared[bad[:, 1]]]])
        if len(bad):
            r, c = map(int, bad[0])
            raise SpaceError(
                f"distances: {matrix[r, c]} from {self.keys[r]!r} to {self.points[c]!r}; distances "
                "must be finite, non-negative, 0 from a label to itself and the same in both directions"
            )
        if matrix.dtype == np.float64:
            bad = np.argwhere((matrix > _LARGEST) | ((matrix < _SMALLEST) & (matrix > 0)))
            if len(bad):
                r, c = map(int, bad[0])
                raise SpaceError(
                    f"distances: {matrix[r, c]} from {self.keys[r]!r} to {self.points[c]!r} is outside "
                    f"{_SMALLEST:g}..{_LARGEST:g}; choose another unit"
                )

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""
        return self._matrix.dtype

    @cached_property
    def has_short_distances(self) -> bool:
        """Whether all distances are free of rounding (`ontology.geometry.paths.wholenumbers.are_short`)."""
        return are_short(self._matrix)

    def diameter(self) -> float:
        """Return the largest distance between two labels; raise `SpaceError` if a label is not a point."""
        absent = np.flatnonzero(self._column < 0)
        if len(absent):
            raise SpaceError(
                f"diameter: {len(absent)} labels have no column, {self.keys[int(absent[0])]!r} among them; "
                "give a matrix whose points include every label"
            )
        return float(self._matrix[:, self._column].max())

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self._matrix[np.ix_(rows, cols)])
