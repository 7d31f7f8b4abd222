"""Sort columns of names and notes, given in any order, into the arrays that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations.descriptions import NAME_KINDS, NOTE_KINDS
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.keys import Texts
from labelgrove.ontology.textorder import sorted_within

__all__ = ["Integers", "Names", "name_arrays", "note_arrays", "stored_table"]

Integers = Sequence[int] | NDArray[np.integer]
"""A column of integers."""


@dataclass(frozen=True)
class Names:
    """Columns of names, one entry for each name.

    Attributes
    ----------
    keys : sequence of int
        Number of the key of each name.
    texts : sequence of str
    kinds : sequence of int
        Indices in `NAME_KINDS`.
    languages : sequence of int
        Indices in `tags`.
    uses : sequence of int
        At most `MOST_USES`.
    tags : sequence of str
        Language tags, each once.
    """

    keys: Integers
    texts: Sequence[str]
    kinds: Integers
    languages: Integers
    uses: Integers
    tags: Sequence[str]


def name_arrays(subject: NDArray[np.int64], names: Names) -> dict[str, NDArray[Any]]:
    """Return the arrays of names, sorted by subject, kind, language and text.

    `subject` is the subject of each number in `names.keys`, -1 for a key whose names are left out. A repeated
    name counts once, with the largest number of its uses.
    """
    of, kinds, uses = subject[_integers(names.keys)], _integers(names.kinds), _integers(names.uses)
    tags = _integers(names.languages)
    kept = np.flatnonzero(of >= 0)
    used = {names.tags[i] for i in np.unique(tags[kept]).tolist()}
    languages = sorted({"", *used})
    if len(languages) > 2**16:
        raise InputError(f"languages: {len(languages):,} different ones; at most 65,536 are possible")
    place = {tag: i for i, tag in enumerate(languages)}
    language = np.array([place.get(tag, 0) for tag in names.tags], dtype=np.int64)[tags[kept]]
    of, kinds, uses = of[kept], kinds[kept], uses[kept]
    row = (of * len(NAME_KINDS) + kinds) * len(languages) + language
    texts = _table(names.texts).subset(kept)
    order, first = sorted_within(texts, row)
    begin = np.flatnonzero(first)
    most = np.maximum.reduceat(uses[order], begin) if len(begin) else uses
    rows = order[begin]
    return {
        "names.subject": of[rows].astype(np.int32),
        "names.kind": kinds[rows].astype(np.uint8),
        "names.language": language[rows].astype(np.uint16),
        "names.use": most.astype(np.int32),
        **stored_table("names", texts.subset(rows)),
        **stored_table("languages", Texts.from_strings(languages)),
    }


def note_arrays(
    subject: NDArray[np.int64], keys: Integers, kinds: Integers, texts: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of notes, sorted by subject, kind and text; `subject` is as for `name_arrays`."""
    of = subject[_integers(keys)]
    kept = np.flatnonzero(of >= 0)
    of, kind, table = of[kept], _integers(kinds)[kept], _table(texts).subset(kept)
    order, first = sorted_within(table, of * len(NOTE_KINDS) + kind)
    rows = order[first]
    return {
        "notes.subject": of[rows].astype(np.int32),
        "notes.kind": kind[rows].astype(np.uint8),
        **stored_table("notes", table.subset(rows)),
    }


def _integers(values: Integers) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)


def _table(texts: Sequence[str]) -> Texts:
    return texts if isinstance(texts, Texts) else Texts.from_strings(texts)


def stored_table(name: str, table: Texts) -> dict[str, NDArray[Any]]:
    """Return the arrays in which a table of texts is stored."""
    return {f"{name}.blob": table.blob, f"{name}.offsets": table.offsets}
