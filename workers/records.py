"""How rows of the ledger read: jobs with their units counted, and units.

The functions run inside a transaction of the caller and write nothing.
"""

from __future__ import annotations

import json

import sqlalchemy as sa

from workers.states import Job, State, Unit
from workers.tables import job_table, job_unit_table, publication_table, unit_table

__all__ = ["in_state", "read_jobs", "read_units"]

_job, _unit, _job_unit, _publication = (
    t.c for t in (job_table, unit_table, job_unit_table, publication_table)
)

_BEGUN = (State.RUNNING, State.DONE)
"""States of a unit which make a pending job read as running."""


def in_state(state: State) -> sa.ColumnElement[bool]:
    """Return the condition on a job row that the job reads as being in `state`."""
    if state not in (State.PENDING, State.RUNNING):
        return _job.state == state
    begun = (
        sa.select(_unit.key)
        .join_from(job_unit_table, unit_table, _job_unit.unit_key == _unit.key)
        .where(_job_unit.job_id == _job.id, _unit.state.in_(_BEGUN))
        .correlate(job_table)
        .exists()
    )
    return sa.and_(_job.state == State.PENDING, begun if state is State.RUNNING else ~begun)


def read_jobs(connection: sa.Connection, condition: sa.ColumnElement[bool], *, limit: int) -> list[Job]:
    """Return the newest jobs that fulfil `condition`, newest first."""
    newest = sa.select(job_table).where(condition).order_by(_job.created_at.desc(), _job.id).limit(limit)
    rows = connection.execute(newest).all()
    ids = [row.id for row in rows]
    units: dict[str, dict[str, int]] = {job_id: {} for job_id in ids}
    counts = (
        sa.select(_job_unit.job_id, _unit.state, sa.func.count().label("number"))
        .join_from(job_unit_table, unit_table, _job_unit.unit_key == _unit.key)
        .where(_job_unit.job_id.in_(ids))
        .group_by(_job_unit.job_id, _unit.state)
    )
    for count in connection.execute(counts):
        units[count.job_id][count.state] = count.number
    wishes = connection.execute(sa.select(publication_table).where(_publication.job_id.in_(ids))).all()
    publishing = {wish.job_id for wish in wishes if wish.state == State.PENDING}
    unnamed = {wish.job_id: wish.error for wish in wishes if wish.state == State.FAILED}
    jobs = []
    for row in rows:
        begun = any(state in units[row.id] for state in _BEGUN)
        jobs.append(
            Job(
                id=row.id,
                kind=row.kind,
                version=row.kind_version,
                parameters=json.loads(row.spec_json)["parameters"],
                state=State.RUNNING if begun and row.state == State.PENDING else State(row.state),
                created_at=row.created_at,
                finished_at=row.finished_at,
                result_sha256=row.result_sha256,
                error=row.error or unnamed.get(row.id),
                units=units[row.id],
                publishing=row.id in publishing,
            )
        )
    return jobs


def read_units(connection: sa.Connection, condition: sa.ColumnElement[bool], *, limit: int) -> list[Unit]:
    """Return the units that fulfil `condition`, in an order in which they may run."""
    query = sa.select(unit_table).where(condition).order_by(_unit.stage, _unit.key).limit(limit)
    return [
        Unit(
            key=row.key,
            kind=row.kind,
            version=row.kind_version,
            stage=row.stage,
            state=State(row.state),
            fence=row.fence,
            lease_until=row.lease_until,
            attempts=row.attempts,
            sha256=row.sha256,
            size=row.size,
            error=row.error,
            claimed_at=row.claimed_at,
            ended_at=row.ended_at,
        )
        for row in connection.execute(query)
    ]
