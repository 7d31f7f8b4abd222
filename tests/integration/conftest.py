"""A workspace on each graph store, for the tests that must hold on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from tests.conftest import ONE_PROCESS


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=ONE_PROCESS)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    env = {"GROVE_HOME": str(tmp_path / "home")}
    if request.param == "neo4j":
        env["GROVE_GRAPH_URL"] = request.getfixturevalue("neo4j_clean_url")
    return Settings.from_env(env)


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as workspace:
        yield workspace
