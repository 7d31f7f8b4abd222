"""Read records from JSON: arrays of objects, JSON Lines, and the documents of well-known label sets.

COCO annotations hold their records in ``categories``, and the hierarchy of Open Images nests them in
``Subcategory`` and ``Part``. In other objects of objects, each member is a record, and its name is the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelgrove.ontology.readers.collect import SYNONYM_ROLES, Collector, Options
from labelgrove.ontology.readers.formats.records.jsonshapes import foreign_shape, record_objects
from labelgrove.ontology.readers.formats.records.keynames import read_names, refuse_names
from labelgrove.ontology.readers.formats.records.recordcolumns import (
    level_columns,
    match_columns,
    record_role,
)
from labelgrove.ontology.readers.formats.records.recordlabels import Records
from labelgrove.ontology.readers.text.cellvalues import Cell
from labelgrove.ontology.readers.text.jsontext import (
    NO_DOCUMENT,
    JsonObject,
    JsonTextError,
    decode,
    read_document,
    shown,
)
from labelgrove.ontology.readers.text.lines import Lines

__all__ = ["read_json_lines", "read_json_records"]

_NODE, _PARTS = "LabelName", ("Subcategory", "Part")
_LONGEST_LINE = 1 << 24


def read_json_records(path: Path, into: Collector, options: Options) -> None:
    """Read the records in a JSON document; all of its values are kept in memory."""
    document = read_document(path, into.recorder)
    if document is NO_DOCUMENT:
        return
    if isinstance(document, JsonObject) and _NODE in document:
        _open_images(document, into, options)
        return
    refuse_names(options, into)
    records = record_objects(document, placed=False)
    if records is None:
        into.defect("foreign-file", 1, foreign_shape(document) or _NO_RECORDS)
        return
    _read(records, into, options)


_NO_RECORDS = "this looks like a tree of labels: omit the format, or choose json"


def read_json_lines(path: Path, into: Collector, options: Options) -> None:
    """Read JSON Lines, which have one record a line; the records are kept in memory."""
    records: list[tuple[str, Any]] = []
    for first, lines in Lines(path, into.recorder, longest=_LONGEST_LINE).blocks():
        for at, line in enumerate(lines, first):
            if not line or line.isspace():
                continue
            try:
                value = decode(line, lambda code, _, text, at=at: into.defect(code, at, text))  # type: ignore[misc]
            except JsonTextError as error:
                into.defect(error.code, at, str(error))
                continue
            if isinstance(value, JsonObject):
                value.line = at
                records.append(("", value))
            else:
                into.defect("json-record", at, shown(value))
    if records:
        _read(records, into, options)


def _read(records: list[tuple[str, Any]], into: Collector, options: Options) -> None:
    """Read records, given the key that the document has for each; empty if the record itself has it."""
    keyed = any(key for key, _ in records)
    asked = {word: role for role, word in (options.columns or {}).items()}
    rows: list[tuple[int, dict[str, Cell]]] = []
    before = 1
    for key, record in records:
        if not isinstance(record, JsonObject):
            into.defect("json-record", before, shown(record))
            continue
        before = record.line
        row: dict[str, Cell] = {"key": key} if keyed and "key" not in record else {}
        for member, value in record.items():
            role = asked.get(member, record_role(member)[0])
            row |= _cells(member, value, role, record.line, into)
        rows.append((record.line, row))
    header = sorted({member for _, row in rows for member in row})
    if not header:
        return
    columns = match_columns(header, rows[0][0], into, options.columns)
    if columns is None:
        return
    columns = columns.compacted()  # records may have many members that are not read, each in one of them
    found = Records(into, columns, options)
    for line, row in rows:
        found.take([row.get(member, "") for member in columns.header], line)
    found.close()


def _cells(member: str, value: Any, role: str | None, at: int, into: Collector) -> dict[str, Cell]:
    """Return the cells of a member by their columns; an object of texts by language has several."""
    by_language = role == "name" or role in SYNONYM_ROLES
    if by_language and isinstance(value, Mapping):
        return {f"{member}:{language}": _cell(member, one, at, into) for language, one in value.items()}
    if role is None and not level_columns([member]):
        return {member: ""}  # not read, so it may be anything
    return {member: _cell(member, value, at, into)}


def _cell(member: str, value: Any, at: int, into: Collector) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return [str(one) for one in value]
    into.defect("json-member", at, f"{member}: {shown(value)}")
    return ""


def _open_images(document: JsonObject, into: Collector, options: Options) -> None:
    """Read the hierarchy of Open Images, whose nodes are nested by two relations."""
    columns = match_columns(("key", "parent", "relation"), 1, into, None)
    if columns is None:
        return
    found = Records(into, columns, options)
    waiting: list[tuple[Any, str, str, int]] = [(document, "", "", 1)]
    extra: dict[str, int] = {}
    while waiting:
        node, parent, relation, at = waiting.pop()
        if not isinstance(node, JsonObject) or not isinstance(node.get(_NODE), str) or not node[_NODE]:
            into.defect("json-node", getattr(node, "line", at), shown(node))
            continue
        key = str(node[_NODE])
        if options.relation not in (None, relation) and parent:
            into.defect("other-relation", node.line, f"{key} {relation} {parent}")
        elif parent:
            found.take((key, parent, relation), node.line)
        else:
            into.describe(key, node.line)
        for member in sorted(node.keys() - {_NODE, *_PARTS}):
            extra[member] = min(node.line, extra.get(member, node.line))
        for member in reversed(_PARTS):
            listed = node.get(member)
            if isinstance(listed, list):
                waiting += [(one, key, member, node.line) for one in reversed(listed)]
            elif listed is not None:
                into.defect("json-children", node.line, f"{member}: {shown(listed)}")
    for member, line in sorted(extra.items()):
        into.defect("extra-column", line, f"{member}: its values are left out")
    found.close()
    if options.labels is not None:
        read_names(options.labels, into)
