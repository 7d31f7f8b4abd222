"""The index file of an ontology, ``index/<name>.json``: model servers look up names in it, without SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from labelgrove.ontology.errors import ArtifactError

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Catalog
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["index_is", "refresh_index"]


def refresh_index(catalog: Catalog, artifacts: ArtifactStore, name: str) -> None:
    """Make the index file of `name` match the catalog; if the catalog changes meanwhile, do it again.

    After concurrent updates, the file therefore has the newest content of the catalog.
    """
    document = catalog.index_document(name)
    while True:
        if document is None:
            artifacts.delete_index(name)
        elif not index_is(artifacts, name, document):
            artifacts.write_index(name, document)
        written, document = document, catalog.index_document(name)
        if written == document:
            return


def index_is(artifacts: ArtifactStore, name: str, document: Mapping[str, object] | None) -> bool:
    """Return whether the index file of `name` contains exactly `document`; False for a damaged file."""
    try:
        return artifacts.read_index(name) == document
    except ArtifactError:
        return False
