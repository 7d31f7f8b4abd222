"""F15: PostgreSQL turns read-only, as in a failover, while units run that last longer than their lease."""

from __future__ import annotations

import dataclasses
import random
import time
from pathlib import Path

import pytest

from labelgrove.workers.ledger.states import State
from tests.faults.changing_database import WAYS, ordinary_user, refusing
from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.faults.trial_kind import Conditions
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

READ_ONLY_S = 2.0
_LARGE = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    ("flips", "unit_s", "lease_s", "seed"),
    [
        (2, 4.0, 3.0, 161),
        pytest.param(3, 4.0, 3.0, 161, marks=_LARGE),
        pytest.param(20, 12.0, 3.0, 162, marks=_LARGE),
    ],
)
def test_a_database_that_turns_read_only_costs_no_work(
    tmp_path: Path, postgres_url: str, flips: int, unit_s: float, lease_s: float, seed: int
):
    rng = random.Random(seed)
    conditions = Conditions(lease_s=lease_s, unit_s=unit_s)
    with (
        ordinary_user(postgres_url) as url,
        Deployment(tmp_path, seed=seed, database_url=url, slots=4, conditions=conditions) as deployment,
    ):
        while deployment.faults < flips:
            if deployment.units(State.PENDING) < deployment.slots:
                deployment.submit(2 * deployment.slots)
            wait_until(
                lambda: deployment.units(State.RUNNING) == deployment.slots,
                deadline_s=60,
                what="a unit in every slot",
            )
            time.sleep(rng.uniform(0.0, unit_s / 2))
            deployment.note("read-only", seconds=READ_ONLY_S)
            with refusing(WAYS["read-only"], postgres_url, url):
                time.sleep(READ_ONLY_S)
        result = deployment.finish()
        said = deployment.text()
    assert said.count("its heartbeat failed") >= flips
    assert "Traceback" not in said
    assert result.claims == result.units
    run = f"{flips} times, units of {unit_s:g} s, leases of {lease_s:g} s"
    keep("F15", run, dataclasses.asdict(result))
