"""States and moves: each legal move happens, every other one changes nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from labelgrove.ontology.errors import ConflictError
from labelgrove.ontology.sql.database import writing
from labelgrove.workers.kinds import Step
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import job_table, unit_table
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import JOB_MOVES, UNIT_MOVES, Claim, State
from labelgrove.workers.requests.plan import plan_job
from tests.integration.workers_support import PARTS

LEASE_S = 60.0
SHA = "a" * 64
MINE = 7  # the fence of the claim under test


@pytest.fixture
def plan() -> PlannedJob:
    import dataclasses

    single = dataclasses.replace(PARTS, name="single", plan=lambda parameters: [Step(parameters)])
    return plan_job(single, {"numbers": []})


def _act_on_unit(ledger: Ledger, plan: PlannedJob, move: str) -> None:
    key = plan.units[0].key
    claim = Claim(key, MINE, 1, {}, ())
    match move:
        case "claim":
            ledger.claim(key, lease_s=LEASE_S)
        case "renew":
            ledger.heartbeat(claim, lease_s=LEASE_S)
        case "commit":
            ledger.commit(claim, SHA, 3)
        case "release":
            ledger.release(claim, "later", delay_s=5)
        case "fail":
            ledger.fail(claim, "never")
        case "abandon":
            ledger.abandon(claim)
        case "cancel":
            ledger.cancel(plan.id)
        case "retry":
            ledger.submit(plan)
        case "recompute":
            ledger.recompute(plan.id)


def _put_unit(engine: sa.Engine, plan: PlannedJob, state: State, *, lease_until: float = 0) -> None:
    with writing(engine) as connection:
        connection.execute(
            sa.update(unit_table).values(state=state, fence=MINE, attempts=1, lease_until=lease_until)
        )


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("move", UNIT_MOVES)
def test_every_move_of_a_unit(ledger, engine, clock, plan, state, move):
    ledger.submit(plan)
    if move == "recompute":  # asked of a job that is done
        with writing(engine) as connection:
            connection.execute(sa.update(job_table).values(state=State.DONE))
    _put_unit(engine, plan, state, lease_until=clock.time - 1)
    before = ledger.unit(plan.units[0].key)
    _act_on_unit(ledger, plan, move)
    after = ledger.unit(plan.units[0].key)
    if state in UNIT_MOVES[move].sources:
        assert after.state is UNIT_MOVES[move].target
        assert after != before or move in ("retry", "recompute")
        assert after.fence == MINE + (move == "claim")
    else:
        assert after == before


@pytest.mark.parametrize("move", ["renew", "commit", "release", "fail", "abandon"])
def test_an_older_fence_changes_nothing(ledger, engine, plan, move):
    ledger.submit(plan)
    _put_unit(engine, plan, State.RUNNING)
    with writing(engine) as connection:
        connection.execute(sa.update(unit_table).values(fence=MINE + 1))
    before = ledger.unit(plan.units[0].key)
    _act_on_unit(ledger, plan, move)
    assert ledger.unit(plan.units[0].key) == before


def test_a_lease_keeps_others_out_until_it_ends(ledger, clock, plan):
    ledger.submit(plan)
    key = plan.units[0].key
    first = ledger.claim(key, lease_s=LEASE_S)
    assert first is not None
    assert ledger.claim(key, lease_s=LEASE_S) is None
    clock.time += LEASE_S + 1
    second = ledger.claim(key, lease_s=LEASE_S)
    assert (first.fence, second.fence) == (1, 2)
    assert not ledger.commit(first, SHA, 3)
    assert ledger.commit(second, SHA, 3)
    assert not ledger.commit(second, "b" * 64, 3)
    assert ledger.unit(key).sha256 == SHA


def _act_on_job(ledger: Ledger, plan: PlannedJob, move: str) -> None:
    match move:
        case "finish" | "fail":
            ledger.settle()
        case "cancel":
            ledger.cancel(plan.id)
        case "retry":
            ledger.submit(plan)
        case "recompute":
            ledger.recompute(plan.id)


@pytest.mark.parametrize("state", [State.PENDING, State.DONE, State.FAILED, State.CANCELLED])
@pytest.mark.parametrize("move", JOB_MOVES)
def test_every_move_of_a_job(ledger, engine, plan, state, move):
    ledger.submit(plan)
    _put_unit(engine, plan, {"finish": State.DONE, "fail": State.FAILED}.get(move, State.PENDING))
    with writing(engine) as connection:
        connection.execute(sa.update(job_table).values(state=state))
    legal = state in JOB_MOVES[move].sources
    if move == "cancel" and state in (State.DONE, State.FAILED):
        with pytest.raises(ConflictError, match=f"is {state}; only"):
            _act_on_job(ledger, plan, move)
    else:
        _act_on_job(ledger, plan, move)
    with engine.connect() as connection:
        stored = connection.execute(sa.select(job_table.c.state)).scalar_one()
    assert stored == (JOB_MOVES[move].target if legal else state)
