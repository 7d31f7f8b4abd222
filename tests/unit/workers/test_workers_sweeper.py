"""The thread that sweeps: it outlives what a sweep raises, and ends when it is told to."""

from __future__ import annotations

import logging
import threading
import time

import pytest
import sqlalchemy as sa

from labelgrove.ontology.errors import GroveError, ServiceError
from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running import sweeper
from labelgrove.workers.running.presence import Presence
from tests.integration.workers_support import plan_parts
from tests.services import wait_until


def test_what_a_sweep_raises_does_not_end_the_next(caplog):
    faults = [ServiceError("the database is away"), RuntimeError("a defect")]
    sweeps = []

    def once() -> None:
        sweeps.append(len(sweeps))
        if faults:
            raise faults.pop(0)

    caplog.set_level(logging.WARNING)
    thread = sweeper.Sweeper(once, period_s=0.01)
    thread.start()
    wait_until(lambda: len(sweeps) >= 4, deadline_s=30, what="sweeps after two that failed")
    thread.stop()
    assert not thread.is_alive()
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]


def test_a_sweep_that_hangs_is_left_behind():
    began, go_on = threading.Event(), threading.Event()

    def once() -> None:
        began.set()
        go_on.wait(30)

    thread = sweeper.Sweeper(once)
    thread.start()
    assert began.wait(30)
    thread.stop(within_s=0.05)
    assert thread.is_alive()
    go_on.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_lease_that_ended_while_the_database_was_away_may_be_renewed_first(workspace: Workspace):
    ledger, presence = Ledger(workspace.engine), Presence(1)

    def sweep() -> int:
        return sweeper.sweep(workspace, ledger, lambda key, queue: None, window=1, presence=presence)

    def renamed(old: str, new: str) -> None:
        with writing(workspace.engine) as connection:
            connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))

    plan = plan_parts([1, 2])
    held, lost = (unit.key for unit in plan.units[:2])
    ledger.submit(plan)
    assert sweep() == 0
    claims = [ledger.claim(key, lease_s=0.1) for key in (held, lost)]
    until = ledger.unit(lost).lease_until
    renamed("unit", "away")
    with pytest.raises(GroveError):
        sweep()
    wait_until(lambda: time.time() > until, deadline_s=30, what="the end of the leases")
    renamed("away", "unit")
    assert sweep() == 0
    ledger.heartbeat(claims[0], lease_s=60)
    assert sweep() == 1
    assert [ledger.unit(key).state for key in (held, lost)] == [State.RUNNING, State.PENDING]
