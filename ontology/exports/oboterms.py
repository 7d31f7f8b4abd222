r"""Write OBO 1.4: a term for each label, with its parents, names, notes and marks.

Names have no language in OBO. Line ends, tabs and characters with a meaning are written with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.readers.text.lines import LONGEST_LINE

__all__ = ["OBO", "obo_lines"]

_SCOPES = {"exact": "EXACT", "narrow": "NARROW", "broad": "BROAD", "related": "RELATED"}
_NOTES = {
    "alternative_id": "alt_id",
    "reference": "xref",
    "replaced_by": "replaced_by",
    "consider": "consider",
}

_SHORT = {"\n": "\\n", "\t": "\\t", " ": "\\W"}
_IN_KEY = re.compile(r"[\\\s!\"{}()\[\],]")
_IN_TEXT = re.compile(r"[\\\n\t!{}]|^\s|\s$")
_IN_QUOTES = re.compile(r'[\\\n\t"]')


_LONGEST = LONGEST_LINE // 16
"""Length in characters of the longest text that is written: escaped and in UTF-8 it still fits in a line."""


def _text_fault(text: str) -> str | None:
    """Return why a text in quotes cannot hold a text."""
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST:,} characters"
    return "contains a carriage return, NUL or byte order mark" if set(text) & set("\r\0\ufeff") else None


def _value_fault(text: str) -> str | None:
    """Return why a value without quotes cannot hold a text: of blanks, only some have an escape."""
    if text[-1:].isspace() and text[-1] not in _SHORT:
        return "ends in a special blank"
    return _text_fault(text)


def _note_fault(text: str) -> str | None:
    return "contains a quote" if '"' in text else _value_fault(text)


OBO = Holds(
    key_fault=_value_fault,
    name_fault=_value_fault,
    note_fault=_note_fault,
    text_fault=_text_fault,
    names=True,
    name_kinds=frozenset(_SCOPES),
    definitions=True,
    deprecated=True,
    retires=True,
    notes=frozenset(_NOTES),
)
"""What OBO can hold."""


def obo_lines(content: Content) -> Iterator[str]:
    """Return the lines of the file."""
    graph = content.graph
    if not graph.directed:
        raise InputError(
            f"layout {graph.layout!r} does not fit OBO, whose terms have parents; export as json"
        )
    return _lines(content)


def _lines(content: Content) -> Iterator[str]:
    yield "format-version: 1.4\n"
    if content.name:
        yield f"ontology: {_escaped(content.name, _IN_KEY)}\n"
    for subject in content:
        yield "\n[Term]\n"
        for tag, value in _clauses(subject):
            yield f"{tag}: {value}\n"


def _clauses(subject: Subject) -> Iterator[tuple[str, str]]:
    found = subject.described
    yield "id", _escaped(subject.key, _IN_KEY)
    if subject.name:
        yield "name", _escaped(subject.name, _IN_TEXT)
    for text in found.alternative_id:
        yield "alt_id", _escaped(text, _IN_KEY)
    if found.definition:
        yield "def", f"{_quoted(found.definition)} []"
    for name in found.names:
        yield "synonym", f"{_quoted(name.text)} {_SCOPES[name.kind]} []"
    for text in found.reference:
        yield "xref", _escaped(text, _IN_KEY)
    for edge in subject.edges:
        yield "is_a", _escaped(edge.parent, _IN_KEY)
    if found.deprecated:
        yield "is_obsolete", "true"
    for kind in ("replaced_by", "consider"):
        for text in getattr(found, kind):
            yield kind, _escaped(text, _IN_KEY)


def _quoted(text: str) -> str:
    return f'"{_escaped(text, _IN_QUOTES)}"'


def _escaped(text: str, special: re.Pattern[str]) -> str:
    return special.sub(lambda found: _SHORT.get(found[0], f"\\{found[0]}"), text)
