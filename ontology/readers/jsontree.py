"""Nested JSON trees: ``{"name": ..., "children": [...]}``, one tree or an array of trees.

The key of a node is its ``id`` (or ``key``), else its path of names: ``flare/analytics/cluster``, with ``~``
and ``/`` inside a name written ``~0`` and ``~1``. Same-named nodes in different places therefore stay apart.
``weight`` is the length of the edge to the parent, ``definition`` a text; other members are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ontology.readers.assemble import LONGEST_KEY
from ontology.readers.collect import Collector, Options, parse_weight
from ontology.readers.jsontext import JsonNumber, JsonObject, JsonTextError, decode
from ontology.readers.lines import Lines

__all__ = ["read_json"]

_LONGEST_TEXT = 1 << 28


def read_json(path: Path, into: Collector, options: Options) -> None:
    """Read a JSON tree into a collector; the text is held in memory, up to 256 MiB in one line."""
    lines: list[str] = []
    for _, block in Lines(path, into.recorder, longest=_LONGEST_TEXT).blocks():
        lines += block
    text = "\n".join(lines)
    if not text or text.isspace():
        return
    try:
        document = decode(text, into.defect)
    except JsonTextError as error:
        into.defect(error.code, error.line, str(error))
        return
    _Walk(into).trees(document)


class _Walk:
    """Turns nodes into labels, parents before children, in the order of the text."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        self._waiting: list[tuple[Any, str | None, int, int]] = []  # node, parent, place among siblings, line
        self._taken: dict[str, int] = {}

    def trees(self, document: Any) -> None:
        trees = document if isinstance(document, list) else [document]
        self._wait(trees, None, 1)
        while self._waiting:
            node, parent, place, line = self._waiting.pop()
            if isinstance(node, JsonObject):
                self._node(node, parent, place)
            else:
                self._into.defect("json-node", line, _shown(node))

    def _wait(self, nodes: list[Any], parent: str | None, line: int) -> None:
        numbered = list(enumerate(nodes, start=1))
        for place, node in reversed(numbered):
            self._waiting.append((node, parent, place, line))

    def _node(self, node: JsonObject, parent: str | None, place: int) -> None:
        into, at = self._into, node.line
        name = self._name(node, at)
        given = self._given_id(node, at)
        if given is not None:
            key = given
            if key in into.labels:
                into.defect("duplicate-id", at, f"{key} also in line {into.labels[key]}")
                return
        else:
            key = self._path(name, parent, place, at)
        into.labels[key] = at
        if name is None:
            into.defect("missing-name", at, key)
        elif name != key:
            into.names[key] = name
        definition = node.get("definition")
        if type(definition) is str:
            into.definitions[key] = definition
        if parent is not None:
            self._edge(node, key, parent, at)
        children = node.get("children")
        if children is not None and not isinstance(children, list):
            into.defect("json-children", at, _shown(children))
        elif (
            children and len(key) <= LONGEST_KEY
        ):  # a longer key is reported, and its descendants' would be too
            self._wait(children, key, at)

    def _name(self, node: JsonObject, at: int) -> str | None:
        name = node.get("name")
        if name is None:
            return None
        if type(name) is not str:
            self._into.defect("json-name", at, _shown(name))
            return None
        if not name.strip():
            self._into.defect("empty-key", at, f"name {name!r}")
            return None
        return name

    def _given_id(self, node: JsonObject, at: int) -> str | None:
        for member in ("id", "key"):
            value = node.get(member)
            if value is None:
                continue
            if type(value) is str and value:
                return value
            if isinstance(value, JsonNumber) and value.lstrip("-").isdigit():
                return str(value)
            self._into.defect("json-id", at, f"{member}: {_shown(value)}")
        return None

    def _path(self, name: str | None, parent: str | None, place: int, at: int) -> str:
        step = f"#{place}" if name is None else name.replace("~", "~0").replace("/", "~1")
        path = step if parent is None else f"{parent}/{step}"
        if path not in self._into.labels:
            return path
        self._into.defect("repeated-sibling", at, f"{path} also in line {self._into.labels[path]}")
        number = self._taken.get(path, 1) + 1
        while f"{path}#{number}" in self._into.labels:
            number += 1
        self._taken[path] = number
        return f"{path}#{number}"

    def _edge(self, node: JsonObject, key: str, parent: str, at: int) -> None:
        weight = 1.0
        given = node.get("weight")
        if given is not None:
            weight, code = (
                parse_weight(given) if isinstance(given, JsonNumber) else (1.0, "weight-not-a-number")
            )
            if code:
                self._into.defect(code, at, f"{key}: {_shown(given)}")
                return
        self._into.edge(key, parent, at, weight=weight)


def _shown(value: Any) -> str:
    """Return a value as text without walking into it: it may be 10,000 levels deep."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, list | JsonObject):
        return f"an {'array' if isinstance(value, list) else 'object'} of {len(value)}"
    return repr(value)
