"""Read outputs from ``.parquet`` files, one row group at a time."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.arrowcolumns import names_of, numbers_of, refuse_text
from labelgrove.adapter.outputs.formats.namedcolumns import NamedColumns
from labelgrove.ontology.errors import InputError, MissingExtraError

__all__ = ["ParquetFile"]

_IDS_AT_ONCE = 1 << 16


class ParquetFile:
    """A ``.parquet`` file.

    Parameters
    ----------
    path : Path
    id_column, labels
        As for `OutputFile`.

    Attributes
    ----------
    columns : NamedColumns
    shape : tuple of int
    dtype : dtype
        float64, to which columns of other types are converted.

    Raises
    ------
    InputError
        For a damaged file, and for a column that contains neither numbers nor the names of the samples.
    MissingExtraError
        If pyarrow is not installed.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, path: Path, id_column: str | None, labels: Container[str] | None) -> None:
        self._path = path
        try:
            with self._open() as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
                header = tuple(schema.names)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: a column has a name that is not UTF-8 ({error}); write it again"
            ) from error
        self.columns = NamedColumns.of(path, header, id_column, labels)
        self.shape = (n_rows, len(self.columns.numbers))
        refuse_text(path, self.columns, schema)

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time.

        Raises
        ------
        InputError
            For an empty cell, and for a damaged part of the file.
        """
        start = 0
        for batch in self._batches(n_rows):
            yield numbers_of(self._path, self.columns, batch, start)
            start += len(batch)

    def ids(self) -> Iterator[str]:
        """Yield the names of the samples."""
        for batch in self._batches(_IDS_AT_ONCE):
            yield from names_of(self._path, self.columns, batch)

    def _batches(self, n_rows: int) -> Iterator[Any]:
        from pyarrow import ArrowException

        with self._open() as file:
            try:
                yield from file.iter_batches(batch_size=n_rows)
            except (OSError, ArrowException) as error:
                raise InputError(f"{self._path}: a damaged page ({error}); write it again") from error

    def _open(self) -> Any:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile as PyarrowFile
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "service", "reading .parquet files") from error
        try:
            return PyarrowFile(self._path)
        except (OSError, ArrowException) as error:
            raise InputError(f"{self._path}: not a .parquet file ({error}); write it again") from error
