"""Edge lists: one edge a line, split by blanks, tabs or commas, with or without header and weights.

Lines that start with ``#`` are comments. Without a header the columns are the two ends and, where there is a
third, the weight. A header names them: ``parent`` and ``child`` (or a word of the same meaning) in any order,
``weight``, ``rank``; other columns are reported and skipped. Cells of comma and tab files may be quoted.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ontology.readers.collect import Collector, Options, parse_weight
from ontology.readers.lines import Lines

__all__ = ["HEADER_WORDS", "read_edges", "sample_delimiter"]

HEADER_WORDS = {
    "parent": "parent", "superclass": "parent", "hypernym": "parent", "broader": "parent",
    "child": "child", "subclass": "child", "hyponym": "child", "narrower": "child",
    "source": "first", "from": "first", "target": "second", "to": "second",
    "weight": "weight", "length": "weight", "distance": "weight",
    "rank": "rank",
}  # fmt: skip
"""What the words of a header name."""

_END_ROLES = (("child", "parent"), ("first", "second"))
_SAMPLE = 50
# What a block must not hold to be split as it is: comments, quotes, blanks around cells.
_UNPLAIN = {
    "space": re.compile(r"^#|,", re.MULTILINE),
    "tab": re.compile(r'^#|["\x0b\x0c\x1c-\x1f ]', re.MULTILINE),
    "comma": re.compile(r'^#|["\t\x0b\x0c\x1c-\x1f ]', re.MULTILINE),
}
_DELIMITERS = {"tab": "\t", "comma": ","}


@dataclass(frozen=True)
class _Layout:
    width: int
    child: int
    parent: int
    weight: int | None = None
    rank: int | None = None
    header: tuple[str, ...] = ()


def read_edges(path: Path, into: Collector, options: Options) -> None:
    """Read an edge list into a collector; about a second for 500,000 edges."""
    into.directed = options.direction != "undirected"
    blocks = Lines(path, into.recorder).blocks()
    first = next(((n, lines) for n, lines in blocks if any(map(_is_record, lines))), None)
    if first is None:
        return
    sample = list(itertools.islice(filter(_is_record, first[1]), _SAMPLE))
    delimiter = options.delimiter or sample_delimiter(sample)
    split = _splitter(delimiter, into)
    layout = None
    for number, lines in itertools.chain([first], blocks):
        columns = _plain_columns(lines, delimiter, layout)
        if columns:
            into.edges(*columns, number)
            continue
        for at, line in enumerate(lines, number):
            if not _is_record(line):
                continue
            cells = split(line, at)
            if cells is None:
                continue
            if layout is None:
                layout = _header(cells, at, into, options)
                if layout is not None:
                    continue
                layout = _headless(sample, delimiter, options)
            _read_record(cells, at, line, delimiter, layout, into)


def _plain_columns(
    lines: list[str], delimiter: str, layout: _Layout | None
) -> tuple[list[str], list[str]] | None:
    """Return children and parents of a block that holds two clean columns and nothing else, else None."""
    if layout is None or layout.width != 2:
        return None
    text = "\n".join(lines)
    if _UNPLAIN[delimiter].search(text) or not (text.isascii() or delimiter == "space"):
        return None
    rows = [line.split(_DELIMITERS.get(delimiter)) for line in lines]
    if set(map(len, rows)) != {2} or list(layout.header) in rows:
        return None
    children, parents = [row[layout.child] for row in rows], [row[layout.parent] for row in rows]
    return None if "" in children or "" in parents else (children, parents)


def _is_record(line: str) -> bool:
    return bool(line) and line[0] != "#" and not line.isspace()


def sample_delimiter(lines: list[str]) -> str:
    """Return the delimiter that most lines hold; tab before comma before space among equals.

    >>> sample_delimiter(["a,b", "a,c", "x y"]), sample_delimiter(["a b"])
    ('comma', 'space')
    """
    marks = {"tab": "\t", "comma": ",", "space": " "}
    votes = Counter(next((name for name, mark in marks.items() if mark in t.strip()), None) for t in lines)
    return max(marks, key=lambda name: votes[name])


def _splitter(delimiter: str, into: Collector) -> Callable[[str, int], list[str] | None]:
    """Return the function that splits a line into cells, or reports it and returns None."""
    if delimiter == "space":
        return lambda line, at: line.split()
    mark = _DELIMITERS[delimiter]

    def split(line: str, at: int) -> list[str] | None:
        if '"' in line:
            try:
                raw = next(csv.reader([line], delimiter=mark, strict=True, skipinitialspace=True))
            except csv.Error:
                into.defect("quote", at, line)
                return None
        else:
            raw = line.split(mark)
        cells = [cell.strip() for cell in raw]
        if cells != raw:
            into.defect("padded-cell", at, line)
        return cells

    return split


def _header(cells: list[str], at: int, into: Collector, options: Options) -> _Layout | None:
    """Return the layout that a header gives; None where the first record is an edge."""
    roles = [HEADER_WORDS.get(cell.casefold()) for cell in cells]
    ends = next((pair for pair in _END_ROLES if pair[0] in roles and pair[1] in roles), None)
    telling = (
        ends is not None or ("weight" in roles and len(cells) > 2) or (None not in roles and len(cells) > 1)
    )
    if options.header is False or (options.header is None and not telling):
        return None
    shown = ", ".join(cells)
    used = [role for role in roles if role is not None]
    half_named = ends is None and (
        len(cells) > 3 or any(role in used for pair in _END_ROLES for role in pair)
    )
    if half_named or len(used) != len(set(used)) or len(cells) < 2:
        into.defect("header", at, shown)
    for cell, role in zip(cells, roles, strict=True):
        if role is None and ends is not None:
            into.defect("extra-column", at, cell)
    if ends is None:  # a header of other words: columns by position
        child, parent = _ends(options)
        third = 2 if len(cells) > 2 else None
        return _Layout(max(len(cells), 2), child, parent, weight=third, header=tuple(cells))
    if ends == ("child", "parent"):
        child, parent = roles.index("child"), roles.index("parent")
        told = "child-parent" if child < parent else "parent-child"
        if options.direction in ("child-parent", "parent-child") and options.direction != told:
            into.defect("direction-header", at, f"{shown} against direction {options.direction}")
            child, parent = parent, child
    else:
        places = roles.index("first"), roles.index("second")
        child, parent = (places[i] for i in _ends(options))
    weight = roles.index("weight") if "weight" in roles else None
    rank = roles.index("rank") if "rank" in roles else None
    return _Layout(len(cells), child, parent, weight, rank, tuple(cells))


def _headless(sample: list[str], delimiter: str, options: Options) -> _Layout:
    """Return the layout of most lines of a sample: two columns, or three with the weight last."""
    mark = _DELIMITERS.get(delimiter)
    widths = Counter(len(line.split(mark)) for line in sample)
    width = 3 if widths[3] > widths[2] else 2
    child, parent = _ends(options)
    return _Layout(width, child, parent, weight=2 if width == 3 else None)


def _ends(options: Options) -> tuple[int, int]:
    """Return the columns of (child, parent) where no header names them."""
    return (0, 1) if options.direction in ("child-parent", "undirected") else (1, 0)


def _read_record(
    cells: list[str], at: int, line: str, delimiter: str, layout: _Layout, into: Collector
) -> None:
    comma_ends = delimiter == "space" and "," in line and any(cell[-1] == "," for cell in cells)
    if len(cells) != layout.width or comma_ends:
        into.defect("mixed-delimiters" if _is_mixed(cells, line, delimiter, layout) else "columns", at, line)
        return
    child, parent = cells[layout.child], cells[layout.parent]
    if not child or not parent:
        into.defect("empty-key", at, line)
        return
    if layout.header and tuple(cells) == layout.header:
        into.defect("repeated-header", at, line)
        return
    weight, rank = 1.0, 0
    if layout.weight is not None:
        weight, code = parse_weight(cells[layout.weight])
        if code:
            into.defect(code, at, line)
            return
    if layout.rank is not None:
        text = cells[layout.rank]
        if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**31:
            rank = int(text)
        else:
            into.defect("rank", at, line)
    into.edge(child, parent, at, rank, weight)


def _is_mixed(cells: list[str], line: str, delimiter: str, layout: _Layout) -> bool:
    """Whether a line of the wrong width would fit another delimiter."""
    if delimiter == "space":
        return "," in line
    other = "," if delimiter == "tab" else "\t"
    return len(cells) == 1 and (other in line or len(line.split()) == layout.width)
