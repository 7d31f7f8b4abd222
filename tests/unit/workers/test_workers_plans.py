"""What the statements of the ledger look at, by SQLite's own account, and their order."""

from __future__ import annotations

import sqlalchemy as sa

from tests.integration.workers_support import plan_parts

LEASE_S = 60.0
ONE_ROW = ("SCAN CONSTANT ROW", "SCAN anon_")  # values, and a count


def test_no_statement_for_one_unit_looks_at_all_units(ledger, engine):
    ledger.submit(plan_parts(list(range(1, 40))))
    asked = []
    sa.event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
    (first, *_), (second, *_) = ledger.due(2)
    claim = ledger.claim(first, lease_s=LEASE_S)
    ledger.heartbeat(claim, lease_s=LEASE_S)
    ledger.commit(claim, first, 8)
    ledger.settle(first)
    ledger.claim(second, lease_s=-1)
    ledger.expire()
    statements = [given for given in asked if given[0].startswith(("UPDATE", "SELECT"))]
    assert len(statements) >= 8
    with engine.connect() as connection:
        for statement, values in statements:
            steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            scans = [step[-1] for step in steps if step[-1].startswith("SCAN")]
            assert all(scan.startswith(ONE_ROW) for scan in scans), statement


def test_asking_again_locks_the_row_of_the_job_last(ledger, engine):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    asked = []
    sa.event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    ledger.submit(plan)
    changed = [i for i, statement in enumerate(asked) if statement.startswith("UPDATE job ")]
    added = [i for i, statement in enumerate(asked) if statement.startswith("INSERT INTO job_unit")]
    assert max(added) < min(changed)
