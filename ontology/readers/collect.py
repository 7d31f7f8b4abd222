"""What a format's reader fills: edges with their lines, labels, names, definitions."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from ontology.errors import InputError
from ontology.readers.report import Recorder

__all__ = ["Collector", "Options", "parse_weight"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """What a caller may say about a source; which format takes which is in docs/formats.md.

    Attributes
    ----------
    direction : {"parent-child", "child-parent", "undirected"} or None
        What the first two columns of an edge list are; None: the header's word, else parent-child.
    header : bool or None
        Whether an edge list starts with a header; None: told by its words.
    delimiter : {"space", "tab", "comma"} or None
        Column delimiter of an edge list; None: told by its first lines.
    labels : Path or None
        File with the classes of a category hierarchy.
    part : {"noun", "verb"}
        Which file of a WordNet folder.
    root : str
        Key of the virtual root.
    """

    direction: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    labels: Path | None = None
    part: str = "noun"
    root: str = "root"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("direction", (None, "parent-child", "child-parent", "undirected")),
            ("header", (None, True, False)),
            ("delimiter", (None, "space", "tab", "comma")),
            ("part", ("noun", "verb")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                offered = ", ".join(map(repr, allowed))
                raise InputError(f"{name}: {value!r} is not on offer; choose from: {offered}")
        if not isinstance(self.root, str) or not self.root or not self.root.isprintable():
            raise InputError(f"root: {self.root!r} must be a key of at least one character, all printable")


@dataclass
class Collector:
    """Edges, labels and texts of one source, as its reader finds them.

    Attributes
    ----------
    file : str
        The file that holds the edges, as reports show it.
    recorder : Recorder
        Takes the defects.
    child, parent : list of str
        Ends of each edge.
    line : array of int
        Line of each edge.
    rank : dict of edge number to int
        Ranks other than 0.
    weight : dict of edge number to float
        Lengths other than 1.
    labels : dict of key to line
        Labels that the source declares, whether or not they have an edge.
    names, definitions : dict of key to text
        Texts of labels.
    directed : bool
        Whether edges point from child to parent.
    classes : tuple of keys or None
        The labels that are classes, where the source says so.
    """

    file: str
    recorder: Recorder
    child: list[str] = field(default_factory=list)
    parent: list[str] = field(default_factory=list)
    line: array[int] = field(default_factory=lambda: array("q"))
    rank: dict[int, int] = field(default_factory=dict)
    weight: dict[int, float] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    directed: bool = True
    classes: tuple[str, ...] | None = None
    _parent_of: dict[str, str | None] = field(default_factory=dict)

    def defect(self, code: str, line: int, text: str) -> None:
        """Note an occurrence of `code` in the file of the edges."""
        self.recorder.add(code, self.file, line, text)

    def edge(self, child: str, parent: str, line: int, rank: int = 0, weight: float = 1.0) -> None:
        """Add an edge."""
        if rank:
            self.rank[len(self.child)] = rank
        if weight != 1.0:
            self.weight[len(self.child)] = weight
        self.child.append(child)
        self.parent.append(parent)
        self.line.append(line)

    def edges(self, children: list[str], parents: list[str], first_line: int) -> None:
        """Add edges of rank 0 and length 1 that stand in lines one behind the other."""
        self.child += children
        self.parent += parents
        self.line.extend(range(first_line, first_line + len(children)))

    def place(self, label: str, parent: str | None, line: int) -> str:
        """Add a label of a format for trees, where each stands once, and return its key.

        A label that stands under another parent already is reported; where the policy ``repeated-label`` is
        ``fix`` it gets the key ``parent/label``, else it is one label with several parents.
        """
        key = label
        before = self._parent_of.setdefault(label, parent)
        if before != parent:
            self.defect(
                "repeated-label", line, f"{label} under {before or 'no parent'} and {parent or 'no parent'}"
            )
            if parent is not None and self.recorder.policy("repeated-label") == "fix":
                key = f"{parent}/{label}"
                self.names[key] = label
        self.labels.setdefault(key, line)
        if parent is not None:
            self.edge(key, parent, line)
        return key


def parse_weight(text: str) -> tuple[float, str | None]:
    """Return (weight, None), or (nan, defect code) for a text that is no edge length.

    >>> parse_weight("2.5"), parse_weight("1e999")[1], parse_weight("-0")[1], parse_weight("1_0")[1]
    ((2.5, None), 'weight-not-finite', 'weight-not-positive', 'weight-not-a-number')
    """
    if _NOT_FINITE.fullmatch(text):
        return math.nan, "weight-not-finite"
    if not _NUMBER.fullmatch(text):
        return math.nan, "weight-not-a-number"
    value = float(text)
    if math.isinf(value):
        return math.nan, "weight-not-finite"
    if value <= 0:
        return math.nan, "weight-not-positive"
    return value, None
