"""Write GraphML, for programs that draw or analyze graphs.

Nodes have the keys of labels as their ids. Edges lead from child to parent. Names and notes that a label can
have several of are JSON arrays: GraphML has no lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from xml.sax.saxutils import escape, quoteattr

from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS
from labelgrove.ontology.exports.holding import Holds
from labelgrove.ontology.exports.subjects import Content, Subject

__all__ = ["GRAPHML", "graphml_lines"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;", '"': "&quot;"}
"""Characters that a reader of XML would change, unless they are written as references."""


def xml_fault(text: str) -> str | None:
    r"""Return why XML cannot hold a text; None if it can.

    >>> xml_fault("a < b"), xml_fault("\x01")
    (None, "contains the character '\\x01'")
    """
    found = _NOT_XML.search(text)
    return None if found is None else f"contains the character {found[0]!a}"


GRAPHML = Holds(
    key_fault=xml_fault,
    text_fault=xml_fault,
    language_fault=xml_fault,
    weights=True,
    ranks=True,
    names=True,
    name_kinds=frozenset(NAME_KINDS),
    untagged=True,
    languages=True,
    uses=True,
    definitions=True,
    deprecated=True,
    notes=frozenset(NOTE_KINDS),
)
"""What GraphML can hold: a retired key would be a node."""

_NODE_DATA = {
    "name": "string",
    "definition": "string",
    "deprecated": "boolean",
    "names": "string",
    **dict.fromkeys(NOTE_KINDS, "string"),
}
_EDGE_DATA = {"weight": "double", "rank": "int"}


def graphml_lines(content: Content) -> Iterator[str]:
    """Return the lines of the document."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for of, kinds in (("node", _NODE_DATA), ("edge", _EDGE_DATA)):
        for name, kind in kinds.items():
            yield f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n'
    directed = "directed" if content.graph.directed else "undirected"
    yield f'  <graph id={_attribute(content.name)} edgedefault="{directed}">\n'
    for subject in content:
        data = "".join(
            f'<data key="{name}">{escape(text, _ESCAPED)}</data>' for name, text in _node_data(subject)
        )
        yield f"    <node id={_attribute(subject.key)}>{data}</node>\n"
    for subject in content:
        for parent, weight, rank in subject.edges:
            ends = f"source={_attribute(subject.key)} target={_attribute(parent)}"
            data = f'<data key="weight">{weight!r}</data><data key="rank">{rank}</data>'
            yield f"    <edge {ends}>{data}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _node_data(subject: Subject) -> Iterator[tuple[str, str]]:
    found = subject.described
    yield "name", subject.name
    if found.definition:
        yield "definition", found.definition
    if found.deprecated:
        yield "deprecated", "true"
    if found.names:
        yield "names", json.dumps([asdict(name) for name in found.names], ensure_ascii=False)
    for kind in NOTE_KINDS:
        if notes := getattr(found, kind):
            yield kind, json.dumps(notes, ensure_ascii=False)


def _attribute(text: str) -> str:
    return quoteattr(text, _ESCAPED)
