"""Read outputs from ``.npz`` files, as they are unpacked."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.arrayfiles import FAULTS, npy_header
from labelgrove.adapter.outputs.formats.arraychoice import chosen_array
from labelgrove.ontology.errors import InputError

__all__ = ["PackedFile"]


class PackedFile:
    """A ``.npz`` file.

    Parameters
    ----------
    path : Path
    array : str or None
        Name of the array to read; not needed if the file has only one array of two axes.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype

    Raises
    ------
    InputError
        For a damaged file, for an array stored column by column, and as for `chosen_array`.
    """

    columns = None

    def __init__(self, path: Path, array: str | None) -> None:
        found: dict[str, tuple[str, tuple[int, ...], bool, np.dtype[Any]]] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.removesuffix(".npy") in found:
                        raise ValueError(f"two arrays are called {name.removesuffix('.npy')!r}")
                    with archive.open(name) as member:
                        found[name.removesuffix(".npy")] = name, *npy_header(member)
        except FAULTS as error:
            raise InputError(
                f"{path}: not a .npz file of arrays of numbers ({error}); write it again"
            ) from error
        chosen = chosen_array(path, {name: header[1] for name, header in found.items()}, array)
        name, self.shape, in_columns, self.dtype = found[chosen]
        if min(self.shape, default=0) < 0:
            raise InputError(
                f"{path}: array {name!r} has the shape {self.shape}, but no axis may be negative; write the "
                "file again"
            )
        if in_columns:
            raise InputError(
                f"{path}: array {name!r} is stored column by column, but a .npz file is read row by "
                "row; save the array as .npy, or save np.ascontiguousarray(P) in the .npz file"
            )
        self._path, self._member = path, name

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time; raise `InputError` for a damaged file."""
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(self._member) as member:
                shape, _, dtype = npy_header(member)
                width = shape[1] * dtype.itemsize
                for start in range(0, shape[0], n_rows):
                    n = min(n_rows, shape[0] - start)
                    data = member.read(n * width)
                    if len(data) != n * width:
                        raise InputError(
                            f"{self._path}: ends within row {start + len(data) // width}; write it again"
                        )
                    yield np.frombuffer(data, dtype).reshape(n, shape[1])
        except InputError:
            raise
        except FAULTS as error:
            raise InputError(f"{self._path}: cannot be unpacked ({error}); write it again") from error
