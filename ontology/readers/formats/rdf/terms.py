"""Name the terms of SKOS, RDFS, OWL and other vocabularies that the reader of RDF understands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "CLASS_TYPES",
    "CONCEPT",
    "DEPRECATED_TYPES",
    "META_NAMESPACES",
    "NAME_ROLES",
    "NOTE_ROLES",
    "ROLES",
    "TEXT_ROLES",
    "Statement",
    "Text",
    "is_blank",
    "without_blank_names",
]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_DCTERMS = "http://purl.org/dc/terms/"
_OBO = "http://purl.obolibrary.org/obo/"
_OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
_SCHEMA = ("http://schema.org/", "https://schema.org/")
_BRICK = ("https://brickschema.org/schema/Brick#",)

_BLANK_NAME = re.compile(r"_:[^\s,;)\]]+")

CONCEPT = _SKOS + "Concept"

CLASS_TYPES = (_RDFS + "Class", _OWL + "Class", _OWL + "DeprecatedClass")
"""Types of a class."""

DEPRECATED_TYPES = (_OWL + "DeprecatedClass",)
"""Types of a class that is deprecated."""

META_NAMESPACES = (_RDF, _RDFS, _OWL, _XSD)
"""Namespaces of the languages themselves: ``owl:Thing`` and the like are not labels."""

ROLES: Mapping[str, str] = {
    _RDF + "type": "type",
    # Hierarchy.
    _SKOS + "broader": "broader",
    _SKOS + "narrower": "narrower",
    _SKOS + "broaderTransitive": "broaderTransitive",
    _SKOS + "narrowerTransitive": "narrowerTransitive",
    _SKOS + "inScheme": "inScheme",
    _SKOS + "topConceptOf": "topConceptOf",
    _SKOS + "hasTopConcept": "hasTopConcept",
    _RDFS + "subClassOf": "subClassOf",
    _OWL + "equivalentClass": "equivalentClass",
    _OWL + "onProperty": "onProperty",
    _OWL + "someValuesFrom": "someValuesFrom",
    _OWL + "imports": "imports",
    # Names.
    _SKOS + "prefLabel": "prefLabel",
    _RDFS + "label": "label",
    _SKOS + "altLabel": "exact",
    _SKOS + "hiddenLabel": "related",
    _OBO_IN_OWL + "hasExactSynonym": "exact",
    _OBO_IN_OWL + "hasNarrowSynonym": "narrow",
    _OBO_IN_OWL + "hasBroadSynonym": "broad",
    _OBO_IN_OWL + "hasRelatedSynonym": "related",
    # Definitions, the most specific first.
    _SKOS + "definition": "definition",
    _OBO + "IAO_0000115": "definition_obo",
    _RDFS + "comment": "comment",
    # Notes.
    _SKOS + "notation": "notation",
    _SKOS + "example": "example",
    _OBO + "IAO_0000112": "example",
    _OBO_IN_OWL + "hasAlternativeId": "alternative_id",
    _OBO_IN_OWL + "hasDbXref": "reference",
    _SKOS + "exactMatch": "reference",
    _SKOS + "closeMatch": "reference",
    _OBO_IN_OWL + "consider": "consider",
    _OBO + "IAO_0100001": "replaced_by",
    _DCTERMS + "isReplacedBy": "replaced_by",
    **{namespace + "supersededBy": "replaced_by" for namespace in _SCHEMA},
    **{namespace + "isReplacedBy": "replaced_by" for namespace in _BRICK},
    _OWL + "deprecated": "deprecated",
}
"""What each predicate that is read means to a hierarchy; statements with other predicates are left out."""

NAME_ROLES = ("exact", "narrow", "broad", "related")
"""Roles that are also kinds of names."""

NOTE_ROLES = ("notation", "example", "alternative_id", "reference", "consider", "replaced_by")
"""Roles that are also kinds of notes."""

TEXT_ROLES = ("definition", "definition_obo", "comment")
"""Roles that give a definition; the first one that a label has is used."""


class Text(NamedTuple):
    """A literal: its text, and its language tag in small letters, empty if there is none."""

    text: str
    language: str = ""


class Statement(NamedTuple):
    """A triple and its line; the subject and the object are IRIs or blank nodes, the object also a `Text`."""

    line: int
    subject: str
    predicate: str
    object: str | Text


def without_blank_names(text: str) -> str:
    """Return a text for a report, with ``[]`` for blank nodes: the parser names them anew in every reading.

    >>> without_blank_names("_:3f0c broader http://e.org/a")
    '[] broader http://e.org/a'
    """
    return _BLANK_NAME.sub("[]", text)


def is_blank(term: str) -> bool:
    """Return whether a term is a blank node, which has no name outside its file."""
    return term.startswith("_:")
