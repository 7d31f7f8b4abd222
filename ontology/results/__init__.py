"""Results as files, written and read: loci, covers, selections, summaries, distances and documents.

A document is a JSON file. Every other result is one safetensors file: arrays of indices into the canonical
order of one version of an ontology, and metadata that say which version, which space and how exact
(docs/jobs.md). ``pack_...`` gives what is published of a result; ``read_...`` takes the artifact's digest,
and but for documents the label graph, and returns the object that the geometry itself returns.
"""

from __future__ import annotations

from labelgrove.ontology.results.distances import pack_distances, read_distances
from labelgrove.ontology.results.documents import pack_document, read_document
from labelgrove.ontology.results.loci import pack_locus, read_locus
from labelgrove.ontology.results.picks import pack_cover, pack_selection, read_cover, read_selection
from labelgrove.ontology.results.summaries import pack_summary, read_summary

__all__ = [
    "pack_cover",
    "pack_distances",
    "pack_document",
    "pack_locus",
    "pack_selection",
    "pack_summary",
    "read_cover",
    "read_distances",
    "read_document",
    "read_locus",
    "read_selection",
    "read_summary",
]
