"""Parse RDF safely into triples with lines: nothing is loaded, and the whole file is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.formats.rdf.guards import (
    LONGEST_IRI,
    Guard,
    JsonGuard,
    QuotedGuard,
    XmlGuard,
)
from labelgrove.ontology.readers.formats.rdf.syntax import is_json, is_quads, is_turtle, is_xml
from labelgrove.ontology.readers.formats.rdf.terms import Statement, Text, without_blank_names
from labelgrove.ontology.readers.text.head import head
from labelgrove.ontology.readers.text.jsontext import LONGEST_TEXT
from labelgrove.ontology.readers.text.lines import LONGEST_LINE, Lines

try:
    from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuadParser, RdfFormat, parse
except ImportError as error:
    raise MissingExtraError.of("pyoxigraph", "rdf", "reading RDF") from error

__all__ = ["Triples"]

MOST_TRIPLES = 50_000_000
"""Number of triples that are read from one file."""

EXPANDED_FLOOR, EXPANDED_RATIO = 64 << 20, 200
"""Characters to which the terms of a file may expand: this number, or this multiple of its length."""

MOST_ERRORS = 1000
"""Number of syntax errors after which a file is not read on."""

_LINES_AT_ONCE = 1000
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`]*')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TURTLE_NAME = re.compile(r"\.(ttl|trig|n3)(\.gz)?\Z", re.IGNORECASE)


class Triples:
    """The triples of one file, in the order of the file.

    Parameters
    ----------
    path : Path
        A file in Turtle, TriG, N-Triples, N-Quads, RDF/XML or JSON-LD, plain or gzip. The syntax is
        recognized from its start. Named graphs are read as one graph.
    into : Collector
        Records the defects.

    Attributes
    ----------
    prefixes : dict of str to str
        Namespace of each prefix that the file declares; complete after the iteration.

    Notes
    -----
    The line of a triple is that up to which its parser has read. JSON-LD is parsed as a whole, so there the
    line is that of the first ``@id`` with the subject, or that of the last one before it if none is found.
    """

    def __init__(self, path: Path, into: Collector) -> None:
        self.prefixes: dict[str, str] = {}
        self._into = into
        self._expanded = 0
        self._reported: set[str] = set()
        start = head(path)
        self._format, longest = RdfFormat.TRIG, LONGEST_LINE
        guard: Guard = QuotedGuard(into)
        if is_xml(start):
            self._format, longest, guard = RdfFormat.RDF_XML, LONGEST_TEXT, XmlGuard(into)
        elif is_json(start):
            self._format, longest, guard = RdfFormat.JSON_LD, LONGEST_TEXT, JsonGuard(into)
        elif is_quads(start) and not (is_turtle(start) or _TURTLE_NAME.search(path.name)):
            self._format = RdfFormat.N_QUADS
        self._feed = _Feed(Lines(path, into.recorder, longest), guard)

    def __iter__(self) -> Iterator[Statement]:
        for n, (line, quad) in enumerate(self._quads(), 1):
            statement = self._statement(line, quad)
            if n > MOST_TRIPLES or self._expanded > max(EXPANDED_FLOOR, EXPANDED_RATIO * self._feed.length):
                text = f"{n:,} triples with {self._expanded:,} characters, from {self._feed.length:,} bytes"
                self._into.defect("rdf-expansion", line, text)
                break
            if statement is not None:
                yield statement
        self._feed.finish()

    def _quads(self) -> Iterator[tuple[int, Quad]]:
        return self._of_lines() if self._format == RdfFormat.N_QUADS else self._of_document()

    def _of_document(self) -> Iterator[tuple[int, Quad]]:
        """Yield the triples of a document, each with its line.

        After an error in Turtle, the parser goes on with the next statement; in other syntaxes it stops.
        """
        feed, n_errors = self._feed, 0
        parser = parse(feed, format=self._format, lenient=True)  # type: ignore[arg-type]
        while True:
            try:
                quad = next(parser)
            except StopIteration:
                break
            except SyntaxError as error:
                n_errors += 1
                if feed.is_refused or not self._goes_on(error, n_errors):
                    break
                continue
            yield feed.line_of(quad, parser), quad
        self.prefixes = dict(parser.prefixes)

    def _of_lines(self) -> Iterator[tuple[int, Quad]]:
        """Yield the triples of a file with one triple in each line; a line with an error is left out."""
        n_errors = 0
        for first, lines in self._feed.blocks(_LINES_AT_ONCE):
            numbers = [first + i for i, line in enumerate(lines) if line and not line.startswith("#")]
            quads, error = _parsed("\n".join(lines))
            if error is None and len(quads) == len(numbers):
                yield from zip(numbers, quads, strict=True)
                continue
            for number in numbers:
                quads, error = _parsed(lines[number - first])
                yield from ((number, quad) for quad in quads)
                if error is not None:
                    n_errors += 1
                    self._into.defect("rdf-statement", number, _message(error))
                    if n_errors == MOST_ERRORS:
                        self._into.defect("rdf-document", number, "the rest was not read: too many errors")
                        return

    def _goes_on(self, error: SyntaxError, n_errors: int) -> bool:
        """Report a syntax error, and return whether the parser can go on after it."""
        feed = self._feed
        line = min(error.lineno or feed.line, feed.line)
        if "remote context" in str(error):
            self._into.defect("remote-context", feed.context_line, "@context names another document")
        elif self._format != RdfFormat.TRIG or feed.is_at_end:
            self._into.defect("rdf-document", line, _message(error))
        else:
            self._into.defect("rdf-statement", line, _message(error))
            if n_errors < MOST_ERRORS:
                return True
            self._into.defect("rdf-document", line, "the rest was not read: too many errors")
        return self._format == RdfFormat.TRIG and n_errors < MOST_ERRORS

    def _statement(self, line: int, quad: Quad) -> Statement | None:
        """Return a triple in the terms of Python; None if it is about a triple or has a very long IRI."""
        subject, found = self._resource(quad.subject, line), quad.object
        held: str | Text | None
        if isinstance(found, Literal):
            held = Text(found.value, (found.language or "").lower())
            self._expanded += len(held.text)
        else:
            held = self._resource(found, line)
        if subject is None or held is None:
            return None
        return Statement(line, subject, quad.predicate.value, held)

    def _resource(self, term: object, line: int) -> str | None:
        if isinstance(term, NamedNode):
            iri = term.value
            self._expanded += len(iri)
            if not _IRI.fullmatch(iri) or len(iri) > LONGEST_IRI:
                return self._unsuitable(iri, line)
            return iri
        return f"_:{term.value}" if isinstance(term, BlankNode) else None

    def _unsuitable(self, iri: str, line: int) -> str | None:
        """Report an unsuitable IRI once; return it, or None if it is too long to be kept."""
        if len(iri) > LONGEST_IRI:
            self._into.defect("key-too-long", line, iri[:80])
            return None
        if iri and iri not in self._reported:  # the empty one stands for the file
            self._reported.add(iri)
            code = "iri-character" if _SCHEME.match(iri) else "relative-iri"
            self._into.defect(code, line, f"<{iri}>")
        return iri


class _Feed:
    """Give a parser the lines of a file, one at a time, after its guard has seen them."""

    def __init__(self, lines: Lines, guard: Guard) -> None:
        self.line = 0
        self.length = 0
        self.is_refused = False
        self.is_at_end = False
        self._guard = guard
        self._lines = ((number + i, line) for number, block in lines.blocks() for i, line in enumerate(block))
        self._rest = b""

    def read(self, n: int) -> bytes:
        """Return at most `n` bytes of the current line, for the parser."""
        if not self._rest:
            line = self._next()
            if line is None:
                return b""
            self._rest = line.encode() + b"\n"
        given, self._rest = self._rest[:n], self._rest[n:]
        return given

    def blocks(self, n: int) -> Iterator[tuple[int, list[str]]]:
        """Yield blocks of at most `n` stripped lines, each with the number of its first line."""
        block: list[str] = []
        while (line := self._next()) is not None:
            block.append(line.strip(" \t"))
            if len(block) == n:
                yield self.line - n + 1, block
                block = []
        if block:
            yield self.line - len(block) + 1, block

    def finish(self) -> None:
        """Check the lines that the parser did not read."""
        self._rest = b""
        while self._next() is not None:
            pass

    def line_of(self, quad: Quad, parser: QuadParser) -> int:
        """Return the line of a triple."""
        if isinstance(self._guard, JsonGuard):
            subject = quad.subject
            iri = subject.value if isinstance(subject, NamedNode) else ""
            return self._guard.line_of(iri, lambda: parser.prefixes)
        return self.line

    @property
    def context_line(self) -> int:
        """The line of the first ``@context``."""
        return self._guard.context_line if isinstance(self._guard, JsonGuard) else self.line

    def _next(self) -> str | None:
        """Return the next line; None at the end, or from the first line on that the guard refuses."""
        if self.is_at_end:
            return None
        for number, line in self._lines:
            self.line = number
            self.length += len(line) + 1
            if not self.is_refused and self._guard.allows(line, number):
                return line
            self.is_refused = True  # the rest is checked as text alone
        self.is_at_end = True
        self._guard.close(self.line)
        return None


def _parsed(text: str) -> tuple[list[Quad], SyntaxError | None]:
    """Return the triples up to the first error, and that error; text in N-Quads."""
    quads: list[Quad] = []
    try:
        quads.extend(parse(text, format=RdfFormat.N_QUADS, lenient=True))
    except SyntaxError as error:
        return quads, error
    return quads, None


def _message(error: SyntaxError) -> str:
    """Return what is wrong, without the place, which the report gives."""
    place, colon, message = error.msg.partition(": ")
    return without_blank_names(message if colon and place.startswith("Parser error") else error.msg)
