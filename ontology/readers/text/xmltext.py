"""Parse XML line by line, and refuse what would harm a reader.

No other file is loaded. External entities, deep nesting and endless tags are refused before they cost much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.parsers import expat

__all__ = ["DEEPEST", "LONGEST_ENTITY", "LONGEST_TOKEN", "XmlParser"]

DEEPEST = 256
"""Levels of elements that are read."""

LONGEST_ENTITY = 4000
"""Length in characters of the longest entity that is expanded."""

LONGEST_TOKEN = 1 << 20
"""Length in bytes of the longest tag, comment or declaration; the parser holds all of it until its end."""

MOST_SCANNED = 1 << 29
"""Bytes that the parser may scan in vain: it scans an open tag or comment again with each line."""

_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii")


class _RefusedError(Exception):
    """Stop parsing, because something was refused and has been reported."""


class XmlParser:
    """Parse one XML document; after the first refusal, the rest is ignored.

    Parameters
    ----------
    report : callable
        Takes the code of a defect, the line and a text.
    broken, nested : str
        Codes of the defects of XML that is not well formed, and of XML that is nested too deep.
    entities : bool
        Whether entities may be declared. If True, only plain ones of at most `LONGEST_ENTITY` characters.
    start : callable, optional
        Takes the name and the attributes of each element that begins.
    end : callable, optional
        Takes the name of each element that ends.
    text : callable, optional
        Takes each piece of text.
    """

    def __init__(
        self,
        report: Callable[[str, int, str], None],
        *,
        broken: str,
        nested: str,
        entities: bool,
        start: Callable[[str, Mapping[str, str]], None] | None = None,
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        self._report = report
        self._broken, self._nested, self._entities = broken, nested, entities
        self._start, self._end = start, end
        self._depth = 0
        self._at = 1
        self._fed = 0
        self._scanned = 0
        self._refused = False
        self._parser = parser = expat.ParserCreate("UTF-8")
        parser.XmlDeclHandler = self._declare
        parser.StartDoctypeDeclHandler = self._declare_type
        parser.EntityDeclHandler = self._declare_entity
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        if text is not None:
            parser.CharacterDataHandler = text

    @property
    def line(self) -> int:
        """Line where the element begins, or ends, that a callable is called for."""
        return self._parser.CurrentLineNumber

    def feed(self, line: str, at: int) -> bool:
        """Parse line `at` of the document; return False from the first refusal on."""
        self._at = at
        data = line.encode() + b"\n"
        self._fed += len(data)
        self._parse(data, False)
        held = self._fed - self._parser.CurrentByteIndex
        self._scanned += held
        if not self._refused and (held > LONGEST_TOKEN + len(data) or self._scanned > MOST_SCANNED):
            self._tell("xml-length", f"a tag, comment or declaration of {held:,} bytes or more")
        return not self._refused

    def close(self, at: int) -> None:
        """Report a document that is cut off; `at` is its last line."""
        self._at = at
        self._parse(b"", True)

    def refuse(self, code: str, text: str) -> None:
        """Report a defect and stop parsing; only to be called by the callables."""
        self._tell(code, text)
        raise _RefusedError

    def _tell(self, code: str, text: str) -> None:
        self._refused = True
        self._report(code, self._at, text)

    def _parse(self, data: bytes, last: bool) -> None:
        if self._refused:
            return
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError as error:
            self._tell(self._broken, f"column {error.offset + 1}: {expat.ErrorString(error.code)}")
        except _RefusedError:
            return

    def _declare(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in _ENCODINGS:
            self.refuse(self._broken, f"the file states the encoding {encoding}; convert it to UTF-8")

    def _declare_type(self, _name: str, system: str | None, public: str | None, _internal: bool) -> None:
        if system is not None or public is not None:
            self.refuse("xml-external", f"a document type at {system or public}")

    def _declare_entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        if value is None:
            self.refuse("xml-external", f"the entity {name} at {system}")
        elif is_parameter:
            self.refuse("xml-entity", f"{name} is a parameter entity")
        elif "&" in value or "<" in value:
            self.refuse("xml-entity", f"{name} contains {value}")
        elif len(value) > LONGEST_ENTITY:
            self.refuse("xml-entity", f"{name} has {len(value):,} characters")
        elif not self._entities:
            self.refuse("xml-entity", f"{name} stands for {value}")

    def _open(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            self.refuse(self._nested, f"level {DEEPEST + 1} of elements")
        if self._start is not None:
            self._start(name, attributes)

    def _close(self, name: str) -> None:
        self._depth -= 1
        if self._end is not None:
            self._end(name)
