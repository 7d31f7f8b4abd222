"""Make requests at set times: schedules, their due times, and one firing for each due time.

A sweep reads which schedules are due and turns their requests into jobs. In one transaction it records a job
and its *firing*, the record of what was done for one due time. A firing is recorded only if the schedule
still waits for the due time that the sweep read; schedule and due time are the key of the firing. Therefore
only one sweep submits the job, however many sweeps run at once. If the whole deployment was down for a while,
a schedule fires once, for the latest due time that it missed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from labelgrove.ontology.errors import DEPLOYMENT_FAULTS, ConflictError, GroveError, InputError, NotFoundError
from labelgrove.ontology.sql.database import now, reading, upsert, writing
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.workers.kinds import JobKind, find_kind, kind_named
from labelgrove.workers.kinds.inputs import named_version
from labelgrove.workers.ledger.failures import defect_text
from labelgrove.workers.ledger.schema import firing_table, schedule_table
from labelgrove.workers.ledger.specs import PlannedJob, canonical_json, recorded_object
from labelgrove.workers.requests.request import plan_request, record_lost
from labelgrove.workers.requests.targets import check_named, complete_target
from labelgrove.workers.requests.visible import refuse_unseen
from labelgrove.workers.schedules.cron import Cron

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.ledger import Ledger

__all__ = [
    "KEEP_S",
    "Firing",
    "Schedule",
    "Timetable",
    "add_schedule",
    "fire_due",
    "remove_schedule",
    "seen_schedules",
]

logger = logging.getLogger(__name__)

KEEP_S = 30 * 86_400
"""Seconds for which firings stay recorded; the last firing of a schedule stays as long as the schedule."""

_ERROR_CHARACTERS = 2000
_DAY_S = 86_400

_schedule, _firing = schedule_table.c, firing_table.c


@dataclass(frozen=True)
class Firing:
    """The record of what was done for one due time of a schedule.

    Attributes
    ----------
    due_at, fired_at : float
        The due time, and when a sweep made the request, in seconds since 1970, UTC.
    job_id : str or None
        The job that was requested; the same as at the previous firing if nothing has changed.
    error : str or None
        Why no job was requested.
    """

    due_at: float
    fired_at: float
    job_id: str | None
    error: str | None


@dataclass(frozen=True)
class Schedule:
    """A request that is made whenever it is due.

    Attributes
    ----------
    name, cron : str
        Its name, and its due times as a cron expression with five fields in UTC.
    kind : str
        Name of the job kind.
    parameters : mapping
        Parameters as requested; names in them are resolved when the schedule is due.
    target : mapping or None
        The name that the result gets, in the form that the kind defines.
    created_at, next_at : float
        When it was added and when it is due next, in seconds since 1970, UTC.
    last : Firing or None
        Its latest firing.
    damage : str or None
        Why the row of the schedule cannot be read, for example because somebody edited it; None if it can be
        read. If it cannot, the schedule requests nothing, and `parameters` or `target` may be empty.
    """

    name: str
    cron: str
    kind: str
    parameters: Mapping[str, Any]
    target: Mapping[str, str] | None
    created_at: float
    next_at: float
    last: Firing | None
    damage: str | None = None


class Timetable:
    """The schedules of one SQL database; safe to share between threads.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        The engine of the ledger.
    clock : callable, optional
        Returns the time in seconds; by default the clock of the database server.
    """

    def __init__(self, engine: sa.Engine, *, clock: Callable[[], float] | None = None) -> None:
        self._engine = engine
        self._clock = clock

    def add(
        self,
        name: str,
        cron: Cron,
        kind: str,
        parameters: Mapping[str, Any],
        *,
        target: Mapping[str, str] | None = None,
    ) -> None:
        """Record a schedule; it is first due at the first time after now that `cron` gives.

        Raise `ConflictError` if the name of the schedule is taken.
        """
        with writing(self._engine) as connection:
            instant = connection.execute(sa.select(self._instant())).scalar_one()
            added = connection.execute(
                upsert(connection, schedule_table)
                .values(
                    name=name,
                    cron=cron.text,
                    kind=kind,
                    parameters_json=canonical_json(parameters),
                    target_json=None if target is None else canonical_json(target),
                    created_at=instant,
                    next_at=cron.after(instant),
                )
                .on_conflict_do_nothing()
                .returning(_schedule.name)
            ).first()  # PostgreSQL's driver counts no rows here
            if added is None:
                raise ConflictError(
                    f"schedule name {name!r} is taken; choose another, or first run: "
                    f"grove jobs schedule remove {name}"
                )

    def remove(self, name: str) -> None:
        """Delete a schedule and its firings; jobs stay. Raise `NotFoundError` for an unknown name."""
        with writing(self._engine) as connection:
            if connection.execute(sa.delete(schedule_table).where(_schedule.name == name)).rowcount:
                return
        _check_among(name, self.schedules())

    def schedules(self) -> list[Schedule]:
        """Return every schedule with its latest firing, ordered by the names of the schedules."""
        with reading(self._engine) as connection:
            return _schedules(connection, sa.true())

    def firings(self, name: str) -> list[Firing]:
        """Return the recorded firings of a schedule, oldest first."""
        query = sa.select(firing_table).where(_firing.schedule == name).order_by(_firing.due_at)
        with reading(self._engine) as connection:
            return [
                Firing(row.due_at, row.fired_at, row.job_id, row.error) for row in connection.execute(query)
            ]

    def due(self) -> tuple[float, list[Schedule]]:
        """Return the current time and the schedules that are due."""
        first = sa.select(sa.func.min(_schedule.next_at)).scalar_subquery()
        with reading(self._engine) as connection:
            instant, next_at = connection.execute(sa.select(self._instant(), first)).one()
            if next_at is None or next_at > instant:  # almost every sweep ends here
                return instant, []
            return instant, _schedules(connection, _schedule.next_at <= instant)

    def fire(
        self,
        schedule: Schedule,
        due_at: float,
        *,
        next_at: float,
        job_id: str | None = None,
        record: Callable[[sa.Connection], None] | None = None,
        error: str | None = None,
    ) -> bool:
        """Record the firing for one due time of a schedule, and make `next_at` its next due time.

        `record` is called in the same transaction, to record the job. Return False, and record neither, if
        the schedule is gone or a sweep has already fired for this due time.
        """
        row = {"schedule": schedule.name, "due_at": due_at}
        this = (_firing.schedule == schedule.name, _firing.due_at == due_at)
        with writing(self._engine) as connection:
            waiting = connection.execute(  # also the lock that lets one sweeper pass at a time
                sa.update(schedule_table)
                .where(_schedule.name == schedule.name, _schedule.next_at == schedule.next_at)
                .values(next_at=next_at)
            )
            if not waiting.rowcount:
                return False
            instant = connection.execute(sa.select(self._instant())).scalar_one()
            answered = connection.execute(
                upsert(connection, firing_table)
                .values(fired_at=instant, error=error and error[:_ERROR_CHARACTERS], **row)
                .on_conflict_do_nothing()
                .returning(_firing.due_at)
            ).first()
            if answered is None:  # the clock was set back: this due time was answered before
                return False
            if record is not None:
                record(connection)
                connection.execute(sa.update(firing_table).where(*this).values(job_id=job_id))
            connection.execute(
                sa.delete(firing_table).where(
                    _firing.schedule == schedule.name, _firing.due_at < due_at - KEEP_S
                )
            )
        return True

    def _instant(self) -> sa.ColumnElement[float]:
        return now() if self._clock is None else sa.literal(self._clock(), sa.Double)


def add_schedule(
    workspace: Workspace,
    name: str,
    cron: str,
    kind: str,
    parameters: Mapping[str, Any],
    *,
    target: Mapping[str, str] | None = None,
    timetable: Timetable | None = None,
) -> None:
    """Check a request by planning its job now, and record the request as a schedule.

    Raises
    ------
    InputError
        For a name, cron expression, kind, parameter or target that breaks its rule; the message names it.
    NotFoundError
        For an ontology that does not exist now.
    ConflictError
        For a name that is taken.
    """
    check_name(name, "schedule")
    due_times = Cron(cron)
    known = kind_named(kind)
    check_named(known, target)
    plan = plan_request(workspace, known, parameters)
    wanted = complete_target(workspace, known, plan, parameters, target)
    refuse_unseen(workspace, kind, plan.parameters, wanted)
    timetable = timetable or Timetable(workspace.engine)
    timetable.add(name, due_times, kind, parameters, target=wanted)


def seen_schedules(workspace: Workspace) -> list[Schedule]:
    """Return the schedules that `workspace` shows, ordered by name.

    To whom only some ontologies are shown, only schedules are shown that are about these alone.
    """
    found = Timetable(workspace.engine).schedules()
    return found if workspace.only is None else [one for one in found if _is_seen(workspace, one)]


def remove_schedule(workspace: Workspace, name: str) -> None:
    """Delete a schedule and its firings; jobs stay.

    Raises
    ------
    NotFoundError
        For a name of no schedule that `workspace` shows.
    """
    timetable = Timetable(workspace.engine)
    if workspace.only is not None or "\0" in name:  # which PostgreSQL cannot even look for
        _check_among(name, seen_schedules(workspace))
    timetable.remove(name)


def _check_among(name: str, schedules: list[Schedule]) -> None:
    names = [schedule.name for schedule in schedules]
    if name not in names:
        raise NotFoundError(
            f"there is no schedule {name!r}; existing schedules: {', '.join(names) or 'none'}"
        )


def _is_seen(workspace: Workspace, schedule: Schedule) -> bool:
    asked, only = schedule.parameters.get("ontology"), workspace.only or ()
    about = None if asked is None else named_version(workspace, asked)[0]
    return about in only and (schedule.target or {}).get("ontology", about) in only


def fire_due(workspace: Workspace, ledger: Ledger, timetable: Timetable) -> int:
    """Submit the jobs of the schedules that are due; return the number of firings that this call recorded.

    A schedule whose kind is unknown here is left to a process that knows it. If a request cannot be made (an
    ontology is gone, for example), the firing records that, and the schedule is tried again at its next due
    time. A schedule whose row cannot be read is tried again after a day. If a temporary fault prevents a
    firing, the schedule stays due.
    """
    instant, due = timetable.due()
    answered = 0
    for schedule in due:
        kind = find_kind(schedule.kind)
        if kind is None:
            continue
        try:
            answered += _fire(workspace, ledger, timetable, schedule, kind, instant)
        except DEPLOYMENT_FAULTS as error:
            logger.warning("schedule %s is due and will be tried again: %s", schedule.name, error)
        except Exception:  # one schedule must not stop the others, or the sweep
            logger.exception("schedule %s", schedule.name)
    return answered


def _fire(
    workspace: Workspace,
    ledger: Ledger,
    timetable: Timetable,
    schedule: Schedule,
    kind: JobKind,
    instant: float,
) -> bool:
    if schedule.damage is not None:  # perhaps its cron expression too
        told = timetable.fire(schedule, schedule.next_at, next_at=instant + _DAY_S, error=schedule.damage)
        if told:
            logger.error("schedule %s: %s", schedule.name, schedule.damage)
        return told
    cron = Cron(schedule.cron)
    due_at, next_at = cron.until(instant), cron.after(instant)
    plan = _planned(workspace, schedule, kind)
    if isinstance(plan, str):
        logger.error("schedule %s, due %s: %s", schedule.name, _utc(due_at), plan)
        return timetable.fire(schedule, due_at, next_at=next_at, error=plan)

    def record(connection: sa.Connection) -> None:
        ledger.record(connection, plan, target=schedule.target, asked_by=f"schedule:{schedule.name}")

    fired = timetable.fire(schedule, due_at, next_at=next_at, job_id=plan.id, record=record)
    if fired:
        logger.info("schedule %s, due %s: job %s", schedule.name, _utc(due_at), plan.id)
        record_lost(workspace, ledger, plan.id)
    return fired


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _planned(workspace: Workspace, schedule: Schedule, kind: JobKind) -> PlannedJob | str:
    """Return the job that the schedule requests now, or a text that says why it cannot be requested."""
    try:
        return plan_request(workspace, kind, schedule.parameters)
    except DEPLOYMENT_FAULTS:  # an unreachable service
        raise
    except GroveError as error:
        return str(error)
    except Exception as error:  # a defect of the kind
        logger.exception("schedule %s", schedule.name)
        return defect_text(error)


def _schedules(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[Schedule]:
    latest = (
        sa.select(sa.func.max(_firing.due_at))
        .where(_firing.schedule == _schedule.name)
        .correlate(schedule_table)
        .scalar_subquery()
    )
    query = (
        sa.select(schedule_table, _firing.due_at, _firing.fired_at, _firing.job_id, _firing.error)
        .join_from(
            schedule_table,
            firing_table,
            sa.and_(_firing.schedule == _schedule.name, _firing.due_at == latest),
            isouter=True,
        )
        .where(condition)
        .order_by(_schedule.name)
    )
    return [_schedule_of(row) for row in connection.execute(query)]


def _schedule_of(row: sa.Row[Any]) -> Schedule:
    parameters: dict[str, Any] = {}
    target, damage = None, None
    try:
        parameters = recorded_object("parameters_json", row.parameters_json)
        target = None if row.target_json is None else recorded_object("target_json", row.target_json)
        Cron(row.cron)
    except InputError as error:
        damage = (
            f"its row in the database cannot be read: {error}; add the schedule again: grove jobs "
            f"schedule remove {row.name}, then grove jobs schedule add {row.name}"
        )
    return Schedule(
        name=row.name,
        cron=row.cron,
        kind=row.kind,
        parameters=parameters,
        target=target,
        created_at=row.created_at,
        next_at=row.next_at,
        last=None if row.due_at is None else Firing(row.due_at, row.fired_at, row.job_id, row.error),
        damage=damage,
    )
