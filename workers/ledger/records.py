"""Read rows of the ledger: units, and jobs with the counts of their units.

The functions run inside a transaction of the caller and write nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from labelgrove.ontology.errors import InputError
from labelgrove.workers.ledger.schema import job_table, job_unit_table, publication_table, unit_table
from labelgrove.workers.ledger.specs import canonical_json, job_parameters, recorded_object
from labelgrove.workers.ledger.states import GRAPH, Job, State, Unit

__all__ = [
    "about_versions",
    "ended_on_other_versions",
    "holders",
    "in_state",
    "kind_of",
    "read_jobs",
    "read_requested_names",
    "read_units",
]

_job, _unit, _job_unit, _publication = (
    t.c for t in (job_table, unit_table, job_unit_table, publication_table)
)

_BEGUN = (State.RUNNING, State.DONE)
"""States of a unit that make a pending job count as running."""

_PER_STATEMENT = 10_000  # ids; a database takes no more than some thousand parameters
_DIGITS = 64  # of a digest; a longer name is not a version


def in_state(state: State) -> sa.ColumnElement[bool]:
    """Return the SQL condition that the job in a row is in `state`.

    A job stored as pending is running if any of its units has begun.
    """
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


_KIND = sa.select(_unit.kind, _unit.kind_version).where(_unit.key == sa.bindparam("unit"))
_HOLDERS = (
    sa.select(_job_unit.job_id)
    .where(_job_unit.unit_key == sa.bindparam("unit"))
    .order_by(_job_unit.job_id)
    .limit(10)
)


def kind_of(connection: sa.Connection, key: str) -> tuple[str, int] | None:
    """Return the kind of a unit and the version of the kind; None if there is no such unit."""
    row = connection.execute(_KIND, {"unit": key}).one_or_none()
    return None if row is None else (row.kind, row.kind_version)


def holders(connection: sa.Connection, key: str) -> list[str]:
    """Return the ids of the jobs that contain a unit, but at most ten: the first in order of their ids."""
    return list(connection.execute(_HOLDERS, {"unit": key}).scalars())


def about_versions(connection: sa.Connection, digests: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a job is about a version with one of the `digests`."""
    found: sa.ColumnElement[bool] = _version(connection).in_(sorted(digests))
    return found


def _version(connection: sa.Connection) -> Any:
    """Return the parameter ``ontology`` of a job as SQL."""
    as_json = sa.cast if connection.dialect.name == "postgresql" else sa.type_coerce
    return as_json(_job.spec_json, sa.JSON)[("parameters", "ontology")].as_string()


def ended_on_other_versions(
    connection: sa.Connection, digests: Collection[str], *, kind: str | None
) -> list[Job]:
    """Return the done jobs about versions that are not in `digests`, newest first."""
    version = _version(connection)
    conditions = [_job.state == State.DONE, sa.func.length(version) == _DIGITS, version.not_in(digests)]
    if kind is not None:
        conditions.append(_job.kind == kind)
    return read_jobs(connection, sa.and_(*conditions), limit=None)


def read_requested_names(connection: sa.Connection, job_id: str) -> list[Mapping[str, str]]:
    """Return the names requested for the result of a job.

    Requests to write the result into the graph are left out.
    """
    query = sa.select(_publication.target_json).where(_publication.job_id == job_id)
    targets = [
        recorded_object("target_json", text)
        for text in connection.execute(query.order_by("target_json")).scalars()
    ]
    return [target for target in targets if GRAPH not in target]


def read_jobs(
    connection: sa.Connection, condition: sa.ColumnElement[bool], *, limit: int | None
) -> list[Job]:
    """Return the newest jobs that fulfill `condition`, newest first."""
    newest = sa.select(job_table).where(condition).order_by(_job.created_at.desc(), _job.id).limit(limit)
    rows = connection.execute(newest).all()
    return [
        job
        for first in range(0, len(rows), _PER_STATEMENT)
        for job in _described(connection, rows[first : first + _PER_STATEMENT])
    ]


def _described(connection: sa.Connection, rows: Sequence[sa.Row[Any]]) -> list[Job]:
    """Return a `Job` for each row of the job table in `rows`, with what other tables record about the job."""
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
    pending = [wish for wish in wishes if wish.state == State.PENDING]
    delayed = {wish.job_id: wish.error for wish in pending if wish.error is not None and not _is_graph(wish)}
    publishing = {wish.job_id for wish in pending if wish.error is None or not _is_graph(wish)}
    unnamed = {wish.job_id: wish.error for wish in wishes if wish.state == State.FAILED}
    jobs = []
    for row in rows:
        begun = any(state in units[row.id] for state in _BEGUN)
        jobs.append(
            Job(
                id=row.id,
                kind=row.kind,
                version=row.kind_version,
                parameters=_parameters_of(row.spec_json),
                state=State.RUNNING if begun and row.state == State.PENDING else State(row.state),
                created_at=row.created_at,
                finished_at=row.finished_at,
                result_sha256=row.result_sha256,
                error=row.error or unnamed.get(row.id),
                units=units[row.id],
                publishing=row.id in publishing and row.state in (State.PENDING, State.DONE),
                delayed=delayed.get(row.id),
                asked_by=row.asked_by,
            )
        )
    return jobs


def read_units(
    connection: sa.Connection,
    condition: sa.ColumnElement[bool],
    *,
    limit: int,
    order: Sequence[sa.ColumnElement[Any]] = (_unit.stage, _unit.key),
) -> list[Unit]:
    """Return the first units that fulfill `condition`, by default in an order in which they can be run."""
    short = [column for column in unit_table.c if column is not _unit.spec_json]  # the spec may be megabytes
    query = sa.select(*short).where(condition).order_by(*order).limit(limit)
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


def _is_graph(wish: sa.Row[Any]) -> bool:
    """Return whether a row of the publication table requests that a result be written into the graph.

    The other rows request a name for a result.
    """
    return bool(wish.target_json == canonical_json({GRAPH: wish.job_id}))


def _parameters_of(spec_json: str) -> Mapping[str, Any]:
    """Return the parameters of a job.

    They are empty if the row is damaged or has the layout of a newer version.
    """
    try:
        return job_parameters(spec_json)
    except InputError:
        return {}
