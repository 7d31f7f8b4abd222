"""Recognize a JSON document: a tree of labels, or one of the shapes that are often mistaken for one.

The table `LOOKS` in `ontology.readers.detection.looks` recognizes a JSON file by its start. The kind of the
document can be recognized only from the whole text. The first shape that fits applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labelgrove.ontology.readers.formats.records.recordcolumns import names_records, record_role

__all__ = ["MEMBERS", "NAMING", "SHAPES", "Shape", "by_networkx", "foreign_shape", "record_objects"]

NAMING = ("id", "key", "name")
"""Members that identify the label of a node."""

MEMBERS = frozenset({*NAMING, "children", "definition", "weight"})
"""All members of a node that are read."""

_SHOWN = 5


def by_networkx(graph: str) -> str:
    """Return the advice to convert a graph that networkx reads; `graph` is the call that reads it."""
    out = "'edges.tsv', delimiter='\\t', data=False"
    code = f"import json, networkx as nx; nx.write_edgelist(nx.{graph}, {out})"
    return f'convert it with networkx: python -c "{code}"'


_AS_TREE = 'write it as {"name": ..., "children": [...]}'
_AS_PANDAS_RECORDS = "write it as records: table.to_json('FILE', orient='records')"
_AS_TABLE = "write it as CSV with the columns key, name, parent"


@dataclass(frozen=True)
class Shape:
    """One kind of JSON document that is not a tree of labels.

    Attributes
    ----------
    name : str
        Name of the kind.
    fits : callable
        Takes two arguments, the document and an object: the document itself or, if it is an array, the first
        object in it. Returns whether the document is of this kind.
    advice : str
        How to handle such a document.
    """

    name: str
    fits: Callable[[Any, Any], bool]
    advice: str


def foreign_shape(document: Any) -> str | None:
    """Return a text that names the kind of a JSON document and says how to handle it.

    Return None if the document is a tree of labels.

    >>> foreign_shape({"type": "FeatureCollection", "features": []})
    'this looks like GeoJSON: read a file with the hierarchy of the places'
    >>> foreign_shape({"name": "animal", "children": []}) is None
    True
    """
    trees = document if isinstance(document, list) else [document]
    objects = [one for one in trees if isinstance(one, dict)]
    first = objects[0] if objects else {}
    ours = str(first.get("format", "")).startswith("labelgrove/")
    if not trees or (objects and not ours and _is_tree(objects)):
        return None
    if not ours and record_objects(document) is not None:
        return "this looks like records of labels: choose the format records"
    shape = next(shape for shape in SHAPES if shape.fits(document, first))
    return f"this looks like {shape.name.format(_member_names(document))}: {shape.advice}"


def record_objects(document: Any, *, placed: bool = True) -> list[tuple[str, Any]] | None:
    """Return the records in a JSON document, with the key that the document gives each; else None.

    The key is empty if the record itself has it. If `placed` is true, members must say where a label is
    placed, as parents do; otherwise any objects are records, unless they are the nodes of a tree.

    >>> record_objects({"images": [], "categories": [{"id": 1, "name": "dog"}]})
    [('', {'id': 1, 'name': 'dog'})]
    >>> record_objects({"dog": {"parent": "animal"}})
    [('dog', {'parent': 'animal'})]
    >>> record_objects([{"id": 1}]), record_objects([{"id": 1}], placed=False)
    (None, [('', {'id': 1})])
    """
    if isinstance(document, dict):
        categories = document.get("categories")
        if isinstance(categories, list) and any(isinstance(one, dict) for one in categories):
            return [("", one) for one in categories]
        records = list(document.items())
    else:
        records = [("", one) for one in _listed(document)]
    objects = [one for _, one in records if isinstance(one, dict)]
    members = {name for one in objects for name in one}
    if any(isinstance(one, dict) for node in objects for one in _listed(node.get("children"))):
        return None
    if isinstance(document, dict):
        is_keyed = bool(objects) and len(objects) == len(records)
        roles = {record_role(name)[0] for name in members}
        return records if is_keyed and (not placed or {"parent", "group"} & roles) else None
    return records if objects and (not placed or names_records(sorted(members))) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_tree(objects: list[Any]) -> bool:
    """Return whether the top nodes form a tree of labels.

    If a top node has an array of children, at least one node in the tree must have a member that gives its
    name or id (one of `NAMING`). If no top node has such an array, every top node must have a member that
    gives its name or id, and must not have members that the reader of JSON trees does not read (`MEMBERS`
    lists those that it reads).
    """
    if any(isinstance(node.get("children"), list) for node in objects):
        return _names_a_label(objects)
    return all(MEMBERS.issuperset(node) and any(name in node for name in NAMING) for node in objects)


def _names_a_label(nodes: list[Any]) -> bool:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if any(name in node for name in NAMING):
                return True
            if isinstance(children := node.get("children"), list):
                waiting += children
    return False


def _has(*members: str) -> Callable[[Any, Any], bool]:
    return lambda _, first: all(name in first for name in members)


def _has_any(*members: str) -> Callable[[Any, Any], bool]:
    return lambda _, first: any(name in first for name in members)


def _is(member: str, *values: str) -> Callable[[Any, Any], bool]:
    return lambda _, first: first.get(member) in values


def _all(*tests: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda document, first: all(test(document, first) for test in tests)


def _within(member: str, *members: str) -> Callable[[Any, Any], bool]:
    """Test whether the value of `member` is an object with all the names in `members`.

    If the value is an array, its first element is tested instead.
    """

    def fits(_: Any, first: Any) -> bool:
        held = first.get(member)
        held = next(iter(held), None) if isinstance(held, list) else held
        return isinstance(held, dict) and all(name in held for name in members)

    return fits


def _values(*kinds: type) -> Callable[[Any, Any], bool]:
    """Test whether the document is a nonempty JSON object whose values all have types among `kinds`."""
    return lambda document, _: (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(value, kinds) for value in document.values())
    )


def _is_array(document: Any, _: Any) -> bool:
    return isinstance(document, list)


def _is_pandas(document: Any, _: Any) -> bool:
    """Test whether the document is a table by columns or in parts, as `DataFrame.to_json` writes it."""
    if not isinstance(document, dict):
        return False
    if document.keys() == {"columns", "index", "data"}:
        return all(isinstance(part, list) for part in document.values())
    columns = list(document.values())
    return (
        len(columns) > 1
        and all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns)
        and list(columns[0]) == [str(i) for i in range(len(columns[0]))] != []
    )


_GEOMETRIES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon",
               "GeometryCollection", "Feature", "FeatureCollection")  # fmt: skip

SHAPES: tuple[Shape, ...] = (
    Shape("a labelgrove document ({})", lambda _, first: "labelgrove/" in str(first.get("format")),
          "read the source of its ontology, or an export that this version wrote"),
    Shape("OBO Graphs", _within("graphs", "nodes"), _AS_TABLE),
    Shape("GeoJSON", _is("type", *_GEOMETRIES), "read a file with the hierarchy of the places"),
    Shape("TopoJSON", _is("type", "Topology"), "read a file with the hierarchy of the places"),
    Shape("a graph of nodes and links", _has("nodes", "links"),
          by_networkx("node_link_graph(json.load(open('FILE')), edges='links')")),
    Shape("a graph of nodes and links", _has("nodes", "edges"),
          by_networkx("node_link_graph(json.load(open('FILE')), edges='edges')")),
    Shape("a graph of nodes and links", _within("graph", "nodes"), _AS_TABLE),
    Shape("a graph of nodes and links", _within("elements", "nodes"),
          by_networkx("cytoscape_graph(json.load(open('FILE')))")),
    Shape("an npm package", _all(_has("name", "version"), _has_any(
        "dependencies", "devDependencies", "scripts", "main", "lockfileVersion", "license")),
        "read a file with a hierarchy of labels"),
    Shape("a Jupyter notebook", _has("cells", "nbformat"), "run it, and read the file that it writes"),
    Shape("a JSON schema", _has("$schema"), "read a file with a hierarchy of labels"),
    Shape("a description of an HTTP service (OpenAPI)", _has_any("openapi", "swagger"),
          "read a file with a hierarchy of labels"),
    Shape("a list of records ({})", lambda document, first: _is_array(document, first) and bool(first),
          "name the members that hold the key and the parent with the option columns of the format records"),
    Shape("a list of strings or numbers", _is_array, _AS_TREE),
    Shape("a tree whose nodes have neither name nor id ({})", _has("children"), _AS_TREE),
    Shape("a table of columns ({})", _is_pandas, _AS_PANDAS_RECORDS),
    Shape("nested objects ({})", _values(dict), _AS_TREE),
    Shape("a table of members and values ({})", _values(str, list, bool, type(None)), _AS_TREE),
    Shape("a JSON object ({})", lambda document, _: isinstance(document, dict), _AS_TREE),
    Shape("a single JSON value", lambda *_: True, _AS_TREE),
)  # fmt: skip
"""Every shape that is not a tree of labels, in the order of testing; the last one always fits."""


def _member_names(document: Any) -> str:
    """Return a text that lists the names of the first members of a document.

    If the document is an array, the members are those of its first object. If the object states a format, the
    text is this format instead.
    """
    first = (
        next((one for one in document if isinstance(one, dict)), None)
        if isinstance(document, list)
        else document
    )
    if not isinstance(first, dict):
        return ""
    if isinstance(first.get("format"), str):
        return str(first["format"])
    return ", ".join(list(first)[:_SHOWN]) + (", ..." if len(first) > _SHOWN else "")
