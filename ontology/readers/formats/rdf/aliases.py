"""Join classes that a file calls equivalent: one of them is the label, the others are its former ids."""

from __future__ import annotations

from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.formats.rdf.labels import Labels
from labelgrove.ontology.readers.formats.rdf.statements import Statements

__all__ = ["join_equivalent"]


def join_equivalent(statements: Statements, found: Labels, into: Collector) -> dict[str, list[str]]:
    """Join equivalent classes that the file describes, unless the policy ``equivalent-class`` is ``warn``.

    Parameters
    ----------
    statements : Statements
    found : Labels
        Its edges are moved to the class that becomes the label: of the classes of a group that are not
        deprecated, if any, one with a name, if any, with the smallest IRI.
    into : Collector

    Returns
    -------
    dict of IRI to list of IRI
        For each label the classes that it stands for, sorted.
    """
    group: dict[str, str] = {}

    def top(iri: str) -> str:
        while iri in group:
            group[iri] = group.get(group[iri], group[iri])
            iri = group[iri]
        return iri

    def order(iri: str) -> tuple[bool, bool, str]:
        named = statements.has("label", iri) or statements.has("prefLabel", iri)
        return iri in found.deprecated, not named, iri

    for one, other, line in statements.resources("equivalentClass"):
        if one not in found.declared or other not in found.declared or one == other:
            continue
        into.defect("equivalent-class", line, f"{one} and {other}")
        first, second = sorted((top(one), top(other)), key=order)
        if first != second and into.recorder.policy("equivalent-class") != "warn":
            group[second] = first
    aliases: dict[str, list[str]] = {}
    for iri in sorted(group):
        aliases.setdefault(top(iri), []).append(iri)
        del found.declared[iri]
    if group:
        edges, found.edges = found.edges, {}
        for (child, parent), (line, rank) in edges.items():
            ends = top(child), top(parent)
            if ends[0] != ends[1] or child == parent:
                found.add_edge(*ends, line, rank)
    return aliases
