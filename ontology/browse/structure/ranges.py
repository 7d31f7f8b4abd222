"""Rows of different lengths, stored one after another: row ``e`` ends where row ``e + 1`` begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["distinct", "joined_ranges", "sorted_by", "stored_indices", "stored_offsets"]


def joined_ranges(offsets: NDArray[np.integer], entries: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the range from ``offsets[e]`` to ``offsets[e + 1]`` for each entry, one after another.

    >>> joined_ranges(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    begin = offsets[entries].astype(np.int64)
    length = offsets[entries + 1] - begin
    shift = np.repeat(begin - (np.cumsum(length) - length), length)
    found: NDArray[np.int64] = np.arange(len(shift)) + shift
    return found


def distinct(indices: NDArray[np.integer], n: int) -> NDArray[np.integer]:
    """Return each of some indices smaller than `n` once, ascending.

    >>> distinct(np.array([3, 1, 3]), 5).tolist()
    [1, 3]
    """
    if len(indices) < n // 64:
        return np.unique(indices)
    found = np.zeros(n, dtype=bool)
    found[indices] = True
    return np.flatnonzero(found)


def sorted_by(columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """Return the order that sorts rows by several columns, the first column first; equal rows keep theirs.

    Notes
    -----
    `numpy.lexsort` sorts once for each column. Here, as many columns as fit are packed into one number.

    >>> sorted_by([np.array([1, 0, 1]), np.array([-2, 5, -7])]).tolist()
    [1, 2, 0]
    """
    packed: list[NDArray[np.int64]] = []
    room = 0  # how many values the last number can still be multiplied with
    for column in columns:
        low = int(column.min(initial=0))
        n = int(column.max(initial=0)) - low + 1
        shifted = column.astype(np.int64) - low
        if n <= room:
            packed[-1] = packed[-1] * n + shifted
            room //= n
        else:
            packed.append(shifted)
            room = np.iinfo(np.int64).max // n
    if len(packed) == 1:
        return np.argsort(packed[0], kind="stable")
    order: NDArray[np.int64] = np.lexsort(packed[::-1])
    return order


def stored_offsets(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, n: int, last: int
) -> NDArray[Any]:
    """Return the offsets of `n` rows that the array `name` stores; they must rise from 0 to `last`.

    Anything else raises `InputError`.
    """
    found = stored_array(arrays, name, dtype, (n + 1,))
    if found[0] != 0 or found[-1] != last or (found[1:] < found[:-1]).any():
        raise InputError(f"{name}: must rise from 0 to {last}")
    return found


def stored_indices(
    arrays: Mapping[str, NDArray[Any]], name: str, below: int, length: int | None = None
) -> NDArray[np.int32]:
    """Return the array `name`, whose entries must be indices smaller than `below`.

    Anything else raises `InputError`.
    """
    found = stored_array(arrays, name, np.int32, (length,))
    if len(found) and not (found.min() >= 0 and found.max() < below):
        raise InputError(f"{name}: an entry is outside 0..{below - 1}")
    return found
