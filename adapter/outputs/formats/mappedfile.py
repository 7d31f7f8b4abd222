"""Read outputs from ``.npy`` and ``.safetensors`` files, which are memory-mapped."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.arrayfiles import load_npy
from labelgrove.adapter.outputs.formats.arraychoice import chosen_array
from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.store.safetensors_file import read_safetensors

__all__ = ["MappedFile"]

_GIVE_BACK: int | None = getattr(mmap, "MADV_DONTNEED", None)  # None where madvise is missing


class MappedFile:
    """A ``.npy`` or ``.safetensors`` file.

    Parameters
    ----------
    path : Path
    array : str or None
        Name of the array in a ``.safetensors`` file; not used for ``.npy``.

    Attributes
    ----------
    array : ndarray
        All outputs, memory-mapped.
    shape : tuple of int
    dtype : dtype

    Raises
    ------
    InputError
        For a damaged file, and as for `chosen_array`.
    """

    columns = None

    def __init__(self, path: Path, array: str | None) -> None:
        self._mapped: mmap.mmap | None
        if path.suffix == ".npy":
            self.array = load_npy(path, mmap_mode="r")
            self._mapped = self.array.base if isinstance(self.array.base, mmap.mmap) else None
        else:
            self.array, self._mapped = _safetensors(path, array)
        self.shape: tuple[int, ...] = self.array.shape
        self.dtype: np.dtype[Any] = self.array.dtype

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time; only one block is in memory at a time."""
        for start in range(0, len(self.array), n_rows):
            yield self.array[start : start + n_rows]
            if self._mapped is not None and _GIVE_BACK is not None:
                self._mapped.madvise(_GIVE_BACK)  # otherwise all blocks read so far stay in memory


def _safetensors(path: Path, array: str | None) -> tuple[NDArray[Any], mmap.mmap]:
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise InputError(f"{path}: the file is empty; give one array of two axes")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays, _ = read_safetensors(mapped, name=str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}); give a file you may read") from error
    except ArtifactError as error:
        raise InputError(f"{error}; give a .safetensors file with one array of two axes") from error
    return arrays[chosen_array(path, {name: a.shape for name, a in arrays.items()}, array)], mapped
