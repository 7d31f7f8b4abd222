"""Read the rows of a table of records: text between tabs, commas or semicolons, or Parquet."""

from __future__ import annotations

import csv
import itertools
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.formats.records.recordcolumns import (
    has_record_header,
    match_columns,
    record_role,
)
from labelgrove.ontology.readers.formats.records.recordlabels import Records
from labelgrove.ontology.readers.formats.tables.tableheader import number_text
from labelgrove.ontology.readers.text.cells import (
    LONGEST_CELL,
    MARKS,
    has_other_mark,
    sample_delimiter,
    split_cells,
)
from labelgrove.ontology.readers.text.lines import is_record
from labelgrove.ontology.readers.text.tablelines import is_parquet, table_blocks

__all__ = ["TableLines", "TableRows", "read_record_table"]

_SAMPLE = 50


def read_record_table(path: Path, into: Collector, options: Options) -> None:
    """Read a table whose first record is a header, and collect its labels."""
    lines = TableLines(path, into)
    first = lines.take()
    if first is None:
        return
    at, line = first
    delimiter = "tab" if is_parquet(path) else options.delimiter or _delimiter(line, lines, options)
    rows = TableRows(lines, into, delimiter)
    header = rows.split(line, at)
    if header is None:
        return
    columns = match_columns(header, at, into, options.columns)
    if columns is None:
        return
    records = Records(into, columns, options)
    weight = columns.single.get("weight")
    width, names = columns.width, list(columns.header)
    for number, cells in rows:
        if len(cells) != width:
            mixed = len(cells) == 1 and has_other_mark(cells[0], delimiter)
            text = str(MARKS[delimiter]).join(cells)
            into.defect("mixed-delimiters" if mixed else "columns", number, text)
        elif cells == names:
            into.defect("repeated-header", number, ", ".join(cells))
        elif any(cells):  # spreadsheets write rows of empty cells
            if weight is not None:
                cells[weight] = number_text(cells[weight], delimiter)
            records.take(cells, number)
    records.close()


def _delimiter(line: str, lines: TableLines, options: Options) -> str:
    """Return the delimiter of the table whose header is `line`."""
    told = has_record_header(line)
    if told is not None:
        return told
    chosen = set((options.columns or {}).values())
    for delimiter in MARKS:
        cells = {cell.strip() for cell in split_cells(line, delimiter) or []}
        if chosen and chosen <= cells:
            return delimiter
    marks = [name for name in MARKS if name != "space" and str(MARKS[name]) in line]
    known = {
        name: sum(record_role(c)[0] is not None for c in split_cells(line, name) or []) for name in marks
    }
    best = max(known, key=known.__getitem__, default=None)
    return best if best is not None and known[best] else sample_delimiter([line, *lines.ahead(_SAMPLE)])


class TableLines:
    """The lines of a table that are neither blank nor comments, with their numbers."""

    def __init__(self, path: Path, into: Collector) -> None:
        self._blocks = table_blocks(path, into.recorder)
        self._left: Iterator[tuple[int, str]] = iter(())
        self._again: deque[tuple[int, str]] = deque()

    def take_any(self) -> tuple[int, str] | None:
        """Return the next line and its number, whatever is in it; None at the end."""
        if self._again:
            return self._again.popleft()
        while True:
            found = next(self._left, None)
            if found is not None:
                return found
            block = next(self._blocks, None)
            if block is None:
                return None
            self._left = iter(list(enumerate(block[1], block[0])))

    def take_block(self) -> tuple[int, list[str]] | None:
        """Return the next lines, whatever is in them, and the number of the first; None at the end."""
        if self._again:
            number, line = self._again.popleft()
            return number, [line]
        left = list(self._left)
        if left:
            return left[0][0], [line for _, line in left]
        return next(self._blocks, None)

    def take(self) -> tuple[int, str] | None:
        """Return the next line that is neither blank nor a comment; None at the end."""
        while (found := self.take_any()) is not None:
            if is_record(found[1]):
                return found
        return None

    def ahead(self, number: int) -> list[str]:
        """Return some of the lines that come next, which are not taken."""
        taken = list(itertools.islice(iter(self.take, None), number))
        self.put_back(taken)
        return [line for _, line in taken]

    def put_back(self, lines: list[tuple[int, str]]) -> None:
        """Have lines that were taken come next."""
        self._again.extendleft(reversed(lines))


class TableRows:
    """The cells of each record of a table; a quoted cell may have several lines."""

    def __init__(self, lines: TableLines, into: Collector, delimiter: str) -> None:
        self._lines = lines
        self._into = into
        self._delimiter = delimiter

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        while (block := self._lines.take_block()) is not None:
            number, lines = block
            rows = _plain_rows(lines, MARKS[self._delimiter])
            if rows is not None:
                yield from enumerate(rows, number)
                continue
            end = number + len(lines)
            self._lines.put_back(list(enumerate(lines, number)))
            while number < end and (found := self._lines.take()) is not None:
                number, line = found
                if number >= end:
                    self._lines.put_back([found])
                    break
                cells = self.split(line, number)
                if cells is not None:
                    yield number, cells

    def split(self, line: str, at: int) -> list[str] | None:
        """Return the cells of the record that begins with a line; None if a quote is not closed.

        Blanks around cells are removed and reported, and so is an unclosed quote.
        """
        raw = split_cells(line, self._delimiter)
        if raw is None:
            raw = self._joined(line)
        if raw is None:
            self._into.defect("quote", at, line)
            return None
        cells = [cell.strip() for cell in raw]
        if cells != raw:
            self._into.defect("padded-cell", at, line)
        return cells

    def _joined(self, line: str) -> list[str] | None:
        """Return the cells of a record that goes on in the next lines; None if it does not end.

        A cell of several lines ends within `LONGEST_CELL` characters. If it does not, the lines that were
        looked at are read again, each as a record of its own.
        """
        mark = MARKS[self._delimiter]
        taken: list[tuple[int, str]] = []

        def lines() -> Iterator[str]:
            yield line + "\n"
            size = len(line)
            while size <= LONGEST_CELL and (found := self._lines.take_any()) is not None:
                taken.append(found)
                size += len(found[1])
                yield found[1] + "\n"

        try:
            if mark is None:
                return None
            return next(csv.reader(lines(), delimiter=mark, strict=True, skipinitialspace=True))
        except (csv.Error, StopIteration):
            self._lines.put_back(taken)
            return None


def _plain_rows(lines: list[str], mark: str | None) -> list[list[str]] | None:
    """Return the cells of lines if a fast check finds that all are simple; None if they need a closer look.

    Simple are records of one line without blanks around cells.
    """
    text = "\n".join(lines)
    if mark is None or not all(lines) or text.startswith("#") or "\n#" in text:
        return None
    quoted = [line for line in lines if '"' in line] if '"' in text else []
    try:
        read = csv.reader(quoted, delimiter=mark, strict=True, skipinitialspace=True)
        parsed = list(read)
    except csv.Error:
        return None
    if len(parsed) != len(quoted):
        return None
    if quoted:
        of_quoted = iter(parsed)
        rows = [next(of_quoted) if '"' in line else line.split(mark) for line in lines]
    else:
        rows = [line.split(mark) for line in lines]
    cells = list(itertools.chain.from_iterable(rows))
    return rows if cells == list(map(str.strip, cells)) and not any(map(str.isspace, lines)) else None
