"""Read labelgrove's JSON export: every label and edge, and everything else that affects the digest.

`ontology.versions.export` writes it. If an export was not changed, reading it gives the graph from which it
was made, with the same layout (such as hierarchy or grid). To make sure of this, the digest of the graph is
compared with the digest that the file states.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgrove.ontology.readers.collect import Collector, Options, parse_weight
from labelgrove.ontology.readers.text.jsontext import (
    NO_DOCUMENT,
    JsonNumber,
    JsonObject,
    read_document,
    shown,
)

__all__ = ["EXPORT_FORMAT", "read_export"]

EXPORT_FORMAT = "labelgrove/export/1"
"""Name of the format, the first member of an export."""

_LARGEST_RANK = 2**31 - 1


def read_export(path: Path, into: Collector, _options: Options) -> None:
    """Read an export into a collector; the whole text is kept in memory."""
    document = read_document(path, into)
    if document is NO_DOCUMENT:
        return
    if not isinstance(document, JsonObject):
        into.defect("json-node", 1, shown(document))
        return
    into.layout = _text(document, "layout", into)
    into.digest = _text(document, "digest", into)
    into.directed = into.layout in (None, "hierarchy")
    for label in _objects(document, "labels", into):
        _label(label, into)
    for edge in _objects(document, "edges", into):
        _edge(edge, into)
    into.report_undescribed()


def _objects(document: JsonObject, member: str, into: Collector) -> list[JsonObject]:
    """Return the objects in the array `member` of the document; report every other value in it."""
    listed = document.get(member)
    if not isinstance(listed, list):
        into.defect("json-children", document.line, f"{member}: {shown(listed)}")
        return []
    found = []
    for one in listed:
        if isinstance(one, JsonObject):
            found.append(one)
        else:
            into.defect("json-node", document.line, f"in {member}: {shown(one)}")
    return found


def _text(node: JsonObject, member: str, into: Collector) -> str | None:
    value = node.get(member)
    if value is None or type(value) is str:
        return value
    into.defect("json-name", node.line, f"{member}: {shown(value)}")
    return None


def _label(node: JsonObject, into: Collector) -> None:
    key, at = _text(node, "key", into), node.line
    if not key:
        into.defect("empty-key", at, "a label without a key")
        return
    if key in into.labels:
        into.defect("duplicate-id", at, f"{key} is also on line {into.labels[key]}")
    into.describe(key, at)
    name, definition = _text(node, "name", into), _text(node, "definition", into)
    if name is not None and name != key:
        into.name(key, name, at)
    if definition:
        into.define(key, definition, at)


def _edge(node: JsonObject, into: Collector) -> None:
    child, parent, at = _text(node, "child", into), _text(node, "parent", into), node.line
    if not child or not parent:
        into.defect("empty-key", at, f"an edge with child {child!r} and parent {parent!r}")
        return
    weight, rank = node.get("weight"), node.get("rank")
    length, code = (1.0, None) if weight is None else _length(weight)
    if code is not None:
        into.defect(code, at, f"{child} under {parent}: {shown(weight)}")
        return
    number = 0 if rank is None else _rank(rank)
    if number is None:
        into.defect("rank", at, f"{child} under {parent}: {shown(rank)}")
    into.edge(child, parent, at, number or 0, length)


def _length(value: Any) -> tuple[float, str | None]:
    return parse_weight(value) if isinstance(value, JsonNumber) else (1.0, "weight-not-a-number")


def _rank(value: Any) -> int | None:
    """Return the rank that a JSON value states; None if the value is not a whole number of 32 bits.

    Negative ranks are accepted, because graphs that were built in Python may have them.
    """
    digits = value.removeprefix("-") if isinstance(value, JsonNumber) else ""
    if not digits.isdigit() or len(digits) > len(str(_LARGEST_RANK)):
        return None
    number = int(value)
    return number if -_LARGEST_RANK - 1 <= number <= _LARGEST_RANK else None
