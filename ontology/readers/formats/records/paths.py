"""Read label paths: one path a line, such as ``Animals > Dogs > Terriers``, or one level a column.

The labels of a line are separated by `` > ``, ``/``, ``|``, ``;`` or tabs, and a separator after a backslash
is part of a name. A line may begin or end with the id of its last label: ``166 - Clothing > Shoes``, or the
id and a tab. Names of folders such as ``00012_Animalia_Chordata_..._Canis_lupus`` are paths as well. A table
with one level a column has a header (``level1,level2`` or ``kingdom,phylum,...``), unless it is an array of
numpy.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from labelgrove.ontology.readers.collect import PLACEHOLDERS, Collector, Options
from labelgrove.ontology.readers.formats.records.pathlabels import PathLabels, path_of
from labelgrove.ontology.readers.formats.records.recordcolumns import level_columns, record_role
from labelgrove.ontology.readers.formats.records.recordtable import TableLines, TableRows
from labelgrove.ontology.readers.text.cells import MARKS, split_cells
from labelgrove.ontology.readers.text.head import head

__all__ = ["NUMPY", "has_level_header", "path_separator", "read_paths"]

NUMPY = b"\x93NUMPY"
"""First bytes of a file in which numpy keeps an array."""

_SEPARATORS = (" > ", " / ", " | ", " ; ", ">", "|", ";", "\t", "/")
_SAMPLE = 200
_OF_RECORDS = frozenset({"parent", "children", "name"})
_LEADING = re.compile(r"([\w:.-]{1,100})(?: - |\t)(?=\S)")
_TRAILING = re.compile(r"\t([\w:.-]{1,100})$")
_DIGIT = re.compile(r"\d")
_FOLDER = re.compile(r"(\d{3,})_([A-Z][a-z-]+(?:_[A-Za-z0-9.-]+){5,})")
_LINNAEAN = 7

_DAMAGED = (OSError, ValueError, EOFError, SyntaxError, TypeError, OverflowError, TokenError, UserWarning)
"""What numpy raises for files that are not arrays of texts or numbers."""

_Entry = tuple[str | None, list[str], str, int]
"""Id (None if the source has no ids), names from the top, name of the last label if it is another, line."""


def read_paths(path: Path, into: Collector, options: Options) -> None:
    """Read label paths into a collector; the paths are kept in memory if the source has ids."""
    start = head(path)
    is_array = start.start.startswith(NUMPY)
    if is_array and start.packed:
        into.defect("array", 0, "it is packed with gzip: unpack it with gunzip")
        return
    entries = _array(path, into) if is_array else _text(path, into, options)
    taken: list[_Entry] = []
    found = PathLabels(into)
    for entry in entries:
        key, names, last, at = entry
        if key is None:
            found.add(names, at, last)
        else:
            taken.append(entry)
    _with_ids(taken, into)


def _with_ids(entries: Sequence[_Entry], into: Collector) -> None:
    """Add paths of which some have ids: the id is the key of its path, wherever the path stands."""
    ids: dict[str, str] = {}
    path_with: dict[str, str] = {}
    for key, names, _, at in entries:
        if not key:
            continue
        path = path_of(names)
        before = ids.setdefault(path, key)
        if before != key:
            into.defect("conflicting-ids", at, f"{' > '.join(names)}: {key} here, {before} elsewhere")
            ids[path] = min(before, key)
        other = path_with.setdefault(key, path)
        if other != path:
            into.defect("duplicate-id", at, f"{key} for {path} and {other}")
    found = PathLabels(into, ids)
    for _, names, last, at in entries:
        found.add(names, at, last)


def _array(path: Path, into: Collector) -> Iterator[_Entry]:
    """Yield the rows of an array of texts or integers; its line is the number of the row, from 1."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # a header that only a guess makes readable
            rows: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except _DAMAGED as error:
        into.defect("array", 0, " ".join(str(error).split()).rstrip("."))
        return
    if rows.ndim != 2 or rows.dtype.kind not in "UiuS":
        into.defect("array", 0, f"shape {rows.shape} and dtype {rows.dtype}")
        return
    if not len(rows):
        return
    encoding = "utf-32-be" if rows.dtype.str[0] == ">" else "utf-32-le"
    for at, row in enumerate(rows, 1):
        if rows.dtype.kind == "U":
            try:
                row.tobytes().decode(encoding)  # numpy raises SystemError, or gives it
            except UnicodeDecodeError as error:
                into.defect("array", at, f"a row with a code that is not a character: {error.reason}")
                return
        cells = [
            one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in row.tolist()
        ]
        yield None, _without_placeholders(cells), "", at


def _without_placeholders(names: list[str]) -> list[str]:
    return ["" if name.strip().casefold() in PLACEHOLDERS else name.strip() for name in names]


def has_level_header(line: str) -> str | None:
    """Return the delimiter of a header whose columns are levels; None for any other line.

    >>> has_level_header("level1,level2"), has_level_header("kingdom;phylum;id"), has_level_header("a,b")
    ('comma', 'semicolon', None)
    """
    for delimiter in MARKS:
        cells = split_cells(line, delimiter) or []
        roles = {record_role(cell)[0] for cell in cells}
        if delimiter != "space" and len(level_columns(cells)) > 1 and not _OF_RECORDS & roles:
            return delimiter
    return None


def _text(path: Path, into: Collector, options: Options) -> Iterator[_Entry]:
    lines = TableLines(path, into)
    sample = lines.ahead(_SAMPLE)
    if not sample:
        return
    if options.separator is None and (delimiter := has_level_header(sample[0])):
        yield from _columns(lines, into, delimiter)
        return
    if options.separator is None and _most(_FOLDER.fullmatch(line.strip("/ ")) for line in sample):
        yield from _folders(lines, into)
        return
    separator = options.separator or path_separator(sample)
    if separator is None:
        at, _ = next(iter(lines.take, None))
        text = "most lines hold none of the separators > / | ; and tab: name it with the option separator"
        into.defect("foreign-file", at, text)
        return
    yield from _lines(lines, into, separator, sample)


def _most(found: Iterator[object]) -> bool:
    told = [one is not None for one in found]
    return sum(told) * 2 > len(told)


def path_separator(lines: Sequence[str]) -> str | None:
    """Return what separates the labels of most paths; None if nothing does.

    >>> path_separator(["A", "A > B/C", "A > D"]), path_separator(["/A/B", "/A"]), path_separator(["A B"])
    (' > ', '/', None)
    """
    votes = Counter(next((one for one in _SEPARATORS if one in _without_id(line)), None) for line in lines)
    known = {one: number for one, number in votes.items() if one is not None}
    best = max(known, key=lambda one: (known[one], -_SEPARATORS.index(one)), default=None)
    return best if best is not None and (known[best] * 3 >= len(lines) or best == " > ") else None


def _without_id(line: str) -> str:
    found = _leading_id(line) or _trailing_id(line)
    return line if found is None else found[1]


def _leading_id(line: str) -> tuple[str, str] | None:
    """Return the id at the start of a line, and the rest; None if there is none: an id has a digit."""
    found = _LEADING.match(line)
    return (found[1], line[found.end() :]) if found and _DIGIT.search(found[1]) else None


def _trailing_id(line: str) -> tuple[str, str] | None:
    """Return the id at the end of a line, and the rest; None if there is none."""
    found = _TRAILING.search(line)
    return (found[1], line[: found.start()]) if found and _DIGIT.search(found[1]) else None


def _lines(lines: TableLines, into: Collector, separator: str, sample: Sequence[str]) -> Iterator[_Entry]:
    pattern = re.compile(rf"(?<!\\){re.escape(separator)}")
    bare = separator.strip()
    leads = separator != "\t" and all(map(_leading_id, sample))
    trails = separator != "\t" and not leads and all(map(_trailing_id, sample))
    while (taken := lines.take()) is not None:
        at, line = taken
        key, text = None, line
        if leads or trails:
            found = _leading_id(line) if leads else _trailing_id(line)
            if found is None:
                into.defect("path-without-id", at, line)
            key, text = found or ("", line)
        if separator not in text and bare and len(bare) < len(separator) and bare in text:
            into.defect("mixed-delimiters", at, line)
            continue
        names = [step.replace(f"\\{separator}", separator).strip() for step in pattern.split(text)]
        if len(names) > 1 and not names[0] and bare == "/":  # /A/B
            names = names[1:]
        if not any(names):
            into.defect("empty-key", at, line)
            continue
        yield key, names, "", at


def _folders(lines: TableLines, into: Collector) -> Iterator[_Entry]:
    """Yield the paths in names of folders, such as those of the iNaturalist challenge."""
    while (taken := lines.take()) is not None:
        at, line = taken
        found = _FOLDER.fullmatch(line.strip("/ "))
        if found is None:
            into.defect("folder-name", at, line)
            continue
        names = found[2].split("_")
        if len(names) < _LINNAEAN:
            into.defect("missing-level", at, line)
        yield found[1], names, f"{names[-2]} {names[-1]}", at


def _columns(lines: TableLines, into: Collector, delimiter: str) -> Iterator[_Entry]:
    """Yield the paths in a table with one level a column, which may also have a column of keys."""
    rows = TableRows(lines, into, delimiter)
    header: list[str] = []
    levels: list[int] = []
    key: int | None = None
    for at, cells in rows:
        if not header:
            header, levels = cells, level_columns(cells)
            above = set(levels)
            roles = [None if i in above else record_role(cell)[0] for i, cell in enumerate(cells)]
            key = roles.index("key") if "key" in roles else None
            used = above | {key}
            for i, word in enumerate(header):
                if i not in used:
                    into.defect("extra-column", at, f"{word or f'column {i + 1}'}: its cells are left out")
            if len({word.casefold() for word in header}) != len(header):
                into.defect("header", at, ", ".join(header))
        elif len(cells) != len(header):
            into.defect("columns", at, str(MARKS[delimiter]).join(cells))
        elif cells == header:
            into.defect("repeated-header", at, ", ".join(cells))
        elif any(cells):
            names = _without_placeholders([cells[i] for i in levels])
            if not any(names):
                into.defect("empty-key", at, str(MARKS[delimiter]).join(cells))
                continue
            yield None if key is None else cells[key], names, "", at
