"""Define the content of a report, independent of its form as HTML, Markdown or JSON.

A report consists of a verdict, a note about its origin, and sections. A section contains paragraphs, tables
and pictures. A picture is data here, and also has a description in words.
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
"""How a verdict sounds to its reader; pages show it as a color, a word and a sign."""


@dataclass(frozen=True)
class Link:
    """A cell of a table with a link to another page, by a relative address."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Judged:
    """A table cell with a verdict."""

    text: str
    tone: Tone

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Pictures:
    """Pictures that are shown side by side where there is room."""

    shown: tuple[Picture, ...]


@dataclass(frozen=True)
class Folded:
    """A table that most readers do not need: closed at first on an HTML page, left out of brief Markdown."""

    table: Table


@dataclass(frozen=True)
class Notes:
    """Facts that a reader must know, one in each line."""

    lines: tuple[str, ...]


Block = str | Table | Pictures | Folded | Notes
"""A part of a section; a string is a paragraph."""


@dataclass(frozen=True)
class Section:
    """A heading, and the blocks below it: paragraphs, tables, pictures and notes."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Origin:
    """The origin of a report.

    Attributes
    ----------
    command : str
        The command that was typed.
    facts : mapping of str to cell
        Versions, seeds, settings and digests, by name.
    others : mapping of str to str
        Further commands; the key of each is the sentence that introduces it.
    """

    command: str
    facts: Mapping[str, Any]
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """The content of one page.

    Attributes
    ----------
    title : str
        The subject, often a question.
    answer : str
        The verdict in a few words.
    tone : {"good", "mixed", "bad", "open"}
    sentence : str
        The verdict in one sentence.
    lead : mapping of str to str
        Texts next to the verdict, each under its heading, such as ``Claim`` for the claim that was tested.
    price : str
        The cost of following the verdict, in one sentence; empty if there is none.
    facts : mapping of str to cell
        Figures about the data and the result, such as the number of samples, by name.
    sections : tuple of Section
    origin : Origin or None
        None for a page of links to other pages.
    document : mapping or sequence
        Plain values for JSON, all of which the sections show as well.
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
        """Return the title with the verdict; if the title is a question, the verdict is its answer."""
        return f"{self.title}{'' if self.title.endswith('?') else ':'} {self.answer}"


def mostly_numbers(cells: Iterable[Any]) -> bool:
    """Return whether most nonempty cells of a column are numbers; then the column is aligned to the right."""
    said = [cell for cell in cells if cell is not None and cell != ""]
    return 2 * sum(map(_is_number, said)) > len(said)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None
    return isinstance(cell, int | float | list | tuple) and not isinstance(cell, bool)
