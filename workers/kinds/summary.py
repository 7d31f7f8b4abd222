"""The kind `summary`: a large label graph as a small one of supernodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove.workers.kinds.graphresult import shown_result
from labelgrove.workers.kinds.inputs import open_graph, read_graph
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
    Estimate,
    JobKind,
    Product,
    Step,
    Work,
)
from labelgrove.workers.kinds.parameters import CONTENT, Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.workers.ledger.states import Publication

__all__ = ["SUMMARY"]

_SECONDS_PER_ENTRY = 4e-7  # of a label or an edge

_PARAMETERS = (
    *CONTENT,
    Parameter("target", "a whole number from 1: how many supernodes to end with, at most"),
    Parameter("method", "capped, neighbourhood, node or subtree", "capped"),
    Parameter(
        "cap", "of capped: the most labels in a supernode or, below 1, the largest share; or null", None
    ),
    Parameter("seed", "a whole number from 0", 0),
)


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters("summary", given, _PARAMETERS)
    found.digests("ontology", "snapshot")
    found.whole("target", 1)
    found.choice("method", ("capped", "neighbourhood", "node", "subtree"))
    found.whole("seed", 0, 2**63 - 1)
    found.decimal("cap")
    cap = _cap(found["cap"])
    if cap is not None and (cap == 0 or (isinstance(cap, float) and cap > 1)):
        raise found.wrong("cap", "give a whole number from 1, or a share of all labels between 0 and 1")
    if found["cap"] is not None and found["method"] != "capped":
        raise found.wrong("cap", f"only the method capped has one, {found['method']} was given")
    if found["method"] == "subtree" and found["seed"]:
        raise found.wrong("seed", "the method subtree draws nothing; leave it out")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.geometry.summaries.summary import merged
    from labelgrove.ontology.results import pack_summary

    wanted = work.parameters
    graph = read_graph(work)
    work.check()
    found = merged(
        graph, wanted["target"], method=wanted["method"], cap=_cap(wanted["cap"]), seed=wanted["seed"]
    )
    return Product(*pack_summary(found))


def _cap(text: str | None) -> int | float | None:
    """Return a number of labels, or a share of them below 1, from its decimal string."""
    if text is None:
        return None
    return float(text) if "." in text else int(text)


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from labelgrove.ontology.graph.results import Supernodes
    from labelgrove.ontology.results import read_summary

    graph = open_graph(artifacts, publication.parameters)
    found = read_summary(artifacts, publication.sha256, graph)
    properties = {
        "target": found.target,
        "size": found.n_supernodes,
        "largest_share": found.largest_share,
    }
    supernodes = Supernodes(
        found.sizes, found.assignment.astype(np.int64), found.edges.astype(np.int64), found.weights
    )
    return shown_result(publication, graph, "Summary", properties, supernodes=supernodes)


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    target = parameters["target"]
    n_bytes = 8 * n_labels + 8 * target + 24 * n_edges + HEADER_BYTES
    rows = 1 + 2 * target + n_labels + n_edges
    seconds = (n_labels + n_edges) * (_SECONDS_PER_ENTRY + OPENING_SECONDS)
    return Estimate(len(_plan(parameters)), n_bytes, rows, seconds)


SUMMARY = JobKind(
    name="summary",
    version=1,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    show=_show,
    queue="light",
    parameters=_PARAMETERS,
    estimate=_estimate,
)
"""Labels merged into supernodes: `ontology.geometry.summarize` as a job.

Parameters: ``ontology`` (its digest) and ``snapshot`` (the artifact of its label graph), ``target``,
``method``, ``seed``, and ``cap``, null or a decimal string. The result is `ontology.results.read_summary`.
"""
