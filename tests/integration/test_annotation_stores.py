"""Annotations from ingest to graph: replaced, repaired, rebuilt, verified and dropped, on both stores."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from labelgrove.ontology.annotations import Annotations, Description, Name
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import STEPS, delete_ontology, register, snapshot_graph
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph, verify_graph
from labelgrove.ontology.versions.snapshots import Snapshot, put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from tests.sampled import sampled

pytestmark = pytest.mark.long

TREES = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
OTHERS = LabelGraph.from_edges([("oak", "tree"), ("tree", "plant")])

NAMES = "MATCH (n:Name {version: $version})-[:NAMES]->(:Label {key: 'oak'}) RETURN n.text ORDER BY n.text"


class StoppedError(Exception):
    """What a test raises inside an ingest."""


def stored(workspace: Workspace, name: str, graph: LabelGraph = TREES) -> Snapshot:
    """Store a graph in which the oak has one name."""
    made = Annotations.of(graph, {"oak": Description((Name(name),), f"defined as {name}")})
    return put_snapshot(workspace.artifacts, graph, made, None)


def names_of_the_oak(workspace: Workspace, graph: LabelGraph = TREES) -> list[str]:
    return [row[0] for row in workspace.graph.run_user(NAMES, {"version": graph.digest}).rows]


def problems(workspace: Workspace) -> list[str]:
    return [problem for found in verify_graph(workspace) for problem in found["problems"]]


def test_other_annotations_replace_those_before_and_add_no_version(workspace: Workspace) -> None:
    for name in ("Quercus", "Eiche"):
        register(workspace, "trees", stored(workspace, name))
        assert names_of_the_oak(workspace) == [name]
        assert problems(workspace) == []
    register(workspace, "trees", TREES)  # nothing is said about annotations: they stay
    assert names_of_the_oak(workspace) == ["Eiche"]
    assert len(workspace.catalog.versions("trees")) == 1


@pytest.mark.parametrize(
    "moment", sampled((((step, done),) for step in STEPS[1:] for done in (0, 1)), every=3)
)
def test_replacing_that_fails_at_any_step_is_completed_on_opening(
    workspace: Workspace, moment: tuple[str, int]
) -> None:
    register(workspace, "trees", stored(workspace, "Quercus"))

    def stop(step: str, done: int, total: int) -> None:
        if (step, done // max(total, 1)) == moment:
            raise StoppedError

    with pytest.raises(StoppedError):
        register(workspace, "trees", stored(workspace, "Eiche"), progress=stop)
    recorded = moment != ("version", 0)
    workspace.close()
    assert names_of_the_oak(workspace) == ["Eiche" if recorded else "Quercus"]
    assert workspace.repair() == []
    register(workspace, "trees", stored(workspace, "Eiche"))
    assert names_of_the_oak(workspace) == ["Eiche"]
    assert problems(workspace) == []


def test_a_rebuild_shows_names_again(workspace: Workspace) -> None:
    register(workspace, "trees", stored(workspace, "Quercus", OTHERS))
    register(workspace, "trees", stored(workspace, "Eiche"))
    empty_graph(workspace)
    assert workspace.graph.run_user("MATCH (n:Name) RETURN count(n)").rows == [(0,)]
    restore_graph(workspace)
    assert names_of_the_oak(workspace) == ["Eiche"]
    assert names_of_the_oak(workspace, OTHERS) == ["Quercus"]
    assert problems(workspace) == []


def test_names_that_share_a_version_show_the_annotations_of_the_first(workspace: Workspace) -> None:
    register(workspace, "trees", stored(workspace, "Quercus"))
    register(workspace, "woods", stored(workspace, "Eiche"))
    assert names_of_the_oak(workspace) == ["Quercus"]
    assert workspace.repair() == []
    delete_ontology(workspace, "trees")
    assert workspace.repair() == ["woods"]
    assert names_of_the_oak(workspace) == ["Eiche"]
    delete_ontology(workspace, "woods")
    assert workspace.graph.run_user("MATCH (n:Name) RETURN count(n)").rows == [(0,)]


def test_damaged_annotations_are_a_warning_until_they_are_ingested_again(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    found = stored(workspace, "Quercus")
    register(workspace, "trees", found)
    assert found.annotations is not None
    empty_graph(workspace)
    path = workspace.artifacts.local_path(found.annotations[0])
    assert path is not None
    path.write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING):
        restore_graph(workspace)
    assert "without its names and definitions" in caplog.text
    assert workspace.graph.current("trees") == TREES.digest
    assert names_of_the_oak(workspace) == []
    assert [text.split(":")[0] for text in problems(workspace)] == ["annotations"]
    path.unlink()
    register(workspace, "trees", stored(workspace, "Quercus"))
    assert names_of_the_oak(workspace) == ["Quercus"]


@pytest.mark.services
def test_a_snapshot_of_edits_keeps_the_recorded_names(neo4j_clean_url: str, tmp_path: Path) -> None:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_GRAPH_URL": neo4j_clean_url})
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", stored(workspace, "Quercus"))
        with workspace.graph.engine.server.session() as session:  # type: ignore[attr-defined]
            session.run("MATCH (n:Name) SET n.text = 'edited'").consume()
            session.run("MATCH (l:Label {key: 'elm'}) SET l.name = 'Elm'").consume()
        assert len(problems(workspace)) == 1
        result = snapshot_graph(workspace, "trees")
        edited = workspace.label_graph("trees")
        assert result.created
        assert names_of_the_oak(workspace, edited) == names_of_the_oak(workspace) == ["Quercus"]
        assert problems(workspace) == []
