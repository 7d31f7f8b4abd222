"""CompleteSpace: every label at distance 1 from every other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import key_table
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["CompleteSpace"]


class CompleteSpace(MetricSpace):
    """Every label at distance 1 from every other: the space of flat classification.

    Parameters
    ----------
    keys : Keys or iterable of str
        All labels in canonical order.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default.

    Examples
    --------
    >>> CompleteSpace(["a", "b", "c"]).distances(rows=[1]).tolist()
    [[1, 0, 1]]
    """

    kind = "complete"

    def __init__(self, keys: Iterable[str], allowed: ArrayLike | None = None) -> None:
        points = key_table("keys", keys)
        if not len(points):
            raise SpaceError("keys: empty; a space needs at least one label")
        super().__init__(points, allowed)

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""
        return np.dtype(np.uint8)

    @property
    def has_short_distances(self) -> bool:
        """True: all distances are whole numbers, free of rounding."""
        return True

    def diameter(self) -> float:
        """Return 1, or 0 if only one label is allowed."""
        return float(self.n_labels > 1)

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return np.not_equal.outer(rows, cols).astype(np.uint8)
