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
from collections.abc import Iterator
from functools import partial

from labelgrove.ontology.annotations import NAME_KINDS, NOTE_KINDS
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.exports.holding import Holds
from labelgrove.ontology.exports.subjects import Content, Subject
from labelgrove.ontology.readers.text.labeliris import LABEL_NAMESPACE, iri_of_key

__all__ = ["SCHEME_NAMESPACE", "SKOS", "skos_lines"]

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
_OF_KEYS = ("replaced_by", "consider")
"""Kinds of notes that are keys."""

_TAG = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*")
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd-\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _tag_fault(tag: str) -> str | None:
    return None if _TAG.fullmatch(tag) else "is not a language tag in small letters"


def _text_fault(text: str) -> str | None:
    return None if text else "is empty"


SKOS = Holds(
    key_fault=lambda _: None,
    text_fault=_text_fault,
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
    named = any(name.kind == "preferred" and name.text == subject.name for name in found.names)
    if subject.name and not named:
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
