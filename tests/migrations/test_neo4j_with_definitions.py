"""A Neo4j graph from before the names of labels is upgraded when it is opened, and shows the definitions."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.workspace import Workspace
from tests.conftest import running_neo4j
from tests.migrations.test_home_with_definitions import ARCHIVE, DESCRIBED, described

pytestmark = pytest.mark.services

BEFORE = [  # what migration V0004 and the opening after it have added is taken away
    "MATCH (n:Name) DETACH DELETE n",
    "MATCH (l:Label) REMOVE l.definition, l.deprecated",
    "MATCH (v:Version) REMOVE v.annotations",
    "DROP CONSTRAINT name_uid",
    "DROP INDEX name_version",
    "DROP INDEX name_folded",
    "MATCH (m:_Migration {version: '0004'}) DELETE m",
]

INDEXES = "SHOW INDEXES YIELD name WHERE name STARTS WITH 'name_'"


@pytest.fixture
def settings(tmp_path: Path, neo4j_empty_url: str) -> Settings:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return Settings.from_env({"GROVE_HOME": str(tmp_path / "home"), "GROVE_GRAPH_URL": neo4j_empty_url})


def test_opening_upgrades_the_graph_and_shows_definitions(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        workspace.graph.versions()
    with running_neo4j(settings.graph_url) as run:
        for statement in BEFORE:
            run(statement)
        assert not run(INDEXES)
    with Workspace.open(settings) as workspace:
        current = workspace.catalog.version("trees")
        assert described(workspace, current.digest) == DESCRIBED
        assert [problem for found in verify_graph(workspace) for problem in found["problems"]] == []
        assert workspace.repair() == []
    with running_neo4j(settings.graph_url) as run:
        assert len(run(INDEXES)) == 3
