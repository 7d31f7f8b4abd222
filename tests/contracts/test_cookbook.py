"""Every recipe of docs/cypher.md runs on both engines and returns the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ontology.graph import GraphStore
from ontology.graph.embedded import EmbeddedStore
from ontology.graph.neo4j import Neo4jStore
from ontology.graph.tokens import parameters
from ontology.labelgraph import LabelGraph

COOKBOOK = Path(__file__).parents[2] / "docs" / "cypher.md"

PLANTS = LabelGraph.from_edges(
    [
        ("tree", "plant"),
        ("flower", "plant"),
        ("food", "thing"),
        ("plant", "thing"),
        ("oak", "tree"),
        ("elm", "tree"),
        ("apple tree", "tree"),
        ("apple", "apple tree"),
        ("apple", "food"),
        ("rose", "flower"),
        ("dog rose", "rose"),
        ("tool", "thing"),
        ("plane (tool)", "tool"),
        ("plane (tree)", "tree"),
    ],
    weights=[1, 1, 1, 1, 2, 2, 1, 1, 3, 1, 1, 1, 1, 1],
    names={"plane (tool)": "Plane", "plane (tree)": "plane", "oak": "Oak", "apple tree": "Apple tree"},
)


class Recipe(NamedTuple):
    name: str
    cypher: str
    params: dict[str, Any]


def recipes() -> list[Recipe]:
    found = []
    for block in re.findall(r"```cypher\n(.*?)```", COOKBOOK.read_text(encoding="utf-8"), re.DOTALL):
        name = re.match(r"// name: (.+)", block)
        assert name, f"a recipe without a name: {block[:60]!r}"
        params = re.search(r"^// params: (.+)$", block, re.MULTILINE)
        found.append(Recipe(name[1], block, json.loads(params[1]) if params else {}))
    return found


def load(store: GraphStore) -> None:
    other = LabelGraph.from_edges(
        [("tree", "graph"), ("oak", "tree"), ("oak", "hill")]
    )  # must not show through
    for name, graph in (("mathematics", other), ("plants", PLANTS)):
        store.begin_version(name, graph)
        for i in range(store.batch_count(graph)):
            store.load_batch(graph, i)
        store.mark_ready(graph.digest)
        store.publish(name, graph.digest, 1)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[GraphStore]:
    with EmbeddedStore(tmp_path / "graph") as store:
        load(store)
        yield store


def answers(store: GraphStore) -> dict[str, list[tuple[Any, ...]]]:
    return {r.name: store.run_user(r.cypher, {"version": PLANTS.digest, **r.params}).rows for r in recipes()}


def test_recipes_are_well_formed() -> None:
    found = recipes()
    assert len(found) >= 15
    assert len({r.name for r in found}) == len(found)
    for recipe in found:
        assert parameters(recipe.cypher) <= {"version", *recipe.params}, recipe.name
        assert "$version" in recipe.cypher or recipe.name == "versions"
        assert "ORDER BY" in recipe.cypher or recipe.name in ("size", "label"), recipe.name


def test_recipes_tell_the_truth_on_the_embedded_engine(embedded: GraphStore) -> None:
    rows = answers(embedded)
    assert all(rows.values()), [name for name, found in rows.items() if not found]
    assert rows["size"] == [(PLANTS.n_labels, int(PLANTS.depth.max()))]
    assert [row[0] for row in rows["roots"]] == list(PLANTS.roots)
    below = [k for k in PLANTS.descendants("tree") if k in PLANTS.leaves]
    assert [row[0] for row in rows["leaves below"]] == below
    assert [row[0] for row in rows["ancestors"]] == ["thing", "plant", "tree"]
    assert rows["several parents"] == [("apple", 2)]
    assert rows["homonyms"] == [("plane", 2)]
    assert rows["common ancestors"][0][0] == "tree"
    assert rows["my classes"][2] == ("unicorn", None, None)
    assert rows["children"][0] == ("apple tree", "Apple tree", 1.0)
    assert [row[0] for row in rows["siblings"]] == ["apple tree", "elm", "plane (tree)"]


@pytest.mark.services
def test_recipes_return_the_same_rows_on_both_engines(embedded: GraphStore, neo4j_clean_url: str) -> None:
    with Neo4jStore(neo4j_clean_url) as served:
        load(served)
        here, there = answers(embedded), answers(served)
    assert here == there
