"""Turn noun synsets of WordNet into texts: glosses without the words of their own synset."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["masked_texts", "synset_glosses", "synset_words"]


def synset_words(data_noun: Path) -> dict[str, tuple[str, ...]]:
    """Return all words of each noun synset; the name of a label is only the first of them."""
    words = {}
    for line in _records(data_noun):
        offset, _, _, count, rest = line.split(" ", 4)
        cells = rest.split(" ", 2 * int(count, 16))
        words[f"n{offset}"] = tuple(word.replace("_", " ") for word in cells[:-1:2])
    return words


def synset_glosses(data_noun: Path) -> dict[str, str]:
    """Return the whole gloss of each noun synset: its definition with its examples."""
    return {f"n{line[:8]}": line.partition("| ")[2].strip() for line in _records(data_noun)}


def _records(data_noun: Path) -> Iterator[str]:
    opened = gzip.open if data_noun.suffix == ".gz" else open
    with opened(data_noun, "rt", encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith("  "))  # the license is indented


def masked_texts(
    keys: Iterable[str], glosses: Mapping[str, str], words: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the gloss of each label without the words that name the label, plurals included.

    >>> masked_texts(["n1"], {"n1": "a tree from which oaks (Oak trees) drop"}, {"n1": ("oak", "oak tree")})
    ('a tree from which ( ) drop',)
    """
    return tuple(_mask(glosses.get(key, ""), words[key]) for key in keys)


def _mask(gloss: str, words: tuple[str, ...]) -> str:
    longest_first = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return " ".join(re.sub(rf"\b(?:{longest_first})(?:s|es)?\b", " ", gloss, flags=re.IGNORECASE).split())
