"""A worker killed in the middle of a share of an ingest: the graph is whole all the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.integration.celery_worker import CeleryWorker
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

OLD = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
WIDE = LabelGraph.from_edges([(f"{i}", f"{i // 20}") for i in range(1, 30_000)])


def test_a_killed_child_leaves_a_share_that_is_loaded_again(tmp_path: Path, neo4j_clean_url, redis_url):
    settings = Settings.from_env(
        {
            "GROVE_HOME": str(tmp_path / "home"),
            "GROVE_GRAPH_URL": neo4j_clean_url,
            "GROVE_BROKER_URL": redis_url,
        }
    )
    with Workspace.open(settings) as workspace:
        register(workspace, "trees", OLD)
        snapshot = put_snapshot(workspace.artifacts, WIDE, None, None)
        asked = {"ontology": WIDE.digest, "snapshot": snapshot.arrays[0], "shares": 1}
        with CeleryWorker(settings, tmp_path / "log") as worker:
            job = client.submit(workspace, "ingest", asked, target={"ontology": "trees"}, wait=False)
            wait_until(
                lambda: workspace.graph.counts(WIDE.digest)[0] > 0, deadline_s=60, what="the first batch"
            )
            for child in worker.children():
                os.kill(child, signal.SIGKILL)
            assert workspace.graph.counts(WIDE.digest) < (WIDE.n_labels, WIDE.n_edges)
            assert workspace.graph.current("trees") == workspace.catalog.current("trees") == OLD.digest
            ended = client.wait(workspace, job.id, timeout_s=120)
        assert (ended.state, ended.error, ended.units) == (State.DONE, None, {"done": 2})
        assert [unit.attempts for unit in client.list_units(workspace, job.id)] == [2, 1]
        assert workspace.graph.counts(WIDE.digest) == (WIDE.n_labels, WIDE.n_edges)
        assert workspace.graph.current("trees") == workspace.catalog.current("trees") == WIDE.digest
        assert [found["problems"] for found in verify_graph(workspace)] == [[], []]
