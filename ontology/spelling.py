"""Suggest known words that are spelled like an unknown word, as a list or as the end of a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["close_to", "close_words", "did_you_mean", "listed_close"]


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the known word most similar to `word`.

    If no known word is similar, the text is empty.

    >>> did_you_mean("metrc", ["metric", "labels"])
    "; did you mean 'metric'?"
    """
    close = close_words(word, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
