"""Tags of languages, and the language of the name of a label that a source names in several."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["LANGUAGE_TAG", "language_distance", "usual_language"]

LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
"""The form of a language tag, such as ``de`` or ``pt-BR``."""


def usual_language(n_named: Mapping[str, int]) -> str:
    """Return the language of the names of a source: English if any label has a name in it.

    Otherwise it is the language in which most labels have a name; among equals, the first by its tag.
    `n_named` is the number of labels with a name in each language.

    >>> usual_language({"de": 9, "en": 1}), usual_language({"de": 2, "cs": 2, "": 1}), usual_language({})
    ('en', 'cs', '')
    """
    if "en" in n_named:
        return "en"
    return min(n_named, key=lambda tag: (-n_named[tag], tag), default="")


def language_distance(language: str, usual: str) -> tuple[int, str]:
    """Return how far a language is from the usual one: the same, a variety, none, another.

    >>> sorted(["fr", "", "en-gb", "en", "de"], key=lambda tag: language_distance(tag, "en"))
    ['en', 'en-gb', '', 'de', 'fr']
    """
    if language == usual:
        return 0, language
    if language and usual and (language.startswith(usual + "-") or usual.startswith(language + "-")):
        return 1, language
    return (3 if language else 2), language
