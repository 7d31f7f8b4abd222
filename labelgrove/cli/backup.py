"""``grove backup`` and ``grove restore``: copy database and artifacts out of a deployment, and back in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.waiting.stopping import resumable, typed

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["backup", "restore"]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
@with_workspace
def backup(workspace: Workspace, folder: Path, as_json: bool) -> None:
    """Copy the catalog, the ledger and the artifacts into FOLDER; they may be in use meanwhile.

    FOLDER may be new or empty, or contain an earlier backup. In the last case only new artifacts are copied,
    and the earlier backup stays valid until the new one is complete. A backup does not contain the graph and
    the index files, since they are rebuilt from the rest.
    """
    from labelgrove.workers.upkeep.backup import backup as write_backup

    progress = Progress("backup")
    kept = (
        f"{folder} keeps its earlier backup, if any, and copies that the next run uses; go on with: {typed()}"
    )
    with resumable(kept), progress.shown():
        result = write_backup(workspace, folder, progress=progress)
    if result.missing:
        note(
            f"{len(result.missing)} results of jobs are missing in the store; "
            "they are recomputed when their jobs are submitted again"
        )
    emit(
        {**asdict(result), "seconds": round(progress.seconds, 3)},
        as_json,
        f"{folder}: {sum(result.rows.values())} rows, {result.n_artifacts} artifacts "
        f"({result.n_bytes} bytes), {result.n_copied} of them new",
    )


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def restore(folder: Path, as_json: bool) -> None:
    """Restore the backup in FOLDER into an empty database and any artifact store.

    GROVE_DATABASE_URL and GROVE_ARTIFACTS_URL name the database and the store. A backup from SQLite can be
    restored into PostgreSQL, and the other way around. The graph is rebuilt when a command next opens it.
    """
    from labelgrove.ontology.settings import Settings
    from labelgrove.workers.upkeep.restore import restore as bring_back

    progress = Progress("restore")
    kept = f"the database is still empty, or already has every row; go on with: {typed()}"
    with resumable(kept), progress.shown():
        result = bring_back(Settings.from_env(), folder, progress=progress)
    emit(
        {**asdict(result), "seconds": round(progress.seconds, 3)},
        as_json,
        f"{sum(result.rows.values())} rows and {result.n_artifacts} artifacts ({result.n_bytes} bytes) "
        f"restored; {len(result.ontologies)} ontologies can be queried",
    )
