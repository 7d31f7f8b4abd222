"""Describe ontologies and their versions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["current_versions", "describe_ontology", "describe_version"]

_MOST_ROOTS = 10


def describe_version(version: Version) -> dict[str, Any]:
    """Return what the catalog knows about a version."""
    return {
        "ontology": version.ontology,
        "digest": version.digest,
        "state": version.state,
        "current": version.current,
        "n_labels": version.n_labels,
        "n_edges": version.n_edges,
        "layout": version.layout,
        "source": version.source,
        "created_at": when(version.created_at),
    }


def current_versions(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the current version of each ontology."""
    return [describe_version(version) for version in workspace.catalog.versions() if version.current]


def describe_ontology(workspace: Workspace, name: str, version: str | None = None) -> dict[str, Any]:
    """Return the properties of a version of `name`, with all versions and bundles of that name.

    `version` is the beginning of a digest; by default the current version is described. Errors are those of
    `ontology.versions.workspace.Workspace.label_graph`.
    """
    shown = workspace.catalog.version(name, version)
    graph = workspace.label_graph_of(shown)
    return describe_version(shown) | {
        "roots": list(graph.roots[:_MOST_ROOTS]) if graph.directed else [],
        "n_roots": len(graph.roots) if graph.directed else 0,
        "n_leaves": int(graph.leaf_mask.sum()),
        "depth": int(graph.depth.max()) if graph.directed else None,
        "is_tree": graph.is_tree,
        "is_weighted": graph.is_weighted,
        "versions": [describe_version(one) for one in workspace.catalog.versions(name)],
        "bundles": [asdict(bundle) for bundle in workspace.catalog.bundles(name)],
    }
