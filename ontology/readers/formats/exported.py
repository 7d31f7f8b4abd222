"""Read labelgrove's JSON export: labels, edges and everything else that affects the digest, and annotations.

`ontology.exports.jsondocument` writes it. If an export was not changed, reading it gives the graph from which
it was made, with the same layout (such as hierarchy or grid), and the same annotations. To make sure of this,
the digest of the graph is compared with the digest that the file states.

Exports of format 1 have no other annotations than definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS
from labelgrove.ontology.readers.collect import Collector, Options, parse_weight
from labelgrove.ontology.readers.text.jsontext import (
    NO_DOCUMENT,
    JsonNumber,
    JsonObject,
    Taker,
    read_document,
    shown,
)

__all__ = ["EXPORT_FORMAT", "READ_FORMATS", "read_export"]

EXPORT_FORMAT = "labelgrove/export/2"
"""Name of the format, the first member of an export."""

READ_FORMATS = ("labelgrove/export/1", EXPORT_FORMAT)
"""Names of the formats that are read."""

_LARGEST = 2**31 - 1
"""The largest rank, and the most uses of a name."""


def read_export(path: Path, into: Collector, _options: Options) -> None:
    """Read an export into a collector; of the text, one line at a time is kept in memory."""
    read: dict[str, Callable[[JsonObject, Collector], None]]
    read = {"labels": _label, "retired": partial(_label, retired=True), "edges": _edge}

    def taker(member: str) -> Taker:
        def take(one: Any, at: int) -> None:
            if isinstance(one, JsonObject):
                read[member](one, into)
            else:
                into.defect("json-node", at, f"in {member}: {shown(one)}")

        return take

    document = read_document(path, into.recorder, {member: taker(member) for member in read})
    if document is NO_DOCUMENT:
        return
    if not isinstance(document, JsonObject):
        into.defect("json-node", 1, shown(document))
        return
    for member in read:
        listed = document.get(member, [] if member == "retired" else None)
        if not isinstance(listed, list):
            into.defect("json-children", document.line, f"{member}: {shown(listed)}")
    for key in into.annotations.retired.keys() & into.labels.keys():
        del into.annotations.retired[key]
    into.layout = _text(document, "layout", into)
    into.digest = _text(document, "digest", into)
    into.directed = into.layout in (None, "hierarchy")
    into.report_undescribed()


def _text(node: JsonObject, member: str, into: Collector) -> str | None:
    value = node.get(member)
    if value is None or type(value) is str:
        return value
    into.defect("json-name", node.line, f"{member}: {shown(value)}")
    return None


def _label(node: JsonObject, into: Collector, *, retired: bool = False) -> None:
    key, at = _text(node, "key", into), node.line
    if not key:
        into.defect("empty-key", at, "a label without a key")
        return
    before = into.labels.get(key, into.annotations.retired.get(key))
    if before is not None:
        into.defect("duplicate-id", at, f"{key} is also on line {before}")
    if not retired:
        into.describe(key, at)
    else:
        into.annotations.retired.setdefault(key, at)
    name, definition = _text(node, "name", into), _text(node, "definition", into)
    if name is not None and name != key:
        into.name(key, name, at)
    if definition:
        into.define(key, definition, at)
    _annotations(key, node, into)


def _annotations(key: str, node: JsonObject, into: Collector) -> None:
    deprecated = node.get("deprecated", False)
    if deprecated is True:
        into.annotations.deprecated.add(key)
    elif deprecated is not False:
        into.defect("annotation", node.line, f"deprecated of {key}: {shown(deprecated)}")
    for name in _listed(node, "names", key, into):
        _name(key, name, node, into)
    for kind in NOTE_KINDS:
        for text in _listed(node, kind, key, into):
            if type(text) is str:
                into.annotations.note(key, kind, text)
            else:
                into.defect("annotation", node.line, f"in {kind} of {key}: {shown(text)}")


def _name(key: str, name: Any, node: JsonObject, into: Collector) -> None:
    """Record a name; a use that is not a count is reported, and the name is kept without it."""
    given = name if isinstance(name, JsonObject) else {}
    text, kind, language = given.get("text"), given.get("kind", "exact"), given.get("language", "")
    if type(text) is not str or kind not in NAME_KINDS or type(language) is not str:
        parts = f", kind {shown(kind)}, language {shown(language)}" if given else ""
        into.defect("annotation", node.line, f"a name of {key}: {shown(given.get('text', name))}{parts}")
        return
    use = _whole(given["use"]) if "use" in given else 0
    if use is None or use < 0:
        into.defect("annotation", node.line, f"use of the name {text!r} of {key}: {shown(given['use'])}")
    into.annotations.name(key, text, kind, language, max(use or 0, 0))


def _listed(node: JsonObject, member: str, key: str, into: Collector) -> list[Any]:
    listed = node.get(member, [])
    if isinstance(listed, list):
        return listed
    into.defect("annotation", node.line, f"{member} of {key}: {shown(listed)}")
    return []


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
    number = 0 if rank is None else _whole(rank)
    if number is None:
        into.defect("rank", at, f"{child} under {parent}: {shown(rank)}")
    into.edge(child, parent, at, number or 0, length)


def _length(value: Any) -> tuple[float, str | None]:
    return parse_weight(value) if isinstance(value, JsonNumber) else (1.0, "weight-not-a-number")


def _whole(value: Any) -> int | None:
    """Return the number that a JSON value states; None if the value is not a whole number of 32 bits.

    Ranks may be negative, because graphs that were built in Python may have such ranks.
    """
    digits = value.removeprefix("-") if isinstance(value, JsonNumber) else ""
    if not digits.isdigit() or len(digits) > len(str(_LARGEST)):
        return None
    number = int(value)
    return number if -_LARGEST - 1 <= number <= _LARGEST else None
