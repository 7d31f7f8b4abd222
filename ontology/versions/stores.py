"""Define `Stores`, the three open stores of ontologies: the catalog, the artifacts and the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelgrove.ontology.graph import GraphStore
    from labelgrove.ontology.sql.catalog import Catalog
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["Stores"]


@dataclass(frozen=True)
class Stores:
    """Catalog, artifacts and graph of one deployment.

    Attributes
    ----------
    catalog : Catalog
        The record of ontologies and versions; the graph and the index files are made to match it.
    artifacts : ArtifactStore
        Snapshots, annotations and index files.
    graph : GraphStore
        Copies of the versions, for queries.
    """

    catalog: Catalog
    artifacts: ArtifactStore
    graph: GraphStore
