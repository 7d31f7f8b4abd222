"""Lay out tables as text, with columns aligned on a terminal and fitted to its width."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from labelgrove.adapter.texttable import shown_width
from labelgrove.cli.printing.text import escaped

__all__ = ["NARROWEST", "cut_to", "laid_out", "table"]

NARROWEST = 20
"""The least width, in columns, to which a table is fitted; a narrower terminal counts as this wide."""

_IN_FULL: Mapping[str, Callable[[str], str]] = MappingProxyType({})


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    wrap: bool = False,
    whole: Collection[str] = (),
    brief: Mapping[str, Callable[[str], str]] = _IN_FULL,
) -> str:
    """Return rows as a table of aligned text; columns of numbers are aligned to the right.

    On a terminal, the table is fitted to the width: long text is cut, or wrapped in the last column if `wrap`
    is set. Columns in `whole` are never cut, and the functions in `brief` shorten the texts of some columns.
    Elsewhere nothing is cut or shortened, so that a program that reads the output gets the whole text.
    """
    cells = [["" if value is None else _cell_text(value) for value in row] for row in rows]
    headers = [_cell_text(column) for column in columns]
    if not sys.stdout.isatty():
        return "\n".join(laid_out(headers, cells))
    shorter = [brief.get(column, str) for column in columns]
    cells = [[short(cell) for short, cell in zip(shorter, row, strict=True)] for row in cells]
    headers, *cells = [[escaped(cell).replace("\t", r"\t") for cell in row] for row in (headers, *cells)]
    width = max(NARROWEST, shutil.get_terminal_size().columns)
    kept = [i for i, column in enumerate(columns) if column in whole]
    return "\n".join(laid_out(headers, cells, width=width, wrap=wrap, whole=kept))


def _cell_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    return text.replace("\n", " ")


_GAP = 2

_MOST_LINES = 8  # of one cell

_LONGEST_NUMBER = 24

_READABLE = 12  # a column of text is not made narrower than this to put another one next to it


def laid_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    wrap: bool = False,
    whole: Collection[int] = (),
) -> list[str]:
    """Return the lines of a table; columns of numbers are aligned to the right.

    Parameters
    ----------
    columns : sequence of str
        The headings of the columns.
    rows : sequence of sequence of str
        A cell for each column, without line ends.
    width : int, optional
        Width of the terminal in characters. Text that is too long is cut. Columns that do not fit follow in
        another table below, which repeats the first column. By default, nothing is cut.
    wrap : bool
        Whether long text in the last column is wrapped; it is cut only after 8 lines.
    whole : collection of int
        The indices of the columns that are never cut, even if the table is then wider than `width`.

    Examples
    --------
    >>> print(*laid_out(("key", "depth"), [("oak", "2"), ("a long key indeed", "10")], width=14), sep="\\n")
    key      depth
    -------  -----
    oak          2
    a long…     10
    """
    table = [list(columns), *map(list, rows)]
    cells = [list(column) for column in zip(*table, strict=True)]
    number = [len(rows) > 0 and all(map(_is_number, column[1:])) for column in cells]
    widths = [max(map(shown_width, column)) for column in cells]
    least = [
        size if i in whole else max(map(len, column[1:])) if fixed else min(1, size)
        for i, (column, fixed, size) in enumerate(zip(cells, number, widths, strict=True))
    ]
    lines: list[str] = []
    for block in _blocks(widths, least, width):
        fitted = _fitted([widths[i] for i in block], [least[i] for i in block], width)
        wraps = wrap and block[-1] == len(columns) - 1 and not number[block[-1]]
        if lines:
            lines.append("")
        for place in range(len(table)):
            parts = [
                _parts(cells[i][place], size, wraps and i == block[-1])
                for i, size in zip(block, fitted, strict=True)
            ]
            lines += _lines(parts, fitted, [number[i] for i in block])
            if place == 0:
                lines.append((" " * _GAP).join("-" * size for size in fitted))
    return lines


def _blocks(widths: Sequence[int], least: Sequence[int], width: int | None) -> Iterator[list[int]]:
    """Split a table that is too wide into parts, and yield the indices of the columns of each part.

    Every part begins with the first column of the table.
    """
    wanted = [max(least_, min(size, _READABLE)) for size, least_ in zip(widths, least, strict=True)]
    block = [0]
    for i in range(1, len(widths)):
        if width is not None and len(block) > 1 and sum(wanted[j] + _GAP for j in [*block, i]) - _GAP > width:
            yield block
            block = [0]
        block.append(i)
    yield block


def _fitted(widths: Sequence[int], least: Sequence[int], width: int | None) -> list[int]:
    """Return a width for each column, so that the table fits in `width` characters if possible.

    The widest columns are narrowed first. `least` contains the minimum width of each column.
    """
    if width is None:
        return list(widths)
    fitted = [min(size, max(least_, width)) for size, least_ in zip(widths, least, strict=True)]
    excess = sum(fitted) + _GAP * (len(fitted) - 1) - width
    while excess > 0:
        giving = [i for i, size in enumerate(fitted) if size > least[i]]
        if not giving:
            break
        widest = max(giving, key=lambda i: fitted[i])
        fitted[widest] -= 1
        excess -= 1
    return fitted


def _parts(text: str, size: int, wraps: bool) -> list[str]:
    """Return the lines of a cell.

    A text that is too long for one line is broken into several lines if `wraps` is set; otherwise, it is cut.
    """
    if shown_width(text) <= size:
        return [text]
    return list(_wrapped(text, size)) if wraps else [cut_to(text, size)]


def cut_to(text: str, size: int) -> str:
    """Return `text`, or its beginning and an ellipsis if it is wider than `size` characters on a terminal.

    >>> cut_to("oak", 3), cut_to("holm oak", 6)
    ('oak', 'holm …')
    """
    return text if shown_width(text) <= size else _head(text, size - 1) + "…"


def _head(text: str, size: int) -> str:
    """Return the longest beginning of `text` that is at most `size` characters wide on a terminal."""
    taken = 0
    for i, character in enumerate(text):
        taken += shown_width(character)
        if taken > size:
            return text[:i]
    return text


def _wrapped(text: str, size: int) -> Iterator[str]:
    """Yield `text` as at most 8 lines, each at most `size` characters wide on a terminal; cut the rest.

    Lines are broken at spaces if possible.
    """
    for _ in range(_MOST_LINES - 1):
        if shown_width(text) <= size:
            break
        head = _head(text, size) or text[:1]
        if text[len(head)] != " " and " " in head.strip():
            head = head[: head.rstrip().rindex(" ") + 1]
        yield head.rstrip()
        text = text[len(head) :].lstrip()
    yield cut_to(text, size)


def _lines(parts: Sequence[Sequence[str]], widths: Sequence[int], number: Sequence[bool]) -> Iterator[str]:
    for i in range(max(map(len, parts))):
        placed = []
        for part, size, right in zip(parts, widths, number, strict=True):
            text = part[i] if i < len(part) else ""
            pad = " " * (size - shown_width(text))
            placed.append(pad + text if right else text + pad)
        yield (" " * _GAP).join(placed).rstrip()


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return len(text) <= _LONGEST_NUMBER
