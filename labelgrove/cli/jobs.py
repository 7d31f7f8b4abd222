"""``grove jobs``: list and show background jobs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.common import emit, json_option, table, when, with_workspace

if TYPE_CHECKING:
    from ontology.workspace import Workspace
    from workers.states import Job

__all__ = ["jobs"]


@click.group()
def jobs() -> None:
    """List and show background jobs."""


@jobs.command("list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000))
@json_option
@with_workspace
def list_(workspace: Workspace, limit: int, as_json: bool) -> None:
    """List jobs, the newest first."""
    from workers import client

    found = client.list_jobs(workspace, limit=limit)
    described = [_described(job) for job in found]
    columns = ("id", "kind", "state", "created_at", "result_sha256", "error")
    emit(described, as_json, lambda: table(columns, [[j[c] for c in columns] for j in described], limit=20))


@jobs.command()
@click.argument("job")
@json_option
@with_workspace
def show(workspace: Workspace, job: str, as_json: bool) -> None:
    """Show one job, named by its id or the start of it, with its units by state."""
    from workers import client

    described = _described(client.status(workspace, job))
    emit(described, as_json, lambda: table(("property", "value"), described.items(), limit=200))


def _described(job: Job) -> dict[str, Any]:
    times = {"created_at": when(job.created_at), "finished_at": when(job.finished_at)}
    return asdict(job) | times
