"""What somebody who waits for a job is told when nobody takes it."""

from __future__ import annotations

import pytest

from labelgrove.cli.waiting import following
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from tests.integration.workers_support import add_version, settings_in

pytestmark = pytest.mark.long

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])


def test_a_job_that_no_worker_takes_is_told_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(following, "_PATIENCE_S", 0.0)
    with Workspace.open(settings_in(tmp_path)) as workspace:
        add_version(workspace, "trees", TREE)
        job = client.submit(workspace, "cover", {"ontology": "trees"}, wait=False)
    looks = []

    def progress(step: str, done: int, total: int) -> None:
        looks.append((step, done, total))
        if len(looks) == 3:
            client.cancel(workspace, job.id)

    with Workspace.open(settings_in(tmp_path, broker_url="redis://127.0.0.1:1/0")) as workspace:
        following.follow(workspace, job, progress)
    said = capsys.readouterr().err
    assert said.count("no worker has taken job") == 1
    assert "start one: grove worker" in said
