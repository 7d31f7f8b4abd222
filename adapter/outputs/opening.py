"""Open a file of outputs in any format.

Sparse outputs are loaded at once. Dense outputs stay in the file, and are read from it a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from pathlib import Path
from typing import Any

from labelgrove.adapter.outputs.outputfiles import OutputFile, without_names
from labelgrove.adapter.outputs.rows import SparseOutputs
from labelgrove.adapter.outputs.sparsefiles import read_sparse

__all__ = ["open_outputs"]


def open_outputs(
    path: Path,
    *,
    array: str | None = None,
    id_column: str | None = None,
    labels: Container[str] | None = None,
    keys: Collection[str] = (),
) -> OutputFile | SparseOutputs | Any:
    """Open a file with a row of outputs for each sample.

    Parameters
    ----------
    path : Path
        A file that `OutputFile` or `adapter.outputs.sparsefiles.read_sparse` can read.
    array, id_column, labels, keys
        As for `OutputFile`. If `array` is given, that array is read as dense outputs.

    Returns
    -------
    outputs : OutputFile, SparseOutputs or scipy.sparse matrix

    Raises
    ------
    NotFoundError, InputError, MissingExtraError
        As for `OutputFile`.
    """
    found = read_sparse(path) if array is None else None
    if found is None:
        return OutputFile(path, array=array, id_column=id_column, labels=labels, keys=keys)
    if id_column is not None:
        raise without_names(path, id_column)
    return found
