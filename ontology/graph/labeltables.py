"""Convert a `LabelGraph` to columns of the tables of a graph store, and such tables to a `LabelGraph`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import GraphDamagedError, InputError
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = [
    "MAX_KEY_BYTES",
    "ROWS_TOGETHER",
    "check_keys",
    "edge_arrays",
    "edge_columns",
    "fold",
    "graph_from_tables",
    "is_part",
    "label_arrays",
    "label_columns",
    "no_graph",
    "rows_of_columns",
    "uid",
    "uid_array",
]

MAX_KEY_BYTES = 4096
"""Length in bytes of the longest label key that the indexes of both engines accept."""

ROWS_TOGETHER = 100_000
"""Largest number of table rows that are Python objects at the same time."""


def uid(digest: str, key: str) -> str:
    """Return an identifier of a label that is unique across versions.

    It consists of 16 hexadecimal digits of the version's digest, a colon and the key.
    """
    return f"{digest[:16]}:{key}"


def fold(text: str) -> str:
    """Normalize a text for search, so that texts that differ only in form become equal.

    Differences of case and surrounding blanks are removed. Unicode normalization (NFKC) replaces variants of
    characters, such as ligatures and wide letters, by the usual characters.

    >>> fold("  Straße ﬁr ")
    'strasse fir'
    """
    if text.isascii():
        return text.lower().strip()
    compatible = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", compatible).strip()


def uid_array(graph: LabelGraph) -> Any:
    """Return the `uid` of every label as an Arrow array of texts, without a Python object for each."""
    import pyarrow
    import pyarrow.compute as pc

    prefix, separator = (pyarrow.scalar(text, pyarrow.large_string()) for text in (uid(graph.digest, ""), ""))
    return pc.binary_join_element_wise(prefix, _text_array(graph.keys), separator)


def _text_array(texts: Texts) -> Any:
    """Return the entries of a table as an Arrow array that shares the memory of the table."""
    import pyarrow

    offsets, blob = (pyarrow.py_buffer(np.ascontiguousarray(a)) for a in (texts.offsets, texts.blob))
    return pyarrow.LargeStringArray.from_buffers(len(texts), offsets, blob)


def check_keys(graph: LabelGraph) -> None:
    """Raise `InputError` if a key of the graph is longer than `MAX_KEY_BYTES`."""
    lengths = np.diff(graph.keys.offsets)
    longest = int(lengths.argmax())
    if lengths[longest] > MAX_KEY_BYTES:
        raise InputError(
            f"label {graph.keys[longest][:60]!r}... has a key of {int(lengths[longest]):,} bytes; "
            f"a graph store accepts keys of up to {MAX_KEY_BYTES:,}: shorten the key, and keep the long text "
            "as the name of the label"
        )


def label_columns(graph: LabelGraph, ontology: str, start: int, stop: int) -> dict[str, list[Any]]:
    """Return the properties of labels `start` to `stop` (exclusive), one list for each property.

    Notes
    -----
    ``depth`` is None in an undirected graph, which has no levels. ``definition`` and ``deprecated`` are not
    yet known: the annotations of the version are loaded later (`ontology.graph.annotationtables`).
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
        "definition": [None] * n,
        "deprecated": [False] * n,
    }


def label_arrays(graph: LabelGraph, uids: Any, ontology: str, start: int, stop: int) -> dict[str, Any]:
    """Return the columns of `label_columns` as arrays; `uids` is the result of `uid_array`."""
    import pyarrow

    n = stop - start
    depth = graph.depth[start:stop].astype(np.int64) if graph.directed else pyarrow.nulls(n, pyarrow.int64())
    return {
        "uid": uids.slice(start, n),
        "ontology": pyarrow.repeat(ontology, n),
        "version": pyarrow.repeat(graph.digest, n),
        "idx": np.arange(start, stop),
        "key": _text_array(graph.keys).slice(start, n),
        "name": _text_array(graph.names).slice(start, n),
        "folded": pyarrow.array(map(fold, graph.names[start:stop]), pyarrow.string()),
        "depth": depth,
        "leaf": graph.leaf_mask[start:stop],
        "definition": pyarrow.nulls(n, pyarrow.string()),
        "deprecated": np.zeros(n, dtype=bool),
    }


def edge_columns(graph: LabelGraph, start: int, stop: int) -> dict[str, list[Any]]:
    """Return the columns of edges `start` to `stop` (exclusive), one list for each column.

    The columns are ``child`` and ``parent`` (uids of the ends), ``weight`` and ``rank``. An undirected edge
    goes from the smaller index to the larger.
    """
    part = slice(start, stop)
    child, parent = graph.edge_child[part], graph.edge_parent[part]
    if len(child) > graph.n_labels // 8:  # decode each key once rather than for each edge
        table = [uid(graph.digest, k) for k in graph.keys]
        ends = [[table[i] for i in side.tolist()] for side in (child, parent)]
    else:
        ends = [[uid(graph.digest, k) for k in graph.keys.take(side)] for side in (child, parent)]
    weight, rank = graph.edge_weight[part].tolist(), graph.edge_rank[part].tolist()
    return {"child": ends[0], "parent": ends[1], "weight": weight, "rank": rank}


def edge_arrays(graph: LabelGraph, uids: Any, start: int, stop: int) -> dict[str, Any]:
    """Return the columns of `edge_columns` as arrays; `uids` is the result of `uid_array`."""
    part = slice(start, stop)
    return {
        "child": uids.take(graph.edge_child[part]),
        "parent": uids.take(graph.edge_parent[part]),
        "weight": graph.edge_weight[part],
        "rank": graph.edge_rank[part].astype(np.int64),
    }


def graph_from_tables(digest: str, layout: str, labels: Any, edges: Any) -> LabelGraph:
    """Build the graph from a store's tables; the digest of the result is computed from its content.

    Parameters
    ----------
    digest : str
        Requested version; used only in messages.
    layout : str
        As `LabelGraph.layout`.
    labels : pyarrow.Table
        Columns ``place`` (of any type, distinct), ``idx``, ``key``, ``name``, with rows in any order. The
        labels of the graph are in the order of ``idx``, which has gaps if somebody removed labels by hand.
    edges : pyarrow.Table
        Columns ``child`` and ``parent`` (each the ``place`` of a label), ``weight``, ``rank``, with rows in
        any order.

    Raises
    ------
    GraphDamagedError
        If the tables are not a valid graph, for example because a key is repeated or missing, or an edge has
        no positive weight.

    Notes
    -----
    Labels are not turned into Python objects. In addition to the tables, this takes about as much memory as
    the graph.
    """
    import pyarrow
    import pyarrow.compute as pc

    if not labels.num_rows:
        raise no_graph(digest, "it has no labels")
    index = labels["idx"].cast(pyarrow.float64()).to_numpy()
    if not (index[1:] > index[:-1]).all():
        labels = labels.take(np.argsort(index, kind="stable"))
    place = labels["place"].combine_chunks()
    try:
        key, name = (labels[c].combine_chunks().cast(pyarrow.large_binary()) for c in ("key", "name"))
        del labels  # frees the largest table, which is no longer needed
        keys = Keys(*_texts(key), pc.sort_indices(key).to_numpy().astype(np.int32))
        names = Texts(*_texts(name))
        child, parent = (_ends(edges[end].combine_chunks(), place) for end in ("child", "parent"))
        weight = edges["weight"].cast(pyarrow.float64()).to_numpy()
        rank = edges["rank"].cast(pyarrow.int32()).to_numpy()
    except (InputError, pyarrow.ArrowInvalid) as error:
        raise no_graph(digest, error) from error
    if twice := _repeated(key, keys.order):
        raise no_graph(digest, f"keys: {twice!r} occurs twice")
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise no_graph(digest, "an edge has a weight that is not positive and finite")
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


def is_part(graph: LabelGraph, start: int, stop: int, labels: Any, edges: Any) -> bool:
    """Return whether tables equal a part of a graph: some labels, and the edges from them to their parents.

    Parameters
    ----------
    graph : LabelGraph
    start, stop : int
        The labels are those from index `start` to `stop` (exclusive).
    labels : pyarrow.Table
        Columns ``idx``, ``key``, ``name``, sorted by ``idx``.
    edges : pyarrow.Table
        Columns ``child`` and ``parent`` (each the ``idx`` of a label), ``weight``, ``rank``, with rows in any
        order.
    """
    first, last = np.searchsorted(graph.edge_child, (start, stop))
    if (labels.num_rows, edges.num_rows) != (stop - start, last - first):
        return False
    if not np.array_equal(labels["idx"].to_numpy(), np.arange(start, stop)):
        return False
    for name, table in (("key", graph.keys), ("name", graph.names)):
        if labels[name].to_pylist() != list(table[start:stop]):
            return False
    found = [edges[name].to_numpy() for name in ("child", "rank", "parent", "weight")]
    by = np.lexsort(found[2::-1])
    wanted = (graph.edge_child, graph.edge_rank, graph.edge_parent, graph.edge_weight)
    return all(np.array_equal(f[by], w[first:last]) for f, w in zip(found, wanted, strict=True))


def rows_of_columns(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table, given one list for each column."""
    names = tuple(columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def no_graph(digest: str, reason: object) -> GraphDamagedError:
    """Return the error for a version whose stored tables are not a graph."""
    return GraphDamagedError(
        f"version {digest[:12]}: its tables are not a graph ({reason}); run: grove graph rebuild"
    )


def _texts(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return `blob` and `offsets` for `Texts`, from an Arrow array of texts of type ``large_binary``."""
    if column.null_count:
        raise InputError("a label has no key")
    _, offsets, blob = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    held = np.frombuffer(blob, dtype=np.uint8) if blob is not None else np.zeros(0, dtype=np.uint8)
    return held[bounds[0] : bounds[-1]], bounds - bounds[0]


def _ends(column: Any, place: Any) -> NDArray[np.int32]:
    """Return the index of each edge's child, or of each edge's parent.

    `column` contains the ids of these labels, and `place` the ids of all labels.
    """
    import pyarrow.compute as pc

    index = pc.index_in(column, value_set=place)
    if index.null_count:
        stray = column.filter(pc.is_null(index))[0].as_py()
        raise InputError(f"an edge ends at {stray!r}, which is not a label")
    return np.asarray(index.to_numpy(), dtype=np.int32)


def _repeated(key: Any, order: NDArray[np.int32]) -> str:
    """Return the first key, in byte order, that occurs more than once; empty if there is none."""
    import pyarrow.compute as pc

    ordered = key.take(order)
    same = pc.equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    return str(ordered[int(same.argmax())].as_py().decode()) if same.any() else ""
