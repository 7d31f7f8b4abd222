"""``grove jobs``: submit, follow, cancel and retry background jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.kinds import kinds
from labelgrove.cli.options import completers
from labelgrove.cli.options.parameters import asking, read_pairs, read_parameters
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note, to_the_minute
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.results import result
from labelgrove.cli.schedules import schedule
from labelgrove.cli.waiting.following import check_waitable, follow, result_of
from labelgrove.cli.waiting.refreshing import check_refreshed, refresh_stale, refresh_table
from labelgrove.documents.jobs import describe_costs, describe_jobs, describe_units, matching_jobs
from labelgrove.documents.kinds import describe_estimate
from labelgrove.ontology.errors import sized

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job

__all__ = ["jobs"]

_STATES = ("pending", "running", "done", "failed", "cancelled")

_waiting = click.option(
    "--wait/--detach",
    "wait",
    default=True,
    show_default=True,
    help="Wait until the job ends, or leave it to the workers.",
)


@click.group()
def jobs() -> None:
    """Submit, follow, cancel, retry and schedule background jobs."""


jobs.add_command(kinds)
jobs.add_command(result)
jobs.add_command(schedule)


@jobs.command()
@asking
@_waiting
@click.option("--estimate", is_flag=True, help="Show the time and space that the job needs; submit nothing.")
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
    """Submit a job of KIND; equal requests give the same job, which is computed only once.

    \b
    grove jobs submit cover --param ontology=garden
    grove jobs submit bundle --param ontology=garden --param observed=@mine.txt \\
        --target ontology=garden --target bundle=mine

    An ontology is given as a name, NAME@VERSION or a digest. Without a broker, a detached job waits until
    `grove worker` runs or somebody watches the job. The exit code is 1 if this command waited and the job
    failed.
    """
    from labelgrove.workers import client

    asked = read_parameters(kind, parameters)
    if estimate:
        _estimate(workspace, kind, asked, as_json)
        return
    if wait:
        check_waitable(workspace)
    job = client.submit(workspace, kind, asked, target=read_pairs("--target", target) or None, wait=False)
    if not job.finished:
        _warn_of_size(workspace, job)
    _say_version(workspace, job, asked.get("ontology", ""))
    _end(workspace, job, wait, as_json)


@jobs.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state.")
@click.option("--kind", shell_complete=completers.kinds, help="Only jobs of this kind.")
@click.option("--stale", is_flag=True, help="Only done jobs about a version that is no longer current.")
@click.option(
    "--ontology", shell_complete=completers.ontologies, help="Only jobs about versions of this ontology."
)
@click.option("--asked-by", help="Only jobs that this person, token or schedule requested first.")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Most jobs to list."
)
@json_option
@with_workspace
def list_(
    workspace: Workspace,
    state: str | None,
    kind: str | None,
    stale: bool,
    ontology: str | None,
    asked_by: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List jobs, the newest first."""
    found, _ = matching_jobs(
        workspace, state=state, kind=kind, stale=stale, limit=limit, ontology=ontology, asked_by=asked_by
    )
    described = describe_jobs(workspace, found)
    emit(described, as_json, lambda: _listed(workspace, found, described))


@jobs.command()
@click.argument("ontology", shell_complete=completers.ontologies)
@click.option("--dry-run", is_flag=True, help="Show what would be submitted, and submit nothing.")
@_waiting
@json_option
@with_workspace
def refresh(workspace: Workspace, ontology: str, dry_run: bool, wait: bool, as_json: bool) -> None:
    """Submit the stale jobs of ONTOLOGY again, for its current version.

    A job is stale if its result is for a version that is no longer current. The names of bundles move to the
    new results. A request that the current version cannot meet, because a label is gone, is reported and left
    out. The exit code is 1 if this command waited and a job failed.
    """
    if wait and not dry_run:
        check_waitable(workspace)
    described = refresh_stale(workspace, ontology, dry_run=dry_run, wait=wait)
    emit(described, as_json, lambda: refresh_table(described))
    check_refreshed(described)


@jobs.command()
@click.argument("job", shell_complete=completers.jobs())
@json_option
@with_workspace
def show(workspace: Workspace, job: str, as_json: bool) -> None:
    """Show one job, with the number of its units in each state.

    JOB is the id of the job, or the start of the id.
    """
    from labelgrove.workers import client

    _show(workspace, client.status(workspace, job), as_json)


@jobs.command()
@click.argument("job", shell_complete=completers.jobs())
@json_option
@with_workspace
def watch(workspace: Workspace, job: str, as_json: bool) -> None:
    """Wait until a job ends; show a progress bar on a terminal, else a line on stderr for each change.

    Without a broker, this process computes units of the job itself. The exit code is 1 if the job failed or
    was cancelled.
    """
    from labelgrove.workers import client

    check_waitable(workspace)
    _end(workspace, client.status(workspace, job), True, as_json)


@jobs.command()
@click.argument("job", shell_complete=completers.jobs("pending"))
@json_option
@with_workspace
def cancel(workspace: Workspace, job: str, as_json: bool) -> None:
    """Cancel a job for everyone who submitted it; the units that other jobs need are not stopped."""
    from labelgrove.workers import client
    from labelgrove.workers.ledger.states import State

    cancelled = client.cancel(workspace, job)
    running = cancelled.units.get(State.RUNNING, 0)
    rest = f"; {running} running units stop at their next heartbeat" if running else ""
    note(f"job {cancelled.id[:12]} is cancelled for everyone who submitted it{rest}")
    _show(workspace, cancelled, as_json)


@jobs.command()
@click.argument("job", shell_complete=completers.jobs("failed", "cancelled"))
@_waiting
@json_option
@with_workspace
def retry(workspace: Workspace, job: str, wait: bool, as_json: bool) -> None:
    """Try a failed or cancelled job again; its done units are kept."""
    from labelgrove.workers import client

    if wait:
        check_waitable(workspace)
    _end(workspace, client.retry(workspace, job, wait=False), wait, as_json)


@jobs.command()
@click.argument("job", shell_complete=completers.jobs())
@click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Most units to show."
)
@click.option("--errors", is_flag=True, help="Only units whose last attempt left an error, the newest first.")
@json_option
@with_workspace
def logs(workspace: Workspace, job: str, limit: int, errors: bool, as_json: bool) -> None:
    """Show each unit of a job: the number of attempts, and the time and error of the last attempt."""
    from labelgrove.workers.progress import units_page

    units, total, _ = units_page(workspace, job, limit=limit, errors=errors)
    described = describe_units(units)
    columns = ("stage", "key", "state", "attempts", "claimed_at", "ended_at", "seconds", "error")
    emit(described, as_json, lambda: table(columns, [[u[c] for c in columns] for u in described]))
    left_out = total - len(units)
    if left_out > 0:
        note(f"{left_out} more units; raise --limit to see them")
    if not errors and all(unit.claimed_at is None for unit in units):
        note("no unit has been claimed since the job was last submitted")
    else:
        note("only the last attempt of each unit is recorded; the logs of the workers have the others")


@jobs.command()
@click.argument("job", shell_complete=completers.jobs())
@json_option
@with_workspace
def costs(workspace: Workspace, job: str, as_json: bool) -> None:
    """Show what was estimated for a job next to what it used so far.

    The seconds used are those of the last attempts of its units, one after the other.
    """
    described = describe_costs(workspace, job)
    emit(described, as_json, lambda: table(("property", "estimated", "used"), _compared(described)))


def _compared(costs: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the rows of a table of the costs that `describe_costs` returns."""
    estimated, used, elapsed_s = costs["estimated"], costs["used"], costs["elapsed_s"]
    most = None if estimated is None else estimated["n_bytes"]
    seconds = None if estimated is None else estimated["seconds"]
    return [
        ("units", "unknown" if estimated is None else f"{estimated['units']:,}", f"{used['units']:,} done"),
        ("attempts", "", f"{used['attempts']:,}"),
        ("artifacts", "unknown" if most is None else f"{sized(most)} at most", sized(used["n_bytes"])),
        (
            "time on one core",
            "unknown" if seconds is None else f"{seconds:,.1f} s",
            f"{used['seconds']:,.1f} s",
        ),
        ("elapsed", "", "not ended" if elapsed_s is None else f"{elapsed_s:,.1f} s"),
    ]


def _estimate(workspace: Workspace, kind: str, asked: dict[str, Any], as_json: bool) -> None:
    from labelgrove.ontology.errors import InputError

    described = describe_estimate(workspace, kind, asked)
    if described is None:
        raise InputError(f"job kind {kind!r} has no estimate; submit the job without --estimate")
    emit(described, as_json, lambda: table(("property", "value"), _told(described).items()))


def _told(found: dict[str, Any]) -> dict[str, str]:
    """Return the estimates for a job: a dictionary from their names, such as ``time``, to texts.

    The entry ``free in the store`` says how much space the store has left, which is not an estimate.
    """
    free, most, least = found["free_bytes"], found["n_bytes"], found["least_bytes"]
    seconds = "unknown" if found["seconds"] is None else f"about {found['seconds']:,.1f} s on one core"
    at_least = f", {sized(least)} at least" if least else ""
    room = "unknown" if free is None else sized(free)
    if free is not None and most > free:
        room += ", too little" if least > free else ", which may be too little"
    return {
        "units": f"{found['units']:,}",
        "artifacts": f"{sized(most)} at most{at_least}",
        "free in the store": room,
        "graph": f"{found['graph_rows']:,} nodes and relationships at most",
        "time": seconds,
    }


def _warn_of_size(workspace: Workspace, job: Job) -> None:
    """Print a note if the results of a job may not fit in the store, or if a unit may take too long."""
    from labelgrove.workers import client

    found, free = client.estimate(workspace, job.kind, job.parameters), client.free_bytes(workspace)
    if found is None:
        return
    if free is not None and found.n_bytes > free:
        note(
            f"note: the results of this job may take {sized(found.n_bytes)}, but "
            f"{workspace.artifacts.where} has only {sized(free)} free; to stop the job: "
            f"grove jobs cancel {job.id[:12]}"
        )
    unit_s, limit_s = (found.seconds or 0.0) / found.units, workspace.settings.unit_time_limit_s
    if workspace.settings.broker_url is not None and unit_s > limit_s:
        note(
            f"note: a unit of this job takes about {unit_s:,.0f} s, and workers stop units after {limit_s} "
            "s; set GROVE_UNIT_TIME_LIMIT_S to more seconds on the workers, or submit a smaller job"
        )


def _say_version(workspace: Workspace, job: Job, asked: str) -> None:
    """Print a note if ``NAME@VERSION`` was requested and is not the current version."""
    name, at, _ = asked.partition("@")
    if at:
        version, current = job.parameters["ontology"], workspace.catalog.current(name)
        if version != current:
            note(f"{name}@{version[:12]} is not the current version of {name}, which is {str(current)[:12]}")


def _end(workspace: Workspace, job: Job, wait: bool, as_json: bool) -> None:
    """Show a job; if `wait` is set, first wait until it ends.

    After waiting, raise an error if the job failed or was cancelled, or if its result did not get its name.
    """
    if not wait:
        note(f"job {job.id[:12]} is {job.state}; follow it with: grove jobs watch {job.id[:12]}")
        _show(workspace, job, as_json)
        return
    with Progress(job.kind).shown() as progress:
        job = follow(workspace, job, progress)
    _show(workspace, job, as_json)
    result_of(job)


def _show(workspace: Workspace, job: Job, as_json: bool) -> None:
    (described,) = describe_jobs(workspace, [job])
    emit(described, as_json, lambda: table(("property", "value"), described.items(), wrap=True))
    if job.result_sha256 is not None:
        note(f"see the result: grove jobs result {job.id[:12]}")


def _listed(workspace: Workspace, found: Sequence[Job], described: Sequence[dict[str, Any]]) -> str:
    named: dict[str, list[str]] = {}
    for version in workspace.catalog.versions():
        named.setdefault(version.digest, []).append(version.ontology)
    rows = [
        (
            job.id[:12],
            job.kind,
            _named(workspace, job, named.get(job.parameters.get("ontology", ""), [])),
            job.state,
            None if job.finished_at is None else round(job.finished_at - job.created_at, 1),
            "stale" if told["stale"] else None,
            told["created_at"],
            job.error,
        )
        for job, told in zip(found, described, strict=True)
    ]
    columns = ("id", "kind", "ontology", "state", "seconds", "stale", "created_at", "error")
    brief = {"created_at": to_the_minute}
    return table(columns, rows, whole=["id", "kind", "ontology", "state"], brief=brief)


def _named(workspace: Workspace, job: Job, names: Sequence[str]) -> str:
    """Return the names of the ontologies that a job is about, separated by commas.

    `names` contains the name of each ontology that has the version that the job is about. If there are
    several, return only the ontologies for which a user requested that the result of the job get a name; if
    there was no such request, return all.
    """
    from labelgrove.workers.ledger.ledger import Ledger

    if len(names) > 1:
        asked = {target.get("ontology") for target in Ledger(workspace.engine).requested_names(job.id)}
        names = [name for name in names if name in asked] or names
    return ", ".join(sorted(names))
