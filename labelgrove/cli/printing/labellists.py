"""Print labels for people: a list, the results of a search, and everything about one label."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labelgrove.adapter.texttable import shown_width
from labelgrove.cli.printing.text import emit, escaped, note
from labelgrove.cli.printing.texttable import NARROWEST, cut_to, table
from labelgrove.ontology.errors import counted

if TYPE_CHECKING:
    from labelgrove.ontology.browse.answers import Answers

__all__ = ["hit_table", "label_page", "print_labels"]

_COLUMNS = ("key", "name", "depth", "leaf")
_DISPENSABLE = ("leaf", "depth", "match")  # columns of a search that a narrow terminal leaves out, in order
_CUT = ("parent", "matched")  # columns of a search whose text is cut on a terminal, before key and name are
_SHORTEST = 12  # but not to fewer characters than this
_ONLY_IF_ANY = ("parent", "matched", "deprecated")  # columns of a search that are left out if they are empty


def print_labels(
    ontology: str,
    found: Mapping[str, Any],
    as_json: bool,
    more: Sequence[str] = (),
    text: Callable[[], str] | None = None,
) -> None:
    """Print a list of labels.

    Parameters
    ----------
    ontology : str
    found : dict
        The list, as `ontology.browse.answers.Answers` returns it.
    as_json : bool
        Whether to print it as a JSON document.
    more : sequence of str
        Entries that its items have beside those of every item.
    text : callable, optional
        Returns the text for people, if it is not the table of these entries.
    """
    deprecated = ("deprecated",) if any(item["deprecated"] for item in found["items"]) else ()
    columns = (*_COLUMNS, *more, *deprecated)
    rows = [[item[column] for column in columns] for item in found["items"]]
    if not rows and not as_json:
        note("no labels")
        return
    emit({"ontology": ontology, **found}, as_json, text or (lambda: table(columns, rows)))
    if as_json:
        return
    if found["next"]:
        note(f"{len(rows):,} of {counted(found['total'], 'label')}; the next ones: --after {found['next']}")
    if facets := found.get("facets"):
        _note_facets(facets, found["total"])


def _note_facets(facets: Mapping[str, Any], total: int) -> None:
    leaves = counted(facets["leaves"], "is a leaf", "are leaves")
    deprecated = f" and {facets['deprecated']:,} deprecated" if facets["deprecated"] else ""
    note(f"{counted(total, 'label')}, of which {leaves}{deprecated}")
    counts = {
        "at depth": facets["depths"].items(),
        "with names in": facets["languages"].items(),
        "below": [(branch["name"], branch["count"]) for branch in facets["branches"]],
    }
    for what, pairs in counts.items():
        if pairs:
            note(f"{what} " + ", ".join(f"{of}: {n:,}" for of, n in pairs))


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
        "deprecated": ["deprecated" if item["deprecated"] else "" for item in items],
    }
    for column in _ONLY_IF_ANY:
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


_SHOWN_IF_SET = ("line", "deprecated")


def label_page(document: Mapping[str, Any]) -> str:
    """Return the document of one label as text: properties and notes, then parents and other names."""
    from labelgrove.ontology.annotations import NOTE_KINDS

    apart = ("path", "parents", "names", *NOTE_KINDS)
    shown = {
        key: value
        for key, value in document.items()
        if key not in apart and (value or key not in _SHOWN_IF_SET)
    }
    if "path" in document:
        shown["path"] = " > ".join(str(item["name"]) for item in document["path"])
    rows = [*shown.items()]
    rows += [(kind.replace("_", " "), _note_text(one)) for kind in NOTE_KINDS for one in document[kind]]
    parts = [table(("property", "value"), rows, wrap=True)]
    if document.get("parents"):
        columns = ("key", "name", "weight", "rank")
        parents = [[parent[column] for column in columns] for parent in document["parents"]]
        parts.append(table(("parent", *columns[1:]), parents))
    if document["names"]:
        told = [c for c in ("language", "use") if any(name[c] for name in document["names"])]
        names = [[name[column] for column in ("text", "kind", *told)] for name in document["names"]]
        parts.append(table(("also called", "kind", *told), names))
    return "\n\n".join(parts)


def _note_text(value: str | Mapping[str, Any]) -> str:
    """Return a note as text; a key that replaces another one comes with its name."""
    if isinstance(value, str):
        return value
    return f"{value['name']} ({value['key']})" if value["name"] not in (None, value["key"]) else value["key"]
