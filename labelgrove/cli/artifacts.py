"""``grove artifacts``: show what is in the artifact store, and delete what nothing refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, json_option
from labelgrove.cli.printing.texttable import table
from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["artifacts"]


@click.group()
def artifacts() -> None:
    """List and measure the contents of the artifact store, and delete what nothing refers to."""


@artifacts.command("list")
@click.option("--unreferenced", is_flag=True, help="List only artifacts that nothing refers to.")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Most artifacts to list."
)
@json_option
@with_workspace
def list_(workspace: Workspace, unreferenced: bool, limit: int, as_json: bool) -> None:
    """List artifacts, in no particular order."""
    from labelgrove.ontology.errors import NotFoundError
    from labelgrove.workers.upkeep.references import references

    known, store = references(workspace), workspace.artifacts
    described: list[dict[str, object]] = []
    for digest in store.digests():
        if len(described) == limit:
            break
        if unreferenced and digest in known:
            continue
        try:
            facts = {"size": store.size(digest), "modified_at": when(store.modified(digest))}
        except NotFoundError:  # collected meanwhile
            continue
        described.append({"sha256": digest, **facts, "referenced": digest in known})
    columns = ("sha256", "size", "modified_at", "referenced")
    emit(described, as_json, lambda: table(columns, [[d[c] for c in columns] for d in described]))


@artifacts.command()
@json_option
@with_workspace
def size(workspace: Workspace, as_json: bool) -> None:
    """Show the number and total size of all artifacts, and of those that nothing refers to."""
    from labelgrove.ontology.errors import NotFoundError
    from labelgrove.workers.upkeep.references import references

    known, store = references(workspace), workspace.artifacts
    found = {"artifacts": 0, "bytes": 0, "unreferenced_artifacts": 0, "unreferenced_bytes": 0}
    for digest in store.digests():
        try:
            n_bytes = store.size(digest)
        except NotFoundError:  # collected meanwhile
            continue
        for prefix in ("",) if digest in known else ("", "unreferenced_"):
            found[f"{prefix}artifacts"] += 1
            found[f"{prefix}bytes"] += n_bytes
    emit(found, as_json, lambda: table(("property", "value"), found.items()))


@artifacts.command()
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and change nothing.")
@json_option
@with_workspace
def collect(workspace: Workspace, dry_run: bool, as_json: bool) -> None:
    """Delete old jobs, and artifacts that nothing has referred to for a day.

    Workers do the same by themselves every ten minutes. A finished job is deleted after GROVE_KEEP_JOBS_DAYS
    days (30 by default), unless a bundle or a schedule needs it. Its artifacts are deleted a day later.
    """
    from labelgrove.workers.upkeep import retention

    keep_s = workspace.settings.keep_jobs_days * retention.DAY_S
    jobs = retention.forget_jobs(workspace.engine, keep_s=keep_s, dry_run=dry_run)
    found = retention.collect(workspace, dry_run=dry_run)
    document = {
        "dry_run": dry_run,
        "jobs": jobs,
        "artifacts": found.artifacts,
        "bytes": found.n_bytes,
        "temporaries": found.temporaries,
    }
    would = "would be " if dry_run else ""
    emit(
        document,
        as_json,
        f"{jobs:,} jobs {would}forgotten; {found.artifacts:,} artifacts ({found.n_bytes:,} bytes) and "
        f"{found.temporaries:,} temporary files {would}deleted",
    )
