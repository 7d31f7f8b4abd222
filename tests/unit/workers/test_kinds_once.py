"""From a request to its result, parameters are completed once and the snapshot is opened once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import ArtifactError
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import Subject, find_kind
from labelgrove.workers.kinds.inputs import open_graph
from tests.integration.workers_support import registered, settings_in


@pytest.fixture
def workspace(tmp_path):
    settings = replace(settings_in(tmp_path), graph_url=f"embedded:{tmp_path / 'graph'}")
    with Workspace.open(settings) as workspace:
        register(workspace, "grid", LabelGraph.grid((4, 5)))
        yield workspace


def test_a_job_of_many_units_opens_its_snapshot_once_and_shows_it(workspace, monkeypatch):
    opened: list[str] = []
    store = type(workspace.artifacts)
    given = store.open_arrays

    def counted(self, digest: str, *more: Any) -> Any:
        opened.append(digest)
        return given(self, digest, *more)

    snapshot = workspace.catalog.version("grid", None).snapshot_sha256
    monkeypatch.setattr(store, "open_arrays", counted)
    job = client.submit(workspace, "distances", {"ontology": "grid", "block": 4})
    assert (job.units, job.error) == ({"done": 6}, None)
    assert [row["job"] for row in workspace.graph.results()] == [job.id]
    assert opened.count(snapshot) == 1


def test_a_request_is_completed_once(workspace):
    completed: list[Mapping[str, Any]] = []
    cover = find_kind("cover")

    def counted(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
        completed.append(given)
        return cover.complete(given, subject)

    with registered(replace(cover, name="counted", complete=counted)):
        job = client.submit(workspace, "counted", {"ontology": "grid"})
        assert job.state == "done"
    assert len(completed) == 1


def test_an_open_snapshot_is_still_compared_with_the_job(workspace):
    version = workspace.catalog.version("grid", None)
    content = {"ontology": version.digest, "snapshot": version.snapshot_sha256}
    graph = open_graph(workspace.artifacts, content)
    assert open_graph(workspace.artifacts, content) is graph
    with pytest.raises(ArtifactError, match="contains ontology"):
        open_graph(workspace.artifacts, content | {"ontology": "ab" * 32})


def test_a_graph_in_use_stays_open_when_a_job_on_another_ontology_comes_between(workspace):
    register(workspace, "path", LabelGraph.from_edges([("b", "a"), ("c", "b")]))
    grid, path = (
        {"ontology": found.digest, "snapshot": found.snapshot_sha256}
        for found in (workspace.catalog.version(name, None) for name in ("grid", "path"))
    )
    in_use = open_graph(workspace.artifacts, grid)
    assert open_graph(workspace.artifacts, path) is not in_use
    assert open_graph(workspace.artifacts, grid) is in_use
