"""``grove jobs``: ask for background jobs, follow, cancel and retry them, and have the clock ask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labelgrove.cli.common import Progress, emit, json_option, note, read_keys, table, when, with_workspace
from labelgrove.cli.following import check_waitable
from labelgrove.cli.refreshing import check_refreshed, refresh_stale, refresh_table

if TYPE_CHECKING:
    from ontology.workspace import Workspace
    from workers.schedule import Schedule
    from workers.states import Job

__all__ = ["jobs"]

F = TypeVar("F", bound=Callable[..., Any])

_STATES = ("pending", "running", "done", "failed", "cancelled")


def _asking(command: F) -> F:
    """Add what every request has: a kind, its parameters, and the name of its result."""
    parameter = click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the kind: text, JSON, or @FILE with one label key per line; repeatable.",
    )
    target = click.option(
        "--target",
        multiple=True,
        metavar="NAME=VALUE",
        help="Part of the name that the result gets, for kinds that name theirs; repeatable.",
    )
    return click.argument("kind")(parameter(target(command)))


_waiting = click.option(
    "--wait/--detach",
    "wait",
    default=True,
    show_default=True,
    help="Follow the job to its end, or leave it to the workers.",
)


@click.group()
def jobs() -> None:
    """Ask for background jobs, follow, cancel and retry them, and have the clock ask for them."""


@jobs.command()
@_asking
@_waiting
@click.option("--estimate", is_flag=True, help="Say what the job would take, and submit nothing.")
@json_option
@with_workspace
def submit(
    workspace: Workspace,
    kind: str,
    parameters: tuple[str, ...],
    target: tuple[str, ...],
    wait: bool,
    estimate: bool,
    as_json: bool,
) -> None:
    """Ask for a job of KIND; the same request again is the same job, computed once.

    \b
    grove jobs submit cover --param ontology=garden
    grove jobs submit bundle --param ontology=garden --param observed=@mine.txt \\
        --target ontology=garden --target bundle=mine

    An ontology is a name, NAME@VERSION or a digest. A detached job without a broker waits for `grove worker`
    or for whoever watches it. Exit code 1 if the job that was waited for failed.
    """
    from workers import client

    asked = _parameters(parameters)
    if estimate:
        _estimate(workspace, kind, asked, as_json)
        return
    if wait:
        check_waitable(workspace)
    job = client.submit(workspace, kind, asked, target=_target(target), wait=False)
    _end(workspace, job, wait, as_json)


@jobs.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state.")
@click.option("--kind", help="Only jobs of this kind.")
@click.option("--stale", is_flag=True, help="Only done jobs about a version that no name answers with now.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000))
@json_option
@with_workspace
def list_(
    workspace: Workspace, state: str | None, kind: str | None, stale: bool, limit: int, as_json: bool
) -> None:
    """List jobs, the newest first."""
    from ontology.errors import InputError
    from workers import client
    from workers.refresh import stale_jobs
    from workers.states import State

    wanted = None if state is None else State(state)
    if stale and wanted not in (None, State.DONE):
        raise InputError(f"--stale --state {state}: only done jobs are ever stale; leave one of them out")
    if stale:
        found = stale_jobs(workspace, limit=limit, kind=kind)
    else:
        found = client.list_jobs(workspace, limit=limit, state=wanted, kind=kind)
    described = _described(workspace, found)
    columns = ("id", "kind", "state", "stale", "created_at", "result_sha256", "error")
    rows = [[j[c] if c != "stale" else ("stale" if j[c] else None) for c in columns] for j in described]
    emit(described, as_json, lambda: table(columns, rows, limit=20))


@jobs.command()
@click.argument("ontology")
@click.option("--dry-run", is_flag=True, help="Say what would be asked for, and submit nothing.")
@_waiting
@json_option
@with_workspace
def refresh(workspace: Workspace, ontology: str, dry_run: bool, wait: bool, as_json: bool) -> None:
    """Ask for the stale jobs of ONTOLOGY again, on its current version; names of bundles move with them.

    A request that the version cannot take, because a label is gone, is reported and left out. Exit code 1 if
    a job that was waited for failed.
    """
    if wait and not dry_run:
        check_waitable(workspace)
    described = refresh_stale(workspace, ontology, dry_run=dry_run, wait=wait)
    emit(described, as_json, lambda: refresh_table(described))
    check_refreshed(described)


@jobs.command()
@click.argument("job")
@json_option
@with_workspace
def show(workspace: Workspace, job: str, as_json: bool) -> None:
    """Show one job, named by its id or the start of it, with its units by state."""
    from workers import client

    _show(workspace, client.status(workspace, job), as_json)


@jobs.command()
@click.argument("job")
@json_option
@with_workspace
def watch(workspace: Workspace, job: str, as_json: bool) -> None:
    """Follow a job to its end: a bar on a terminal, else a line on stderr for each change.

    Without a broker this process takes part in the work. Exit code 1 if the job failed or was cancelled.
    """
    from workers import client

    check_waitable(workspace)
    _end(workspace, client.status(workspace, job), True, as_json)


@jobs.command()
@click.argument("job")
@json_option
@with_workspace
def cancel(workspace: Workspace, job: str, as_json: bool) -> None:
    """Cancel a job, for everyone who asked for it; units that another job wants go on."""
    from workers import client
    from workers.states import State

    cancelled = client.cancel(workspace, job)
    running = cancelled.units.get(State.RUNNING, 0)
    rest = f"; {running} running units stop at their next heartbeat" if running else ""
    note(f"job {cancelled.id[:12]} is cancelled for all who asked for it{rest}")
    _show(workspace, cancelled, as_json)


@jobs.command()
@click.argument("job")
@_waiting
@json_option
@with_workspace
def retry(workspace: Workspace, job: str, wait: bool, as_json: bool) -> None:
    """Try a failed or cancelled job again; its done units are kept."""
    from workers import client

    if wait:
        check_waitable(workspace)
    _end(workspace, client.retry(workspace, job, wait=False), wait, as_json)


@jobs.command()
@click.argument("job")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 100_000))
@json_option
@with_workspace
def logs(workspace: Workspace, job: str, limit: int, as_json: bool) -> None:
    """Show what is recorded of each unit of a job: its attempts, and time and error of the last one."""
    from workers import client

    found = client.status(workspace, job)
    units = client.list_units(workspace, found.id, limit=limit)
    described = []
    for unit in units:
        ends = (unit.claimed_at, unit.ended_at)
        times = {"claimed_at": when(unit.claimed_at), "ended_at": when(unit.ended_at)}
        taken = {"seconds": None if None in ends else round(ends[1] - ends[0], 3)}  # type: ignore[operator]
        described.append(asdict(unit) | {"lease_until": when(unit.lease_until or None)} | times | taken)
    columns = ("stage", "key", "state", "attempts", "claimed_at", "ended_at", "seconds", "error")
    emit(described, as_json, lambda: table(columns, [[u[c] for c in columns] for u in described], limit=40))
    left_out = sum(found.units.values()) - len(units)
    if left_out > 0:
        note(f"{left_out} more units; raise --limit to see them")
    if all(unit.claimed_at is None for unit in units):
        note("no unit was claimed since the job was last asked for, so there is nothing more to tell")
    else:
        note("only the last attempt of each unit is recorded; the logs of the workers have the others")


# ---- schedules -----------------------------------------------------------------------------------------


@jobs.group()
def schedule() -> None:
    """Have the clock ask for jobs; `grove worker`, or whoever waits for a job, fires what is due."""


@schedule.command()
@click.argument("name")
@click.option(
    "--cron",
    required=True,
    metavar='"M H DOM MON DOW"',
    help="When, in UTC: minute, hour, day of month, month, day of week; names, lists, ranges and steps.",
)
@_asking
@json_option
@with_workspace
def add(
    workspace: Workspace,
    name: str,
    cron: str,
    kind: str,
    parameters: tuple[str, ...],
    target: tuple[str, ...],
    as_json: bool,
) -> None:
    """Ask for a job of KIND whenever it is due, once for each due time.

    \b
    grove jobs schedule add nightly --cron "30 2 * * MON-FRI" cover --param ontology=garden

    An ontology's name means the version that is current then. Of due times missed while nothing ran, the
    latest one fires.
    """
    from workers.schedule import Timetable, add_schedule

    add_schedule(workspace, name, cron, kind, _parameters(parameters), target=_target(target))
    (added,) = (s for s in Timetable(workspace.engine).schedules() if s.name == name)
    described = _described_schedule(added)
    emit(described, as_json, f"{name} is due next at {described['next_at']}")


@schedule.command("list")
@json_option
@with_workspace
def list_schedules(workspace: Workspace, as_json: bool) -> None:
    """List schedules with their next due time and what became of the last."""
    from workers.schedule import Timetable

    described = [_described_schedule(found) for found in Timetable(workspace.engine).schedules()]
    columns = ("name", "cron", "kind", "next_at", "last_due_at", "last_job", "last_error")
    emit(described, as_json, lambda: table(columns, [[s[c] for c in columns] for s in described], limit=40))


@schedule.command()
@click.argument("name")
@with_workspace
def remove(workspace: Workspace, name: str) -> None:
    """Forget a schedule; the jobs it asked for stay."""
    from workers.schedule import Timetable

    Timetable(workspace.engine).remove(name)
    note(f"schedule {name} is removed; its jobs stay")


# ---- what the commands share ---------------------------------------------------------------------------


def _parameters(given: Sequence[str]) -> dict[str, Any]:
    """Return parameters by name: JSON where a value reads as JSON, decimals and all else as text."""
    from ontology.errors import NotFoundError

    def read(name: str, text: str) -> Any:
        if name == "ontology":  # a name may look like a number
            return text
        if text.startswith("@"):
            if text != "@-" and not Path(text[1:]).exists():  # never a key that stands where a file should
                raise NotFoundError(f"--param {name}={text}: there is no file {text[1:]}; check the path")
            return read_keys(text[1:])
        try:
            return json.loads(text, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError):
            return text

    return {name: read(name, text) for name, text in _pairs("--param", given).items()}


def _target(given: Sequence[str]) -> dict[str, str] | None:
    return _pairs("--target", given) or None


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    from ontology.errors import InputError

    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"{option} {text!r}: write NAME=VALUE")
        if name in pairs:
            raise InputError(f'{option} {name}: is given twice; a list is one value, such as \'["a", "b"]\'')
        pairs[name] = value
    return pairs


def _estimate(workspace: Workspace, kind: str, asked: dict[str, Any], as_json: bool) -> None:
    from ontology.errors import InputError
    from workers import client
    from workers.request import complete_request

    found = client.estimate(workspace, kind, complete_request(workspace, kind, asked))
    if found is None:
        raise InputError(f"job kind {kind!r} does not say what it takes; submit it without --estimate")
    described = asdict(found)
    emit(described, as_json, lambda: table(("property", "value"), described.items()))


def _end(workspace: Workspace, job: Job, wait: bool, as_json: bool) -> None:
    """Follow a job to its end if asked to, show it, and fail if it failed."""
    from ontology.errors import JobFailedError

    if not wait:
        note(f"job {job.id[:12]} is {job.state}; follow it with: grove jobs watch {job.id[:12]}")
        _show(workspace, job, as_json)
        return
    job = _followed(workspace, job)
    _show(workspace, job, as_json)
    if job.result_sha256 is None or job.error is not None:
        why = "" if job.error is None else f": {job.error}"
        raise JobFailedError(f"job {job.id[:12]} is {job.state}{why}; see `grove jobs logs {job.id[:12]}`")


def _followed(workspace: Workspace, job: Job) -> Job:
    from workers import client
    from workers.states import State

    progress, said = Progress(f"job {job.id[:12]}"), [""]

    def told(job: Job) -> None:
        done, total = job.units.get(State.DONE, 0), sum(job.units.values())
        progress(job.state, done, total)
        line = f"job {job.id[:12]} is {job.state}: {done} of {total} units done"
        if line != said[0] and not sys.stderr.isatty():
            note(line)
        said[0] = line

    if workspace.settings.broker_url is not None and not job.finished:
        note(f"the workers have it; Ctrl-C leaves it with them: grove jobs watch {job.id[:12]}")
    with progress.shown():
        return client.wait(workspace, job.id, progress=told)


def _show(workspace: Workspace, job: Job, as_json: bool) -> None:
    (described,) = _described(workspace, [job])
    emit(described, as_json, lambda: table(("property", "value"), described.items(), limit=200))


def _described(workspace: Workspace, found: Sequence[Job]) -> list[dict[str, Any]]:
    from workers.refresh import is_stale

    currents = workspace.catalog.currents().values()
    return [
        asdict(job)
        | {
            "created_at": when(job.created_at),
            "finished_at": when(job.finished_at),
            "stale": is_stale(job, currents),
        }
        for job in found
    ]


def _described_schedule(found: Schedule) -> dict[str, Any]:
    last = found.last
    described = asdict(found) | {"created_at": when(found.created_at), "next_at": when(found.next_at)}
    described.pop("last")
    return described | {
        "last_due_at": None if last is None else when(last.due_at),
        "last_fired_at": None if last is None else when(last.fired_at),
        "last_job": None if last is None else last.job_id,
        "last_error": None if last is None else last.error,
    }
