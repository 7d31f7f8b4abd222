"""Find RDFS and OWL classes and the edges between them."""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.ontology.readers.formats.rdf.labels import Labels, chosen_iri
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.formats.rdf.terms import (
    CLASS_TYPES,
    DEPRECATED_TYPES,
    META_NAMESPACES,
    Text,
    is_blank,
)

__all__ = ["find_classes", "property_ranks"]

_SUBCLASS = ("subClassOf", "rdfs:subClassOf", "is_a")


def _is_meta(iri: str) -> bool:
    return iri.startswith(META_NAMESPACES)


def property_ranks(
    statements: Statements, prefixes: Mapping[str, str], relation: str | None, file: str
) -> dict[str, int]:
    """Return the rank of each property that makes the hierarchy; the empty text stands for ``subClassOf``.

    Raises
    ------
    InputError
        If the file has no restriction on a property that the option `relation` names.
    """
    if relation is None:
        return {"": 0}
    used = {prop for prop, _ in _fillers(statements).values()}
    by_name = {
        value.text.lower(): prop
        for prop in sorted(used, reverse=True)
        for _, value in statements.values("label", prop)
        if isinstance(value, Text)
    }
    ranks: dict[str, int] = {}
    for name in filter(None, map(str.strip, relation.split(","))):
        if name in _SUBCLASS:
            ranks.setdefault("", len(ranks))
        else:
            spaced = by_name.get(name.lower().replace("_", " "))
            ranks.setdefault(spaced or chosen_iri("relation", name, used, prefixes, file), len(ranks))
    return ranks


def find_classes(statements: Statements, types: dict[str, dict[str, int]], ranks: dict[str, int]) -> Labels:
    """Return the classes, without those of the languages themselves."""
    found = Labels()
    for kind in CLASS_TYPES:
        for subject in types.get(kind, ()):
            if not (is_blank(subject) or _is_meta(subject)):
                found.declared[subject] = statements.line(subject)
    for kind in DEPRECATED_TYPES:
        found.deprecated.update(types.get(kind, ()))
    fillers = _fillers(statements)
    for child, (line, value) in statements.all("subClassOf"):
        if is_blank(child) or _is_meta(child):
            continue
        found.declared.setdefault(child, statements.line(child))
        if isinstance(value, Text):
            found.defects.append(("literal-parent", line, f"{child} subClassOf {value.text!r}"))
        elif not is_blank(value):
            if not _is_meta(value) and "" in ranks:
                found.add_edge(child, value, line, ranks[""])
        elif value in fillers and fillers[value][0] in ranks:
            prop, parent = fillers[value]
            found.add_edge(child, parent, line, ranks[prop])
        else:
            found.defects.append(("anonymous-class", line, f"above {child}"))
    return found


def _fillers(statements: Statements) -> dict[str, tuple[str, str]]:
    """Return (property, class) of each restriction that some values of a property are from a named class."""
    fillers = {}
    for node, (_, value) in statements.all("someValuesFrom"):
        if isinstance(value, str) and not is_blank(value):
            for _, prop in statements.values("onProperty", node):
                if isinstance(prop, str):
                    fillers[node] = prop, value
    return fillers
