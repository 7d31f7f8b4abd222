"""Programs of others find in an export what was exported: networkx, the csv module, rdflib, fastobo."""

from __future__ import annotations

import csv
import importlib
import io
import json
from typing import Any

import hypothesis.strategies as st
import networkx as nx
import pytest
from hypothesis import given

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.exporting import export_graph
from labelgrove.ontology.readers.text.labeliris import key_of_iri
from tests.unit.exports.described_graphs import described, graphs, keys, lines

some = st.text(
    st.sampled_from([*'ab \t"\\{}![](),:;|@#%<>=\n', "é", "א", "🌳", "\u2028"]), min_size=1, max_size=6
)


def is_held(text: str) -> bool:
    """Whether SKOS holds a text."""
    return bool(text) and text == text.strip()


def is_one_held_line(text: str) -> bool:
    """Whether SKOS holds a name, whose lines its readers would join."""
    return is_held(text) and "\n" not in text


def left_of(made: tuple[LabelGraph, Annotations], format: str) -> str | None:
    """The export without what the format cannot hold; None if it cannot hold a key or the structure."""
    try:
        return str(export_graph(*made, name="any <&>", format=format, leave_out=True))
    except InputError:
        return None


@given(described())
def test_networkx_finds_the_nodes_edges_and_weights_in_graphml(made):
    graph, _ = made
    text = left_of(made, "graphml")
    if text is None:
        return
    found = nx.parse_graphml(text)
    assert found.is_directed() == graph.directed
    assert list(found.nodes) == list(graph.keys)
    edges = {frozenset(edge[:2]): edge[2:] for edge in found.edges(data=True)}
    for child, parent, weight, rank in graph.edges():
        assert edges.pop(frozenset((child, parent))) == ({"weight": weight, "rank": max(rank, 0)},)
        assert not graph.directed or found.has_edge(child, parent)
    assert not edges


def test_graphml_holds_every_annotation_of_a_label():
    graph = LabelGraph.from_edges([("oak", "tree")], names={"oak": "Oak\n<&> "}, weights=[0.1])
    names = (Name("Eiche", "preferred", "de"), Name("Quercus", "exact", "la", 3))
    described = Description(names, " a\ttree\r", deprecated=True, notation=("1", "2"), example=("an oak",))
    annotations = Annotations.of(graph, {"oak": described})
    node = nx.parse_graphml(str(export_graph(graph, annotations, format="graphml"))).nodes["oak"]
    assert (node["name"], node["definition"], node["deprecated"]) == ("Oak\n<&> ", " a\ttree\r", True)
    assert [Name(**name) for name in json.loads(node["names"])] == list(names)
    assert (json.loads(node["notation"]), json.loads(node["example"])) == (["1", "2"], ["an oak"])


@given(described(keys=lines))
def test_the_csv_module_finds_every_label_in_records(made):
    graph, _ = made
    text = left_of(made, "records")
    if text is None:
        return
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert {len(row) for row in rows} == {len(header)}
    parents: dict[str, set[str]] = {key: set() for key in graph.keys}
    for child, parent, _, _ in graph.edges():
        parents[child].add(parent)
    found = {row[0]: row[header.index("parents")] for row in rows[: graph.n_labels]}
    assert list(found) == list(graph.keys)
    for key, cell in found.items():
        several = cell.startswith("[") and cell not in parents[key]
        assert set(json.loads(cell) if several else filter(None, [cell])) == parents[key]


def test_rdflib_finds_every_statement_in_skos():
    rdflib = importlib.import_module("rdflib")
    skos, owl, dcterms = rdflib.SKOS, rdflib.OWL, rdflib.DCTERMS

    @given(made=described(keys=keys))
    def law(made: Any) -> None:
        graph, annotations = made
        text = left_of(made, "skos")
        if text is None:
            return
        found = rdflib.Graph().parse(data=text, format="turtle")
        edges = {(key_of_iri(str(a)), key_of_iri(str(b))) for a, b in found.subject_objects(skos.broader)}
        assert edges == {edge[:2] for edge in graph.edges()}
        concepts = set(found.subjects(rdflib.RDF.type, skos.Concept))
        assert {key_of_iri(str(concept)) for concept in concepts} == {*graph.keys, *annotations.retired}
        deprecated = {key_of_iri(str(s)) for s in found.subjects(owl.deprecated, rdflib.Literal(True))}
        for key, one in annotations.descriptions(graph):
            concept = next(c for c in concepts if key_of_iri(str(c)) == key)
            assert one.deprecated or key not in deprecated
            assert [str(text) for text in found.objects(concept, skos.definition)] == [
                one.definition for _ in range(is_held(one.definition))
            ]
            replaced = {key_of_iri(str(other)) for other in found.objects(concept, dcterms.isReplacedBy)}
            assert replaced == {text for text in one.replaced_by if is_held(text)}
            exact = {(str(text), text.language or "") for text in found.objects(concept, skos.altLabel)}
            assert {text for text, _ in exact} == {
                name.text for name in one.names if name.kind == "exact" and is_one_held_line(name.text)
            }

    law()


@pytest.mark.data
def test_fastobo_finds_every_term_in_obo():
    fastobo = importlib.import_module("fastobo")
    # fastobo takes a backslash before a quote for an escape, even an escaped one, and does not know \W
    held = some.filter(lambda text: '\\"' not in text and text[-1] != "\\" and text == text.strip())

    @given(graph=graphs(held, held, hierarchy=True, numbers=False), text=held, other=held)
    def law(graph: LabelGraph, text: str, other: str) -> None:
        key = graph.keys[0]
        known = Description(
            (Name(text, "narrow"),),
            other,
            alternative_id=(text.replace('"', "'"),),
            replaced_by=(other.replace('"', "'"),),
        )
        written = str(export_graph(graph, Annotations.of(graph, {key: known}), name="any", format="obo"))
        terms = list(fastobo.loads(written))
        clauses = [(clause.raw_tag(), clause) for term in terms for clause in term]
        assert [clause.name for tag, clause in clauses if tag == "name"] == list(graph.names)
        assert sum(tag == "is_a" for tag, _ in clauses) == graph.n_edges
        assert [str(clause.definition) for tag, clause in clauses if tag == "def"] == [other]
        assert [(c.synonym.desc, c.synonym.scope) for tag, c in clauses if tag == "synonym"] == [
            (text, "NARROW")
        ]
        assert sum(tag in ("alt_id", "replaced_by") for tag, _ in clauses) == 2

    law()
