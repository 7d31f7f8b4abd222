"""What users can write in numpy in place of an adapter, as benchmarks time it beside ours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def dense_over_distinct_rows(distances: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what a user can write in one line, once the distinct rows of distances are known."""
    rows, first = np.unique(distances, axis=0, return_index=True)
    squares = rows.astype(np.float32) ** 2
    return lambda P: first[(P @ squares.T).argmin(axis=1)]


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of each row, as numpy code computes it."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
