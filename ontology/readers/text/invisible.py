"""Find characters in a key that are invisible or change the direction of text.

With such characters, two different keys can look the same. Most of them are refused in every place: controls
and marks of direction, blanks and joiners of zero width, byte order marks, soft hyphens, fillers, the
invisible operators of formulas, annotation marks, and language tags. Four kinds are needed in ordinary text,
and are allowed only in these places:

* the joiners U+200C and U+200D, which shape Arabic and Indic scripts and join emoji: after a virama, and
  between two characters whose code points are U+0590 or more (the scripts that use joiners begin there);
* variation selectors, which choose a form of the character before them: after any character, except letters
  below U+0590, because these letters have only one form;
* tag characters, which spell the flag of a region: after the flag U+1F3F4, in a sequence that ends with the
  tag character U+E007F;
* free variation selectors of Mongolian: after a Mongolian letter.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["invisible_character", "without_invisible"]

_REFUSED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_JOINERS = "\u200c\u200d"
_VARIANTS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
_MONGOLIAN = "\u180b-\u180d\u180f"

_ANY = re.compile(f"[{_REFUSED}{_JOINERS}{_VARIANTS}{_TAGS}{_MONGOLIAN}]")
_PLAIN = re.compile(f"[{_REFUSED}]")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]+\U000e007f")
_JOINING = "\u0590"
"""The first character of the scripts from Hebrew on; Latin, Greek, Cyrillic and Armenian come before it."""


def invisible_character(key: str) -> str | None:
    r"""Return the first invisible character of a key that is not allowed in its place; None if there is none.

    >>> invisible_character("ab\u202e"), invisible_character("\u0646\u0627\u0645\u0647\u200c\u0627\u06cc")
    ('\u202e', None)
    """
    if key.isascii() or not _ANY.search(key):
        return None
    flags = [range(*found.span()) for found in _FLAG.finditer(key)]
    for found in _ANY.finditer(key):
        at, character = found.start(), found[0]
        if any(at in flag for flag in flags):
            continue
        before, behind = key[max(at - 1, 0) : at], key[at + 1 : at + 2]
        if _PLAIN.match(character) or not _has_use(character, before, behind):
            return character
    return None


def without_invisible(key: str) -> str:
    r"""Return a key without its invisible characters, even those that are allowed in their places.

    >>> without_invisible("soft\u00adly")
    'softly'
    """
    return key if key.isascii() else _ANY.sub("", key)


def _has_use(character: str, before: str, behind: str) -> bool:
    """Return whether `character`, which is allowed only in some places, is allowed in this place.

    `before` and `behind` are the characters next to it; they are empty at the ends of the key.
    """
    if not before:
        return False
    if character in _JOINERS:
        virama = unicodedata.combining(before) == 9
        return before >= _JOINING and (virama or behind >= _JOINING)
    if "\u180b" <= character <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    if character >= "\U000e0100" or character <= "\ufe0f":  # a variation selector
        return before >= _JOINING or not before.isalpha()
    return False  # a tag character outside a flag
