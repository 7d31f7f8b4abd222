"""Outputs of a model in files that may be larger than memory, read a few rows at a time.

=================  ==================================================================================
``.npy``           one array of two axes, memory-mapped
``.npz``           one array of two axes (or one of several, by name), read as it is unpacked
``.safetensors``   one array of two axes (or one of several, by name), memory-mapped
``.parquet``       a column of numbers for each label, read one row group at a time (needs pyarrow)
``.arrow``         the same, or one column of lists of K numbers, one record batch at a time (needs pyarrow)
``.csv``           a header with the names of the columns, then lines of numbers, read line by line
=================  ==================================================================================

In ``.parquet``, ``.arrow`` and ``.csv`` files one column may contain the names of the samples instead
(``id_column``). Nothing is ever unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.arrowfile import ArrowFile
from labelgrove.adapter.outputs.formats.csvfile import CsvFile
from labelgrove.adapter.outputs.formats.mappedfile import MappedFile
from labelgrove.adapter.outputs.formats.namedcolumns import without_names
from labelgrove.adapter.outputs.formats.packedfile import PackedFile
from labelgrove.adapter.outputs.formats.parquetfile import ParquetFile
from labelgrove.adapter.outputs.gate import refuse_dtype, wrong_axes
from labelgrove.adapter.plainfile import open_plain
from labelgrove.ontology.errors import InputError, no_such_file

__all__ = ["FORMATS", "NAMED_FORMATS", "OutputFile"]

FORMATS = (".npy", ".npz", ".safetensors", ".parquet", ".arrow", ".csv")
"""File name endings of the supported formats."""

NAMED_FORMATS = (".parquet", ".arrow", ".csv")
"""Those whose columns have names."""


class OutputFile:
    """A file with a row of outputs for each sample; it can be read from start to end several times.

    Parameters
    ----------
    path : str or path
        The file; its name's ending gives the format (see the module).
    array : str, optional
        Name of the array in a ``.npz`` or ``.safetensors`` file; not needed if the file has only one array of
        two axes.
    id_column : str, optional
        In a ``.csv``, ``.parquet`` or ``.arrow`` file: the name of the column that contains the samples'
        names. Its cells may contain anything (in ``.arrow``: texts or numbers).
    labels : container of str, optional
        Names that columns of outputs may have. They are used only if `id_column` is not given. A column
        is then taken as the column of the samples' names if its name is ``id`` (or ``ID``), or a name under
        which pandas writes an index, and `labels` does not contain this name. If neither `labels` nor
        `id_column` is given, all columns are read as outputs.
    keys : collection of str, optional
        Keys of the labels that have a column. They are needed for a ``.csv`` file if all keys are numbers: a
        first line of numbers is read as a header only if it consists of exactly these keys and not all of
        them are between 0 and 1.

    Attributes
    ----------
    path : Path
    columns : tuple of str or None
        Names of the columns with numbers, for ``.csv``, ``.parquet`` and ``.arrow`` files; None for a column
        of lists.
    id_column : str or None
        Name of the column that names the samples, if there is one; see `ids`.
    n_rows : int or None
        Number of rows; None for ``.csv``, because it is known only after the file was read.
    n_columns : int

    Raises
    ------
    NotFoundError
        If the file does not exist.
    InputError
        For a file that is empty, damaged or of another format; for an array that does not contain numbers or
        does not have two axes; and for a file without the column `id_column`.
    MissingExtraError
        For ``.parquet`` and ``.arrow`` without pyarrow.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/p.npy", np.eye(3))
    ...     file = OutputFile(f"{folder}/p.npy")
    ...     file.n_rows, file.columns, [block.shape for block in file.blocks(2)]
    (3, None, [(2, 3), (1, 3)])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        array: str | None = None,
        id_column: str | None = None,
        labels: Container[str] | None = None,
        keys: Collection[str] = (),
    ) -> None:
        self.path = Path(path)
        ending = self.path.suffix
        if ending not in FORMATS:
            raise InputError(f"{self.path}: ends in {ending!r}; give a file in one of {', '.join(FORMATS)}")
        if array is not None and ending not in (".npz", ".safetensors"):
            raise InputError(
                f"array: {array!r} given for {self.path}, which contains no named arrays; leave out array"
            )
        if id_column is not None and ending not in NAMED_FORMATS:
            raise without_names(self.path, id_column)
        self._refuse_what_is_no_file()
        self._reader: MappedFile | PackedFile | ParquetFile | ArrowFile | CsvFile
        if ending == ".csv":
            self._reader = CsvFile(self.path, id_column, labels, keys)
        elif ending == ".parquet":
            self._reader = ParquetFile(self.path, id_column, labels)
        elif ending == ".arrow":
            self._reader = ArrowFile(self.path, id_column, labels)
        elif ending == ".npz":
            self._reader = PackedFile(self.path, array)
        else:
            self._reader = MappedFile(self.path, array)
        shape, named = self._reader.shape, self._reader.columns
        refuse_dtype(str(self.path), self._reader.dtype)
        if len(shape) != 2:
            raise wrong_axes(str(self.path), shape)
        self.n_rows = None if shape[0] < 0 else shape[0]
        self.n_columns = shape[1]
        self.columns = None if named is None else named.numbers
        self.id_column = None if named is None else named.id_column

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time, as arrays of shape (m, n_columns).

        Only one block of a mapped file is in memory at a time.

        Raises
        ------
        InputError
            For a cell that is not a number; the message names the line or row, and the column.
        """
        return self._reader.blocks(n_rows)

    def ids(self) -> Iterator[str] | None:
        """Return an iterator over the samples' names, read from the file; None if no column has them."""
        if self.id_column is None or not isinstance(self._reader, CsvFile | ParquetFile | ArrowFile):
            return None
        return self._reader.ids()

    def read(self) -> NDArray[Any]:
        """Return all rows in one array, memory-mapped if the format allows it."""
        if isinstance(self._reader, MappedFile):
            return self._reader.array
        parts = list(self.blocks(4096))
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns))

    def _refuse_what_is_no_file(self) -> None:
        """Raise an error for a path that cannot be read twice or would block, such as a pipe."""
        try:
            open_plain(self.path).close()
        except FileNotFoundError:
            raise no_such_file(self.path) from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error}); give a file you may read") from error
