"""Write a report as Markdown, with the same verdict, tables and origin, and each picture in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from labelgrove.adapter.texttable import Table, shown
from labelgrove.report.content import Block, Folded, Link, Notes, Origin, Report, mostly_numbers
from labelgrove.report.svg import clean

__all__ = ["to_markdown"]

_SPECIAL = re.compile(r"([\\`*|]|(?<!\w)_|_(?!\w)|\](?=[(\[]))")


def to_markdown(report: Report, *, level: int = 1, brief: bool = False) -> str:
    """Return a report as Markdown.

    Parameters
    ----------
    report : Report
    level : int, default=1
        The level of the heading.
    brief : bool, default=False
        Whether to leave out the pictures, and the tables that are closed at first on the HTML page.
    """
    blocks = [f"{'#' * level} {_text(report.heading)}"]
    blocks += [f"**{_text(name)}.** {_text(said)}" for name, said in report.lead.items()]
    blocks.append(f"**Verdict: {_text(report.answer)}.** {_text(report.sentence)}")
    if report.price:
        blocks.append(_text(report.price))
    if report.facts:
        blocks.append(_pairs(report.facts))
    for section in report.sections:
        kept = [b for block in section.blocks for b in _block(block, brief)]
        if kept:
            blocks += [f"{'#' * (level + 1)} {_text(section.title)}", *kept]
    if report.origin is not None:
        blocks += _origin(report.origin, level)
    return "\n\n".join(blocks) + "\n"


def _table_lines(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return the lines of a table; columns of numbers are aligned to the right."""
    cells = [list(row) for row in rows]
    head = [_text(name) for name in columns]
    ruler = ["---:" if mostly_numbers(row[i] for row in cells) else "---" for i in range(len(head))]
    lines = [head, ruler, *([_cell(cell) for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _block(block: Block, brief: bool) -> Iterator[str]:
    if isinstance(block, str):
        yield _text(block)
    elif isinstance(block, Notes):
        yield "\n".join(f"- {_text(line)}" for line in block.lines)
    elif isinstance(block, Table | Folded):
        table = block if isinstance(block, Table) else block.table
        if not (brief and isinstance(block, Folded)):
            yield _text(table.title)
            yield _table_lines(table.columns, table.rows)
    elif not brief:
        for picture in block.shown:
            yield f"**{_text(picture.title)}** (picture). {_text(picture.alternative)}"


def _origin(origin: Origin, level: int) -> Iterator[str]:
    yield f"{'#' * (level + 1)} Where this comes from"
    yield _code(origin.command)
    for said, command in origin.others.items():
        yield _text(said)
        yield _code(command)
    yield _pairs(origin.facts)


def _pairs(facts: Mapping[str, Any]) -> str:
    return "\n".join(f"- {_text(name)}: {_cell(value)}" for name, value in facts.items())


def _code(command: str) -> str:
    """Return a block of code for a command; its fence is longer than any run of backticks in the command."""
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{clean(command)}\n{fence}"


def _cell(cell: Any) -> str:
    if isinstance(cell, Link):
        return f"[{_text(cell.text)}]({cell.address})"
    return _text(shown(cell))


def _text(said: str) -> str:
    r"""Return text with all markup escaped.

    >>> _text("<script> | *a* | snake_case")
    '&lt;script&gt; \\| \\*a\\* \\| snake_case'
    """
    plain = clean(said).replace("\n", " ").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)
