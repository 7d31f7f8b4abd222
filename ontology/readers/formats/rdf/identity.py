"""Give each label of an RDF file its key: the IRI, or a shorter one that the option `key` chooses.

The key of a label is its IRI unless the caller chooses otherwise. The IRI is what other files and later
releases call the label, and it never collides. A CURIE depends on the prefixes of the file, a local name or a
notation may belong to several labels.
"""

from __future__ import annotations

from collections.abc import Mapping

from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.readers.formats.rdf.labels import Labels, local_name
from labelgrove.ontology.readers.formats.rdf.statements import Statements
from labelgrove.ontology.readers.text.labeliris import key_of_iri

__all__ = ["KeysOfIris"]


class KeysOfIris:
    """The key of every IRI of a file.

    Parameters
    ----------
    rule : {"iri", "curie", "local", "notation"}
    found : Labels
        Two of these never get the same key: all labels that a rule does not tell apart keep their IRIs.
    statements : Statements
    prefixes : mapping of str to str
    into : Collector
        Records labels without such a key, and keys that several labels share.
    """

    def __init__(
        self, rule: str, found: Labels, statements: Statements, prefixes: Mapping[str, str], into: Collector
    ) -> None:
        self._rule = rule
        self._statements = statements
        self._prefix_of: dict[str, str] = {}  # of several prefixes of a namespace, the first
        for prefix in sorted(prefixes):
            self._prefix_of.setdefault(prefixes[prefix], prefix)
        self._lengths = sorted(set(map(len, self._prefix_of)) - {0}, reverse=True)
        self._key_of: dict[str, str] = {}
        if rule != "iri":
            self._settle(found, into)
        self._taken = set(self._key_of.values())

    def key(self, iri: str) -> str:
        """Return the key of an IRI, whether or not it is that of a label."""
        if self._rule == "iri":
            return key_of_iri(iri)
        key = self._key_of.get(iri)
        if key is None:
            short = self._short(iri)
            key = iri if short is None or short in self._taken else short
        return key

    def _settle(self, found: Labels, into: Collector) -> None:
        owners: dict[str, list[str]] = {}
        for iri in sorted(found.all()):
            line = found.declared.get(iri, 0)
            short = self._short(iri)
            if short is None:
                into.defect("no-short-key", line, f"{iri} has no {self._rule}")
            owners.setdefault(iri if short is None else short, []).append(iri)
        for short, iris in owners.items():
            for iri in iris:
                self._key_of[iri] = short if len(iris) == 1 else iri
            for iri in iris[1:]:
                into.defect("shared-key", found.declared.get(iri, 0), f"{short}: {iri} and {iris[0]}")

    def _short(self, iri: str) -> str | None:
        if self._rule == "local":
            name = local_name(iri)
            return None if name == iri else name
        if self._rule == "notation":
            held = sorted(value if isinstance(value, str) else value.text
                          for _, value in self._statements.values("notation", iri))  # fmt: skip
            return next(filter(None, held), None)
        for length in self._lengths:  # the longest namespace first
            prefix = self._prefix_of.get(iri[:length])
            if prefix is not None:
                return f"{prefix}:{iri[length:]}"
        return None
