"""Collect what a reader finds about labels beside the hierarchy: names, notes, deprecated keys."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from labelgrove.ontology.annotations import MOST_USES, NAME_KINDS, NOTE_KINDS, Annotations, Names
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers.keynumbers import KeyNumbers

__all__ = ["CollectedAnnotations"]

_NAME_KIND = {kind: i for i, kind in enumerate(NAME_KINDS)}
_NOTE_KIND = {kind: i for i, kind in enumerate(NOTE_KINDS)}


@dataclass
class CollectedAnnotations:
    """Names and notes of keys, as the reader of a format finds them; one column for each part of a name.

    The name that the graph has, and the definition, are collected by `ontology.readers.collect.Collector`.

    Attributes
    ----------
    deprecated : set of str
        Keys that the source calls deprecated or obsolete. Those that have a place in the hierarchy stay
        labels, and `ontology.readers.assemble` retires the others.
    retired : dict of key to line
        Keys that are not labels: the source only says what became of them.
    """

    deprecated: set[str] = field(default_factory=set)
    retired: dict[str, int] = field(default_factory=dict)
    _keys: KeyNumbers = field(default_factory=KeyNumbers)
    _tags: KeyNumbers = field(default_factory=KeyNumbers)
    _name_keys: array[int] = field(default_factory=lambda: array("i"))
    _name_texts: list[str] = field(default_factory=list)
    _name_kinds: array[int] = field(default_factory=lambda: array("B"))
    _name_languages: array[int] = field(default_factory=lambda: array("i"))
    _name_uses: array[int] = field(default_factory=lambda: array("i"))
    _note_keys: array[int] = field(default_factory=lambda: array("i"))
    _note_kinds: array[int] = field(default_factory=lambda: array("B"))
    _note_texts: list[str] = field(default_factory=list)

    def name(self, key: str, text: str, kind: str = "exact", language: str = "", use: int = 0) -> None:
        """Record a name of `key`; its kind is one of `NAME_KINDS`."""
        self._name_keys.append(self._keys[key])
        self._name_texts.append(text)
        self._name_kinds.append(_NAME_KIND[kind])
        self._name_languages.append(self._tags[language])
        self._name_uses.append(min(use, MOST_USES))

    def note(self, key: str, kind: str, text: str) -> None:
        """Record a note on `key`; its kind is one of `NOTE_KINDS`."""
        self._note_keys.append(self._keys[key])
        self._note_kinds.append(_NOTE_KIND[kind])
        self._note_texts.append(text)

    def notes(self, kind: str) -> list[tuple[str, str]]:
        """Return the pair (key, text) of every note of a kind, in the order of the source."""
        wanted, keys = _NOTE_KIND[kind], list(self._keys)
        return [
            (keys[key], text)
            for key, number, text in zip(self._note_keys, self._note_kinds, self._note_texts, strict=True)
            if number == wanted
        ]

    def of(
        self,
        graph: LabelGraph,
        *,
        names: Mapping[str, str],
        definitions: Mapping[str, str],
        lines: Mapping[str, int],
    ) -> Annotations:
        """Return the annotations of the labels of `graph` and of the retired keys.

        `names` (of the graph, here for retired keys), `definitions` and `lines` are by key. Nothing can be
        recorded afterwards.
        """
        for key in self.retired.keys() & names.keys():
            self.name(key, names[key], "preferred")
        return Annotations.from_columns(
            graph,
            list(self._keys),
            names=Names(
                self._name_keys,
                self._name_texts,
                self._name_kinds,
                self._name_languages,
                self._name_uses,
                list(self._tags),
            ),
            notes=(self._note_keys, self._note_kinds, self._note_texts),
            definitions=definitions,
            deprecated=self.deprecated,
            lines={**lines, **self.retired} if self.retired else lines,
            retired=self.retired,
        )
