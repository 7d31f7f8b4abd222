"""Workers killed or frozen in the middle of a unit: the job is done all the same, and committed once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import redis

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import DEFAULT_QUEUE
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import Job, State
from tests.integration.celery_worker import ROOT, CeleryWorker, environment
from tests.integration.workers_support import GATED, notes, registered, settings_in
from tests.services import RedisServer, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]


@pytest.fixture
def settings(tmp_path: Path, redis_url: str) -> Settings:
    (tmp_path / "home").mkdir()
    return settings_in(tmp_path / "home", broker_url=redis_url)


@pytest.fixture
def workspace(settings: Settings):
    with registered(GATED), Workspace.open(settings) as workspace:
        yield workspace


def ask(workspace: Workspace, folder: Path) -> Job:
    return client.submit(workspace, "gated", {"folder": str(folder), "name": "x"}, wait=False)


def wait_for_start(folder: Path, number: int) -> int:
    """Wait until the unit has been started `number` times; the process id of the last start."""
    wait_until(lambda: len(notes(folder / "started")) >= number, deadline_s=60, what=f"start number {number}")
    return int(notes(folder / "started")[number - 1])


def check_done_once(workspace: Workspace, job_id: str, fence: int, log: str) -> None:
    job = client.wait(workspace, job_id, timeout_s=60)
    assert (job.state, job.units) == (State.DONE, {"done": 1})
    ledger = Ledger(workspace.engine)
    unit = ledger.unit(ledger.units(job.id)[0])
    assert (unit.fence, unit.attempts) == (fence, fence)
    assert workspace.artifacts.open_arrays(unit.sha256)[0]["value"].tobytes() == b"x"
    assert list(workspace.artifacts.digests()) == [unit.sha256]
    wait_until(
        lambda: len(re.findall(rf"{unit.key} of kind gated, attempt \d+: done", Path(log).read_text())) == 1,
        deadline_s=10,
        what="one commit in the log",
    )


def test_a_killed_child_loses_nothing(workspace, settings, tmp_path):
    with CeleryWorker(settings, tmp_path / "log", slots=2) as worker:
        job = ask(workspace, tmp_path)
        child = wait_for_start(tmp_path, 1)
        assert child in worker.children()
        os.kill(child, signal.SIGKILL)
        wait_for_start(tmp_path, 2)
        (tmp_path / "go").touch()
        check_done_once(workspace, job.id, 2, worker.log)


def test_a_killed_node_and_an_emptied_broker_lose_nothing(workspace, settings, tmp_path):
    with CeleryWorker(settings, tmp_path / "log") as worker:
        job = ask(workspace, tmp_path)
        assert wait_for_start(tmp_path, 1) in worker.children()
        worker.kill()
        with redis.Redis.from_url(settings.broker_url) as broker:
            broker.flushdb()
        worker.start()
        wait_for_start(tmp_path, 2)
        (tmp_path / "go").touch()
        check_done_once(workspace, job.id, 2, worker.log)


def test_a_frozen_child_wakes_up_to_find_its_lease_gone(workspace, settings, tmp_path):
    with CeleryWorker(settings, tmp_path / "log", slots=2) as worker:
        job = ask(workspace, tmp_path)
        frozen = wait_for_start(tmp_path, 1)
        os.kill(frozen, signal.SIGSTOP)
        assert wait_for_start(tmp_path, 2) != frozen
        (tmp_path / "go").touch()
        check_done_once(workspace, job.id, 2, worker.log)
        os.kill(frozen, signal.SIGCONT)
        wait_until(
            lambda: "attempt 1: lost" in worker.text(), deadline_s=30, what="the late commit to be refused"
        )
        check_done_once(workspace, job.id, 2, worker.log)


def test_a_killed_embedded_process_is_taken_up_by_the_next(tmp_path):
    settings = settings_in(tmp_path / "home")
    script = (
        "import sys; from labelgrove.ontology.versions.workspace import Workspace; "
        "from labelgrove.workers import client, kinds; "
        "from tests.integration.workers_support import GATED; kinds.register(GATED);"
        "workspace = Workspace.open();"
        "client.submit(workspace, 'gated', {'folder': sys.argv[1], 'name': 'x'})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, env=environment(settings)
    )
    try:
        assert wait_for_start(tmp_path, 1) == process.pid
    finally:
        process.kill()
        process.wait(30)
    (tmp_path / "go").touch()
    with registered(GATED), Workspace.open(settings) as workspace:
        (left,) = client.list_jobs(workspace)
        assert left.state is State.RUNNING
        job = client.wait(workspace, left.id, timeout_s=60)
        assert (job.state, job.units) == (State.DONE, {"done": 1})
        assert len(notes(tmp_path / "started")) == 2


def test_a_stopped_worker_ends_by_itself_and_leaves_no_process(workspace, settings, tmp_path):
    with CeleryWorker(settings, tmp_path / "log", slots=2) as worker:
        family = [worker.pid, *worker.children()]
        assert worker.stop() == 0
    assert not any(psutil.pid_exists(pid) for pid in family)


def test_a_node_whose_acknowledgement_was_lost_takes_further_messages(tmp_path: Path):
    for name in ("home", "first", "second"):
        (tmp_path / name).mkdir()
    with RedisServer(appendonly=True) as broker, registered(GATED):
        settings = settings_in(tmp_path / "home", broker_url=broker.url)
        with Workspace.open(settings) as workspace, CeleryWorker(settings, tmp_path / "log"):
            first = ask(workspace, tmp_path / "first")
            wait_for_start(tmp_path / "first", 1)
            (tmp_path / "second" / "go").touch()
            second = ask(workspace, tmp_path / "second")  # one slot, and it is taken
            with broker.client() as client_of_broker:
                wait_until(
                    lambda: client_of_broker.llen(f"labelgrove:{DEFAULT_QUEUE}") == 1,
                    deadline_s=30,
                    what="the second message",
                )
            assert notes(tmp_path / "second" / "started") == []
            broker.kill()
            (tmp_path / "first" / "go").touch()
            assert client.wait(workspace, first.id, timeout_s=60).state is State.DONE
            wait_until(
                lambda: "Couldn't ack" in (tmp_path / "log").read_text(), deadline_s=30, what="the loss"
            )
            broker.start()
            assert client.wait(workspace, second.id, timeout_s=60).state is State.DONE
