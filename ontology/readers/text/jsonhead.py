"""Tell from the start of a file whether it is JSON or JSON Lines, and what its first object has."""

from __future__ import annotations

import json
import re

from labelgrove.ontology.readers.text.head import Head

__all__ = ["first_members", "is_json", "is_json_lines"]

_JSON = re.compile(
    r'\s*(\{\s*("|\}\s*$)|\[\s*([\[{"\]]|-?\d[^\s,\]]*\s*[,\]]|(true|false|null)\b))', re.IGNORECASE
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')
_LINES_TRIED = 2


def is_json(start: Head) -> bool:
    """Return whether the text begins like a JSON document."""
    return _JSON.match(start.text) is not None


def is_json_lines(start: Head) -> bool:
    r"""Return whether each of the first two lines is a JSON object of its own.

    >>> is_json_lines(Head(b'{"key": "a"}\n{"key": "b"}\n')), is_json_lines(Head(b'{"key": "a"}\n'))
    (True, False)
    """
    lines = [line for line in start.text.split("\n", 64) if line.strip()][:_LINES_TRIED]
    return len(lines) == _LINES_TRIED and all(map(_is_object, lines))


def _is_object(line: str) -> bool:
    if not (line.lstrip().startswith("{") and line.rstrip().endswith("}")):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def first_members(text: str) -> list[str]:
    """Return the names of the members of the first object of a JSON text, which may be cut off.

    >>> first_members('[{"id": 1, "name": {"de": "Hund"}, "par')
    ['id', 'name']
    """
    depth, names, last = 0, [], ""
    begin = text.find("{")
    if begin < 0:
        return []
    for token in _TOKEN.finditer(text, begin):
        mark = token[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                break
        elif mark == ":" and depth == 1 and last:
            names.append(last)
        last = mark[1:-1] if mark[0] == '"' else ""
    return names
