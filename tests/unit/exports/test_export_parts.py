"""Branches, outlines, and what exports say: rules of single parts, each with a case that breaks it."""

from __future__ import annotations

import tracemalloc

import pytest

from labelgrove.cli.ontologies import _FORMATS
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.errors import InputError, UnknownLabelError
from labelgrove.ontology.exports.exporting import EXPORT_FORMATS, export_graph
from labelgrove.ontology.readers.text.labeliris import LABEL_NAMESPACE, iri_of_key, key_of_iri
from tests.unit.exports.described_graphs import KEPT, assert_same, read_back

PETS = LabelGraph.from_edges(
    [("dog", "canine"), ("dog", "pet"), ("puppy", "dog"), ("canine", "animal"), ("pet", "animal")]
)


def test_the_command_line_offers_every_format():
    assert list(EXPORT_FORMATS) == list(_FORMATS)


def test_a_branch_has_all_its_edges_and_says_which_parents_it_lacks():
    described = {
        "dog": Description(definition="barks"),
        "pet": Description(definition="tame"),
        "hound": Description(replaced_by=("dog",)),
        "cat": Description(consider=("pet",)),
    }
    exported = export_graph(PETS, Annotations.of(PETS, described), under="canine")
    assert exported.left_out == ("parents outside the branch: 1 (the first at 'dog')",)
    branch = LabelGraph.from_edges([("dog", "canine"), ("puppy", "dog")])
    kept = Annotations.of(branch, {key: described[key] for key in ("dog", "hound")})
    assert_same(read_back(str(exported)), branch, kept)
    assert export_graph(PETS, under="animal").left_out == ()
    assert len(read_back(str(export_graph(PETS, under="animal"))).graph.edge_child) == PETS.n_edges
    with pytest.raises(UnknownLabelError, match="wolf"):
        export_graph(PETS, under="wolf")
    with pytest.raises(InputError, match="undirected and has no branches"):
        export_graph(LabelGraph.complete(3), under="0")


OUTLINES = {
    "one label": LabelGraph.from_edges([], labels=["oak"]),
    "bullets": LabelGraph.from_edges([("- a", "-- b"), ("* c", "- a"), ("#d", "* c"), ("--e", "#d")]),
    "forest": LabelGraph.from_edges([("a", "b"), ("c", "d"), ("e", "c")]),
    "roots alone": LabelGraph.from_edges([], labels=["a", "b"]),
    "several words": LabelGraph.from_edges([("red oak", "a tree, tall"), ("b", "red oak"), ("c", "red oak")]),
}


@pytest.mark.parametrize("graph", OUTLINES.values(), ids=OUTLINES)
def test_trees_read_back_from_outlines(graph):
    text = str(export_graph(graph, format="outline"))
    assert_same(read_back(text, policies=KEPT, format="outline"), graph)


def test_what_is_no_tree_is_not_an_outline():
    with pytest.raises(InputError, match="'dog' has 2 parents, and an outline is a tree"):
        export_graph(PETS, format="outline")
    with pytest.raises(InputError, match="layout 'complete' does not fit an outline"):
        export_graph(LabelGraph.complete(3), format="outline")


@pytest.mark.parametrize("format", ["records", "skos", "obo"])
def test_edges_without_direction_are_refused_before_the_first_line(format):
    with pytest.raises(InputError, match=r"layout 'undirected' does not fit .* export as"):
        export_graph(LabelGraph.from_edges([("a", "b")], directed=False), format=format, leave_out=True)


def test_what_is_refused_is_listed_by_kind_with_its_number_and_first_key():
    graph = LabelGraph.from_edges([("a", "r"), ("b", "r")], weights=[2, 3])
    known = Annotations.of(graph, {"a": Description((Name("A", use=3),), deprecated=True, example=("x",))})
    with pytest.raises(InputError) as refused:
        export_graph(graph, known, format="obo")
    said = (
        "weights: 2 (the first at 'a')",
        "notes (example): 1",
        "counts of uses of names: 1",
        "--leave-out",
    )
    assert all(part in str(refused.value) for part in said)
    exported = export_graph(graph, known, format="obo", leave_out=True)
    assert [said.partition(":")[0] for said in exported.left_out] == [
        "weights", "notes (example)", "counts of uses of names",
    ]  # fmt: skip
    assert 'synonym: "A" EXACT []' in str(exported)


RECORDS = {
    "a list that is the key of a label": LabelGraph.from_edges([("x", "a|b"), ("y", '["a|b"]')]),
    "labels called like the header": LabelGraph.from_edges([("key", "parents"), ("Key", "key")]),
    "separators": LabelGraph.from_edges([("x", "a|b"), ("x", "c;d"), ("x", "[e]")], ranks=[2, 0, 1]),
}


@pytest.mark.parametrize("graph", RECORDS.values(), ids=RECORDS)
def test_cells_that_mean_something_else_survive_in_records(graph):
    assert_same(read_back(str(export_graph(graph, format="records")), policies=KEPT), graph)


@pytest.mark.parametrize("leave_out", [False, True])
def test_a_label_with_more_values_than_a_cell_holds_is_refused_before_the_first_line(leave_out):
    several = LabelGraph.from_edges([("a", f"{i:05}") for i in range(15_000)])
    names = tuple(Name(f"{i:05}" * 100) for i in range(300))
    graph = LabelGraph.from_edges([("a", "r")])
    for made, column in (
        ((several, None), "parents"),
        ((graph, Annotations.of(graph, {"a": Description(names)})), "synonyms"),
    ):
        with pytest.raises(InputError, match=f"{column} of 'a': the cell would have 1.*export as json"):
            export_graph(*made, format="records", leave_out=leave_out)
        assert_same(read_back(str(export_graph(*made))), *made)


def test_a_retired_key_without_an_untagged_name_is_not_given_one():
    graph = LabelGraph.from_edges([("a", "r")])
    known = Annotations.of(graph, {"old": Description((Name("Alt", "preferred", "de"),))})
    for format in ("records", "skos"):
        with pytest.raises(InputError, match="preferred names of retired keys that have none without"):
            export_graph(graph, known, format=format)
    named = Name("Alt", "preferred"), Name("Alt", "preferred", "de")
    known = Annotations.of(graph, {"old": Description(named)})
    assert_same(read_back(str(export_graph(graph, known, format="records"))), graph, known)


@pytest.mark.parametrize("format", ["records", "skos", "obo"])
def test_a_deprecated_root_would_be_retired_and_is_refused(format):
    graph = LabelGraph.from_edges([("a", "r")])
    known = Annotations.of(graph, {"r": Description(deprecated=True)})
    with pytest.raises(InputError, match="deprecated labels that have no parent"):
        export_graph(graph, known, format=format)
    known = Annotations.of(graph, {"a": Description(deprecated=True)})
    exported = str(export_graph(graph, known, format=format))
    read_as = {"records": "records", "skos": "rdf", "obo": "obo"}[format]
    assert_same(read_back(exported, format=read_as), graph, known)


def test_the_name_of_a_label_is_chosen_from_its_preferred_names_as_the_reader_does():
    graph = LabelGraph.from_edges([("a", "r")], names={"a": "Eiche", "r": "tree"})
    english, german = Name("oak", "preferred", "en"), Name("Eiche", "preferred", "de")
    with pytest.raises(InputError, match="preferred names that would be read as the name"):
        export_graph(graph, Annotations.of(graph, {"a": Description((english, german))}), format="skos")
    known = Annotations.of(
        graph, {"a": Description((german,)), "r": Description((Name("tree", "preferred", "en"),))}
    )
    assert_same(read_back(str(export_graph(graph, known, format="skos"))), graph, known)


def test_keys_become_iris_and_keys_again():
    for key in (
        "oak",
        "red oak",
        "HP:1",
        "é%20",
        f"{LABEL_NAMESPACE}a",
        "urn:x:%zz",
        "http://a/b c",
        "http://a/é",
    ):
        assert key_of_iri(iri_of_key(key)) == key
    assert iri_of_key("HP:1", "http://a/") == "http://a/HP:1"
    for iri in ("urn:x:y", f"{LABEL_NAMESPACE}%FF", f"{LABEL_NAMESPACE}%61"):
        assert key_of_iri(iri) == iri


def test_exports_of_format_1_are_read():
    text = (
        '{"format": "labelgrove/export/1", "ontology": "", "digest": null, "layout": "hierarchy", "labels": ['
        '{"key": "r", "name": "r", "definition": ""}, {"key": "a", "name": "A", "definition": "first"}], '
        '"edges": [{"child": "a", "parent": "r", "weight": 1.0, "rank": 0}]}'
    )
    graph = LabelGraph.from_edges([("a", "r")], names={"a": "A"})
    assert_same(read_back(text), graph, Annotations.of(graph, {"a": Description(definition="first")}))


def test_skos_in_another_namespace_names_the_keys_by_it():
    graph = LabelGraph.from_edges([("red oak", "tree"), ("http://e.org/x", "tree")])
    text = str(export_graph(graph, format="skos", namespace="http://example.org/trees/"))
    assert "<http://example.org/trees/red%20oak>" in text
    assert "<http://e.org/x>" in text
    assert set(read_back(text, format="rdf").graph.keys) == {
        "http://e.org/x", "http://example.org/trees/red%20oak", "http://example.org/trees/tree",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("format", "namespace", "says"),
    [
        ("skos", "trees", "'trees' is not the start of an IRI; give one with a scheme"),
        ("skos", "http://e.org/a b", "is not the start of an IRI"),
        ("skos", "http://e.org/" + "x" * 4_000, "is not the start of an IRI"),
        ("skos", "http://e.org/" + "x" * 3_986, "would be an IRI of more than 4,000 characters"),
        ("obo", "http://e.org/", "the format 'obo' does not have this option"),
    ],
)
def test_a_namespace_is_refused_that_makes_no_iris(format, namespace, says):
    with pytest.raises(InputError, match=says):
        export_graph(PETS, format=format, namespace=namespace)


def test_an_export_among_many_blank_lines_is_read_without_keeping_them():
    graph = LabelGraph.from_edges([(f"child {i}", "root") for i in range(5_000)])
    known = Annotations.of(graph, {f"child {i}": Description(definition="x" * 200) for i in range(5_000)})
    text = str(export_graph(graph, known))
    read_back(text)  # what is loaded on first use does not count
    tracemalloc.start()
    result = read_back(text.replace("\n", "\n" + (" " * 199 + "\n") * 200_000, 1))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_same(result, graph, known)
    assert most < 300 << 20
