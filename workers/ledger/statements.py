"""Build the parts of the ledger's SQL statements: changes of state, and conditions on the current row.

The current row is the row of a unit or job that the database examines while it executes a statement. For
each row, a condition costs a few lookups in SQL indexes, however many units a job has. This matters because a
sweep examines thousands of rows, and a job may have a million units.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from labelgrove.workers.ledger.failures import lost_worker_text
from labelgrove.workers.ledger.schema import job_table, job_unit_table, unit_table
from labelgrove.workers.ledger.states import JOB_MOVES, UNIT_MOVES, State

__all__ = [
    "DECIDED",
    "MISSED",
    "WANTED",
    "WITNESS_DONE",
    "advance",
    "advance_after",
    "claiming",
    "committing",
    "expiring",
    "job_move",
    "job_reopened",
    "marking",
    "one_job",
    "reopened",
    "settling",
    "tell_how_many",
    "unit_move",
    "units_of",
    "wait_again",
]

_DAY_S = 86_400
_MANY = 200

_job, _unit, _job_unit = (t.c for t in (job_table, unit_table, job_unit_table))
_mine, _other = job_unit_table.alias("mine"), job_unit_table.alias("other")
_input, _witness = unit_table.alias("input"), unit_table.alias("witness")


def _is(column: sa.ColumnElement[str], state: State) -> sa.ColumnElement[bool]:
    """Return the condition that a column equals `state`, written so that no index on states is used."""
    return column.concat("") == state


UNFINISHED = _job.state.not_in(sorted({move.target for move in JOB_MOVES.values()} - {State.PENDING}))
"""Whether a job row is unfinished, written so that the database starts from the jobs of a unit."""

WANTED = (
    sa.select(_job.id)
    .join_from(job_unit_table, job_table, _job_unit.job_id == _job.id)
    .where(_job_unit.unit_key == _unit.key, UNFINISHED)
    .correlate(unit_table)
    .exists()
)
"""Whether the current unit row belongs to an unfinished job."""

_one_holder = (
    sa.select(_mine.c.job_id)
    .where(_mine.c.unit_key == _unit.key)
    .order_by(_mine.c.job_id)
    .limit(1)
    .correlate(unit_table)
    .scalar_subquery()
)  # any job: a unit's key covers the units before it, so all its jobs have the same ones


def _unfinished_input(*where: sa.ColumnElement[bool]) -> sa.ScalarSelect[str]:
    """Select the key of the first unfinished input of the unit in the current row.

    The inputs of a unit are the units of earlier stages of its job; they are ordered by key.
    """
    return (
        sa.select(_other.c.unit_key)
        .join_from(_other, _input, _input.c.key == _other.c.unit_key)
        .where(
            _other.c.job_id == _one_holder,
            _input.c.stage < _unit.stage,
            _input.c.state != State.DONE,
            *where,
        )
        .order_by(_other.c.unit_key)
        .limit(1)
        .correlate(unit_table)
        .scalar_subquery()
    )


FIRST_INPUT = _unfinished_input()
"""The first unfinished input, by key, of the current unit row, or NULL."""

NEXT_INPUT = _unfinished_input(_other.c.unit_key > _unit.waits_for, _input.c.key > _unit.waits_for)
"""The first unfinished input, by key, after the one that the current unit row waits for, or NULL."""

WITNESS_DONE = (
    sa.select(_witness.c.key)
    .where(_witness.c.key == _unit.waits_for, _is(_witness.c.state, State.DONE))
    .correlate(unit_table)
    .exists()
)
"""Whether the input that the current unit row waits for is done."""

DECIDED = (
    sa.select(_job.id)
    .join_from(unit_table, job_unit_table, _job_unit.unit_key == _unit.key)
    .join(job_table, _job.id == _job_unit.job_id)
    .where(
        _unit.key == sa.bindparam("ended"),
        UNFINISHED,
        sa.or_(_job.last_unit == _unit.key, _unit.state == State.FAILED),
    )
    .limit(1)
)
"""One job whose outcome is decided by the end of the unit ``ended``: its last unit, or one that failed."""


_waiting = unit_table.alias("waiting")
_waited_for = sa.select(_waiting.c.waits_for).where(_waiting.c.waits_for > "")
_ends = sa.select(_job.last_unit).where(_job.state == State.PENDING)

MISSED = sa.select(_unit.key).where(
    _unit.key.in_(_waited_for.union(_ends)), _is(_unit.state, State.CANCELLED), WANTED
)
"""Units that were cancelled at the very moment when another job requested them.

Without a retry, that job would wait for them forever.
"""


def advance() -> sa.Update:
    """Return the UPDATE that makes each unit wait for the next of its unfinished inputs.

    The inputs of a unit are the units of earlier stages of its job. A unit waits for one input at a time, in
    the order of the inputs' keys. The next input is the first unfinished one after the input for which the
    unit waits now; if there is none, the unit waits for nothing. The caller adds the condition that selects
    the units.
    """
    return sa.update(unit_table).values(waits_for=NEXT_INPUT)


_ADVANCE_AFTER = advance().where(_unit.waits_for == sa.bindparam("ended"))

_advanced = (
    advance()
    .where(_unit.waits_for.in_(sa.bindparam("ended", expanding=True)), WITNESS_DONE)
    .returning(_unit.waits_for)
    .cte("advanced")
)

_ADVANCE_TO = sa.select(_advanced.c.waits_for).where(_advanced.c.waits_for.is_not(None)).distinct()
# The same for each unit in ``ended`` that is done. The result, which only PostgreSQL can return, is the units
# that are waited for now.


def advance_after(connection: sa.Connection, ended: str) -> None:
    """If the unit `ended` is done, make the units that waited for it wait for their next unfinished input.

    On `connection`, each statement must be a transaction of its own. On PostgreSQL, two commits at the same
    moment do not see each other. Therefore the inputs for which the units wait now are examined again: one of
    these inputs may have become done meanwhile. Without this, the units that wait for it would be stuck until
    the next sweep.
    """
    if connection.dialect.name != "postgresql":
        connection.execute(_ADVANCE_AFTER, {"ended": ended})
        return
    awaited = [ended]
    while awaited:
        awaited = list(connection.execute(_ADVANCE_TO, {"ended": awaited}).scalars())


def wait_again(reopened: sa.Select[Any]) -> sa.Update:
    """Return the UPDATE that makes units wait for their first unfinished input.

    It changes the units of every job that contains a unit in `reopened`, except units of the first stage and
    units that are done.
    """
    holding = sa.select(_mine.c.job_id).where(_mine.c.unit_key.in_(reopened))
    held = sa.select(_other.c.unit_key).where(_other.c.job_id.in_(holding))
    later = (_unit.stage > 0, _unit.state != State.DONE, _unit.key.in_(held))
    return sa.update(unit_table).where(*later).values(waits_for=FIRST_INPUT)


def unit_move(name: str, **values: Any) -> sa.Update:
    """Return the UPDATE for the change of state `UNIT_MOVES[name]` of all units whose state allows it."""
    move = UNIT_MOVES[name]
    return (
        sa.update(unit_table).where(_unit.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def reopened(move: str, instant: Any) -> sa.Update:
    """Return the UPDATE that makes ended units pending again.

    `move` names the change of state; it is a key of `UNIT_MOVES`. The units are due at once, and their
    attempts, artifacts and errors are forgotten.
    """
    nothing = dict.fromkeys(("sha256", "size", "error", "claimed_at", "ended_at"))
    return unit_move(move, attempts=0, sends=0, next_send_at=instant, **nothing)


def job_move(name: str, **values: Any) -> sa.Update:
    """Return the UPDATE for the change of state `JOB_MOVES[name]` of all jobs whose state allows it."""
    move = JOB_MOVES[name]
    return (
        sa.update(job_table).where(_job.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def claiming(instant: Any, free: sa.ColumnElement[bool]) -> sa.Update:
    """Return the UPDATE that claims one unit if it is free.

    Its parameters are ``claimed``, the key of the unit, and ``lease_s``, the length of the lease in seconds.
    """
    return (
        unit_move(
            "claim",
            fence=_unit.fence + 1,
            lease_until=instant + sa.bindparam("lease_s", type_=sa.Double),
            attempts=_unit.attempts + 1,
            sends=0,
            claimed_at=instant,
            ended_at=None,
        )
        .where(_unit.key == sa.bindparam("claimed"), free, _unit.waits_for.is_(None))
        .returning(_unit.fence, _unit.attempts, _unit.spec_json)
    )


def committing(instant: Any) -> sa.Update:
    """Return the UPDATE that makes a unit done.

    Its parameters are ``made``, the digest of the artifact, and ``bytes``, the size of the artifact. The
    ledger adds the condition that the fence is unchanged.
    """
    made = sa.bindparam("made", type_=sa.String)
    size = sa.bindparam("bytes", type_=sa.BigInteger)
    return unit_move("commit", sha256=made, size=size, error=None, ended_at=instant)


def job_reopened(move: str) -> sa.Update:
    """Return the UPDATE that makes an ended job pending again and removes its result and its error."""
    return job_move(move, finished_at=None, result_sha256=None, error=None)


def units_of(*job_ids: str | sa.ScalarSelect[Any]) -> sa.Select[Any]:
    """Select the keys of the units of some jobs."""
    held = job_unit_table.alias("held")
    return sa.select(held.c.unit_key).where(held.c.job_id.in_(job_ids))


def one_job(key: str) -> sa.ScalarSelect[str]:
    """Select the id of one job that contains a unit; every such job contains all inputs of the unit."""
    return sa.select(sa.func.min(_job_unit.job_id)).where(_job_unit.unit_key == key).scalar_subquery()


def marking(instant: Any, kinds: Collection[tuple[str, int]] | None, pauses: Sequence[float]) -> sa.Update:
    """Return the UPDATE that marks due units as sent, the oldest first.

    At most ``window`` units may be sent but not yet claimed. While more than ``half`` units are in that
    state, no unit is marked. A unit that was sent n times before is due again after ``pauses[n]`` seconds,
    times ``jitter``. ``window``, ``half`` and ``jitter`` are parameters of the statement.
    """
    pending = _unit.state == State.PENDING
    # The time is queried once, because no index serves a moving clock. The upper bound tells the planner
    # that these rows are few.
    asked = sa.select(instant).scalar_subquery()
    ahead = (_unit.next_send_at > asked, _unit.next_send_at < asked + _DAY_S)
    out = sa.select(sa.func.count(_unit.key).label("n")).where(pending, _unit.sends > 0, *ahead).subquery()
    half, window = (sa.bindparam(name, type_=sa.Integer) for name in ("half", "window"))
    oldest = (
        sa.select(_unit.key)
        .where(pending, _unit.next_send_at <= asked, _unit.waits_for.is_(None))
        .order_by(_unit.next_send_at, _unit.key)
        .limit(sa.select(sa.case((out.c.n <= half, window - out.c.n), else_=0)).scalar_subquery())
    )
    if kinds is not None:
        oldest = oldest.where(sa.tuple_(_unit.kind, _unit.kind_version).in_(kinds))
    pause = sa.case(dict(enumerate(pauses)), value=_unit.sends, else_=pauses[-1])
    again = instant + pause * sa.bindparam("jitter", type_=sa.Double)
    mark = sa.update(unit_table).values(sends=_unit.sends + 1, next_send_at=again).where(_among(oldest))
    return mark.returning(_unit.key, _unit.kind, _unit.kind_version, WANTED.label("wanted"))


def expiring(instant: Any, max_attempts: int, *, away_s: float) -> list[sa.Update]:
    """Return the UPDATEs that free or end the units whose lease ended more than `away_s` seconds ago."""
    spent = _unit.attempts >= max_attempts
    error = lost_worker_text(max_attempts)
    moves = {
        unit_move("abandon", ended_at=_unit.lease_until): ~WANTED,
        unit_move("fail", error=error, ended_at=_unit.lease_until): spent,
        unit_move("release", next_send_at=instant, sends=0, ended_at=_unit.lease_until): ~spent,
    }
    ended = sa.select(_unit.key).where(_unit.state == State.RUNNING, _unit.lease_until < instant - away_s)
    return [move.where(_among(ended.where(which))) for move, which in moves.items()]


def settling(key: str | None, instant: Any) -> tuple[sa.Update, sa.Update]:
    """Return two UPDATEs: one marks jobs with a failed unit as failed, one marks complete jobs as done.

    A job is complete when its last unit is done. If `key` is not None, only jobs with the unit `key` are
    considered. These jobs are marked as failed only if this unit has failed, and as done only if this unit is
    their last.

    Each UPDATE returns the ids of the jobs that it changes.
    """
    over: sa.ColumnElement[bool] = _job.last_unit.is_not(None)
    failed: sa.ColumnElement[bool] = _unit.state == State.FAILED
    if key is not None:
        failed, over = failed & (_unit.key == key), _job.last_unit == key
    held = job_unit_table.join(unit_table, _job_unit.unit_key == _unit.key)
    broken = sa.select(_job_unit.job_id).select_from(held).where(failed)
    error = sa.select(_unit.error).select_from(held).where(failed, _job_unit.job_id == _job.id)
    error = error.order_by(_unit.key).limit(1).correlate(job_table)
    result = _last_unit(_unit.sha256)
    fail = job_move("fail", finished_at=instant, error=error.scalar_subquery()).where(_job.id.in_(broken))
    finish = job_move("finish", finished_at=instant, result_sha256=result.scalar_subquery()).where(
        over, result.exists()
    )
    return fail.returning(_job.id), finish.returning(_job.id)


def _last_unit(column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select `column` of the last unit of the job in the current row; nothing if that unit is not done."""
    return (
        sa.select(column)
        .where(_unit.key == _job.last_unit, _is(_unit.state, State.DONE))
        .select_from(unit_table)
        .correlate(job_table)
    )


class _Among(FunctionElement[bool]):
    """The condition that the value of a column is among the results of a query.

    The condition makes the database run the query first. This is fast because the query returns few rows. The
    database's own planner might expect many rows, and not run the query first.
    """

    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> _Among:
        """Return this condition unchanged.

        On SQLite, SQLAlchemy would otherwise append ``= 1``, and SQLite would then scan all units.
        """
        return self


@compiles(_Among)
def _in_query(element: _Among, compiler: Any, **options: Any) -> str:
    column, query = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN {query}"


@compiles(_Among, "postgresql")
def _in_array(element: _Among, compiler: Any, **options: Any) -> str:
    column, query = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY (ARRAY {query})"


def _among(units: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a unit is among `units` and that no other transaction is changing it.

    Units that are being changed are left out, so that no sweep waits for another process.
    """
    return _Among(_unit.key, units.correlate(None).with_for_update(skip_locked=True).scalar_subquery())


def tell_how_many(connection: sa.Connection, added: int) -> None:
    """Update PostgreSQL's table statistics if `added`, the number of new rows, is large.

    Tables that others have locked are skipped. Without this call, the server would update the statistics only
    after some minutes, and until then each statement would scan all units.
    """
    if added >= _MANY and connection.dialect.name == "postgresql":
        connection.execute(sa.text("ANALYZE (SKIP_LOCKED) unit, job_unit"))
