"""What a report says, before it is HTML, Markdown or JSON.

A report is a verdict, sections of paragraphs, tables and pictures, and where all of it comes from. Pictures
are data here; each says in words what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgrove.adapter.texttable import Table
from labelgrove.report.picturedata import Picture

__all__ = [
    "Block",
    "Folded",
    "Judged",
    "Link",
    "Notes",
    "Origin",
    "Pictures",
    "Report",
    "Section",
    "Tone",
    "mostly_numbers",
]

_NUMBER = re.compile(r"[+−-]?[\d.,]+(e[+-]?\d+)?( ± [\d.,e+-]+)?( %)?")

Tone = Literal["good", "mixed", "bad", "open"]
"""What a verdict is to its reader; a word and a sign say it beside the color."""


@dataclass(frozen=True)
class Link:
    """A cell of a table that leads to another page, by a relative address."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Judged:
    """A cell of a table that is a verdict."""

    text: str
    tone: Tone

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Pictures:
    """Pictures that stand side by side where there is room."""

    shown: tuple[Picture, ...]


@dataclass(frozen=True)
class Folded:
    """A table that most readers need not see: closed at first on a screen, left out of a short text."""

    table: Table


@dataclass(frozen=True)
class Notes:
    """What a reader must know, one line each."""

    lines: tuple[str, ...]


Block = str | Table | Pictures | Folded | Notes
"""A part of a section; a string is a paragraph."""


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Origin:
    """Where a report comes from.

    Attributes
    ----------
    command : str
        What was typed.
    facts : mapping of str to cell
        Versions, seeds, settings and digests, by name.
    others : mapping of str to str
        Further commands, by the sentence that introduces them.
    """

    command: str
    facts: Mapping[str, Any]
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """One page.

    Attributes
    ----------
    title : str
        What it is about.
    answer : str
        The verdict in a few words.
    tone : {"good", "mixed", "bad", "open"}
    sentence : str
        The verdict in one sentence.
    lead : mapping of str to str
        What stands beside the verdict, such as the claim that was tested.
    price : str
        What following the verdict costs, in one sentence; empty where it costs nothing.
    facts : mapping of str to cell
        The size of what was measured, by name.
    sections : tuple of Section
    origin : Origin or None
        None for a page of links to others.
    document : mapping or sequence
        Plain values for JSON; every figure of it stands in the sections.
    """

    title: str
    answer: str
    tone: Tone
    sentence: str
    sections: tuple[Section, ...]
    origin: Origin | None
    document: Any
    lead: Mapping[str, str] = field(default_factory=dict)
    price: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """Return what it is about with the verdict; a question is followed by its answer."""
        return f"{self.title}{'' if self.title.endswith('?') else ':'} {self.answer}"


def mostly_numbers(cells: Iterable[Any]) -> bool:
    """Return whether most cells of a column are numbers, and the column is set to the right."""
    said = [cell for cell in cells if cell is not None and cell != ""]
    return 2 * sum(map(_is_number, said)) > len(said)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None
    return isinstance(cell, int | float | list | tuple) and not isinstance(cell, bool)
