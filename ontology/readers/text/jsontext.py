"""Parse JSON text into values with the line of every object, without recursion.

The parser of the standard library does not suit hierarchies: it is recursive, which limits the depth, it
gives no line numbers, and it drops repeated members without a message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from labelgrove.ontology.errors import counted
from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.text.lines import Lines

__all__ = [
    "DEEPEST",
    "LONGEST_TEXT",
    "NO_DOCUMENT",
    "JsonNumber",
    "JsonObject",
    "JsonTextError",
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


def read_document(path: Path, into: Collector) -> Any:
    """Return the JSON document in a file; `NO_DOCUMENT` if the file is blank or is not valid JSON.

    The whole text is kept in memory; a line may have up to 256 MiB.
    """
    lines: list[str] = []
    for _, block in Lines(path, into.recorder, longest=LONGEST_TEXT).blocks():
        lines += block
    text = "\n".join(lines)
    if not text or text.isspace():
        return NO_DOCUMENT
    try:
        return decode(text, into.defect)
    except JsonTextError as error:
        into.defect(error.code, error.line, str(error))
        return NO_DOCUMENT


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
    return _Parser(text, note).document()


class _Parser:
    def __init__(self, text: str, note: Callable[[str, int, str], None]) -> None:
        self._text = text
        self._note = note
        self._breaks = [m.start() for m in re.finditer("\n", text)]

    def document(self) -> Any:
        text = self._text
        stack: list[JsonObject | list[Any]] = []
        at = self._skip(0)
        while True:
            mark = text[at : at + 1]
            value: Any
            if mark in ("{", "["):
                if len(stack) == DEEPEST:
                    raise self._error("json-nesting", at, f"level {DEEPEST + 1:,}")
                value = JsonObject(self._line(at)) if mark == "{" else []
                at = self._skip(at + 1)
                if text[at : at + 1] != ("}" if mark == "{" else "]"):
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
                self._hand_over(value, stack[-1])
                mark = text[at : at + 1]
                closer = "}" if isinstance(stack[-1], JsonObject) else "]"
                if mark == ",":
                    at = self._member(stack[-1], self._skip(at + 1))
                    break
                if mark != closer:
                    raise self._error("json-syntax", at, f"expected ',' or {closer!r}")
                value = stack.pop()
                at = self._skip(at + 1)
            else:
                if at < len(text):
                    raise self._error("json-trailing", at, text[at : at + 40])
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
            self._note("json-duplicate-member", self._line(at), name)
        container.pending = name
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise self._error("json-syntax", at, "expected ':'")
        return self._skip(at + 1)

    @staticmethod
    def _hand_over(value: Any, container: JsonObject | list[Any]) -> None:
        if isinstance(container, JsonObject):
            container.setdefault(container.pending, value)
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
            self._note("json-surrogate", self._line(at), value)
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
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    def _error(self, code: str, at: int, message: str) -> JsonTextError:
        at = min(at, len(self._text))
        start = self._breaks[self._line(at) - 2] + 1 if self._line(at) > 1 else 0
        shown = self._text[at : at + 40].split("\n")[0]
        return JsonTextError(code, self._line(at), f"column {at - start + 1}: {message}; found {shown!a}")
