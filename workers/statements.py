"""What the ledger's statements are made of: moves, and conditions on the row that a statement is at.

Each condition costs a few lookups by index, however many units a job has: a sweep looks at thousands of rows,
and a job may have a million.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from workers.states import JOB_MOVES, UNIT_MOVES, State
from workers.tables import job_table, job_unit_table, unit_table

__all__ = [
    "DECIDED",
    "WANTED",
    "WITNESS_DONE",
    "advance",
    "among",
    "job_move",
    "last_unit",
    "unit_move",
    "units_of",
]

_job, _unit, _job_unit = (t.c for t in (job_table, unit_table, job_unit_table))
_mine, _other = job_unit_table.alias("mine"), job_unit_table.alias("other")
_input, _witness = unit_table.alias("input"), unit_table.alias("witness")

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

NEXT_INPUT = (
    sa.select(_other.c.unit_key)
    .join_from(_other, _input, _input.c.key == _other.c.unit_key)
    .where(
        _other.c.job_id == _one_holder,
        _other.c.unit_key > _unit.waits_for,
        _input.c.stage < _unit.stage,
        _input.c.state != State.DONE,
    )
    .order_by(_other.c.unit_key)
    .limit(1)
    .correlate(unit_table)
    .scalar_subquery()
)
"""The first unit, by key, after the one that the unit row waits for that it has to wait for too."""

WITNESS_DONE = (
    sa.select(_witness.c.key)
    .where(_witness.c.key == _unit.waits_for, _witness.c.state == State.DONE)
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


def advance() -> sa.Update:
    """Return the statement that lets units wait for the next unit before them, or for none."""
    return sa.update(unit_table).values(waits_for=NEXT_INPUT)


def unit_move(name: str, **values: Any) -> sa.Update:
    """Return the statement that makes one move of `UNIT_MOVES`, where it is legal."""
    move = UNIT_MOVES[name]
    return (
        sa.update(unit_table).where(_unit.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def job_move(name: str, **values: Any) -> sa.Update:
    """Return the statement that makes one move of `JOB_MOVES`, where it is legal."""
    move = JOB_MOVES[name]
    return (
        sa.update(job_table).where(_job.state.in_(sorted(move.sources))).values(state=move.target, **values)
    )


def units_of(*job_ids: str | sa.ScalarSelect[Any]) -> sa.Select[Any]:
    """Select the keys of the units of some jobs."""
    held = job_unit_table.alias("held")
    return sa.select(held.c.unit_key).where(held.c.job_id.in_(job_ids))


def last_unit(column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select `column` of the last unit, if it is done, of the job row that the statement around it is at."""
    return (
        sa.select(column)
        .where(_unit.key == _job.last_unit, _unit.state == State.DONE)
        .select_from(unit_table)
        .correlate(job_table)
    )


def among(units: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Restrict a statement to those `units` that nobody else is changing; sweepers do not wait in line."""
    return _unit.key.in_(units.correlate(None).with_for_update(skip_locked=True))
