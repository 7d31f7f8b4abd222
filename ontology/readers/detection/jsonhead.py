"""Recognize what a JSON file holds from its start: a tree, records, or JSON Lines."""

from __future__ import annotations

import json
import re

from labelgrove.ontology.readers.formats.recordcolumns import names_records, record_role
from labelgrove.ontology.readers.text.head import Head

__all__ = ["first_members", "holds_records", "is_json", "is_json_ld", "is_json_lines"]

_JSON = re.compile(
    r'\s*(\{\s*("|\}\s*$)|\[\s*([\[{"\]]|-?\d[^\s,\]]*\s*[,\]]|(true|false|null)\b))', re.IGNORECASE
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')
_KEYED_CHILDREN = re.compile(r'"children"\s*:\s*\[\s*("|-?\d)')
_LINES_TRIED = 2


def is_json(start: Head) -> bool:
    """Return whether the text begins like a JSON document."""
    return _JSON.match(start.text) is not None


def is_json_ld(start: Head) -> bool:
    """Return whether the first object of a JSON document has a keyword of JSON-LD, such as ``@id``.

    >>> is_json_ld(Head(b'{"@context": {}, "@graph": []}')), is_json_ld(Head(b'[{"id": 1}]'))
    (True, False)
    """
    return is_json(start) and any(name.startswith("@") for name in first_members(start.text))


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


def holds_records(start: Head) -> bool:
    """Return whether a JSON document, of which this is the start, holds records of labels.

    >>> holds_records(Head(b'[{"id": 1, "name": "dog", "supercategory": "animal"}]'))
    True
    >>> holds_records(Head(b'{"name": "animal", "children": [{"name": "dog"}]}'))
    False
    """
    text = start.text
    names = first_members(text)
    if not text.lstrip().startswith("["):
        coco = "categories" in names or ("images" in names and '"file_name"' in text)
        if "LabelName" in names or (coco and "@graph" not in names):
            return True
        return _holds_keyed_records(text)
    if "children" in names and not _KEYED_CHILDREN.search(text):
        return False
    return names_records(names)


def _holds_keyed_records(text: str) -> bool:
    """Return whether the document is an object whose first member is a record with a parent."""
    found = re.match(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{', text)
    if found is None:
        return False
    roles = {record_role(name)[0] for name in first_members(text[found.end() - 1 :])}
    return bool({"parent", "group"} & roles)
