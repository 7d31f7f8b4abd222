"""F5: a broker that gives a message to somebody else long before the task ends."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests.faults.deployment import Deployment
from tests.faults.measured import keep
from tests.faults.trial_kind import Conditions

pytestmark = [pytest.mark.faults, pytest.mark.services]

SEED = 51
OFTEN = Conditions(lease_s=6.0, unit_s=2.0, visibility_s=0.5)


def deliveries(deployment: Deployment) -> int:
    """How many messages reached a worker."""
    return len(re.findall(r"Task labelgrove\.run_unit\[\S+\] received", deployment.text()))


@pytest.mark.parametrize("tasks", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_a_message_delivered_again_and_again_is_one_commit(tmp_path: Path, tasks: int):
    with Deployment(tmp_path, seed=SEED, nodes=2, slots=3, conditions=OFTEN) as deployment:
        deployment.submit(tasks - 1)
        result = deployment.finish()
        assert result.units == result.claims == tasks
        again = deliveries(deployment) - tasks
    assert again >= tasks // 2, f"only {again} deliveries too many: nothing was tried"
    keep("F5", f"{tasks} tasks", {**dataclasses.asdict(result), "note": f"{again} deliveries too many"})


def test_without_the_lease_the_duplicates_would_work_as_well(tmp_path: Path):
    conditions = dataclasses.replace(OFTEN, mutant="lease")
    with Deployment(tmp_path, seed=SEED, nodes=2, slots=3, conditions=conditions) as deployment:
        deployment.submit(2)
        deployment.drain(deadline_s=10)
        found = "\n".join(deployment.breaches())
    assert re.search(r"claimed as \d+ while the lease of \d+ ran", found)
