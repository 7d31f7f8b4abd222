"""A home whose versions have definitions and no other annotations shows these definitions in the graph.

`write_home_with_definitions.sh` says how it was made, and with which commit.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph, verify_graph
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace

ARCHIVE = Path(__file__).with_name("home_with_definitions.tar.xz")

DESCRIPTIONS = "MATCH (l:Label {version: $version}) RETURN l.key, l.definition, l.deprecated ORDER BY l.idx"
DESCRIBED = [
    ("plant", None, False),
    ("tree", "a tall plant", False),
    ("elm", "a tree that is often “ill”", False),
    ("oak", "a tree with acorns", False),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        yield workspace


def described(workspace: Workspace, digest: str) -> list[tuple[object, ...]]:
    return workspace.graph.run_user(DESCRIPTIONS, {"version": digest}).rows


def test_opening_shows_the_definitions_of_every_version(workspace: Workspace) -> None:
    before, current, plain = workspace.catalog.versions()
    assert described(workspace, current.digest) == DESCRIBED
    assert described(workspace, before.digest)[-1] == ("oak", "of then", False)
    assert {row[1:] for row in described(workspace, plain.digest)} == {(None, False)}
    assert all(found["same"] for found in verify_graph(workspace))
    assert workspace.repair() == []  # the next opening has nothing to do


def test_a_rebuild_shows_them_too(workspace: Workspace) -> None:
    empty_graph(workspace)
    restore_graph(workspace)
    assert described(workspace, workspace.catalog.version("trees").digest) == DESCRIBED
    assert all(found["same"] for found in verify_graph(workspace))


def test_names_follow_when_the_source_is_ingested_again(workspace: Workspace) -> None:
    graph = workspace.label_graph("trees")
    made = Annotations.of(
        graph, {"oak": Description((Name("Quercus", language="la"),), "a tree with acorns")}
    )
    assert not register(workspace, "trees", put_snapshot(workspace.artifacts, graph, made, None)).created
    names = workspace.graph.run_user(
        "MATCH (n:Name)-[:NAMES]->(l:Label) RETURN l.key, n.text, n.language"
    ).rows
    assert names == [("oak", "Quercus", "la")]
    assert described(workspace, graph.digest)[1] == ("tree", None, False)
