"""Results as files, whatever their kind: what each says of its version and space, and documents.

A document is a JSON file. Every other result is one safetensors file: arrays of indices into the canonical
order of one version of an ontology, and metadata that say which version, which space and how exact
(docs/jobs.md). Each kind of job packs and reads its own (``workers.kinds``).
"""

from __future__ import annotations

from labelgrove.ontology.results.documents import pack_document, read_document

__all__ = ["pack_document", "read_document"]
