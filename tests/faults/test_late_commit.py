"""A worker stopped between publication and commit, by a signal to itself, and woken when it is too late."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from labelgrove.workers.ledger.states import State
from tests.faults.deployment import Deployment
from tests.faults.faulty_app import COMMITS, HELD, HOLD
from tests.faults.trial_kind import Conditions
from tests.integration.workers_support import notes
from tests.services import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

SEED = 71


def stop_before_commit(deployment: Deployment) -> tuple[int, str]:
    """Let the next worker that has published stop; return its process and the unit, once another has it."""
    (deployment.home / HELD).unlink(missing_ok=True)
    (deployment.home / HOLD).touch()
    deployment.submit(1)
    wait_until(lambda: bool(notes(deployment.home / HELD)), deadline_s=30, what="a worker to stop")
    process, key, fence = notes(deployment.home / HELD)[0].split()
    deployment.note("stopped between publication and commit", process=int(process), unit=key)
    wait_until(
        lambda: deployment.ledger.unit(key).fence > int(fence), deadline_s=30, what="another worker to claim"
    )
    return int(process), key


def answers(deployment: Deployment, key: str) -> list[str]:
    """What the workers of a unit were told, in the order of their claims."""
    told = [line.split() for line in notes(deployment.home / COMMITS)]
    return [outcome for _, _, outcome in sorted(line for line in told if line[0] == key)]


def test_it_is_fenced_off_while_another_works_and_after(tmp_path: Path):
    with Deployment(tmp_path, seed=SEED, conditions=Conditions(unit_s=1.0)) as deployment:
        for wait_for_the_other in (False, True):
            process, key = stop_before_commit(deployment)
            if wait_for_the_other:
                wait_until(
                    lambda key=key: deployment.ledger.unit(key).state is State.DONE,
                    deadline_s=30,
                    what="the other worker to commit",
                )
            os.kill(process, signal.SIGCONT)
            wait_until(
                lambda key=key: f"unit {key} of kind trial, attempt 1: lost" in deployment.text(),
                deadline_s=30,
                what="the late commit to be refused",
            )
            wait_until(
                lambda key=key: answers(deployment, key) == ["lost", "won"],
                deadline_s=30,
                what="one commit",
            )
        result = deployment.finish()
        assert result.claims == result.units + 2


def test_without_the_fence_it_would_commit(tmp_path: Path):
    conditions = Conditions(unit_s=4.0, mutant="fence")  # the other works long enough for it to be late
    with Deployment(tmp_path, seed=SEED, conditions=conditions) as deployment:
        process, key = stop_before_commit(deployment)
        os.kill(process, signal.SIGCONT)
        deployment.drain(deadline_s=15)
        found = deployment.breaches()
    assert re.search(rf"{key}: committed by claim 1, whose lease had gone to another", "\n".join(found))


def test_without_the_sweeper_a_job_would_be_lost(tmp_path: Path):
    with Deployment(tmp_path, seed=SEED, slots=1, conditions=Conditions(mutant="sweeper")) as deployment:
        deployment.submit(4)
        (node,) = deployment.nodes
        wait_until(lambda: deployment.units(State.RUNNING) == 1, deadline_s=30, what="a unit to run")
        node.kill()
        with deployment.broker.client() as client:
            client.flushall()
        deployment.note("node killed, broker emptied")
        deployment.restart(node)
        deployment.settle()
        deployment.drain(deadline_s=10)
        found = deployment.breaches()
    assert any("lost, it is" in breach for breach in found)
