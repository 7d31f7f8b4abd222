"""Tell the syntaxes of RDF apart by the start of a file."""

from __future__ import annotations

import re

from labelgrove.ontology.readers.text.head import Head

__all__ = ["is_json", "is_quads", "is_turtle", "is_xml"]

_TURTLE = re.compile(r"\s*(@(prefix|base)\s|prefix\s+[\w.-]*:\s*<|base\s+<)", re.IGNORECASE)
_TERM = r"(<[^<>]*>|_:\S+)"
_QUAD = re.compile(rf"^\s*{_TERM}\s+<[^<>]*>\s+({_TERM}|\".*\"\S*)\s*{_TERM}?\s*\.\s*(#.*)?$")
_XML = re.compile(r"\s*<(\?xml|!doctype|!--|[a-z_][\w.:-]*\s[^<>]*xmlns)", re.IGNORECASE)
_JSON = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\[{])")
_SHARE = 0.8


def is_turtle(head: Head) -> bool:
    """Return whether the text begins with a prefix or base of Turtle or TriG.

    >>> is_turtle(Head(b"@prefix e: <http://e.org/> .")), is_turtle(Head(b"<x:a> <x:b> <x:c> ."))
    (True, False)
    """
    return bool(head.records) and _TURTLE.match(head.records[0]) is not None


def is_quads(head: Head) -> bool:
    """Return whether at least four of five lines are statements of N-Triples or N-Quads.

    >>> is_quads(Head(b"<x:a> <x:b> <x:c> .")), is_quads(Head(b"a b"))
    (True, False)
    """
    n, misses = len(head.records), 0
    for line in head.records:
        misses += _QUAD.search(line) is None
        if misses > (1 - _SHARE) * n:
            return False
    return n > misses


def is_xml(head: Head) -> bool:
    """Return whether the text begins like XML with namespaces.

    >>> is_xml(Head(b"<?xml version='1.0'?>")), is_xml(Head(b"<http://e.org/a> <x:b> <x:c> ."))
    (True, False)
    """
    return _XML.match(head.text) is not None


def is_json(head: Head) -> bool:
    """Return whether the text begins like a JSON document of objects.

    >>> is_json(Head(b'[{"@id": "x:a"}]')), is_json(Head(b"[] a <x:b> ."))
    (True, False)
    """
    return _JSON.match(head.text) is not None
