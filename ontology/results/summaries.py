"""Summaries as files: the supernode of each label, and the graph between supernodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.canonical import length_fault
from labelgrove.ontology.geometry import Summary
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.results.layout import Packed, ResultFile

if TYPE_CHECKING:
    from labelgrove.ontology.store.artifacts import ArtifactStore

__all__ = ["FORMAT", "pack_summary", "read_summary"]

FORMAT = "labelgrove/summary/1"

_METHODS = ("capped", "neighbourhood", "node", "subtree")


def pack_summary(found: Summary) -> Packed:
    """Return arrays and metadata of a summary of its `source`."""
    arrays: dict[str, NDArray[Any]] = {
        "assignment": found.assignment,
        "sizes": found.sizes,
        "edges": found.edges,
        "weights": found.weights,
        "counts": found.counts,
        "picks": found.picks,
    }
    metadata = {
        "format": FORMAT,
        "ontology": found.source.digest,
        "method": found.method,
        "target": str(found.target),
        "cap": "" if found.cap is None else str(found.cap),
        "seed": "" if found.seed is None else str(found.seed),
        "entries_scanned": str(found.entries_scanned),
        "n_labels": str(found.source.n_labels),
        "n_supernodes": str(found.n_supernodes),
        "largest_share": repr(found.largest_share),
    }
    return arrays, metadata


def read_summary(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Summary:
    """Return a summary of `graph` that was written by `pack_summary`.

    Parameters
    ----------
    artifacts, digest, graph
        As `ontology.results.layout.ResultFile` takes them.

    Raises
    ------
    NotFoundError, ArtifactError
        If it is not there, or is no such file of this ontology.
    """
    file = ResultFile(artifacts, digest, graph, FORMAT)
    method = file.text("method")
    if method not in _METHODS:
        raise file.fault(f"metadata: method is {method!r}, expected one of {', '.join(_METHODS)}")
    assignment, sizes = file.array("assignment", np.int32), file.array("sizes", np.int64)
    edges, weights = file.array("edges", np.int32, 2), file.array("weights", np.float64)
    counts = file.array("counts", np.int64)
    n, n_supernodes = graph.n_labels, len(sizes)
    if len(assignment) != n or assignment.min() < 0 or assignment.max() >= n_supernodes:
        raise file.fault(f"assignment does not place {n} labels in {n_supernodes} supernodes")
    held, first = np.unique(assignment, return_index=True)
    if len(held) < n_supernodes or (np.diff(first) < 0).any():
        raise file.fault("assignment: supernodes are numbered by their lowest labels, and none is empty")
    if (np.bincount(assignment) != sizes).any():
        raise file.fault("sizes are not the numbers of labels that assignment places in the supernodes")
    if (n, n_supernodes) != (file.whole("n_labels"), file.whole("n_supernodes", 1)):
        raise file.fault(f"metadata: n_labels or n_supernodes is not {n} or {n_supernodes}, as in the arrays")
    if edges.shape != (len(weights), 2) or len(counts) != len(weights):
        raise file.fault(f"edges of shape {edges.shape}, {len(weights)} weights and {len(counts)} counts")
    if edges.size and not (edges.min() >= 0 and edges.max() < n_supernodes):
        raise file.fault(f"edges: a supernode is outside 0..{n_supernodes - 1}")
    pairs = edges[:, 0] * np.int64(n_supernodes) + edges[:, 1]
    if (edges[:, 0] >= edges[:, 1]).any() or (np.diff(pairs) <= 0).any():
        raise file.fault("edges: pairs of supernodes, each once, ascend, the smaller one of each first")
    if length_fault(weights) is not None or (counts < 1).any():
        raise file.fault("weights are lengths within 1e-75..1e75, counts are at least 1")
    picks = file.array("picks", np.int32)
    if len(picks) and (picks.min() < 0 or picks.max() >= n):
        raise file.fault(f"picks: a label is outside 0..{n - 1}")
    return Summary(
        source=graph,
        method=cast(Any, method),
        target=file.whole("target", 1),
        cap=file.whole("cap", 1) if file.text("cap") else None,
        seed=file.whole("seed") if file.text("seed") else None,
        assignment=assignment,
        sizes=sizes,
        edges=edges,
        weights=weights,
        counts=counts,
        picks=picks,
        entries_scanned=file.whole("entries_scanned"),
    )
