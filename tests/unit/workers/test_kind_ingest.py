"""The kinds `ingest` and `rebuild-graph` on the embedded store: what is planned, loaded, named and healed."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from labelgrove.ontology import LabelGraph
from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.errors import ConflictError, DefectsError, InputError, ShrinkError, TransientError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.graphloading import complete, load_share
from labelgrove.ontology.versions.ingest import announce, delete_ontology, register
from labelgrove.ontology.versions.lease import holding
from labelgrove.ontology.versions.rebuilding import empty_graph, restore_graph, verify_graph
from labelgrove.ontology.versions.snapshots import open_snapshot, put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import Subject, find_kind
from labelgrove.workers.kinds.ingest import INGEST
from labelgrove.workers.kinds.rebuild import REBUILD
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.running.execute import Outcome, UnwantedError, execute_unit, finish_jobs
from labelgrove.workers.schedules.schedule import Timetable, add_schedule

pytestmark = pytest.mark.long

OLD = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
NEW = LabelGraph.from_edges([("oak", "tree"), ("fir", "tree"), ("tree", "plant"), ("moss", "plant")])
THIRD = LabelGraph.from_edges([("oak", "tree")])
PAGE = (Path(__file__).parents[3] / "docs" / "jobs.md").read_text(encoding="utf-8")
DIGEST, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})) as workspace:
        yield workspace


def assert_serves(workspace: Workspace, graph: LabelGraph, name: str = "trees") -> None:
    current = workspace.graph.current(name)
    document = workspace.artifacts.read_index(name) or {}
    assert {workspace.catalog.current(name), current, document.get("version")} == {graph.digest}
    assert [found["problems"] for found in verify_graph(workspace) if not found["same"]] == []


def parameters_of(job: Job) -> dict[str, object]:
    return dict(job.parameters)


# ---- requests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ontology": "trees"}, "ontology is 'trees'"),
        ({"snapshot": None}, "snapshot is None"),
        ({"annotations": "x"}, "annotations is 'x'"),
        ({"shares": 0}, "shares is 0"),
        ({"shares": 1.5}, "shares is 1.5"),
        ({"shares": 201}, "from 1 to 200"),
        ({"shrink": "yes"}, "shrink is 'yes'"),
        ({"name": "trees"}, "ingest has no parameter name; it needs ontology"),
    ],
)
def test_a_request_to_ingest_is_checked(wrong, message):
    with pytest.raises(InputError, match=message):
        INGEST.complete({"ontology": DIGEST, "snapshot": OTHER, **wrong}, None)


@pytest.mark.parametrize(
    "given", [{}, {"request": ""}, {"request": 7}, {"request": "x" * 201}, {"again": "x"}]
)
def test_a_request_to_rebuild_is_checked(given):
    with pytest.raises(InputError, match="request"):
        REBUILD.complete(given, None)


def test_shares_follow_one_another_and_the_last_unit_counts():
    steps = INGEST.plan(INGEST.complete({"ontology": DIGEST, "snapshot": OTHER, "shares": 3}, None))
    assert [(step.parameters.get("share"), step.stage) for step in steps] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (None, 3),
    ]


def test_jobs_that_differ_in_annotations_load_labels_and_edges_once():
    asked = {"ontology": DIGEST, "snapshot": OTHER, "shares": 3}
    plain, described = plan_job(INGEST, asked), plan_job(INGEST, {**asked, "annotations": "ef" * 32})
    assert plain.id != described.id
    assert plain.units[:-1] == described.units[:-1]
    assert plain.units[-1] != described.units[-1]


def test_a_million_labels_are_tens_of_units_and_the_estimate_says_so():
    subject = Subject.of(LabelGraph.grid((1000, 1000)))
    complete = INGEST.complete({"ontology": DIGEST, "snapshot": OTHER}, subject)
    found = INGEST.estimate(complete, subject)
    assert 20 <= found.units == complete["shares"] + 1 <= 200
    assert found.graph_rows == 2 + 1_000_000 + 1_998_000
    assert 0 < found.n_bytes < 10**6
    assert found.seconds > INGEST.estimate(complete, Subject(1_000, 2_000)).seconds > 0


# ---- ingest --------------------------------------------------------------------------------------------


def test_what_is_asked_for_answers_everywhere_and_is_loaded_once(workspace):
    job = client.submit_ingest(workspace, "trees", OLD, source="trees.csv")
    assert (job.state, job.error, job.units) == (State.DONE, None, {"done": 2})
    assert_serves(workspace, OLD)
    assert workspace.graph.versions()[0]["ontology"] == "trees"
    assert workspace.catalog.version("trees").source == "trees.csv"
    again = client.submit_ingest(workspace, "trees", OLD)
    assert (again.id, again.result_sha256) == (job.id, job.result_sha256)
    arrays, metadata = workspace.artifacts.open_arrays(job.result_sha256)
    assert arrays["counts"].tolist() == [4, 3]
    assert metadata == {"format": "labelgrove/ingest/1", "ontology": OLD.digest}


def test_a_document_of_digests_is_enough(workspace):
    snapshot = workspace.artifacts.put_arrays(*OLD.to_arrays())
    asked = {"ontology": OLD.digest, "snapshot": snapshot, "shares": 7}  # more than there are batches
    job = client.submit(workspace, "ingest", asked, target={"ontology": "trees"})
    assert (job.state, job.error, job.units) == (State.DONE, None, {"done": 8})
    assert_serves(workspace, OLD)
    delete_ontology(workspace, "trees")
    assert workspace.graph.versions() == []  # also what was loaded when no name had it


def test_the_previous_version_serves_and_the_last_request_for_a_name_has_it(workspace):
    client.submit_ingest(workspace, "trees", OLD)
    first = client.submit_ingest(workspace, "trees", THIRD, wait=False)
    last = client.submit_ingest(workspace, "trees", NEW, wait=False)
    assert_serves(workspace, OLD)
    ended = [client.wait(workspace, job.id, timeout_s=60) for job in (last, first)]
    assert [(job.state, job.error) for job in ended] == [(State.DONE, None)] * 2
    assert_serves(workspace, NEW)


def test_two_names_share_one_content_and_one_job(workspace):
    jobs = [client.submit_ingest(workspace, name, OLD, wait=False) for name in ("trees", "plants")]
    assert jobs[0].id == jobs[1].id
    client.wait(workspace, jobs[0].id, timeout_s=60)
    assert_serves(workspace, OLD, "trees")
    assert_serves(workspace, OLD, "plants")
    delete_ontology(workspace, "trees")
    assert_serves(workspace, OLD, "plants")


def defined(graph: LabelGraph, key: str, definition: str) -> Annotations:
    return Annotations.of(graph, {key: Description(definition=definition)})


def definitions_shown(workspace: Workspace, graph: LabelGraph) -> list[tuple[object, ...]]:
    asked = "MATCH (l:Label {version: $version}) WHERE l.definition IS NOT NULL RETURN l.key, l.definition"
    return workspace.graph.run_user(asked, {"version": graph.digest}).rows


def test_annotations_come_along_and_those_of_other_labels_are_refused(workspace):
    own, others = (
        put_snapshot(workspace.artifacts, graph, defined(graph, "oak", "hard"), None) for graph in (OLD, NEW)
    )
    asked = {"ontology": OLD.digest, "snapshot": own.arrays[0]}
    target = {"ontology": "trees"}
    job = client.submit(workspace, "ingest", {**asked, "annotations": own.annotations[0]}, target=target)
    assert job.error is None
    assert list(workspace.annotations("trees").definitions) == ["", "", "", "hard"]
    assert definitions_shown(workspace, OLD) == [("oak", "hard")]
    job = client.submit(workspace, "ingest", {**asked, "annotations": others.annotations[0]}, target=target)
    assert (job.state, job.publishing) == (State.DONE, False)
    assert "annotations: format is" in job.error
    assert definitions_shown(workspace, OLD) == [("oak", "hard")]


def test_a_job_with_other_annotations_replaces_them_and_adds_no_version(workspace):
    for definition in ("hard", "soft"):
        snapshot = put_snapshot(workspace.artifacts, OLD, defined(OLD, "oak", definition), None)
        asked = {
            "ontology": OLD.digest,
            "snapshot": snapshot.arrays[0],
            "annotations": snapshot.annotations[0],
        }
        job = client.submit(workspace, "ingest", asked, target={"ontology": "trees"})
        assert (job.state, job.error) == (State.DONE, None)
        assert definitions_shown(workspace, OLD) == [("oak", definition)]
    assert len(workspace.catalog.versions("trees")) == 1


def test_what_cannot_be_ingested_is_not_recorded(workspace):
    result = type("Read", (), {"graph": None, "report": type("Report", (), {"source": "bad.csv"})()})()
    with pytest.raises(DefectsError, match=r"bad\.csv"):
        client.submit_ingest(workspace, "trees", result)
    with pytest.raises(InputError, match="ontology name"):
        client.submit_ingest(workspace, "Bad Name", OLD)
    assert client.list_jobs(workspace) == []
    assert workspace.catalog.currents() == {}


# ---- what would shrink a name --------------------------------------------------------------------------

WIDE = LabelGraph.from_edges([(f"{i}", "top") for i in range(9)])


def asked_of(workspace: Workspace, graph: LabelGraph) -> dict[str, object]:
    return {
        "ontology": graph.digest,
        "snapshot": put_snapshot(workspace.artifacts, graph, None, None).arrays[0],
    }


def test_what_would_shrink_a_name_is_not_recorded_unless_it_is_asked_for(workspace):
    register(workspace, "trees", WIDE)
    for ask in (
        lambda: client.submit_ingest(workspace, "trees", OLD),
        lambda: client.submit(workspace, "ingest", asked_of(workspace, OLD), target={"ontology": "trees"}),
    ):
        with pytest.raises(
            ShrinkError, match=r"'trees' has 10 labels, and would have 4.*--param shrink=true"
        ):
            ask()
    assert client.list_jobs(workspace) == []
    assert [v.digest for v in workspace.catalog.versions()] == [WIDE.digest]
    job = client.submit_ingest(workspace, "trees", OLD, shrink=True)
    assert (job.state, job.error, job.parameters["shrink"]) == (State.DONE, None, True)
    assert_serves(workspace, OLD)


def test_a_name_that_grew_meanwhile_keeps_its_version_and_the_job_says_why(workspace):
    job = client.submit_ingest(workspace, "trees", OLD, wait=False)
    register(workspace, "trees", WIDE)
    ended = client.wait(workspace, job.id, timeout_s=60)
    assert (ended.state, ended.publishing) == (State.DONE, False)
    assert "'trees' has 10 labels, and would have 4" in ended.error
    assert_serves(workspace, WIDE)
    again = client.submit_ingest(workspace, "trees", OLD, shrink=True)
    assert (again.id != job.id, again.error) == (True, None)
    units = [[unit.key for unit in client.list_units(workspace, one.id)] for one in (job, again)]
    assert units[0] == units[1]  # what was loaded is not loaded again
    assert_serves(workspace, OLD)


def test_a_job_recorded_before_there_was_the_parameter_is_guarded(workspace):
    job = client.submit_ingest(workspace, "trees", OLD, wait=False)
    with writing(workspace.engine) as connection:
        (spec,) = connection.execute(text("SELECT spec_json FROM job")).scalars()
        document = json.loads(spec)
        del document["parameters"]["shrink"]
        connection.execute(text("UPDATE job SET spec_json = :spec"), {"spec": json.dumps(document)})
    register(workspace, "trees", WIDE)
    assert "would have 4" in client.wait(workspace, job.id, timeout_s=60).error
    assert_serves(workspace, WIDE)


def test_a_schedule_has_nobody_to_ask_so_its_job_says_why_until_it_is_told_so(workspace):
    """It is checked when it is added; later the name keeps its version, and each due time asks again."""
    target = {"ontology": "trees"}
    add_schedule(workspace, "nightly", "30 2 * * *", "ingest", asked_of(workspace, OLD), target=target)
    register(workspace, "trees", WIDE)
    with pytest.raises(ShrinkError):
        add_schedule(workspace, "weekly", "30 2 * * *", "ingest", asked_of(workspace, OLD), target=target)
    for _ in range(2):
        with writing(workspace.engine) as connection:
            connection.execute(text("UPDATE schedule SET next_at = 0"))
            connection.execute(text("DELETE FROM firing"))
        client.submit_rebuild(workspace)  # sweeps
        (fired,) = Timetable(workspace.engine).schedules()
        job = client.wait(workspace, fired.last.job_id, timeout_s=60)
        assert "would have 4" in job.error
        assert_serves(workspace, WIDE)
    told = {**asked_of(workspace, OLD), "shrink": True}
    add_schedule(workspace, "weekly", "30 2 * * *", "ingest", told, target=target)


@pytest.mark.parametrize(
    ("target", "message"),
    [({"name": "trees"}, "give only ontology=NAME"), ({"ontology": "Bad Name"}, "ontology name")],
)
def test_a_name_that_cannot_be_given_is_refused(workspace, target, message):
    snapshot = workspace.artifacts.put_arrays(*OLD.to_arrays())
    asked = {"ontology": OLD.digest, "snapshot": snapshot}
    with pytest.raises(InputError, match=message):
        client.submit(workspace, "ingest", asked, target=target)
    assert client.list_jobs(workspace) == []


def test_the_snapshot_of_another_ontology_fails_the_job(workspace):
    snapshot = workspace.artifacts.put_arrays(*NEW.to_arrays())
    job = client.submit(
        workspace, "ingest", {"ontology": OLD.digest, "snapshot": snapshot}, target={"ontology": "trees"}
    )
    assert job.state is State.FAILED
    assert OLD.digest in job.error
    assert workspace.graph.versions() == []


# ---- races ---------------------------------------------------------------------------------------------


def run_units_while_held(workspace: Workspace, job: Job, number: int) -> None:
    """Run the first units of a job while somebody changes the name that its result is to have."""
    ledger = Ledger(workspace.engine)
    with holding(workspace.stores, "trees"):
        for key in ledger.units(job.id)[:number]:
            assert execute_unit(key, ledger, workspace) is Outcome.DONE


def test_a_name_held_by_somebody_else_is_given_later(workspace):
    job = client.submit_ingest(workspace, "trees", OLD, wait=False)
    run_units_while_held(workspace, job, 2)
    waiting = client.status(workspace, job.id)
    assert (waiting.state, waiting.publishing, waiting.error) == (State.DONE, True, None)
    assert workspace.catalog.current("trees") is None
    with holding(workspace.stores, "trees"):  # asking again is no error either
        assert client.submit_ingest(workspace, "trees", OLD, wait=False).id == job.id
    finish_jobs(Ledger(workspace.engine), workspace)
    assert not client.status(workspace, job.id).publishing
    assert_serves(workspace, OLD)


def test_a_thread_leaves_a_publication_to_the_one_that_is_at_it(workspace, monkeypatch, caplog):
    """The sweep and the thread of the last unit come to it at once: the second warns of nothing."""
    job = client.submit_ingest(workspace, "trees", OLD, wait=False)
    ledger = Ledger(workspace.engine)
    inside, go_on = threading.Event(), threading.Event()

    def slow(*arguments: object, **options: object) -> object:
        if not inside.is_set():
            inside.set()
            assert go_on.wait(60)
        return register(*arguments, **options)

    monkeypatch.setattr("labelgrove.ontology.versions.ingest.register", slow)
    with ThreadPoolExecutor(1) as threads, caplog.at_level(logging.WARNING):
        first = threads.submit(lambda: [execute_unit(key, ledger, workspace) for key in ledger.units(job.id)])
        assert inside.wait(60)
        with holding(workspace.stores, "trees"):  # as the first thread does within the steps of an ingest
            finish_jobs(ledger, workspace)
        assert client.status(workspace, job.id).publishing
        go_on.set()
        first.result()
    assert caplog.records == []
    assert not client.status(workspace, job.id).publishing
    assert_serves(workspace, OLD)


def test_who_holds_a_name_in_this_process_is_told_so(workspace):
    with (
        holding(workspace.stores, "trees"),
        pytest.raises(ConflictError, match=r"\(another thread of this process\)"),
    ):
        register(workspace, "trees", OLD)


@pytest.mark.parametrize("done", [1, 3], ids=lambda n: f"after {n} units")
def test_another_ingest_of_the_name_drops_what_a_job_loads_and_the_job_heals_it(workspace, done):
    snapshot = put_snapshot(workspace.artifacts, NEW, None, None)
    announce(workspace, "trees", snapshot)
    asked = {"ontology": NEW.digest, "snapshot": snapshot.arrays[0], "shares": 2}
    job = client.submit(workspace, "ingest", asked, target={"ontology": "trees"}, wait=False)
    run_units_while_held(workspace, job, done)
    register(workspace, "trees", OLD)
    assert {row["digest"] for row in workspace.graph.versions()} == {OLD.digest}
    assert_serves(workspace, OLD)
    job = client.wait(workspace, job.id, timeout_s=60)
    assert (job.state, job.error, job.publishing) == (State.DONE, None, False)
    assert_serves(workspace, NEW)


@pytest.mark.parametrize("loss", ["deleted", "the graph emptied"])
def test_asking_again_brings_back_what_was_lost(workspace, loss):
    first = client.submit_ingest(workspace, "trees", OLD)
    if loss == "deleted":
        delete_ontology(workspace, "trees")
    else:
        workspace.graph.wipe()
    job = client.submit(workspace, "ingest", parameters_of(first), target={"ontology": "trees"})
    assert (job.id, job.state, job.error) == (first.id, State.DONE, None)
    assert all(unit.fence > 1 for unit in client.list_units(workspace, job.id))  # its units did the work
    assert_serves(workspace, OLD)


def test_a_version_dropped_while_a_unit_loads_it_is_a_fault_of_the_moment(workspace):
    def drop() -> None:
        workspace.graph.drop_version(OLD.digest)

    with pytest.raises(TransientError, match="was changed in the graph"):
        load_share(workspace.stores, OLD, 0, 1, drop)
    load_share(workspace.stores, OLD, 0, 1, lambda: None)
    drop()
    complete(workspace.stores, OLD, None, lambda: None)
    assert workspace.graph.read_back(OLD.digest).digest == OLD.digest


def test_two_that_load_the_same_at_once_end_well_or_are_tried_again(workspace):
    workspace.graph.describe()

    def load(_: int) -> None:
        with contextlib.suppress(TransientError):
            load_share(workspace.stores, OLD, 0, 1, lambda: None)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(load, range(4))) == [None] * 4
    complete(workspace.stores, OLD, None, lambda: None)
    assert workspace.graph.counts(OLD.digest) == (4, 3)


def test_a_cancelled_ingest_stops_and_leaves_what_serves(workspace):
    client.submit_ingest(workspace, "trees", OLD)
    job = client.submit_ingest(workspace, "trees", NEW, wait=False)
    client.cancel(workspace, job.id)
    assert client.wait(workspace, job.id, timeout_s=60).state is State.CANCELLED
    assert_serves(workspace, OLD)
    assert client.submit_ingest(workspace, "trees", NEW).error is None
    assert_serves(workspace, NEW)


def test_announcing_keeps_the_artifacts_named_and_changes_nothing_that_serves(workspace):
    register(workspace, "trees", OLD)
    snapshot = put_snapshot(workspace.artifacts, NEW, defined(NEW, "fir", "evergreen"), "new.csv")
    announce(workspace, "trees", snapshot)
    assert_serves(workspace, OLD)
    (version,) = (v for v in workspace.catalog.versions("trees") if v.digest == NEW.digest)
    assert (version.state, version.source) == ("loading", "new.csv")
    assert (version.snapshot_sha256, version.annotations_sha256) == (
        snapshot.arrays[0],
        snapshot.annotations[0],
    )
    opened = open_snapshot(workspace.artifacts, snapshot.arrays[0], snapshot.annotations[0])
    assert (opened.graph, opened.arrays, opened.annotations) == (NEW, snapshot.arrays, snapshot.annotations)
    assert register(workspace, "trees", opened).created
    assert workspace.catalog.version("trees").source == "new.csv"


# ---- rebuild-graph -------------------------------------------------------------------------------------


def test_a_rebuild_makes_the_graph_anew_and_each_request_is_its_own(workspace):
    for name, graph in (("trees", OLD), ("trees", NEW), ("plants", OLD)):
        register(workspace, name, graph)
    workspace.graph.drop_ontology("plants")
    first = client.submit_rebuild(workspace)
    assert (first.state, first.error, first.units) == (State.DONE, None, {"done": 2})
    assert_serves(workspace, NEW)
    assert_serves(workspace, OLD, "plants")
    found = workspace.artifacts.open_arrays(first.result_sha256)[0]["versions"]
    assert found.dtype == np.uint8
    assert [row.tobytes().hex() for row in found] == sorted([OLD.digest, NEW.digest])
    second = client.submit_rebuild(workspace, wait=False)
    assert (second.id == first.id, second.state) == (False, State.PENDING)
    assert client.submit(workspace, "rebuild-graph", parameters_of(first)).id == first.id


def test_a_rebuild_waits_for_who_holds_a_name_and_drops_nothing(workspace):
    register(workspace, "trees", OLD)
    job = client.submit_rebuild(workspace, wait=False)
    ledger = Ledger(workspace.engine)
    drop, restore = ledger.units(job.id)
    with holding(workspace.stores, "trees"):
        assert execute_unit(drop, ledger, workspace) is Outcome.RELEASED
        assert_serves(workspace, OLD)
    assert "rebuilt later" in ledger.unit(drop).error
    assert execute_unit(drop, ledger, workspace) is Outcome.DONE
    assert workspace.graph.versions() == []
    assert execute_unit(restore, ledger, workspace) is Outcome.DONE
    assert_serves(workspace, OLD)


def test_a_name_held_during_the_restoring_delays_itself_alone(workspace):
    for name, graph in (("plants", OLD), ("trees", NEW), ("zoo", THIRD)):
        register(workspace, name, graph)
    job = client.submit_rebuild(workspace, wait=False)
    ledger = Ledger(workspace.engine)
    drop, restore = ledger.units(job.id)
    assert execute_unit(drop, ledger, workspace) is Outcome.DONE
    with holding(workspace.stores, "trees"):
        assert execute_unit(restore, ledger, workspace) is Outcome.RELEASED
        assert {row["digest"] for row in workspace.graph.versions()} == {OLD.digest, THIRD.digest}
    assert "trees" in ledger.unit(restore).error
    assert client.wait(workspace, job.id, timeout_s=60).error is None
    assert_serves(workspace, NEW)


def test_a_restoring_that_nobody_wants_any_more_stops(workspace):
    for name, graph in (("plants", OLD), ("trees", NEW)):
        register(workspace, name, graph)
    empty_graph(workspace)
    asked: list[str] = []

    def unwanted(step: str, done: int, total: int) -> None:
        asked.append(step)
        raise UnwantedError("no job needs it anymore")

    with pytest.raises(UnwantedError):
        restore_graph(workspace, progress=unwanted)
    assert len(asked) == 1  # it did not go on with the next name


def test_a_rebuild_of_nothing_is_done(workspace):
    job = client.submit_rebuild(workspace)
    assert job.state is State.DONE
    assert workspace.artifacts.open_arrays(job.result_sha256)[0]["versions"].shape == (0, 32)


def test_estimates_name_units_rows_and_seconds(workspace):
    first = client.submit_ingest(workspace, "trees", OLD)
    client.submit_ingest(workspace, "plants", NEW)
    one = client.estimate(workspace, "ingest", first.parameters)
    assert (one.units, one.graph_rows) == (2, 9)
    every = client.estimate(workspace, "rebuild-graph", {"request": "x"})
    assert (every.units, every.graph_rows) == (2, 1 + 9 + 7)
    assert every.seconds > 0 < one.seconds


@pytest.mark.parametrize("kind", ["ingest", "rebuild-graph"])
def test_the_page_on_jobs_names_both_with_their_queue(kind):
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{kind}` |"))
    assert row.endswith(f"| `{find_kind(kind).queue}` |")
