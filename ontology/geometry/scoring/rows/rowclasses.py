"""Classes of labels with equal rows of distances: under any weights they have the same Fréchet variance."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.ranking import spans

__all__ = ["Classes"]

_BLOCK_ENTRIES = 1 << 21


@dataclass(frozen=True)
class Classes:
    """All labels, divided into classes: the labels of one class have equal rows of distances.

    Attributes
    ----------
    row : ndarray of shape (n_classes,), dtype=int64
        Index of the first row of each class.
    first : ndarray of shape (n_classes + 1,), dtype=int64
        The labels of class c are ``label[first[c]:first[c + 1]]``, ascending.
    label : ndarray of shape (n_labels,), dtype=int64
        All labels, class after class.
    """

    row: NDArray[np.int64]
    first: NDArray[np.int64]
    label: NDArray[np.int64]

    @classmethod
    def of(cls, distances: NDArray[Any]) -> Classes:
        """Group the rows of `distances` into classes of equal rows, by 128-bit digests of the rows."""
        known: dict[bytes, int] = {}
        step = max(1, _BLOCK_ENTRIES // distances.shape[1])
        of_row = np.empty(len(distances), dtype=np.int64)
        for start in range(0, len(distances), step):
            block = np.ascontiguousarray(distances[start : start + step])
            for i, row in enumerate(block, start=start):
                of_row[i] = known.setdefault(blake2b(row, digest_size=16).digest(), len(known))
        label = np.argsort(of_row, kind="stable")
        first = np.searchsorted(of_row[label], np.arange(len(known) + 1))
        return cls(label[first[:-1]], first, label)

    def taken(self, order: NDArray[np.int64]) -> Classes:
        """Return the same classes in another order: class ``order[i]`` becomes class i."""
        count = np.diff(self.first)[order]
        first = np.append(0, np.cumsum(count))
        return Classes(self.row[order], first, self.label[spans(self.first[order], count)])
