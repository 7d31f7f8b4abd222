"""The embedded graph in little memory: what is larger than its buffer pool is read, compared and walked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from labelgrove.ontology.errors import QueryFailedError
from labelgrove.ontology.graph import GraphStore, open_graph
from labelgrove.ontology.graph.embedded.embeddedengine import EmbeddedEngine
from labelgrove.ontology.graph.embedded.graphfile import GraphFile
from labelgrove.ontology.graph.embedded.ladybugfile import fetch
from labelgrove.ontology.graph.labeltables import is_part
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings

pytestmark = pytest.mark.long

MIB = 1 << 20
SMALL = 64 * MIB
N_LABELS = 150_000


def load(store: GraphStore, graph: LabelGraph) -> None:
    store.begin_version("plants", graph)
    store.load_batch(graph, 0)
    store.mark_ready(graph.digest)


@pytest.fixture(scope="module")
def large() -> LabelGraph:
    """A tree whose names alone take more than the small pool."""
    parent = (np.arange(1, N_LABELS) * np.random.default_rng(0).random(N_LABELS - 1)).astype(int).tolist()
    keys = [f"k{i}" for i in range(N_LABELS)]
    pairs = [(keys[i], keys[p]) for i, p in enumerate(parent, start=1)]
    return LabelGraph.from_edges(pairs, names={key: f"{key} " + "of a long name " * 30 for key in keys})


@pytest.fixture(scope="module")
def folder(large: LabelGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    with GraphStore(EmbeddedEngine(folder)) as store:
        load(store, large)
    return folder


@pytest.fixture
def store(folder: Path) -> Iterator[GraphStore]:
    with GraphStore(EmbeddedEngine(folder, SMALL)) as store:
        yield store


def test_what_is_larger_than_the_pool_is_read_and_compared(store: GraphStore, large: LabelGraph) -> None:
    digest = large.digest
    assert store.describe()["pool_mb"] == 64
    assert store.counts(digest) == (large.n_labels, large.n_edges)
    assert store.difference(digest, large) == store.difference(digest) == ""
    assert store.read_back(digest) == large


def test_a_query_that_the_pool_cannot_hold_says_which_setting_helps(
    store: GraphStore, large: LabelGraph
) -> None:
    everything = "MATCH (l:Label {version: $version}) RETURN l.name AS name"
    for ask in (store.engine.read, store.run_user):
        with pytest.raises(QueryFailedError, match="GROVE_GRAPH_POOL_MB"):
            ask(everything, {"version": large.digest})
    assert store.counts(large.digest) == (large.n_labels, large.n_edges)  # from a pool that is empty again


def test_a_pool_that_earlier_queries_filled_is_emptied_once(
    store: GraphStore, large: LabelGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    def full_at_first(connection: Any, *given: Any) -> object:
        if "count(l)" not in given[0]:
            return fetch(connection, *given)
        opened.append(connection.database)
        return fetch(connection, *(everything if len(opened) == 1 else given))

    everything = ("MATCH (l:Label) RETURN l.name AS name", {})
    with monkeypatch.context() as patched:
        patched.setattr("labelgrove.ontology.graph.embedded.embeddedengine.fetch", full_at_first)
        assert store.run_named("count_labels", version=large.digest).rows == [(N_LABELS,)]
    assert len(opened) == len({id(database) for database in opened}) == 2


def test_the_pool_follows_the_file_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 << 18}  # 4 GiB
    monkeypatch.setattr(os, "sysconf", memory.__getitem__)
    limit = tmp_path / "limit"
    monkeypatch.setattr(
        "labelgrove.ontology.graph.embedded.graphfile._MEMORY_LIMITS", (tmp_path / "absent", limit)
    )
    limit.write_text("max\n")
    file = GraphFile(tmp_path / "graph")
    assert [file.reader_pool(n << 20) >> 20 for n in (0, 128, 200, 1024, 5000)] == [
        256, 256, 400, 2048, 2048,
    ]  # fmt: skip
    assert GraphFile(tmp_path / "graph", SMALL).reader_pool(5000 << 20) == SMALL
    limit.write_text(f"{1 << 30}\n")  # a container with 1 GiB
    assert file.reader_pool(5000 << 20) == 512 * MIB
    limit.write_text(f"{1 << 62}\n")  # what version 1 says where there is no limit
    assert file.reader_pool(5000 << 20) == 2048 * MIB


def test_the_setting_reaches_the_store(tmp_path: Path) -> None:
    for given, expected in ({}, None), ({"GROVE_GRAPH_POOL_MB": "128"}, 128 * MIB):
        settings = Settings.from_env({"GROVE_HOME": str(tmp_path)} | given)
        with open_graph(settings) as store:
            assert isinstance(store.engine, EmbeddedEngine)
            assert store.engine.file.pool_bytes == expected


# ---- piece by piece ------------------------------------------------------------------------------------

PLANTS = LabelGraph.from_edges(
    [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("tree", "thing"), ("plant", "thing")],
    weights=[1, 2, 3, 4, 5],
    ranks=[0, 0, 1, 0, 0],
    names={"oak": "Oak"},
)


def tables() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    labels = {
        "idx": list(range(PLANTS.n_labels)),
        "key": list(PLANTS.keys),
        "name": list(PLANTS.names),
    }
    edges = {
        "child": PLANTS.edge_child.tolist(),
        "parent": PLANTS.edge_parent.tolist(),
        "weight": PLANTS.edge_weight.tolist(),
        "rank": PLANTS.edge_rank.tolist(),
    }
    return labels, edges


def compared(labels: dict[str, list[Any]], edges: dict[str, list[Any]]) -> bool:
    return is_part(PLANTS, 0, PLANTS.n_labels, pyarrow.table(labels), pyarrow.table(edges))


def test_edges_may_come_in_any_order() -> None:
    labels, edges = tables()
    assert compared(labels, edges)
    assert compared(labels, {name: values[::-1] for name, values in edges.items()})


def change(table: int, column: str, value: object) -> Callable[[], tuple[Any, Any]]:
    def changed() -> tuple[Any, Any]:
        found = tables()
        found[table][column][-1] = value
        return found

    return changed


def cut(table: int) -> Callable[[], tuple[Any, Any]]:
    def changed() -> tuple[Any, Any]:
        found = list(tables())
        found[table] = {name: values[:-1] for name, values in found[table].items()}
        return found[0], found[1]

    return changed


@pytest.mark.parametrize(
    "changed",
    [
        change(0, "idx", 99),
        change(0, "key", "x"),
        change(0, "name", "x"),
        change(1, "child", 0),
        change(1, "parent", 3),
        change(1, "weight", 9.0),
        change(1, "rank", 9),
        cut(0),
        cut(1),
    ],
    ids=["idx", "key", "name", "child", "parent", "weight", "rank", "a label less", "an edge less"],
)
def test_a_part_that_differs_is_told(changed: Callable[[], tuple[Any, Any]]) -> None:
    assert not compared(*changed())


def test_a_difference_names_the_labels_between_which_it_lies(tmp_path: Path) -> None:
    with GraphStore(EmbeddedEngine(tmp_path / "graph")) as store:
        load(store, PLANTS)
        assert store.difference(PLANTS.digest, PLANTS) == ""
        with store.engine.file.writing() as connection:
            fetch(connection, "MATCH (l:Label {key: 'oak'}) SET l.name = 'Eiche'")
        assert "labels 0 to 4," in store.difference(PLANTS.digest, PLANTS)
        assert "has digest" in store.difference(PLANTS.digest)
