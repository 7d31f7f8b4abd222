"""Write a table of records separated by commas: one line for each label, with its parents and annotations.

The columns are ``key``, ``name``, ``parents``, ``weight``, ``rank``, ``definition``, names by language
(``name:de``), synonyms by kind and language (``narrow_synonyms:de``), ``deprecated`` and the kinds of notes.
Columns that would be empty are left out. A cell with one plain value is that value. A cell with several
values, or with a value that could be taken for several, is a JSON array: it can hold any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS, Annotations
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.edgetable import cell_fault
from labelgrove.ontology.exports.holding import Holds, Losses
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.readers.text.cells import LONGEST_CELL, write_cell

__all__ = ["RECORDS", "record_lines", "with_cells_that_fit"]

_NAME_COLUMNS = {
    "preferred": "name",
    "exact": "synonyms",
    "narrow": "narrow_synonyms",
    "broad": "broad_synonyms",
    "related": "related_synonyms",
}
_NOTE_COLUMNS = {
    "notation": "notation",
    "alternative_id": "alternative_ids",
    "replaced_by": "replaced_by",
    "consider": "consider",
    "reference": "references",
    "example": "examples",
}
_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*")
_LONGEST_LIST = LONGEST_CELL - 1
"""Length in characters of the longest cell with several values, which may get a blank after its bracket."""

_SEVERAL = re.compile(r"[|;]|^\[")
"""What makes a reader look for several values in a cell."""


def _tag_fault(tag: str) -> str | None:
    return None if _TAG.fullmatch(tag) else "is not a language tag such as 'de' or 'pt-br'"


def _value_fault(text: str) -> str | None:
    """Return why a JSON array in a cell cannot hold a text."""
    if not text:
        return "is empty"
    return f"is longer than {LONGEST_CELL // 8:,} characters" if len(text) > LONGEST_CELL // 8 else None


def _definition_fault(text: str) -> str | None:
    """Return why a quoted cell cannot hold a definition; line ends inside it are fine."""
    return cell_fault(text.replace("\n", " ")) if text == text.strip() else "has blanks around it"


RECORDS = Holds(
    key_fault=cell_fault,
    name_fault=cell_fault,
    definition_fault=_definition_fault,
    text_fault=_value_fault,
    language_fault=_tag_fault,
    weights=True,
    ranks=True,
    names=True,
    name_kinds=frozenset(_NAME_COLUMNS),
    languages=True,
    definitions=True,
    deprecated=True,
    retires=True,
    notes=frozenset(_NOTE_COLUMNS),
)
"""What a table of records can hold."""

Column = tuple[str, Callable[[Subject], Sequence[str]]]
"""Name of a column, and what returns the values that a subject has in it."""


def record_lines(content: Content) -> Iterator[str]:
    """Return the records of the table, of which a definition may have several lines."""
    graph, annotations = content.graph, content.annotations
    if not graph.directed:
        raise InputError(f"layout {graph.layout!r} does not fit a table of records; export as edges or json")
    spellings = [word for word in ("key", "Key", "KEY", "kEY") if word not in graph.keys]
    if not spellings:
        raise InputError("'key' in every spelling is a label, and cannot be in the header; export as json")
    named = graph.names != graph.keys
    if annotations is not None:
        # without a plain name, the preferred name of a language would be read as the name
        named = named or bool((annotations.name_kind == NAME_KINDS.index("preferred")).any())
    return _lines(content, spellings[0], named)


def with_cells_that_fit(content: Content) -> Callable[[Subject, Losses], Subject]:
    """Return what refuses a subject with more values in a column than a cell holds."""
    columns = _columns(content)

    def checked(subject: Subject, _losses: Losses) -> Subject:
        for word, values in columns:
            if len(found := values(subject)) > 1 and (n := len(_joined(word, found))) > _LONGEST_LIST:
                raise InputError(
                    f"{word} of {subject.key!r:.80}: the cell would have {n:,} characters, and a table holds "
                    f"{_LONGEST_LIST:,}; export as json"
                )
        return subject

    return checked


def _columns(content: Content) -> list[Column]:
    graph, annotations = content.graph, content.annotations
    columns: list[Column] = [("parents", lambda subject: [edge.parent for edge in subject.edges])]
    if graph.is_weighted:
        columns.append(("weight", lambda subject: [repr(edge.weight) for edge in subject.edges]))
    if (graph.edge_rank > 0).any():
        columns.append(("rank", lambda subject: [str(edge.rank) for edge in subject.edges]))
    return columns if annotations is None else [*columns, *_annotation_columns(annotations)]


def _annotation_columns(annotations: Annotations) -> Iterator[Column]:
    """Yield the columns that some label or retired key may have a value in."""
    if annotations.deprecated.any():
        yield "deprecated", lambda subject: ["true"] if subject.described.deprecated else []
    tags = np.stack([annotations.name_kind.astype(np.int64), annotations.name_language.astype(np.int64)])
    found = {(kind, annotations.languages[language]) for kind, language in np.unique(tags, axis=1).T.tolist()}
    for number, tag in sorted({(kind, "" if _tag_fault(tag) else tag) for kind, tag in found}):
        kind = NAME_KINDS[number]
        if tag or kind != "preferred":
            column = _NAME_COLUMNS[kind]
            yield f"{column}:{tag}" if tag else column, _names_of(kind, tag)
    kinds = set(annotations.note_kind.tolist())
    for number, kind in enumerate(NOTE_KINDS):
        if number in kinds:
            yield _NOTE_COLUMNS[kind], _notes_of(kind)


def _names_of(kind: str, language: str) -> Callable[[Subject], Sequence[str]]:
    return lambda subject: [
        name.text for name in subject.described.names if name.kind == kind and name.language == language
    ]


def _notes_of(kind: str) -> Callable[[Subject], Sequence[str]]:
    return lambda subject: getattr(subject.described, kind)


def _lines(content: Content, key: str, named: bool) -> Iterator[str]:
    columns, keys = _columns(content), content.graph.keys
    retired = frozenset() if content.annotations is None else frozenset(content.annotations.retired)
    defined = content.annotations is not None and len(content.annotations.definitions.blob) > 0
    words = [key, *(["name"] if named else []), *(["definition"] if defined else [])]
    yield ",".join([*words, *(word for word, _ in columns)]) + "\n"
    for subject in content:
        cells = [subject.key, *([subject.name] if named else [])]
        cells += [subject.described.definition] if defined else []
        for word, values in columns:
            cell = _joined(word, values(subject))
            if cell.startswith("[") and (cell in keys or cell in retired):
                cell = f"[ {cell[1:]}"  # otherwise a reader would take the cell for that key
            cells.append(cell)
        yield ",".join(map(_cell, cells)) + "\n"


def _joined(word: str, values: Sequence[str]) -> str:
    """Return the values of a column as one cell; weights and ranks are numbers between semicolons."""
    if word in ("weight", "rank"):
        return ";".join(values)
    if not values:
        return ""
    if len(values) == 1 and not _SEVERAL.search(values[0]) and cell_fault(values[0]) is None:
        return values[0]
    return json.dumps(values, ensure_ascii=False).replace("\ufeff", "\\ufeff")


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if "\n" in text else write_cell(text, "comma")
