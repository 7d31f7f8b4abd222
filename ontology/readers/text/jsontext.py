"""Parse JSON line by line into values with the line of every object, without recursion.

The parser of the standard library does not suit hierarchies: it is recursive, which limits the depth, it
needs the whole text in memory, it gives no line numbers, and it drops repeated members without a message.
No token of JSON goes over the end of a line, so the parser holds one line at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from types import MappingProxyType
from typing import Any

from labelgrove.ontology.errors import counted
from labelgrove.ontology.readers.defects import Recorder
from labelgrove.ontology.readers.text.lines import Lines

__all__ = [
    "DEEPEST",
    "LONGEST_TEXT",
    "NO_DOCUMENT",
    "JsonNumber",
    "JsonObject",
    "JsonTextError",
    "Taker",
    "decode",
    "read_document",
    "shown",
]

DEEPEST = 10_000
"""Maximum depth of nested brackets that is read."""

NO_DOCUMENT = object()
"""What `read_document` returns if there is no document; it cannot be None, because ``null`` is a document."""

LONGEST_TEXT = 1 << 28
"""Length in bytes of the longest line of a document that is written on few lines."""

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9.])")
_CONSTANT = re.compile(r"-?(?:NaN|Infinity)")
_WORDS = {"true": True, "false": False, "null": None}


class JsonTextError(Exception):
    """Text that is not JSON; the readers catch this error, so callers of `read` never see it.

    Attributes
    ----------
    code : str
        Defect code.
    line : int
        Line number, from 1.
    """

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


class JsonObject(dict[str, Any]):
    """The members of one JSON object, and the line where the object begins."""

    __slots__ = ("line", "pending")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.pending = ""


class JsonNumber(str):
    """A JSON number, kept as text: no digit is lost before the reader knows what the number means."""

    __slots__ = ()


Taker = Callable[[Any, int], None]
"""Takes an element of an array, and a line of this element."""


def read_document(path: Path, recorder: Recorder, takers: Mapping[str, Taker] = MappingProxyType({})) -> Any:
    """Return the JSON document in a file; `NO_DOCUMENT` if the file is blank or is not valid JSON.

    Parameters
    ----------
    path : Path
        A plain or gzip file. A line may have up to 256 MiB; the text is not kept in memory.
    recorder : Recorder
        Records the defects.
    takers : mapping of member to callable
        Of these members of the document, the elements of an array are given to the callable, each as soon as
        it was read, instead of being kept: the array stays empty.
    """

    def note(code: str, line: int, text: str) -> None:
        recorder.add(code, str(path), line, text)

    lines = _numbered(Lines(path, recorder, longest=LONGEST_TEXT))
    parser = _Parser(lines, note, takers)
    try:
        return NO_DOCUMENT if parser.is_blank() else parser.document()
    except JsonTextError as error:
        note(error.code, error.line, str(error))
        for _ in lines:  # the rest of the text is checked as well
            pass
        return NO_DOCUMENT


def _numbered(lines: Lines) -> Iterator[tuple[int, str]]:
    for first, block in lines.blocks():
        yield from enumerate(block, first)


def shown(value: Any) -> str:
    """Return a value as text.

    For an array or object, the text gives only its size, because it may be 10,000 levels deep.
    """
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, list):
        return f"an array of {counted(len(value), 'value')}"
    if isinstance(value, JsonObject):
        return f"an object of {counted(len(value), 'member')}"
    return repr(value)


def decode(text: str, note: Callable[[str, int, str], None]) -> Any:
    """Return the value of a JSON document.

    Parameters
    ----------
    text : str
        One document.
    note : callable
        Called with (defect code, line, excerpt) for each defect that does not stop the parser: a repeated
        member, or half of a surrogate pair.

    Returns
    -------
    object
        `JsonObject`, list, str, `JsonNumber`, bool or None.

    Raises
    ------
    JsonTextError
        For the first character that breaks the grammar, and for more than 10,000 levels of brackets.

    Notes
    -----
    O(len(text)) time.
    """
    return _Parser(iter(enumerate(text.split("\n"), 1)), note).document()


class _Parser:
    """Read one value from numbered lines. Positions are in the current line, `_text`."""

    def __init__(
        self,
        lines: Iterator[tuple[int, str]],
        note: Callable[[str, int, str], None],
        takers: Mapping[str, Taker] = MappingProxyType({}),
    ) -> None:
        self._lines = lines
        self._note = note
        self._takers = takers
        self._line, self._text = 1, ""
        self._given_away: list[Any] | None = None  # the array whose elements `_take` gets
        self._take: Taker | None = None

    def is_blank(self) -> bool:
        """Return whether no text is left."""
        return self._skip(0) == len(self._text)

    def document(self) -> Any:
        stack: list[JsonObject | list[Any]] = []
        at = self._skip(0)
        while True:
            line = self._line
            mark = self._text[at : at + 1]
            value: Any
            if mark in ("{", "["):
                if len(stack) == DEEPEST:
                    raise self._error("json-nesting", at, f"level {DEEPEST + 1:,}")
                value = JsonObject(line) if mark == "{" else []
                at = self._skip(at + 1)
                if self._text[at : at + 1] != ("}" if mark == "{" else "]"):
                    if len(stack) == 1 and isinstance(value, list):
                        self._give_away(value, stack[0])
                    stack.append(value)
                    at = self._member(value, at)
                    continue
                at += 1
            elif mark == '"':
                value, at = self._string(at)
            else:
                value, at = self._scalar(at)
            at = self._skip(at)
            while stack:  # hand over the value, and close finished containers
                self._hand_over(value, stack[-1], line)
                mark = self._text[at : at + 1]
                closer = "}" if isinstance(stack[-1], JsonObject) else "]"
                if mark == ",":
                    at = self._member(stack[-1], self._skip(at + 1))
                    break
                if mark != closer:
                    raise self._error("json-syntax", at, f"expected ',' or {closer!r}")
                value = stack.pop()
                line = getattr(value, "line", line)
                at = self._skip(at + 1)
            else:
                if at < len(self._text):
                    raise self._error("json-trailing", at, self._text[at : at + 40])
                return value

    def _member(self, container: JsonObject | list[Any], at: int) -> int:
        """Return the position in the text where the next value of `container` begins.

        If `container` is an object, first read the name of the member that has this value.
        """
        if not isinstance(container, JsonObject):
            return at
        if self._text[at : at + 1] != '"':
            raise self._error("json-syntax", at, "expected a member name in quotes")
        name, at = self._string(at)
        if name in container:
            self._note("json-duplicate-member", self._line, name)
        container.pending = name
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise self._error("json-syntax", at, "expected ':'")
        return self._skip(at + 1)

    def _give_away(self, array: list[Any], document: JsonObject | list[Any]) -> None:
        """Give the elements of an array to the taker of its member; the first member of a name counts."""
        if isinstance(document, JsonObject) and document.pending not in document:
            self._take = self._takers.get(document.pending)
            self._given_away = None if self._take is None else array

    def _hand_over(self, value: Any, container: JsonObject | list[Any], line: int) -> None:
        if isinstance(container, JsonObject):
            container.setdefault(container.pending, value)
        elif container is self._given_away and self._take is not None:
            self._take(value, line)
        else:
            container.append(value)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self._text, at + 1, True)
        except JSONDecodeError as error:
            raise self._error("json-syntax", error.pos, error.msg) from None
        try:
            value.encode()
        except UnicodeEncodeError:
            self._note("json-surrogate", self._line, value)
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value, end

    def _scalar(self, at: int) -> tuple[Any, int]:
        match = _SCALAR.match(self._text, at)
        if match:
            word = match.group()
            return _WORDS[word] if word in _WORDS else JsonNumber(word), match.end()
        if constant := _CONSTANT.match(self._text, at):
            raise self._error("json-constant", at, constant.group())
        raise self._error("json-syntax", at, "expected a value")

    def _skip(self, at: int) -> int:
        """Return the position of the next token, which may be in a later line; the end if there is none."""
        while True:
            match = _SPACE.match(self._text, at)
            at = match.end() if match else at
            if at < len(self._text) or (following := next(self._lines, None)) is None:
                return at
            self._line, self._text = following
            at = 0

    def _error(self, code: str, at: int, message: str) -> JsonTextError:
        at = min(at, len(self._text))
        shown = self._text[at : at + 40]
        return JsonTextError(code, self._line, f"column {at + 1}: {message}; found {shown!a}")
