"""``grove jobs schedule``: submit jobs at set times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from labelgrove.cli.options import completers
from labelgrove.cli.options.parameters import asking, read_pairs, read_parameters
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.schedules import describe_schedules

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["schedule"]


@click.group()
def schedule() -> None:
    """Submit jobs at set times.

    Due jobs are submitted by `grove worker`, and by any command that waits for a job.
    """


@schedule.command()
@click.argument("name")
@click.option(
    "--cron",
    required=True,
    metavar='"M H DOM MON DOW"',
    help="Due times, in UTC: minute, hour, day of month, month and day of week. Names, lists, ranges and "
    "steps are allowed.",
)
@asking
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
    """Add the schedule NAME, which submits a job of KIND once for each due time.

    \b
    grove jobs schedule add nightly --cron "30 2 * * MON-FRI" cover --param ontology=garden

    The name of an ontology means the version that is current at the due time. If several due times pass while
    nothing runs, a job is submitted only for the latest one.
    """
    from labelgrove.workers.schedules.schedule import add_schedule

    asked, named = read_parameters(kind, parameters), read_pairs("--target", target) or None
    add_schedule(workspace, name, cron, kind, asked, target=named)
    (described,) = (one for one in describe_schedules(workspace) if one["name"] == name)
    emit(described, as_json, f"{name} is due next at {described['next_at']}")


@schedule.command("list")
@json_option
@with_workspace
def list_schedules(workspace: Workspace, as_json: bool) -> None:
    """List the schedules: when each is due next, and what happened when it was last due."""
    described = describe_schedules(workspace)
    columns = ("name", "cron", "kind", "parameters", "next_at", "last_due_at", "last_job", "last_error")
    emit(described, as_json, lambda: table(columns, [[s[c] for c in columns] for s in described]))


@schedule.command()
@click.argument("name", shell_complete=completers.schedules)
@with_workspace
def remove(workspace: Workspace, name: str) -> None:
    """Remove a schedule; the jobs that it submitted stay."""
    from labelgrove.workers.schedules.schedule import remove_schedule

    remove_schedule(workspace, name)
    note(f"schedule {name} is removed; its jobs are kept")
