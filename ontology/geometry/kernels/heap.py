"""A binary heap for compiled loops: an array of keys, the smallest at index 0, and an array of items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["pop", "push"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def push(keys: Floats, items: Integers, size: int, key: float, item: int) -> None:
    """Add a key and its item to a heap that has `size` entries."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        items[at] = items[up]
        at = up
    keys[at] = key
    items[at] = item


@compiled
def pop(keys: Floats, items: Integers, size: int) -> None:
    """Remove the entry with the smallest key from a heap that has `size` entries."""
    key = keys[size - 1]
    item = items[size - 1]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size - 1:
            break
        if down + 1 < size - 1 and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[at] = keys[down]
        items[at] = items[down]
        at = down
    keys[at] = key
    items[at] = item
