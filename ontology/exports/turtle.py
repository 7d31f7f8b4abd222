r"""Write SKOS in Turtle: a concept for each label, with its broader concepts, names, notes and marks.

=================================  =======================================================
of the label                       in the file
=================================  =======================================================
key                                the IRI of the concept (`ontology.readers.text.labeliris`)
parents                            ``skos:broader``
name; preferred names              ``skos:prefLabel``
exact, narrow, broad names         ``skos:altLabel``, ``oboInOwl:hasNarrowSynonym``, ``hasBroadSynonym``
related names                      ``skos:hiddenLabel``
definition, notation, example      ``skos:definition``, ``skos:notation``, ``skos:example``
deprecated; replaced_by            ``owl:deprecated``; ``dcterms:isReplacedBy``
consider, reference                ``oboInOwl:consider``, ``oboInOwl:hasDbXref``
alternative_id                     ``oboInOwl:hasAlternativeId``
=================================  =======================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS, Name
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds, Losses
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.readers.formats.rdf.guards import LONGEST_IRI
from labelgrove.ontology.readers.text.labeliris import LABEL_NAMESPACE, iri_of_key, is_iri
from labelgrove.ontology.readers.text.languages import language_distance, usual_language
from labelgrove.ontology.readers.text.lines import LONGEST_LINE

__all__ = ["SCHEME_NAMESPACE", "SKOS", "skos_in", "skos_lines", "with_one_name"]

SCHEME_NAMESPACE = "urn:labelgrove:ontology:"
"""Namespace of the concept scheme, which has the name of the ontology."""

_PREFIXES = {
    "dcterms": "http://purl.org/dc/terms/",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
_NAMES = {
    "preferred": "skos:prefLabel",
    "exact": "skos:altLabel",
    "narrow": "oboInOwl:hasNarrowSynonym",
    "broad": "oboInOwl:hasBroadSynonym",
    "related": "skos:hiddenLabel",
}
_NOTES = {
    "notation": "skos:notation",
    "alternative_id": "oboInOwl:hasAlternativeId",
    "replaced_by": "dcterms:isReplacedBy",
    "consider": "oboInOwl:consider",
    "reference": "oboInOwl:hasDbXref",
    "example": "skos:example",
}
_OF_KEYS = ("alternative_id", "replaced_by", "consider")
"""Kinds of notes that are keys, and are written as IRIs."""

_LONGEST_TEXT = LONGEST_LINE // 16
"""Length in characters of the longest text that is written: escaped and in UTF-8 it still fits in a line."""

_TAG = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*")
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd-\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _tag_fault(tag: str) -> str | None:
    return None if _TAG.fullmatch(tag) else "is not a language tag in small letters"


def _text_fault(text: str) -> str | None:
    """Return why a literal cannot hold a text: readers of SKOS remove the blanks around it."""
    if not text:
        return "is empty"
    if text != text.strip():
        return "has blanks around it"
    return f"is longer than {_LONGEST_TEXT:,} characters" if len(text) > _LONGEST_TEXT else None


def _name_fault(name: str) -> str | None:
    """Return why a literal cannot hold a name: readers of SKOS join its lines."""
    return "has several lines" if "\n" in name else _text_fault(name)


def _key_fault(key: str, namespace: str = LABEL_NAMESPACE) -> str | None:
    if len(iri_of_key(key, namespace)) > LONGEST_IRI:
        return f"would be an IRI of more than {LONGEST_IRI:,} characters"
    return None


def _note_fault(text: str, namespace: str = LABEL_NAMESPACE) -> str | None:
    return _text_fault(text) or _key_fault(text, namespace)


SKOS = Holds(
    key_fault=_key_fault,
    note_fault=_note_fault,
    definition_fault=_text_fault,
    text_fault=_name_fault,
    language_fault=_tag_fault,
    names=True,
    name_kinds=frozenset(NAME_KINDS),
    languages=True,
    definitions=True,
    deprecated=True,
    retires=True,
    notes=frozenset(NOTE_KINDS),
)
"""What SKOS can hold."""


def skos_in(namespace: str) -> Holds:
    """Return what SKOS can hold if keys that are not IRIs are written in `namespace`.

    Raises
    ------
    InputError
        If `namespace` is not the start of an IRI.

    Examples
    --------
    >>> skos_in("http://example.org/trees/").key_fault("oak") is None
    True
    """
    if not is_iri(namespace) or len(namespace) > LONGEST_IRI:
        raise InputError(
            f"namespace: {namespace!r:.80} is not the start of an IRI; give one with a scheme, such as "
            "'http://example.org/trees/'"
        )
    return replace(
        SKOS,
        key_fault=partial(_key_fault, namespace=namespace),
        note_fault=partial(_note_fault, namespace=namespace),
    )


def with_one_name(content: Content) -> Callable[[Subject, Losses], Subject]:
    """Return what leaves out preferred names that a reader would take for the name of the label.

    Of the preferred names of a concept, a reader takes one in the language nearest to the usual language of
    the file. A name without a preferred name of the same text is written without a language.
    """
    n_named: Counter[str] = Counter()
    for subject in content:
        languages = {name.language for name in _preferred(subject)}
        n_named.update(languages | ({""} if _is_untagged(subject) else set()))
    usual = usual_language(n_named)

    def reduced(subject: Subject, losses: Losses) -> Subject:
        by_language: dict[str, list[Name]] = {}
        for name in _preferred(subject):
            by_language.setdefault(name.language, []).append(name)
        kept: dict[str, Name] = {}
        for language, names in by_language.items():
            kept[language] = next((name for name in names if name.text == subject.name), names[0])
            for _ in names[1:]:
                losses.add("further preferred names of one language", subject.key)
        languages = sorted(kept, key=lambda tag: language_distance(tag, usual))
        for language in languages:
            untagged_first = language_distance("", usual) < language_distance(language, usual)
            if kept[language].text == subject.name or (subject.name and untagged_first):
                break
            losses.add("preferred names that would be read as the name", subject.key)
            del kept[language]
        others = [name for name in subject.described.names if name.kind != "preferred"]
        described = replace(subject.described, names=(*kept.values(), *others))
        return replace(subject, described=described)

    return reduced


def _preferred(subject: Subject) -> list[Name]:
    return [name for name in subject.described.names if name.kind == "preferred" and name.language]


def _is_untagged(subject: Subject) -> bool:
    """Return whether the name of a subject is written without a language."""
    return bool(subject.name) and all(name.text != subject.name for name in _preferred(subject))


def skos_lines(content: Content, namespace: str = LABEL_NAMESPACE) -> Iterator[str]:
    """Return the lines of the file; keys that are not IRIs are written in `namespace`."""
    graph = content.graph
    if not graph.directed:
        raise InputError(
            f"layout {graph.layout!r} does not fit SKOS, whose concepts have parents; export as json"
        )
    return _lines(content, namespace)


def _lines(content: Content, namespace: str) -> Iterator[str]:
    for prefix, iri in _PREFIXES.items():
        yield f"@prefix {prefix}: <{iri}> .\n"
    scheme = f"<{iri_of_key(content.name, SCHEME_NAMESPACE)}>"
    yield f"\n{scheme} a skos:ConceptScheme .\n"
    to_iri = partial(iri_of_key, namespace=namespace)
    for subject in content:
        yield f"\n<{to_iri(subject.key)}> a skos:Concept"
        for predicate, value in _statements(subject, scheme, namespace):
            yield f" ;\n    {predicate} {value}"
        yield " .\n"


def _statements(subject: Subject, scheme: str, namespace: str) -> Iterator[tuple[str, str]]:
    found = subject.described
    if not subject.retired:
        yield "skos:inScheme", scheme
        if not subject.edges:
            yield "skos:topConceptOf", scheme
    for edge in subject.edges:
        yield "skos:broader", f"<{iri_of_key(edge.parent, namespace)}>"
    if _is_untagged(subject):
        yield "skos:prefLabel", literal(subject.name)
    for name in found.names:
        yield _NAMES[name.kind], literal(name.text, name.language)
    if found.definition:
        yield "skos:definition", literal(found.definition)
    if found.deprecated:
        yield "owl:deprecated", "true"
    for kind, predicate in _NOTES.items():
        for text in getattr(found, kind):
            of_key = kind in _OF_KEYS
            yield predicate, f"<{iri_of_key(text, namespace)}>" if of_key else literal(text)


def literal(text: str, language: str = "") -> str:
    r"""Return a literal of Turtle.

    >>> print(literal('6" pipe', "en"), literal("a\nb\x01"))
    "6\" pipe"@en "a\nb\u0001"
    """
    return f'"{_ESCAPED.sub(_escape, text)}"' + (f"@{language}" if language else "")


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0], f"\\u{ord(found[0]):04X}")
