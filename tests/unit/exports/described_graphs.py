"""Graphs with annotations for tests of exports: any shape, and texts that break careless writers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS, Annotations, Description, Name
from labelgrove.ontology.canonical import LENGTHS
from labelgrove.ontology.readers import ReadResult, read

KEPT = {"roots": "keep", "control-character": "warn", "invisible-character": "warn"}
"""What a graph made by code may hold and a file may not without being asked for."""

characters = st.one_of(
    st.characters(codec="utf-8", exclude_characters="\0"),
    st.sampled_from(
        [
            *"#\"'\t,; \n\r\\{}[]()<>:=|@~-*&!^`%",
            "\ufeff",
            "\u202e",
            "\u2028",
            "\x85",
            "\x1c",
            "\u00a0",
            "\U0001f333",
        ]
    ),
)
words = [
    *("child", "parent", "key", "Key", "KEY", "neighbor", "name", "weight", "#", "a", "root", "null", "true"),
    *("-- a", "- b", "http://example.org/a b", "http://example.org/é", "urn:labelgrove:label:a", "urn:x:%zz"),
    *("HP:1", "a|b", "a;b", '["a"]', "'", "[Term]", "id: a", "\\n", "שלום"),
]  # fmt: skip
keys = st.one_of(st.text(characters, min_size=1, max_size=6), st.sampled_from(words))
texts = st.one_of(st.text(characters | st.just("\0"), max_size=6), st.sampled_from(words))
plain = st.text("abcé \U0001f333-", min_size=1, max_size=5).map(str.strip).filter(bool)
weights = st.floats(*LENGTHS)
languages = st.sampled_from(["", "en", "de", "zh-hant", "EN", "x y"])


lines = (
    st.one_of(
        st.text(characters.filter(lambda c: c not in "\n\r\ufeff"), min_size=1, max_size=6),
        st.sampled_from(words),
    )
    .map(str.strip)
    .filter(bool)
)
"""Texts that a part of a line can hold."""


@st.composite
def graphs(
    draw: Any,
    keys: Any = keys,
    texts: Any = texts,
    *,
    tree: bool = False,
    hierarchy: bool = False,
    numbers: bool = True,
) -> LabelGraph:
    """A graph of any shape: directed or not, with several parents, parts and labels without an edge.

    A hierarchy has directed edges, and no rank below 0; without `numbers`, it has neither weights nor ranks.
    """
    labels = draw(st.lists(keys, min_size=1, max_size=9, unique=True))
    index = st.integers(0, len(labels) - 1)
    if tree:
        listed = sorted((labels[i], labels[draw(st.integers(0, i - 1))]) for i in range(1, len(labels)))
        return LabelGraph.from_edges(listed, labels=labels)
    ends = draw(st.lists(st.tuples(index, index), max_size=14))
    pairs = {(labels[max(e)], labels[min(e)]) for e in ends if e[0] != e[1]}
    listed = sorted(pairs)
    return LabelGraph.from_edges(
        listed,
        weights=[draw(st.just(1.0) | weights) for _ in listed] if numbers and draw(st.booleans()) else None,
        ranks=[draw(st.integers(-(not hierarchy), 3)) for _ in listed]
        if numbers and draw(st.booleans())
        else None,
        names=draw(st.dictionaries(st.sampled_from(labels), texts)),
        directed=hierarchy or draw(st.booleans()),
        labels=labels,
    )


def descriptions(texts: Any, languages: Any = languages) -> Any:
    names = st.builds(Name, texts, st.sampled_from(NAME_KINDS), languages, st.sampled_from([0, 0, 0, 7]))
    notes = {kind: st.lists(texts, max_size=2).map(tuple) for kind in NOTE_KINDS}
    return st.builds(Description, st.lists(names, max_size=4).map(tuple), texts, st.booleans(), **notes)


@st.composite
def described(draw: Any, keys: Any = keys, texts: Any = texts) -> tuple[LabelGraph, Annotations]:
    """A graph with annotations of some of its labels, and of some retired keys."""
    graph = draw(graphs(keys, texts))
    found = draw(st.dictionaries(st.sampled_from(list(graph.keys)) | keys, descriptions(texts), max_size=5))
    return graph, Annotations.of(graph, found)


def read_back(text: str, **options: Any) -> ReadResult:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "export"
        source.write_bytes(text.encode())
        return read(source, **options)


def assert_same(result: ReadResult, graph: LabelGraph, annotations: Annotations | None = None) -> None:
    """Digest and annotations are equal, but for the lines of the source: that is now the export."""
    assert result.graph is not None
    assert (result.graph.digest, result.graph.layout) == (graph.digest, graph.layout)
    assert list(result.graph.names) == list(graph.names)
    expected = Annotations.of(graph, {}) if annotations is None else annotations
    assert result.annotations is not None
    for key, array in expected.to_arrays("")[0].items():
        if key != "line":
            assert np.array_equal(array, result.annotations.to_arrays("")[0][key]), key
