"""Turn the records of a table into labels, edges and annotations; each record describes one label.

A parent may be given by its name, a cell may hold several values, and a record may be a synonym of another
label. What such cells mean depends on all records, so they are kept until the last record was read: the
result does not depend on the order of records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.readers.chains import chain_ends
from labelgrove.ontology.readers.collect import (
    PLACEHOLDERS,
    SYNONYM_ROLES,
    Collector,
    Options,
    parse_rank,
    parse_weight,
)
from labelgrove.ontology.readers.formats.records.pathlabels import PathLabels
from labelgrove.ontology.readers.formats.records.recordcolumns import Columns
from labelgrove.ontology.readers.formats.records.recordlifting import lift_children
from labelgrove.ontology.readers.formats.tables.relations import Relations
from labelgrove.ontology.readers.formerids import settle_former_ids
from labelgrove.ontology.readers.text.cellvalues import (
    Cell,
    has_several,
    listed,
    looks_like_list,
    separator_of,
    split_values,
)

__all__ = ["Records"]

_NOTES = {
    "notation": "notation",
    "alternative_ids": "alternative_id",
    "replaced_by": "replaced_by",
    "consider": "consider",
    "references": "reference",
    "examples": "example",
}
"""The roles of columns of notes, and the kind of each note."""

_OF_KEYS = frozenset({"alternative_ids", "replaced_by", "consider"})
_YES = frozenset({"true", "1", "1.0", "yes", "y", "t", "deprecated", "obsolete"})
_NO = frozenset({"", "false", "0", "0.0", "no", "n", "f", "none", "null", "nan"})


class Records:
    """Collect the labels that records describe.

    Parameters
    ----------
    into : Collector
    columns : Columns
        What the columns of the records are.
    options : Options
    """

    def __init__(self, into: Collector, columns: Columns, options: Options) -> None:
        self._into = into
        self._options = options
        self._columns = columns
        single = columns.single
        self._key = single.get("key", single.get("name", 0))
        self._name = single.get("name") if "key" in single else None
        self._key_is_name = "key" not in single
        self._definition, self._deprecated = single.get("definition"), single.get("deprecated")
        self._rank, self._weight = single.get("rank"), single.get("weight")
        self._relation, self._level = single.get("relation"), single.get("level")
        self._accepted, self._group = single.get("accepted"), single.get("group")
        self._parents = columns.of("parent")
        self._texts = [
            (i, role, language)
            for role, language, i in columns.several
            if role in _NOTES or role in SYNONYM_ROLES
        ]
        self._languages = sorted(
            (language != "en", language, i) for role, language, i in columns.several if role == "name"
        )
        self._children = columns.of("children")
        self._kept = None if options.levels is None else {one.casefold() for one in options.levels}
        if self._kept is not None and self._level is None:
            raise InputError(
                f"levels: {into.file} has no column of levels, so records cannot be selected by them; omit "
                "the option, or name the column with the option columns (level=WORD)"
            )
        self._paths = PathLabels(into) if columns.levels else None
        self._waiting: dict[int, list[tuple[str, Cell, int]]] = {}  # column: key, cell and line
        self._edges: list[tuple[str, Cell, int, Cell, Cell]] = []  # key, parents, line, rank, weight
        self._groups: list[tuple[str, str, int]] = []
        self._synonyms: list[tuple[str, str, str, int]] = []  # accepted label, key, name, line
        self._left_out: dict[str, list[Cell]] = {}  # key of a record of another level: its parents
        self._other_levels: dict[str, tuple[int, int]] = {}
        self._relations = Relations(into, options.relation)

    def take(self, cells: Sequence[Cell], at: int) -> None:
        """Read one record, whose cells are in the order of the columns, from line `at`."""
        into = self._into
        key = cells[self._key]
        if not key or not isinstance(key, str):
            into.defect("empty-key", at, ", ".join(map(str, cells)))
            return
        if self._accepted is not None:
            accepted = cells[self._accepted]
            if accepted and accepted != key and isinstance(accepted, str):
                name = "" if self._name is None else cells[self._name]
                self._synonyms.append((accepted, key, name if isinstance(name, str) else "", at))
                return
        if self._kept is not None and self._level is not None and self._is_other_level(key, cells, at):
            return
        into.describe(key, at)
        self._names(key, cells, at)
        for i, role, language in self._texts:
            if cell := cells[i]:
                if has_several(cell, self._options.separator):
                    self._waiting.setdefault(i, []).append((key, cell, at))
                else:
                    self._text(role, language, key, str(cell))
        if self._deprecated is not None and (flag := cells[self._deprecated]):
            self._flag(key, str(flag), at)
        self._place(key, cells, at)

    def _is_other_level(self, key: str, cells: Sequence[Cell], at: int) -> bool:
        """Return whether a record is of a level that was not asked for; then its parents are remembered."""
        level = str(cells[self._level or 0])
        if level.casefold() in (self._kept or ()):
            return False
        number, first = self._other_levels.get(level, (0, at))
        self._other_levels[level] = number + 1, min(first, at)
        self._left_out.setdefault(key, []).extend(cells[i] for i in self._parents if cells[i])
        return True

    def _names(self, key: str, cells: Sequence[Cell], at: int) -> None:
        into = self._into
        named = self._key_is_name
        if self._name is not None and (name := cells[self._name]):
            into.name(key, str(name), at)
            named = True
        for _, language, i in self._languages:
            for name in split_values(cells[i], "") if cells[i] else ():
                into.annotations.name(key, name, "preferred", language)
                if not named:
                    into.name(key, name, at)
                    named = True
        if self._definition is not None and (definition := cells[self._definition]):
            into.define(key, str(definition), at)

    def _text(self, role: str, language: str, key: str, text: str) -> None:
        """Record a synonym or a note."""
        if role in SYNONYM_ROLES:
            self._into.annotations.name(key, text, SYNONYM_ROLES[role], language)
        else:
            self._into.annotations.note(key, _NOTES[role], text)

    def _flag(self, key: str, text: str, at: int) -> None:
        said = text.strip().casefold()
        if said in _YES:
            self._into.annotations.deprecated.add(key)
        elif said not in _NO:
            self._into.defect("deprecated-value", at, f"{key}: {text}")

    def _place(self, key: str, cells: Sequence[Cell], at: int) -> None:
        """Add the edges of a record, or keep what only the whole table tells."""
        into = self._into
        parents = [cells[i] for i in self._parents if cells[i]]
        if parents and self._is_wanted(key, cells, at):
            rank = "" if self._rank is None else cells[self._rank]
            weight = "1" if self._weight is None else cells[self._weight]
            for cell in parents:
                if has_several(cell, self._options.separator):
                    self._edges.append((key, cell, at, rank, weight))
                else:
                    self._edge(key, str(cell), at, str(rank), str(weight))
        for i in self._children:
            if cells[i]:
                self._waiting.setdefault(i, []).append((key, cells[i], at))
        if self._paths is not None:
            texts = [str(cells[i]) for i in self._columns.levels]
            above = self._paths.add(texts, at)
            if above is not None:
                into.edge(key, above, at)
        elif self._group is not None and (group := str(cells[self._group])):
            self._groups.append((key, group, at))

    def _is_wanted(self, key: str, cells: Sequence[Cell], at: int) -> bool:
        """Return whether the relation of a record is wanted, if there is a column of relations."""
        if self._relation is None:
            return True
        parents = (cells[i] for i in self._parents if cells[i])
        return self._relations.is_wanted(str(cells[self._relation]), at, key, parents)

    def _edge(self, key: str, parent: str, at: int, rank_text: str, weight_text: str) -> None:
        into = self._into
        weight, rank = 1.0, 0
        if self._weight is not None:
            weight, code = parse_weight(weight_text)
            if code:
                into.defect(code, at, f"{key} under {parent}: {weight_text}")
                return
        if self._rank is not None:
            stated = parse_rank(rank_text)
            if stated is None:
                into.defect("rank", at, f"{key} under {parent}: {rank_text}")
            rank = stated or 0
        into.edge(key, parent, at, rank, weight)

    # ---- after the last record -------------------------------------------------------------------

    def close(self) -> None:
        """Add what depends on all records, and report the defects that only the whole table shows."""
        into = self._into
        self._several_parents()
        for i, role, language in self._texts:
            whole = into.labels if role in _OF_KEYS else ()
            for key, values, _ in self._split(i, whole):
                for text in values:
                    self._text(role, language, key, text)
        self._add_children()
        self._add_groups()
        self._add_synonyms()
        into.report_decimals(lambda: into.labels)
        self._name_parents()
        if self._left_out:
            lift_children(into, self._left_out, self._options.separator)
        settle_former_ids(into)
        if self._name is not None or self._languages:
            into.report_unnamed()
        into.report_undescribed()
        for level, (number, line) in sorted(self._other_levels.items()):
            into.defect("other-level", line, f"{level or 'no level'}: {counted(number, 'record')}")
        self._relations.report(has_column=self._relation is not None)

    def _split(self, i: int, whole: Container[str]) -> list[tuple[str, list[str], int]]:
        """Return (key, values, line) of each cell of a column that may hold several values."""
        waiting = self._waiting.get(i, [])
        separator = self._separator(cell for _, cell, _ in waiting)
        return [(key, self._values(cell, separator, whole, at), at) for key, cell, at in waiting]

    def _separator(self, cells: Iterable[Cell]) -> str:
        given = self._options.separator
        return separator_of(cells) if given is None else given

    def _values(self, cell: Cell, separator: str, whole: Container[str], at: int) -> list[str]:
        if isinstance(cell, str) and looks_like_list(cell) and cell not in whole and listed(cell) is None:
            self._into.defect("cell-list", at, cell)
        return split_values(cell, separator, whole)

    def _several_parents(self) -> None:
        into = self._into
        separator = self._separator(cell for _, cell, _, _, _ in self._edges)
        for key, cell, at, rank, weight in self._edges:
            parents = self._values(cell, separator, into.labels, at)
            ranks = self._matched(rank, separator, len(parents))
            weights = self._matched(weight, separator, len(parents))
            for parent, one_rank, one_weight in zip(parents, ranks, weights, strict=True):
                self._edge(key, parent, at, one_rank, one_weight)

    @staticmethod
    def _matched(cell: Cell, separator: str, number: int) -> list[str]:
        """Return the values of a cell, one for each of `number` parents; a single value holds for all."""
        values = split_values(cell, separator)
        return values if len(values) == number else [str(cell)] * number

    def _add_children(self) -> None:
        into = self._into
        if not self._children:
            return
        keys = list(into.numbers)
        stated = {(keys[c], keys[p]) for c, p in zip(into.child, into.parent, strict=True)}
        unknown: dict[str, tuple[str, int]] = {}
        for i in self._children:
            for key, values, at in self._split(i, into.labels):
                for child in values:
                    if child not in into.labels and at < unknown.get(child, ("", at + 1))[1]:
                        unknown[child] = key, at
                    if (child, key) not in stated:  # the child may state the same edge
                        into.edge(child, key, at)
        for child, (key, at) in unknown.items():
            into.defect("child-without-record", at, f"{child} under {key}")

    def _add_groups(self) -> None:
        """Add the labels above those whose groups are named, as the supercategories of COCO are.

        If every group is the name of another label, these labels are the parents.
        """
        into = self._into
        groups = [entry for entry in self._groups if entry[1].casefold() not in PLACEHOLDERS]
        if not groups:
            return
        named = self._unique_names()
        others = all(group in named and named[group] != key for key, group, _ in groups)
        for key, group, at in groups:
            if others:
                into.edge(key, named[group], at)
                continue
            above = f"supercategory/{group}"
            into.describe(above, at)
            into.labels[above] = min(at, into.labels[above])
            into.name(above, group, at)
            into.edge(key, above, at)

    def _unique_names(self) -> dict[str, str]:
        """Return the key of each name that one label alone has."""
        into = self._into
        if self._name is None:
            return {key: key for key in into.labels}
        number = Counter(into.names.values())
        return {name: key for key, name in into.names.items() if number[name] == 1}

    def _add_synonyms(self) -> None:
        """Add the records that are names of other labels; their keys are former ids of these labels."""
        into = self._into
        ordered = sorted(self._synonyms, reverse=True)  # of several records of a key, the smallest counts
        ends = chain_ends({key: accepted for accepted, key, _, _ in ordered if key not in into.labels})
        for accepted, key, name, at in self._synonyms:
            label = ends.get(accepted, accepted)
            if label is not None and label in into.labels:
                into.annotations.note(label, "alternative_id", key)
                if name:
                    into.annotations.name(label, name)
            elif label not in self._left_out:
                into.defect("accepted-without-record", at, f"{key} for {accepted}")

    def _name_parents(self) -> None:
        """Replace parents that are names by keys, if every parent is the name of one label and not a key."""
        into = self._into
        if self._name is None or not into.parent:
            return
        keys = list(into.numbers)
        numbers = set(into.parent)
        if any(keys[number] in into.labels or keys[number] in self._left_out for number in numbers):
            return
        named = self._unique_names()
        parents = {keys[number] for number in numbers}
        if not all(parent in named for parent in parents):
            return
        keeps = into.recorder.policy("parent-by-name") == "warn"
        key_of = {parent: parent if keeps else named[parent] for parent in parents}
        for parent, line in into.move_children(key_of).items():
            into.defect("parent-by-name", line, f"{parent} is the name of the label {named[parent]}")
