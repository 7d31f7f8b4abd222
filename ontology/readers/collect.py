"""Collect what the reader of a format finds: edges with their lines, labels, names, definitions."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from labelgrove.ontology.canonical import LENGTHS
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers.annotating import CollectedAnnotations
from labelgrove.ontology.readers.defects import Recorder
from labelgrove.ontology.readers.keynumbers import KeyNumbers
from labelgrove.ontology.readers.text.cells import MARKS
from labelgrove.ontology.readers.text.languages import LANGUAGE_TAG
from labelgrove.ontology.spelling import one_edit_away

__all__ = [
    "LONGEST_KEY",
    "PLACEHOLDERS",
    "RECORD_ROLES",
    "ROLES_BY_LANGUAGE",
    "SYNONYM_ROLES",
    "Collector",
    "Options",
    "parse_rank",
    "parse_weight",
]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]+")
LONGEST_KEY = 4000
"""Length in bytes of the longest key that the graph stores can index."""

PLACEHOLDERS = frozenset({"nan", "none", "null", "na", "n/a", "<na>"})
"""What tables write in place of a missing value, in small letters."""

RECORD_ROLES = (
    "key", "name", "parent", "children", "group", "definition", "synonyms", "narrow_synonyms",
    "broad_synonyms", "related_synonyms", "notation", "alternative_ids", "deprecated", "replaced_by",
    "consider", "references", "examples", "rank", "weight", "relation", "level", "accepted",
)  # fmt: skip
"""What a column of a table of records may be; those of `ROLES_BY_LANGUAGE` also as in ``name:de``."""

SYNONYM_ROLES: Mapping[str, str] = {
    "synonyms": "exact",
    "narrow_synonyms": "narrow",
    "broad_synonyms": "broad",
    "related_synonyms": "related",
}
"""The roles of columns of synonyms, and the kind of name that each holds."""

ROLES_BY_LANGUAGE = frozenset({"name", *SYNONYM_ROLES})

_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """The caller's options for a source; docs/formats.md says which format takes which option.

    Attributes
    ----------
    direction : {"parent-child", "child-parent", "undirected"} or None
        The meaning of the first two columns of an edge list. If None, the words of the header decide; if
        there is no header, the first column is the parent and the second the child.
    header : bool or None
        Whether an edge list starts with a header. If None, a header is recognized from its words.
    delimiter : {"space", "tab", "comma", "semicolon"} or None
        Column delimiter of an edge list or of records. If None, it is recognized from the first lines.
    relation : str or None
        In a source with several relations, the only relation whose edges are kept. If None, all edges are
        kept. In OBO and RDF, the relations that make the hierarchy, separated by commas; if None,
        ``is_a`` and ``subClassOf``.
    namespace : str or None
        In OBO, the only namespace whose terms are labels. If None, those of all namespaces are.
    labels : Path or None
        File with the classes of a category hierarchy, or with the names of Open Images.
    part : {"noun", "verb"}
        The part of a WordNet folder to read.
    root : str
        Key of the virtual root, which the policy ``roots=virtual`` adds above all roots.
    columns : mapping of role to str or None
        In a table of records, the word of the header (or the member) that each role has. If None, or for
        other roles, the known words decide.
    separator : str or None
        What separates the values in a cell, or the labels of a path. If None, it is recognized; if empty,
        cells have one value.
    levels : tuple of str or None
        In a source with levels, such as the ranks of taxa, the only levels whose labels are kept. If None,
        all are kept.
    key : {"iri", "curie", "local", "notation"}
        What to use as the keys of labels in RDF.
    language : str or None
        In RDF, the language of the names that the graph has. If None, English if there is a name in English,
        else the language in which most labels have a name.
    scheme : str or None
        In SKOS, the only scheme whose concepts are labels. If None, those of all schemes are.
    vocabulary : {"skos", "classes"} or None
        Whether the labels of an RDF file are its SKOS concepts or its classes. If None, the file decides.
    """

    direction: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    relation: str | None = None
    namespace: str | None = None
    labels: Path | None = None
    part: str = "noun"
    root: str = "root"
    columns: Mapping[str, str] | None = None
    separator: str | None = None
    levels: tuple[str, ...] | None = None
    key: str = "iri"
    language: str | None = None
    scheme: str | None = None
    vocabulary: str | None = None

    @classmethod
    def of(
        cls,
        *,
        labels: str | os.PathLike[str] | None = None,
        columns: Mapping[str, str] | None = None,
        levels: Iterable[str] | None = None,
        **others: Any,
    ) -> Self:
        """Return the options that arguments of `ontology.readers.read` give, in types of the attributes."""
        if isinstance(levels, str):
            raise InputError(f"levels: {levels!r} is one text; give a list, such as [{levels!r}]")
        if columns is not None and not isinstance(columns, Mapping):
            raise InputError(f"columns: {columns!r} is not a mapping; give one, such as {{'key': 'Code'}}")
        return cls(
            labels=None if labels is None else Path(labels),
            columns=None if columns is None else dict(columns),
            levels=None if levels is None else tuple(sorted(set(levels))),
            **others,
        )

    def __post_init__(self) -> None:
        for name, allowed in (
            ("direction", (None, "parent-child", "child-parent", "undirected")),
            ("header", (None, True, False)),
            ("delimiter", (None, *MARKS)),
            ("part", ("noun", "verb")),
            ("key", ("iri", "curie", "local", "notation")),
            ("vocabulary", (None, "skos", "classes")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                offered = ", ".join(repr(one) for one in allowed if one is not None)
                raise InputError(f"{name}: {value!r} is not allowed; choose from: {offered}")
        if not isinstance(self.root, str) or not self.root or not self.root.isprintable():
            raise InputError(
                f"root: {self.root!r} is not a key; give at least one character, and only printable ones"
            )
        for name in ("relation", "namespace", "separator", "language", "scheme"):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise InputError(f"{name}: {value!r} is of type {type(value).__name__}; give a text")
        self._check_columns()

    def _check_columns(self) -> None:
        """Refuse a role that records do not have, and one word for two roles."""
        asked: dict[str, str] = {}
        for role, word in (self.columns or {}).items():
            plain, colon, language = str(role).partition(":")
            by_language = plain in ROLES_BY_LANGUAGE and LANGUAGE_TAG.fullmatch(language)
            if plain not in RECORD_ROLES or (colon and not by_language):
                raise InputError(
                    f"columns: {role!r} is not a role; choose from: {', '.join(RECORD_ROLES)}; names and "
                    "synonyms also by language, such as name:de"
                )
            if not isinstance(word, str):
                raise InputError(
                    f"columns: {word!r} (for {role}) is of type {type(word).__name__}; give a text"
                )
            if word in asked:
                raise InputError(
                    f"columns: {word!r} is given for {asked[word]} and for {role}; a column has one role"
                )
            asked[word] = role


@dataclass
class Collector:
    """Edges, labels and texts of one source, as its reader finds them.

    Attributes
    ----------
    file : str
        Path of the file with the edges, as reports show it.
    recorder : Recorder
        Records the defects that the reader finds.
    numbers : KeyNumbers
        Numbers of all keys that are or were ends of an edge. Once the graph is built, also of the other
        declared labels.
    child, parent : array of int
        Numbers of the ends of each edge.
    line : array of int
        Line of each edge.
    rank : dict of edge index to int
        Ranks other than 0.
    weight : dict of edge index to float
        Lengths other than 1.
    labels : dict of key to line
        Labels that the source declares, whether or not they have an edge.
    names, definitions : dict of key to text
        Texts of labels.
    annotations : CollectedAnnotations
        Other names of labels, notes on them, and which are deprecated or retired.
    directed : bool
        Whether edges point from child to parent.
    layout, digest : str or None
        Layout and digest of the graph, if the source states them.
    classes : tuple of keys or None
        The labels that the source lists as classes, sorted; None if it does not list classes.
    """

    file: str
    recorder: Recorder
    numbers: KeyNumbers = field(default_factory=KeyNumbers)
    child: array[int] = field(default_factory=lambda: array("i"))
    parent: array[int] = field(default_factory=lambda: array("i"))
    line: array[int] = field(default_factory=lambda: array("q"))
    rank: dict[int, int] = field(default_factory=dict)
    weight: dict[int, float] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    annotations: CollectedAnnotations = field(default_factory=CollectedAnnotations)
    directed: bool = True
    layout: str | None = None
    digest: str | None = None
    classes: tuple[str, ...] | None = None
    _parent_of: dict[str, str | None] = field(default_factory=dict)

    def defect(self, code: str, line: int, text: str | Callable[[], str]) -> None:
        """Record a defect with the given code, at a line of the file with the edges; see `Recorder.add`."""
        self.recorder.add(code, self.file, line, text)

    def edge(self, child: str, parent: str, line: int, rank: int = 0, weight: float = 1.0) -> None:
        """Add an edge."""
        if rank:
            self.rank[len(self.child)] = rank
        if weight != 1.0:
            self.weight[len(self.child)] = weight
        self.child.append(self.numbers[child])
        self.parent.append(self.numbers[parent])
        self.line.append(line)

    def edges(self, children: list[str], parents: list[str], first_line: int) -> None:
        """Add edges of rank 0 and length 1 from consecutive lines."""
        lines = np.arange(first_line, first_line + len(children), dtype=self.line.typecode)
        self.edges_at(children, parents, array(self.line.typecode, lines.tobytes()))

    def edges_at(self, children: list[str], parents: list[str], lines: array[int]) -> None:
        """Add edges of rank 0 and length 1, each from its line."""
        self.child.extend(map(self.numbers.__getitem__, children))
        self.parent.extend(map(self.numbers.__getitem__, parents))
        self.line.extend(lines)

    def keep(self, edges: list[int]) -> None:
        """Keep only the edges with these indices, which ascend."""
        moved = {old: new for new, old in enumerate(edges)}
        self.rank = {moved[i]: rank for i, rank in self.rank.items() if i in moved}
        self.weight = {moved[i]: weight for i, weight in self.weight.items() if i in moved}
        for column in (self.child, self.parent, self.line):
            column[:] = array(column.typecode, [column[i] for i in edges])

    def children(self) -> set[str]:
        """Return the keys of all labels that are the child of an edge."""
        keys = list(self.numbers)
        return {keys[number] for number in set(self.child)}

    def parents(self) -> set[str]:
        """Return the keys of all labels that are the parent of an edge."""
        keys = list(self.numbers)
        return {keys[number] for number in set(self.parent)}

    def describe(self, key: str, line: int) -> None:
        """Record that a line of the source describes the label `key`; see `report_undescribed`."""
        self.labels.setdefault(key, line)

    def name(self, key: str, text: str, line: int, file: str | None = None) -> None:
        """Give a label its name; if it already has another name, report this.

        Of the two names, the first in the order of UTF-8 bytes is kept. `file` is the file with the name, if
        it is not that of the edges.
        """
        self._text("name", self.names, key, text, line, file or self.file)

    def define(self, key: str, text: str, line: int) -> None:
        """Give a label its definition; if it already has another definition, report this.

        Of the two definitions, the first in the order of UTF-8 bytes is kept.
        """
        self._text("definition", self.definitions, key, text, line, self.file)

    def _text(self, what: str, texts: dict[str, str], key: str, text: str, line: int, file: str) -> None:
        before = texts.setdefault(key, text)
        if before != text:
            says = f"{what} of {key}: {text!r} here, {before!r} earlier"
            self.recorder.add("conflicting-texts", file, line, says)
            texts[key] = min(before, text)

    def report_unnamed(self) -> None:
        """Report declared labels without a name."""
        for key, line in self.labels.items():
            if key not in self.names:
                self.defect("missing-name", line, key)

    def report_undescribed(self) -> None:
        """Report parents for which `describe` was not called: no record of the source describes them.

        The report names the label that has such a parent for its name, or keys and names that are written
        almost like it.
        """
        keys = list(self.numbers)
        first = {keys[number]: i for i, number in self._first_edges() if keys[number] not in self.labels}
        if not first:
            return
        shown = self._with_meaning()
        for parent, i in first.items():
            if parent.casefold() in PLACEHOLDERS:
                self.defect("placeholder-parent", self.line[i], f"{keys[self.child[i]]} under {parent}")
            else:
                self.defect("parent-without-record", self.line[i], partial(shown, parent))
        self.labels.update({parent: self.line[i] for parent, i in first.items()})

    def _with_meaning(self) -> Callable[[str], str]:
        """Return a function that returns an unknown key with the described labels that it may mean."""
        key_of = {name: key for key, name in reversed(self.names.items())}
        near = one_edit_away(list(dict.fromkeys([*self.labels, *self.names.values()])))

        def shown(key: str) -> str:
            return f"{key} is the name of the label {key_of[key]}" if key in key_of else f"{key}{near(key)}"

        return shown

    def move_children(self, parents: Mapping[str, str]) -> dict[str, int]:
        """Put the children of each key of `parents` below its value; return the first line of each key."""
        wanted = {self.numbers[key]: key for key in parents if key in self.numbers}
        lines: dict[str, int] = {}
        for i, number in enumerate(self.parent):
            if number in wanted:
                key = wanted[number]
                lines[key] = min(self.line[i], lines.get(key, self.line[i]))
                self.parent[i] = self.numbers[parents[key]]
        return lines

    def report_decimals(self, known_labels: Callable[[], Container[str]]) -> None:
        """Report parents such as ``1.0`` if ``1`` is a known label, and write ``1`` instead.

        `known_labels` returns the known labels; it is called only if a key looks like ``1.0``.

        Pandas and spreadsheets write 1 as ``1.0`` if a column of integers has empty cells. If the policy
        ``decimal-parent`` is ``warn``, the parents are not replaced.
        """
        keeps = self.recorder.policy("decimal-parent") == "warn"
        keys = list(self.numbers)
        decimals = [number for number, key in enumerate(keys) if key.endswith("0") and "." in key]
        if not decimals:
            return
        known = known_labels()
        wholes: dict[int, str] = {}  # number of a key -> key that is written instead
        for number in decimals:
            whole = keys[number].rstrip("0").removesuffix(".")
            if _WHOLE.fullmatch(whole) and whole in known and keys[number] not in known:
                wholes[number] = whole
        if not wholes:
            return
        for i, number in enumerate(self.parent):
            if number in wholes:
                text = f"{keys[self.child[i]]} under {keys[number]}; the id is {wholes[number]}"
                self.defect("decimal-parent", self.line[i], text)
                if not keeps:
                    self.parent[i] = self.numbers[wholes[number]]

    def _first_edges(self) -> list[tuple[int, int]]:
        """Return (index of its first edge, number) of each parent, in the order of the edges."""
        numbers, first = np.unique(np.array(self.parent), return_index=True)
        by = np.argsort(first)
        return list(zip(first[by].tolist(), numbers[by].tolist(), strict=True))

    def place(self, label: str, parent: str | None, line: int) -> str:
        """Add a label below its parent, and return its key.

        The readers of formats for trees use this method. A label that has already occurred under another
        parent is reported. If the policy ``repeated-label`` is ``fix``, the new occurrence becomes a separate
        label with the key ``parent/label``; otherwise both occurrences are one label with several parents.
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


def parse_rank(text: str) -> int | None:
    """Return the rank that a text states; None if it is not a whole number from 0 to 2**31 - 1.

    >>> parse_rank("3"), parse_rank("-1"), parse_rank("2147483648")
    (3, None, None)
    """
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**31:
        return int(text)
    return None


def parse_weight(text: str) -> tuple[float, str | None]:
    """Return (length, None) for the text of a valid edge length, and (nan, defect code) for any other text.

    >>> parse_weight("2.5"), parse_weight("1e999")[1], parse_weight("-0")[1], parse_weight("1_0")[1]
    ((2.5, None), 'weight-not-finite', 'weight-not-positive', 'weight-not-a-number')
    >>> parse_weight("1e76")[1]
    'weight-out-of-range'
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
    if not LENGTHS[0] <= value <= LENGTHS[1]:
        return math.nan, "weight-out-of-range"
    return value, None
