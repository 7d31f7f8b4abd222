"""Write CSV; on request, change text in it so that a spreadsheet does not run the text as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

__all__ = ["as_csv", "safe_cell", "safe_line"]

_FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""Characters that begin a formula, or a new cell that may be one; the last four are East Asian wide forms."""


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, safe: bool = False) -> str:
    """Return rows as CSV with a header and no final line end; `safe` applies `safe_cell` to every cell."""
    lines: list[str] = []
    # With "\r\n" as line end, the writer quotes every cell that contains either character.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    for row in (columns, *rows):
        writer.writerow([safe_cell(cell) for cell in row] if safe else row)
    return "\n".join(line.removesuffix("\r\n") for line in lines)


def safe_cell(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would run as a formula; return all else unchanged.

    >>> [safe_cell(cell) for cell in ("=1+1", "-elm", "elm", -0.5)]
    ["'=1+1", "'-elm", 'elm', -0.5]
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def safe_line(line: str, delimiter: str) -> str:
    r"""Return a line of an exported table after `safe_cell` was applied to every cell.

    >>> safe_line("-elm,tree", "comma")
    "'-elm,tree\n"
    """
    from labelgrove.ontology.readers.text.cells import MARKS, split_cells, write_cell

    cells = split_cells(line.removesuffix("\n"), delimiter) or []
    return str(MARKS[delimiter]).join(write_cell(safe_cell(cell), delimiter) for cell in cells) + "\n"
