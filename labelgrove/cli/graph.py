"""``grove graph``: rebuild and verify the graph from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from labelgrove.cli.common import Progress, emit, json_option, table, with_workspace

if TYPE_CHECKING:
    from ontology.workspace import Workspace

__all__ = ["graph"]


@click.group()
def graph() -> None:
    """Rebuild or verify the graph: a live form of what catalogue and artifacts record."""


@graph.command()
@json_option
@with_workspace
def rebuild(workspace: Workspace, as_json: bool) -> None:
    """Build the graph anew from the snapshots of every version."""
    from ontology.ingest import rebuild_graph

    progress = Progress("rebuild")
    with progress.shown():
        versions = rebuild_graph(workspace, progress=progress)
    document = {"versions": versions, "seconds": round(progress.seconds, 3)}
    emit(document, as_json, f"rebuilt {len(versions)} versions in {progress.seconds:.1f} s")


@graph.command()
@json_option
@with_workspace
def verify(workspace: Workspace, as_json: bool) -> None:
    """Read every version back from the graph and compare its digest; exit code 1 on a difference."""
    from ontology.ingest import verify_graph

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
