"""The shapes of answers about ontologies and their versions."""

from __future__ import annotations

from typing import Any

from labelgrove.service.schemas.parts import Document

__all__ = [
    "Accepted",
    "OntologyDocument",
    "VersionDocument",
    "VersionList",
]


class VersionDocument(Document):
    """One version of an ontology."""

    ontology: str
    digest: str
    state: str
    current: bool
    n_labels: int
    n_edges: int
    layout: str
    source: str | None
    created_at: str


class VersionList(Document):
    """Versions, oldest first."""

    items: list[VersionDocument]
    total: int


class OntologyDocument(VersionDocument):
    """A version, with all versions and bundles of its ontology."""

    roots: list[str]
    n_roots: int
    n_leaves: int
    depth: int | None
    is_tree: bool
    is_weighted: bool
    versions: list[VersionDocument]
    bundles: list[dict[str, Any]]


class Accepted(Document):
    """A job that was submitted."""

    job: str
    state: str
    location: str
