"""Write an ontology as text that can be read back: a table of edges or labels, or one complete JSON document.

If a format cannot represent something, the export is refused with an error that names the label; nothing is
left out without a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.formats.exported import EXPORT_FORMAT
from labelgrove.ontology.readers.text.cells import LONGEST_CELL, write_cell
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["export_graph", "export_ontology"]

_BREAKING = ("\n", "\r", "\0", "\ufeff")
"""Characters that a line of text cannot contain."""


def export_ontology(
    workspace: Workspace, name: str, *, format: str = "tsv", version: str | None = None
) -> str:
    """Return an ontology as text that `ontology.read` reads back with the same digest.

    Parameters
    ----------
    workspace, name
        The workspace with the ontology, and the name of the ontology.
    format : {"tsv", "json"}, default="tsv"
        As for `export_graph`.
    version : str, optional
        The beginning of a digest; the current version by default.

    Raises
    ------
    NotFoundError
        For an unknown name or version.
    InputError
        As for `export_graph`.
    """
    graph = workspace.label_graph(name, version)
    annotations = workspace.annotations(name, version)
    described = {} if annotations is None else dict(zip(graph.keys, annotations.definitions, strict=False))
    return export_graph(graph, described, name=name, format=format)


def export_graph(
    graph: LabelGraph, definitions: Mapping[str, str] | None = None, *, name: str = "", format: str = "tsv"
) -> str:
    r"""Return a label graph and the definitions of its labels as text.

    Parameters
    ----------
    graph : LabelGraph
        The graph to write.
    definitions : mapping of key to text, optional
        Definitions of some or all labels.
    name : str, optional
        Name of the ontology in the JSON document.
    format : {"tsv", "json"}, default="tsv"
        ``tsv``: a table with a header. Each line is usually an edge, in the columns ``child`` and ``parent``.
        But if some label has a definition, has no edge, or has a name that differs from its key, each line is
        a label with one of its parents, in the columns ``key`` and ``parent``. If edges have no direction,
        the columns are ``key`` and ``neighbor``. A column ``weight`` is added if the graph is weighted, a
        column ``rank`` if a rank is not 0, a column ``name`` if a name differs from its key, and a column
        ``definition`` if there are definitions. ``json``: one document with everything that affects the
        digest, and the definitions.

    Raises
    ------
    InputError
        For another format, and for content that a table cannot represent: keys, names or definitions with
        line endings, surrounding blanks or a byte order mark; empty names; negative ranks; the layout of a
        grid or complete graph.

    Examples
    --------
    >>> export_graph(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    'child\tparent\nelm\ttree\noak\ttree\n'
    """
    if format not in ("tsv", "json"):
        raise InputError(f"format: {format!r} is unknown; use 'tsv' or 'json'")
    described = {key: text for key, text in (definitions or {}).items() if text}
    lines = _tsv(graph, described) if format == "tsv" else _json(name, graph, described)
    return "\n".join(lines) + "\n"


# ---- tables --------------------------------------------------------------------------------------------


def _tsv(graph: LabelGraph, definitions: Mapping[str, str]) -> Iterator[str]:
    if graph.layout not in ("hierarchy", "undirected"):
        raise InputError(f"layout {graph.layout!r} does not fit a table of edges; export as json")
    columns = ["weight"] if graph.is_weighted else []
    columns += ["rank"] if graph.edge_rank.any() else []
    names = list(graph.names) if graph.names != graph.keys else None
    columns += [] if names is None else ["name"]
    columns += ["definition"] if definitions else []
    if len(graph.edge_rank) and int(graph.edge_rank.min()) < 0:
        raise InputError("a rank is below 0, which a table of edges cannot hold; export as json")
    edged = set(graph.edge_child.tolist()) | set(graph.edge_parent.tolist())
    of_labels = names is not None or bool(definitions) or len(edged) < graph.n_labels
    rows = [
        tuple(row[column] for column in ("child", "parent", *columns))
        for row in _rows(graph, names, definitions, every_label=of_labels)
    ]
    first = "child" if not of_labels and graph.directed else "key"
    header = (first, "parent" if graph.directed else "neighbor", *columns)
    yield "\t".join(_unlike(header, rows))
    for row in rows:
        yield "\t".join(write_cell(cell, "tab") for cell in row)


def _rows(
    graph: LabelGraph, names: Sequence[str] | None, definitions: Mapping[str, str], *, every_label: bool
) -> Iterator[dict[str, str]]:
    """Yield a row of the table for each edge, with the name and definition of its child.

    If `every_label`, also yield a row without a parent for each label that is not the child of an edge.
    """
    keys = [_held(key, "key", key) for key in graph.keys]
    texts = [
        {
            "name": "" if names is None else _held(names[i], "name", key, empty=False),
            "definition": _held(definitions.get(key, ""), "definition", key),
        }
        for i, key in enumerate(keys)
    ]
    no_edge = {"parent": "", "weight": "", "rank": ""}
    ends = (graph.edge_child, graph.edge_parent, graph.edge_weight, graph.edge_rank)
    begin = 0  # the first label that has no row yet: edges come in the order of their children
    for child, parent, weight, rank in zip(*(column.tolist() for column in ends), strict=True):
        for i in range(begin, child) if every_label else ():
            yield {"child": keys[i], **no_edge, **texts[i]}
        begin = child + 1
        edge = {"parent": keys[parent], "weight": repr(weight), "rank": str(rank)}
        yield {"child": keys[child], **edge, **texts[child]}
    for i in range(begin, graph.n_labels) if every_label else ():
        yield {"child": keys[i], **no_edge, **texts[i]}


def _held(text: str, what: str, key: str, *, empty: bool = True) -> str:
    """Return `text` if a cell of a table can represent it; otherwise raise `InputError`."""
    problem = None
    if text != text.strip():
        problem = "has blanks around it"
    elif any(character in text for character in _BREAKING):
        problem = "contains a line ending, NUL or byte order mark"
    elif len(text) > LONGEST_CELL:
        problem = f"is longer than {LONGEST_CELL:,} characters"
    elif not text and not empty:
        problem = "is empty"
    if problem is not None:
        whose = "" if what == "key" else f" of {key!r:.80}"
        raise InputError(f"{what}{whose} {text!r:.80} {problem}, which a table cannot hold; export as json")
    return text


def _unlike(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the header in a spelling (such as "Child" or "CHILD") that differs from every row.

    If a row and the header were equal, a reader would take the row for a repeated header.
    """
    taken = set(rows)
    for spell in (str.lower, str.title, str.upper, str.swapcase):
        spelled = tuple(map(spell, header))
        if spelled not in taken:
            return spelled
    raise InputError(f"every spelling of the header {header!r} is equal to a row of labels; export as json")


# ---- one document --------------------------------------------------------------------------------------


def _json(name: str, graph: LabelGraph, definitions: Mapping[str, str]) -> Iterator[str]:
    head = {"format": EXPORT_FORMAT, "ontology": name, "digest": graph.digest, "layout": graph.layout}
    yield _dumped(head)[:-1] + ', "labels": ['
    for i, (key, text) in enumerate(zip(graph.keys, graph.names, strict=True)):
        label = {"key": key, "name": text}
        if definitions:
            label["definition"] = definitions.get(key, "")
        yield _dumped(label) + ("," if i + 1 < graph.n_labels else "")
    yield '], "edges": ['
    for i, (child, parent, weight, rank) in enumerate(graph.edges()):
        edge = {"child": child, "parent": parent, "weight": weight, "rank": rank}
        yield _dumped(edge) + ("," if i + 1 < graph.n_edges else "")
    yield "]}"


def _dumped(value: Mapping[str, object]) -> str:
    """Return JSON in one line; byte order marks, which do not belong inside a text file, are escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\ufeff", "\\ufeff")
