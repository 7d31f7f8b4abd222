"""Read indented outlines: one label a line, whose depth is given by blanks, tabs or dashes before it.

Blanks or tabs may be followed by a bullet (``-`` or ``*``). If some lines start with two or more dashes, the
dashes give the depth. The first indented line determines the width of a level.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.text.lines import Lines, is_record

__all__ = ["looks_like_outline", "read_outline"]

_BLANKS = re.compile(r"([ \t]*)(?:[-*](?:[ \t]+|$))?(.*)")
_COLUMN = re.compile(r"\t|;|,(?! )")
_DASHES = re.compile(r"([ \t]*)(-*)(.*)")


def looks_like_outline(lines: list[str]) -> bool:
    """Return whether some line is indented, or starts with a bullet, or with dashes followed by a blank.

    Dashes without a blank after them may also belong to a key in an edge list. They are taken for indentation
    only if most lines start with a dash, and at least one line that starts with several dashes contains no
    delimiter, so that it cannot be an edge.
    """
    if any(re.match(r"[ \t]+\S|-+ |\* ", line) for line in lines):
        return True
    n_dashed = sum(line.startswith("-") for line in lines)
    return 2 * n_dashed > len(lines) and any(re.match(r"--+[^-\s,;][^\s,;]*$", line) for line in lines)


def read_outline(path: Path, into: Collector, _options: Options) -> None:
    """Read an outline into a collector."""
    blocks = Lines(path, into.recorder).blocks()
    first = next(blocks, None)
    if first is None:
        return
    if _is_table(first[1]):
        into.defect("foreign-file", first[0], "this looks like a table: choose the format edges")
        return
    dashed = any(line.startswith("--") for line in first[1])
    walk = _Walk(into)
    for number, lines in itertools.chain([first], blocks):
        for at, line in enumerate(lines, number):
            if is_record(line):
                _read_line(line, at, dashed, walk, into)


def _is_table(lines: list[str]) -> bool:
    """Return whether the lines look like a table: all have the same number of columns, at least two.

    Lines that look like an outline, for example because one is indented, do not look like a table.
    """
    records = list(filter(is_record, lines))
    widths = {len(_COLUMN.split(line)) for line in records}
    return len(records) > 1 and len(widths) == 1 and widths != {1} and not looks_like_outline(records)


def _read_line(line: str, at: int, dashed: bool, walk: _Walk, into: Collector) -> None:
    match = (_DASHES if dashed else _BLANKS).match(line)
    groups = match.groups() if match else ("", "")
    indent, label = groups[1] if dashed else groups[0], groups[-1].strip()
    if not label:
        into.defect("empty-key", at, line)
    elif (dashed and groups[0]) or not walk.same_blanks(indent):
        into.defect("indent-mixed", at, line)
    else:
        walk.place(label, len(indent), at, line)


class _Walk:
    """The path of labels from the outermost level down to the line read last."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._open: list[tuple[int, str]] = []
        self._blank: str | None = None
        self._unit = 0

    def same_blanks(self, indent: str) -> bool:
        """Return whether `indent` consists only of the character that indents the lines above."""
        kinds = set(indent)
        if self._blank is None and len(kinds) == 1:
            self._blank = indent[0]
        return kinds <= {self._blank}

    def place(self, label: str, width: int, at: int, line: str) -> None:
        """Add a label as a child of the last label that is indented less than `width`.

        A width that does not fit the levels above is reported. A width between two levels is read as that of
        the outer one.
        """
        into = self._into
        above = self._open[-1][0] if self._open else width
        widths = [w for w, _ in self._open]
        if width > above:
            self._unit = self._unit or width - above
            if width - above > self._unit:
                into.defect("indent-jump", at, line)
            elif width - above < self._unit:
                into.defect("indent-between", at, line)
                width = above
        elif widths and width < widths[0]:
            into.defect("indent-outside", at, line)
        elif widths and width not in widths:
            into.defect("indent-between", at, line)
            width = max(w for w in widths if w < width)
        while self._open and self._open[-1][0] >= width:
            self._open.pop()
        parent = self._open[-1][1] if self._open else None
        self._open.append((width, into.place(label, parent, at)))
