"""An ontology as text: a list of edges that reads back, or one JSON document with everything."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ontology.errors import InputError
from ontology.labelgraph import LabelGraph
from ontology.workspace import Workspace

__all__ = ["export_ontology"]

EXPORT_FORMAT = "labelgrove/export/1"


def export_ontology(
    workspace: Workspace, name: str, *, format: str = "tsv", version: str | None = None
) -> str:
    """Return an ontology as text.

    Parameters
    ----------
    workspace, name
        Where it is, and its name.
    format : {"tsv", "json"}, default="tsv"
        ``tsv``: a header, then child and parent, and weight where lengths differ from 1; `ontology.read`
        takes it as an edge list, ranks and names are not in it. ``json``: one document with everything that
        enters the digest, and definitions.
    version : str, optional
        The beginning of a digest; the current version by default.

    Raises
    ------
    InputError
        For another format, or what TSV cannot hold: keys with tabs or line ends, labels without edges.
    """
    if format not in ("tsv", "json"):
        raise InputError(f"format: {format!r}; use 'tsv' or 'json'")
    graph = workspace.label_graph(name, version)
    if format == "tsv":
        return "\n".join(_tsv(graph)) + "\n"
    table = workspace.definitions(name, version)
    return "\n".join(_json(name, graph, None if table is None else list(table))) + "\n"


def _tsv(graph: LabelGraph) -> Iterator[str]:
    for key in graph.keys:
        if any(mark in key for mark in "\t\r\n"):
            raise InputError(f"label {key!r} holds a tab or line end, which TSV cannot; export as json")
    joined = set(graph.edge_child.tolist()) | set(graph.edge_parent.tolist())
    if len(joined) < graph.n_labels:
        raise InputError(
            f"{graph.n_labels - len(joined)} labels have no edge, a list of edges cannot hold them; "
            "export as json"
        )
    weighted = graph.is_weighted
    yield "child\tparent\tweight" if weighted else "child\tparent"
    for child, parent, weight, _ in graph.edges():
        yield f"{child}\t{parent}\t{weight!r}" if weighted else f"{child}\t{parent}"


def _json(name: str, graph: LabelGraph, definitions: list[str] | None) -> Iterator[str]:
    head = {"format": EXPORT_FORMAT, "ontology": name, "digest": graph.digest, "layout": graph.layout}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "labels": ['
    for i, (key, text) in enumerate(zip(graph.keys, graph.names, strict=True)):
        label = {"key": key, "name": text} | ({"definition": definitions[i]} if definitions else {})
        yield json.dumps(label, ensure_ascii=False) + ("," if i + 1 < graph.n_labels else "")
    yield '], "edges": ['
    for i, (child, parent, weight, rank) in enumerate(graph.edges()):
        edge = {"child": child, "parent": parent, "weight": weight, "rank": rank}
        yield json.dumps(edge, ensure_ascii=False) + ("," if i + 1 < graph.n_edges else "")
    yield "]}"
