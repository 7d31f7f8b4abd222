"""Fold texts, so that spellings that people take for the same become equal, and cut them into words."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["chunks", "fold", "words"]

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters with a stroke or a ligature, which Unicode does not decompose."""


def fold(text: str) -> str:
    """Return `text` without differences of case, accents, width and blanks.

    Both names and queries are folded, so ``Ångström`` finds ``angstrom`` and the other way round.

    >>> fold("  Ångström   UNIT "), fold("Straße"), fold("Smørrebrød")
    ('angstrom unit', 'strasse', 'smorrebrod')
    """
    if text.isascii():
        return " ".join(text.lower().split())
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(character for character in apart if not unicodedata.combining(character))
    return " ".join(unicodedata.normalize("NFKC", bare.translate(_PLAIN)).split())


def words(folded: str) -> list[str]:
    """Return the words of a folded text: runs of letters and digits, and single other characters.

    >>> words("acetyl-coa (c++), 20%")
    ['acetyl', '-', 'coa', '(', 'c', '+', '+', ')', ',', '20', '%']
    """
    return _WORD.findall(folded)


def chunks(folded: str) -> list[str]:
    """Return the parts of a folded query between blanks, each once and without commas at its end.

    >>> chunks("dog, c++; dog ,")
    ['dog', 'c++', ',']
    """
    return list(dict.fromkeys(part.rstrip(",;") or part for part in folded.split()))
