"""Read the units of one job as pages, as a strip of cells, and as what they used.

A job can have a hundred thousand units. So the database counts them, and what is returned has a bounded size.
The functions run inside a transaction of the caller and write nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from labelgrove.ontology.errors import InputError
from labelgrove.workers.ledger.records import read_units
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.statements import units_of
from labelgrove.workers.ledger.states import State, Unit

__all__ = ["WORST", "Cell", "Used", "read_page", "read_strip", "read_used"]

_unit = unit_table.c
_CURSOR = re.compile(r"([0-9.e+-]{1,30})~([0-9a-f]{64})")

WORST = (State.FAILED, State.CANCELLED, State.RUNNING, State.PENDING, State.DONE)
"""The states of units, the worst first."""


@dataclass(frozen=True)
class Cell:
    """Units of a job that follow one another in the order in which they can be run.

    Attributes
    ----------
    first : int
        The place of the first one; the first unit of the job has the place 0.
    units : mapping of state to int
        The number of units in each state.
    """

    first: int
    units: Mapping[State, int]

    @property
    def worst(self) -> State:
        """The worst state of its units."""
        return next(state for state in WORST if state in self.units)


@dataclass(frozen=True)
class Used:
    """What the units of a job used so far.

    Attributes
    ----------
    units : int
        Units that are done.
    n_bytes : int
        Bytes of their artifacts.
    seconds : float
        Duration of the last attempts that ended, one after the other.
    attempts : int
        Number of claims of all units since they were last requested.
    """

    units: int
    n_bytes: int
    seconds: float
    attempts: int


def read_page(
    connection: sa.Connection, job_id: str, *, limit: int, errors: bool = False, after: str | None = None
) -> tuple[list[Unit], int, str | None]:
    """Return some units of a job, the number of all that match, and the cursor of the next page.

    By default, units come in an order in which they can be run. With `errors`, only those whose last attempt
    left an error come, the newest first. The cursor is None on the last page.

    Raises
    ------
    InputError
        For a cursor that no page gave.
    """
    mine: sa.ColumnElement[bool] = _unit.key.in_(units_of(job_id))
    if errors:
        mine = sa.and_(mine, _unit.error.is_not(None))
    counted = sa.select(sa.func.count()).select_from(unit_table).where(mine)
    total = int(connection.execute(counted).scalar_one())
    place: sa.ColumnElement[float] = sa.func.coalesce(_unit.ended_at, 0.0) if errors else _unit.stage
    if after is not None:
        found = _CURSOR.fullmatch(after)
        try:
            at, key = (float(found[1]), found[2]) if found else (None, "")
        except ValueError:
            at = None
        if at is None:
            raise InputError(f"after: {after!r:.80} given; give `next` of the page before")
        beyond = place < at if errors else place > at
        mine = sa.and_(mine, sa.or_(beyond, sa.and_(place == at, _unit.key > key)))
    order = (place.desc() if errors else place, _unit.key)
    units = read_units(connection, mine, limit=limit + 1, order=order)
    if len(units) <= limit:
        return units, total, None
    last = units[limit - 1]
    at = (last.ended_at or 0.0) if errors else last.stage
    return units[:limit], total, f"{at!r}~{last.key}"


def read_strip(connection: sa.Connection, job_id: str, *, most: int) -> list[Cell]:
    """Return the units of a job as at most `most` cells of nearly the same number of units, in order."""
    mine = (
        sa.select(
            _unit.state,
            (sa.func.row_number().over(order_by=(_unit.stage, _unit.key)) - 1).label("place"),
            sa.func.count().over().label("total"),
        )
        .where(_unit.key.in_(units_of(job_id)))
        .subquery()
    )
    c = mine.c
    n_cells = sa.case((c.total < most, c.total), else_=most)
    cell = (c.place * n_cells // c.total).label("cell")
    counted = (
        sa.select(cell, c.state, sa.func.count().label("number"), sa.func.min(c.place).label("first"))
        .group_by(cell, c.state)
        .order_by(cell)
    )
    cells: dict[int, tuple[int, dict[State, int]]] = {}
    for row in connection.execute(counted):
        first, units = cells.get(row.cell, (row.first, {}))
        units[State(row.state)] = row.number
        cells[row.cell] = min(first, row.first), units
    return [Cell(first, units) for first, units in cells.values()]


def read_used(connection: sa.Connection, job_id: str) -> Used:
    """Return what the units of a job used so far."""
    done = _unit.state == State.DONE
    query = sa.select(
        sa.func.count().filter(done).label("units"),
        sa.func.coalesce(sa.func.sum(_unit.size).filter(done), 0).label("n_bytes"),
        sa.func.coalesce(sa.func.sum(_unit.ended_at - _unit.claimed_at), 0.0).label("seconds"),
        sa.func.coalesce(sa.func.sum(_unit.attempts), 0).label("attempts"),
    ).where(_unit.key.in_(units_of(job_id)))
    row = connection.execute(query).one()
    return Used(row.units, int(row.n_bytes), float(row.seconds), int(row.attempts))
