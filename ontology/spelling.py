"""Suggest known words that are spelled like an unknown one, as the end of a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["close_to", "did_you_mean"]


def close_to(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that lists up to three known words like `word`; empty if there is none.

    >>> close_to("oka", ["oak", "elm"]), close_to("fir", ["oak", "elm"])
    ("; close to it: 'oak'", '')
    """
    close = difflib.get_close_matches(word, list(known), n=3)
    return f"; close to it: {', '.join(map(repr, close))}" if close else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that offers the known word most like `word`; empty if there is none.

    >>> did_you_mean("metrc", ["metric", "labels"])
    "; did you mean 'metric'?"
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
