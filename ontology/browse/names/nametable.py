"""The names of labels, folded and sorted: which names begin with a text, or contain a word that does.

A label has one row for each of its names, as `ontology.browse.names.namerows.NameRows` says. A *form* is a
distinct folded name; a *word* is a distinct word of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.browse.folding import words
from labelgrove.ontology.browse.names.namerows import KINDS, NameRows
from labelgrove.ontology.browse.names.texttables import (
    code_points,
    distinct_texts,
    distinct_words,
    folded_table,
    n_characters,
    parts,
)
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.browse.structure.ranges import (
    joined_ranges,
    sorted_by,
    stored_indices,
    stored_offsets,
)
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.keys import Texts, stored_texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["IMPORTANCE", "NameTable", "letter_bits"]

_PREFERRED = KINDS.index("preferred")
_SAMPLE = 1_000_000
_SHORTEST_INSIDE = 3  # bytes: with fewer, nearly every word would be found

IMPORTANCE = ("use", "kind", "branch", "length")
"""What sorts names that match equally well, in this order; docs/labels.md explains each."""


class NameTable:
    """All names of the labels of one version, as arrays.

    Attributes
    ----------
    forms : Texts, length n_forms
        The distinct folded names, in ascending order of their bytes.
    form_rows : ndarray of shape (n_forms + 1,), dtype=int32
        The rows with form ``f`` are ``form_rows[f]`` to ``form_rows[f + 1]`` (exclusive).
    label, kind, language, use : ndarray of shape (n_rows,)
        Label of each row (int32), its kind as an index in `KINDS` (uint8), its language as an index in
        `languages` (uint16), and how often it is used (int32).
    text : ndarray of shape (n_rows,), dtype=int32
        Index in `texts` of the text of each row; -1 if it is the key or the name in the graph.
    place : ndarray of shape (n_rows,), dtype=int32
        Position of each row if all rows are sorted by `IMPORTANCE`: the most used first, then by kind,
        then by the size of the label's branch (in powers of two), then the shortest name, then canonical
        order.
    by_place : ndarray of shape (n_rows,), dtype=int32
        The rows in that order.
    words : Texts, length n_words
        The distinct words of all forms, in ascending order of their bytes.
    word_rows : ndarray of shape (n_words + 1,), dtype=int64
        The rows that contain word ``w`` are ``postings[word_rows[w]:word_rows[w + 1]]``.
    postings : ndarray of int32
    word_letters, word_length : ndarray of shape (n_words,)
        The `letter_bits` of each word (uint64) and its number of characters (int32).
    deprecated : ndarray of shape (n_labels,), dtype=uint8
        1 for each deprecated label.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], n_labels: int) -> None:
        """Open the arrays that `build` made; `InputError` says which of them breaks a rule."""
        self.forms = stored_texts(arrays, "forms")
        self.words = stored_texts(arrays, "words")
        self.texts = stored_texts(arrays, "texts")
        self.languages = stored_texts(arrays, "languages")
        self.label = stored_indices(arrays, "rows.label", n_labels)
        n_rows = len(self.label)
        of_row = (n_rows,)
        self.kind = stored_array(arrays, "rows.kind", np.uint8, of_row)
        self.language = stored_array(arrays, "rows.language", np.uint16, of_row)
        self.use = stored_array(arrays, "rows.use", np.int32, of_row)
        self.text = stored_array(arrays, "rows.text", np.int32, of_row)
        self.place = stored_indices(arrays, "rows.place", n_rows, n_rows)
        self.by_place = stored_indices(arrays, "rows.by_place", n_rows, n_rows)
        self.postings = stored_indices(arrays, "words.postings", n_rows)
        self.form_rows = stored_offsets(arrays, "forms.rows", np.int32, len(self.forms), n_rows)
        self.word_rows = stored_offsets(arrays, "words.rows", np.int64, len(self.words), len(self.postings))
        self.word_letters = stored_array(arrays, "words.letters", np.uint64, (len(self.words),))
        self.word_length = stored_array(arrays, "words.length", np.int32, (len(self.words),))
        self.deprecated = stored_array(arrays, "labels.deprecated", np.uint8, (n_labels,))
        for name, found, n in (
            ("rows.kind", self.kind, len(KINDS)),
            ("rows.language", self.language, len(self.languages)),
            ("rows.text", self.text, len(self.texts)),
            ("labels.deprecated", self.deprecated, 2),
        ):
            if n_rows and int(found.max()) >= n:
                raise InputError(f"{name}: {int(found.max())} is outside 0..{n - 1}")

    @classmethod
    def of(cls, graph: LabelGraph, annotations: Annotations | None = None) -> Self:
        """Build and open the table of a graph; see `build`."""
        return cls(cls.build(graph, Order.of(graph), annotations), graph.n_labels)

    @staticmethod
    def build(
        graph: LabelGraph, order: Order, annotations: Annotations | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the arrays of the table of all names of the labels of `graph`; see `NameRows`.

        Notes
        -----
        O(n log n) for names of n bytes in total.
        """
        rows = NameRows(graph, annotations)
        deprecated = np.zeros(graph.n_labels, dtype=np.uint8)
        if annotations is not None:
            deprecated = np.ascontiguousarray(annotations.deprecated[: graph.n_labels])
        forms, form = distinct_texts(folded_table(rows.texts))
        by = sorted_by([form, rows.label, rows.kind])
        form, label, kind, use = form[by], rows.label[by], rows.kind[by], rows.use[by]
        columns = {
            "use": -use,
            "kind": np.maximum(kind, _PREFERRED),  # keys stand beside preferred names
            "branch": -np.frexp(order.size.astype(np.float64))[1][label],
            "length": n_characters(forms)[form],
        }
        by_place = _by_importance(columns, label)
        place = np.empty(len(by), dtype=np.int32)
        place[by_place] = np.arange(len(by), dtype=np.int32)
        form_rows = np.searchsorted(form, np.arange(len(forms) + 1)).astype(np.int32)
        return {
            "forms.blob": forms.blob,
            "forms.offsets": forms.offsets,
            "forms.rows": form_rows,
            "rows.label": label,
            "rows.kind": kind,
            "rows.language": rows.language[by],
            "rows.use": use,
            "rows.text": rows.text[by],
            "rows.place": place,
            "rows.by_place": by_place.astype(np.int32),
            "texts.blob": rows.stored.blob,
            "texts.offsets": rows.stored.offsets,
            "languages.blob": rows.languages.blob,
            "languages.offsets": rows.languages.offsets,
            "labels.deprecated": deprecated,
            **_word_arrays(forms, form_rows),
        }

    # ---- questions ---------------------------------------------------------------------------------

    def forms_from(self, folded: str, *, whole: bool) -> slice:
        """Return the rows whose form begins with `folded`, or, if `whole`, whose form is `folded`."""
        low, high = _beginning(self.forms, folded.encode(), whole=whole)
        return slice(int(self.form_rows[low]), int(self.form_rows[high]))

    def rows_of_words_from(self, beginning: str) -> NDArray[np.int32]:
        """Return the rows that contain a word which begins with `beginning`; a row may occur repeatedly."""
        low, high = _beginning(self.words, beginning.encode(), whole=False)
        return self.postings[self.word_rows[low] : self.word_rows[high]]

    def rows_containing(self, chunk: str) -> NDArray[np.integer]:
        """Return the rows whose form contains `chunk`, which has no blank; a row may occur repeatedly.

        A chunk of one word that has fewer than three bytes is found only at the beginning of words.

        Notes
        -----
        All words are compared with a chunk of one word, and all forms with another chunk: about 1 ms for each
        million bytes.
        """
        needle = chunk.encode()
        if len(words(chunk)) > 1:
            return joined_ranges(self.form_rows, _containing(self.forms, self._forms_counted, needle))
        if self.only_at_beginnings(chunk):
            return self.rows_of_words_from(chunk)
        found = _containing(self.words, self._words_counted, needle)
        return self.postings[joined_ranges(self.word_rows, found)]

    @staticmethod
    def only_at_beginnings(chunk: str) -> bool:
        """Return whether a chunk of one word is too short to be found inside words."""
        return len(chunk.encode()) < _SHORTEST_INSIDE

    @cached_property
    def _forms_counted(self) -> NDArray[np.int64]:
        return _counted(self.forms.blob)

    @cached_property
    def _words_counted(self) -> NDArray[np.int64]:
        return _counted(self.words.blob)


# ---- building ------------------------------------------------------------------------------------------


def _by_importance(of: Mapping[str, NDArray[Any]], label: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rows sorted by `IMPORTANCE`, of which `of` contains the columns, then in canonical order."""
    return sorted_by([*(of[what] for what in IMPORTANCE), label])


def _word_arrays(forms: Texts, form_rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return the arrays about words: in which rows each occurs, its letters and its length."""
    table, word, form = distinct_words(forms)
    form = form[np.argsort(word, kind="stable")]  # the forms of each word, ascending
    bounds = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=len(table)))])
    in_rows = np.concatenate([[0], np.cumsum(np.diff(form_rows)[form], dtype=np.int64)])
    return {
        "words.blob": table.blob,
        "words.offsets": table.offsets,
        "words.rows": in_rows[bounds],
        "words.postings": joined_ranges(form_rows, form).astype(np.int32),
        "words.letters": _letters(table),
        "words.length": n_characters(table),
    }


def _letters(words: Texts) -> NDArray[np.uint64]:
    """Return the `letter_bits` of each word; none is empty."""
    found = [np.zeros(0, dtype=np.uint64)]
    for _, part in parts(words):
        characters, length = code_points(part.blob), n_characters(part)
        of_character = letter_bits(np.arange(characters.max() + 1, dtype=np.uint32))
        found.append(np.bitwise_or.reduceat(of_character[characters], np.cumsum(length) - length))
    return np.concatenate(found)


def letter_bits(characters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return a number with one bit set for each code point; Latin letters and digits have their own bits.

    Of two words, one edit changes at most two bits of the union of their bits.
    """
    bit = 36 + characters % 28
    bit = np.where((characters >= 97) & (characters < 123), characters - 97, bit)
    bit = np.where((characters >= 48) & (characters < 58), characters - 48 + 26, bit)
    return np.uint64(1) << bit.astype(np.uint64)


# ---- searching -----------------------------------------------------------------------------------------


def _beginning(table: Texts, wanted: bytes, *, whole: bool) -> tuple[int, int]:
    """Return the range of entries of a sorted table that begin with `wanted`, or that equal it if `whole`."""
    low = _first(table, 0, lambda entry: entry >= wanted)
    if whole:
        return low, low + (low < len(table) and table.bytes_at(low) == wanted)
    return low, _first(table, low, lambda entry: not entry.startswith(wanted))


def _first(table: Texts, low: int, holds: Callable[[bytes], bool]) -> int:
    """Return the first entry from `low` on for which `holds`; it also holds for all entries after that."""
    high = len(table)
    while low < high:
        middle = (low + high) // 2
        if holds(table.bytes_at(middle)):
            high = middle
        else:
            low = middle + 1
    return low


def _counted(blob: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how often each byte occurs in a sample; bytes of a million labels would take seconds."""
    return np.bincount(blob[:: 1 + len(blob) // _SAMPLE], minlength=256)


def _containing(table: Texts, counted: NDArray[np.int64], needle: bytes) -> NDArray[np.int64]:
    """Return the entries that contain `needle`, ascending; `counted` says roughly how often bytes occur."""
    blob, wanted = table.blob, np.frombuffer(needle, dtype=np.uint8)
    first, *others = sorted(range(len(wanted)), key=lambda i: counted[wanted[i]])  # the rarest byte first
    at = np.flatnonzero(blob == wanted[first]) - first
    at = at[(at >= 0) & (at <= len(blob) - len(wanted))]
    for i in others:
        at = at[blob[at + i] == wanted[i]]
    entry = np.searchsorted(table.offsets, at, side="right") - 1
    inside = at + len(wanted) <= table.offsets[entry + 1]
    return np.unique(entry[inside])
