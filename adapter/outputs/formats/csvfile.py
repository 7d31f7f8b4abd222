"""Read outputs from ``.csv`` files, line by line."""

from __future__ import annotations

import csv
from collections.abc import Collection, Container, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.formats.namedcolumns import NamedColumns
from labelgrove.adapter.outputs.gate import ragged
from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.geometry.weightfaults import bad_cell

__all__ = ["CsvFile", "is_number"]

_LONGEST_LINE = 1 << 24
"""Most characters in a line of a .csv file; a longer line is not part of a table, and is not read whole."""


class CsvFile:
    """A ``.csv`` file with a header.

    Parameters
    ----------
    path : Path
    id_column, labels, keys
        As for `OutputFile`.

    Attributes
    ----------
    columns : NamedColumns
    shape : tuple of int
        The number of rows is -1, because it is known only after the file was read.
    dtype : dtype
        float64.

    Raises
    ------
    InputError
        For an empty file, a first line without names, and text that is not UTF-8.
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self, path: Path, id_column: str | None, labels: Container[str] | None, keys: Collection[str]
    ) -> None:
        self._path = path
        self.columns = NamedColumns.of(path, self._header(keys), id_column, labels)
        self.shape = (-1, len(self.columns.numbers))

    def _header(self, keys: Collection[str]) -> tuple[str, ...]:
        for line, header in self._lines():
            if all(is_number(cell) for cell in header) and not _are_keys(header, keys):
                raise InputError(
                    f"{self._path}:{line}: the first line contains only numbers; a .csv file begins with "
                    "the names of its columns: put them in its first line, or save numbers without names as "
                    ".npy, or, if the names are numbers, add a first column that is called id and names the "
                    "rows (grove: --columns does not replace the header of a .csv file)"
                )
            return tuple(header)
        raise InputError(f"{self._path}: the file is empty; its first line must name the columns")

    def blocks(self, n_rows: int) -> Iterator[NDArray[Any]]:
        """Yield all rows, at most `n_rows` at a time.

        Raises
        ------
        InputError
            For a line with too few or too many cells, and for a cell that is not a number; the message names
            the line and the column.
        """
        lines = self._lines()
        _, header = next(lines)
        names = self.columns.numbers
        start = 0
        while held := list(islice(lines, n_rows)):
            block = np.empty((len(held), len(names)))
            for i, (line, row) in enumerate(held):
                if len(row) != len(header):
                    cells_given = f"{counted(len(row), 'cell')} under a header of {len(header)}"
                    raise ragged(f"{self._path}:{line}", cells_given)
                cells = row if self.columns.id_index is None else self.columns.without_id(row)
                try:
                    block[i] = cells
                except ValueError:
                    j = next(j for j, cell in enumerate(cells) if not is_number(cell))
                    held_there = repr(cells[j]) if cells[j] else "nothing"
                    raise bad_cell(f"{self._path}:{line}", start + i, j, names, held_there) from None
            yield block
            start += len(block)

    def ids(self) -> Iterator[str]:
        """Yield the names of the samples."""
        for _, row in islice(self._lines(), 1, None):
            yield row[self.columns.id_index or 0]

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield a pair for every line that is not empty: the line number and the list of its cells."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(_short_lines(file))
                try:
                    for row in reader:
                        if row:
                            yield reader.line_num, [cell.strip() for cell in row]
                except csv.Error as error:
                    raise InputError(
                        f"{self._path}:{reader.line_num}: not comma-separated cells ({error}); write it again"
                    ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._path}: cannot be read as UTF-8 text ({error}); save it as UTF-8"
            ) from error


def _short_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file; raise `csv.Error` for one that is longer than any line of a table."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise csv.Error(f"a line of more than {_LONGEST_LINE} characters")
        yield line


def _are_keys(numbers: Sequence[str], keys: Collection[str]) -> bool:
    """Return whether `numbers` are exactly the keys, in any order, and not all between 0 and 1."""
    return sorted(numbers) == sorted(keys) and not all(0 <= float(cell) <= 1 for cell in numbers)


def is_number(cell: str) -> bool:
    """Return whether a cell of a table can be read as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
