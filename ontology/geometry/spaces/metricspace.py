"""Metric spaces over labels: which labels are points, which may be an answer, and their distances.

The *points* of a space are all its labels; any of them may be observed. The *allowed* labels are the labels
that may be an answer: all points, or a subset such as the leaves. The rows of a distance matrix are allowed
labels, and its columns are points, both in canonical order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry.arguments import given_array, index_array, listed, refuse_other_than
from labelgrove.ontology.geometry.paths.rootedtree import kept
from labelgrove.ontology.keys import Keys

__all__ = ["MetricSpace"]

_BLOCK_COLUMNS = 512


class MetricSpace(ABC):
    """A finite metric space over labels.

    Parameters
    ----------
    points : Keys
        All labels in canonical order.
    allowed : array_like of int or bool, optional
        Indices of the labels that may be an answer, each listed once, or one boolean for each point; all by
        default.

    Attributes
    ----------
    kind : str
        ``"tree"``, ``"graph"``, ``"complete"``, ``"matrix"`` or ``"euclidean"``.
    points : Keys
        All labels in canonical order.
    is_allowed : ndarray of shape (n_points,), dtype=bool, or None
        Whether each point is an allowed label; None if all are. A boolean argument is kept without a copy.
    n_labels : int
        Number of allowed labels.
    """

    kind: ClassVar[str]

    def __init__(self, points: Keys, allowed: ArrayLike | None = None) -> None:
        self.points = points
        self.is_allowed: NDArray[np.bool_] | None = None
        self.n_labels = len(points)
        if allowed is not None:
            marked = _marked(points, allowed)
            self.n_labels = int(np.count_nonzero(marked))
            if not self.n_labels:
                raise SpaceError("labels: no label is allowed; a space needs at least one")
            if self.n_labels < len(points):
                self.is_allowed = marked

    @property
    def allowed(self) -> NDArray[np.int64] | None:
        """Ascending indices of the allowed labels, computed on demand; None if all points are allowed."""
        return None if self.is_allowed is None else np.flatnonzero(self.is_allowed)

    @cached_property
    def keys(self) -> Keys:
        """The keys of the allowed labels in canonical order."""
        allowed = self.allowed
        return self.points if allowed is None else self.points.subset(allowed)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points)

    def index(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of `keys` among the allowed labels; unknown keys raise `UnknownLabelError`."""
        return self.keys.indices(listed("keys", keys))

    def point_index(self, keys: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of `keys` among all points; unknown keys raise `UnknownLabelError`."""
        return self.points.indices(listed("keys", keys))

    def distances(
        self,
        rows: ArrayLike | None = None,
        cols: ArrayLike | None = None,
        *,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the distances from allowed labels to points.

        Parameters
        ----------
        rows : array_like of int, optional
            Indices among the allowed labels; all by default.
        cols : array_like of int, optional
            Indices among the points; all by default.
        out : ndarray of shape (n_rows, n_cols), dtype `distance_dtype`, optional
            Array to write the distances to, for instance a memory map; a new array by default.

        Returns
        -------
        distances : ndarray of shape (n_rows, n_cols)
            In edge-length units. The dtype is `distance_dtype`: the smallest of uint8, uint16, float32 and
            float64 that represents every distance of the space exactly; float64 if lengths are not whole
            numbers.
        """
        row = np.arange(self.n_labels) if rows is None else index_array("rows", rows, self.n_labels)
        col = np.arange(self.n_points) if cols is None else index_array("cols", cols, self.n_points)
        allowed = self.allowed
        row = row if allowed is None else allowed[row]
        if out is None:
            return self._distances(row, col)
        refuse_other_than(np.ndarray, "out", out, "or leave it out for a new one")
        if not out.flags.writeable:
            raise InputError("out: a read-only array given; give a writable one")
        if out.shape != (len(row), len(col)) or out.dtype != self.distance_dtype:
            raise InputError(
                f"out: {out.dtype} of shape {out.shape} given; give an array of dtype "
                f"{self.distance_dtype} and shape ({len(row)}, {len(col)})"
            )
        self._fill(row, col, out)
        return out

    @property
    @abstractmethod
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""

    @property
    def has_short_distances(self) -> bool | None:
        """Whether all distances are free of rounding (`ontology.geometry.paths.wholenumbers.are_short`).

        When loci are computed, sums of such distances tie only if they are equal. Sums of other distances tie
        if they are within the relative difference `ontology.geometry.ties.TIE_RELATIVE`. None means that the
        space does not know; then each matrix of distances is checked.
        """
        return None

    @abstractmethod
    def diameter(self) -> float:
        """Return the exact largest distance between two allowed labels."""

    @abstractmethod
    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances between two lists of points."""

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the distances between two lists of points to `out`, one block of columns at a time."""
        for first in range(0, len(cols), _BLOCK_COLUMNS):
            block = slice(first, first + _BLOCK_COLUMNS)
            out[:, block] = self._distances(rows, cols[block])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_labels={self.n_labels}, n_points={self.n_points})"


def _marked(points: Keys, allowed: ArrayLike) -> NDArray[np.bool_]:
    """Return an array with a boolean for each point: whether it is an allowed label."""
    given = given_array("allowed", allowed)
    if given.dtype == np.bool_:
        if given.shape != (len(points),):
            raise InputError(
                f"allowed: booleans of shape {given.shape} for {len(points)} points; give one for each point"
            )
        return kept(given, np.bool_)
    index = index_array("allowed", given, len(points))
    count = np.bincount(index, minlength=len(points))
    if len(index) and count.max() > 1:
        raise InputError(f"labels: {points[int(count.argmax())]!r} occurs twice; name each label once")
    marked = count > 0
    marked.flags.writeable = False
    return marked
