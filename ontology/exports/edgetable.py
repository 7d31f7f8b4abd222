"""Write a table of edges, separated by tabs, which the reader of edge lists reads back.

Each line is usually an edge, in the columns ``child`` and ``parent``. But if some label has a definition, has
no edge, or has a name that differs from its key, each line is a label with one of its parents, in the columns
``key`` and ``parent``. If edges have no direction, the columns are ``key`` and ``neighbor``. A column
``weight`` is added if the graph is weighted, a column ``rank`` if a rank is not 0, and columns ``name`` and
``definition`` if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds, line_fault
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.text.cells import LONGEST_CELL, write_cell

__all__ = ["EDGES", "cell_fault", "edge_lines"]


def cell_fault(text: str) -> str | None:
    """Return why a cell of a table cannot hold a text; None if it can."""
    if len(text) > LONGEST_CELL:
        return f"is longer than {LONGEST_CELL:,} characters"
    return line_fault(text)


EDGES = Holds(
    key_fault=cell_fault, text_fault=cell_fault, weights=True, ranks=True, names=True, definitions=True
)
"""What a table of edges can hold."""


def edge_lines(content: Content) -> Iterator[str]:
    """Return the lines of the table; `InputError` for a grid or complete graph."""
    graph, annotations = content.graph, content.annotations
    if graph.layout not in ("hierarchy", "undirected"):
        raise InputError(f"layout {graph.layout!r} does not fit a table of edges; export as json")
    columns = ["weight"] if graph.is_weighted else []
    columns += ["rank"] if (graph.edge_rank > 0).any() else []
    columns += ["name"] if graph.names != graph.keys else []
    columns += ["definition"] if annotations is not None and len(annotations.definitions.blob) else []
    edged = np.zeros(graph.n_labels, dtype=bool)
    edged[graph.edge_child] = edged[graph.edge_parent] = True
    of_labels = "name" in columns or "definition" in columns or not edged.all()
    first = "child" if not of_labels and graph.directed else "key"
    header = (first, "parent" if graph.directed else "neighbor", *columns)
    return _lines(content, _unlike(header, graph), columns, every_label=of_labels)


def _lines(
    content: Content, header: Sequence[str], columns: Sequence[str], *, every_label: bool
) -> Iterator[str]:
    yield "\t".join(header) + "\n"
    for subject in content:
        for row in _rows(subject, every_label=every_label):
            cells = (row["child"], row["parent"], *(row[column] for column in columns))
            yield "\t".join(write_cell(cell, "tab") for cell in cells) + "\n"


def _rows(subject: Subject, *, every_label: bool) -> Iterator[dict[str, str]]:
    """Yield a row for each edge, with the name and definition of its child.

    If `every_label`, also yield a row without a parent for a label without an edge to a parent.
    """
    texts = {"child": subject.key, "name": subject.name, "definition": subject.described.definition}
    for parent, weight, rank in subject.edges:
        yield {"parent": parent, "weight": repr(weight), "rank": str(rank), **texts}
    if every_label and not subject.edges:
        yield {"parent": "", "weight": "", "rank": "", **texts}


def _unlike(header: tuple[str, ...], graph: LabelGraph) -> tuple[str, ...]:
    """Return the header in a spelling (such as "Child" or "CHILD") that differs from every edge.

    If a row and the header were equal, a reader would take the row for a repeated header.
    """
    for spell in (str.lower, str.title, str.upper, str.swapcase):
        spelled = tuple(map(spell, header))
        child, parent = map(graph.keys.find, spelled[:2])
        if child < 0 or parent < 0 or not ((graph.edge_child == child) & (graph.edge_parent == parent)).any():
            return spelled
    raise InputError(f"every spelling of the header {header!r} is equal to an edge; export as json")
