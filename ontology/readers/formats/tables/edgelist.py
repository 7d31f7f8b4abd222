"""Read edge lists, which have one edge a line, with or without a header.

The cells of a line are separated by blanks, tabs, commas or semicolons.

Lines that start with ``#`` are comments. Without a header, the first two columns are the ends of the edge,
and a third column is its weight. A header names the columns in any order
(`ontology.readers.formats.tables.tableheader`): ``parent`` and ``child``, or ``parent`` and ``key`` if each
record is a label; and also ``weight``, ``rank``, ``name``, ``definition`` and ``relation``. Other columns are
reported and left out. Cells may be quoted unless the delimiter is blanks.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options, parse_rank, parse_weight
from labelgrove.ontology.readers.formats.tables.relations import Relations
from labelgrove.ontology.readers.formats.tables.tableheader import (
    UNKNOWN_WORDS,
    Layout,
    has_header,
    has_unknown_words,
    number_text,
    read_header,
    sampled_layout,
)
from labelgrove.ontology.readers.text.cells import (
    MARKS,
    has_other_mark,
    sample_delimiter,
    split_cells,
    split_pairs,
)
from labelgrove.ontology.readers.text.lines import is_record
from labelgrove.ontology.readers.text.tablelines import is_parquet, table_blocks

__all__ = ["read_edges"]

_SAMPLE = 50
# A block that contains any of these cannot simply be split: quotes, and blanks that are not the delimiter.
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace() and c not in "\t\n ")
_UNPLAIN = {
    "space": f",\t{_BLANKS}",
    "tab": f'" {_BLANKS}',
    "comma": f'"\t {_BLANKS}',
    "semicolon": f'"\t {_BLANKS}',
}


def read_edges(path: Path, into: Collector, options: Options) -> None:
    """Read an edge list into a collector; this takes about a second for 500,000 edges."""
    into.directed = options.direction != "undirected"
    blocks = table_blocks(path, into.recorder)
    first = next(((n, lines) for n, lines in blocks if any(map(is_record, lines))), None)
    if first is None:
        return
    sample = list(itertools.islice(filter(is_record, first[1]), _SAMPLE))
    told = has_header(sample[0]) if options.header is not False else None
    delimiter = "tab" if is_parquet(path) else options.delimiter or told or sample_delimiter(sample)
    reader = _Reader(into, options, delimiter, sample)
    for number, lines in itertools.chain([first], blocks):
        done = 0
        while reader.layout is None and done < len(lines):  # until the layout is known
            reader.take(lines[done], number + done)
            done += 1
        rest = lines[done:]
        columns = _plain_columns(rest, delimiter, reader.layout)
        if columns:
            into.edges(*columns, number + done)
            continue
        for at, line in enumerate(rest, number + done):
            reader.take(line, at)
        if reader.is_foreign:
            return
    reader.close()


def _plain_columns(
    lines: list[str], delimiter: str, layout: Layout | None
) -> tuple[list[str], list[str]] | None:
    """Return the children and the parents in `lines` if a fast check finds that all of them are simple.

    A simple line consists of the two ends of an edge and one delimiter. Return None if a line may contain
    anything else, such as a comment or a quote: the caller then reads the lines one by one.
    """
    if layout is None or layout.width != 2 or layout.of_labels:
        return None
    mark = MARKS[delimiter] or " "
    cells = split_pairs(lines, mark)
    text = "\n".join(lines)
    if cells is None or text[0] == "#" or "\n#" in text or any(c in text for c in _UNPLAIN[delimiter]):
        return None
    if layout.header and mark.join(layout.header) in lines:
        return None
    return cells[layout.child :: 2], cells[layout.parent :: 2]


class _Reader:
    """Read lines one by one; the first record determines the layout of the columns."""

    def __init__(self, into: Collector, options: Options, delimiter: str, sample: list[str]) -> None:
        self._into = into
        self._options = options
        self._delimiter = delimiter
        self._sample = sample
        self._begin: int | None = None  # the line of the first record
        self._relations = Relations(into, options.relation)
        self.layout: Layout | None = None
        self.is_foreign = False

    def take(self, line: str, at: int) -> None:
        """Read a line; pass over comments and blank lines."""
        if not is_record(line):
            return
        cells = self._split(line, at)
        if cells is None or self.is_foreign:
            return
        if self.layout is None:
            self._begin = at
            if self._settle(cells, at):
                return
        if self.layout is not None:
            self._record(cells, at, line, self.layout)

    def close(self) -> None:
        """Report the defects that can be found only after the last record."""
        into, layout = self._into, self.layout
        if layout is None:
            return
        if layout.of_labels and layout.name is not None:
            into.report_unnamed()
        if into.directed:
            into.report_decimals((lambda: into.labels) if layout.of_labels else into.children)
        if layout.of_labels and not layout.undirected:
            into.report_undescribed()
        self._relations.report(has_column=layout.relation is not None)

    def _split(self, line: str, at: int) -> list[str] | None:
        """Return the cells of a line without surrounding blanks; None if a quote is not closed.

        An unclosed quote is reported, and so are blanks around a cell.
        """
        raw = split_cells(line, self._delimiter)
        if raw is None:
            self._into.defect("quote", at, line)
            return None
        cells = [cell.strip() for cell in raw]
        if cells != raw:
            self._into.defect("padded-cell", at, line)
        return cells

    def _settle(self, cells: list[str], at: int) -> bool:
        """Determine the layout from the first record; return whether the caller is done with this record.

        The answer is False if the record is an edge: the caller must still read this edge. The answer is True
        if the record is a header, or if the file is not an edge list, which is reported.
        """
        self.layout = read_header(cells, at, self._into, self._options)
        if self.layout is not None:
            self._into.directed = self._into.directed and not self.layout.undirected
            return True
        layout = sampled_layout(self._sample, self._delimiter, self._options)
        if isinstance(layout, Layout):
            self.layout = layout
            return False
        self._into.defect("foreign-file", at, layout)
        self.is_foreign = True
        return True

    def _record(self, cells: list[str], at: int, line: str, layout: Layout) -> None:
        into, delimiter = self._into, self._delimiter
        comma_ends = delimiter == "space" and "," in line and any(cell[-1] == "," for cell in cells)
        if len(cells) != layout.width or comma_ends:
            mixed = _is_mixed(cells, line, delimiter, layout)
            into.defect("mixed-delimiters" if mixed else "columns", at, line)
            return
        child, parent = cells[layout.child], cells[layout.parent]
        if not child or not (parent or layout.of_labels):
            into.defect("empty-key", at, line)
            return
        if layout.header and tuple(cells) == layout.header:
            into.defect("repeated-header", at, line)
            return
        if layout.of_labels:
            into.describe(child, at)
        if layout.name is not None and cells[layout.name]:
            into.name(child, cells[layout.name], at)
        if layout.definition is not None and cells[layout.definition]:
            into.define(child, cells[layout.definition], at)
        if parent and self._is_wanted(cells, at, layout):
            self._edge(cells, at, line, layout)

    def _is_wanted(self, cells: list[str], at: int, layout: Layout) -> bool:
        """Return whether the relation of a record is wanted, if there is a column of relations."""
        if layout.relation is None:
            return True
        child, parent = cells[layout.child], cells[layout.parent]
        return self._relations.is_wanted(cells[layout.relation], at, child, (parent,))

    def _edge(self, cells: list[str], at: int, line: str, layout: Layout) -> None:
        into = self._into
        weight, rank = 1.0, 0
        if layout.weight is not None:
            weight, code = parse_weight(number_text(cells[layout.weight], self._delimiter))
            if code:
                into.defect(code, at, self._headed(line) if at == self._begin else line)
                return
        if layout.rank is not None:
            stated = parse_rank(cells[layout.rank])
            if stated is None:
                into.defect("rank", at, line)
            rank = stated or 0
        into.edge(cells[layout.child], cells[layout.parent], at, rank, weight)

    def _headed(self, line: str) -> str:
        """Return the text that the report shows for the first record, after its weight was found invalid.

        The text is `line`, the record itself. If `line` may be a header whose words are unknown, the text
        begins by saying so.
        """
        return f"{UNKNOWN_WORDS}: {line}" if has_unknown_words(self._sample, self._delimiter) else line


def _is_mixed(cells: list[str], line: str, delimiter: str, layout: Layout) -> bool:
    """Return whether a line with a wrong number of columns is probably split by another delimiter.

    `delimiter` is the delimiter of the file, with which `cells` were split.
    """
    if delimiter == "space":
        return "," in line
    return len(cells) == 1 and (has_other_mark(line, delimiter) or len(line.split()) == layout.width)
