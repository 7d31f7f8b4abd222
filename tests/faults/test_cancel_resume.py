"""F11: jobs cancelled at random moments stop within a heartbeat, and go on to the same bytes when resumed."""

from __future__ import annotations

import dataclasses
import random
import time
from pathlib import Path

import pytest

from labelgrove.ontology.errors import ConflictError
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.faults.trial_kind import Conditions
from tests.services import patient, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

SEED = 111
CONDITIONS = Conditions(lease_s=3.0, unit_s=patient(2.5))  # units outlast a heartbeat by far
HEARTBEAT_S = CONDITIONS.lease_s / 3
NOTICED_S = 0.5  # a unit looks out every 50 ms, and the test looks on at machines under load


@pytest.mark.parametrize(
    "points",
    [
        3,
        pytest.param(5, marks=pytest.mark.slow),
        pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_a_cancelled_job_stops_at_once_and_ends_with_the_same_bytes(tmp_path: Path, points: int):
    rng = random.Random(SEED)
    slowest = 0.0
    with Deployment(tmp_path, seed=SEED, slots=4, conditions=CONDITIONS) as deployment:
        job = deployment.submit(8)
        while deployment.faults < points:
            time.sleep(rng.uniform(0.0, 4.0))
            try:
                client.cancel(deployment.workspace, job.id)
            except ConflictError:  # it was done before
                job = deployment.submit(8)
                continue
            begin = time.monotonic()
            deployment.note("cancelled", running=deployment.units(State.RUNNING))
            wait_until(
                lambda: deployment.units(State.RUNNING) == 0,
                deadline_s=HEARTBEAT_S + NOTICED_S,
                what="the units of a cancelled job to stop",
            )
            slowest = max(slowest, time.monotonic() - begin)
            assert deployment.units(State.PENDING) == 0
            client.retry(deployment.workspace, job.id, wait=False)
        result = deployment.finish()
    figures = {**dataclasses.asdict(result), "note": f"stopped after {slowest:.1f} s at most"}
    keep("F11", f"{points} points", figures)
