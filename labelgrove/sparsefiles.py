"""Outputs of which each row lists a few classes, in files: two arrays, or a matrix that scipy saved."""

from __future__ import annotations

import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from adapter.outputs import SparseOutputs
from adapter.plainfile import open_plain
from ontology.errors import ArtifactError, InputError, MissingExtraError
from ontology.safetensors_file import read_safetensors

__all__ = ["read_sparse", "rows_of"]

_LISTED = {"indices", "values"}
_SCIPY = {"data", "format", "shape"}


def read_sparse(path: Path) -> SparseOutputs | Any | None:
    """Return sparse outputs, or None for a file that holds none: dense outputs, or nothing that can be read.

    Parameters
    ----------
    path : Path
        A ``.npz`` or ``.safetensors`` file with the arrays ``indices`` and ``values``, both of shape
        (n_samples, m), as for `adapter.SparseOutputs`; or a ``.npz`` file of ``scipy.sparse.save_npz``.

    Raises
    ------
    InputError
        For a matrix that scipy refuses.
    MissingExtraError
        For one where scipy is not installed.

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


def rows_of(outputs: SparseOutputs | Any, of: slice) -> SparseOutputs | Any:
    """Return some rows of outputs of any form."""
    if isinstance(outputs, SparseOutputs):
        return SparseOutputs(np.asarray(outputs.indices)[of], np.asarray(outputs.values)[of])
    return outputs[of]


def _safetensors(path: Path) -> SparseOutputs | None:
    try:
        with open_plain(path) as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays, _ = read_safetensors(data, name=str(path))
    except (OSError, ValueError, ArtifactError):  # whoever reads dense outputs says what is wrong
        return None
    return SparseOutputs(arrays["indices"], arrays["values"]) if arrays.keys() == _LISTED else None


def _npz(path: Path) -> SparseOutputs | Any | None:
    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
            names = set(archive.files)
            if names == _LISTED:
                return SparseOutputs(archive["indices"], archive["values"])
    except (OSError, ValueError, TypeError, EOFError, MemoryError, OverflowError, zipfile.BadZipFile):
        return None
    return _scipy(path) if names >= _SCIPY else None


def _scipy(path: Path) -> Any:
    try:
        from scipy.sparse import load_npz
    except ImportError as error:
        raise MissingExtraError.of("scipy", "service", "a sparse matrix in a .npz file") from error
    try:
        with open_plain(path) as file:
            return load_npz(file).tocsr()
    except (OSError, ValueError, KeyError, NotImplementedError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: no sparse matrix of scipy ({error}); write it again") from error
