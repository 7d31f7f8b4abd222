"""Describe named bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelgrove.documents.times import when

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["describe_bundles"]


def describe_bundles(workspace: Workspace, ontology: str | None = None) -> list[dict[str, Any]]:
    """Return the named bundles of an ontology, or of all.

    ``stale`` says that a bundle was made from a version that is no longer current.

    Raises
    ------
    NotFoundError
        For an unknown ontology.
    """
    if ontology is not None:
        workspace.catalog.version(ontology)
    currents = workspace.catalog.currents()
    return [
        {
            "bundle": f"{found.ontology}/{found.name}",
            "sha256": found.sha256,
            "version": found.version,
            "stale": found.version != currents[found.ontology],
            "created_at": when(found.created_at),
        }
        for found in workspace.catalog.bundles(ontology)
    ]
