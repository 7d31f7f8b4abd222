"""Read outputs from ``.arrow`` files, one record batch at a time.

A stream and a file of the Arrow IPC format hold the same messages: a schema, then record batches. A file has
a mark in front and an index behind them, which is not used. What a message announces is checked before
anything is unpacked, because compressed buffers say themselves how much memory they want.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.arrowcolumns import names_of, numbers_of, refuse_text
from labelgrove.adapter.outputs.formats.namedcolumns import NamedColumns, without_names
from labelgrove.adapter.outputs.gate import wrong_dtype
from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry.weightfaults import bad_cell

__all__ = ["ArrowFile"]

_MARK, _MARK_SIZE = b"ARROW1", 8  # with two bytes of padding

_MOST_BATCHES = 10_000  # each costs time, however few rows it has

_BYTES_A_NUMBER, _BYTES_A_NAME, _BYTES_A_BUFFER = 9, 256, 64
"""What compressed buffers may unpack to: so much for each number, each name of a row, and each buffer.

A number has at most eight bytes, and a bit that says whether its cell is empty.
"""


class ArrowFile:
    """A ``.arrow`` file, in the stream or the file form of Arrow IPC.

    It has a column of numbers for each label, or a single column of lists of one fixed size, whose numbers
    are in the order of the model.

    Parameters
    ----------
    path : Path
    id_column, labels
        As for `OutputFile`.

    Attributes
    ----------
    columns : NamedColumns or None
        None for a column of lists.
    shape : tuple of int
    dtype : dtype
        float64, to which columns of other types are converted.

    Raises
    ------
    InputError
        For a damaged file, for a column that contains neither numbers nor the names of the samples, for
        columns encoded as dictionaries, and for buffers that unpack to more than the rows can need.
    MissingExtraError
        If pyarrow is not installed.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, path: Path, id_column: str | None, labels: Container[str] | None) -> None:
        self._path = path
        messages = self._messages()
        self._schema = self._read_schema(next(messages, None))
        header = tuple(self._schema.names)
        self._width = self._width_of_lists()
        if self._width is None:
            self.columns: NamedColumns | None = NamedColumns.of(path, header, id_column, labels)
            refuse_text(path, self.columns, self._schema)
            self._refuse_odd_names(self.columns)
            n_columns = len(self.columns.numbers)
        else:
            if id_column is not None:
                raise without_names(path, id_column)
            self.columns, n_columns = None, self._width
        has_names = self.columns is not None and self.columns.id_index is not None
        bytes_a_row = _BYTES_A_NUMBER * n_columns + _BYTES_A_NAME * has_names
        self.shape = (sum(self._checked(message, bytes_a_row) for message in messages), n_columns)

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time.

        Raises
        ------
        InputError
            For an empty cell, and for a damaged part of the file.
        """
        start = 0
        for batch in self._batches():
            for first in range(0, len(batch), n_rows):
                part = batch.slice(first, n_rows)
                if self.columns is None:
                    yield self._lists(part.column(0), start)
                else:
                    yield numbers_of(self._path, self.columns, part, start)
                start += len(part)

    def ids(self) -> Iterator[str]:
        """Yield the names of the samples."""
        assert self.columns is not None
        for batch in self._batches():
            yield from names_of(self._path, self.columns, batch)

    def _lists(self, column: Any, first: int) -> NDArray[Any]:
        """Return the numbers of a column of lists, one row for each."""
        width = self.shape[1]
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise bad_cell(str(self._path), first + row, 0, (), "nothing")
        numbers = column.flatten()
        if numbers.null_count:
            at = int(np.flatnonzero(numbers.is_null().to_numpy(zero_copy_only=False))[0])
            raise bad_cell(str(self._path), first + at // width, at % width, (), "nothing")
        cells: NDArray[Any] = numbers.to_numpy(zero_copy_only=False)
        return cells.reshape(len(column), width)

    # ---- what the columns are ----------------------------------------------------------------------------

    def _read_schema(self, message: Any) -> Any:
        from pyarrow import ArrowException, ipc

        if message is None or message.type != "schema":
            raise self._damaged("it does not begin with a schema")
        try:
            schema = ipc.read_schema(message)
            _ = schema.names  # decodes them
            big = _number(message.metadata, _header(message.metadata), 0, "<h") == 1
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self._path}: a column has a name that is not UTF-8 ({error}); write it again"
            ) from error
        except (OSError, ArrowException, struct.error) as error:
            raise self._damaged(error) from error
        if big != (sys.byteorder == "big"):
            raise InputError(
                f"{self._path}: numbers in the byte order of another machine; write it again here"
            )
        return schema

    def _width_of_lists(self) -> int | None:
        """Return the size of the lists if they are the only column; None if each label has a column."""
        from pyarrow import types

        if len(self._schema) != 1 or not types.is_fixed_size_list(held := self._schema.types[0]):
            return None
        if not (types.is_integer(held.value_type) or types.is_floating(held.value_type)):
            raise wrong_dtype(f"{self._path}: column {self._schema.names[0]!r}", held)
        if not held.list_size:  # any number of them takes no bytes
            raise self._damaged("lists without numbers")
        return int(held.list_size)

    def _refuse_odd_names(self, columns: NamedColumns) -> None:
        """Raise an error if names of samples are neither texts nor numbers."""
        from pyarrow import types

        if columns.id_index is None:
            return
        held = self._schema.types[columns.id_index]
        if not (types.is_string(held) or types.is_large_string(held) or types.is_primitive(held)):
            raise InputError(
                f"{self._path}: column {columns.id_column!r}, which names the rows, has type {held}; give "
                "texts or numbers, not encoded as a dictionary"
            )

    # ---- messages ----------------------------------------------------------------------------------------

    def _checked(self, message: Any, bytes_a_row: int) -> int:
        """Return the number of rows of a record batch that is not unpacked yet."""
        if message.type == "dictionary":
            raise InputError(
                f"{self._path}: a column is encoded as a dictionary; give its values, as "
                "pyarrow.compute.dictionary_decode returns them"
            )
        if message.type != "record batch":
            raise self._damaged(f"a message of type {message.type!r} among the rows")
        try:
            n_rows, unpacked, n_buffers = _announced(message.metadata, message.body)
        except struct.error as error:
            raise self._damaged(error) from error
        if n_rows < 0 or unpacked > n_rows * bytes_a_row + n_buffers * _BYTES_A_BUFFER:
            raise self._damaged(f"a record batch of {n_rows:,} rows that would unpack to {unpacked:,} bytes")
        return n_rows

    def _batches(self) -> Iterator[Any]:
        from pyarrow import ArrowException, ipc

        messages = self._messages()
        next(messages)  # the schema
        for message in messages:
            try:
                batch = ipc.read_record_batch(message, self._schema)
                batch.validate(full=True)  # else texts with wrong lengths are read outside the file
            except (OSError, ArrowException) as error:
                raise self._damaged(error) from error
            yield batch

    def _messages(self) -> Iterator[Any]:
        """Yield the messages, mapped from the file; the first one is the schema."""
        try:
            from pyarrow import ArrowException, ipc, memory_map
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "service", "reading .arrow files") from error
        if not self._path.stat().st_size:
            raise self._damaged("the file is empty")
        try:
            with memory_map(str(self._path)) as source:
                if source.read_at(len(_MARK), 0) == _MARK:
                    if source.read_at(len(_MARK), source.size() - len(_MARK)) != _MARK:
                        raise self._damaged("its end is missing")
                    source.seek(_MARK_SIZE)
                for n_messages, message in enumerate(ipc.MessageReader.open_stream(source)):
                    if n_messages > _MOST_BATCHES:
                        raise InputError(
                            f"{self._path}: more than {_MOST_BATCHES:,} record batches; write more rows in "
                            "each"
                        )
                    yield message
        except (OSError, ArrowException) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: object) -> InputError:
        return InputError(f"{self._path}: not a sound .arrow file ({error}); write it again")


def _announced(metadata: Any, body: Any) -> tuple[int, int, int]:
    """Return the rows of a record batch, the bytes of its compressed buffers unpacked, and its buffers.

    Buffers that are not compressed lie in the file as they are, and count 0 bytes.
    """
    table = _header(metadata)
    n_rows = _number(metadata, table, 0, "<q")
    at = _field(metadata, table, 2)
    if at is None:
        return n_rows, 0, 0
    at += struct.unpack_from("<I", metadata, at)[0]
    (n_buffers,) = struct.unpack_from("<I", metadata, at)
    if _field(metadata, table, 3) is None:  # nothing is compressed
        return n_rows, 0, n_buffers
    unpacked = 0
    for offset, length in struct.iter_unpack("<qq", memoryview(metadata)[at + 4 : at + 4 + 16 * n_buffers]):
        if length:
            if offset < 0:
                raise struct.error("a buffer before its record batch")
            unpacked += max(0, struct.unpack_from("<q", body, offset)[0])  # -1: this one is not compressed
    return n_rows, unpacked, n_buffers


# A message is a flatbuffer: a table refers to its fields by a list of offsets, 0 for one that is left out.
# pyarrow has verified that all offsets are inside the message.


def _header(metadata: Any) -> int:
    """Return where the table of the schema or record batch in a message begins."""
    (message,) = struct.unpack_from("<I", metadata, 0)
    at = _field(metadata, message, 2)
    if at is None:
        raise struct.error("a message without a header")
    return at + int(struct.unpack_from("<I", metadata, at)[0])


def _field(metadata: Any, table: int, index: int) -> int | None:
    """Return where a field of a table is; None if it is left out."""
    offsets = table - struct.unpack_from("<i", metadata, table)[0]
    place = 4 + 2 * index
    if place >= struct.unpack_from("<H", metadata, offsets)[0]:
        return None
    (offset,) = struct.unpack_from("<H", metadata, offsets + place)
    return table + offset if offset else None


def _number(metadata: Any, table: int, index: int, form: str) -> int:
    """Return a number of a table, which is 0 if it is left out."""
    at = _field(metadata, table, index)
    return 0 if at is None else int(struct.unpack_from(form, metadata, at)[0])
