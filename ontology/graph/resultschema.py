"""Read how the graph's schema describes results of jobs; only the migrations declare that schema.

The embedded engine's migrations are read for both engines, because only they declare the types of properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from labelgrove.ontology.graph.migrate import migrations

__all__ = ["ResultSchema", "result_schema"]

_DECLARATION = re.compile(r"(?:CREATE (?:NODE|REL) TABLE|ALTER TABLE)\s+(\w+)\s*(?:ADD\s+)?(.*)", re.DOTALL)
_TYPES: Mapping[str, type] = {"STRING": str, "INT64": int, "DOUBLE": float, "BOOLEAN": bool}
_IDENTITY = ("id", "version")


@dataclass
class _Table:
    """A declared table of nodes or of relationships; `ends` is empty for nodes.

    For relationships, `ends` contains pairs: the label of the node where a relationship may start, and the
    label of the node where it then ends.
    """

    columns: dict[str, type] = field(default_factory=dict)
    ends: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class ResultSchema:
    """The part of the graph's schema for results; a label here is the label of a node, such as ``Locus``.

    Attributes
    ----------
    properties : mapping of str to mapping of str to type
        For each label, the properties of the node in addition to ``id`` and ``version``.
    links : mapping of str to mapping of str to mapping of str to type
        For each label, the types of relationships from the node to labels of the ontology; for each type, its
        properties.
    of_version : frozenset of str
        Labels of the nodes that have a relationship to their version, and none to labels of the ontology.
    with_supernodes : frozenset of str
        Labels of the nodes that have supernodes.
    """

    properties: Mapping[str, Mapping[str, type]]
    links: Mapping[str, Mapping[str, Mapping[str, type]]]
    of_version: frozenset[str]
    with_supernodes: frozenset[str]


@cache
def result_schema() -> ResultSchema:
    """Return the part of the graph's schema that describes results, read from the migrations once."""
    tables: dict[str, _Table] = {}
    for migration in migrations("embedded"):
        for statement in migration.statements():
            _declare(tables, statement)
    labels = [label for _, label in tables["PRODUCED"].ends]
    joined: dict[str, dict[str, Mapping[str, type]]] = {label: {} for label in labels}
    for name, table in tables.items():
        for source, target in table.ends:
            if source in joined and target == "Label":
                joined[source][name] = table.columns
    return ResultSchema(
        properties={
            label: {n: kind for n, kind in tables[label].columns.items() if n not in _IDENTITY}
            for label in labels
        },
        links=joined,
        of_version=frozenset(source for source, _ in tables["OF"].ends),
        with_supernodes=frozenset(source for source, _ in tables["HAS"].ends),
    )


def _declare(tables: dict[str, _Table], statement: str) -> None:
    """Add to `tables` the table that a statement of a migration declares, if it declares one."""
    declaration = _DECLARATION.search(statement)
    if declaration is None:
        return
    table = tables.setdefault(declaration[1], _Table())
    for part in declaration[2].strip("();\n ").split(","):
        match part.split():
            case ["FROM", source, "TO", target]:
                table.ends.append((source, target))
            case [name, kind, *_]:
                table.columns[name] = _TYPES[kind]
