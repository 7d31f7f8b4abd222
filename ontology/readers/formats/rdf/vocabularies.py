"""Decide whether the labels of a file are its SKOS concepts or its RDFS and OWL classes.

A file is read in one of these two vocabularies. If it has labels in both, the option `vocabulary` chooses;
by default, the vocabulary with more edges is read, and SKOS if both have equally many.
"""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.formats.rdf.classes import find_classes, property_ranks
from labelgrove.ontology.readers.formats.rdf.concepts import choose_scheme, concept_types, find_concepts
from labelgrove.ontology.readers.formats.rdf.labels import Labels
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.formats.rdf.terms import Text

__all__ = ["find_labels"]


def find_labels(
    statements: Statements, prefixes: Mapping[str, str], into: Collector, options: Options
) -> Labels:
    """Return the labels and edges of a file, in the vocabulary that the options or the file decide."""
    types = _types(statements)
    kinds = concept_types(statements)
    ranks = property_ranks(statements, prefixes, options.relation, into.file)
    classes = find_classes(statements, types, ranks)
    own = classes.declared.keys() - kinds  # what only says which things are concepts does not count
    n_own_edges = sum(child not in kinds for child, _ in classes.edges)
    concepts = find_concepts(statements, types, kinds, bool(own))
    wants_classes = options.vocabulary == "classes" or (
        options.vocabulary is None and (not concepts.declared or n_own_edges > len(concepts.edges))
    )
    read, left = (classes, concepts) if wants_classes else (concepts, classes)
    if options.vocabulary is None and concepts.declared and own:
        names = ("classes", "concepts") if wants_classes else ("concepts", "classes")
        into.defect(
            "several-vocabularies",
            min(left.declared.values()),
            f"{counted(len(read.declared), 'label')} in {names[0]} are read, "
            f"{counted(len(left.declared), 'label')} in {names[1]} are left out",
        )
    for code, line, text in read.defects:
        into.defect(code, line, text)
    read.drop_empty(into)
    if not wants_classes:
        choose_scheme(statements, prefixes, read, into, options.scheme)
    elif options.scheme is not None:
        raise InputError(
            f"scheme: {options.scheme!r} is given, but {into.file} is read as classes, which have no "
            "schemes; omit the option, or choose the vocabulary skos"
        )
    for subject, (line, value) in statements.all("deprecated"):
        if isinstance(value, Text) and value.text in ("true", "1"):
            read.deprecated.add(subject)
        elif not (isinstance(value, Text) and value.text in ("false", "0")):
            into.defect(
                "not-a-boolean", line, f"{subject}: {value if isinstance(value, str) else value.text}"
            )
    return read


def _types(statements: Statements) -> dict[str, dict[str, int]]:
    """Return, for each type, the lines of the things of this type."""
    types: dict[str, dict[str, int]] = {}
    for subject, (line, value) in statements.all("type"):
        if isinstance(value, str):
            types.setdefault(value, {})[subject] = line
    return types
