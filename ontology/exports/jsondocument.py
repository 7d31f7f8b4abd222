"""Write one JSON document with everything that affects the digest, and all annotations.

Each label, retired key and edge is an object on a line of its own. Members with nothing in them are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from labelgrove.ontology.annotations import NOTE_KINDS, Description, Name
from labelgrove.ontology.exports.subjects import Content
from labelgrove.ontology.readers.formats.exported import EXPORT_FORMAT

__all__ = ["json_lines"]


def json_lines(content: Content) -> Iterator[str]:
    """Return the lines of the document."""
    graph = content.graph
    head = {
        "format": EXPORT_FORMAT,
        "ontology": content.name,
        "digest": graph.digest,
        "layout": graph.layout,
    }
    yield _dumped(head)[:-1] + ', "labels": ['
    comma, n_retired = "", 0
    for subject in content:
        if subject.retired and not n_retired:
            yield '\n], "retired": ['
            comma = ""
        n_retired += subject.retired
        known = {"key": subject.key} if subject.retired else {"key": subject.key, "name": subject.name}
        yield f"{comma}\n{_dumped(known | _members(subject.described, subject.retired))}"
        comma = ","
    yield '\n], "edges": ['
    comma = ""
    for child, parent, weight, rank in graph.edges():
        yield f"{comma}\n{_dumped({'child': child, 'parent': parent, 'weight': weight, 'rank': rank})}"
        comma = ","
    yield "\n]}\n"


def _members(found: Description, retired: bool) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if found.definition:
        members["definition"] = found.definition
    if found.deprecated and not retired:
        members["deprecated"] = True
    if found.names:
        members["names"] = [_name(name) for name in found.names]
    return members | {kind: notes for kind in NOTE_KINDS if (notes := getattr(found, kind))}


def _name(name: Name) -> dict[str, Any]:
    members: dict[str, Any] = {"text": name.text, "kind": name.kind}
    if name.language:
        members["language"] = name.language
    if name.use:
        members["use"] = name.use
    return members


def _dumped(value: Mapping[str, object]) -> str:
    """Return JSON in one line; byte order marks, which do not belong inside a text file, are escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\ufeff", "\\ufeff")
