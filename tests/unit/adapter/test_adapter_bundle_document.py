"""docs/bundle-format.md says what the code writes, and its example runs."""

import doctest
import re
from pathlib import Path

import numpy as np

from labelgrove.adapter.bundles.bundle import Bundle, build_bundle
from labelgrove.adapter.bundles.bundlechecks import FORMAT, UNIT
from labelgrove.ontology.labelgraph import LabelGraph

DOCUMENT = Path(__file__).parents[3] / "docs" / "bundle-format.md"


def bundles() -> list[Bundle]:
    weighted = LabelGraph.from_edges([("a", "r"), ("b", "r")], weights=[1.0, 2.5], names={"a": "A"})
    return [
        build_bundle(weighted, ["a"], labels="leaves"),
        build_bundle(LabelGraph.grid((2, 2)), ["0,0"]),
        build_bundle(LabelGraph.complete(3), ["1"]),
    ]


def test_every_array_and_field_is_described_and_nothing_else():
    text = DOCUMENT.read_text(encoding="utf-8")
    tables = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    described = set(re.findall(r"`((?:keys|names|labels|observed|tree|block|groups)\.[a-z]+)`", tables))
    written = set().union(*(bundle.to_arrays()[0] for bundle in bundles()))
    assert described == written
    for bundle in bundles():
        arrays, metadata = bundle.to_arrays()
        assert all(f"`{field}`" in tables for field in metadata)
        for name, array in arrays.items():
            row = next(line for line in tables.splitlines() if f"`{name}`" in line)
            assert str(array.dtype) in row
    assert f"`{FORMAT}`" in tables
    assert f"`{UNIT}`" in tables


def test_the_stated_size_of_a_tree():
    n = 10_000
    graph = LabelGraph.from_edges([(f"v{i}", f"v{i // 2}") for i in range(1, n)])
    bundle = build_bundle(graph, ["v1"])
    keys = sum(len(key) for key in graph.keys)
    assert 15.9 * n < bundle.inspect()["bytes"] - keys < 16.2 * n
    assert bundle.parent.dtype == np.int32


def test_the_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(DOCUMENT), module_relative=False).failed == 0
