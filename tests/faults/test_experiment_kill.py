"""Experiments after SIGKILL: what was computed is not computed again, and the result is the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from labelgrove.experiments import load
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.pool import Pool
from tests.experiment_runs import run
from tests.integration.celery_worker import ROOT, environment
from tests.integration.workers_support import settings_in
from tests.services import wait_until

pytestmark = pytest.mark.faults

LEASE_S = 2.0
PATIENCE_S = 120.0
REQUEST = {"experiment": "diabetes-path", "quick": True}

WORKS = f"""
import dataclasses
import threading

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client, kinds
from labelgrove.workers.running.pool import Pool

kind, begun = kinds.find_kind("experiment"), []

def execute(work):
    begun.append(work)
    if len(begun) == 3:
        print("in the third unit", flush=True)
        threading.Event().wait()
    return kind.execute(work)

kinds.registry._registry()["experiment"] = dataclasses.replace(kind, execute=execute)
with Workspace.open() as workspace:
    job = client.submit(workspace, "experiment", {REQUEST!r}, wait=False)
    with Pool(workspace, threads=4, lease_s={LEASE_S}) as pool:
        pool.run_until(lambda: client.status(workspace, job.id).finished)
"""


@contextmanager
def killed(command: list[str], log: Path, env: dict[str, str] | None = None) -> Iterator[None]:
    """Run a process for as long as the block lasts, and end it by SIGKILL."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=said, stderr=said)
        try:
            yield
            assert process.poll() is None, log.read_text()
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def trials(workspace: Workspace) -> dict[str, tuple[str, float | None, int]]:
    """Return the experiment of each finished unit, when it was claimed, and how often.

    Units that join others are left out.
    """
    return {
        unit.key: (job.parameters["experiment"], unit.claimed_at, unit.attempts)
        for job in client.list_jobs(workspace)
        for unit in client.list_units(workspace, job.id)
        if unit.state is State.DONE and unit.stage == 0
    }


def test_all_experiments_go_on_after_a_kill_and_again_after_the_next(tmp_path):
    command = [sys.executable, "-m", "labelgrove", "experiment", "all", "--quick"]
    command += ["--out", str(tmp_path / "found")]
    settings = settings_in(tmp_path)
    with Workspace.open(settings) as workspace:

        def has_trials(n: int) -> bool:
            return len(trials(workspace)) >= n

        before: dict[str, tuple[str, float | None, int]] = {}
        for new in (4, 2):
            log = tmp_path / f"{new}.log"
            enough = partial(has_trials, len(before) + new)
            with killed(command, log, environment(settings)):
                wait_until(enough, deadline_s=PATIENCE_S, what=f"{new} units more")
            after = trials(workspace)
            assert {key: after[key] for key in before} == before
            before = after
    assert "digits-grid: holds (0 units computed" in log.read_text()
    assert len({experiment for experiment, *_ in before.values()}) > 1  # it came past the first experiment


def test_a_job_goes_on_after_its_process_was_killed(tmp_path):
    settings = settings_in(tmp_path)
    with Workspace.open(settings) as workspace:

        def done() -> dict[str, tuple[float | None, int]]:
            """Return when each finished unit was claimed, and how often."""
            found = [client.list_units(workspace, job.id) for job in client.list_jobs(workspace)]
            ended = (unit for units in found for unit in units if unit.state is State.DONE)
            return {unit.key: (unit.claimed_at, unit.attempts) for unit in ended}

        log = tmp_path / "log"
        with killed([sys.executable, "-c", WORKS], log, environment(settings)):
            wait_until(
                lambda: "in the third unit" in log.read_text(), deadline_s=PATIENCE_S, what="the third unit"
            )
        before = done()
        assert len(before) == 2
        (job,) = client.list_jobs(workspace)
        assert not job.finished
        units = client.list_units(workspace, job.id)  # one runs at a time, and the others lose no attempt
        assert sorted(unit.attempts for unit in units if unit.key not in before) == [0, 0, 0, 0, 1]
        with Pool(workspace, threads=1, lease_s=LEASE_S) as pool:
            pool.run_until(lambda: client.status(workspace, job.id).finished)
        job = client.status(workspace, job.id)
        assert (job.state, job.error, job.units) == (State.DONE, None, {"done": 7})
        assert {key: value for key, value in done().items() if key in before} == before
        content = workspace.artifacts.read_bytes(str(job.result_sha256))
    experiment = load("diabetes-path")
    whole = run(experiment, tmp_path / "whole", settings=experiment.settings(quick=True))
    assert content == whole.content
