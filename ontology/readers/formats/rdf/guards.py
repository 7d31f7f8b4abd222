"""Refuse RDF text that would harm its parser, before the parser sees it.

The parser expands entities of XML without limit, and text that is nested too deep ends the whole process. A
guard reads every line first. It returns False for the first line that the parser must not see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.text.xmltext import DEEPEST, LONGEST_ENTITY, XmlParser

__all__ = ["Guard", "JsonGuard", "QuotedGuard", "XmlGuard"]

MOST_QUOTED = 1000
"""Number of ``<<`` in a file that is read: each may open a triple inside a triple."""

LONGEST_IRI = LONGEST_ENTITY
"""Length in characters of the longest namespace that is expanded."""

_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_LONG = re.compile(rf'"[^"\s]{{{LONGEST_IRI + 1},}}')
_JSON_ID = re.compile(r'"@?id"\s*:\s*"([^"\\]*)"')
_JSON_BRACKET = re.compile(r"[\[\]{}]")


class Guard(Protocol):
    """Look at every line of a file before its parser does."""

    def allows(self, line: str, at: int) -> bool:
        """Return whether the parser may read a line; if not, report why."""
        ...

    def close(self, at: int) -> None:
        """Report what is missing at the end of the file."""
        ...


class QuotedGuard:
    """Refuse Turtle, TriG, N-Triples and N-Quads with many nested triples."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._quoted = 0

    def allows(self, line: str, at: int) -> bool:
        """Return whether the file has at most `MOST_QUOTED` signs ``<<`` so far."""
        self._quoted += line.count("<<")
        if self._quoted <= MOST_QUOTED:
            return True
        self._into.defect("rdf-nesting", at, f"more than {MOST_QUOTED:,} signs << up to here")
        return False

    def close(self, at: int) -> None:
        """Do nothing: the parser itself reports a file that is cut off."""


class JsonGuard:
    """Refuse JSON-LD that is nested too deeply, or whose namespace is too long.

    Its parser gives triples only at the end of the file, so this guard also remembers in which lines the
    labels are.

    Attributes
    ----------
    context_line : int
        Line of the first ``@context``; 1 if there is none.
    """

    def __init__(self, into: Collector) -> None:
        self.context_line = 1
        self._into = into
        self._depth = 0
        self._has_context = False
        self._line_of: dict[str, int] = {}  # by the text of the id, and once resolved by IRI
        self._is_resolved = False

    def allows(self, line: str, at: int) -> bool:
        """Return whether brackets are nested at most `DEEPEST` levels deep, and no word is too long."""
        if len(line) > LONGEST_IRI and (found := _JSON_LONG.search(line)):
            self._into.defect("rdf-expansion", at, f"a text of more than {LONGEST_IRI:,} characters without "
                              f"blanks, which begins with {found[0][1:41]}")  # fmt: skip
            return False
        if not self._has_context and '"@context"' in line:
            self._has_context, self.context_line = True, at
        for found_id in _JSON_ID.findall(line):
            self._line_of.setdefault(found_id, at)
        for bracket in _JSON_BRACKET.findall(_JSON_STRING.sub("", line)):
            self._depth += 1 if bracket in "[{" else -1
            if self._depth > DEEPEST:
                self._into.defect("rdf-nesting", at, f"level {DEEPEST + 1} of brackets")
                return False
        return True

    def close(self, at: int) -> None:
        """Do nothing: the parser itself reports a file that is cut off."""

    def line_of(self, iri: str, prefixes: Callable[[], Mapping[str, str]]) -> int:
        """Return the first line with an ``id`` that means an IRI; 1 if there is none.

        Call this only after the last line; `prefixes` returns the prefixes of the file.
        """
        if not self._is_resolved:
            self._is_resolved = True
            known = prefixes()
            for name, line in list(self._line_of.items()):
                prefix, colon, rest = name.partition(":")
                if not colon:
                    prefix, rest = "", name
                if prefix in known:
                    iri_of_name = known[prefix] + rest
                    self._line_of[iri_of_name] = min(line, self._line_of.get(iri_of_name, line))
        return self._line_of.get(iri, 1)


class XmlGuard:
    """Refuse RDF/XML with external or nested entities, with deep nesting, or that is not well formed.

    A second parser, which never loads anything, reads each line first. Plain entities, which shorten
    namespaces, are allowed.
    """

    def __init__(self, into: Collector) -> None:
        self._parser = XmlParser(into.defect, broken="rdf-document", nested="rdf-nesting", entities=True)

    def allows(self, line: str, at: int) -> bool:
        """Return whether the text up to this line is well formed and without forbidden declarations."""
        return self._parser.feed(line, at)

    def close(self, at: int) -> None:
        """Report XML that is cut off."""
        self._parser.close(at)
