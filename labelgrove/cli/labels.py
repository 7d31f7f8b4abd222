"""``grove labels``: search labels, show one, and walk the hierarchy in every direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from labelgrove.cli.options.completers import ontologies
from labelgrove.cli.options.groups import option_group
from labelgrove.cli.options.onelabel import OpenVersion
from labelgrove.cli.options.workspace import with_workspace
from labelgrove.cli.printing.labellists import hit_table, label_page, print_labels
from labelgrove.cli.printing.text import emit, json_option, note
from labelgrove.cli.printing.treelines import tree_lines
from labelgrove.ontology.browse.pages import LARGEST_PAGE
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["labels"]

_MOST_LEVELS = 100
_FILTERS = ("--under", "--leaf", "--inner", "--depth", "--deprecated", "--current", "--language")

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
    emit(document, as_json, lambda: label_page(document))


@labels.command()
@name_argument
@click.argument("text")
@click.option("--under", metavar="LABEL", help="Find only LABEL and the labels below it.")
@click.option("--leaf/--inner", default=None, help="Find only leaves, or only labels with children.")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Find only labels N edges below a root.")
@click.option(
    "--deprecated/--current", default=None, help="Find only deprecated labels, or only labels in use."
)
@click.option("--language", metavar="TAG", help="Find only names in this language, such as en.")
@click.option(
    "--facets", is_flag=True, help="Count the labels found by leaf, depth, branch, language and deprecation."
)
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
    deprecated: bool | None,
    language: str | None,
    facets: bool,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """Find labels of ontology NAME by key and name, ignoring case and accents.

    First come labels whose key or name is TEXT, then those whose name begins with it, then those in which
    each word of TEXT begins a word, and last those that contain each word. Labels that match equally well are
    sorted by importance: frequent meanings and large branches come first. Deprecated labels come last. The
    exit code is 4 if nothing is found.
    """
    version = OpenVersion(workspace, name)
    found = version.answers.search(
        text,
        under=None if under is None else version.label(under),
        leaf=leaf,
        depth=depth,
        deprecated=deprecated,
        language=language,
        facets=facets,
        limit=limit,
        after=after,
    )
    if found["total"]:
        print_labels(
            version.ontology, found, as_json, text=lambda: hit_table(version.answers, found["items"])
        )
        return
    if as_json:
        print_labels(version.ontology, found, as_json)
    if elsewhere := version.answers.search(text, limit=1)["total"]:  # then the text is spelled right
        note(f"nothing found; {counted(elsewhere, 'label')} without {', '.join(_FILTERS)}")
    else:
        close = version.answers.close_to(text)
        note("nothing found" + (f"; close to it: {', '.join(close)}" if close else ""))
    raise SystemExit(4)


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
    print_labels(version.ontology, found, as_json, ("weight", "rank"))


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
    found = version.answers.siblings(version.label(label), limit=limit, after=after)
    print_labels(version.ontology, found, as_json)


@labels.command()
@name_argument
@click.argument("label")
@json_option
@with_workspace
def ancestors(workspace: Workspace, name: str, label: str, as_json: bool) -> None:
    """Show every ancestor of LABEL of ontology NAME."""
    version = OpenVersion(workspace, name)
    print_labels(version.ontology, version.answers.ancestors(version.label(label)), as_json, ("hops",))


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
    found = version.answers.descendants(version.label(label), limit=limit, after=after)
    print_labels(version.ontology, found, as_json)


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
    print_labels(version.ontology, found, as_json, ("distance",))


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
    print_labels(version.ontology, found, as_json)


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
