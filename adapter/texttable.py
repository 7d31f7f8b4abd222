"""Tables of reports, and how to show them as aligned text."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Span", "Table", "shown", "shown_width"]


class Span(NamedTuple):
    """A table cell with the two ends of a range."""

    low: float
    high: float


@dataclass(frozen=True)
class Table:
    """A table of a report: a title, named columns, and rows of cells.

    Attributes
    ----------
    title : str
    columns : tuple of str
        Names of the columns; the first column contains text, the others mostly numbers.
    rows : tuple of tuple
        Cells: text, numbers, a `Span`, or None for a cell without a value.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def text(self) -> list[str]:
        """Return the lines of the table with aligned columns, without the title."""
        lines = [self.columns, *(tuple(map(shown, row)) for row in self.rows)]
        widths = [max(map(shown_width, column)) for column in zip(*lines, strict=True)]
        return [
            "  ".join(
                c + " " * (w - shown_width(c)) if i == 0 else " " * (w - shown_width(c)) + c
                for i, (c, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]


def shown(cell: Any) -> str:
    """Return the text that reports show for a cell.

    Whole numbers are shown with all digits. Other numbers are shown with four significant digits, or with one
    decimal from 1,000 on.

    >>> [shown(cell) for cell in (0.123456, 12345, 23456.78, None, "oak", Span(1.25, 2.0))]
    ['0.1235', '12,345', '23,456.8', '–', 'oak', '1.25 to 2']
    """
    if cell is None:
        return "–"
    if isinstance(cell, Span):
        return f"{shown(cell.low)} to {shown(cell.high)}"
    if isinstance(cell, float):
        return f"{cell:,.1f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    if isinstance(cell, list | tuple):
        return ", ".join(map(shown, cell))
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def shown_width(text: str) -> int:
    r"""Return how many columns of a terminal a text takes.

    >>> shown_width("oak"), shown_width("櫟"), shown_width("e\u0301")
    (3, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
