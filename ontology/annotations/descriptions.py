"""What a source can say about one label: names of several kinds, a definition, notes and marks."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_USES", "NAME_KINDS", "NOTE_KINDS", "Description", "Name"]

NAME_KINDS = ("preferred", "exact", "narrow", "broad", "related")
"""Kinds of names: the preferred name of a language, synonyms, and looser names."""

NOTE_KINDS = ("notation", "alternative_id", "replaced_by", "consider", "reference", "example")
"""Kinds of notes: a code in another scheme, a former id that means the same label, the key that replaces this
one, a key that may replace it, a cross-reference, and a sentence that uses the label."""

MOST_USES = 2**31 - 1
"""The largest number of uses that is stored; a name that is used more often gets this number."""


@dataclass(frozen=True)
class Name:
    """A name of a label.

    Attributes
    ----------
    text : str
    kind : str
        One of `NAME_KINDS`.
    language : str
        Language tag, such as ``"en"``; empty if the source gives none.
    use : int
        How often the name means this label, as counted in some corpus; 0 if unknown.
    """

    text: str
    kind: str = "exact"
    language: str = ""
    use: int = 0


@dataclass(frozen=True)
class Description:
    """The annotations of one key: a label, or a key that the source retired.

    Attributes
    ----------
    names : tuple of Name
        Preferred names first, then in the order of `NAME_KINDS`, language and text.
    definition : str
        Empty if there is none.
    deprecated : bool
        Whether the source advises against using this key.
    notation, alternative_id, replaced_by, consider, reference, example : tuple of str
        Notes of each kind of `NOTE_KINDS`, sorted.
    line : int
        Line of the source that describes the key; 0 if unknown.
    """

    names: tuple[Name, ...] = ()
    definition: str = ""
    deprecated: bool = False
    notation: tuple[str, ...] = ()
    alternative_id: tuple[str, ...] = ()
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    example: tuple[str, ...] = ()
    line: int = 0
