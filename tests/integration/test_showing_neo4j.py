"""Results of jobs on a real Neo4j: shown once, kept while new, back after a rebuild."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.showing import publish_results, reshow
from tests.integration.workers_support import UNREACHED_GRAPH

pytestmark = pytest.mark.services

TREE = LabelGraph.from_edges([(f"{i:02d}", f"{(i - 1) // 3:02d}") for i in range(1, 40)])
NODES = "MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation) RETURN count(r)"
LINKS = "MATCH (:Selection)-[e:PICKS]->(:Label) RETURN count(e)"


@pytest.fixture
def workspace(tmp_path: Path, neo4j_clean_url: str) -> Iterator[Workspace]:
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path)})
    with Workspace.open(replace(settings, graph_url=neo4j_clean_url, keep_results=2)) as workspace:
        register(workspace, "tree", TREE)
        yield workspace


def picked(workspace: Workspace, n: int) -> Job:
    job = client.submit(workspace, "selection", {"ontology": "tree", "n": n})
    assert (job.state, job.error, job.publishing) == (State.DONE, None, False)
    return job


def counted(workspace: Workspace, cypher: str) -> int:
    return int(workspace.graph.run_user(cypher).rows[0][0])


def test_results_on_a_server(workspace: Workspace) -> None:
    with Workspace.open(replace(workspace.settings, graph_url=UNREACHED_GRAPH)) as lonely:
        jobs = [picked(lonely, n) for n in (4, 5, 6)]  # done while the server is away: nobody waits for it
    ready, failures = threading.Barrier(3), []

    def once() -> None:
        with Workspace.open(workspace.settings) as mine:
            ready.wait(30)
            try:
                publish_results(mine, Ledger(mine.engine))
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = sorted(job.id for job in jobs[1:])
    assert failures == []
    assert [row["job"] for row in workspace.graph.results()] == newest
    assert (counted(workspace, NODES), counted(workspace, LINKS)) == (2, 5 + 6)

    last = picked(workspace, 7)
    assert {row["job"] for row in workspace.graph.results()} == {jobs[2].id, last.id}
    assert (counted(workspace, NODES), counted(workspace, LINKS)) == (2, 6 + 7)

    empty_graph(workspace)
    restore_graph(workspace)
    assert counted(workspace, NODES) == 0
    assert set(reshow(workspace, Ledger(workspace.engine))) == {jobs[2].id, last.id}
    assert (counted(workspace, NODES), counted(workspace, LINKS)) == (2, 6 + 7)
    assert reshow(workspace, Ledger(workspace.engine)) == []
