"""The least and the largest difference between the errors of two rules that any truth can give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.evaluation.truths import LabelDistances

__all__ = ["Extremes"]

_ENTRIES = 1 << 20  # differences held at a time: one for each label and pair of answers


class Extremes:
    """Finds how far the squared errors of the Fréchet mean and of another rule may differ on one sample.

    A pair is the two rules' answers to one sample. A future sample with the same pair may have any allowed
    label as its truth, so every allowed label is tried as the truth of every pair that occurred. If there are
    too many pairs, this is done only for those whose two answers are farthest apart. For any other pair, with
    answers at a distance r from each other, the triangle inequality bounds the difference: by ``r (2 D -
    r)``, where D is the diameter, or by ``r (2 D + r)`` if the other rule's answer is not an allowed label.

    Parameters
    ----------
    distance : LabelDistances
        Distances in the space.
    diameter : float
        Diameter of the allowed labels.

    Notes
    -----
    Keeps at most 2^20 / n_labels pairs, but at least one. The result does not depend on how samples are cut
    into blocks.

    Examples
    --------
    >>> from labelgrove.adapter import Adapter
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> line = LabelGraph.from_edges([("b", "a"), ("c", "b"), ("d", "c")])
    >>> adapter = Adapter.from_graph(line, ["a", "d"])
    >>> met = Extremes(LabelDistances(adapter, adapter.space), diameter=3.0)
    >>> met.add(np.array([1]), np.array([0]))  # the mean answers b, and the other rule a
    >>> met.found()  # 0 - 1 where the truth is a, and 9 - 4 where it is d
    (-1.0, 5.0)
    """

    def __init__(self, distance: LabelDistances, diameter: float) -> None:
        self._distance, self._diameter = distance, diameter
        self._most = max(1, _ENTRIES // distance.n_labels)
        self._pairs, self._apart = np.empty((0, 2), dtype=np.int64), np.empty(0)
        self._low = self._high = 0.0

    def add(self, means: NDArray[np.int64], points: NDArray[np.int64]) -> None:
        """Add pairs of answers.

        Parameters
        ----------
        means, points : ndarray of shape (m,), dtype=int64
            Answers of the Fréchet mean and of the other rule, as indices of points of the bundle.
        """
        new = np.unique(np.column_stack([means, points]), axis=0)
        apart = np.concatenate([self._apart, self._distance.to_points(new[:, 0], new[:, 1])])
        pairs, first = np.unique(np.concatenate([self._pairs, new]), axis=0, return_index=True)
        farthest = np.argsort(-apart[first], kind="stable")
        kept, left = farthest[: self._most], farthest[self._most :]
        if len(left):
            r, d = apart[first][left], self._diameter
            near = np.minimum(r, d)
            less = near * (2 * d - near)
            more = np.where(self._distance.is_allowed(pairs[left, 1]), less, r * (2 * d + r))
            self._low, self._high = min(self._low, -float(less.max())), max(self._high, float(more.max()))
        self._pairs, self._apart = pairs[kept], apart[first][kept]

    def found(self) -> tuple[float, float]:
        """Return the least and the largest possible d² of the other rule minus d² of the Fréchet mean.

        The least difference is at most 0, and the largest is at least 0.
        """
        points, at = np.unique(self._pairs, return_inverse=True)
        squared = self._distance.from_points(points) ** 2
        means, others = at.reshape(self._pairs.shape).T
        differences = squared[:, others] - squared[:, means]
        return min(float(differences.min()), self._low), max(float(differences.max()), self._high)
