"""Compiled copy of rows whose entries lie apart, such as those of an array in Fortran order."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["copy_rows"]

_COLUMNS = (
    8  # columns that are read side by side; with more, columns of 4 KiB evict each other from the cache
)


@compiled
def copy_rows(rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy rows of any strides to `out`, which has the same shape and is C-contiguous."""
    n_samples, n_columns = rows.shape
    for first in range(0, n_columns, _COLUMNS):
        last = min(first + _COLUMNS, n_columns)
        for sample in range(n_samples):
            for column in range(first, last):
                out[sample, column] = rows[sample, column]
