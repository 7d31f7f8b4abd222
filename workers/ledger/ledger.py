"""Requested, running and finished work: jobs and their units as SQL rows.

Only the rows decide what is done and what is not; a message merely wakes a worker. So nothing here depends on
a broker. Every change of state is a compare-and-set statement built from `UNIT_MOVES` or `JOB_MOVES`, which
list the legal moves. The statement changes no row whose state does not allow the move. A **lease** says until
when a unit belongs to a worker, so that no other worker repeats its work. Every claim raises the **fence** of
the unit, and the worker's later statements have an effect only if the fence is unchanged. This keeps the
result correct even if the worker lost its lease without noticing.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from labelgrove.ontology.errors import ConflictError, InputError, NotFoundError
from labelgrove.ontology.sql.database import autocommitting, now, patient, reading, upsert, writing
from labelgrove.workers.ledger.failures import shortened, spent_text
from labelgrove.workers.ledger.records import (
    about_versions,
    in_state,
    read_jobs,
    read_requested_names,
    read_units,
)
from labelgrove.workers.ledger.schema import (
    LONGEST_NAME,
    job_table,
    job_unit_table,
    publication_table,
    unit_table,
)
from labelgrove.workers.ledger.specs import PlannedJob, canonical_json, unit_request
from labelgrove.workers.ledger.statements import (
    DECIDED,
    MISSED,
    WANTED,
    WITNESS_DONE,
    advance,
    advance_after,
    claiming,
    committing,
    expiring,
    job_move,
    job_reopened,
    marking,
    one_job,
    reopened,
    settling,
    tell_how_many,
    unit_move,
    units_of,
    wait_again,
)
from labelgrove.workers.ledger.states import GRAPH, Beat, Claim, Job, State, Unit

__all__ = ["RESEND_S", "Ledger"]

RESEND_S = (5, 10, 20, 40, 80, 160, 320, 600)
"""Seconds until a unit that nobody claimed is sent again, by the number of times it was sent before."""

_BEGINNING = re.compile(r"[0-9a-f]{1,64}")
_BATCH = 10_000
"""Rows written by one statement."""

_job, _unit, _job_unit, _publication = (
    t.c for t in (job_table, unit_table, job_unit_table, publication_table)
)


def _like(state: State | None, kind: str | None, asked_by: str | None) -> sa.ColumnElement[bool]:
    """Return the condition on the state, kind and sender of a job; None stands for any."""
    return sa.and_(
        sa.true() if state is None else in_state(state),
        sa.true() if kind is None else _job.kind == kind,
        sa.true() if asked_by is None else _job.asked_by == asked_by,
    )


class Ledger:
    """The jobs and units in one SQL database; safe to share between threads.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Made by `ontology.sql.database.create_engine`; the database has the schema of this version of
        labelgrove.
    clock : callable, optional
        Returns the time in seconds; by default the clock of the database server, never a worker's.
    max_attempts : int, default=10
        The most claims of one unit. A unit that has not finished after so many claims fails.
    jitter : random.Random, optional
        Source of the random factor that lengthens the time until a unit is sent again; no result depends on
        it. By default newly seeded.

    Notes
    -----
    If the database does not answer, `ServiceError` is raised; if it is busy for too long, `TransientError`.
    """

    def __init__(
        self,
        engine: sa.Engine,
        *,
        clock: Callable[[], float] | None = None,
        max_attempts: int = 10,
        jitter: random.Random | None = None,
    ) -> None:
        self._engine = engine
        self.clock = clock
        self._jitter = jitter or random.Random()
        self.max_attempts = max_attempts
        self._marks: tuple[tuple[tuple[str, int], ...] | None, sa.Update] | None = None
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()

    # ---- submitting --------------------------------------------------------------------------------

    def submit(
        self, plan: PlannedJob, *, target: Mapping[str, str] | None = None, asked_by: str | None = None
    ) -> None:
        """Record a job and all its units in one transaction; submitting it again makes no second job.

        Failed and cancelled units are tried again; done units are kept. `target` is the name that the result
        gets. If several jobs request the same name, the last request wins. `asked_by` says who requests it;
        the first who did stays recorded.
        """
        with self._writing() as connection:
            self.record(connection, plan, target=target, asked_by=asked_by)

    def record(
        self,
        connection: sa.Connection,
        plan: PlannedJob,
        *,
        target: Mapping[str, str] | None = None,
        asked_by: str | None = None,
    ) -> None:
        """Do the same as `submit`, in a transaction in which the caller may also write other rows."""
        instant = self._now()
        shared = {"kind": plan.kind, "kind_version": plan.version, "state": State.PENDING}
        fresh = {"fence": 0, "lease_until": 0, "attempts": 0, "sends": 0, "next_send_at": instant}
        units = sorted(plan.units, key=lambda unit: unit.key)  # one order of locks for all who submit
        first: dict[int, str | None] = {
            stage: next((unit.key for unit in units if unit.stage < stage), None)
            for stage in {unit.stage for unit in units}
        }
        late = [unit.key for unit in units if first[unit.stage] is not None]
        last = max(units, key=lambda unit: unit.stage)
        recorded = connection.execute(
            upsert(connection, job_table)
            .values(
                id=plan.id,
                spec_json=plan.spec_json,
                created_at=instant,
                last_unit=last.key,
                asked_by=None if asked_by is None else asked_by[:LONGEST_NAME],
                **shared,
            )
            .on_conflict_do_nothing()
            .returning(_job.id)
        ).first()
        insert_unit = upsert(connection, unit_table).values(**shared, **fresh).on_conflict_do_nothing()
        insert_held = upsert(connection, job_unit_table).on_conflict_do_nothing()
        for begin in range(0, len(units), _BATCH):
            some = units[begin : begin + _BATCH]
            rows = [(u.key, u.spec_json, u.stage, first[u.stage]) for u in some]
            columns = ("key", "spec_json", "stage", "waits_for")
            connection.execute(insert_unit, [dict(zip(columns, row, strict=True)) for row in rows])
            connection.execute(insert_held, [{"job_id": plan.id, "unit_key": unit.key} for unit in some])
        connection.execute(advance().where(_unit.key.in_(late), WITNESS_DONE))
        if recorded is None:  # not before: its row is locked from here on
            connection.execute(sa.update(job_table).values(asked_again_at=instant).where(_job.id == plan.id))
        connection.execute(job_reopened("retry").where(_job.id == plan.id))
        with patient(connection):
            connection.execute(reopened("retry", self._now()).where(_unit.key.in_(units_of(plan.id))))
        # a name that could not be given belongs to the request for it, not to this one
        unnamed = (_publication.job_id == plan.id, _publication.state == State.FAILED)
        connection.execute(sa.delete(publication_table).where(*unnamed))
        wish = {"job_id": plan.id, "state": State.PENDING, "error": None}
        insertion = upsert(connection, publication_table)
        if target is not None:
            connection.execute(
                insertion.values(
                    kind=plan.kind, target_json=canonical_json(target), **wish
                ).on_conflict_do_update(index_elements=["kind", "target_json"], set_=wish)
            )
        if plan.shown:  # once for each job
            shown = {"kind": plan.kind, "target_json": canonical_json({GRAPH: plan.id})}
            connection.execute(insertion.values(**shown, **wish).on_conflict_do_nothing())
        tell_how_many(connection, len(units))

    def recompute(self, job_id: str) -> None:
        """Open a done job and all its units again, because the store no longer has one of its artifacts."""
        with self._writing() as connection, patient(connection):
            if connection.execute(job_reopened("recompute").where(_job.id == job_id)).rowcount:
                mine = units_of(job_id)
                connection.execute(reopened("recompute", self._now()).where(_unit.key.in_(mine)))
                connection.execute(wait_again(mine))

    def retry(self, job_id: str) -> None:
        """Open a failed or cancelled job again, with its failed and cancelled units; done units are kept.

        Raises
        ------
        NotFoundError
            If there is no such job.
        ConflictError
            If the job did not fail and was not cancelled.
        """
        with self._writing() as connection, patient(connection):
            if connection.execute(job_reopened("retry").where(_job.id == job_id)).rowcount:
                connection.execute(reopened("retry", self._now()).where(_unit.key.in_(units_of(job_id))))
                return
        state = self.job(job_id).state
        raise ConflictError(f"job {job_id} is {state}; only a failed or cancelled job can be tried again")

    def cancel(self, job_id: str) -> None:
        """Cancel a job and those of its units that no other job needs.

        A running unit stops at its next heartbeat.

        Raises
        ------
        NotFoundError
            If there is no such job.
        ConflictError
            If the job is already done or has failed.
        """
        with self._writing() as connection, patient(connection):
            moved = connection.execute(job_move("cancel", finished_at=self._now()).where(_job.id == job_id))
            if moved.rowcount:
                connection.execute(unit_move("cancel").where(_unit.key.in_(units_of(job_id)), ~WANTED))
                return
        state = self.job(job_id).state
        if state is not State.CANCELLED:
            raise ConflictError(f"job {job_id} is {state}; only a pending or running job can be cancelled")

    # ---- working -----------------------------------------------------------------------------------

    def claim(self, key: str, *, lease_s: float) -> Claim | None:
        """Claim a unit for `lease_s` seconds; return None if it is unknown, taken, finished or not ready."""
        values = self._at({"claimed": key, "lease_s": lease_s})
        with self._autocommitting() as connection:
            row = connection.execute(self._claiming, values).one_or_none()
            if row is None:
                return None
            try:
                parameters, inputs = unit_request(row.spec_json)
            except InputError as error:  # the next sweep settles its jobs
                fail = unit_move("fail", error=str(error), ended_at=self._now())
                connection.execute(fail.where(*self._held(key, row.fence)))
                return None
            made: dict[str, str] = {}
            if inputs:  # each of its jobs holds all of them: one query, however many they are
                query = sa.select(_unit.key, _unit.sha256).where(
                    _unit.key.in_(units_of(one_job(key))), _unit.state == State.DONE
                )
                made = {found.key: found.sha256 for found in connection.execute(query)}
            missing = min((unit_key for unit_key in inputs if unit_key not in made), default=None)
            if missing is not None:  # reopened for another job, as its artifact was gone
                again = {"attempts": row.attempts - 1, "next_send_at": self._now()}
                waits = unit_move("release", waits_for=missing, **again)
                connection.execute(waits.where(*self._held(key, row.fence)))
                return None
        return Claim(key, row.fence, row.attempts, parameters, tuple(made[unit_key] for unit_key in inputs))

    def heartbeat(self, claim: Claim, *, lease_s: float) -> Beat:
        """Renew the lease; return whether the claim is held, the claim is lost, or no job wants the unit."""
        held = self._held(claim.key, claim.fence)
        renewal = unit_move("renew", lease_until=self._now() + lease_s).where(*held).returning(WANTED)
        with self._autocommitting() as connection:
            wanted = connection.execute(renewal).scalar_one_or_none()
        if wanted is None:
            return Beat.LOST
        return Beat.HELD if wanted else Beat.UNWANTED

    def commit(self, claim: Claim, sha256: str, size: int) -> bool:
        """Record the published artifact of a unit; return False, with no change, if the claim was lost.

        If the database's answer to a call was lost, the call can be repeated: it then changes nothing and
        returns True.
        """
        values = {"ended": claim.key, "held": claim.fence, "made": sha256, "bytes": size}
        mine = self._held(claim.key, claim.fence)
        with self._autocommitting() as connection:
            committed = connection.execute(self._committing, self._at(values)).rowcount == 1
            if not committed:
                before = sa.select(_unit.key).where(*mine, _unit.state == State.DONE, _unit.sha256 == sha256)
                return connection.execute(before).first() is not None
            advance_after(connection, claim.key)  # if a crash prevents this, the next sweep does it
        return True

    def release(self, claim: Claim, error: str, *, delay_s: float) -> bool:
        """Give a unit back after a temporary fault, to be sent again after `delay_s` seconds.

        If this was its last attempt (`max_attempts`), the unit fails instead. Return False, with no change,
        if the claim was lost.
        """
        if claim.attempts >= self.max_attempts:
            return self._spent(claim, error)
        later, shown = self._now() + delay_s, shortened(error)
        return self._end(claim, unit_move("release", next_send_at=later, sends=0, error=shown))

    def hand_back(self, claim: Claim) -> bool:
        """Give a unit back at once because its worker was told to stop; this does not count as an attempt.

        Return False, with no change, if the claim was lost.
        """
        told = "returned: its worker was told to stop"
        free = {"attempts": _unit.attempts - 1, "next_send_at": self._now(), "sends": 0}
        return self._end(claim, unit_move("release", error=told, **free))

    def inputs_lost(self, claim: Claim, digests: Collection[str], error: str) -> bool:
        """Make a unit wait until its lost inputs have been computed again.

        `digests` are those of the lost artifacts. The claim counts as an attempt; if it was the last attempt
        (`max_attempts`), the unit fails instead. A done job is opened again only if its result is a lost
        artifact, not if it merely used one. Return False, with no change, if the claim was lost.
        """
        if claim.attempts >= self.max_attempts:
            return self._spent(claim, error)
        instant = self._now()
        release = unit_move(
            "release", next_send_at=instant, sends=0, error=shortened(error), ended_at=instant
        )
        held = release.where(*self._held(claim.key, claim.fence)).returning(_unit.stage)
        with self._writing() as connection:
            stage = connection.execute(held).scalar_one_or_none()
            if stage is None:
                return False
            before = (_unit.key.in_(units_of(one_job(claim.key))), _unit.stage < stage)
            lost = sa.select(_unit.key).where(*before, _unit.sha256.in_(digests))
            keys = list(connection.execute(lost).scalars())
            connection.execute(reopened("recompute", instant).where(_unit.key.in_(keys)))
            connection.execute(job_reopened("recompute").where(_job.last_unit.in_(keys)))
            with patient(connection):
                connection.execute(wait_again(sa.select(_unit.key).where(_unit.key.in_(keys))))
        return True

    def fail(self, claim: Claim, error: str) -> bool:
        """Mark a unit as failed; return False, with no change, if the claim was lost."""
        return self._end(claim, unit_move("fail", error=shortened(error)))

    def abandon(self, claim: Claim) -> bool:
        """End a unit that no job wants; return False, with no change, if the claim was lost."""
        return self._end(claim, unit_move("abandon"))

    # ---- sweeping ----------------------------------------------------------------------------------

    def expire(self, *, away_s: float = 0.0) -> int:
        """Give back the units whose lease has ended, so that other workers can claim them.

        A unit without attempts left (`max_attempts`) fails instead, and a unit that no job wants is
        cancelled. Leases that ended in the last `away_s` seconds are left alone, because the ledger was
        unreachable during that time and nobody could renew them. Return the number of units changed.
        """
        moved = 0
        with self._writing() as connection:
            for move in expiring(self._now(), self.max_attempts, away_s=away_s):
                moved += connection.execute(move).rowcount
        return moved

    def due(
        self, window: int, *, kinds: Collection[tuple[str, int]] | None = None
    ) -> list[tuple[str, str, int]]:
        """Mark as sent the units that are due to be sent, the oldest first; return a tuple for each.

        The tuple is (key, kind, version of the kind).
        Only units of `kinds`, given as pairs (kind, version), are considered; by default units of every kind.
        Units that no job wants any more are cancelled instead.

        At any time, at most `window` units are sent but not yet claimed. While more than ``window // 2``
        units are in this state, no more are sent. The other units wait in the ledger, in order, where they
        can still be cancelled. A unit that nobody claims is due again after the time in `RESEND_S`,
        lengthened at random by up to a quarter.
        """
        values = {"window": window, "half": window // 2, "jitter": self._jitter.uniform(1.0, 1.25)}
        with self._autocommitting() as connection:
            rows = sorted(connection.execute(self._marking(kinds), self._at(values)).all())
            unwanted = [key for key, _, _, wanted in rows if not wanted]
            if unwanted:  # given back after its job had been cancelled
                connection.execute(unit_move("cancel").where(_unit.key.in_(unwanted), ~WANTED))
        return [(key, kind, version) for key, kind, version, wanted in rows if wanted]

    def claimable(self, job_id: str, *, limit: int) -> list[str]:
        """Return the keys of at most `limit` units of a job: units that may run now and are not being run."""
        query = (
            sa.select(_unit.key)
            .where(_unit.key.in_(units_of(job_id)), _unit.state == State.PENDING, _unit.waits_for.is_(None))
            .where(sa.or_(_unit.attempts == 0, _unit.next_send_at <= self._now()))
            .order_by(_unit.key)
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return list(connection.execute(query).scalars())

    def unsent(self, keys: Sequence[str]) -> None:
        """Undo the mark that `due` set on units whose message could not be sent; they are due again soon."""
        with self._writing() as connection:
            connection.execute(
                sa.update(unit_table)
                .where(_unit.key.in_(keys), _unit.state == State.PENDING, _unit.sends > 0)
                .values(sends=_unit.sends - 1, next_send_at=self._now() + RESEND_S[0])
            )

    def settle(self, key: str | None = None) -> list[str]:
        """Bring jobs and units up to date with each other; return the ids of the jobs that ended.

        A job fails as soon as one of its units has failed, and is done when its last unit is done. When a job
        fails, those of its units that no other job wants are cancelled. With `key`, consider only the jobs of
        that unit, which has just ended. Without it, consider all jobs; every sweep
        (`workers.running.sweeper`) does so, because two commits at the same moment may not see each other.
        """
        if key is not None:
            with autocommitting(self._engine) as connection:  # nearly every unit decides nothing
                if connection.execute(DECIDED, {"ended": key}).first() is None:
                    return []
        fail, finish = settling(key, self._now())
        with self._writing() as connection:
            lost = list(connection.execute(fail).scalars())
            done = list(connection.execute(finish).scalars())
            if lost:
                with patient(connection):
                    connection.execute(unit_move("cancel").where(_unit.key.in_(units_of(*lost)), ~WANTED))
            if key is None:
                connection.execute(advance().where(_unit.waits_for > "", WITNESS_DONE))
                keys = connection.execute(MISSED).scalars().all()
                if keys:
                    connection.execute(reopened("retry", self._now()).where(_unit.key.in_(keys)))
        return lost + done

    # ---- reading -----------------------------------------------------------------------------------

    def job(self, job_id: str, *, about: Collection[str] | None = None) -> Job:
        """Return the job whose id begins with `job_id`; raise `NotFoundError` unless there is exactly one.

        `about` is as for `jobs`.
        """
        found: list[Job] = []
        if _BEGINNING.fullmatch(job_id):
            with reading(self._engine) as connection:
                wanted = sa.and_(_job.id.startswith(job_id), *_about(connection, about))
                found = read_jobs(connection, wanted, limit=2)
        if len(found) != 1:
            problem = "several jobs begin with" if found else "there is no job"
            raise NotFoundError(f"{problem} {job_id!r}; `grove jobs list` shows all jobs")
        return found[0]

    def jobs(
        self,
        *,
        limit: int = 100,
        state: State | None = None,
        kind: str | None = None,
        asked_by: str | None = None,
        about: Collection[str] | None = None,
    ) -> list[Job]:
        """Return the newest jobs, newest first; by default jobs in any state and of any kind.

        `about` has digests of versions: jobs about others are left out.
        """
        with reading(self._engine) as connection:
            wanted = sa.and_(_like(state, kind, asked_by), *_about(connection, about))
            return read_jobs(connection, wanted, limit=limit)

    def n_jobs(
        self,
        *,
        state: State | None = None,
        kind: str | None = None,
        asked_by: str | None = None,
        about: Collection[str] | None = None,
    ) -> int:
        """Return the number of jobs that `jobs` would return without a limit."""
        with reading(self._engine) as connection:
            wanted = sa.and_(_like(state, kind, asked_by), *_about(connection, about))
            query = sa.select(sa.func.count()).select_from(job_table).where(wanted)
            return int(connection.execute(query).scalar_one())

    def requested_names(self, job_id: str) -> list[Mapping[str, str]]:
        """Return the names requested for the result of a job.

        Requests to write the result into the graph are left out.
        """
        with reading(self._engine) as connection:
            return read_requested_names(connection, job_id)

    def unit(self, key: str) -> Unit | None:
        """Return one unit, or None if there is no such unit."""
        with reading(self._engine) as connection:
            return next(iter(read_units(connection, _unit.key == key, limit=1)), None)

    def units(self, job_id: str) -> list[str]:
        """Return the keys of a job's units, in an order in which they can be run."""
        query = sa.select(_unit.key).where(_unit.key.in_(units_of(job_id))).order_by(_unit.stage, _unit.key)
        with reading(self._engine) as connection:
            return list(connection.execute(query).scalars())

    def unit_records(self, job_id: str, *, limit: int) -> list[Unit]:
        """Return the first `limit` units of a job, in an order in which they can be run."""
        with reading(self._engine) as connection:
            return read_units(connection, _unit.key.in_(units_of(job_id)), limit=limit)

    # ---- building blocks ---------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that may write.

        On SQLite, the threads of this process take turns, because SQLite waits for another writer by
        sleeping.
        """
        with self._turn, writing(self._engine) as connection:
            yield connection

    @contextmanager
    def _autocommitting(self) -> Iterator[sa.Connection]:
        """Open a connection for statements that need no common transaction.

        If a crash prevents some of them, a sweep does their work later.

        On PostgreSQL each statement is its own transaction, which saves round trips. On SQLite, where each
        commit waits for the disk, all of them run in one transaction, as in `_writing`.
        """
        own = writing if self._engine.dialect.name == "sqlite" else autocommitting
        with self._turn, own(self._engine) as connection:
            yield connection

    def _now(self) -> Any:
        return now() if self.clock is None else self.clock()

    def _at(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return `values`, the parameters of a statement, with ``instant`` added if the statement needs it.

        ``instant`` is the current time. A statement needs it if this ledger does not use the clock of the
        database server.
        """
        return values if self.clock is None else {"instant": self.clock(), **values}

    @cached_property
    def _instant(self) -> Any:
        return now() if self.clock is None else sa.bindparam("instant", type_=sa.Double)

    @cached_property
    def _claiming(self) -> sa.Update:  # made once: making it takes as long as executing it
        return claiming(self._instant, self._free(self._instant))

    @cached_property
    def _committing(self) -> sa.Update:
        held = self._held(sa.bindparam("ended"), sa.bindparam("held"))
        return committing(self._instant).where(*held)

    def _marking(self, kinds: Collection[tuple[str, int]] | None) -> sa.Update:
        known = None if kinds is None else tuple(kinds)
        if self._marks is None or self._marks[0] != known:
            self._marks = known, marking(self._instant, known, RESEND_S)
        return self._marks[1]

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        """Return the condition under which a unit may be claimed: nobody works on it, or its lease has ended.

        A unit whose lease has ended may be claimed only if it has attempts left (`max_attempts`). A pending
        unit may be claimed even without attempts left: a process with a larger `max_attempts` may have given
        it back. If it could not be claimed, nobody would ever run it or mark it as failed.
        """
        ended = sa.and_(_unit.lease_until < instant, _unit.attempts < self.max_attempts)
        return sa.or_(_unit.state == State.PENDING, ended)

    def _held(self, key: Any, fence: Any) -> tuple[sa.ColumnElement[bool], ...]:
        """Return the condition under which the claim on a unit is still valid: its fence is unchanged."""
        return _unit.key == key, _unit.fence == fence

    def _end(self, claim: Claim, statement: sa.Update) -> bool:
        ended = statement.where(*self._held(claim.key, claim.fence)).values(ended_at=self._now())
        with self._writing() as connection:
            return connection.execute(ended).rowcount == 1

    def _spent(self, claim: Claim, error: str) -> bool:
        return self.fail(claim, spent_text(error, claim.attempts, self.max_attempts))


def _about(connection: sa.Connection, about: Collection[str] | None) -> list[sa.ColumnElement[bool]]:
    return [] if about is None else [about_versions(connection, about)]
