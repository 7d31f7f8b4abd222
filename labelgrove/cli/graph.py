"""``grove graph``: rebuild the graph from stored snapshots, or compare it with them."""

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
    """Rebuild or verify the graph, which is derived from the catalog and the artifacts."""


@graph.command()
@click.option("--detach", is_flag=True, help="Leave the job to the workers, and do not wait for it.")
@json_option
@with_workspace
def rebuild(workspace: Workspace, detach: bool, as_json: bool) -> None:
    """Rebuild the graph from the snapshots of all versions.

    The rebuild is a background job. With a broker, the workers run it; without a broker, this process does.
    """
    from labelgrove.workers.client import submit_rebuild

    if not detach:
        check_waitable(workspace)
        workspace.graph.describe()  # report an unreachable graph now, not after several attempts of the job
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
    """Compare every version in the graph with its snapshot; the exit code is 1 if any differs."""
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
