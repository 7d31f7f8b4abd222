"""Reduce labels to what a format can hold, and record what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from labelgrove.ontology.annotations import NOTE_KINDS, Description, Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.subjects import Edge, Subject

__all__ = ["Fault", "Holds", "Losses", "line_fault"]

Fault = Callable[[str], str | None]
"""Takes a text; returns why a format cannot hold it, such as "has blanks around it", or None."""

_BREAKING = frozenset("\n\r\0\ufeff")


def line_fault(text: str) -> str | None:
    r"""Return why a part of a line cannot hold a text; None if it can.

    >>> line_fault("an oak"), line_fault(" oak"), line_fault("an\noak")
    (None, 'has blanks around it', 'contains a line end, NUL or byte order mark')
    """
    if not text:
        return "is empty"
    if text != text.strip():
        return "has blanks around it"
    if not _BREAKING.isdisjoint(text):
        return "contains a line end, NUL or byte order mark"
    return None


def no_fault(_: str) -> str | None:
    """Return None: the format holds every text."""
    return None


class Losses:
    """What an export leaves out: how often each kind of it occurs, and with which key first.

    Examples
    --------
    >>> losses = Losses()
    >>> losses.add("ranks", "oak"), losses.add("ranks", "elm"), losses.listed()
    (None, None, ("ranks: 2 (the first at 'oak')",))
    """

    def __init__(self) -> None:
        self._number = Counter[str]()
        self._first: dict[str, str] = {}

    def add(self, what: str, key: str) -> None:
        """Record that `what`, in the plural, is left out at `key`."""
        self._number[what] += 1
        self._first.setdefault(what, key)

    def listed(self) -> tuple[str, ...]:
        """Return one text for each kind, in the order in which the kinds first occurred."""
        return tuple(
            f"{what}: {number:,} (the first at {self._first[what]!r:.80})"
            for what, number in self._number.items()
        )


@dataclass(frozen=True)
class Holds:
    """What a format can hold.

    Attributes
    ----------
    key_fault, name_fault, definition_fault, note_fault, text_fault : callable
        Why the format cannot hold a key, the name that the graph has, a definition, a note, or any other
        text. If None, `text_fault` decides.
    language_fault : callable
        Why the format cannot hold a language tag that is not empty.
    weights, ranks : bool
        Whether it holds lengths of edges, and ranks from 0 on.
    names : bool
        Whether a label can have a name that differs from its key.
    name_kinds : frozenset of str
        The kinds of names that it holds beside the name of the graph.
    untagged : bool
        Whether a preferred name without a language can stand beside the name that the graph has.
    languages, uses : bool
        Whether it holds the language of a name, and how often a name is used.
    definitions, deprecated : bool
        Whether it holds definitions, and which labels are deprecated.
    retires : bool
        Whether it holds retired keys. They are written as deprecated labels without a parent, so a label that
        really is one cannot be marked as deprecated.
    notes : frozenset of str
        The kinds of notes that it holds.
    """

    key_fault: Fault = line_fault
    name_fault: Fault | None = None
    definition_fault: Fault | None = None
    note_fault: Fault | None = None
    text_fault: Fault = line_fault
    language_fault: Fault = no_fault
    weights: bool = False
    ranks: bool = False
    names: bool = False
    name_kinds: frozenset[str] = frozenset()
    untagged: bool = False
    languages: bool = False
    uses: bool = False
    definitions: bool = False
    deprecated: bool = False
    retires: bool = False
    notes: frozenset[str] = frozenset()

    def fit(self, subject: Subject, losses: Losses) -> Subject | None:
        """Return what the format holds of a subject; None if it cannot hold this retired key.

        A retired key gets a name: its preferred name without a language. A label whose name is its key has
        the name "" if the format holds the text as a key alone.

        Raises
        ------
        InputError
            If the format cannot hold the key of a label: the label cannot be left out.
        """
        fault = self.key_fault(subject.key)
        if subject.retired:
            if fault is not None or not self.retires:
                losses.add("retired keys", subject.key)
                return None
            subject = _named(subject)
        elif fault is not None:
            raise InputError(f"key {subject.key!r:.80} {fault}, which the format cannot hold; export as json")
        return replace(
            subject,
            name=self._name(subject, losses),
            edges=self._edges(subject, losses),
            described=self._described(subject, losses),
        )

    def _name(self, subject: Subject, losses: Losses) -> str:
        name, key = subject.name, subject.key
        if subject.retired and not name:
            return ""
        fault = (self.name_fault or self.text_fault)(name)
        if name == key and not subject.retired:
            return name if fault is None else ""  # without a name, a reader takes the key for it
        if not self.names:
            losses.add("names that differ from keys", key)
        elif fault is not None:
            losses.add(f"names, one of which {fault}", key)
        else:
            return name
        return "" if subject.retired else key

    def _edges(self, subject: Subject, losses: Losses) -> tuple[Edge, ...]:
        if self.weights and self.ranks and all(edge.rank >= 0 for edge in subject.edges):
            return subject.edges
        kept = []
        for parent, weight, rank in subject.edges:
            if weight != 1.0 and not self.weights:
                losses.add("weights", subject.key)
            if rank and not (self.ranks and rank > 0):
                losses.add("ranks below 0" if self.ranks else "ranks", subject.key)
            kept.append(Edge(parent, weight if self.weights else 1.0, max(rank, 0) if self.ranks else 0))
        return tuple(kept)

    def _described(self, subject: Subject, losses: Losses) -> Description:
        found, key = subject.described, subject.key
        names = (self._kept_name(name, subject, losses) for name in found.names)
        definition = found.definition
        if definition and not self.definitions:
            losses.add("definitions", key)
            definition = ""
        elif definition and (fault := (self.definition_fault or self.text_fault)(definition)) is not None:
            losses.add(f"definitions, one of which {fault}", key)
            definition = ""
        notes: dict[str, Any] = {
            kind: tuple(text for text in getattr(found, kind) if self._keeps(kind, text, key, losses))
            for kind in NOTE_KINDS
        }
        return replace(
            found,
            names=tuple(name for name in names if name is not None),
            definition=definition,
            deprecated=self._deprecated(subject, losses),
            **notes,
        )

    def _deprecated(self, subject: Subject, losses: Losses) -> bool:
        if not subject.described.deprecated or subject.retired:
            return subject.described.deprecated
        if not self.deprecated:
            losses.add("marks of deprecated labels", subject.key)
        elif self.retires and not subject.edges:
            losses.add("marks of deprecated labels that have no parent", subject.key)
        else:
            return True
        return False

    def _kept_name(self, name: Name, subject: Subject, losses: Losses) -> Name | None:
        what, key = f"{name.kind} names", subject.key
        if name.kind not in self.name_kinds:
            is_the_name = self.names and name.kind == "preferred" and name.text == subject.name
            losses.add("languages of names" if is_the_name and name.language else what, key)
            return None
        if name.kind == "preferred" and not self.untagged:
            if not name.language:
                losses.add("preferred names without a language", key)
                return None
            if subject.retired and not subject.name:
                losses.add("preferred names of retired keys that have none without a language", key)
                return None
        if (fault := self.text_fault(name.text)) is not None:
            losses.add(f"{what}, one of which {fault}", key)
            return None
        if name.language and (fault := self._language_fault(name.language)) is not None:
            losses.add(f"languages of names{fault}", key)
            if name.kind == "preferred" and not self.untagged:
                return None
            name = replace(name, language="")
        if name.use and not self.uses:
            losses.add("counts of uses of names", key)
            name = replace(name, use=0)
        return name

    def _language_fault(self, tag: str) -> str | None:
        if not self.languages:
            return ""
        fault = self.language_fault(tag)
        return None if fault is None else f", one of which {fault}"

    def _keeps(self, kind: str, text: str, key: str, losses: Losses) -> bool:
        if kind not in self.notes:
            losses.add(f"notes ({kind})", key)
        elif (fault := (self.note_fault or self.text_fault)(text)) is not None:
            losses.add(f"notes ({kind}), one of which {fault}", key)
        else:
            return True
        return False


def _named(subject: Subject) -> Subject:
    """Return a retired key with its first preferred name without a language as its name."""
    names = subject.described.names
    first = next((name for name in names if name.kind == "preferred" and not name.language), None)
    if first is None or not first.text:
        return subject
    others = tuple(name for name in names if name is not first)
    return replace(subject, name=first.text, described=replace(subject.described, names=others))
