"""Marked labels, such as a locus or the hits of a search, and their share of each branch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.errors import InputError

__all__ = ["Marks"]


class Marks:
    """How many labels of each branch are marked.

    Parameters
    ----------
    order : Order
    marked : ndarray of shape (n_labels,), dtype=bool
        Whether each label is marked.

    Notes
    -----
    Preparation takes O(n_labels), each question O(1) for each label asked about.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> marks = Marks(Order.of(graph), graph.leaf_mask)
    >>> marks.count(np.array([0, 1])).tolist(), marks.share(np.array([0, 2])).tolist()
    ([2, 2], [0.5, 1.0])
    """

    def __init__(self, order: Order, marked: NDArray[np.bool_]) -> None:
        if marked.shape != (len(order),) or marked.dtype != np.bool_:
            raise InputError(
                f"marked: has shape {marked.shape} and dtype {marked.dtype}; give one bool for each of the "
                f"{len(order):,} labels"
            )
        self._order = order
        self._before = np.zeros(len(order) + 1, dtype=np.int32)
        np.cumsum(marked, out=self._before[1:])

    @classmethod
    def of(cls, order: Order, labels: NDArray[np.integer]) -> Marks:
        """Mark the given labels; repeated ones count once."""
        marked = np.zeros(len(order), dtype=bool)
        marked[labels] = True
        return cls(order, marked)

    def count(self, labels: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the number of marked labels in the branch of each of the `labels`."""
        number: NDArray[np.int32] = self._before[self._order.end[labels]] - self._before[labels]
        return number

    def share(self, labels: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the share of marked labels, from 0 to 1, in the branch of each of the `labels`."""
        size = self._order.end[labels] - labels
        return np.asarray(self.count(labels) / size)
