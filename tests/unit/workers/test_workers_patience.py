"""What touches every unit of a job may take longer than a PostgreSQL that answers is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

import labelgrove.ontology.sql.postgresql
from labelgrove.ontology.sql.database import create_engine, metadata, writing
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import job_table, job_unit_table, unit_table
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State
from labelgrove.workers.upkeep.retention import forget_jobs
from tests.integration.workers_support import plan_parts

pytestmark = pytest.mark.services

SILENCE_S = 0.5


@pytest.fixture
def engine(postgres_url: str) -> Iterator[sa.Engine]:
    engine = create_engine(postgres_url)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


def everything_is(state: State, engine: sa.Engine) -> None:
    with writing(engine) as connection:
        connection.execute(sa.update(job_table).values(state=state, finished_at=1.0))
        connection.execute(sa.update(unit_table).values(state=state, sha256="a" * 64, size=1))


def one_unit_failed(ledger: Ledger, plan: PlannedJob, engine: sa.Engine) -> None:
    claim = ledger.claim(plan.units[0].key, lease_s=60)
    assert claim is not None
    assert ledger.fail(claim, "it broke")


BULK: dict[str, tuple[Callable[[Ledger, PlannedJob, sa.Engine], object], Callable[..., object]]] = {
    "cancel": (lambda *_: None, lambda ledger, plan, _: ledger.cancel(plan.id)),
    "retry": (
        lambda ledger, plan, engine: everything_is(State.CANCELLED, engine),
        lambda ledger, plan, _: ledger.retry(plan.id),
    ),
    "submit again": (
        lambda ledger, plan, engine: everything_is(State.CANCELLED, engine),
        lambda ledger, plan, _: ledger.submit(plan),
    ),
    "recompute": (
        lambda ledger, plan, engine: everything_is(State.DONE, engine),
        lambda ledger, plan, _: ledger.recompute(plan.id),
    ),
    "settle": (one_unit_failed, lambda ledger, *_: ledger.settle()),
    "forget": (
        lambda ledger, plan, engine: everything_is(State.DONE, engine),
        lambda ledger, plan, engine: forget_jobs(engine, keep_s=1.0),
    ),
}


@pytest.mark.parametrize("name", BULK)
def test_a_statement_over_all_units_of_a_job_is_waited_for(
    name: str, engine: sa.Engine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, act = BULK[name]
    ledger, plan = Ledger(engine), plan_parts([1, 2])
    ledger.submit(plan)
    prepare(ledger, plan, engine)
    one = plan.units[1].key
    done: list[object] = []
    monkeypatch.setattr(labelgrove.ontology.sql.postgresql, "ANSWER_S", SILENCE_S)
    hurried = create_engine(postgres_url)
    thread = threading.Thread(target=lambda: done.append(act(Ledger(hurried), plan, hurried)))
    with writing(engine) as other:  # what makes a statement slow here is that it waits for a row
        for table, column in ((unit_table, "key"), (job_unit_table, "unit_key")):
            other.execute(sa.select(table).where(table.c[column] == one).with_for_update())
        thread.start()
        thread.join(3 * SILENCE_S)
        assert thread.is_alive()
    thread.join(60)
    assert len(done) == 1
    hurried.dispose()
