"""One unit from claim to commit, and every way in which it can end."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from labelgrove.ontology.errors import NotFoundError, ServiceError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import JobKind
from labelgrove.workers.ledger.ledger import RESEND_S, Ledger
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from labelgrove.workers.running.execute import Outcome, execute_unit, finish_jobs
from labelgrove.workers.running.sweeper import dispatch
from tests.integration.workers_support import (
    GATED,
    PARTS,
    SCRIPTED,
    note,
    notes,
    plan_parts,
    registered,
    settings_in,
)
from tests.services import wait_until


@pytest.fixture
def workspace(tmp_path: Path):
    with registered(PARTS, SCRIPTED, GATED), Workspace.open(settings_in(tmp_path)) as workspace:
        yield workspace


@pytest.fixture
def ledger(workspace: Workspace) -> Ledger:
    return Ledger(workspace.engine)


def scripted(ledger: Ledger, log: Path, *script: str) -> PlannedJob:
    plan = plan_job(SCRIPTED, {"script": json.dumps(script), "log": str(log)})
    ledger.submit(plan)
    return plan


def gated(ledger: Ledger, folder: Path) -> PlannedJob:
    plan = plan_job(GATED, {"folder": str(folder), "name": "x"})
    ledger.submit(plan)
    return plan


def in_thread(*arguments, **options) -> tuple[threading.Thread, list]:
    outcomes: list = []
    thread = threading.Thread(target=lambda: outcomes.append(execute_unit(*arguments, **options)))
    thread.start()
    return thread, outcomes


def test_units_become_artifacts_and_the_last_one_the_result(workspace, ledger):
    plan = plan_parts([1, 2, 3])
    ledger.submit(plan)
    outcomes = [execute_unit(unit.key, ledger, workspace) for unit in plan.units]
    assert outcomes == [Outcome.DONE] * 4
    job = ledger.job(plan.id)
    assert job.state is State.DONE
    arrays, metadata = workspace.artifacts.open_arrays(job.result_sha256)
    assert (arrays["value"].tolist(), metadata) == ([14], {"format": "parts"})
    last = ledger.unit(plan.units[-1].key)
    assert last.size == workspace.artifacts.size(last.sha256)


def test_a_unit_is_not_run_twice(workspace, ledger, tmp_path):
    plan = plan_parts([5], tmp_path / "log")
    ledger.submit(plan)
    key = plan.units[0].key
    assert [execute_unit(key, ledger, workspace) for _ in range(3)] == [
        Outcome.DONE,
        Outcome.NOT_MINE,
        Outcome.NOT_MINE,
    ]
    assert notes(tmp_path / "log") == ["5"]


def test_what_is_unknown_here_is_left_alone(workspace, ledger):
    assert execute_unit("f" * 64, ledger, workspace) is Outcome.UNKNOWN
    newer = JobKind("parts", 2, PARTS.complete, PARTS.plan, PARTS.execute)
    plan = plan_job(newer, {"numbers": [1]})
    ledger.submit(plan)
    key = plan.units[0].key
    assert execute_unit(key, ledger, workspace) is Outcome.UNKNOWN
    assert (ledger.unit(key).state, ledger.unit(key).attempts) == (State.PENDING, 0)
    sent: list = []
    assert dispatch(ledger, lambda *message: sent.append(message), window=9) == 0
    assert sent == []
    assert [found for found, _, _ in ledger.due(9)] == [key]  # nor marked as sent


@pytest.mark.parametrize(
    ("fault", "message"), [("transient", "moon is full"), ("full disk", "No space left")]
)
def test_a_fault_of_the_moment_is_tried_again_later(workspace, ledger, tmp_path, fault, message):
    plan = scripted(ledger, tmp_path / "log", fault, "fine")
    key = plan.units[0].key
    assert execute_unit(key, ledger, workspace) is Outcome.RELEASED
    unit = ledger.unit(key)
    assert unit.state is State.PENDING
    assert message in unit.error
    assert ledger.due(9) == []  # not at once
    assert execute_unit(key, ledger, workspace) is Outcome.DONE
    assert ledger.job(plan.id).state is State.DONE


def test_an_error_fails_the_job_with_its_message(workspace, ledger, tmp_path):
    plan = scripted(ledger, tmp_path / "log", "input")
    assert execute_unit(plan.units[0].key, ledger, workspace) is Outcome.FAILED
    job = ledger.job(plan.id)
    assert (job.state, job.error) == (State.FAILED, "seven is not a color")


def test_a_defect_fails_the_job_and_is_logged_with_its_traceback(workspace, ledger, tmp_path, caplog):
    plan = scripted(ledger, tmp_path / "log", "bug")
    assert execute_unit(plan.units[0].key, ledger, workspace) is Outcome.FAILED
    assert ledger.job(plan.id).error == "ZeroDivisionError: a defect"
    assert "Traceback" in caplog.text
    assert plan.units[0].key in caplog.text


def test_a_heartbeat_outlives_the_lease(workspace, ledger, tmp_path):
    plan = gated(ledger, tmp_path)
    key = plan.units[0].key
    thread, outcomes = in_thread(key, ledger, workspace, lease_s=0.6)
    wait_until(lambda: bool(notes(tmp_path / "started")), deadline_s=30, what="the unit to start")
    first = ledger.unit(key).lease_until
    wait_until(
        lambda: ledger.unit(key).lease_until > first + 1.0, deadline_s=30, what="the lease to be renewed"
    )
    assert ledger.expire() == 0
    (tmp_path / "go").touch()
    thread.join(30)
    assert outcomes == [Outcome.DONE]
    assert ledger.unit(key).fence == 1


def test_a_cancelled_job_stops_its_running_unit(workspace, ledger, tmp_path):
    plan = gated(ledger, tmp_path)
    thread, outcomes = in_thread(plan.units[0].key, ledger, workspace, lease_s=0.3)
    wait_until(lambda: bool(notes(tmp_path / "started")), deadline_s=30, what="the unit to start")
    ledger.cancel(plan.id)
    thread.join(30)
    assert outcomes == [Outcome.CANCELLED]
    assert ledger.job(plan.id).units == {"cancelled": 1}
    assert list(workspace.artifacts.digests()) == []


def test_who_lost_the_lease_stops_and_publishes_nothing(workspace, ledger, tmp_path):
    plan = gated(ledger, tmp_path)
    key = plan.units[0].key
    thread, outcomes = in_thread(key, ledger, workspace, lease_s=6)
    wait_until(lambda: bool(notes(tmp_path / "started")), deadline_s=30, what="the unit to start")
    late = Ledger(workspace.engine, clock=lambda: ledger.unit(key).lease_until + 1)
    taken = late.claim(key, lease_s=60)
    assert taken.fence == 2
    thread.join(30)
    assert outcomes == [Outcome.LOST]
    assert list(workspace.artifacts.digests()) == []
    assert ledger.commit(taken, "a" * 64, 1)


def test_a_failed_publication_is_repeated_and_a_hopeless_one_recorded(workspace, ledger, tmp_path):
    log = tmp_path / "published"

    def publish(naming):
        note(log, naming.target["name"])
        if len(notes(log)) == 1:
            raise ServiceError("the index is away")
        if naming.target["name"] == "hopeless":
            raise NotFoundError("no such shelf")
        if naming.target["name"] == "defect":
            raise KeyError("shelf")

    named = JobKind("named", 1, PARTS.complete, PARTS.plan, PARTS.execute, publish=publish)
    with registered(named):
        plan = plan_job(named, {"numbers": [2]})
        ledger.submit(plan, target={"name": "good"})
        for unit in plan.units:
            assert execute_unit(unit.key, ledger, workspace) is Outcome.DONE
        assert ledger.job(plan.id).publishing
        finish_jobs(ledger, workspace)
        finish_jobs(ledger, workspace)
        assert notes(log) == ["good", "good"]
        assert ledger.job(plan.id).finished
        ledger.submit(plan, target={"name": "hopeless"})
        finish_jobs(ledger, workspace)
        finish_jobs(ledger, workspace)
        assert notes(log) == ["good", "good", "hopeless"]
        assert ledger.job(plan.id).error == "no such shelf"
        ledger.submit(plan, target={"name": "defect"})
        finish_jobs(ledger, workspace)  # a kind at fault does not end the sweep that calls this
        finish_jobs(ledger, workspace)
        assert notes(log) == ["good", "good", "hopeless", "defect"]
        assert ledger.job(plan.id).finished
        assert "shelf" in ledger.job(plan.id).error
        ledger.submit(plan)
        assert (ledger.job(plan.id).finished, ledger.job(plan.id).error) == (True, None)


def test_what_cannot_be_sent_stays_in_the_ledger(workspace, clock):
    ledger = Ledger(workspace.engine, clock=clock)
    ledger.submit(plan_parts([1, 2, 3]))
    sent: list[str] = []

    def send(key: str, queue: str) -> None:
        if sent:
            raise ServiceError("the broker is away")
        sent.append(key)

    assert dispatch(ledger, send, window=9) == 1
    assert ledger.due(9) == []
    clock.time += RESEND_S[0]
    waiting = [key for key, _, _ in ledger.due(9)]
    assert len(waiting) == 2
    assert sent[0] not in waiting
