"""The names of labels, folded and sorted: which names begin with a text, or contain a word that does.

A label has one row for each of its names: its key, its preferred name, and any others, such as synonyms, that
`NameRow` describes. A *form* is a distinct folded name; a *word* is a distinct word of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.folding import fold, words
from labelgrove.ontology.browse.order import Order
from labelgrove.ontology.browse.ranges import joined_ranges, stored_indices, stored_offsets
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.keys import Texts, stored_texts
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["KINDS", "NameRow", "NameTable", "letter_bits"]

KINDS = ("key", "preferred", "exact", "narrow", "broad", "related")
"""Kinds of names, from the most telling to the least."""

_KEY, _PREFERRED = 0, 1
_MOST_USES = 2**31 - 1
_LANGUAGE = re.compile(r"[A-Za-z0-9-]{0,35}")
_SHORTEST_INSIDE = 3  # bytes: with fewer, nearly every word would be found


@dataclass(frozen=True)
class NameRow:
    """One more name of a label, beside its key and its preferred name.

    Attributes
    ----------
    label : int
        Index of the label.
    text : str
        The name.
    kind : str
        One of `KINDS` except ``"key"``: ``exact`` for a synonym, ``narrow``, ``broad`` and ``related`` for
        looser ones, ``preferred`` for the preferred name in another language, or to say how often the
        preferred name of the graph is used.
    language : str
        Language tag, such as ``"en"``; empty if unknown.
    use : int
        How often the text means this label, as counted in some corpus; 0 if unknown. Of several labels with
        one name, the most used comes first.
    """

    label: int
    text: str
    kind: str = "exact"
    language: str = ""
    use: int = 0


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
        Position of each row if all rows are sorted by importance: the most used first, then by kind, then by
        the size of the label's branch (in powers of two), then the shortest name, then canonical order.
    by_place : ndarray of shape (n_rows,), dtype=int32
        The rows in that order.
    words : Texts, length n_words
        The distinct words of all forms, in ascending order of their bytes.
    word_rows : ndarray of shape (n_words + 1,), dtype=int64
        The rows that contain word ``w`` are ``postings[word_rows[w]:word_rows[w + 1]]``.
    postings : ndarray of int32
    word_letters, word_length : ndarray of shape (n_words,)
        The `letter_bits` of each word (uint64) and its number of characters (int32).
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
        for name, found, n in (
            ("rows.kind", self.kind, len(KINDS)),
            ("rows.language", self.language, len(self.languages)),
            ("rows.text", self.text, len(self.texts)),
        ):
            if n_rows and int(found.max()) >= n:
                raise InputError(f"{name}: {int(found.max())} is outside 0..{n - 1}")

    @classmethod
    def of(cls, graph: LabelGraph, further: Iterable[NameRow] = ()) -> Self:
        """Build and open the table of a graph; see `build`."""
        return cls(cls.build(graph, Order.of(graph), further), graph.n_labels)

    @staticmethod
    def build(graph: LabelGraph, order: Order, further: Iterable[NameRow] = ()) -> dict[str, NDArray[Any]]:
        """Return the arrays of the table of the keys and names of `graph`, and of `further` names.

        Raises
        ------
        InputError
            For a row with an unknown label, kind or language tag, an empty text, or a negative use.

        Notes
        -----
        O(n log n) for names of n bytes in total.
        """
        rows = _Rows(graph, further)
        folded = [fold(text) for text in rows.texts]
        forms = sorted(set(folded))
        position = {form: i for i, form in enumerate(forms)}
        form = np.fromiter(map(position.__getitem__, folded), dtype=np.int32, count=len(folded))
        del position, folded
        by = np.lexsort((rows.kind, rows.label, form))
        form, label, kind, use = form[by], rows.label[by], rows.kind[by], rows.use[by]
        lengths = np.fromiter(map(len, forms), dtype=np.int32, count=len(forms))
        branch = np.frexp(order.size[label].astype(np.float64))[1]
        by_place = np.lexsort((label, lengths[form], -branch, np.maximum(kind, _PREFERRED), -use))
        place = np.empty(len(by), dtype=np.int32)
        place[by_place] = np.arange(len(by), dtype=np.int32)
        form_rows = np.searchsorted(form, np.arange(len(forms) + 1)).astype(np.int32)
        table, languages = Texts.from_strings(forms), Texts.from_strings(rows.languages)
        texts = Texts.from_strings(rows.stored)
        return {
            "forms.blob": table.blob,
            "forms.offsets": table.offsets,
            "forms.rows": form_rows,
            "rows.label": label,
            "rows.kind": kind,
            "rows.language": rows.language[by],
            "rows.use": use,
            "rows.text": rows.text[by],
            "rows.place": place,
            "rows.by_place": by_place.astype(np.int32),
            "texts.blob": texts.blob,
            "texts.offsets": texts.offsets,
            "languages.blob": languages.blob,
            "languages.offsets": languages.offsets,
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
        if len(needle) < _SHORTEST_INSIDE:
            return self.rows_of_words_from(chunk)
        found = _containing(self.words, self._words_counted, needle)
        return self.postings[joined_ranges(self.word_rows, found)]

    @cached_property
    def _forms_counted(self) -> NDArray[np.int64]:
        return np.bincount(self.forms.blob, minlength=256)

    @cached_property
    def _words_counted(self) -> NDArray[np.int64]:
        return np.bincount(self.words.blob, minlength=256)


# ---- building ------------------------------------------------------------------------------------------


class _Rows:
    """The columns of all rows, in the order in which they were given."""

    def __init__(self, graph: LabelGraph, further: Iterable[NameRow]) -> None:
        keys = list(graph.keys)
        names = [] if graph.names == graph.keys else list(graph.names)
        more = list(further)
        uses, more = _uses_of_names(graph, more)
        everyone = np.arange(len(keys), dtype=np.int32)
        named = everyone[: len(names)]
        self.languages = sorted({"", *(row.language for row in more)})
        of_language = {language: i for i, language in enumerate(self.languages)}
        if len(self.languages) > 2**16:
            raise InputError(f"language: {len(self.languages):,} different ones; at most 65,536 are possible")
        self.texts = [*keys, *names, *(row.text for row in more)]
        self.stored = [row.text for row in more]
        self.label = np.concatenate([everyone, named, np.array([r.label for r in more], dtype=np.int32)])
        self.kind = np.concatenate(
            [
                np.full(len(keys), _KEY, dtype=np.uint8),
                np.full(len(names), _PREFERRED, dtype=np.uint8),
                np.array([KINDS.index(row.kind) for row in more], dtype=np.uint8),
            ]
        )
        self.use = np.concatenate(
            [
                np.zeros(len(keys), dtype=np.int32) if names else uses,
                uses[: len(names)],
                np.array([row.use for row in more], dtype=np.int32),
            ]
        )
        self.language = np.zeros(len(self.texts), dtype=np.uint16)
        self.language[len(self.texts) - len(more) :] = [of_language[row.language] for row in more]
        self.text = np.full(len(self.texts), -1, dtype=np.int32)
        self.text[len(self.texts) - len(more) :] = np.arange(len(more), dtype=np.int32)


def _uses_of_names(graph: LabelGraph, rows: Sequence[NameRow]) -> tuple[NDArray[np.int32], list[NameRow]]:
    """Return how often the name of each label is used, and the rows that are not such a name."""
    uses, others = np.zeros(graph.n_labels, dtype=np.int32), []
    for row in rows:
        if not 0 <= row.label < graph.n_labels:
            raise InputError(
                f"label: {row.label} of the name {row.text!r:.80} is outside 0..{len(graph) - 1}"
            )
        if row.kind not in KINDS[1:]:
            raise InputError(f"kind: {row.kind!r} of the name {row.text!r:.80}; use {', '.join(KINDS[1:])}")
        if not row.text.strip():
            raise InputError(f"text: a name of label {graph.keys[row.label]!r} is empty; leave it out")
        if not 0 <= row.use <= _MOST_USES:
            raise InputError(f"use: {row.use} of the name {row.text!r:.80}; give 0 to {_MOST_USES}")
        if not _LANGUAGE.fullmatch(row.language):
            raise InputError(f"language: {row.language!r:.80} is not a language tag such as 'en' or 'pt-BR'")
        if row.kind == "preferred" and not row.language and row.text == graph.names[row.label]:
            uses[row.label] = row.use
        else:
            others.append(row)
    return uses, others


def _word_arrays(forms: Sequence[str], form_rows: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return the arrays about words: in which rows each occurs, its letters and its length."""
    of_forms = [words(form) for form in forms]
    distinct = sorted(set(chain.from_iterable(of_forms)))
    position = {word: i for i, word in enumerate(distinct)}
    counts = np.fromiter(map(len, of_forms), dtype=np.int64, count=len(forms))
    total = int(counts.sum())
    word = np.fromiter(map(position.__getitem__, chain.from_iterable(of_forms)), dtype=np.int32, count=total)
    del of_forms, position
    form = np.repeat(np.arange(len(forms), dtype=np.int32), counts)
    form = form[np.argsort(word, kind="stable")]  # the forms of each word, ascending
    n_rows = np.diff(form_rows)[form]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=len(distinct)))])
    in_rows = np.concatenate([[0], np.cumsum(n_rows, dtype=np.int64)])
    table = Texts.from_strings(distinct)
    letters, length = _letters(distinct)
    return {
        "words.blob": table.blob,
        "words.offsets": table.offsets,
        "words.rows": in_rows[bounds],
        "words.postings": joined_ranges(form_rows, form).astype(np.int32),
        "words.letters": letters,
        "words.length": length,
    }


def letter_bits(characters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return a number with one bit set for each code point; Latin letters and digits have their own bits.

    Of two words, one edit changes at most two bits of the union of their bits.
    """
    bit = 36 + characters % 28
    bit = np.where((characters >= 97) & (characters < 123), characters - 97, bit)
    bit = np.where((characters >= 48) & (characters < 58), characters - 48 + 26, bit)
    return np.uint64(1) << bit.astype(np.uint64)


def _letters(distinct: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    length = np.fromiter(map(len, distinct), dtype=np.int32, count=len(distinct))
    if not len(distinct):
        return np.zeros(0, dtype=np.uint64), length
    bits = letter_bits(np.frombuffer("".join(distinct).encode("utf-32-le"), dtype="<u4"))
    begin = np.fromiter(accumulate(length.tolist()), dtype=np.int64) - length
    return np.bitwise_or.reduceat(bits, begin), length


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


def _containing(table: Texts, counted: NDArray[np.int64], needle: bytes) -> NDArray[np.int64]:
    """Return the entries that contain `needle`, ascending; `counted` says how often each byte occurs."""
    blob, wanted = table.blob, np.frombuffer(needle, dtype=np.uint8)
    first, *others = sorted(range(len(wanted)), key=lambda i: counted[wanted[i]])  # the rarest byte first
    at = np.flatnonzero(blob == wanted[first]) - first
    at = at[(at >= 0) & (at <= len(blob) - len(wanted))]
    for i in others:
        at = at[blob[at + i] == wanted[i]]
    entry = np.searchsorted(table.offsets, at, side="right") - 1
    inside = at + len(wanted) <= table.offsets[entry + 1]
    return np.unique(entry[inside])
