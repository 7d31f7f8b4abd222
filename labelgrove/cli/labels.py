"""``grove labels``: search, path, lowest common ancestors, ancestors, children."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.common import emit, json_option, table, with_workspace

if TYPE_CHECKING:
    from ontology.workspace import Workspace

__all__ = ["labels"]


@click.group()
def labels() -> None:
    """Search labels and walk the hierarchy of an ontology."""


def _answer(
    workspace: Workspace, name: str, as_json: bool, ask: Callable[[Any, str], list[dict[str, Any]]]
) -> None:
    digest = workspace.catalog.version(name).digest
    rows = ask(workspace.graph, digest)
    columns = list(rows[0]) if rows else ["key", "name", "depth"]
    emit(rows, as_json, lambda: table(columns, [tuple(r.values()) for r in rows]))


@labels.command()
@click.argument("name")
@click.argument("text")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000))
@json_option
@with_workspace
def search(workspace: Workspace, name: str, text: str, limit: int, as_json: bool) -> None:
    """Find labels of ontology NAME whose key or name contains TEXT, whatever its case."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.search(digest, text, limit=limit))


@labels.command()
@click.argument("name")
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def path(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show a shortest path between the labels FIRST and SECOND of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.path(digest, first, second))


@labels.command()
@click.argument("name")
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def lca(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show the lowest common ancestors of the labels FIRST and SECOND of ontology NAME."""
    _answer(
        workspace, name, as_json, lambda graph, digest: graph.lowest_common_ancestors(digest, first, second)
    )


@labels.command()
@click.argument("name")
@click.argument("key")
@json_option
@with_workspace
def ancestors(workspace: Workspace, name: str, key: str, as_json: bool) -> None:
    """Show every ancestor of the label KEY of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.ancestors(digest, key))


@labels.command()
@click.argument("name")
@click.argument("key")
@json_option
@with_workspace
def children(workspace: Workspace, name: str, key: str, as_json: bool) -> None:
    """Show the children of the label KEY of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.children(digest, key))
