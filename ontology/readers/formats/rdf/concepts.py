"""Find SKOS concepts and the edges between them."""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.formats.rdf.labels import Labels, chosen_iri
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.formats.rdf.terms import CONCEPT, Text, is_blank, without_blank_names

__all__ = ["choose_scheme", "concept_types", "find_concepts"]

_LISTED = 8
_MEMBERS = (("inScheme", True), ("topConceptOf", True), ("hasTopConcept", False))


def concept_types(statements: Statements) -> set[str]:
    """Return ``skos:Concept`` and its subclasses."""
    below: dict[str, list[str]] = {}
    for child, parent, _ in statements.resources("subClassOf"):
        below.setdefault(parent, []).append(child)
    found, waiting = {CONCEPT}, [CONCEPT]
    while waiting:
        for child in below.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def find_concepts(
    statements: Statements, types: dict[str, dict[str, int]], kinds: set[str], beside_classes: bool
) -> Labels:
    """Return the concepts; if nothing is declared at all, the ends of ``broader`` are concepts."""
    found = Labels()
    declared = {one: line for kind in sorted(kinds) for one, line in types.get(kind, {}).items()}
    for role, is_subject in _MEMBERS:
        for subject, (line, value) in statements.all(role):
            concept = subject if is_subject else value
            if isinstance(concept, str):
                declared.setdefault(concept, line)
    for concept, line in declared.items():
        if is_blank(concept):
            found.defects.append(("blank-label", line, "a concept without an IRI"))
        else:
            found.declared[concept] = statements.line(concept) or line
    if not found.declared and beside_classes:
        return found
    direct = _skos_edges(statements, found, "broader", "narrower")
    if not direct:
        _skos_edges(statements, found, "broaderTransitive", "narrowerTransitive")
    for child, _ in found.edges:
        if statements.line(child):
            found.declared.setdefault(child, statements.line(child))
    children = {child: line for (child, _), (line, _) in found.edges.items()}
    tops = [(concept, line) for concept, _, line in statements.resources("topConceptOf")]
    tops += [(concept, line) for _, concept, line in statements.resources("hasTopConcept")]
    found.defects += [
        ("top-concept-below", max(line, children[concept]), f"{concept} has a broader concept")
        for concept, line in dict(reversed(tops)).items()
        if concept in children
    ]
    return found


def _skos_edges(statements: Statements, found: Labels, up: str, down: str) -> bool:
    """Add the edges that two inverse predicates give; return whether there are any."""
    for role in (up, down):
        for subject, (line, value) in statements.all(role):
            if isinstance(value, Text):
                found.defects.append(("literal-parent", line, f"{subject} {role} {value.text!r}"))
            elif is_blank(subject) or is_blank(value):
                found.defects.append(("blank-label", line, without_blank_names(f"{subject} {role} {value}")))
            else:
                found.add_edge(*((subject, value) if role == up else (value, subject)), line)
    return bool(found.edges)


def choose_scheme(
    statements: Statements, prefixes: Mapping[str, str], found: Labels, into: Collector, wanted: str | None
) -> None:
    """Keep the concepts of the scheme that the option names; without it, report a file with several."""
    members: dict[str, set[str]] = {}
    first: dict[str, int] = {}
    for role, is_subject in _MEMBERS:
        for subject, value, line in statements.resources(role):
            concept, scheme = (subject, value) if is_subject else (value, subject)
            members.setdefault(scheme, set()).add(concept)
            first[scheme] = min(first.get(scheme, line), line)
    if wanted is None:
        if len(members) > 1:
            listed = ", ".join(f"{scheme} ({len(members[scheme]):,})" for scheme in sorted(members)[:_LISTED])
            into.defect("several-schemes", sorted(first.values())[1], listed)
        return
    kept = members[chosen_iri("scheme", wanted, set(members), prefixes, into.file)]
    for concept, line in sorted(found.declared.items()):
        if concept not in kept:
            into.defect("other-scheme", line, concept)
    found.declared = {concept: line for concept, line in found.declared.items() if concept in kept}
    found.edges = {edge: at for edge, at in found.edges.items() if kept.issuperset(edge)}
