"""What is exported reads back as what it was, whatever the texts; what a format cannot hold is refused."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.exporting import export_graph
from labelgrove.ontology.readers import read
from tests.unit.exports.described_graphs import KEPT, assert_same, described, graphs, lines, read_back


def written(graph: LabelGraph, annotations: Annotations | None = None, *, format: str) -> str:
    return str(export_graph(graph, annotations, name="any", format=format))


def defined(graph: LabelGraph, definitions: dict[str, str]) -> Annotations:
    return Annotations.of(graph, {key: Description(definition=text) for key, text in definitions.items()})


@given(described())
def test_a_json_export_reads_back_as_it_was_without_a_word(made):
    graph, annotations = made
    text = written(graph, annotations, format="json")
    for format in (None, "json", "export"):
        result = read_back(text, format=format)
        assert_same(result, graph, annotations)
        assert not {"digest-differs", "foreign-file", "bom-inside"} & {d.code for d in result.report.defects}


@given(graphs())
def test_a_table_of_edges_reads_back_as_it_was_or_is_refused_with_the_format_that_holds_it(graph):
    if is_plain(graph):
        assert_same(read_back(written(graph, format="edges"), policies=KEPT), graph)
    else:
        with pytest.raises(InputError, match=r"export as json"):
            export_graph(graph, format="edges")


def is_plain(graph: LabelGraph) -> bool:
    """Whether nothing in a graph is beyond a table."""
    held = [*graph.keys, *graph.names]
    return graph.edge_rank.min(initial=0) >= 0 and all(
        text and text == text.strip() and not set(text) & set("\n\r\0\ufeff") for text in held
    )


def nameless(graph: LabelGraph) -> LabelGraph:
    return LabelGraph.from_edges([edge[:2] for edge in graph.edges()], labels=graph.keys)


@given(graphs(tree=True) | graphs(lines, hierarchy=True, numbers=False).map(nameless))
@example(LabelGraph.from_edges([("b", "a")], labels=["- id: x"]))
@example(LabelGraph.from_edges([("key", '["a"]')]))
@example(LabelGraph.from_edges([("id: a", "[Term]"), ("root", "[Term]")]))
def test_an_outline_reads_back_as_it_was_or_is_refused(graph):
    try:
        text = written(graph, format="outline")
    except InputError as error:
        assert re.search(r"cannot hold|would refuse it|has \d parents", str(error))  # noqa: PT017
        return
    assert_same(read_back(text, format="outline", policies=KEPT), graph)


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
    result = read_back(written(graph, format="json"))
    assert_same(result, graph)
    with pytest.raises(InputError, match=f"{graph.layout}.*export as json"):
        export_graph(graph, format="edges")


def test_a_grid_that_was_edited_is_an_undirected_graph_and_says_so():
    document = json.loads(written(LabelGraph.grid((3, 3)), format="json"))
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
        annotations = defined(graph, {key: key})
        text = written(graph, annotations, format="edges")
        assert_same(read_back(text, policies=KEPT), graph, annotations)


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
        annotations = defined(graph, definitions)
        with pytest.raises(InputError, match=r"cannot hold.*export as json"):
            export_graph(graph, annotations, format="edges")
        assert_same(read_back(written(graph, annotations, format="json")), graph, annotations)


def test_a_row_that_is_called_like_the_header_is_not_taken_for_it():
    pairs = [("child", "parent"), ("Child", "Parent"), ("x", "child"), ("x", "Child")]
    graph = LabelGraph.from_edges(pairs)
    text = written(graph, format="edges")
    assert text.startswith("CHILD\tPARENT\n")
    assert_same(read_back(text, policies=KEPT), graph)


def test_a_plain_hierarchy_is_a_plain_edge_list():
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    assert written(graph, format="edges") == "child\tparent\nelm\ttree\noak\ttree\n"


def test_names_definitions_weights_and_ranks_have_columns():
    graph = LabelGraph.from_edges(
        [("fir", "tree"), ("fir", "green")],
        weights=[2, 0.5],
        ranks=[1, 0],
        names={"fir": "Fir"},
        labels=["moss"],
    )
    assert written(graph, defined(graph, {"tree": "tall"}), format="edges").splitlines() == [
        "key\tparent\tweight\trank\tname\tdefinition",
        "green\t\t\t\tgreen\t",
        "fir\tgreen\t0.5\t0\tFir\t",
        "fir\ttree\t2.0\t1\tFir\t",
        "moss\t\t\t\tmoss\t",
        "tree\t\t\t\ttree\ttall",
    ]


@pytest.mark.slow
def test_wordnet_survives_both(wordnet_dir):
    result = read(wordnet_dir)
    again = read_back(written(result.graph, result.annotations, format="json"))
    assert_same(again, result.graph, result.annotations)
    definitions = defined(result.graph, result.definitions)
    again = read_back(written(result.graph, definitions, format="edges"))
    assert_same(again, result.graph, definitions)
