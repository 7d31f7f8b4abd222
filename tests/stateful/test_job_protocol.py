"""The job protocol over the real SQL, under every fault that a broker, a clock and kill -9 can produce.

One history is up to 60 steps of a virtual world: messages get lost, doubled and late, workers die or freeze,
jobs are cancelled and asked for again. The laws hold after every step; when the faults stop, what is wanted
gets done. The same machine must catch each broken ledger below, or it proves nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy.pool import StaticPool

from labelgrove.ontology.errors import ConflictError
from labelgrove.ontology.sql.database import metadata
from labelgrove.workers.ledger.ledger import RESEND_S, Ledger
from labelgrove.workers.ledger.states import Beat, Claim, State
from tests.faults.measured import keep
from tests.faults.mutants import WithoutFence, WithoutLease
from tests.integration.workers_support import plan_parts

pytestmark = pytest.mark.long

LEASE_S = 10.0
WINDOW = 3
PLANS = (plan_parts([1, 2]), plan_parts([2, 3]))  # two jobs that share a unit, each with a second stage
UNITS = sorted({unit.key: unit for plan in PLANS for unit in plan.units})
EARLIER = {
    unit.key: [other.key for other in plan.units if other.stage < unit.stage]
    for plan in PLANS
    for unit in plan.units
}


@dataclass
class Worker:
    claim: Claim
    published: bool = False


class Protocol(RuleBasedStateMachine):
    ledger_class: type[Ledger] = Ledger
    engine: sa.Engine  # of all histories: a new one would compile every statement again

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        with self.engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        self.ledger = self.ledger_class(
            self.engine, clock=lambda: self.time, max_attempts=10**6, jitter=Random(0)
        )
        self.queue: list[str] = []
        self.workers: list[Worker] = []
        self.leases: dict[str, float] = {}
        self.fences: dict[str, int] = {}
        self.committed: dict[str, str] = {}
        self.wanted: set[str] = set()

    def pick(self, items: list, number: int):
        return items[number % len(items)]

    # ---- the ordinary course -----------------------------------------------------------------------

    @initialize(number=st.integers(0, 1))
    def first_job(self, number: int) -> None:
        self.submit(number)

    @rule(number=st.integers(0, 1))
    def submit(self, number: int) -> None:
        self.ledger.submit(PLANS[number])
        self.wanted.add(PLANS[number].id)

    @rule()
    def sweep(self) -> None:
        self.ledger.expire()
        self.ledger.settle()
        due = [key for key, _, _ in self.ledger.due(WINDOW)]
        self.queue += due
        assert len(due) <= WINDOW

    @precondition(lambda self: self.queue)
    @rule(number=st.integers(0, 9), redelivered=st.booleans())
    def deliver(self, number: int, redelivered: bool) -> None:
        key = self.pick(self.queue, number)
        if not redelivered:
            self.queue.remove(key)
        self.claim(key)

    def claim(self, key: str) -> None:
        claim = self.ledger.claim(key, lease_s=LEASE_S)
        if claim is None:
            return
        assert self.leases.get(key, 0) < self.time, "claimed while another worker's lease ran"
        assert key not in self.committed, "claimed after it was done"
        assert all(earlier in self.committed for earlier in EARLIER[key]), (
            "claimed before its inputs were done"
        )
        assert claim.fence > self.fences.get(key, 0), "a fence was used twice"
        self.leases[key] = self.time + LEASE_S
        self.fences[key] = claim.fence
        self.workers.append(Worker(claim))

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 9))
    def work(self, number: int) -> None:
        """Beat, publish, then commit: one step further each time."""
        worker = self.pick(self.workers, number)
        if worker.published:
            self.workers.remove(worker)
            self.commit(worker.claim)
            return
        beat = self.ledger.heartbeat(worker.claim, lease_s=LEASE_S)
        if beat is Beat.HELD:
            self.leases[worker.claim.key] = self.time + LEASE_S
            worker.published = True
        else:
            self.workers.remove(worker)
            if beat is Beat.UNWANTED and self.ledger.abandon(worker.claim):
                del self.leases[worker.claim.key]

    def commit(self, claim: Claim) -> None:
        if not self.ledger.commit(claim, f"{claim.fence:064d}", 8):
            return
        assert claim.fence == self.fences[claim.key], "committed by a worker whose lease went to another"
        assert claim.key not in self.committed, "committed twice"
        self.committed[claim.key] = f"{claim.fence:064d}"
        del self.leases[claim.key]
        self.ledger.settle(claim.key)

    @rule(number=st.integers(0, 1))
    def quiet_while(self, number: int) -> None:
        """Long enough for all of a job to get done; without it few histories have a done job."""
        if PLANS[number].id not in self.wanted:
            return
        self.time += LEASE_S + 1
        for unit in PLANS[number].units:
            self.claim(unit.key)
            for worker in [w for w in self.workers if w.claim.key == unit.key]:
                self.workers.remove(worker)
                self.commit(worker.claim)

    # ---- faults ------------------------------------------------------------------------------------

    @precondition(lambda self: self.queue)
    @rule(number=st.integers(0, 9), lost=st.booleans())
    def broker_loses_or_doubles(self, number: int, lost: bool) -> None:
        key = self.pick(self.queue, number)
        self.queue.remove(key) if lost else self.queue.append(key)

    @rule(key=st.sampled_from(UNITS))
    def message_out_of_nowhere(self, key: str) -> None:
        self.claim(key)

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 9))
    def kill_worker(self, number: int) -> None:
        self.workers.remove(self.pick(self.workers, number))

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 9), swept=st.booleans())
    def freeze_worker(self, number: int, swept: bool) -> None:
        """A worker that has published sleeps past its lease; another one takes the unit up meanwhile."""
        worker = self.pick(self.workers, number)
        worker.published = True
        self.time += LEASE_S + 1
        if swept:
            self.ledger.expire()
        self.claim(worker.claim.key)

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 9), delay_s=st.integers(0, 20))
    def fault_of_the_moment(self, number: int, delay_s: int) -> None:
        worker = self.pick(self.workers, number)
        self.workers.remove(worker)
        if self.ledger.release(worker.claim, "busy", delay_s=delay_s):
            assert worker.claim.fence == self.fences[worker.claim.key], (
                "released by a worker that had lost it"
            )
            del self.leases[worker.claim.key]

    @rule(seconds=st.sampled_from([1, 5, LEASE_S + 1, 60]))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds

    @rule(number=st.integers(0, 1))
    def cancel(self, number: int) -> None:
        plan = PLANS[number]
        if plan.id not in self.wanted:
            return
        try:
            self.ledger.cancel(plan.id)
        except ConflictError:
            assert plan.units[-1].key in self.committed  # its result; inputs may be lost since
        else:
            self.wanted.discard(plan.id)

    @rule(number=st.integers(0, 1))
    def artifact_is_lost(self, number: int) -> None:
        """A done job is opened again with all its units, one of which another job may be waiting for."""
        plan = PLANS[number]
        self.ledger.settle()
        self.ledger.recompute(plan.id)
        if plan.id in self.wanted and not self.ledger.job(plan.id).finished:
            for key in [unit.key for unit in plan.units if self.ledger.unit(unit.key).state is State.PENDING]:
                self.committed.pop(key, None)

    @precondition(lambda self: self.workers)
    @rule(number=st.integers(0, 9), place=st.integers(0, 1))
    def input_is_lost(self, number: int, place: int) -> None:
        """A worker finds an input damaged, perhaps long after its lease ended."""
        worker = self.pick(self.workers, number)
        claim = worker.claim
        if not claim.inputs:
            return
        self.workers.remove(worker)
        lost = claim.inputs[place % len(claim.inputs)]
        if self.ledger.inputs_lost(claim, [lost], "damaged"):
            assert claim.fence == self.fences[claim.key], "gave up inputs after it had lost its lease"
            del self.leases[claim.key]
            for key in EARLIER[claim.key]:
                if self.committed.get(key) == lost:
                    del self.committed[key]

    # ---- laws --------------------------------------------------------------------------------------

    @invariant()
    def done_rows_are_the_commits(self) -> None:
        with self.engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT key, sha256 FROM unit WHERE state = 'done'").all()
        assert {row.key: row.sha256 for row in rows} == self.committed

    @invariant()
    def what_waits_for_nothing_has_its_inputs(self) -> None:
        """Or it would be sent too early, and sent again only seconds later."""
        with self.engine.connect() as connection:
            free = "SELECT key FROM unit WHERE state = 'pending' AND waits_for IS NULL"
            keys = connection.exec_driver_sql(free).scalars().all()
        for key in keys:
            assert all(earlier in self.committed for earlier in EARLIER[key]), "free before its inputs"

    def teardown(self) -> None:
        """Once the faults stop, every job that is wanted gets done."""
        self.workers.clear()
        self.queue.clear()
        for _ in range(12):
            if all(self.ledger.job(job_id).state is State.DONE for job_id in self.wanted):
                return
            self.time += 1.25 * RESEND_S[-1] + LEASE_S + 1
            self.sweep()
            while self.queue:
                self.deliver(0, redelivered=False)
                while self.workers:
                    self.work(0)
        lost = [self.ledger.job(job_id) for job_id in self.wanted]
        raise AssertionError(f"lost: {lost}")


def run(machine: type[Protocol], histories: int, phases: tuple[Phase, ...], number: int = 0) -> None:
    class Numbered(machine):
        engine = sa.create_engine("sqlite://", poolclass=StaticPool)

    metadata.create_all(Numbered.engine)
    try:
        run_state_machine_as_test(
            seed(number)(Numbered),
            settings=settings(
                max_examples=histories,
                stateful_step_count=60,
                deadline=None,
                database=None,
                phases=phases,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        Numbered.engine.dispose()


MANY = [pytest.mark.slow, pytest.mark.timeout(7200)]


@pytest.mark.parametrize(
    ("histories", "first", "stop"),
    [
        (100, 0, 1),
        pytest.param(300, 0, 1, marks=MANY),
        *(pytest.param(1_000, first, first + 5, marks=MANY) for first in (0, 5, 10, 15)),
    ],
)
def test_the_protocol_holds(histories, first, stop):
    begin = time.monotonic()
    for number in range(first, stop):  # not all at once: the more histories are known, the slower a new one
        run(Protocol, histories, (Phase.generate, Phase.shrink), number)
    took_s = round(time.monotonic() - begin, 1)
    seeds = f"{first}" if stop == first + 1 else f"{first} to {stop - 1}"
    keep("F3", f"{histories * (stop - first)} histories, seed {seeds}", {"seed": seeds, "seconds": took_s})


class WithoutExpiry(Ledger):
    def expire(self):
        return 0


class WithoutResend(Ledger):
    def due(self, window):
        return [entry for entry in super().due(window) if self.unit(entry[0]).fence == 0]


class WithoutSettling(Ledger):
    def settle(self, key=None):
        return []


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (WithoutFence, "whose lease went to another|had lost it|lost its lease|done_rows|committed"),
        (WithoutLease, "another worker's lease ran"),
        (WithoutExpiry, "lost: "),
        (WithoutResend, "lost: "),
        (WithoutSettling, "lost: "),
    ],
)
def test_the_machine_catches(broken, law):
    class Broken(Protocol):
        ledger_class = broken

    with pytest.raises(AssertionError, match=law):
        run(Broken, 200, (Phase.generate,))
