"""``grove labels``: search labels, and show paths, ancestors and children in the hierarchy."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.workspace import name_and_version, with_workspace
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.texttable import table

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["labels"]

_MOST_COMPARED = 5000  # labels, since spellings are compared one by one


@click.group()
def labels() -> None:
    """Search labels and walk the hierarchy of an ontology."""


def _answer(
    workspace: Workspace,
    name: str,
    as_json: bool,
    ask: Callable[[Any, str], list[dict[str, Any]]],
    *given: str,
    searched: str | None = None,
) -> None:
    """Ask the graph about a version of an ontology, and print the rows of its answer.

    `ask` takes the graph and the digest of the version, and returns the rows. `given` contains the
    label keys that the user gave: if some are unknown, the error shows a command that searches for the first
    of them. `searched` is the text that the user searches for: if no label contains it, keys and names with a
    similar spelling are suggested.
    """
    from labelgrove.ontology.errors import UnknownLabelError

    name, beginning = name_and_version(name)
    version = workspace.catalog.version(name, beginning)
    try:
        rows = ask(workspace.graph, version.digest)
    except UnknownLabelError as error:
        keys = workspace.label_graph_of(version).keys
        unknown = next((key for key in given if key not in keys), None)
        if unknown is None:
            raise
        raise UnknownLabelError(
            f"{error}: {shlex.join(['grove', 'labels', 'search', name, unknown])}"
        ) from None
    if not rows and searched is not None:
        close = _close(workspace.label_graph_of(version), searched)
        note("nothing found" + (f"; close to it: {', '.join(close)}" if close else ""))
    columns = list(rows[0]) if rows else ["key", "name", "depth"]
    emit(rows, as_json, lambda: table(columns, [tuple(r.values()) for r in rows]))


def _close(graph: LabelGraph, text: str) -> list[str]:
    """Return at most 3 keys and names with a spelling similar to `text`.

    Return an empty list if the ontology has more than 5,000 labels.
    """
    if graph.n_labels > _MOST_COMPARED:
        return []
    from labelgrove.ontology.spelling import close_words

    spelled = {spelling.casefold(): spelling for spelling in (*graph.names, *graph.keys)}
    return [spelled[one] for one in close_words(text.casefold(), spelled)]


@labels.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("text")
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Most labels to show."
)
@json_option
@with_workspace
def search(workspace: Workspace, name: str, text: str, limit: int, as_json: bool) -> None:
    """Find labels of ontology NAME whose key or name contains TEXT, ignoring case."""
    _answer(
        workspace, name, as_json, lambda graph, digest: graph.search(digest, text, limit=limit), searched=text
    )


@labels.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def path(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show a shortest path between the labels FIRST and SECOND of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.path(digest, first, second), first, second)


@labels.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def lca(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show the lowest common ancestors of the labels FIRST and SECOND of ontology NAME."""
    _answer(
        workspace,
        name,
        as_json,
        lambda graph, digest: graph.lowest_common_ancestors(digest, first, second),
        first,
        second,
    )


@labels.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("key")
@json_option
@with_workspace
def ancestors(workspace: Workspace, name: str, key: str, as_json: bool) -> None:
    """Show every ancestor of the label KEY of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.ancestors(digest, key), key)


@labels.command()
@click.argument("name", shell_complete=ontologies)
@click.argument("key")
@json_option
@with_workspace
def children(workspace: Workspace, name: str, key: str, as_json: bool) -> None:
    """Show the children of the label KEY of ontology NAME."""
    _answer(workspace, name, as_json, lambda graph, digest: graph.children(digest, key), key)
