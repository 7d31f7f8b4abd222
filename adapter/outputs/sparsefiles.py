"""Read files of sparse outputs: two arrays, ``indices`` and ``values``, or a matrix that scipy saved."""

from __future__ import annotations

import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.adapter.outputs.arrayfiles import FAULTS, npy_header, refuse_bomb
from labelgrove.adapter.outputs.rows import SparseOutputs, by_rows
from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import ArtifactError, InputError, MissingExtraError, no_such_file
from labelgrove.ontology.store.safetensors_file import read_safetensors

__all__ = ["read_scipy", "read_sparse"]

_LISTED = {"indices", "values"}
_SCIPY = {"data", "format", "shape"}
_WHOLE = {"col", "coords", "indices", "indptr", "offsets", "row", "shape"}


def read_sparse(path: Path) -> SparseOutputs | Any | None:
    """Return the sparse outputs in a file, or None if none are found in it.

    None is returned for a file with other arrays. It is also returned if the list of arrays in the file
    cannot be read: the caller then reads the file as dense outputs, and their reader reports the fault.

    Parameters
    ----------
    path : Path
        A ``.npz`` or ``.safetensors`` file with the arrays ``indices`` and ``values``, both of shape
        (n_samples, m), as for `adapter.SparseOutputs`; or a ``.npz`` file written by
        ``scipy.sparse.save_npz``.

    Raises
    ------
    InputError
        For sparse outputs that are damaged or too large when unpacked, and for a matrix that scipy refuses.
    MissingExtraError
        For a matrix that scipy saved, if scipy is not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.npz"
    ...     np.savez(path, indices=[[0, 2]], values=[[0.75, 0.25]])
    ...     read_sparse(path).values.tolist()
    [[0.75, 0.25]]
    """
    if path.suffix == ".safetensors":
        return _safetensors(path)
    return _npz(path) if path.suffix == ".npz" else None


def _safetensors(path: Path) -> SparseOutputs | None:
    try:
        with open_plain(path) as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays, _ = read_safetensors(data, name=str(path))
    except (OSError, ValueError, ArtifactError):  # the reader of dense outputs reports the fault
        return None
    return SparseOutputs(arrays["indices"], arrays["values"]) if arrays.keys() == _LISTED else None


def _npz(path: Path) -> SparseOutputs | Any | None:
    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
            names = set(archive.files)
    except FAULTS:  # the reader of dense outputs reports the fault
        return None
    if names == _LISTED:
        try:
            refuse_bomb(path)
            with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
                return SparseOutputs(archive["indices"], archive["values"])
        except FAULTS as error:
            raise InputError(
                f"{path}: its indices and values cannot be read ({error}); write it again"
            ) from error
    return read_scipy(path) if names >= _SCIPY else None


def read_scipy(path: Path) -> Any:
    """Read a file of ``scipy.sparse.save_npz`` as a matrix in row format, with every index checked.

    Raises
    ------
    NotFoundError, InputError
        `NotFoundError` if the file does not exist; `InputError` if it does not contain a valid matrix, or is
        too large when unpacked.
    MissingExtraError
        If scipy is not installed.
    """
    try:
        from scipy.sparse import load_npz
    except ImportError as error:
        raise MissingExtraError.of("scipy", "science", "a sparse matrix in a .npz file") from error
    try:
        refuse_bomb(path)
        _refuse_fractions(path)
        with open_plain(path) as file:
            matrix = load_npz(file)
        return by_rows(matrix)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except FAULTS as error:
        raise InputError(
            f"{path}: not a sparse matrix of scipy.sparse.save_npz ({error}); write it again"
        ) from error


def _refuse_fractions(path: Path) -> None:
    """Raise `ValueError` for indices that are not whole numbers; scipy would only warn and truncate them."""
    with open_plain(path) as file, zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if name.removesuffix(".npy") in _WHOLE:
                with archive.open(name) as member:
                    _, _, dtype = npy_header(member)
                if dtype.kind not in "iu":
                    raise ValueError(f"{name} contains {dtype}, not whole numbers")
