"""Jobs that change the graph, on Neo4j and through Celery: batches, drops meanwhile, the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import labelgrove.ontology.graph.neo4j.neo4jengine
from labelgrove.cli import grove
from labelgrove.datasets.randomgraphs import watts_strogatz
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import delete_ontology, register
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.running.execute import Outcome, execute_unit
from tests.integration.celery_worker import CeleryWorker, environment

pytestmark = [pytest.mark.services, pytest.mark.long]

GRAPH = watts_strogatz(40, k=4, p=0.2, seed=3)
SMALL = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
SHARES = 5
NAME = {"ontology": "trees"}


@pytest.fixture
def settings(tmp_path: Path, neo4j_clean_url: str) -> Settings:
    return Settings.from_env({"GROVE_HOME": str(tmp_path / "home"), "GROVE_GRAPH_URL": neo4j_clean_url})


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as workspace:
        yield workspace


def ask(workspace: Workspace, *, wait: bool = False) -> Job:
    """Ask for more shares than the small graph would get."""
    snapshot = put_snapshot(workspace.artifacts, GRAPH, None, None)
    asked = {"ontology": GRAPH.digest, "snapshot": snapshot.arrays[0], "shares": SHARES}
    return client.submit(workspace, "ingest", asked, target=NAME, wait=wait)


def assert_serves(workspace: Workspace, graph: LabelGraph, name: str = "trees") -> None:
    current = workspace.graph.current(name)
    document = workspace.artifacts.read_index(name) or {}
    assert {workspace.catalog.current(name), current, document.get("version")} == {graph.digest}
    assert [found["problems"] for found in verify_graph(workspace) if not found["same"]] == []


@pytest.mark.parametrize("done", [2, SHARES, SHARES + 1])
def test_shares_hold_every_batch_and_what_is_dropped_meanwhile_comes_back(workspace, monkeypatch, done):
    monkeypatch.setattr(labelgrove.ontology.graph.neo4j.neo4jengine, "LABELS_PER_BATCH", 6)
    monkeypatch.setattr(labelgrove.ontology.graph.neo4j.neo4jengine, "EDGES_PER_BATCH", 7)
    job = ask(workspace)
    ledger = Ledger(workspace.engine)
    for key in ledger.units(job.id)[:done]:
        assert execute_unit(key, ledger, workspace) is Outcome.DONE
    before = workspace.graph.counts(GRAPH.digest)
    assert (before == (GRAPH.n_labels, GRAPH.n_edges)) == (done >= SHARES)
    assert (before > (0, 0)) == (done > 0)
    workspace.graph.drop_ontology("trees")  # by hand, or by an ingest that found it abandoned
    workspace.graph.drop_version(GRAPH.digest)
    ended = client.wait(workspace, job.id, timeout_s=60)
    if done > SHARES:  # it was done, and is asked for again
        ended = ask(workspace, wait=True)
    assert (ended.state, ended.error, ended.units) == (State.DONE, None, {"done": SHARES + 1})
    assert_serves(workspace, GRAPH)


class CutError(Exception):
    """What a carrier raises in a unit that takes too long."""


@pytest.mark.parametrize("cut", [1, 3, 9])
def test_a_rebuild_cut_short_goes_on_with_the_batches_that_are_left(workspace, monkeypatch, cut):
    monkeypatch.setattr(labelgrove.ontology.graph.neo4j.neo4jengine, "LABELS_PER_BATCH", 6)
    monkeypatch.setattr(labelgrove.ontology.graph.neo4j.neo4jengine, "EDGES_PER_BATCH", 20)
    for name, graph in (("shrubs", SMALL), ("trees", GRAPH)):
        register(workspace, name, graph)
    total = sum(workspace.graph.batch_count(graph) for graph in (SMALL, GRAPH))
    job = client.submit_rebuild(workspace, wait=False)
    ledger = Ledger(workspace.engine)
    drop, restore = ledger.units(job.id)
    assert execute_unit(drop, ledger, workspace) is Outcome.DONE
    assert workspace.graph.versions() == []
    loaded: list[tuple[str, int]] = []
    load_batch, load_whole = workspace.graph.load_batch, workspace.graph.load_whole

    def cut_short() -> None:
        if len(loaded) == cut < total:
            raise CutError

    def counted(graph: LabelGraph, number: int) -> None:
        cut_short()
        loaded.append((graph.digest, number))
        load_batch(graph, number)

    def counted_whole(name: str, graph: LabelGraph, *rest: Any) -> bool:
        cut_short()
        whole = load_whole(name, graph, *rest)
        if whole:
            loaded.append((graph.digest, 0))
        return whole

    with monkeypatch.context() as patch:
        patch.setattr(workspace.graph, "load_batch", counted)
        patch.setattr(workspace.graph, "load_whole", counted_whole)
        assert execute_unit(restore, ledger, workspace, out_of_time=CutError) is Outcome.RELEASED
        assert len(loaded) == cut
        cut = total
        assert execute_unit(restore, ledger, workspace) is Outcome.DONE
    assert len(loaded) == len(set(loaded)) == total
    assert_serves(workspace, SMALL, "shrubs")
    assert_serves(workspace, GRAPH)


def test_both_ways_give_the_same_bytes_and_the_commands_go_through_the_workers(
    settings, tmp_path, redis_url, monkeypatch
):
    served = Settings.from_env(
        {
            "GROVE_HOME": str(tmp_path / "served"),
            "GROVE_GRAPH_URL": settings.graph_url,
            "GROVE_BROKER_URL": redis_url,
        }
    )
    embedded = Settings.from_env({"GROVE_HOME": str(tmp_path / "embedded")})

    def run(settings: Settings) -> list[tuple[str, list[str | None]]]:
        with Workspace.open(settings) as workspace:
            jobs = [ask(workspace, wait=True)]
            assert_serves(workspace, GRAPH)
            jobs += [client.submit(workspace, "rebuild-graph", {"request": "the first"})]
            assert_serves(workspace, GRAPH)
            assert [(job.state, job.error) for job in jobs] == [(State.DONE, None)] * 2
            units = {job.id: client.list_units(workspace, job.id) for job in jobs}
            return [(job_id, [unit.sha256 for unit in found]) for job_id, found in units.items()]

    here = run(embedded)
    with Workspace.open(served) as workspace:
        workspace.engine.dispose()
    with CeleryWorker(served, tmp_path / "log", app="labelgrove.workers.app"):
        assert run(served) == here
        for name, value in environment(served).items():
            if name.startswith("GROVE_"):
                monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        _check_commands(served)


def _check_commands(settings: Settings) -> None:
    def call(*arguments: str, code: int = 0) -> dict:
        result = CliRunner().invoke(grove, [*arguments, "--json"])
        assert result.exit_code == code, (result.output, result.exception)
        return json.loads(result.stdout) if code == 0 else {}

    Path("small.csv").write_text("parent,child\ntree,oak\ntree,elm\n")
    first = call("ingest", "small", "small.csv")
    assert (first["digest"], first["created"], first["n_labels"]) == (SMALL.digest, True, 3)
    assert call("ingest", "small", "small.csv")["created"] is False
    detached = call("ingest", "other", "small.csv", "--detach")
    assert call("jobs", "watch", detached["job"])["state"] == "done"
    Path("bad.csv").write_text("parent,child\na,b\nb,a\n")
    call("ingest", "bad", "bad.csv", code=3)
    assert call("graph", "rebuild")["versions"] == sorted([GRAPH.digest, SMALL.digest])
    with Workspace.open(settings) as workspace:
        assert_serves(workspace, SMALL, "small")
        assert_serves(workspace, SMALL, "other")
        assert workspace.catalog.version("small").source == "small.csv"


def test_a_name_lost_with_its_version_comes_back_beside_one_that_shares_it(workspace):
    register(workspace, "plants", GRAPH)
    job = ask(workspace, wait=True)
    delete_ontology(workspace, "trees")
    assert_serves(workspace, GRAPH, "plants")
    assert ask(workspace, wait=True).id == job.id
    assert_serves(workspace, GRAPH)
    assert_serves(workspace, GRAPH, "plants")
