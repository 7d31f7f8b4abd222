"""Results in the graph: what the readers read, while they are new, and back after the graph was lost."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
import pytest

from labelgrove.adapter.bundles.bundle import Bundle
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.errors import GraphDamagedError, MigrationError, SettingsError
from labelgrove.ontology.graph import GraphStore
from labelgrove.ontology.graph.resultstore import removals
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import delete_ontology, register
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client, showing
from labelgrove.workers.kinds import find_kind
from labelgrove.workers.kinds.cover import read_cover
from labelgrove.workers.kinds.distances import read_distances
from labelgrove.workers.kinds.locus.file import read_locus
from labelgrove.workers.kinds.selection import read_selection
from labelgrove.workers.kinds.summary import read_summary
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.publications import Publications
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.running.execute import Outcome, execute_unit
from labelgrove.workers.running.sweeper import sweep
from labelgrove.workers.showing import publish_results, reshow, show_result
from tests.contracts.graph_results import one_result_of_each_label
from tests.integration.workers_support import UNREACHED_GRAPH
from tests.services import patient

pytestmark = pytest.mark.long

TREE = LabelGraph.from_edges(
    [(f"{i:02d}", f"{(i - 1) // 3:02d}") for i in range(1, 40)], weights=[1 + i % 3 for i in range(39)]
)
GRID = LabelGraph.grid((4, 5))
GRAPHS = {"tree": TREE, "grid": GRID}
OBSERVED = {"tree": ["39", "05", "21"], "grid": ["0,0", "1,3"]}

Row = tuple[Any, ...]


def settings_in(home: Path, keep: int = 20) -> Settings:
    return replace(Settings.from_env({"GROVE_HOME": str(home)}), keep_results=keep)


def done(workspace: Workspace, kind: str, ontology: str, options: Any = None, **keys: Any) -> Job:
    job = client.submit(workspace, kind, {"ontology": ontology, **(options or {}), **keys})
    assert (job.state, job.error, job.publishing) == (State.DONE, None, False)
    return job


def picked(workspace: Workspace, n: int, ontology: str = "tree") -> Job:
    return done(workspace, "selection", ontology, {"n": n})


def shown(store: GraphStore) -> set[str]:
    return {row["job"] for row in store.results()}


def ask(store: GraphStore, cypher: str, **params: Any) -> list[Row]:
    return store.engine.read(cypher, params).rows  # without the guard and its process: ten times as fast


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace.open(settings_in(tmp_path_factory.mktemp("home"))) as workspace:
        for name, graph in GRAPHS.items():
            register(workspace, name, graph)
        yield workspace


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Workspace]:
    """Keeps two results of each kind and version."""
    with Workspace.open(settings_in(tmp_path, keep=2)) as workspace:
        register(workspace, "tree", TREE)
        yield workspace


# ---- what is shown -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ontology", "labels"), [("tree", "all"), ("tree", "leaves"), ("grid", "all")])
def test_a_locus(workspace: Workspace, ontology: str, labels: str) -> None:
    job = done(workspace, "locus", ontology, {"labels": labels}, observed=OBSERVED[ontology])
    found = read_locus(workspace.artifacts, str(job.result_sha256), GRAPHS[ontology])
    store, sha256 = workspace.graph, job.result_sha256
    node = ask(store, "MATCH (r:Locus {id: $id}) RETURN r.version, r.size, r.exact", id=sha256)
    assert node == [(GRAPHS[ontology].digest, len(found), found.status == "exact")]
    rows = ask(store, "MATCH (:Locus {id: $id})-[:OBSERVES]->(l) RETURN l.key", id=sha256)
    assert {key for (key,) in rows} == set(found.observed)
    assert len(rows) == len(found.observed)
    rows = ask(
        store, "MATCH (:Locus {id: $id})-[e:REACHES]->(l) RETURN l.key, e.unique ORDER BY l.idx", id=sha256
    )
    assert rows == [(key, key in found.unique) for key in found.members]
    assert 0 < len(found) < found.space.n_labels


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"labels": "leaves", "method": "phylogenetic"}, "phylogenetic"),
        ({}, "minimum"),
        ({"identifying": True}, "identifying"),
    ],
)
def test_a_cover(workspace: Workspace, options: dict[str, Any], kind: str) -> None:
    job = done(workspace, "cover", "tree", options)
    found = read_cover(workspace.artifacts, str(job.result_sha256), TREE)
    store, sha256 = workspace.graph, job.result_sha256
    assert ask(store, "MATCH (r:Cover {id: $id}) RETURN r.kind, r.size", id=sha256) == [(kind, len(found))]
    rows = ask(
        store, "MATCH (:Cover {id: $id})-[e:INCLUDES]->(l) RETURN e.rank, l.key ORDER BY e.rank", id=sha256
    )
    assert rows == list(enumerate(found.keys, start=1))


def test_a_selection(workspace: Workspace) -> None:
    job = done(workspace, "selection", "tree", {"n": 4, "labels": "leaves"}, observed=["39"])
    found = read_selection(workspace.artifacts, str(job.result_sha256), TREE)
    store, sha256 = workspace.graph, job.result_sha256
    assert ask(store, "MATCH (r:Selection {id: $id}) RETURN r.objective", id=sha256) == [("active",)]
    cypher = "MATCH (:Selection {id: $id})-[e:PICKS]->(l) RETURN e.round, l.key, e.gain ORDER BY e.round"
    assert ask(store, cypher, id=sha256) == list(
        zip(range(1, 5), found.keys, found.gains.tolist(), strict=True)
    )


def test_a_summary(workspace: Workspace) -> None:
    job = done(workspace, "summary", "grid", {"target": 6})
    found = read_summary(workspace.artifacts, str(job.result_sha256), GRID)
    store, sha256 = workspace.graph, job.result_sha256
    node = ask(store, "MATCH (r:Summary {id: $id}) RETURN r.target, r.size, r.largest_share", id=sha256)
    assert node == [(6, found.n_supernodes, found.largest_share)]
    cypher = (
        "MATCH (:Summary {id: $id})-[:HAS]->(s)-[:CONTAINS]->(l) RETURN l.key, s.id, s.size ORDER BY l.idx"
    )
    rows = ask(store, cypher, id=sha256)
    names = {int(found.assignment[i]): name for i, (_, name, _) in enumerate(rows)}
    assert len(set(names.values())) == found.n_supernodes
    assert rows == [
        (key, names[i], found.sizes[i]) for key, i in zip(GRID.keys, found.assignment.tolist(), strict=True)
    ]
    cypher = "MATCH (:Summary {id: $id})-[:HAS]->(a)-[e:ADJACENT]->(b) RETURN a.id, b.id, e.weight"
    edges = zip(found.edges.tolist(), found.weights.tolist(), strict=True)
    assert set(ask(store, cypher, id=sha256)) == {(names[a], names[b], weight) for (a, b), weight in edges}


def test_distances_and_a_bundle(workspace: Workspace) -> None:
    job = done(workspace, "distances", "tree", {"labels": "leaves"}, columns=OBSERVED["tree"])
    block = read_distances(workspace.artifacts, str(job.result_sha256), TREE)
    cypher = "MATCH (r:Distances {id: $id}) RETURN r.metric, r.n_labels, r.n_columns"
    assert ask(workspace.graph, cypher, id=job.result_sha256) == [("tree", block.n_labels, block.n_points)]
    job = done(workspace, "bundle", "grid", observed=OBSERVED["grid"])
    bundle = Bundle.from_arrays(*workspace.artifacts.open_arrays(str(job.result_sha256)))
    cypher = "MATCH (r:Bundle {id: $id}) RETURN r.metric, r.n_labels, r.n_observed"
    assert ask(workspace.graph, cypher, id=job.result_sha256) == [(bundle.metric, bundle.n_labels, 2)]


def test_the_job_that_produced_it(workspace: Workspace) -> None:
    one = done(workspace, "distances", "grid", {"block": 512})
    other = done(workspace, "distances", "grid", {"block": 7})  # the same content, cut up otherwise
    assert one.result_sha256 == other.result_sha256
    cypher = "MATCH (j:Job)-[:PRODUCED]->(r:Distances {id: $id}) RETURN j.id, j.kind, j.state, j.created"
    rows = ask(workspace.graph, cypher, id=one.result_sha256)
    assert {row[0] for row in rows} == {one.id, other.id}
    assert {row[1:3] for row in rows} == {("distances", "done")}
    for job_id, _, _, created in rows:
        asked = {one.id: one, other.id: other}[job_id].created_at
        assert abs(np.datetime64(created[:19], "s").astype(int) - asked) < 1
        assert created.endswith("+00:00")


# ---- how long it stays ---------------------------------------------------------------------------------


def test_the_newest_stay_and_the_jobs_of_the_others_too(small: Workspace) -> None:
    cover = done(small, "cover", "tree")
    jobs = [picked(small, n) for n in (1, 2, 3, 4)]
    assert shown(small.graph) == {cover.id, jobs[2].id, jobs[3].id}
    assert ask(small.graph, "MATCH (r:Selection) RETURN count(*)") == [(2,)]
    for job in jobs:
        assert small.artifacts.size(str(job.result_sha256)) > 0
        assert client.status(small, job.id).error is None
    register(small, "grid", GRID)
    done(small, "selection", "grid", {"n": 1})  # another version has a number of its own
    assert jobs[2].id in shown(small.graph)
    small.settings = replace(small.settings, keep_results=3)
    ledger = Ledger(small.engine)
    assert reshow(small, ledger) == [jobs[1].id]
    assert {job.id for job in jobs[1:]} <= shown(small.graph)
    assert reshow(small, ledger) == []


def test_a_late_worker_does_not_bring_an_old_result_back(small: Workspace) -> None:
    first = picked(small, 1)
    Publications(small.engine).reopen([first.id])
    (late,) = Publications(small.engine).pending()
    last = [picked(small, 2), picked(small, 3)]
    selection = find_kind("selection")
    assert selection is not None
    assert selection.show is not None
    before = small.graph.describe()["generation"]
    show_result(small, selection, late)
    assert small.graph.describe()["generation"] == before  # nothing was written, for a moment either
    assert shown(small.graph) == {job.id for job in last}
    assert ask(small.graph, "MATCH (r:Selection) RETURN count(*)") == [(2,)]


def test_one_content_stays_while_any_of_its_jobs_is_new(small: Workspace) -> None:
    blocks = [done(small, "distances", "tree", {"block": block}) for block in (100, 101, 102)]
    assert len({job.result_sha256 for job in blocks}) == 1
    assert ask(small.graph, "MATCH (r:Distances) RETURN r.id") == [(blocks[0].result_sha256,)]


def test_nothing_is_shown_where_nothing_is_kept(small: Workspace) -> None:
    small.settings = replace(small.settings, keep_results=0)
    picked(small, 1)
    assert shown(small.graph) == set()


@pytest.mark.parametrize("value", ["-1", "many", "1.5", "100000", "007"])
def test_how_many_are_kept_is_a_whole_number(value: str) -> None:
    with pytest.raises(SettingsError, match=r"GROVE_KEEP_RESULTS: '.*' is not a whole number"):
        Settings.from_env({"GROVE_KEEP_RESULTS": value})
    assert Settings.from_env({"GROVE_KEEP_RESULTS": "7"}).keep_results == 7


# ---- a graph that was lost, and one that is away -------------------------------------------------------


def test_results_come_back_when_a_command_repairs_the_graph(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [picked(small, n) for n in (1, 2, 3)]
    small.close()
    monkeypatch.setenv("GROVE_HOME", str(small.settings.home))
    monkeypatch.setenv("GROVE_KEEP_RESULTS", "2")
    shutil.rmtree(small.settings.home / "graph")
    assert with_workspace(lambda opened: shown(opened.graph))() == {job.id for job in jobs[1:]}
    with Workspace(small.settings, on_repair=pytest.fail) as opened:
        assert opened.graph.results()


def test_results_come_back_with_the_first_sweep(small: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    job = picked(small, 1)
    empty_graph(small)
    restore_graph(small)
    assert shown(small.graph) == set()
    once = partial(sweep, small, Ledger(small.engine), lambda key, queue: None, window=1)
    once()
    assert shown(small.graph) == set()  # this process has compared them before
    monkeypatch.setattr(showing, "_compared", set())
    once()
    assert shown(small.graph) == {job.id}


def test_a_graph_that_refuses_does_not_end_the_sweep(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = picked(small, 1)
    empty_graph(small)
    restore_graph(small)
    pending = client.submit(small, "selection", {"ontology": "tree", "n": 2}, wait=False)
    monkeypatch.setattr(showing, "_compared", set())
    sent: list[str] = []
    once = partial(sweep, small, Ledger(small.engine), lambda key, queue: sent.append(key), window=4)

    def refused() -> None:
        raise MigrationError("a newer labelgrove wrote the graph")

    with monkeypatch.context() as patch:
        patch.setattr(small.graph, "describe", refused)
        once()
        once()
    assert sent == Ledger(small.engine).units(pending.id)
    assert shown(small.graph) == set()
    once()  # and it is asked again
    assert shown(small.graph) == {job.id}


def test_a_graph_that_is_away_is_not_waited_for_and_follows(small: Workspace) -> None:
    with Workspace.open(replace(small.settings, graph_url=UNREACHED_GRAPH)) as lonely:
        job = done(lonely, "bundle", "tree", observed=OBSERVED["tree"])
        named = client.build_bundle_job(lonely, "tree", "mine", ["39"])
        assert lonely.catalog.bundles("tree")[0].sha256 == named.result_sha256  # a name needs no graph
        assert len(Publications(lonely.engine).pending()) == 2
    assert shown(small.graph) == set()
    sweep(small, Ledger(small.engine), lambda key, queue: None, window=1)
    assert shown(small.graph) == {job.id, named.id}
    assert Publications(small.engine).pending() == []


def test_what_a_killed_process_left_of_a_drop_goes_and_what_is_wanted_comes_back(small: Workspace) -> None:
    job, foreign = picked(small, 1), one_result_of_each_label(TREE)[1]
    small.graph.write_result(foreign)
    for cut_short, again in ((foreign.id, []), (str(job.result_sha256), [job.id])):
        small.graph.engine.remove(removals([cut_short])[:3])
        assert shown(small.graph) == {job.id} - set(again)
        assert ask(small.graph, "MATCH (r {id: $id}) RETURN count(*)", id=cut_short) == [(1,)]
        assert reshow(small, Ledger(small.engine)) == again
        assert shown(small.graph) == {job.id}
        assert ask(small.graph, "MATCH (r:Cover|Selection) RETURN r.id") == [(job.result_sha256,)]


def waiting(workspace: Workspace, n: int = 1) -> Job:
    """Return a job that is done while the graph is away."""
    with Workspace.open(replace(workspace.settings, graph_url=UNREACHED_GRAPH)) as lonely:
        return done(lonely, "selection", "tree", {"n": n})


def test_a_version_that_was_deleted_ends_the_wait(small: Workspace) -> None:
    job = waiting(small)
    register(small, "grid", GRID)
    after = done(small, "selection", "grid", {"n": 1})
    assert job.id in shown(small.graph)
    small.graph.drop_results([str(job.result_sha256)])
    Publications(small.engine).reopen([job.id])
    delete_ontology(small, "tree")
    sweep(small, Ledger(small.engine), lambda key, queue: None, window=1)
    found = client.status(small, job.id)
    assert (found.state, found.publishing) == (State.DONE, False)
    assert "was deleted" in str(found.error)
    assert shown(small.graph) == {after.id}
    assert reshow(small, Ledger(small.engine)) == []


def test_a_version_that_is_loaded_again_is_waited_for(small: Workspace) -> None:
    job = waiting(small)
    small.graph.drop_ontology("tree")
    small.graph.drop_version(TREE.digest)
    publish_results(small, Ledger(small.engine))
    assert len(Publications(small.engine).pending()) == 1
    small.repair()
    publish_results(small, Ledger(small.engine))
    assert shown(small.graph) == {job.id}


def test_what_is_changed_under_the_writer_is_shown_later(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = waiting(small)

    def removed_meanwhile(result: Any) -> None:
        raise GraphDamagedError("0 of 1 PICKS edges have both ends in the graph")

    with monkeypatch.context() as patch:
        patch.setattr(small.graph, "write_result", removed_meanwhile)
        publish_results(small, Ledger(small.engine))
    assert client.status(small, job.id).error is None
    assert len(Publications(small.engine).pending()) == 1
    publish_results(small, Ledger(small.engine))
    assert shown(small.graph) == {job.id}


def test_a_job_whose_row_is_damaged_holds_no_other_up(small: Workspace) -> None:
    job, damaged = waiting(small), waiting(small, 2)
    with small.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE job SET spec_json = '{{bad' WHERE id = '{damaged.id}'")
    publish_results(small, Ledger(small.engine))
    assert shown(small.graph) == {job.id}
    found = client.status(small, damaged.id)
    assert "the database was edited or damaged" in str(found.error)
    assert found.parameters == {}
    assert {listed.id for listed in client.list_jobs(small)} == {job.id, damaged.id}


def test_an_artifact_that_is_gone_ends_the_wait(small: Workspace) -> None:
    job = waiting(small)
    sha256 = str(job.result_sha256)
    small.artifacts.delete(sha256)
    publish_results(small, Ledger(small.engine))
    assert sha256 in str(client.status(small, job.id).error)
    assert Publications(small.engine).pending() == []


# ---- many at once --------------------------------------------------------------------------------------


def test_sweeps_at_once_show_each_result_once(small: Workspace) -> None:
    jobs = []
    with Workspace.open(replace(small.settings, graph_url=UNREACHED_GRAPH)) as lonely:
        jobs += [done(lonely, "selection", "tree", {"n": n}) for n in (1, 2, 3)]
        jobs += [done(lonely, "locus", "tree", observed=[key]) for key in ("39", "21")]
    ready, failures = threading.Barrier(3), []

    def once() -> None:
        with Workspace.open(small.settings) as mine:
            ledger = Ledger(mine.engine)
            ready.wait(30)
            try:
                publish_results(mine, ledger)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [row["job"] for row in small.graph.results()] == sorted(job.id for job in jobs[1:])
    assert ask(small.graph, "MATCH (r:Selection) RETURN count(*)") == [(2,)]
    assert ask(small.graph, "MATCH (r:Locus) RETURN count(*)") == [(2,)]
    assert ask(small.graph, "MATCH (j:Job)-[:PRODUCED]->() RETURN count(*)") == [(4,)]


def test_a_crash_before_the_row_is_closed_repeats_the_write(small: Workspace) -> None:
    job = picked(small, 2)
    before = ask(
        small.graph, "MATCH (r:Selection)-[e:PICKS]->(l) RETURN r.id, e.round, l.key ORDER BY e.round"
    )
    Publications(small.engine).reopen([job.id])  # as if `published` had never run
    publish_results(small, Ledger(small.engine))
    assert Publications(small.engine).pending() == []
    assert (
        ask(small.graph, "MATCH (r:Selection)-[e:PICKS]->(l) RETURN r.id, e.round, l.key ORDER BY e.round")
        == before
    )
    assert shown(small.graph) == {job.id}


# ---- time limits, and a graph that never answers -------------------------------------------------------


class OutOfTimeError(Exception):
    """What a carrier raises in work that takes too long."""


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the showing of every result run out of time, until what is returned is called."""
    patch = pytest.MonkeyPatch()

    def late(*_: object) -> None:
        raise OutOfTimeError

    patch.setattr(showing, "show_result", late)
    monkeypatch.setattr(showing, "_compared", set())  # and undone last, whatever the test does
    return patch.undo


def test_a_result_that_no_time_is_left_for_is_shown_later(small: Workspace, no_time: Any) -> None:
    ledger = Ledger(small.engine)
    job = client.submit(small, "selection", {"ontology": "tree", "n": 1}, wait=False)
    (key,) = ledger.units(job.id)
    assert execute_unit(key, ledger, small, out_of_time=OutOfTimeError) is Outcome.DONE
    found = client.status(small, job.id)
    assert (found.state, found.error, found.publishing) == (State.DONE, None, True)
    no_time()
    publish_results(small, ledger)
    assert (shown(small.graph), client.status(small, job.id).publishing) == ({job.id}, False)


def test_a_rebuild_that_runs_out_of_time_while_it_shows_results_is_tried_again(
    small: Workspace, request: pytest.FixtureRequest
) -> None:
    job = picked(small, 1)
    ledger = Ledger(small.engine)
    rebuild = client.submit_rebuild(small, wait=False)
    drop, restore = ledger.units(rebuild.id)
    no_time = request.getfixturevalue("no_time")
    assert execute_unit(drop, ledger, small, out_of_time=OutOfTimeError) is Outcome.DONE
    assert execute_unit(restore, ledger, small, out_of_time=OutOfTimeError) is Outcome.RELEASED
    assert "GROVE_UNIT_TIME_LIMIT_S, 600 s" in str(client.list_units(small, rebuild.id)[1].error)
    assert client.status(small, job.id).publishing
    no_time()
    assert execute_unit(restore, ledger, small, out_of_time=OutOfTimeError) is Outcome.DONE
    publish_results(small, ledger)
    assert (shown(small.graph), client.status(small, job.id).error) == ({job.id}, None)


def test_a_graph_that_never_answers_holds_up_one_sweep_and_not_the_next(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(showing, "_resting", {})
    monkeypatch.setattr(showing, "_compared", set())
    met: list[socket.socket] = []
    server = socket.create_server(("127.0.0.1", 0))

    def silent() -> None:
        with contextlib.suppress(OSError):  # closed: the end of the test
            while True:
                met.append(server.accept()[0])

    threading.Thread(target=silent, daemon=True).start()
    url = f"bolt://neo4j:made-up@127.0.0.1:{server.getsockname()[1]}"
    driver, short = (
        neo4j.GraphDatabase.driver,
        {"connection_timeout": 0.5, "connection_acquisition_timeout": 1},
    )
    monkeypatch.setattr(neo4j.GraphDatabase, "driver", lambda url, **given: driver(url, **given | short))
    job = waiting(small)
    try:
        with Workspace.open(replace(small.settings, graph_url=url)) as mute:
            once = partial(sweep, mute, Ledger(mute.engine), lambda key, queue: None, window=1)
            once()
            asked = len(met)
            assert asked > 0
            began = time.monotonic()
            once()
            assert (len(met), time.monotonic() - began < patient(1)) == (asked, True)
            assert client.status(mute, job.id).state is State.DONE
            other = done(mute, "selection", "tree", {"n": 2})  # nobody waits for it either
            assert len(met) == asked
            monkeypatch.setattr(showing, "_REST_S", 0.0)
            showing._resting.clear()
            once()
            assert len(met) > asked
    finally:
        server.close()
        for connection in met:
            connection.close()
    publish_results(small, Ledger(small.engine))  # another graph of the same ledger does not rest
    assert shown(small.graph) == {job.id, other.id}
