"""Write a tree as an outline: one key a line, indented by two blanks for each level below the root."""

from __future__ import annotations

from collections.abc import Iterator

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds, line_fault
from labelgrove.ontology.exports.subjects import Content
from labelgrove.ontology.readers.detection.looks import look_of
from labelgrove.ontology.readers.text.head import head_of
from labelgrove.ontology.readers.text.lines import LONGEST_LINE

__all__ = ["OUTLINE", "outline_lines"]

_LEVEL = "  "

OUTLINE = Holds(key_fault=line_fault)
"""What an outline can hold: keys of a tree."""


def outline_lines(content: Content) -> Iterator[str]:
    """Return the lines of the outline.

    A label with several parents is an error: it would be written several times, and the reader could not tell
    whether that means one label. Keys at the top that make the file look like another one are an error, too:
    an outline has no header by which it is recognized.
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
    if (look := look_of(head_of(_lines(content)))) is not None:
        raise InputError(
            f"the keys of the first labels make the outline look like {look.name}, and a reader would refuse "
            "it; export as json"
        )
    return _lines(content)


def _lines(content: Content) -> Iterator[str]:
    # without bullets, lines of which the first are not indented may look like a table
    bulleted = content.graph.depth[1:2].sum() == 0
    for subject, depth in zip(content, content.graph.depth.tolist(), strict=False):
        # a bullet keeps a key that starts like one, or like a comment, as it is
        bullet = "- " if bulleted or subject.key.startswith(("#", "-", "*")) else ""
        yield f"{_LEVEL * depth}{bullet}{subject.key}\n"
