"""Read nested JSON trees: ``{"name": ..., "children": [...]}``, one tree or an array of trees.

The key of a node is its ``id`` (or ``key``). If it has none, the key is its path of names, such as
``flare/analytics/cluster``, where ``~`` and ``/`` inside a name are written ``~0`` and ``~1``. Nodes with the
same name in different places therefore have different keys. ``weight`` is the length of the edge to the
parent; ``definition`` is the definition of the label. Other members are reported and left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgrove.ontology.readers.collect import LONGEST_KEY, Collector, Options, parse_weight
from labelgrove.ontology.readers.formats.records.jsonshapes import MEMBERS, NAMING, foreign_shape
from labelgrove.ontology.readers.formats.records.pathlabels import path_step
from labelgrove.ontology.readers.text.jsontext import (
    NO_DOCUMENT,
    JsonNumber,
    JsonObject,
    read_document,
    shown,
)

__all__ = ["read_json"]


def read_json(path: Path, into: Collector, _options: Options) -> None:
    """Read a JSON tree into a collector; the whole tree is kept in memory."""
    document = read_document(path, into.recorder)
    if document is NO_DOCUMENT:
        return
    if foreign := foreign_shape(document):
        into.defect("foreign-file", 1, foreign)
        return
    _Walk(into).trees(document)


_NODE = frozenset({*NAMING, "children"})


class _Walk:
    """Turn nodes into labels, parents before children, in the order of the text."""

    def __init__(self, into: Collector) -> None:
        self._into = into
        # node, key of its parent, place among its siblings, line, and the argument `again` of `_path`
        self._waiting: list[tuple[Any, str | None, int, int, set[str] | None]] = []
        self._taken: dict[str, int] = {}
        self._unread: dict[str, tuple[int, int]] = {}  # member: number of nodes with it, and the first line

    def trees(self, document: Any) -> None:
        """Read the document, which is one tree or an array of trees."""
        trees = document if isinstance(document, list) else [document]
        self._wait(trees, None, 1, None)
        while self._waiting:
            node, parent, place, line, again = self._waiting.pop()
            if not isinstance(node, JsonObject):
                self._into.defect("json-node", line, shown(node))
            elif not _NODE.intersection(node):
                self._into.defect("json-node", node.line, f"an object with {', '.join(node) or 'no member'}")
            else:
                self._node(node, parent, place, again)
        for member, (number, line) in sorted(self._unread.items()):
            self._into.defect("extra-column", line, f"{member}: left out of {number} nodes")

    def _wait(self, nodes: list[Any], parent: str | None, line: int, again: set[str] | None) -> None:
        numbered = list(enumerate(nodes, start=1))
        for place, node in reversed(numbered):
            self._waiting.append((node, parent, place, line, again))

    def _node(self, node: JsonObject, parent: str | None, place: int, again: set[str] | None) -> None:
        into, at = self._into, node.line
        name = self._name(node, at)
        given = self._given_id(node, at)
        key = self._path(name, parent, place, at, again) if given is None else given
        is_again = key in into.labels
        if is_again and given is not None:
            into.defect("duplicate-id", at, f"{key} is also on line {into.labels[key]}")
        into.describe(key, at)
        if name is None:
            into.defect("missing-name", at, key)
        elif name != key:
            into.name(key, name, at)
        definition = node.get("definition")
        if type(definition) is str:
            into.define(key, definition, at)
        if parent is not None:
            self._edge(node, key, parent, at)
        for member in node.keys() - MEMBERS:
            number, line = self._unread.get(member, (0, at))
            self._unread[member] = number + 1, min(line, at)
        children = node.get("children")
        if children is not None and not isinstance(children, list):
            into.defect("json-children", at, shown(children))
        elif children and len(key) <= LONGEST_KEY:  # a longer one is reported, as those below it would be
            self._wait(children, key, at, set() if is_again else None)

    def _name(self, node: JsonObject, at: int) -> str | None:
        name = node.get("name")
        if name is None:
            return None
        if type(name) is not str:
            self._into.defect("json-name", at, shown(name))
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
            self._into.defect("json-id", at, f"{member}: {shown(value)}")
        return None

    def _path(self, name: str | None, parent: str | None, place: int, at: int, again: set[str] | None) -> str:
        """Return the path of names that serves as the key of a node.

        If another node already has this key, ``#2``, ``#3`` ... is added. If the node has no name, ``#`` and
        `place` stand for the name in the path; `place` is the number of the node among its siblings, from 1.

        Nodes with the same id are one label, so a label may have several lists of children. If a node in a
        later list has the same name as a child in an earlier list, both nodes are one label. `again` contains
        the paths that this method has found for earlier children in the same list. It is None for a child in
        the first list.
        """
        step = f"#{place}" if name is None else path_step(name)
        path = step if parent is None else f"{parent}/{step}"
        is_first = again is not None and name is not None and path not in again
        if again is not None:
            again.add(path)
        if path not in self._into.labels or is_first:
            return path
        self._into.defect("repeated-sibling", at, f"{path} is also on line {self._into.labels[path]}")
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
                self._into.defect(code, at, f"{key}: {shown(given)}")
                return
        self._into.edge(key, parent, at, weight=weight)
