"""Results as files: loci, covers, selections, summaries and blocks of distances, written and read back.

A result is one safetensors file: arrays of indices into the canonical order of one version of an ontology,
and metadata that say which version, which space and how exact (docs/jobs.md). ``pack_...`` gives the arrays
and metadata of a result; ``read_...`` takes the artifact's digest and the label graph, and returns the object
that the geometry itself returns.
"""

from __future__ import annotations

from ontology.results.distances import pack_distances, read_distances
from ontology.results.loci import pack_locus, read_locus
from ontology.results.picks import pack_cover, pack_selection, read_cover, read_selection
from ontology.results.summaries import pack_summary, read_summary

__all__ = [
    "pack_cover",
    "pack_distances",
    "pack_locus",
    "pack_selection",
    "pack_summary",
    "read_cover",
    "read_distances",
    "read_locus",
    "read_selection",
    "read_summary",
]
