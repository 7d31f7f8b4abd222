"""What a misspelled query may mean: names with words that differ from its words by one or two letters."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.folding import chunks, fold, words
from labelgrove.ontology.browse.names.nametable import NameTable, letter_bits
from labelgrove.ontology.browse.names.search import LONGEST_QUERY, Search
from labelgrove.ontology.browse.names.texttables import code_points

__all__ = ["close_words_of", "did_you_mean", "edits"]

_SHORTEST_WORD, _LONGEST_WORD = 3, 40
_MOST_REPLACED = 16  # words: each is compared with all words of the version
_WORDS_TRIED = 3
_QUERIES_TRIED = 9


def did_you_mean(search: Search, names: NameTable, text: str, *, limit: int = 3) -> list[str]:
    """Return names that `text` may mean, the most likely first; empty if nothing is close.

    Parameters
    ----------
    search : Search
    names : NameTable
        Both of the same version.
    text : str
        A query, for which `Search.find` found nothing.
    limit : int, default=3
        Most names.

    Notes
    -----
    Every part of the query between blanks with which no word begins is replaced by words that differ from it
    by one edit, or by two if it has five letters or more; if it has fewer than three letters, it is left out.
    Parts of several words, such as ``c++``, are left as they are. An edit inserts, removes or replaces a
    letter, or swaps two neighbors. The query is then searched again. If more than 16 parts would be replaced,
    nothing is suggested.

    Examples
    --------
    >>> from labelgrove.ontology.browse.labelindex import LabelIndex
    >>> index = LabelIndex.of(LabelGraph.from_edges([("oak", "tree"), ("cork oak", "oak"), ("elm", "tree")]))
    >>> for text in ("cork aok", "zq coak", "xyzzy"):
    ...     did_you_mean(index.search, index.names, text)
    ['cork oak']
    ['cork oak', 'oak']
    []
    """
    if len(text) > LONGEST_QUERY:
        return []
    choices = []
    n_replaced = 0
    for part in chunks(fold(text)):
        if len(words(part)) > 1 or len(names.rows_of_words_from(part)):
            choices.append([part])
        elif len(part) >= _SHORTEST_WORD:
            n_replaced += 1
            if n_replaced > _MOST_REPLACED:
                return []
            choices.append(close_words_of(names, part)[:_WORDS_TRIED])
    found: dict[str, None] = {}
    for query in itertools.islice(itertools.product(*choices), _QUERIES_TRIED):
        found |= dict.fromkeys(hit.text for hit in search.suggest(" ".join(query), limit=1))
    return list(found)[:limit]


def close_words_of(names: NameTable, word: str) -> list[str]:
    """Return the words of a table that differ from `word` by one or two edits, as `did_you_mean` says.

    Words that differ less come first; then those that begin with the same letter; then those of the most
    important names.

    Notes
    -----
    Words of another length or with other letters are left out first, by comparing a few bits of each word.
    """
    most = 0 if not _SHORTEST_WORD <= len(word) <= _LONGEST_WORD else 1 if len(word) < 5 else 2
    if not most:
        return []
    bits = np.bitwise_or.reduce(letter_bits(_code_points(word)))
    near = np.abs(names.word_length - len(word)) <= most
    near &= np.bitwise_count(names.word_letters ^ bits) <= 2 * most
    entries = np.flatnonzero(near)
    candidates = names.words.take(entries)
    distance = edits(word, candidates)
    close = np.flatnonzero(distance <= most)
    ranked = sorted(
        (int(distance[i]), candidates[i][0] != word[0], _first_place(names, int(entries[i])), candidates[i])
        for i in close.tolist()
    )
    return [candidate for *_, candidate in ranked]


def edits(word: str, others: tuple[str, ...]) -> NDArray[np.int32]:
    """Return the number of edits from `word` to each other word (optimal string alignment).

    An edit inserts, removes or replaces a letter, or swaps two neighbors that are not edited otherwise.

    >>> edits("aok", ("oak", "oaks", "a")).tolist()
    [1, 2, 2]
    """
    longest = max(map(len, others), default=0)
    letters = np.zeros((len(others), longest + 1), dtype=np.uint32)
    for i, other in enumerate(others):
        letters[i, : len(other)] = _code_points(other)
    wanted = _code_points(word)
    # row[j] of a table of words: edits from the first i letters of `word` to the first j of the other word
    row = np.tile(np.arange(longest + 1, dtype=np.int32), (len(others), 1))
    before = row
    for i, letter in enumerate(wanted, 1):
        row, before, two_before = np.empty_like(row), row, before
        row[:, 0] = i
        for j in range(1, longest + 1):
            same = letters[:, j - 1] == letter
            least = np.minimum(before[:, j] + 1, row[:, j - 1] + 1)
            least = np.minimum(least, before[:, j - 1] + ~same)
            if i > 1 and j > 1:
                swapped = (letters[:, j - 2] == letter) & (letters[:, j - 1] == wanted[i - 2])
                least = np.where(swapped, np.minimum(least, two_before[:, j - 2] + 1), least)
            row[:, j] = least
    lengths = np.fromiter(map(len, others), dtype=np.int64, count=len(others))
    found: NDArray[np.int32] = row[np.arange(len(others)), lengths]
    return found


def _code_points(word: str) -> NDArray[np.uint32]:
    return code_points(np.frombuffer(word.encode(), dtype=np.uint8))


def _first_place(names: NameTable, word: int) -> int:
    """Return the place of the most important row that contains a word."""
    rows = names.postings[names.word_rows[word] : names.word_rows[word + 1]]
    return int(names.place[rows].min())
