"""The primary preorder: where the branch of each label begins and ends in canonical order.

Canonical order is a preorder over primary parents. The labels below a label along primary parents, called its
branch, therefore follow it without a gap: the branch of label ``i`` is ``i, ..., end[i] - 1``.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import ArtifactError
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Order"]


class Order:
    """Primary parent, depth and branch of every label.

    Attributes
    ----------
    parent : ndarray of shape (n_labels,), dtype=int32
        Primary parent of each label, -1 for a root.
    depth : ndarray of shape (n_labels,), dtype=int32
        Number of primary edges up to the root.
    end : ndarray of shape (n_labels,), dtype=int32
        The branch of label ``i`` is the range from ``i`` to ``end[i]`` (exclusive).

    Notes
    -----
    In an undirected graph, every label is a root whose branch is the label alone.

    Examples
    --------
    >>> order = Order.of(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")]))
    >>> order.end.tolist(), order.depth.tolist(), order.chain(3)
    ([4, 4, 3, 4], [0, 1, 2, 2], [3, 1, 0])
    """

    __slots__ = ("depth", "end", "parent")

    def __init__(self, parent: NDArray[np.int32], depth: NDArray[np.int32], end: NDArray[np.int32]) -> None:
        self.parent, self.depth, self.end = parent, depth, end

    @classmethod
    def of(cls, graph: LabelGraph) -> Self:
        """Compute the order of a graph; O(n_labels).

        Raises
        ------
        ArtifactError
            If the labels of a directed graph are not in canonical order.
        """
        n = graph.n_labels
        if not graph.directed:
            alone = np.arange(n, dtype=np.int32)
            return cls(np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32), alone + np.int32(1))
        parent = graph.primary_parent
        size = [1] * n
        for i, above in zip(range(n - 1, -1, -1), parent[::-1].tolist(), strict=True):
            if above >= 0:
                size[above] += size[i]
        start = np.arange(n, dtype=np.int32)
        end = start + np.array(size, dtype=np.int32)
        below = np.flatnonzero(parent >= 0)
        above = parent[below]
        if not ((above < below) & (end[below] <= end[above])).all():
            raise ArtifactError(
                f"labels of {graph!r}: not a preorder over primary parents; ingest the source again"
            )
        return cls(parent, graph.depth, end)

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def size(self) -> NDArray[np.int32]:
        """Number of labels in each branch, the label itself included; shape (n_labels,)."""
        return np.subtract(self.end, np.arange(len(self), dtype=np.int32), dtype=np.int32)

    def chain(self, label: int) -> list[int]:
        """Return `label`, its primary parent, the parent of that, and so on up to a root; O(depth)."""
        found = [label]
        while (above := int(self.parent[found[-1]])) >= 0:
            found.append(above)
        return found
