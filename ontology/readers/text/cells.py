"""Split the lines of a table into cells by a delimiter, and read and write quoted cells."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

__all__ = [
    "LONGEST_CELL",
    "MARKS",
    "has_other_mark",
    "sample_delimiter",
    "split_cells",
    "split_pairs",
    "write_cell",
]

MARKS: Mapping[str, str | None] = MappingProxyType(
    {"tab": "\t", "comma": ",", "semicolon": ";", "space": None}
)
"""The character of each delimiter; None stands for any sequence of blanks."""

LONGEST_CELL = 131_072
"""Length in characters of the longest quoted cell that is read."""


def sample_delimiter(lines: Sequence[str]) -> str:
    """Return the most common delimiter; ties go to tab, then comma or semicolon, then space.

    Each line counts for the first of these delimiters that it contains. Of comma and semicolon, the one that
    occurs in more lines comes first. If they occur in equally many lines, the semicolon comes first, because
    a comma in a decimal number is far more common than a semicolon in a label.

    >>> sample_delimiter(["a,b", "a,c", "x y"]), sample_delimiter(["a b"]), sample_delimiter(["a;b;0,5"])
    ('comma', 'space', 'semicolon')
    """
    bare = [line.strip(" ") for line in lines]
    commas, semicolons = (sum(mark in line for line in bare) for mark in ",;")
    order = ("semicolon", "comma") if semicolons >= commas else ("comma", "semicolon")
    marks = {"tab": "\t"} | {name: str(MARKS[name]) for name in order} | {"space": " "}
    votes = Counter(next((name for name, mark in marks.items() if mark in line), None) for line in bare)
    return max(marks, key=lambda name: votes[name])


def has_other_mark(text: str, delimiter: str) -> bool:
    """Return whether a text contains a tab, comma or semicolon that is not the delimiter.

    >>> has_other_mark("a;b", "comma"), has_other_mark("a b", "comma")
    (True, False)
    """
    return any(mark in text for name, mark in MARKS.items() if mark is not None and name != delimiter)


def split_cells(line: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line, unquoted but with their blanks; None if a quote is not closed.

    >>> split_cells('"a ""b"", c",d', "comma"), split_cells('"a,b', "comma"), split_cells(" a  b ", "space")
    (['a "b", c', 'd'], None, ['a', 'b'])
    """
    mark = MARKS[delimiter]
    if mark is None or '"' not in line:
        return line.split(mark)
    try:
        return next(csv.reader([line], delimiter=mark, strict=True, skipinitialspace=True))
    except csv.Error:
        return None


def split_pairs(lines: list[str], mark: str) -> list[str] | None:
    """Return the cells of all lines in one list, if every line is two cells with one `mark` between them.

    Return None if a line has another number of marks, or an empty cell. Cells are not checked otherwise.

    >>> split_pairs(["a,b", "c,d"], ","), split_pairs(["a,b", ",d"], ","), split_pairs(["a,b,c", "d"], ",")
    (['a', 'b', 'c', 'd'], None, None)
    """
    if set(map(str.count, lines, itertools.repeat(mark))) != {1}:
        return None
    cells = mark.join(lines).split(mark)
    return None if "" in cells else cells


def write_cell(text: str, delimiter: str) -> str:
    """Return `text` as a cell that `split_cells` reads back as `text`, in quotes if needed.

    Text that starts with ``#`` is quoted too, because at the start of a line it would open a comment.

    >>> write_cell("#1 tree", "tab"), write_cell('6" pipe', "tab"), write_cell("oak", "tab")
    ('"#1 tree"', '"6"" pipe"', 'oak')
    """
    plain = not text.startswith("#") and '"' not in text and str(MARKS[delimiter]) not in text
    return text if plain else '"' + text.replace('"', '""') + '"'
