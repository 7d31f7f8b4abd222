"""``grove graph``: rebuild and verify the graph from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.progress import Progress
from labelgrove.cli.printing.text import emit, json_option
from labelgrove.cli.printing.texttable import table
from labelgrove.cli.waiting.following import check_waitable, follow, result_of

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["graph"]


@click.group()
def graph() -> None:
    """Rebuild or verify the graph: a live form of what catalog and artifacts record."""


@graph.command()
@click.option("--detach", is_flag=True, help="Leave it to the workers.")
@json_option
@with_workspace
def rebuild(workspace: Workspace, detach: bool, as_json: bool) -> None:
    """Build the graph again from the snapshots of every version.

    It is a background job: without a broker it runs here, with one on the workers.
    """
    from labelgrove.workers.client import submit_rebuild

    if not detach:
        check_waitable(workspace)
        workspace.graph.describe()  # one that cannot be reached is an error now, not after some attempts
    job = submit_rebuild(workspace, wait=False)
    if detach:
        emit(
            {"job": job.id, "state": job.state},
            as_json,
            f"{job.id}\nfollow it with: grove jobs watch {job.id[:12]}",
        )
        return
    progress = Progress("rebuild")
    with progress.shown():
        receipt = result_of(follow(workspace, job, progress))
    versions = [row.tobytes().hex() for row in workspace.artifacts.open_arrays(receipt)[0]["versions"]]
    document = {"versions": versions, "seconds": round(progress.seconds, 3)}
    emit(document, as_json, f"rebuilt {len(versions)} versions in {progress.seconds:.1f} s")


@graph.command()
@json_option
@with_workspace
def verify(workspace: Workspace, as_json: bool) -> None:
    """Compare every version in the graph with its snapshot; exit code 1 on a difference."""
    from labelgrove.ontology.versions.rebuilding import verify_graph

    progress = Progress("verify")
    with progress.shown():
        checks = verify_graph(workspace, progress=progress)
    columns = ("ontology", "version", "labels", "edges", "same")
    emit(
        checks,
        as_json,
        lambda: table(
            columns,
            [(c["ontology"], c["digest"][:12], c["n_labels"], c["n_edges"], c["same"]) for c in checks],
        ),
    )
    if not all(c["same"] for c in checks):
        raise SystemExit(1)
