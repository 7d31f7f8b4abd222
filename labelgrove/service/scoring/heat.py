"""The variances of all labels under one row as heat: a lowest and a mean one for each cell of the map."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter import Adapter
from labelgrove.adapter.answers.candidates import LeastRecentlyUsed
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.keys import Keys

__all__ = ["Heat", "labels_of"]

STEPS = 6
"""Number of colors."""

_DIGITS = 6  # of the largest variance, to which all are rounded
_KEPT = 8

_labels = LeastRecentlyUsed[NDArray[np.int64]](_KEPT)


def labels_of(adapter: Adapter, digest: str, keys: Keys) -> NDArray[np.int64]:
    """Return the label of each point of a bundle, in the version with this digest and these keys.

    Raises
    ------
    UnknownLabelError
        If the version lacks a label of the bundle.
    """
    points = adapter.bundle.points

    def found() -> NDArray[np.int64]:
        return np.arange(len(keys)) if points == keys else keys.indices(points)

    return _labels.get((adapter.digest, digest), found)


class Heat:
    """The lowest and the mean variance in any branch.

    Parameters
    ----------
    order : Order
    labels : ndarray of int
        Labels of the version.
    variances : ndarray of float64
        The variance of each of them; NaN if it is not a candidate.

    Attributes
    ----------
    lowest, highest : float
        Smallest and largest variance of a candidate.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> heat = Heat(Order.of(graph), np.arange(4), np.array([4.0, 1.0, np.nan, 3.0]))
    >>> heat.cells(np.array([0, 1, 2, 3]))
    {'lowest': [1.0, 1.0, None, 3.0], 'mean': [2.66667, 2.0, None, 3.0]}
    """

    def __init__(self, order: Order, labels: NDArray[np.int64], variances: NDArray[np.float64]) -> None:
        self._end = order.end
        known = ~np.isnan(variances)
        labels, variances = labels[known], variances[known]
        self._low = np.full(len(order) + 1, np.inf)  # a branch may end behind the last label
        self._low[labels] = variances
        self._sum = np.zeros(len(order) + 1)
        self._sum[1:][labels] = variances
        np.cumsum(self._sum, out=self._sum)
        self._count = np.zeros(len(order) + 1, dtype=np.int32)
        self._count[1:][labels] = 1
        np.cumsum(self._count, out=self._count)
        self.lowest, self.highest = float(variances.min()), float(variances.max())
        self._decimals = _DIGITS - 1 - int(np.floor(np.log10(self.highest or 1.0)))

    def edges(self) -> list[float]:
        """Return the variances between which the colors change: equal steps of a distance."""
        steps = (np.arange(STEPS + 1) / STEPS) ** 2
        return [float(x) for x in self.lowest + (self.highest - self.lowest) * steps]

    def cells(self, labels: NDArray[np.integer]) -> dict[str, list[float | None]]:
        """Return the lowest and the mean variance in the branch of each label; None without candidates.

        The branches of `labels` are side by side, as in a row of the map.
        """
        if not len(labels):
            return {"lowest": [], "mean": []}
        end = self._end[labels]
        bounds = np.column_stack([labels, end]).ravel()
        lowest = np.minimum.reduceat(self._low, bounds)[::2]
        n = self._count[end] - self._count[labels]
        mean = (self._sum[end] - self._sum[labels]) / np.maximum(n, 1)
        return {"lowest": self._listed(lowest, n), "mean": self._listed(np.maximum(mean, lowest), n)}

    def pixels(self, pixels: NDArray[np.integer], first: int, end: int, *, width: int) -> str:
        """Return a digit for each pixel of a map of the labels from `first` up to `end`.

        It is the number of the color, from 1, of the lowest variance of the labels in the pixel; 0 without
        candidates.
        """
        if not len(pixels):
            return ""
        scale = (end - first) / width
        begin = first + np.floor(pixels * scale).astype(np.int64)
        after = np.minimum(first + np.ceil((pixels + 1) * scale).astype(np.int64), end)
        lowest = np.minimum.reduceat(self._low, np.column_stack([begin, after]).ravel())[::2]
        steps = 1 + np.searchsorted(self.edges()[1:-1], lowest)
        return "".join(map(str, np.where(np.isinf(lowest), 0, steps).tolist()))

    def _listed(self, values: NDArray[np.float64], n: NDArray[np.integer]) -> list[Any]:
        rounded = values.round(self._decimals).astype(object)
        rounded[n == 0] = None
        return list(rounded)
