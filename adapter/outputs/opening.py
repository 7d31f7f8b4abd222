"""Open a file of outputs in any format.

Sparse outputs are loaded into memory as a whole. Dense outputs stay in the file, and are read from it a few
rows at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.namedcolumns import without_names
from labelgrove.adapter.outputs.gate import rows_at_once
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.adapter.outputs.outputkinds import absent_value
from labelgrove.adapter.outputs.rows import SparseOutputs, rows_of
from labelgrove.adapter.outputs.sparsefiles import read_sparse
from labelgrove.ontology.errors import WeightError

__all__ = ["dense_blocks", "open_outputs"]


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


def dense_blocks(path: Path, outputs: Any, columns: Sequence[str], kind: str) -> Iterator[NDArray[Any]]:
    """Yield all rows of sparse outputs as dense arrays, a few rows at a time.

    Parameters
    ----------
    path : Path
        The file that the outputs come from, for messages.
    outputs : SparseOutputs or scipy.sparse matrix
        The result of `open_outputs`.
    columns : sequence of str
        Keys of the columns of the model.
    kind : str
        Kind of the outputs.

    Raises
    ------
    WeightError
        For outputs of a wrong shape, and for a row that lists a column twice or one that does not exist.
    """
    try:
        rows, step = rows_of(outputs, len(columns), tuple(columns)), rows_at_once(len(columns))
        for start in range(0, len(rows), step):
            yield rows.part(slice(start, min(start + step, len(rows))), None, absent_value(kind))
    except WeightError as error:  # its message begins with P, the argument of an adapter
        raise WeightError(f"{path}: {str(error).removeprefix('P: ')}") from None
