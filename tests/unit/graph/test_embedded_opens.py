"""How often an ingest opens the embedded graph: each time costs as much as all else that it does there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.graph.embedded import graphfile
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace

TREES = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
MORE_TREES = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("ash", "tree")])
PETS = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet")])


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        yield workspace


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that tells, in order, which openings read the file, and which write the next one."""
    seen: list[str] = []
    open_database = graphfile.open_database

    def noted(path: Path, *, read_only: bool, **other: Any) -> Any:
        seen.append("read" if read_only else "write")
        return open_database(path, read_only=read_only, **other)

    monkeypatch.setattr(graphfile, "open_database", noted)
    return seen


def ingest(workspace: Workspace, name: str, graph: LabelGraph, **names: str) -> None:
    """Register a graph, with a further name of some of its labels."""
    about = {key: Description((Name(text),), f"what {text} is") for key, text in names.items()}
    annotations = Annotations.of(graph, about) if about else None
    register(workspace, name, put_snapshot(workspace.artifacts, graph, annotations, None))
    assert workspace.catalog.current(name) == graph.digest


def test_an_ingest_reads_the_newest_generation_once_and_writes_two(
    workspace: Workspace, opened: list[str]
) -> None:
    ingest(workspace, "trees", TREES)
    assert opened == ["write", "read", "write", "write"]  # the first write makes the tables of a new graph
    for name, graph, texts in (
        ("pets", PETS, {}),
        ("trees", MORE_TREES, {"oak": "Quercus", "elm": "Ulmus"}),
    ):
        opened.clear()
        ingest(workspace, name, graph, **texts)
        assert opened == ["read", "write", "write"]  # the fence; the version, whole; and its publication
    for name, graph in (("pets", PETS), ("trees", MORE_TREES)):
        assert workspace.graph.current(name) == graph.digest
        assert workspace.graph.counts(graph.digest) == (graph.n_labels, graph.n_edges)
    assert workspace.graph.run_user("MATCH (n:Name) RETURN n.text AS text ORDER BY text").rows == [
        ("Quercus",),
        ("Ulmus",),
    ]


def test_the_same_again_writes_nothing_and_other_annotations_are_one_write(
    workspace: Workspace, opened: list[str]
) -> None:
    ingest(workspace, "trees", TREES, oak="Quercus")
    opened.clear()
    ingest(workspace, "trees", TREES, oak="Quercus")
    assert opened == ["read"]
    ingest(workspace, "trees", TREES, oak="Quercus")
    assert opened == ["read"]  # the generation is still the newest, and still open
    ingest(workspace, "trees", TREES, oak="Eiche")
    assert opened == ["read", "write", "read"]


def test_a_second_name_of_the_same_content_is_one_write(workspace: Workspace, opened: list[str]) -> None:
    ingest(workspace, "trees", TREES)
    opened.clear()
    ingest(workspace, "plants", TREES)
    assert opened == ["read", "write"]
    assert {workspace.graph.current(name) for name in ("trees", "plants")} == {TREES.digest}
