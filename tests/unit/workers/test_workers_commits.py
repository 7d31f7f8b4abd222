"""Two commits on PostgreSQL, neither of which sees the other; on SQLite writers take turns."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from labelgrove.ontology.sql.database import reading, writing
from labelgrove.workers.ledger.schema import unit_table
from tests.integration.workers_support import plan_parts
from tests.services import wait_until

pytestmark = [pytest.mark.services, pytest.mark.parametrize("engine", ["postgresql"], indirect=True)]

LEASE_S = 60.0


def test_last_units_that_end_at_once_hold_nothing_up(ledger, engine):
    """One commit is about to make the last unit wait for a unit whose commit is over before."""
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    (first, second), (last,) = ([u.key for u in plan.units if u.stage == stage] for stage in (0, 1))
    with reading(engine) as connection:
        row = sa.select(unit_table.c.waits_for).where(unit_table.c.key == last)
        if connection.execute(row).scalar_one() != first:
            first, second = second, first
    claims = [ledger.claim(key, lease_s=LEASE_S) for key in (first, second)]
    committing = threading.Thread(target=ledger.commit, args=(claims[0], "a" * 64, 8))
    blocked = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")

    def is_blocked() -> bool:
        with reading(engine) as connection:
            return connection.execute(blocked).scalar_one() > 0

    with writing(engine) as connection:
        connection.execute(row.with_for_update())
        committing.start()
        wait_until(is_blocked, deadline_s=20, what="the first commit to want the row of the last unit")
        assert ledger.commit(claims[1], "b" * 64, 8)
    committing.join()
    assert ledger.claim(last, lease_s=LEASE_S) is not None, "it waits for the next sweep"
