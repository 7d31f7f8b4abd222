"""Write a tree as an outline: one key a line, indented by two blanks for each level below the root."""

from __future__ import annotations

from collections.abc import Iterator

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds, line_fault
from labelgrove.ontology.exports.subjects import Content
from labelgrove.ontology.readers.text.lines import LONGEST_LINE

__all__ = ["OUTLINE", "outline_lines"]

_LEVEL = "  "

OUTLINE = Holds(key_fault=line_fault)
"""What an outline can hold: keys of a tree."""


def outline_lines(content: Content) -> Iterator[str]:
    """Return the lines of the outline.

    A label with several parents is an error: it would be written several times, and the reader could not tell
    whether that means one label.
    """
    graph = content.graph
    if not graph.directed:
        raise InputError(f"layout {graph.layout!r} does not fit an outline; export as json")
    several = next((subject for subject in content if len(subject.edges) > 1), None)
    if several is not None:
        raise InputError(
            f"label {several.key!r:.80} has {len(several.edges):,} parents, and an outline is a tree; "
            "export as json"
        )
    deepest = (LONGEST_LINE - 4 * max(map(len, graph.keys))) // len(_LEVEL)
    if int(graph.depth.max()) > deepest:
        raise InputError(
            f"the hierarchy has {int(graph.depth.max()):,} levels, and the lines of an outline would be too "
            f"long below level {deepest:,}; export as json"
        )
    return _lines(content)


def _lines(content: Content) -> Iterator[str]:
    single = content.graph.n_edges == 0
    for subject, depth in zip(content, content.graph.depth.tolist(), strict=False):
        # a bullet keeps a key that starts like one, or like a comment, as it is
        bullet = "- " if single or subject.key.startswith(("#", "-", "*")) else ""
        yield f"{_LEVEL * depth}{bullet}{subject.key}\n"
