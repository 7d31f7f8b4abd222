"""Hold the labels and edges of an RDF file by IRI, and choose an IRI by what a caller writes for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.readers.collect import Collector
from labelgrove.ontology.spelling import close_to

__all__ = ["Labels", "chosen_iri", "local_name"]

_LISTED = 8


@dataclass
class Labels:
    """The labels of a file and the edges between them, by IRI.

    Attributes
    ----------
    declared : dict of IRI to line
        Labels that the file describes.
    edges : dict of (child, parent) to (line, rank)
    deprecated : set of IRI
    defects : list of (code, line, text)
        What is wrong with these labels; it is reported only if this vocabulary is read.
    """

    declared: dict[str, int] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    deprecated: set[str] = field(default_factory=set)
    defects: list[tuple[str, int, str]] = field(default_factory=list)

    def add_edge(self, child: str, parent: str, line: int, rank: int = 0) -> None:
        """Add an edge; of two equal ones, the smaller line and rank are kept."""
        before = self.edges.get((child, parent))
        self.edges[child, parent] = (
            (line, rank) if before is None else (min(before[0], line), min(before[1], rank))
        )

    def drop_empty(self, into: Collector) -> None:
        """Leave out the empty IRI, which stands for the file itself, and its edges; report them."""
        if "" in self.declared:
            into.defect("empty-key", self.declared.pop(""), "<> is the file itself")
        for child, parent in [edge for edge in self.edges if "" in edge]:
            line, _ = self.edges.pop((child, parent))
            into.defect("empty-key", line, f"<{child}> under <{parent}>: <> is the file itself")

    def all(self) -> list[str]:
        """Return all labels in the order of the file, with those that are only ends of an edge."""
        return list(dict.fromkeys([*self.declared, *(end for edge in self.edges for end in edge)]))


def chosen_iri(option: str, wanted: str, offered: set[str], prefixes: Mapping[str, str], file: str) -> str:
    """Return the one of the offered IRIs that a text means: an IRI, a CURIE, or the last part of an IRI.

    Raises
    ------
    InputError
        If the text means none of them, or several.
    """
    prefix, colon, rest = wanted.partition(":")
    full = prefixes[prefix] + rest if colon and prefix in prefixes else wanted
    found = [full] if full in offered else [iri for iri in sorted(offered) if local_name(iri) == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{option}: {wanted!r} means several in {file}: {', '.join(found[:_LISTED])}; give one IRI"
        )
    names = sorted(offered)
    listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "") if names else "none"
    hint = close_to(wanted, names + [local_name(iri) for iri in names])
    raise InputError(f"{option}: {file} has no {wanted!r}{hint}; it has: {listed}")


def local_name(iri: str) -> str:
    """Return the last part of an IRI, after the last ``#`` or ``/``, or ``:`` if there is none of these.

    >>> local_name("http://example.org/animals#dog"), local_name("urn:animal:dog")
    ('dog', 'dog')
    """
    for mark in "#/:":
        _, found, tail = iri.rpartition(mark)
        if found and tail:
            return tail
    return iri
