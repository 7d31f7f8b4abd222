"""Tell which jobs a workspace shows: to whom only some ontologies are shown, only jobs about these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import NotFoundError

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["refuse_unseen", "versions_shown"]


def versions_shown(workspace: Workspace, ontology: str | None = None) -> set[str] | None:
    """Return the digests of the versions about which jobs are shown; None for all.

    With `ontology`, they are versions of this one.
    """
    if workspace.only is None and ontology is None:
        return None
    return {version.digest for version in workspace.catalog.versions(ontology)}


def refuse_unseen(
    workspace: Workspace, kind: str, parameters: Mapping[str, Any], target: Mapping[str, str] | None
) -> None:
    """Raise `NotFoundError` if a job is not about the ontologies to which the workspace is restricted.

    `parameters` are complete, so that their ``ontology`` is a digest.
    """
    if workspace.only is None:
        return
    if target is not None and "ontology" in target and target["ontology"] not in workspace.only:
        workspace.catalog.version(target["ontology"])  # it says which there are
    if parameters.get("ontology") not in (versions_shown(workspace) or ()):
        raise NotFoundError(
            f"{kind}: this job is about none of the ontologies that you may see; name one of "
            f"{', '.join(sorted(workspace.only)) or 'none'}"
        )
