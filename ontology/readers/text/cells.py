"""Lines of a table as cells: which delimiter splits them, and how quoted cells are read and written."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

__all__ = ["LONGEST_CELL", "MARKS", "sample_delimiter", "split_cells", "write_cell"]

MARKS: Mapping[str, str | None] = MappingProxyType(
    {"tab": "\t", "comma": ",", "semicolon": ";", "space": None}
)
"""The character of each delimiter; None: any run of blanks."""

LONGEST_CELL = 131_072
"""Characters of the longest quoted cell that is read."""


def sample_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that most lines hold; tab, then comma or semicolon, before space among equals.

    Of comma and semicolon in one line, that counts which more lines of the sample hold, the semicolon among
    equals: a decimal comma is far more common than a semicolon within a label.

    >>> sample_delimiter(["a,b", "a,c", "x y"]), sample_delimiter(["a b"]), sample_delimiter(["a;b;0,5"])
    ('comma', 'space', 'semicolon')
    """
    bare = [line.strip(" ") for line in lines]
    commas, semicolons = (sum(mark in line for line in bare) for mark in ",;")
    order = ("semicolon", "comma") if semicolons >= commas else ("comma", "semicolon")
    marks = {"tab": "\t"} | {name: str(MARKS[name]) for name in order} | {"space": " "}
    votes = Counter(next((name for name, mark in marks.items() if mark in line), None) for line in bare)
    return max(marks, key=lambda name: votes[name])


def split_cells(line: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line as they are written, without quotes; None where a quote does not close.

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


def write_cell(text: str, delimiter: str) -> str:
    """Return a cell as `split_cells` reads it back, also where it begins a line: ``#`` would open a comment.

    >>> write_cell("#1 tree", "tab"), write_cell('6" pipe', "tab"), write_cell("oak", "tab")
    ('"#1 tree"', '"6"" pipe"', 'oak')
    """
    plain = not text.startswith("#") and '"' not in text and str(MARKS[delimiter]) not in text
    return text if plain else '"' + text.replace('"', '""') + '"'
