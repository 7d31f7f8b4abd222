"""``grove labels``: search labels, show one, and walk the hierarchy in every direction."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from labelgrove.adapter.texttable import shown_width
from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.onelabel import OpenVersion
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.text import emit, escaped, json_option, note
from labelgrove.cli.printing.texttable import NARROWEST, cut_to, table
from labelgrove.cli.printing.treelines import tree_lines
from labelgrove.ontology.browse.pages import LARGEST_PAGE
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from labelgrove.ontology.browse.answers import Answers
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["labels"]

_COLUMNS = ("key", "name", "depth", "leaf")
_DISPENSABLE = ("leaf", "depth", "match")  # columns of a search that a narrow terminal leaves out, in order
_CUT = ("parent", "matched")  # columns of a search whose text is cut on a terminal, before key and name are
_SHORTEST = 12  # but not to fewer characters than this
_MOST_LEVELS = 100

name_argument = click.argument("name", shell_complete=ontologies)


def page_options(limit: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the options of a command that shows a page of a list; `limit` is the default of --limit."""
    return option_group(
        click.option(
            "--limit",
            default=limit,
            show_default=True,
            type=click.IntRange(1, LARGEST_PAGE),
            help="Most labels to show.",
        ),
        click.option(
            "--after", metavar="CURSOR", help="Show the next page: CURSOR is `next` of the last one."
        ),
    )


@click.group()
def labels() -> None:
    """Search labels and walk the hierarchy of an ontology.

    LABEL, FIRST and SECOND are keys, or names that only one label has.
    """


@labels.command()
@name_argument
@click.argument("label")
@json_option
@with_workspace
def show(workspace: Workspace, name: str, label: str, as_json: bool) -> None:
    """Show everything about LABEL of ontology NAME: definition, names, parents, path and counts."""
    version = OpenVersion(workspace, name)
    document = {"ontology": version.ontology} | version.answers.show(version.label(label))
    emit(document, as_json, lambda: _label_page(document))


@labels.command()
@name_argument
@click.argument("text")
@click.option("--under", metavar="LABEL", help="Find only LABEL and the labels below it.")
@click.option("--leaf/--inner", default=None, help="Find only leaves, or only labels with children.")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Find only labels N edges below a root.")
@click.option("--facets", is_flag=True, help="Count the labels found by leaf, depth and branch.")
@page_options(20)
@json_option
@with_workspace
def search(
    workspace: Workspace,
    name: str,
    text: str,
    under: str | None,
    leaf: bool | None,
    depth: int | None,
    facets: bool,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """Find labels of ontology NAME by key and name, ignoring case and accents.

    First come labels whose key or name is TEXT, then those whose name begins with it, then those in which
    each word of TEXT begins a word, and last those that contain each word. Labels that match equally well are
    sorted by importance: frequent meanings and large branches come first.
    """
    version = OpenVersion(workspace, name)
    found = version.answers.search(
        text,
        under=None if under is None else version.label(under),
        leaf=leaf,
        depth=depth,
        facets=facets,
        limit=limit,
        after=after,
    )
    if not found["total"]:
        if elsewhere := version.answers.search(text, limit=1)["total"]:  # then the text is spelled right
            note(f"nothing found; {counted(elsewhere, 'label')} without --under, --leaf, --inner and --depth")
        else:
            close = version.close_to(text)
            note("nothing found" + (f"; close to it: {', '.join(close)}" if close else ""))
    _print(version, found, as_json, text=lambda: hit_table(version.answers, found["items"]))


@labels.command()
@name_argument
@click.argument("label")
@page_options(100)
@json_option
@with_workspace
def children(
    workspace: Workspace, name: str, label: str, limit: int, after: str | None, as_json: bool
) -> None:
    """Show the children of LABEL of ontology NAME."""
    version = OpenVersion(workspace, name)
    found = version.answers.children(version.label(label), limit=limit, after=after)
    _print(version, found, as_json, ("weight", "rank"))


@labels.command()
@name_argument
@click.argument("label")
@page_options(100)
@json_option
@with_workspace
def siblings(
    workspace: Workspace, name: str, label: str, limit: int, after: str | None, as_json: bool
) -> None:
    """Show the other children of the parents of LABEL of ontology NAME."""
    version = OpenVersion(workspace, name)
    _print(version, version.answers.siblings(version.label(label), limit=limit, after=after), as_json)


@labels.command()
@name_argument
@click.argument("label")
@json_option
@with_workspace
def ancestors(workspace: Workspace, name: str, label: str, as_json: bool) -> None:
    """Show every ancestor of LABEL of ontology NAME."""
    version = OpenVersion(workspace, name)
    _print(version, version.answers.ancestors(version.label(label)), as_json, ("hops",))


@labels.command()
@name_argument
@click.argument("label")
@page_options(100)
@json_option
@with_workspace
def descendants(
    workspace: Workspace, name: str, label: str, limit: int, after: str | None, as_json: bool
) -> None:
    """Show every label below LABEL of ontology NAME."""
    version = OpenVersion(workspace, name)
    _print(version, version.answers.descendants(version.label(label), limit=limit, after=after), as_json)


@labels.command()
@name_argument
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def path(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show a shortest path between the labels FIRST and SECOND of ontology NAME."""
    version = OpenVersion(workspace, name)
    found = version.answers.path(version.label(first), version.label(second))
    _print(version, found, as_json, ("distance",))


@labels.command()
@name_argument
@click.argument("first")
@click.argument("second")
@json_option
@with_workspace
def lca(workspace: Workspace, name: str, first: str, second: str, as_json: bool) -> None:
    """Show the lowest common ancestors of the labels FIRST and SECOND of ontology NAME."""
    version = OpenVersion(workspace, name)
    found = version.answers.lowest_common_ancestors(version.label(first), version.label(second))
    _print(version, found, as_json)


@labels.command()
@name_argument
@click.option("--under", metavar="LABEL", help="The label to begin with; by default every root.")
@click.option(
    "--levels",
    default=2,
    show_default=True,
    type=click.IntRange(0, _MOST_LEVELS),
    help="Levels to show below it.",
)
@click.option(
    "--most",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="Most children of one label to show.",
)
@json_option
@with_workspace
def tree(workspace: Workspace, name: str, under: str | None, levels: int, most: int, as_json: bool) -> None:
    """Draw the hierarchy of ontology NAME, or the branch of one label, as a tree.

    A number after a label is the number of its children that are not shown. A label with several parents is
    drawn below each of them, but its own children only below one: its primary parent, if that is drawn.
    """
    version = OpenVersion(workspace, name)
    answers = version.answers
    roots = answers.index.walk.roots.tolist() if under is None else [version.label(under)]
    trees = answers.trees(roots[:most], levels=levels, most=most)
    more = len(roots) - len(trees)
    document = {
        "ontology": version.ontology,
        "version": answers.index.graph.digest,
        "trees": trees,
        "more": more,
    }
    emit(document, as_json, lambda: "\n".join(map(tree_lines, trees)))
    if more:
        note(f"and {counted(more, 'more root')}; show more with --most")


def _print(
    version: OpenVersion,
    found: Mapping[str, Any],
    as_json: bool,
    more: Sequence[str] = (),
    text: Callable[[], str] | None = None,
) -> None:
    """Print a list of labels.

    `more` are the entries that its items have beside those of every item; `text` returns the text for people
    where it is not the table of these entries, and is not called if no label was found.
    """
    columns = (*_COLUMNS, *more)
    document = {"ontology": version.ontology, **found}
    if text is not None and not (found["total"] or as_json):
        return
    rows = [[item[column] for column in columns] for item in found["items"]]
    emit(document, as_json, text or (lambda: table(columns, rows)))
    if as_json:
        return
    if found["next"]:
        note(f"{len(rows):,} of {counted(found['total'], 'label')}; the next ones: --after {found['next']}")
    if facets := found.get("facets"):
        leaves = counted(facets["leaves"], "is a leaf", "are leaves")
        note(f"{counted(found['total'], 'label')}, of which {leaves}")
        if facets["depths"]:
            note("at depth " + ", ".join(f"{depth}: {n:,}" for depth, n in facets["depths"].items()))
        if facets["branches"]:
            note("below " + ", ".join(f"{b['name']}: {b['count']:,}" for b in facets["branches"]))


def hit_table(answers: Answers, items: Sequence[Mapping[str, Any]]) -> str:
    """Return the labels that a search found as a table, each with the name of its primary parent."""
    index = answers.index

    def parent(label: int) -> str:
        above = int(index.order.parent[label]) if index.graph.directed else -1
        return index.graph.names[above] if above >= 0 else ""

    def other_name(item: Mapping[str, Any]) -> str:
        text = str(item["matched"]["text"])
        return "" if text in (item["key"], item["name"]) else text

    columns: dict[str, list[str]] = {
        "key": [item["key"] for item in items],
        "name": [item["name"] for item in items],
        "parent": [parent(item["idx"]) for item in items],
        "depth": ["" if item["depth"] is None else str(item["depth"]) for item in items],
        "leaf": [str(item["leaf"]) for item in items],
        "match": [item["match"] for item in items],
        "matched": [other_name(item) for item in items],
    }
    for column in _CUT:
        if not any(columns[column]):
            del columns[column]
    if sys.stdout.isatty():
        columns = _narrowed(columns, max(NARROWEST, shutil.get_terminal_size().columns))
    return table(tuple(columns), zip(*columns.values(), strict=True))


def _narrowed(columns: Mapping[str, list[str]], width: int) -> dict[str, list[str]]:
    """Return columns that fit in `width` characters with whole keys and names, if that is possible.

    First columns are left out that say least, then parents and other names are cut.
    """
    kept = {column: [escaped(cell) for cell in cells] for column, cells in columns.items()}
    wide = {column: max(map(shown_width, (column, *cells))) for column, cells in kept.items()}

    def excess(sizes: Mapping[str, int]) -> int:
        return sum(sizes.values()) + 2 * (len(sizes) - 1) - width

    for column in _DISPENSABLE:
        if excess({c: min(size, _SHORTEST) if c in _CUT else size for c, size in wide.items()}) <= 0:
            break
        del kept[column], wide[column]
    while excess(wide) > 0:
        longest = max((c for c in wide if c in _CUT), key=wide.__getitem__, default="")
        if wide.get(longest, 0) <= _SHORTEST:
            break
        wide[longest] -= 1
    return {c: [cut_to(cell, wide[c]) for cell in cells] for c, cells in kept.items()}


def _label_page(document: Mapping[str, Any]) -> str:
    """Return the document of one label as text: its properties, then its parents and other names."""
    apart = ("path", "parents", "names")
    shown = {key: value for key, value in document.items() if key not in apart}
    if "path" in document:
        shown["path"] = " > ".join(str(item["name"]) for item in document["path"])
    parts = [table(("property", "value"), shown.items(), wrap=True)]
    if document.get("parents"):
        columns = ("key", "name", "weight", "rank")
        rows = [[parent[column] for column in columns] for parent in document["parents"]]
        parts.append(table(("parent", *columns[1:]), rows))
    if document["names"]:
        columns = ("text", "kind", "language", "use")
        rows = [[name[column] for column in columns] for name in document["names"]]
        parts.append(table(("also called", *columns[1:]), rows))
    return "\n\n".join(parts)
