"""What is exported reads back as what it was, whatever the keys; what a format cannot hold is refused."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.canonical import LENGTHS
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers import ReadResult, read
from labelgrove.ontology.readers.text.invisible import invisible_character
from labelgrove.ontology.versions.export import export_graph

KEPT = {"roots": "keep", "control-character": "warn", "invisible-character": "warn"}
"""What a graph made by code may hold and a file may not without being asked for."""

characters = st.one_of(
    st.characters(codec="utf-8", exclude_characters="\0"),
    st.sampled_from(
        [*"#\"'\t,; \n\r\\{}[]()<>:=|@~-*&", "\ufeff", "\u202e", "\u2028", "\x85", "\x1c", "\u00a0"]
    ),
)
words = [
    "child",
    "parent",
    "key",
    "Key",
    "KEY",
    "neighbor",
    "name",
    "weight",
    "#",
    "a",
    "root",
    "null",
    "-- a",
    "- b",
]
keys = st.one_of(st.text(characters, min_size=1, max_size=6), st.sampled_from(words))
texts = st.text(characters | st.just("\0"), max_size=6)
weights = st.floats(*LENGTHS)


@st.composite
def graphs(draw: Any) -> tuple[LabelGraph, dict[str, str]]:
    """A graph of any shape: directed or not, with several parents, parts and labels without an edge."""
    labels = draw(st.lists(keys, min_size=1, max_size=9, unique=True))
    index = st.integers(0, len(labels) - 1)
    ends = draw(st.lists(st.tuples(index, index), max_size=14))
    pairs = {(labels[max(e)], labels[min(e)]) for e in ends if e[0] != e[1]}
    listed = sorted(pairs)
    graph = LabelGraph.from_edges(
        listed,
        weights=[draw(st.just(1.0) | weights) for _ in listed] if draw(st.booleans()) else None,
        ranks=[draw(st.integers(-1, 3)) for _ in listed] if draw(st.booleans()) else None,
        names=draw(st.dictionaries(st.sampled_from(labels), texts)),
        directed=draw(st.booleans()),
        labels=labels,
    )
    return graph, draw(st.dictionaries(st.sampled_from(labels), texts))


def read_back(text: str, **options: Any) -> ReadResult:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "export"
        source.write_bytes(text.encode())
        return read(source, **options)


def assert_same(result: ReadResult, graph: LabelGraph, definitions: dict[str, str]) -> None:
    assert result.graph is not None
    assert (result.graph.digest, result.graph.layout) == (graph.digest, graph.layout)
    assert list(result.graph.names) == list(graph.names)
    assert result.definitions == {key: text for key, text in definitions.items() if text}


@given(graphs())
def test_a_json_export_reads_back_as_it_was_without_a_word(made):
    graph, definitions = made
    text = export_graph(graph, definitions, name="any", format="json")
    for format in (None, "json", "export"):
        result = read_back(text, format=format)
        assert_same(result, graph, definitions)
        assert not {"digest-differs", "foreign-file", "bom-inside"} & {d.code for d in result.report.defects}


@given(graphs())
def test_a_table_reads_back_as_it_was_or_is_refused_with_the_format_that_holds_it(made):
    graph, definitions = made
    if is_plain(graph, definitions):
        assert_same(read_back(export_graph(graph, definitions), policies=KEPT), graph, definitions)
    else:
        with pytest.raises(InputError, match=r"export as json$"):
            export_graph(graph, definitions)


def is_plain(graph: LabelGraph, definitions: dict[str, str]) -> bool:
    """Whether nothing in a graph is beyond a table."""
    held = [*graph.keys, *graph.names, *filter(None, definitions.values())]
    return graph.edge_rank.min(initial=0) >= 0 and all(
        text and text == text.strip() and not set(text) & set("\n\r\0\ufeff") for text in held
    )


@pytest.mark.parametrize(
    "graph",
    [
        LabelGraph.grid((3, 4)),
        LabelGraph.grid((5,)),
        LabelGraph.grid((1,)),
        LabelGraph.grid((2, 1, 2)),
        LabelGraph.complete(1),
        LabelGraph.complete(6),
    ],
    ids=lambda graph: graph.layout,
)
def test_grids_and_complete_graphs_keep_their_layout(graph):
    result = read_back(export_graph(graph, format="json"))
    assert_same(result, graph, {})
    with pytest.raises(InputError, match=f"{graph.layout}.*export as json"):
        export_graph(graph, format="tsv")


def test_a_grid_that_was_edited_is_an_undirected_graph_and_says_so():
    document = json.loads(export_graph(LabelGraph.grid((3, 3)), format="json"))
    document["edges"].pop()
    result = read_back(json.dumps(document))
    assert result.graph.layout == "undirected"
    assert [d.code for d in result.report.defects if d.severity == "warn"] == ["digest-differs"]
    for layout in ("grid:" + "9" * 400, "grid:100000,100000", "grid:3,x", "grid:", "round"):
        assert read_back(json.dumps(document | {"layout": layout})).graph.layout == "undirected"


HOSTILE = {
    "comment": "#key",
    "quote": '6" pipe',
    "quotes": '"quoted"',
    "tab": "a\tb",
    "comma": "a, b",
    "semicolon": "a;b",
    "backslash": "a\\tb",
    "header": "parent",
    "json": '{"a": 1}',
    "formula": "=1+1",
    "dash": "-- a",
    "at": "@prefix",
    "control characters": "\x01" * 40,
    "vertical tab": "a\x0bb",
    "line separator": "a\u2028b",
    "next line": "a\x85b",
    "override": "a\u202eb",
    "empty": "''",
    "long": "k" * 4_000,
}


@pytest.mark.parametrize("key", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("place", ["child", "parent", "alone"])
def test_hostile_keys_survive_a_table(key, place):
    pairs = {"child": [(key, "top")], "parent": [("low", key)], "alone": [("low", "top")]}[place]
    graph = LabelGraph.from_edges(pairs, labels=[key])
    for names in (None, {key: f"name of {key}"}):
        if names is not None:
            graph = LabelGraph.from_edges(pairs, labels=[key], names=names)
        text = export_graph(graph, {key: key})
        assert_same(read_back(text, policies=KEPT), graph, {key: key})


REFUSED = {
    "line end": "a\nb", "carriage return": "a\rb", "byte order mark": "a\ufeffb", "blank before": " a",
    "blank behind": "a ", "tab behind": "a\t", "no-break space": "\u00a0a", "separator": "\x1ca",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_a_table_cannot_hold_is_refused_wherever_it_stands(text):
    held = LabelGraph.from_edges([("low", "top")])
    for graph, definitions in (
        (LabelGraph.from_edges([(text, "top")]), {}),
        (LabelGraph.from_edges([("low", "top")], names={"top": text}), {}),
        (held, {"low": text}),
    ):
        with pytest.raises(InputError, match="which a table cannot hold; export as json"):
            export_graph(graph, definitions)
        assert_same(read_back(export_graph(graph, definitions, format="json")), graph, definitions)


def test_a_row_that_is_called_like_the_header_is_not_taken_for_it():
    pairs = [("child", "parent"), ("Child", "Parent"), ("x", "child"), ("x", "Child")]
    graph = LabelGraph.from_edges(pairs)
    text = export_graph(graph)
    assert text.startswith("CHILD\tPARENT\n")
    assert_same(read_back(text, policies=KEPT), graph, {})


def test_a_plain_hierarchy_is_a_plain_edge_list():
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    assert export_graph(graph) == "child\tparent\nelm\ttree\noak\ttree\n"


def test_names_definitions_weights_and_ranks_have_columns():
    graph = LabelGraph.from_edges(
        [("fir", "tree"), ("fir", "green")],
        weights=[2, 0.5],
        ranks=[1, 0],
        names={"fir": "Fir"},
        labels=["moss"],
    )
    assert export_graph(graph, {"tree": "tall"}).splitlines() == [
        "key\tparent\tweight\trank\tname\tdefinition",
        "green\t\t\t\tgreen\t",
        "fir\tgreen\t0.5\t0\tFir\t",
        "fir\ttree\t2.0\t1\tFir\t",
        "moss\t\t\t\tmoss\t",
        "tree\t\t\t\ttree\ttall",
    ]


@pytest.mark.long
def test_wordnet_survives_both(wordnet_dir):
    result = read(wordnet_dir)
    for format in ("tsv", "json"):
        again = read_back(export_graph(result.graph, result.definitions, format=format))
        assert_same(again, result.graph, result.definitions)


def test_many_random_hierarchies_survive_a_table():
    rng = random.Random(0)
    alphabet = [*"ab#\"\t,;' \\", "\u00e9", "\u202e"]
    for _ in range(300):
        labels = {"".join(rng.choices(alphabet, k=rng.randint(1, 4))).strip() for _ in range(8)} - {""}
        ordered = sorted(labels)
        pairs = [(ordered[i], ordered[rng.randrange(i)]) for i in range(1, len(ordered))]
        graph = LabelGraph.from_edges(pairs, labels=ordered)
        assert_same(read_back(export_graph(graph), policies=KEPT), graph, {})
        assert all(invisible_character(key) in (None, "\u202e") for key in ordered)
