"""Export a stored version of an ontology, or a branch of it."""

from __future__ import annotations

from labelgrove.ontology.exports.exporting import Export, export_graph
from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["export_ontology"]


def export_ontology(
    workspace: Workspace,
    name: str,
    *,
    format: str = "json",
    version: str | None = None,
    under: str | None = None,
    leave_out: bool = False,
    namespace: str | None = None,
) -> Export:
    """Return a version as text that `ontology.read` reads back with the same digest, if nothing is left out.

    Parameters
    ----------
    workspace, name
        The workspace with the ontology, and the name of the ontology.
    version : str, optional
        The beginning of a digest; the current version by default.
    format, under, leave_out, namespace
        As for `ontology.exports.exporting.export_graph`; GraphML is for other programs and is not read back.

    Raises
    ------
    NotFoundError
        For an unknown name or version.
    InputError
        As for `export_graph`.
    """
    graph = workspace.label_graph(name, version)
    annotations = workspace.annotations(name, version)
    return export_graph(
        graph,
        annotations,
        name=name,
        format=format,
        under=under,
        leave_out=leave_out,
        namespace=namespace,
    )
