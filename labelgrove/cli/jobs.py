"""``grove jobs``: list and show background jobs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from labelgrove.cli.common import emit, json_option, table, with_workspace

if TYPE_CHECKING:
    from ontology.workspace import Workspace

__all__ = ["jobs"]


@click.group()
def jobs() -> None:
    """List and show background jobs."""


@jobs.command("list")
@click.option("--state", help="Only jobs in this state.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000))
@json_option
@with_workspace
def list_(workspace: Workspace, state: str | None, limit: int, as_json: bool) -> None:
    """List jobs, the newest first."""
    from workers import client

    found = client.list_jobs(workspace, state=state, limit=limit)
    columns = ("job", "kind", "state", "created", "result", "error")
    emit(
        [asdict(job) for job in found],
        as_json,
        lambda: table(
            columns,
            [
                (j.id[:12], j.kind, j.state, j.created_at, (j.result_sha256 or "")[:12], j.error)
                for j in found
            ],
        ),
    )


@jobs.command()
@click.argument("job")
@json_option
@with_workspace
def show(workspace: Workspace, job: str, as_json: bool) -> None:
    """Show one job, named by its id or the start of it, with its units by state."""
    from workers import client

    found = client.status(workspace, job)
    emit(asdict(found), as_json, lambda: table(("property", "value"), asdict(found).items(), limit=100))
