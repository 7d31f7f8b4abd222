"""Tables of reports, and how to show them as aligned text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Span", "Table", "shown"]


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
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return [
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w)
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
