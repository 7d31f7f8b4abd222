"""Fold, split and sort whole tables of texts, without a Python string for each entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.folding import fold
from labelgrove.ontology.keys import Texts, Words
from labelgrove.ontology.textorder import sorted_within

__all__ = [
    "code_points",
    "distinct_texts",
    "distinct_words",
    "equal_entries",
    "folded_table",
    "joined_tables",
    "n_characters",
    "parts",
]

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_BLANK = 0x20
_SPLIT_AT_ONCE = 1 << 22  # bytes, so that the arrays about them take little memory
_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[ord("A") : ord("Z") + 1] += 32
_UNUSUAL = np.zeros(256, dtype=bool)  # bytes of entries that are folded one by one
_UNUSUAL[0x80:] = _UNUSUAL[0x09:0x0E] = _UNUSUAL[0x1C:0x20] = True


def joined_tables(*tables: Texts) -> Texts:
    """Return one table with the entries of several, one table after another."""
    ends = np.cumsum([0, *(len(table.blob) for table in tables)])
    offsets = [table.offsets[:-1] + end for table, end in zip(tables, ends, strict=False)]
    blobs = [np.zeros(0, dtype=np.uint8), *(table.blob for table in tables)]
    return Texts(np.concatenate(blobs), np.concatenate([*offsets, ends[-1:]]))


def equal_entries(
    one: Texts, rows: NDArray[np.integer], other: Texts, other_rows: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return whether each entry ``one[rows[i]]`` equals the entry ``other[other_rows[i]]``.

    Examples
    --------
    >>> names = Texts.from_strings(["oak", "elm", "holm oak"])
    >>> equal_entries(names, np.array([0, 2]), Texts.from_strings(["holm oak"]), np.array([0, 0])).tolist()
    [False, True]
    """
    left, right = Words(one), Words(other)
    equal: NDArray[np.bool_] = left.length[rows] == right.length[other_rows]
    undecided, done = np.flatnonzero(equal), 0
    while len(undecided):
        same = left.of(rows[undecided], done) == right.of(other_rows[undecided], done)
        equal[undecided[~same]] = False
        done += 8
        undecided = undecided[same]
        undecided = undecided[left.length[rows[undecided]] > done]
    return equal


def folded_table(texts: Texts) -> Texts:
    """Return the table of the folded entries; `ontology.browse.folding.fold` folds one.

    Notes
    -----
    ASCII entries with single blanks are folded all at once, the others one by one.

    Examples
    --------
    >>> list(folded_table(Texts.from_strings(["Holm Oak", "Ångström"])))
    ['holm oak', 'angstrom']
    """
    blob, offsets = texts.blob, texts.offsets
    blank = blob == _BLANK
    unusual = _UNUSUAL[blob]
    unusual[1:] |= blank[1:] & blank[:-1]
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    for ends in (offsets[filled], offsets[filled + 1] - 1):
        unusual[ends] |= blank[ends]
    entries = np.unique(np.searchsorted(offsets, np.flatnonzero(unusual), side="right") - 1)
    plain = Texts(_LOWER[blob], offsets)
    if not len(entries):
        return plain
    both = joined_tables(plain, Texts.from_strings([fold(text) for text in texts.take(entries)]))
    which = np.arange(len(texts))
    which[entries] = len(texts) + np.arange(len(entries))
    return both.subset(which)


def distinct_words(folded: Texts) -> tuple[Texts, NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct words of a folded table, and where they occur.

    `ontology.browse.folding.words` splits one entry in the same way.

    Returns
    -------
    words : Texts, length n_words
        In ascending order of their bytes.
    word, entry : ndarray of shape (n_occurrences,), dtype=int32
        The word and the entry of each occurrence, in the order of the table.

    Examples
    --------
    >>> words, word, entry = distinct_words(Texts.from_strings(["holm oak", "", "oak (oak)"]))
    >>> list(words), word.tolist(), entry.tolist()
    (['(', ')', 'holm', 'oak'], [2, 3, 3, 0, 3, 1], [0, 0, 2, 2, 2, 2])
    """
    tables, found, entries = [Texts.from_strings([])], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    n_words = 0  # of the parts so far; a word of several parts is counted in each
    for first, part in parts(folded):
        words, entry = _split(part)
        few, which = distinct_texts(words)
        tables.append(few)
        found.append((which + n_words).astype(np.int32))
        entries.append((entry + first).astype(np.int32))
        n_words += len(few)
    words, which = distinct_texts(joined_tables(*tables))
    return words, which.astype(np.int32)[np.concatenate(found)], np.concatenate(entries)


def parts(table: Texts) -> Iterator[tuple[int, Texts]]:
    """Yield the number of entries before each part of a table, and the part: a table of a few megabytes."""
    bounds = np.searchsorted(table.offsets, np.arange(0, len(table.blob), _SPLIT_AT_ONCE), side="right") - 1
    for first, last in pairwise([*dict.fromkeys(bounds.tolist()), len(table)]):
        offsets = table.offsets[first : last + 1]
        yield first, Texts(table.blob[offsets[0] : offsets[-1]], offsets - offsets[0])


def _split(folded: Texts) -> tuple[Texts, NDArray[np.int64]]:
    blob, offsets = folded.blob, folded.offsets
    begin = np.flatnonzero(blob & 0xC0 != 0x80)  # of each character
    characters = code_points(blob)
    occurs = np.zeros(int(characters.max(initial=0)) + 1, dtype=bool)
    occurs[characters] = True
    in_word = occurs.copy()
    for character in np.flatnonzero(occurs).tolist():
        in_word[character] = _LETTER_OR_DIGIT.match(chr(character)) is not None
    inside = in_word[characters]
    first = characters != _BLANK
    is_start = np.zeros(len(blob) + 1, dtype=bool)
    is_start[offsets] = True
    first[1:] &= ~(inside[1:] & inside[:-1]) | is_start[begin[1:]]
    at = begin[first]
    kept = blob != _BLANK
    before = np.concatenate([[0], np.cumsum(kept)])
    words = Texts(blob[kept], np.append(before[at], before[-1]))
    return words, np.searchsorted(offsets, at, side="right") - 1


def distinct_texts(texts: Texts) -> tuple[Texts, NDArray[np.int64]]:
    """Return the distinct entries in ascending order of their bytes, and which of them each entry is.

    Examples
    --------
    >>> found, which = distinct_texts(Texts.from_strings(["oak", "elm", "oak"]))
    >>> list(found), which.tolist()
    (['elm', 'oak'], [1, 0, 1])
    """
    order, first = sorted_within(texts)
    which = np.empty(len(texts), dtype=np.int64)
    which[order] = np.cumsum(first) - 1
    return texts.subset(order[first]), which


def n_characters(texts: Texts) -> NDArray[np.int32]:
    """Return the number of characters of each entry."""
    inside = np.flatnonzero(texts.blob & 0xC0 == 0x80)  # bytes that continue a character
    return (np.diff(texts.offsets) - np.diff(np.searchsorted(inside, texts.offsets))).astype(np.int32)


def code_points(blob: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return the code points of UTF-8 text."""
    data = blob.tobytes()
    if data.isascii():
        return blob.astype(np.uint32)
    return np.frombuffer(data.decode().encode("utf-32-le"), dtype="<u4")
