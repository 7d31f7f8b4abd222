"""What is asked for, what is running and what is done: jobs and their units as SQL rows.

A row is the truth and a message only a hint, so nothing here depends on a broker. Every change of state is a
compare-and-set statement built from `UNIT_MOVES` or `JOB_MOVES`: a move that the table does not list matches
no row. A **lease** says who works on a unit and saves repeated work; the **fence**, raised by every claim and
compared by every later statement, keeps the result correct even when a lease was lost unnoticed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ontology.database import now, reading, upsert, writing
from ontology.errors import ConflictError, NotFoundError
from workers.plan import PlannedJob, canonical_json
from workers.records import in_state, read_jobs, read_units
from workers.states import GRAPH, JOB_MOVES, UNIT_MOVES, Beat, Claim, Job, Publication, State, Unit
from workers.tables import job_table, job_unit_table, publication_table, unit_table

__all__ = ["RESEND_S", "Ledger"]

RESEND_S = (5, 10, 20, 40, 80, 160, 320, 600)
"""Seconds until a unit that nobody claimed is sent again, by the number of times it was sent before."""

_ERROR_CHARACTERS = 2000


_job, _unit, _job_unit, _publication = (
    t.c for t in (job_table, unit_table, job_unit_table, publication_table)
)

_mine, _other, _earlier = (
    job_unit_table.alias("mine"),
    job_unit_table.alias("other"),
    unit_table.alias("earlier"),
)

_WANTED = (
    sa.select(_job.id)
    .join_from(job_unit_table, job_table, _job_unit.job_id == _job.id)
    .where(_job_unit.unit_key == _unit.key, _job.state == State.PENDING)
    .correlate(unit_table)
    .exists()
)
"""Whether an unfinished job holds the unit row that the statement around it is at."""

_READY = ~(
    sa.select(_earlier.c.key)
    .select_from(_mine)
    .join(_other, _other.c.job_id == _mine.c.job_id)
    .join(_earlier, _earlier.c.key == _other.c.unit_key)
    .where(_mine.c.unit_key == _unit.key, _earlier.c.stage < _unit.stage, _earlier.c.state != State.DONE)
    .correlate(unit_table)
    .exists()
)
"""Whether all units of lower stages, in the jobs of the unit row around it, are done."""


class Ledger:
    """Jobs and units over one SQL database; safe to share between threads.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        From `ontology.database.create_engine`, with the schema of this version.
    clock : callable, optional
        Returns the time in seconds; by default the clock of the database server, never a worker's.
    max_attempts : int, default=10
        Claims after which a unit that never finished is failed.
    jitter : random.Random, optional
        Keeps several sweepers apart; never part of a result. Seeded afresh by default.

    Notes
    -----
    A database that does not answer raises `ServiceError`, one that is busy too long `TransientError`.
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

    # ---- asking ------------------------------------------------------------------------------------

    def submit(self, plan: PlannedJob, *, target: Mapping[str, str] | None = None) -> None:
        """Record a job and all its units in one transaction; the same job again is no second job.

        Failed and cancelled units are tried again, done ones are kept. `target` is the name to point at the
        result; whoever asks for a name last has it.
        """
        with writing(self._engine) as connection:
            self.record(connection, plan, target=target)

    def record(
        self, connection: sa.Connection, plan: PlannedJob, *, target: Mapping[str, str] | None = None
    ) -> None:
        """Do as `submit`, in a transaction of the caller's that writes more than the job."""
        instant = self._now()
        shared = {"kind": plan.kind, "kind_version": plan.version, "state": State.PENDING}
        fresh = {"fence": 0, "lease_until": 0, "attempts": 0, "sends": 0, "next_send_at": instant}
        units = sorted(plan.units, key=lambda unit: unit.key)  # one order of locks for all who submit
        connection.execute(
            upsert(connection, job_table)
            .values(id=plan.id, spec_json=plan.spec_json, created_at=instant, **shared)
            .on_conflict_do_nothing()
        )
        connection.execute(
            upsert(connection, unit_table).values(**shared, **fresh).on_conflict_do_nothing(),
            [{"key": unit.key, "spec_json": unit.spec_json, "stage": unit.stage} for unit in units],
        )
        connection.execute(
            upsert(connection, job_unit_table).on_conflict_do_nothing(),
            [{"job_id": plan.id, "unit_key": unit.key} for unit in units],
        )
        connection.execute(self._job_retried(plan.id))
        connection.execute(self._reopened("retry").where(_unit.key.in_(_units_of(plan.id))))
        wish = {"job_id": plan.id, "state": State.PENDING, "error": None}
        insertion = upsert(connection, publication_table)
        if target is not None:
            connection.execute(
                insertion.values(
                    kind=plan.kind, target_json=canonical_json(target), **wish
                ).on_conflict_do_update(index_elements=["kind", "target_json"], set_=wish)
            )
        if plan.shown:  # once for each job, and tried again where it had failed
            shown = {"kind": plan.kind, "target_json": canonical_json({GRAPH: plan.id})}
            connection.execute(
                insertion.values(**shown, **wish).on_conflict_do_update(
                    index_elements=["kind", "target_json"],
                    set_=wish,
                    where=_publication.state == State.FAILED,
                )
            )

    def recompute(self, job_id: str) -> None:
        """Open a done job again, with all its units: an artifact of it is gone from the store."""
        with writing(self._engine) as connection:
            opened = connection.execute(
                _job_move("recompute", finished_at=None, result_sha256=None).where(_job.id == job_id)
            )
            if opened.rowcount:
                connection.execute(self._reopened("recompute").where(_unit.key.in_(_units_of(job_id))))

    def retry(self, job_id: str) -> None:
        """Open a failed or cancelled job again, with its failed and cancelled units; done ones are kept.

        Raises
        ------
        NotFoundError
            If there is no such job.
        ConflictError
            If it did not fail and was not cancelled.
        """
        with writing(self._engine) as connection:
            if connection.execute(self._job_retried(job_id)).rowcount:
                connection.execute(self._reopened("retry").where(_unit.key.in_(_units_of(job_id))))
                return
        state = self.job(job_id).state
        raise ConflictError(f"job {job_id} is {state}; only a failed or cancelled job can be tried again")

    def cancel(self, job_id: str) -> None:
        """Cancel a job; units that another job wants go on, running ones stop at their next heartbeat.

        Raises
        ------
        NotFoundError
            If there is no such job.
        ConflictError
            If it is done or failed already.
        """
        with writing(self._engine) as connection:
            moved = connection.execute(_job_move("cancel", finished_at=self._now()).where(_job.id == job_id))
            if moved.rowcount:
                connection.execute(_unit_move("cancel").where(_unit.key.in_(_units_of(job_id)), ~_WANTED))
                return
        state = self.job(job_id).state
        if state is not State.CANCELLED:
            raise ConflictError(f"job {job_id} is {state}; only a pending or running job can be cancelled")

    # ---- working -----------------------------------------------------------------------------------

    def claim(self, key: str, *, lease_s: float) -> Claim | None:
        """Take a unit for `lease_s` seconds; None where it is unknown, taken, finished or not ready."""
        instant = self._now()
        with writing(self._engine) as connection:
            row = connection.execute(
                _unit_move(
                    "claim",
                    fence=_unit.fence + 1,
                    lease_until=instant + lease_s,
                    attempts=_unit.attempts + 1,
                    sends=0,
                    claimed_at=instant,
                    ended_at=None,
                )
                .where(
                    _unit.key == key,
                    self._free(instant),
                    _READY,
                )
                .returning(_unit.fence, _unit.attempts, _unit.spec_json)
            ).one_or_none()
            if row is None:
                return None
            spec = json.loads(row.spec_json)
            query = sa.select(_unit.key, _unit.sha256).where(_unit.key.in_(spec["inputs"]))
            made = {found.key: found.sha256 for found in connection.execute(query)}
        inputs = tuple(made[unit_key] for unit_key in spec["inputs"])
        return Claim(key, row.fence, row.attempts, spec["parameters"], inputs)

    def heartbeat(self, claim: Claim, *, lease_s: float) -> Beat:
        """Renew the lease; also tells when no job wants the unit any more, or when the claim is lost."""
        renewal = _unit_move("renew", lease_until=self._now() + lease_s).where(*self._held(claim))
        with writing(self._engine) as connection:
            wanted = connection.execute(renewal.returning(_WANTED)).scalar_one_or_none()
        if wanted is None:
            return Beat.LOST
        return Beat.HELD if wanted else Beat.UNWANTED

    def commit(self, claim: Claim, sha256: str, size: int) -> bool:
        """Record the published artifact, always last; False where the claim was lost: nothing changed."""
        return self._end(claim, _unit_move("commit", sha256=sha256, size=size, error=None))

    def release(self, claim: Claim, error: str, *, delay_s: float) -> bool:
        """Give a unit back after a fault of the moment, to be sent after `delay_s`; fail it at the cap."""
        if claim.attempts >= self.max_attempts:
            return self.fail(claim, f"{error} (attempt {claim.attempts} of {self.max_attempts})")
        later, shown = self._now() + delay_s, error[:_ERROR_CHARACTERS]
        return self._end(claim, _unit_move("release", next_send_at=later, sends=0, error=shown))

    def fail(self, claim: Claim, error: str) -> bool:
        """End a unit that cannot succeed."""
        return self._end(claim, _unit_move("fail", error=error[:_ERROR_CHARACTERS]))

    def abandon(self, claim: Claim) -> bool:
        """End a unit that no job wants."""
        return self._end(claim, _unit_move("abandon"))

    # ---- sweeping ----------------------------------------------------------------------------------

    def expire(self) -> int:
        """Make units whose lease ended pending again, or fail them at the cap; returns how many moved."""
        instant = self._now()
        spent = _unit.attempts >= self.max_attempts
        error = f"the worker was lost {self.max_attempts} times; read its log, then submit the job again"
        moves = {
            _unit_move("fail", error=error, ended_at=_unit.lease_until): spent,
            _unit_move("release", next_send_at=instant, sends=0, ended_at=_unit.lease_until): ~spent,
        }
        moved = 0
        with writing(self._engine) as connection:
            for move, which in moves.items():
                ended = sa.select(_unit.key).where(
                    _unit.state == State.RUNNING, _unit.lease_until < instant, which
                )
                moved += connection.execute(move.where(_among(ended))).rowcount
        return moved

    def due(
        self, window: int, *, kinds: Collection[tuple[str, int]] | None = None
    ) -> list[tuple[str, str, int]]:
        """Mark the oldest due units as sent and return (key, kind, kind version) of each.

        Only units of `kinds`, given as (kind, version), are looked at; of every kind by default.

        At most `window` unclaimed messages are out at a time; the rest waits here, where it stays in order
        and can be cancelled. What nobody claims is due again after `RESEND_S`, a little more at random.
        """
        instant = self._now()
        pending = _unit.state == State.PENDING
        out = (
            sa.select(sa.func.count(_unit.key))
            .where(pending, _unit.sends > 0, _unit.next_send_at > instant)
            .correlate(None)
            .scalar_subquery()
        )
        oldest = (
            sa.select(_unit.key)
            .where(pending, _unit.next_send_at <= instant, _READY)
            .order_by(_unit.next_send_at, _unit.key)
            .limit(sa.case((out < window, window - out), else_=0))
        )
        if kinds is not None:
            oldest = oldest.where(sa.tuple_(_unit.kind, _unit.kind_version).in_(kinds))
        pause = sa.case(dict(enumerate(RESEND_S)), value=_unit.sends, else_=RESEND_S[-1])
        again = instant + pause * self._jitter.uniform(1.0, 1.25)
        mark = sa.update(unit_table).values(sends=_unit.sends + 1, next_send_at=again).where(_among(oldest))
        with writing(self._engine) as connection:
            rows = connection.execute(mark.returning(_unit.key, _unit.kind, _unit.kind_version)).all()
        return [(row.key, row.kind, row.kind_version) for row in rows]

    def unsent(self, keys: Sequence[str]) -> None:
        """Take back the mark of `due` from units whose message could not be sent."""
        with writing(self._engine) as connection:
            connection.execute(
                sa.update(unit_table)
                .where(_unit.key.in_(keys), _unit.state == State.PENDING, _unit.sends > 0)
                .values(sends=_unit.sends - 1, next_send_at=self._now() + RESEND_S[0])
            )

    def settle(self, key: str | None = None) -> list[str]:
        """Move every job that its units decide, and every unit that its jobs decide; ids of the jobs moved.

        Asked for the jobs of one unit (`key`) after its end, and for all by every sweep, as two last commits
        may not see each other.
        """
        instant = self._now()
        broken = _of_job(_unit.error).where(_unit.state == State.FAILED).order_by(_unit.key).limit(1)
        open_units = _of_job(_unit.key).where(_unit.state != State.DONE)
        result = _of_job(_unit.sha256).order_by(_unit.stage.desc()).limit(1)
        fail = _job_move("fail", finished_at=instant, error=broken.scalar_subquery()).where(broken.exists())
        finish = _job_move("finish", finished_at=instant, result_sha256=result.scalar_subquery()).where(
            ~open_units.exists()
        )
        holders = sa.select(_job_unit.job_id).where(_job_unit.unit_key == key)
        moved: list[str] = []
        with writing(self._engine) as connection:
            for decision in (fail, finish):
                scoped = decision if key is None else decision.where(_job.id.in_(holders))
                moved += connection.execute(scoped.returning(_job.id)).scalars()
            if key is None or moved:
                unwanted = sa.select(_unit.key).where(_unit.state == State.PENDING, ~_WANTED)
                connection.execute(_unit_move("cancel").where(_among(unwanted)))
            if key is None:  # abandoned at the very moment when a job asked for it again
                missed = sa.select(_unit.key).where(_unit.state == State.CANCELLED, _WANTED)
                connection.execute(self._reopened("retry").where(_among(missed)))
        return moved

    # ---- naming results ----------------------------------------------------------------------------

    def publications(self) -> list[Publication]:
        """Return the names that wait for a result which is there."""
        query = (
            sa.select(publication_table, _job.kind_version, _job.result_sha256, _job.spec_json)
            .join_from(publication_table, job_table, _publication.job_id == _job.id)
            .where(_publication.state == State.PENDING, _job.state == State.DONE)
            .order_by(_publication.kind, _publication.target_json)
        )
        with reading(self._engine) as connection:
            rows = connection.execute(query).all()
        return [
            Publication(
                kind=row.kind,
                version=row.kind_version,
                target=json.loads(row.target_json),
                job_id=row.job_id,
                sha256=row.result_sha256,
                parameters=json.loads(row.spec_json)["parameters"],
            )
            for row in rows
        ]

    def published(self, publication: Publication, *, error: str | None = None) -> None:
        """Close a publication; if another job asked for the name meanwhile, that one is still pending."""
        end = State.DONE if error is None else State.FAILED
        with writing(self._engine) as connection:
            connection.execute(
                sa.update(publication_table)
                .where(
                    _publication.kind == publication.kind,
                    _publication.target_json == canonical_json(publication.target),
                )
                .values(
                    state=sa.case((_publication.job_id == publication.job_id, end), else_=State.PENDING),
                    error=error and error[:_ERROR_CHARACTERS],
                )
            )

    # ---- reading -----------------------------------------------------------------------------------

    def job(self, job_id: str) -> Job:
        """Return one job by its id or a beginning of it; `NotFoundError` where that names none or several."""
        with reading(self._engine) as connection:
            found = read_jobs(connection, _job.id.startswith(job_id, autoescape=True), limit=2)
        if len(found) != 1:
            problem = "several jobs begin with" if found else "there is no job"
            raise NotFoundError(f"{problem} {job_id!r}; `grove jobs list` shows the jobs there are")
        return found[0]

    def jobs(self, *, limit: int = 100, state: State | None = None, kind: str | None = None) -> list[Job]:
        """Return the newest jobs, newest first; of one state or kind alone where these are given."""
        conditions = [sa.true() if kind is None else _job.kind == kind]
        if state is not None:
            conditions.append(in_state(state))
        with reading(self._engine) as connection:
            return read_jobs(connection, sa.and_(*conditions), limit=limit)

    def unit(self, key: str) -> Unit | None:
        """Return one unit, or None where there is none."""
        with reading(self._engine) as connection:
            return next(iter(read_units(connection, _unit.key == key, limit=1)), None)

    def units(self, job_id: str) -> list[str]:
        """Return the keys of a job's units, in an order in which they may run."""
        query = sa.select(_unit.key).where(_unit.key.in_(_units_of(job_id))).order_by(_unit.stage, _unit.key)
        with reading(self._engine) as connection:
            return list(connection.execute(query).scalars())

    def unit_records(self, job_id: str, *, limit: int) -> list[Unit]:
        """Return the first `limit` units of a job, in an order in which they may run."""
        with reading(self._engine) as connection:
            return read_units(connection, _unit.key.in_(_units_of(job_id)), limit=limit)

    # ---- building blocks ---------------------------------------------------------------------------

    def _now(self) -> Any:
        return now() if self.clock is None else self.clock()

    def _free(self, instant: Any) -> sa.ColumnElement[bool]:
        """Condition under which a unit may be claimed: nobody works on it, or the lease has ended.

        The cap holds where a claim ends. A pending unit may be claimed above it: a process with a higher cap
        gave it back, and nobody else would ever take it or fail it.
        """
        ended = sa.and_(_unit.lease_until < instant, _unit.attempts < self.max_attempts)
        return sa.or_(_unit.state == State.PENDING, ended)

    def _held(self, claim: Claim) -> tuple[sa.ColumnElement[bool], ...]:
        """Condition under which a claim is still good: the fence."""
        return _unit.key == claim.key, _unit.fence == claim.fence

    def _end(self, claim: Claim, statement: sa.Update) -> bool:
        with writing(self._engine) as connection:
            return (
                connection.execute(statement.where(*self._held(claim)).values(ended_at=self._now())).rowcount
                == 1
            )

    def _job_retried(self, job_id: str) -> sa.Update:
        return _job_move("retry", finished_at=None, error=None).where(_job.id == job_id)

    def _reopened(self, move: str) -> sa.Update:
        return _unit_move(
            move,
            attempts=0,
            sends=0,
            next_send_at=self._now(),
            sha256=None,
            size=None,
            error=None,
            claimed_at=None,
            ended_at=None,
        )


def _unit_move(name: str, **values: Any) -> sa.Update:
    move = UNIT_MOVES[name]
    return (
        sa.update(unit_table).where(_unit.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def _job_move(name: str, **values: Any) -> sa.Update:
    move = JOB_MOVES[name]
    return (
        sa.update(job_table).where(_job.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def _units_of(job_id: str) -> sa.Select[Any]:
    return sa.select(_job_unit.unit_key).where(_job_unit.job_id == job_id)


def _of_job(column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select `column` of the units of the job row that the statement around it is at."""
    return (
        sa.select(column)
        .join_from(job_unit_table, unit_table, _job_unit.unit_key == _unit.key)
        .where(_job_unit.job_id == _job.id)
        .correlate(job_table)
    )


def _among(units: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Restrict a statement to those `units` that nobody else is changing; sweepers do not wait in line."""
    return _unit.key.in_(units.correlate(None).with_for_update(skip_locked=True))
