"""The kind `distances`: a block of distances, some columns at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.workers.kinds.graphresult import shown_result
from labelgrove.workers.kinds.inputs import counted_points, open_graph, read_keys, read_space
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
    Estimate,
    JobKind,
    Product,
    Step,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters, is_digest

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MetricSpace
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.workers.ledger.states import Publication

__all__ = ["DISTANCES"]

_PART_FORMAT = "labelgrove/distances-part/1"
_BLOCK = 512  # columns; one sweep of the breadth-first search
_SECONDS_PER_STEP = 2e-9  # of one column across one label or edge of length 1

_PARAMETERS = (
    *SPACE,
    Parameter("columns", "all or label keys: where to measure from", keys=True, words=("all",), filled=True),
    Parameter("n_columns", "how many these are", filled=True),
    Parameter("dtype", "exact, or float32 for what would be float64", "exact"),
    Parameter("block", "a whole number from 1: columns of a unit", _BLOCK),
)


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("distances", given, _PARAMETERS)
    if found["columns"] != "all" and not is_digest(found["columns"]):
        raise found.wrong("columns", "choose all or the digest of a JSON list of keys")
    found.whole("n_columns", 1)
    found.whole("block", 1)
    found.choice("dtype", ("exact", "float32"))
    return found


def _fit(given: Mapping[str, Any], graph: LabelGraph, counts: Mapping[str, int]) -> dict[str, Any]:
    """Count the columns: all labels where no list was given."""
    return {"columns": "all", "n_columns": counts.get("columns", graph.n_labels), **given}


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    n, block = parameters["n_columns"], parameters["block"]
    if n <= block:
        return [Step(parameters)]
    parts = [Step({**parameters, "first": first}) for first in range(0, n, block)]
    return [*parts, Step(parameters, stage=1)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.results import pack_distances

    graph, space = read_space(work)
    columns = _columns(work, space)
    if work.inputs:
        return Product(*pack_distances(graph, space, columns, _merged(work, space.n_labels, len(columns))))
    first = work.parameters.get("first", 0)
    some = columns[first : first + work.parameters["block"]]
    work.check()
    distances = space.distances(cols=some)
    if work.parameters["dtype"] == "float32" and distances.dtype == np.float64:
        distances = distances.astype(np.float32)
    if "first" in work.parameters:
        return Product({"distances": distances}, {"format": _PART_FORMAT, "first": str(first)})
    return Product(*pack_distances(graph, space, columns, distances))


def _columns(work: Work, space: MetricSpace) -> NDArray[np.int64]:
    """Return the points to measure from in canonical order, whatever order they were named in."""
    given = work.parameters["columns"]
    keys = list(space.points) if given == "all" else read_keys(work.artifacts, given)
    return np.sort(counted_points(space, keys, "columns", work.parameters["n_columns"]))


def _merged(work: Work, n_rows: int, n_columns: int) -> NDArray[Any]:
    whole: NDArray[Any] | None = None
    first = 0
    for digest in work.inputs:
        work.check()
        part = work.artifacts.open_arrays(digest)[0]["distances"]
        if whole is None:
            whole = np.empty((n_rows, n_columns), dtype=part.dtype)
        whole[:, first : first + part.shape[1]] = part
        first += part.shape[1]
    return np.asarray(whole)


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from labelgrove.ontology.results.distances import FORMAT
    from labelgrove.ontology.results.layout import ResultFile

    graph = open_graph(artifacts, publication.parameters)
    file = ResultFile(artifacts, publication.sha256, graph, FORMAT)
    sizes = {name: file.whole(name) for name in ("n_labels", "n_columns")}
    return shown_result(publication, graph, "Distances", {"metric": file.text("metric"), **sizes})


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    units = len(_plan(parameters))
    n = parameters["n_columns"]
    written = 1 if units == 1 else 2  # the parts, and the whole
    seconds = (n_labels + n_edges) * (n * _SECONDS_PER_STEP + units * OPENING_SECONDS)
    width = 8 if parameters["dtype"] == "exact" else 4  # bytes of a distance at most
    n_bytes = n_labels * n * width * written + 8 * (n_labels + n) + HEADER_BYTES * units
    n_rows = n_labels if parameters["labels"] == "all" else 1  # of some labels, how many is not said
    return Estimate(units, n_bytes, 1, seconds, least_bytes=n_rows * n * written)


DISTANCES = JobKind(
    name="distances",
    version=1,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    show=_show,
    queue="blocks",
    parameters=_PARAMETERS,
    fit=_fit,
    estimate=_estimate,
)
"""Distances from every allowed label to some points: `ontology.geometry.pairwise_distances` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``columns`` (all, or an artifact with a
JSON list of keys) and their number ``n_columns``; ``dtype`` (exact, or float32 for what would be float64);
and ``block``, the columns of a unit. The result, `ontology.results.read_distances`, has its columns in
canonical order and is the same for every ``block``.
"""
