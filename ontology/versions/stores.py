"""Hold the three open stores of ontologies: the catalog, the artifacts and the live graph."""

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
        Which ontologies and versions exist: the truth that the graph and the index files follow.
    artifacts : ArtifactStore
        Snapshots, definitions and index files.
    graph : GraphStore
        The versions in the form in which they are queried.
    """

    catalog: Catalog
    artifacts: ArtifactStore
    graph: GraphStore
