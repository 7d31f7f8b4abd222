"""F6: the broker is killed, with or without its messages on disk, or emptied, in the middle of a job."""

from __future__ import annotations

import dataclasses
import random
import time
from pathlib import Path

import pytest

from labelgrove.workers.ledger.states import State
from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

SEED = 61
NEW_TASK_S = 10.0


def _kill(deployment: Deployment) -> None:
    deployment.broker.kill()
    deployment.broker.start()


def _flush(deployment: Deployment) -> None:
    with deployment.broker.client() as client:
        client.flushall()


@pytest.mark.parametrize(
    ("way", "times"),
    [
        ("nothing kept", 2),
        ("append-only file", 2),
        ("FLUSHALL", 1),
        *(
            pytest.param(way, times, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])
            for way, times in (("nothing kept", 17), ("append-only file", 17), ("FLUSHALL", 16))
        ),
    ],
)
def test_a_broker_that_forgets_delays_and_loses_nothing(tmp_path: Path, way: str, times: int):
    rng = random.Random(SEED)
    slowest = 0.0
    with Deployment(tmp_path, seed=SEED, appendonly=way == "append-only file") as deployment:
        for _ in range(times):
            job = deployment.submit(10)
            wait_until(
                lambda job=job: bool(deployment.ledger.job(job.id).units.get("done")),
                deadline_s=30,
                what="the middle of a job",
            )
            time.sleep(rng.uniform(0.0, 0.6))
            deployment.note(way)
            (_flush if way == "FLUSHALL" else _kill)(deployment)
            begin = time.monotonic()
            new = deployment.submit(1)
            first = min(new.units, key=lambda unit: unit.stage).key
            wait_until(
                lambda first=first: deployment.ledger.unit(first).state is State.DONE,
                deadline_s=NEW_TASK_S,
                what="a new task after the broker came back",
            )
            slowest = max(slowest, time.monotonic() - begin)
        result = deployment.finish()
    keep(
        "F6",
        f"{times} times, {way}",
        {**dataclasses.asdict(result), "note": f"new task done after {slowest:.1f} s at most"},
    )
