"""A LabelGraph as columns of a graph store, and back."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np

from ontology.errors import InputError
from ontology.graph.errors import GraphDamagedError
from ontology.keys import Keys, Texts
from ontology.labelgraph import LabelGraph

__all__ = [
    "MAX_KEY_BYTES",
    "check_keys",
    "edge_columns",
    "fold",
    "graph_from_columns",
    "label_columns",
    "uid",
]

MAX_KEY_BYTES = 4096
"""Longest label key that the indexes of both engines hold."""


def uid(digest: str, key: str) -> str:
    """Return the identity of a label across versions: 16 hex digits of the digest, a colon, the key."""
    return f"{digest[:16]}:{key}"


def fold(text: str) -> str:
    """Return the form in which texts are searched: compatible characters unified, case and edges dropped.

    >>> fold("  Straße ﬁr ")
    'strasse fir'
    """
    if text.isascii():
        return text.lower().strip()
    compatible = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", compatible).strip()


def check_keys(graph: LabelGraph) -> None:
    """Refuse a graph with a key that an index cannot hold."""
    lengths = np.diff(graph.keys.offsets)
    longest = int(lengths.argmax())
    if lengths[longest] > MAX_KEY_BYTES:
        raise InputError(
            f"label {graph.keys[longest][:60]!r}... has a key of {int(lengths[longest]):,} bytes; "
            f"a graph store holds keys of up to {MAX_KEY_BYTES:,}: shorten it and keep the rest as the name"
        )


def label_columns(graph: LabelGraph, ontology: str, start: int, stop: int) -> dict[str, list[Any]]:
    """Return the properties of labels `start` to `stop` (exclusive), one list for each.

    Notes
    -----
    ``depth`` is None in an undirected graph, which has no up and down.
    """
    stop = min(stop, graph.n_labels)
    keys, names = graph.keys[start:stop], graph.names[start:stop]
    n = stop - start
    return {
        "uid": [uid(graph.digest, k) for k in keys],
        "ontology": [ontology] * n,
        "version": [graph.digest] * n,
        "idx": list(range(start, stop)),
        "key": list(keys),
        "name": list(names),
        "folded": [fold(t) for t in names],
        "depth": graph.depth[start:stop].tolist() if graph.directed else [None] * n,
        "leaf": graph.leaf_mask[start:stop].tolist(),
    }


def edge_columns(graph: LabelGraph, start: int, stop: int) -> dict[str, list[Any]]:
    """Return the ends (as uids) and properties of edges `start` to `stop` (exclusive), one list for each.

    An undirected edge runs from the smaller index to the larger.
    """
    part = slice(start, stop)
    child, parent = graph.edge_child[part], graph.edge_parent[part]
    if len(child) > graph.n_labels // 8:  # decode every key once, not each end of each edge
        table = [uid(graph.digest, k) for k in graph.keys]
        ends = [[table[i] for i in side.tolist()] for side in (child, parent)]
    else:
        ends = [[uid(graph.digest, k) for k in graph.keys.take(side)] for side in (child, parent)]
    weight, rank = graph.edge_weight[part].tolist(), graph.edge_rank[part].tolist()
    return {"child": ends[0], "parent": ends[1], "weight": weight, "rank": rank}


def graph_from_columns(
    digest: str, layout: str, labels: Mapping[str, Any], edges: Mapping[str, Any]
) -> LabelGraph:
    """Build the graph that a store holds; its digest is computed from these columns.

    Parameters
    ----------
    digest : str
        Version asked for; only named in messages.
    layout : str
        As `LabelGraph.layout`.
    labels : mapping
        Columns ``idx``, ``key``, ``name``, in any order of rows. Labels stand in the order of ``idx``; it may
        have gaps where somebody removed labels by hand.
    edges : mapping
        Columns ``child`` and ``parent`` (keys), ``weight``, ``rank``, in any order of rows.

    Raises
    ------
    GraphDamagedError
        When this is no graph: a key that stands twice or nowhere, an edge without a positive weight.
    """
    where = f"version {digest[:12]}"
    order = np.argsort(np.asarray(labels["idx"], dtype=np.float64), kind="stable").tolist()
    if not order:
        raise GraphDamagedError(f"{where}: it has no labels; run: grove graph rebuild")
    try:
        keys = Keys.from_strings(labels["key"][i] for i in order)
        names = Texts.from_strings(labels["name"][i] for i in order)
        place = {key: i for i, key in enumerate(keys)}
        child, parent = (np.array([place[k] for k in edges[c]], dtype=np.int32) for c in ("child", "parent"))
        weight = np.asarray(edges["weight"], dtype=np.float64)
        rank = np.asarray(edges["rank"], dtype=np.int32)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise GraphDamagedError(f"{where}: it is no graph ({error}); run: grove graph rebuild") from error
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise GraphDamagedError(f"{where}: an edge has no positive weight; run: grove graph rebuild")
    if layout != "hierarchy":
        child, parent = np.minimum(child, parent), np.maximum(child, parent)
    by = np.lexsort((parent, rank, child))
    return LabelGraph(
        keys,
        names,
        child[by],
        parent[by],
        weight[by],
        rank[by],
        directed=layout == "hierarchy",
        layout=layout,
    )
