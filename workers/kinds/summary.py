"""The kind `summary`: reduce a large label graph to a small one of supernodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labelgrove.workers.kinds.describing import version_fields
from labelgrove.workers.kinds.inputs import read_graph
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Product,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.parameters import CONTENT, Parameter, Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labelgrove.ontology.geometry import Summary
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.results.layout import Packed
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["SUMMARY", "pack_summary", "read_summary"]

_FORMAT = "labelgrove/summary/1"
_METHODS = ("capped", "neighbourhood", "node", "subtree")
_SECONDS_PER_ENTRY = 4e-7  # for a label or an edge

_PARAMETERS = (
    *CONTENT,
    Parameter("target", "a whole number, 1 or more: the most supernodes that the summary may have"),
    Parameter("method", "capped, neighbourhood, node or subtree", "capped"),
    Parameter(
        "cap",
        "null, or (method capped only) the most labels that a supernode may contain: a number of labels or, "
        "below 1, a share of all labels",
        None,
    ),
    Parameter("seed", "a whole number, 0 or more: seed of the draws", 0),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    found = Parameters("summary", given, _PARAMETERS)
    found.digests("ontology", "snapshot")
    found.whole("target", 1)
    found.choice("method", _METHODS)
    found.whole("seed", 0, 2**63 - 1)
    found.decimal("cap")
    cap = _cap(found["cap"])
    if cap is not None and (cap == 0 or (isinstance(cap, float) and cap > 1)):
        raise found.wrong("cap", "give a whole number from 1, or a share of all labels between 0 and 1")
    if found["cap"] is not None and found["method"] != "capped":
        raise found.wrong("cap", f"only the method capped takes a cap, not {found['method']}")
    if found["method"] == "subtree" and found["seed"]:
        raise found.wrong("seed", "the method subtree draws nothing at random; leave the seed out")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.geometry.summaries.summary import merged

    wanted = work.parameters
    graph = read_graph(work)
    work.check()
    found = merged(
        graph, wanted["target"], method=wanted["method"], cap=_cap(wanted["cap"]), seed=wanted["seed"]
    )
    return Product(*pack_summary(found))


def _cap(text: str | None) -> int | float | None:
    """Return the cap that `text`, a decimal string, states; None if `text` is None.

    An int is a number of labels, and a float is a share of all labels of the version.
    """
    if text is None:
        return None
    return float(text) if "." in text else int(text)


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    n_labels, n_edges, target = subject.n_labels, subject.n_edges, parameters["target"]
    n_bytes = 8 * n_labels + 8 * target + 24 * n_edges + HEADER_BYTES
    rows = 1 + 2 * target + n_labels + n_edges
    seconds = (n_labels + n_edges) * (_SECONDS_PER_ENTRY + OPENING_SECONDS)
    return Estimate(len(_plan(parameters)), n_bytes, rows, seconds)


# ---- the file ------------------------------------------------------------------------------------------


def pack_summary(found: Summary) -> Packed:
    """Return the arrays and the metadata of a file with a summary."""
    arrays: dict[str, NDArray[Any]] = {
        "assignment": found.assignment,
        "sizes": found.sizes,
        "edges": found.edges,
        "weights": found.weights,
        "counts": found.counts,
        "picks": found.picks,
    }
    metadata = {
        "format": _FORMAT,
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
    """Return a summary of `graph` written by `pack_summary`.

    Parameters
    ----------
    artifacts, digest, graph
        See `ontology.results.layout.ResultFile`.

    Raises
    ------
    NotFoundError, ArtifactError
        If the artifact is missing, or is not a summary of the version in `graph`.
    """
    from labelgrove.ontology.canonical import length_fault
    from labelgrove.ontology.geometry import Summary
    from labelgrove.ontology.results.layout import ResultFile

    file = ResultFile(artifacts, digest, graph, _FORMAT)
    method = file.text("method")
    if method not in _METHODS:
        raise file.fault(f"metadata: method is {method!r}, expected one of {', '.join(_METHODS)}")
    assignment, sizes = file.array("assignment", np.int32), file.array("sizes", np.int64)
    edges, weights = file.array("edges", np.int32, (None, 2)), file.array("weights", np.float64)
    counts = file.array("counts", np.int64)
    n, n_supernodes = graph.n_labels, len(sizes)
    if len(assignment) != n or assignment.min() < 0 or assignment.max() >= n_supernodes:
        raise file.fault(f"assignment does not place {n} labels in {n_supernodes} supernodes")
    held, first = np.unique(assignment, return_index=True)
    if len(held) < n_supernodes or (np.diff(first) < 0).any():
        raise file.fault(
            "assignment: supernodes must be numbered by their lowest labels, and none may be empty"
        )
    if (np.bincount(assignment) != sizes).any():
        raise file.fault("sizes are not the numbers of labels that assignment places in the supernodes")
    if (n, n_supernodes) != (file.whole("n_labels"), file.whole("n_supernodes", 1)):
        raise file.fault(f"metadata: n_labels or n_supernodes is not {n} or {n_supernodes}, as in the arrays")
    if not len(edges) == len(weights) == len(counts):
        raise file.fault(f"{len(edges)} edges have {len(weights)} weights and {len(counts)} counts")
    if edges.size and not (edges.min() >= 0 and edges.max() < n_supernodes):
        raise file.fault(f"edges: a supernode is outside 0..{n_supernodes - 1}")
    pairs = edges[:, 0] * np.int64(n_supernodes) + edges[:, 1]
    if (edges[:, 0] >= edges[:, 1]).any() or (np.diff(pairs) <= 0).any():
        raise file.fault(
            "edges: pairs of supernodes must ascend without repeats, the smaller one first in each pair"
        )
    if length_fault(weights) is not None or (counts < 1).any():
        raise file.fault("weights must be lengths within 1e-75..1e75, and counts must be at least 1")
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


# ---- showing and describing ----------------------------------------------------------------------------


def _show(result: JobResult) -> GraphResult:
    from labelgrove.ontology.graph.results import Supernodes

    found = read_summary(result.artifacts, result.sha256, result.graph)
    properties = {
        "target": found.target,
        "size": found.n_supernodes,
        "largest_share": found.largest_share,
    }
    supernodes = Supernodes(
        found.sizes, found.assignment.astype(np.int64), found.edges.astype(np.int64), found.weights
    )
    return result.node("Summary", properties, supernodes=supernodes)


def _describe(workspace: Workspace, result: JobResult) -> Description:
    graph = result.graph
    found = read_summary(result.artifacts, result.sha256, graph)
    sizes = found.sizes.tolist()
    numbers = {
        "n_supernodes": len(sizes),
        "n_edges": len(found.counts),
        "largest_share": found.largest_share,
        "sizes": sizes,
    }
    return Description(
        f"{graph.n_labels:,} labels in {len(sizes):,} supernodes; --out FILE.csv lists the supernode of "
        "each label",
        version_fields(workspace, result) | numbers,
        columns=("supernode", "labels"),
        rows=sorted(enumerate(sizes), key=lambda row: (-row[1], row[0])),
        file=(("key", "supernode"), list(zip(graph.keys, found.assignment.tolist(), strict=True))),
    )


SUMMARY = JobKind(
    name="summary",
    version=1,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    queue="light",
    parameters=_PARAMETERS,
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Merge labels into supernodes: `ontology.geometry.summarize` as a job.

Parameters: ``ontology`` (its digest) and ``snapshot`` (the artifact of its label graph), ``target``,
``method``, ``seed``, and ``cap``, null or a decimal string. The result is read by `read_summary`.
"""
