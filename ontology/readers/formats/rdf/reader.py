"""Read a hierarchy in RDF: the steps from triples to labels with names."""

from __future__ import annotations

from pathlib import Path

from labelgrove.ontology.readers.collect import Collector, Options
from labelgrove.ontology.readers.formats.rdf.aliases import join_equivalent
from labelgrove.ontology.readers.formats.rdf.identity import KeysOfIris
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.formats.rdf.terms import Text, is_blank
from labelgrove.ontology.readers.formats.rdf.texts import Describer
from labelgrove.ontology.readers.formats.rdf.vocabularies import find_labels
from labelgrove.ontology.readers.formerids import settle_former_ids

__all__ = ["read_rdf"]


def read_rdf(path: Path, into: Collector, options: Options) -> None:
    """Read SKOS concepts, or RDFS and OWL classes, into a collector.

    Raises
    ------
    MissingExtraError
        If pyoxigraph is not installed.
    InputError
        If the options `scheme` or `relation` name something that the file does not have.
    """
    from labelgrove.ontology.readers.formats.rdf.triples import Triples  # needs the extra `rdf`

    triples = Triples(path, into)
    statements = Statements(triples)
    for _, (line, value) in statements.all("imports"):
        if isinstance(value, Text) or not is_blank(value):
            into.defect("not-imported", line, value.text if isinstance(value, Text) else value)
    found = find_labels(statements, triples.prefixes, into, options)
    aliases = join_equivalent(statements, found, into)
    keys = KeysOfIris(options.key, found, statements, triples.prefixes, into)
    for iri, line in found.declared.items():
        into.describe(keys.key(iri), line)
    labels = found.all()
    into.annotations.deprecated.update(keys.key(iri) for iri in found.deprecated.intersection(labels))
    for (child, parent), (line, rank) in found.edges.items():
        into.edge(keys.key(child), keys.key(parent), line, rank)
    describer = Describer(statements, labels, options.language, keys.key, into)
    for iri in labels:
        describer.describe(iri, aliases.get(iri, ()))
    settle_former_ids(into)
    into.report_unnamed()
    into.report_undescribed()
