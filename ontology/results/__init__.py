"""Read and write results as files: the version and space that every result file states, and documents.

A document is a JSON file. Every other result is one safetensors file: arrays of indices into the canonical
order of one version of an ontology, and metadata that state the version, the space and how exact the result
is (docs/jobs.md). Each kind of job packs and reads its own results (``workers.kinds``).
"""

from __future__ import annotations

from labelgrove.ontology.results.documents import pack_document, read_document

__all__ = ["pack_document", "read_document"]
