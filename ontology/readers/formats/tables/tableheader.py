"""Determine the columns of a table, from the words of its header or from its first lines.

If a header names a *parent* and a *child*, each record is an edge. If it names a *parent* and a *key*, each
record is a label; a record without a parent is a root. A *neighbor* and a *key* are the ends of an undirected
edge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labelgrove.ontology.readers.collect import Collector, Options, parse_weight
from labelgrove.ontology.readers.text.cells import MARKS, split_cells

__all__ = [
    "HEADER_WORDS",
    "UNKNOWN_WORDS",
    "Layout",
    "has_header",
    "has_unknown_words",
    "number_text",
    "read_header",
    "sampled_layout",
    "word_role",
]

HEADER_WORDS = {
    "parent": "parent", "parentid": "parent", "parentkey": "parent",
    "superclass": "parent", "hypernym": "parent", "broader": "parent",
    "child": "child", "childid": "child", "childkey": "child",
    "subclass": "child", "hyponym": "child", "narrower": "child",
    "key": "key", "id": "key", "identifier": "key",
    "neighbor": "neighbor", "neighbour": "neighbor",
    "source": "first", "from": "first", "target": "second", "to": "second",
    "weight": "weight", "length": "weight", "distance": "weight",
    "rank": "rank",
    "name": "name",
    "definition": "definition", "gloss": "definition",
    "relation": "relation", "relationship": "relation", "relationtype": "relation", "predicate": "relation",
}  # fmt: skip
"""The role of each word in a header; `word_role` ignores case, blanks, ``_`` and ``-``."""

_ENDS = (("child", "parent"), ("key", "parent"), ("key", "neighbor"), ("name", "parent"), ("first", "second"))
"""Pairs of roles that can be the two ends of an edge; the first pair that a header contains is used."""

_END_ROLES = frozenset({"parent", "child", "neighbor", "first", "second"})

_OF_LABELS = ("key", "name")
"""If the pair of `_ENDS` in a header begins with one of these roles, each record is a label, not an edge."""

UNKNOWN_WORDS = (
    "looks like a header of unknown words (known headers: id,name,parent and child,parent[,weight])"
)
"""What a defect says about a first line that `has_unknown_words` recognizes."""

_SHOWN = 5


@dataclass(frozen=True)
class Layout:
    """The position of each column of a table.

    Attributes
    ----------
    width : int
        Number of columns.
    child, parent : int
        Columns of the two ends of an edge, from 0.
    weight, rank, name, definition, relation : int or None
        The other columns, None for a missing one; name and definition are those of the child.
    header : tuple of str
        The cells of the header; empty if there is none.
    of_labels : bool
        Whether each record is a label, which may have no parent.
    undirected : bool
        Whether the header says that edges have no direction.
    """

    width: int
    child: int
    parent: int
    weight: int | None = None
    rank: int | None = None
    name: int | None = None
    definition: int | None = None
    relation: int | None = None
    header: tuple[str, ...] = ()
    of_labels: bool = False
    undirected: bool = False


def word_role(word: str) -> str | None:
    """Return the role of the column that a header calls `word`, such as ``child``; None for an unknown word.

    `HEADER_WORDS` lists the known words and their roles.

    >>> word_role("Parent_ID"), word_role("colour")
    ('parent', None)
    """
    return HEADER_WORDS.get(re.sub(r"[\s_-]", "", word.casefold()))


def _named_ends(roles: Sequence[str | None]) -> tuple[str, str] | None:
    return next((pair for pair in _ENDS if pair[0] in roles and pair[1] in roles), None)


def has_header(line: str) -> str | None:
    """Return the delimiter of a header line that names both ends of an edge; None for any other line.

    >>> has_header("id;name;parent_id"), has_header("oak,tree"), has_header("parent child")
    ('semicolon', None, 'space')
    """
    for delimiter in MARKS:
        cells = split_cells(line, delimiter) or []
        if _named_ends([word_role(cell) for cell in cells]):
            return delimiter
    return None


def has_unknown_words(lines: Sequence[str], delimiter: str) -> bool:
    """Return whether the first of `lines` may be a header whose words are unknown.

    It may be one if none of its cells is empty, is a number, or occurs in another line.

    >>> has_unknown_words(["label,above", "oak,tree"], "comma"), has_unknown_words(["oak,a", "a,b"], "comma")
    (True, False)
    """
    first, *others = [[cell.strip() for cell in split_cells(line, delimiter) or []] for line in lines]
    words = all(parse_weight(number_text(cell, delimiter))[1] == "weight-not-a-number" for cell in first)
    recurs = any(set(first).intersection(cells) for cells in others)
    return bool(first) and all(first) and words and not recurs


def read_header(cells: list[str], at: int, into: Collector, options: Options) -> Layout | None:
    """Return the layout that the header defines; None if the first record is not a header.

    `cells` are the cells of the first record, which is line `at`. Defects of the header are reported.
    """
    roles = [word_role(cell) for cell in cells]
    ends = _named_ends(roles)
    telling = (
        ends is not None or ("weight" in roles and len(cells) > 2) or (None not in roles and len(cells) > 1)
    )
    if options.header is False or (options.header is None and not telling):
        return None
    shown = ", ".join(cells)
    used = [role for role in roles if role is not None]
    astray = len(cells) > 3 or None not in roles or ("weight" in roles and roles[2:3] != ["weight"])
    half_named = ends is None and (astray or bool(_END_ROLES.intersection(used)))
    if half_named or len(used) != len(set(used)) or len(cells) < 2:
        into.defect("header", at, shown)
    if ends is None:  # a header of unknown words: columns by position
        child, parent = _ends_by_position(options)
        third = 2 if len(cells) > 2 else None
        return Layout(max(len(cells), 2), child, parent, weight=third, header=tuple(cells))
    place = {role: roles.index(role) for role in used}
    texts = () if ends == ("first", "second") else ("name", "definition")  # else: of which end?
    more = {
        role: place[role]
        for role in ("weight", "rank", "relation", *texts)
        if role in place and role not in ends
    }
    for i, cell in enumerate(cells):
        if i not in {*more.values(), place[ends[0]], place[ends[1]]}:
            called = cell or f"column {i + 1}, without a name"
            into.defect("extra-column", at, f"{called}: its cells are left out")
    child, parent = _directed_ends(ends, place[ends[0]], place[ends[1]], options)
    told = _told(ends, place)
    if told and options.direction in ("child-parent", "parent-child") and options.direction != told:
        into.defect("direction-header", at, f"header {shown}, but direction {options.direction}")
    return Layout(
        len(cells),
        child,
        parent,
        **more,
        header=tuple(cells),
        of_labels=ends[0] in _OF_LABELS,
        undirected=ends[1] == "neighbor" and options.direction is None,
    )


def sampled_layout(lines: Sequence[str], delimiter: str, options: Options) -> Layout | str:
    """Return the layout of a file without a header: the layout that most of the given lines have.

    The first two columns are the ends of an edge; a third is its weight. If the lines are not an edge list,
    return a text that says why.
    """
    rows = [cells for line in lines if (cells := split_cells(line, delimiter)) is not None]
    widths = Counter(map(len, rows))
    width = 3 if widths[3] > widths[2] else 2
    child, parent = _ends_by_position(options)
    layout = Layout(width, child, parent, weight=2 if width == 3 else None)
    if delimiter == "space" or not rows:
        return layout
    common = max(widths, key=lambda width: (widths[width], -width))
    alike = [cells for cells in rows if len(cells) == common]
    weights = [number_text(cells[2].strip(), delimiter) for cells in alike] if common == 3 else []
    n_weights = sum(parse_weight(text)[1] != "weight-not-a-number" for text in weights)
    is_headed = n_weights == len(alike) - 1 > 0 and parse_weight(weights[0])[1] == "weight-not-a-number"
    if common > 3 or (common == 3 and (is_headed or n_weights < len(alike) / 2)):
        shown = ", ".join(cell.strip() for cell in alike[0][:_SHOWN]) + (", ..." if common > _SHOWN else "")
        return (
            f"a table of {common} columns ({shown}) without a known header: write key and parent in it, "
            "or use --column key=WORD --column parent=WORD; for paths, "
            f"--format paths --separator {MARKS[delimiter]!r}"
        )
    return layout


def number_text(cell: str, delimiter: str) -> str:
    """Return the text of a number; if the delimiter is the semicolon, change decimal commas to points."""
    return cell.replace(",", ".") if delimiter == "semicolon" else cell


def _directed_ends(ends: tuple[str, str], first: int, second: int, options: Options) -> tuple[int, int]:
    """Return two column numbers, of the child and of the parent, in a table whose header names both ends.

    `ends` is the pair of `_ENDS` that the header contains: the roles of the two ends of an edge, such as
    ``("child", "parent")``. `first` and `second` are the columns with these two roles.
    """
    if ends == ("first", "second"):
        return (first, second) if _ends_by_position(options) == (0, 1) else (second, first)
    swapped = ("child-parent", "parent-child")[first < second]  # contradicts a header with child and parent
    if ends[0] == "child" and options.direction == swapped:
        return second, first
    if ends[1] == "neighbor" and options.direction == "parent-child":
        return second, first
    return first, second


def _told(ends: tuple[str, str], place: Mapping[str, int]) -> str | None:
    """Return the value of the option ``direction`` that means the same as the header.

    Return None for a header such as ``source,target``, which does not say which end is the parent.
    """
    if ends == ("first", "second"):
        return None
    if ends[1] == "neighbor":
        return "undirected"
    return "child-parent" if place[ends[0]] < place[ends[1]] else "parent-child"


def _ends_by_position(options: Options) -> tuple[int, int]:
    """Return two column numbers, of the child and of the parent, if no header says which column is which.

    They are the first two columns of the table; the option ``direction`` determines their order.
    """
    return (0, 1) if options.direction in ("child-parent", "undirected") else (1, 0)
