"""Give the labels of an RDF file their names in all languages, definitions and notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.formats.rdf.terms import (
    NAME_ROLES,
    NOTE_ROLES,
    TEXT_ROLES,
    Text,
    without_blank_names,
)
from labelgrove.ontology.readers.text.languages import language_distance, usual_language

__all__ = ["Describer"]

_OBO_ID = re.compile(r"([A-Za-z][A-Za-z0-9.-]*):(\S+)")
_KEY_ROLES = ("alternative_id", "consider", "replaced_by")


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text else text.strip()


class Describer:
    """Describe labels one by one.

    Parameters
    ----------
    statements : Statements
    labels : list of str
        IRIs of all labels.
    language : str or None
        Language of the names that the graph has. If None, English if any name is in English, else the
        language in which most labels have a name; among equals, the first by its tag.
    key : callable
        Returns the key of an IRI.
    into : Collector
    """

    def __init__(
        self,
        statements: Statements,
        labels: Sequence[str],
        language: str | None,
        key: Callable[[str], str],
        into: Collector,
    ) -> None:
        self._statements = statements
        self._key = key
        self._into = into
        self._is_asked = language is not None
        self._language = self._usual_language(labels) if language is None else language.lower()

    def describe(self, iri: str, aliases: Sequence[str] = ()) -> None:
        """Give a label its texts; the preferred names of its aliases become synonyms."""
        subjects = (iri, *aliases)
        self._report_resources(subjects)
        self._preferred(iri)
        self._definition(subjects)
        for subject in subjects:
            self._synonyms(iri, subject)
            for role in NOTE_ROLES:
                self._notes(iri, subject, role)
        for alias in aliases:
            self._into.annotations.note(self._key(iri), "alternative_id", self._key(alias))
            for role in ("prefLabel", "label"):
                self._other_names(iri, alias, role)

    def _report_resources(self, subjects: Sequence[str]) -> None:
        """Report names and definitions that are IRIs."""
        for subject in subjects:
            for role in ("prefLabel", "label", *NAME_ROLES, *TEXT_ROLES):
                for line, value in self._statements.values(role, subject):
                    if isinstance(value, str):
                        text = without_blank_names(f"{subject} {role} {value}")
                        self._into.defect("text-expected", line, text)

    def _usual_language(self, labels: Sequence[str]) -> str:
        counts: Counter[str] = Counter()
        for iri in labels:
            counts.update(
                {text.language for _, text in self._texts("prefLabel", iri) or self._texts("label", iri)}
            )
        return usual_language(counts)

    # ---- names -------------------------------------------------------------------------------------

    def _preferred(self, iri: str) -> None:
        """Record the preferred name of each language; one of them becomes the name of the label."""
        into, key = self._into, self._key(iri)
        texts = self._texts("prefLabel", iri)
        if texts:
            self._other_names(iri, iri, "label", {text.text for _, text in texts})
        else:
            texts = self._texts("label", iri)
        by_language: dict[str, list[tuple[str, int]]] = {}
        for line, (text, language) in texts:
            by_language.setdefault(language, []).append((text, line))
        if not by_language:
            return
        chosen = min(by_language, key=self._distance)
        if self._is_asked and self._distance(chosen)[0] > 1:
            line = min(line for _, line in by_language[chosen])
            into.defect("other-language", line, f"{key} has a name in {chosen or 'an unknown language'}")
        for language, names in by_language.items():
            (first, line), *others = sorted(names)
            if language or chosen:  # a name without a language is that of the graph, and nothing else
                into.annotations.name(key, first, "preferred", language)
            if language == chosen:
                into.name(key, first, line)
            for text, at in others:
                tag = f" in {language}" if language else ""
                into.defect("conflicting-texts", at, f"name of {key}{tag}: {text!r} beside {first!r}")
                into.annotations.name(key, text, "exact", language)

    def _distance(self, language: str) -> tuple[int, str]:
        return language_distance(language, self._language)

    def _other_names(self, iri: str, subject: str, role: str, known: Iterable[str] = ()) -> None:
        for _, text in self._texts(role, subject):
            if text.text not in known:
                self._into.annotations.name(self._key(iri), text.text, "exact", text.language)

    def _synonyms(self, iri: str, subject: str) -> None:
        for kind in NAME_ROLES:
            for _, text in self._texts(kind, subject):
                self._into.annotations.name(self._key(iri), text.text, kind, text.language)

    def _texts(self, role: str, subject: str) -> list[tuple[int, Text]]:
        """Return the texts of a role that are not blank, each with its line."""
        return [
            (line, Text(value.text.strip() if role in TEXT_ROLES else _one_line(value.text), value.language))
            for line, value in self._statements.values(role, subject)
            if isinstance(value, Text) and value.text.strip()
        ]

    # ---- definitions and notes ---------------------------------------------------------------------

    def _definition(self, subjects: Sequence[str]) -> None:
        """Define a label by its first kind of definition, in the language nearest to the chosen one."""
        key = self._key(subjects[0])
        for subject in subjects:
            for role in TEXT_ROLES:
                texts = self._texts(role, subject)
                if not texts:
                    continue
                nearest = min(self._distance(text.language) for _, text in texts)
                for line, text in texts:
                    if self._distance(text.language) == nearest:
                        self._into.define(key, text.text, line)
                return

    def _notes(self, iri: str, subject: str, kind: str) -> None:
        for _, value in self._statements.values(kind, subject):
            is_key = kind in _KEY_ROLES
            if isinstance(value, str):
                text = self._key(value) if is_key else value
            else:
                text = self._key_of_text(value.text.strip(), subject) if is_key else value.text.strip()
            if text:
                self._into.annotations.note(self._key(iri), kind, text)

    def _key_of_text(self, text: str, subject: str) -> str:
        """Return the key that a text such as ``HP:0000003`` means; the text itself if that is not known.

        OBO writes such ids in texts, and ``HP_0000003`` at the end of the IRI.
        """
        found = _OBO_ID.fullmatch(text)
        namespace, mark, _ = subject.rpartition(f"{found[1]}_") if found else ("", "", "")
        return self._key(f"{namespace}{mark}{found[2]}") if found and mark else text
