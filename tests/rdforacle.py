"""What rdflib finds in RDF: names, deprecation and replacements of concepts, else of classes."""

from __future__ import annotations

import warnings
from typing import Any

import rdflib
from rdflib.namespace import DCTERMS, OWL, RDF, RDFS, SKOS

from labelgrove.ontology.annotations import Name

__all__ = ["SYNTAXES", "edges", "expected", "labels", "rdflib_graph", "written"]

SYNTAXES = {"turtle": "ttl", "nt": "nt", "nquads": "nq", "xml": "rdf", "json-ld": "jsonld", "trig": "trig"}
"""Ending of file names for each syntax that rdflib writes and the reader of RDF reads."""

_OBO = rdflib.Namespace("http://www.geneontology.org/formats/oboInOwl#")
_REPLACED = (
    DCTERMS.isReplacedBy,
    rdflib.URIRef("http://schema.org/supersededBy"),
    rdflib.URIRef("https://brickschema.org/schema/Brick#isReplacedBy"),
)
_SYNONYMS = {
    SKOS.altLabel: "exact",
    SKOS.hiddenLabel: "related",
    _OBO.hasExactSynonym: "exact",
    _OBO.hasNarrowSynonym: "narrow",
    _OBO.hasBroadSynonym: "broad",
    _OBO.hasRelatedSynonym: "related",
}
_META = (str(OWL), str(RDFS), str(RDF))


def rdflib_graph(**source: Any) -> rdflib.Graph:
    """Parse a source (``data`` or ``source``) in Turtle, or as ``format`` says; named graphs are joined."""
    graph = rdflib.Graph()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib itself uses what it calls deprecated
        parsed = rdflib.Dataset(default_union=True)
        parsed.parse(**{"format": "turtle", **source})
        for triple in parsed.triples((None, None, None)):
            graph.add(triple)
    return graph


def written(graph: rdflib.Graph, syntax: str) -> str:
    """Return the statements in one of the `SYNTAXES`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        held = rdflib.Dataset()
        for triple in graph:
            held.default_graph.add(triple)
        return (held if syntax in ("nquads", "trig") else graph).serialize(format=syntax)


def edges(graph: rdflib.Graph) -> set[tuple[str, str]]:
    """Return the (child, parent) pairs of classes."""
    return {
        (str(child), str(parent))
        for child, parent in graph.subject_objects(RDFS.subClassOf)
        if isinstance(child, rdflib.URIRef)
        and isinstance(parent, rdflib.URIRef)
        and not str(parent).startswith(_META)
    }


def labels(graph: rdflib.Graph) -> set[str]:
    """Return the concepts; if there are none, the classes and all ends of edges."""
    if concepts := {str(concept) for concept in graph.subjects(RDF.type, SKOS.Concept)}:
        return concepts
    declared = {*graph.subjects(RDF.type, OWL.Class), *graph.subjects(RDF.type, RDFS.Class)}
    named = {str(one) for one in declared if isinstance(one, rdflib.URIRef)}
    ends = {end for edge in edges(graph) for end in edge}
    return ends | {one for one in named if not one.startswith(_META)}


def expected(graph: rdflib.Graph) -> dict[str, tuple[set[Name], bool, set[str]]]:
    """Return, for each label, its names, whether it is deprecated, and what replaces it."""
    return {key: describe(graph, rdflib.URIRef(key)) for key in labels(graph)}


def describe(graph: rdflib.Graph, subject: rdflib.URIRef) -> tuple[set[Name], bool, set[str]]:
    """Return the names of a label, whether it is deprecated, and what replaces it."""
    preferred = set(graph.objects(subject, SKOS.prefLabel)) or set(graph.objects(subject, RDFS.label))
    found = {Name(str(text), "preferred", (text.language or "").lower()) for text in preferred}
    for predicate, kind in _SYNONYMS.items():
        found |= {
            Name(str(text), kind, (text.language or "").lower()) for text in graph.objects(subject, predicate)
        }
    return (
        found,
        (subject, OWL.deprecated, rdflib.Literal(True)) in graph,
        {str(key) for predicate in _REPLACED for key in graph.objects(subject, predicate)},
    )
