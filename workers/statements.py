"""What the ledger's statements are made of: moves, and conditions on the row that a statement is at.

Each condition costs a few lookups by index, however many units a job has: a sweep looks at thousands of rows,
and a job may have a million.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from workers.states import JOB_MOVES, UNIT_MOVES, State
from workers.tables import job_table, job_unit_table, unit_table

__all__ = [
    "ADVANCE_AFTER",
    "DECIDED",
    "MISSED",
    "WANTED",
    "WITNESS_DONE",
    "advance",
    "among",
    "claiming",
    "job_move",
    "job_reopened",
    "last_unit",
    "marking",
    "one_job",
    "reopened",
    "unit_move",
    "units_of",
    "wait_again",
]

_job, _unit, _job_unit = (t.c for t in (job_table, unit_table, job_unit_table))
_mine, _other = job_unit_table.alias("mine"), job_unit_table.alias("other")
_input, _witness = unit_table.alias("input"), unit_table.alias("witness")


def _is(column: sa.ColumnElement[str], state: State) -> sa.ColumnElement[bool]:
    """Whether a state is `state`, said so that no index on states tempts away from a lookup by key."""
    return column.concat("") == state


UNFINISHED = _job.state.not_in(sorted({move.target for move in JOB_MOVES.values()} - {State.PENDING}))
"""Whether a job row is unfinished, said so that no index on states tempts away from the unit's own jobs."""

WANTED = (
    sa.select(_job.id)
    .join_from(job_unit_table, job_table, _job_unit.job_id == _job.id)
    .where(_job_unit.unit_key == _unit.key, UNFINISHED)
    .correlate(unit_table)
    .exists()
)
"""Whether an unfinished job holds the unit row that the statement around it is at."""

_one_holder = (
    sa.select(_mine.c.job_id)
    .where(_mine.c.unit_key == _unit.key)
    .order_by(_mine.c.job_id)
    .limit(1)
    .correlate(unit_table)
    .scalar_subquery()
)  # any will do: a unit's key covers the units before it, so all its jobs have the same ones


def _unfinished_input(*where: sa.ColumnElement[bool]) -> sa.ScalarSelect[str]:
    """Select the first unit, by key, that is not done and that the unit row has to wait for."""
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
"""The first unit that the unit row has to wait for."""

NEXT_INPUT = _unfinished_input(_other.c.unit_key > _unit.waits_for)
"""The first after the one that it waits for."""

WITNESS_DONE = (
    sa.select(_witness.c.key)
    .where(_witness.c.key == _unit.waits_for, _is(_witness.c.state, State.DONE))
    .correlate(unit_table)
    .exists()
)
"""Whether the unit that the unit row waits for is done."""

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
"""A job that the end of one unit decides."""


_waiting = unit_table.alias("waiting")
_waited_for = sa.select(_waiting.c.waits_for).where(_waiting.c.waits_for > "")
_ends = sa.select(_job.last_unit).where(_job.state == State.PENDING)

MISSED = sa.select(_unit.key).where(
    _unit.key.in_(_waited_for.union(_ends)), _is(_unit.state, State.CANCELLED), WANTED
)
"""Units cancelled at the very moment when a job asked for them: it would wait for ever."""


def advance() -> sa.Update:
    """Return the statement that lets units wait for the next unit before them, or for none."""
    return sa.update(unit_table).values(waits_for=NEXT_INPUT)


ADVANCE_AFTER = advance().where(_unit.waits_for == sa.bindparam("ended"))
"""Lets those that waited for the unit ``ended``, which is done, wait for the next."""


def wait_again(reopened: sa.Select[Any]) -> sa.Update:
    """Return the statement that lets units of each job that holds a `reopened` one wait from the start."""
    holding = sa.select(_mine.c.job_id).where(_mine.c.unit_key.in_(reopened))
    held = sa.select(_other.c.unit_key).where(_other.c.job_id.in_(holding))
    later = (_unit.stage > 0, _unit.state != State.DONE, _unit.key.in_(held))
    return sa.update(unit_table).where(*later).values(waits_for=FIRST_INPUT)


def unit_move(name: str, **values: Any) -> sa.Update:
    """Return the statement that makes one move of `UNIT_MOVES`, where it is legal."""
    move = UNIT_MOVES[name]
    return (
        sa.update(unit_table).where(_unit.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def reopened(move: str, instant: Any) -> sa.Update:
    """Return the statement that makes a move of units that ended, to be sent at once and done anew."""
    nothing = dict.fromkeys(("sha256", "size", "error", "claimed_at", "ended_at"))
    return unit_move(move, attempts=0, sends=0, next_send_at=instant, **nothing)


def job_move(name: str, **values: Any) -> sa.Update:
    """Return the statement that makes one move of `JOB_MOVES`, where it is legal."""
    move = JOB_MOVES[name]
    return (
        sa.update(job_table).where(_job.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def claiming(instant: Any, free: sa.ColumnElement[bool]) -> sa.Update:
    """Return the statement that claims the unit ``claimed`` for ``lease_s`` seconds, where it is free."""
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


def job_reopened(move: str) -> sa.Update:
    """Return the statement that makes a move of a job that ended."""
    return job_move(move, finished_at=None, result_sha256=None, error=None)


def units_of(*job_ids: str | sa.ScalarSelect[Any]) -> sa.Select[Any]:
    """Select the keys of the units of some jobs."""
    held = job_unit_table.alias("held")
    return sa.select(held.c.unit_key).where(held.c.job_id.in_(job_ids))


def one_job(key: str) -> sa.ScalarSelect[str]:
    """Select one job that holds a unit; any has all its inputs."""
    return sa.select(sa.func.min(_job_unit.job_id)).where(_job_unit.unit_key == key).scalar_subquery()


def marking(instant: Any, kinds: Collection[tuple[str, int]] | None, pauses: Sequence[float]) -> sa.Update:
    """Return the statement that marks units which are due as sent: what the ``window`` has room for.

    Nothing is sent before ``half`` of the window is free. A unit that was sent n times before is due again
    after ``pauses[n]`` seconds, times ``jitter``.
    """
    pending = _unit.state == State.PENDING
    out = (
        sa.select(sa.func.count(_unit.key))
        .where(pending, _unit.sends > 0, _unit.next_send_at > instant)
        .correlate(None)
        .scalar_subquery()
    )
    half, window = (sa.bindparam(name, type_=sa.Integer) for name in ("half", "window"))
    oldest = (
        sa.select(_unit.key)
        .where(pending, _unit.next_send_at <= instant, _unit.waits_for.is_(None))
        .order_by(_unit.next_send_at, _unit.key)
        .limit(sa.case((out <= half, window - out), else_=0))
    )
    if kinds is not None:
        oldest = oldest.where(sa.tuple_(_unit.kind, _unit.kind_version).in_(kinds))
    pause = sa.case(dict(enumerate(pauses)), value=_unit.sends, else_=pauses[-1])
    again = instant + pause * sa.bindparam("jitter", type_=sa.Double)
    mark = sa.update(unit_table).values(sends=_unit.sends + 1, next_send_at=again).where(among(oldest))
    return mark.returning(_unit.key, _unit.kind, _unit.kind_version, WANTED.label("wanted"))


def last_unit(column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select `column` of the last unit, if it is done, of the job row that the statement around it is at."""
    return (
        sa.select(column)
        .where(_unit.key == _job.last_unit, _is(_unit.state, State.DONE))
        .select_from(unit_table)
        .correlate(job_table)
    )


def among(units: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Restrict a statement to those `units` that nobody else is changing; sweepers do not wait in line."""
    return _unit.key.in_(units.correlate(None).with_for_update(skip_locked=True))
