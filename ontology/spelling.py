"""Suggest known words that are spelled like an unknown word, as a list or as the end of a message."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

__all__ = ["close_to", "close_words", "did_you_mean", "listed_close", "one_edit_away"]


_MOST_CLOSE = 3
_MOST_CHARACTERS = 200
_SHORTEST_WORD, _LONGEST_WORD = 3, 200


def close_words(word: str, known: Iterable[str], n: int = 3, *, cutoff: float = 0.6) -> list[str]:
    """Return up to `n` known words that are spelled like `word`, the most similar first.

    `cutoff` is the smallest similarity, from 0 to 1, as `difflib.get_close_matches` measures it.

    >>> close_words("oka", ["oak", "elm", "okapi"])
    ['okapi', 'oak']
    """
    return difflib.get_close_matches(word, list(known), n=n, cutoff=cutoff)


def close_to(word: str, known: Iterable[str]) -> str:
    """Return the end of a message: up to three known words spelled like `word`; empty if there is none.

    >>> close_to("oka", ["oak", "elm"]), close_to("fir", ["oak", "elm"])
    ("; close to it: 'oak'", '')
    """
    return listed_close(close_words(word, known))


def listed_close(words: Sequence[str]) -> str:
    """Return the end of a message about an unknown word: a list of `words`.

    The caller has found that these known words are spelled like the unknown one. If there are no `words`, the
    text is empty.

    >>> listed_close(["oak"]), listed_close([])
    ("; close to it: 'oak'", '')
    """
    return f"; close to it: {', '.join(map(repr, words))}" if words else ""


def one_edit_away(known: Sequence[str]) -> Callable[[str], str]:
    """Return a function that names the known words one edit away from a word, as the end of a message.

    An edit inserts, drops or changes one character, or swaps two neighbors; case is not compared. If more
    than three words are so close, as in numbers that are given one after another, none of them is named.

    Notes
    -----
    O(n) for `n` known words. Then a word takes time in proportion to its length and to the number of
    different characters. Words of less than 3 or more than 200 characters are not compared.

    >>> close = one_edit_away(["HP:0000118", "HP:0000001"])
    >>> close("HP:000118"), close("HP:0000811"), close("HP:1")
    ("; close to it: 'HP:0000118'", '', '')
    """
    words: dict[str, str] = {}
    for word in known:
        words.setdefault(word.casefold(), word)
    characters = sorted(set("".join(words)))[:_MOST_CHARACTERS]

    def close(word: str) -> str:
        plain = word.casefold()
        if not _SHORTEST_WORD <= len(plain) <= _LONGEST_WORD:
            return ""
        found = {words[plain]} if plain in words else set()
        for i in range(len(plain) + 1):
            before, after = plain[:i], plain[i:]
            edits = [before + c + after for c in characters]
            edits += [before + c + after[1:] for c in characters] if after else []
            edits += [before + after[1:], before + after[1::-1] + after[2:]] if after else []
            found.update(words[edit] for edit in edits if edit in words)
        found.discard(word)
        return listed_close(sorted(found)) if len(found) <= _MOST_CLOSE else ""

    return close


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the known word most similar to `word`.

    If no known word is similar, the text is empty.

    >>> did_you_mean("metrc", ["metric", "labels"])
    "; did you mean 'metric'?"
    """
    close = close_words(word, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
