"""Draw a branch of a hierarchy as text, with lines that lead from each label to its children."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from labelgrove.cli.printing.text import escaped
from labelgrove.cli.printing.texttable import NARROWEST, cut_to

__all__ = ["tree_lines"]


class _Pen(NamedTuple):
    """The pieces of which the lines are drawn, all of the same width."""

    branch: str
    last: str
    beside: str
    below: str


_BOX = _Pen("├── ", "└── ", "│   ", "    ")
_PLAIN = _Pen("|-- ", "`-- ", "|   ", "    ")


def tree_lines(document: Mapping[str, Any]) -> str:
    """Return a document of `ontology.browse.answers.Answers.trees` as lines of text.

    A terminal gets lines that fit its width. If stdout cannot encode box-drawing characters, the lines are
    drawn in ASCII.
    """
    pen = _BOX if _encodable("".join(_BOX)) else _PLAIN
    lines = [_text(document), *_below(document, "", pen)]
    if sys.stdout.isatty():
        width = max(NARROWEST, shutil.get_terminal_size().columns)
        lines = [cut_to(escaped(line).replace("\t", r"\t"), width) for line in lines]
    return "\n".join(lines)


def _below(document: Mapping[str, Any], margin: str, pen: _Pen) -> Iterator[str]:
    children: Sequence[Mapping[str, Any]] = document["children"]
    for i, child in enumerate(children):
        last = i + 1 == len(children) and not document["more"]
        yield margin + (pen.last if last else pen.branch) + _text(child)
        yield from _below(child, margin + (pen.below if last else pen.beside), pen)
    if document["more"]:
        yield f"{margin}{pen.last}and {document['more']:,} more"


def _text(item: Mapping[str, Any]) -> str:
    """Return a label as a line shows it: name, key, and what is not shown below it."""
    name, key = (str(item[part]).replace("\n", " ") for part in ("name", "key"))
    text = name if name == key else f"{name} ({key})"
    if item["deprecated"]:
        text += ", deprecated"
    if "below" in item:
        return f"{text}, see below {_quoted(item['below'])}" if item["n_children"] else text
    hidden = item["n_children"] - len(item["children"]) - item["more"]
    return f"{text} +{hidden:,}" if hidden else text


def _quoted(item: Mapping[str, Any]) -> str:
    """Return a label as another line names it; names alone may be shared."""
    name, key = str(item["name"]), str(item["key"])
    return repr(name) if name == key else f"{name!r} ({key})"


def _encodable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
