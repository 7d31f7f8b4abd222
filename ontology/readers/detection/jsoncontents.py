"""Recognize what a JSON document holds from its start: records of labels, or JSON-LD."""

from __future__ import annotations

import re

from labelgrove.ontology.readers.formats.records.recordcolumns import names_records, record_role
from labelgrove.ontology.readers.text.head import Head
from labelgrove.ontology.readers.text.jsonhead import first_members, is_json

__all__ = ["holds_records", "is_json_ld"]

_KEYED_CHILDREN = re.compile(r'"children"\s*:\s*\[\s*("|-?\d)')


def is_json_ld(start: Head) -> bool:
    """Return whether the first object of a JSON document has a keyword of JSON-LD, such as ``@id``.

    >>> is_json_ld(Head(b'{"@context": {}, "@graph": []}')), is_json_ld(Head(b'[{"id": 1}]'))
    (True, False)
    """
    return is_json(start) and any(name.startswith("@") for name in first_members(start.text))


def holds_records(start: Head) -> bool:
    """Return whether a file is a JSON document that holds records of labels.

    >>> holds_records(Head(b'[{"id": 1, "name": "dog", "supercategory": "animal"}]'))
    True
    >>> holds_records(Head(b'{"name": "animal", "children": [{"name": "dog"}]}'))
    False
    """
    if not is_json(start):
        return False
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
