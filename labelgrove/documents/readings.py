"""Describe what a reader made of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.readers import Report

__all__ = ["describe_reading"]


def describe_reading(report: Report, graph: LabelGraph | None) -> dict[str, Any]:
    """Return a report with whether an ingest would accept the file; `graph` is what was read, if anything."""
    document = report.to_dict() | {"accepted": graph is not None}
    if graph is not None:
        document |= {"n_labels": graph.n_labels, "n_edges": graph.n_edges}
    return document
