"""Outputs as blocks of rows, from memory, from a file or from a stream.

Rows may arrive in pieces of any size, but are always passed on in blocks of one size. So no result depends on
how a stream was cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.gate import rows_at_once, wrong_width
from labelgrove.adapter.outputs.rows import DenseRows, OutputRows, Outputs
from labelgrove.adapter.outputs.weights import OutputReader
from labelgrove.ontology.errors import WeightError

__all__ = ["BlockSource", "OutputStream", "RowBlocks"]


@runtime_checkable
class BlockSource(Protocol):
    """Outputs that can be read repeatedly, a few rows at a time, such as an `OutputFile`."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if it is known only after reading."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time."""
        ...


OutputStream = Outputs | BlockSource | Iterator[Any]
"""Outputs, a source of blocks, or an iterator of blocks of rows; read once, from start to end."""


class RowBlocks:
    """Outputs of any form, cut into blocks of rows that `OutputReader` checks as it reads them.

    Parameters
    ----------
    reader : OutputReader
        Reader that knows the kind of the outputs and the number of columns.
    columns : tuple of str
        Keys of the columns, for messages.
    P : array_like, SparseOutputs, scipy.sparse matrix, BlockSource or iterator of any of the first three
        The outputs. All forms but an iterator can be read again.

    Attributes
    ----------
    n_rows : int or None
        Number of rows; None if it is not known before reading.

    Raises
    ------
    WeightError
        For outputs of a wrong shape, or that are not real numbers.
    """

    def __init__(self, reader: OutputReader, columns: tuple[str, ...], P: OutputStream) -> None:
        self._reader, self._columns = reader, columns
        self._given: OutputRows | BlockSource | Iterator[Any]
        self.n_rows: int | None = None
        self._name = "P"
        if isinstance(P, BlockSource):
            self._given, self.n_rows, self._name = P, P.n_rows, str(getattr(P, "path", "P"))
            if P.n_columns != reader.n_columns:
                raise wrong_width(self._name, (P.n_rows, P.n_columns), reader.n_columns, columns)
        elif isinstance(P, Iterator):
            self._given = P
        else:
            self._given = reader.rows(P, columns)
            self.n_rows = len(self._given)

    def __iter__(self) -> Iterator[DenseRows]:
        """Yield all rows in blocks of 4,096 (fewer for more than 1,024 columns); the last may be shorter."""
        size, first = rows_at_once(self._reader.n_columns), 0
        for block in _cut(self._parts(size), size):
            yield DenseRows(block, self._columns, self._name, first)
            first += len(block)

    def _parts(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in pieces of at most `size` rows; pieces that arrive shorter are not joined."""
        pieces: Iterable[Any] = (self._given,)
        if isinstance(self._given, BlockSource):
            pieces = self._given.blocks(size)
        elif isinstance(self._given, Iterator):
            pieces = self._given
        start = 0
        for piece in pieces:
            try:
                rows = self._reader.rows(piece, self._columns)
            except WeightError as error:
                where = f" (in the block that begins with row {start})" if start else ""
                raise WeightError(f"{error}{where}") from None
            for first in range(0, len(rows), size):
                yield rows.part(slice(first, min(first + size, len(rows))), None, self._reader.absent)
            start += len(rows)


def _cut(pieces: Iterator[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of all pieces in blocks of `size` rows; the last block may be shorter."""
    held: list[NDArray[Any]] = []
    n_held = 0
    for piece in pieces:
        held.append(piece)
        n_held += len(piece)
        while n_held >= size:
            whole = held[0] if len(held) == 1 else np.concatenate(held)
            yield whole[:size]
            held = [whole[size:]]
            n_held -= size
    if n_held:
        yield held[0] if len(held) == 1 else np.concatenate(held)
