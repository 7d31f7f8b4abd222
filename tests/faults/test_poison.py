"""F14: units that kill whoever runs them fail after the cap; everything else is done."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from labelgrove.workers.requests.plan import plan_job
from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.faults.trial_kind import POISON, POISONS, Conditions
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

SEED = 141
DEADLY = ("segfault", "killed for memory", "endless native loop")


SEVERAL_TIMES = (*DEADLY, "endless loop")


@pytest.mark.parametrize(
    ("cap", "poisons"),
    [
        (2, tuple(POISONS)),
        # Not the loop that a signal ends: its unit is given back, with pauses that grow to minutes.
        pytest.param(10, (*DEADLY, "memory bomb"), marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_poison_fails_after_the_cap_and_harms_nobody(tmp_path: Path, cap: int, poisons: tuple[str, ...]):
    conditions = Conditions(lease_s=1.0, sweep_s=0.3, unit_s=0.02, time_limit_s=3.0, max_attempts=cap)
    with Deployment(tmp_path, seed=SEED, slots=4, conditions=conditions) as deployment:
        deployment.submit(100)
        # Left to the workers to send: a message says its own time limits, which are the sender's.
        jobs = {poison: plan_job(POISON, {"poison": poison}) for poison in poisons}
        for job in jobs.values():
            deployment.ledger.submit(job)
        wait_until(
            lambda: all(client.status(deployment.workspace, job.id).finished for job in jobs.values()),
            deadline_s=30 * cap,
            what="the poison to fail",
        )
        for poison in DEADLY:
            deployment.note(poison)  # a fault until its last attempt
        for poison, asked in jobs.items():
            job = client.status(deployment.workspace, asked.id)
            (unit,) = client.list_units(deployment.workspace, job.id)
            assert (job.state, unit.state) == (State.FAILED, State.FAILED)
            assert unit.attempts == (cap if poison in SEVERAL_TIMES else 1), poison
            if poison in DEADLY:
                assert f"the worker that ran it was lost {cap} times" in job.error
        assert "MemoryError" in client.status(deployment.workspace, jobs["memory bomb"].id).error
        result = deployment.finish()
    keep("F14", f"cap of {cap} attempts", {**dataclasses.asdict(result), "note": ", ".join(poisons)})
