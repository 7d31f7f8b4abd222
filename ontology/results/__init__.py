"""Read and write result files: documents, and the contents that all other result files have in common.

A document is a JSON file. Every other result is one safetensors file. Its arrays contain indices into the
canonical order of one version of an ontology; its metadata name the version, the space and how exact the
result is (docs/jobs.md). Each kind of job packs and reads its own results (``workers.kinds``).
"""

from __future__ import annotations

from labelgrove.ontology.results.documents import pack_document, read_document

__all__ = ["pack_document", "read_document"]
