"""The kind `distances`: compute a block of distances, some columns at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.workers.kinds.describing import facts, version_fields
from labelgrove.workers.kinds.inputs import counted_points, read_keys, read_space
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
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters, is_digest

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import MatrixSpace, MetricSpace
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.results.layout import Packed
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["DISTANCES", "pack_distances", "read_distances"]

_FORMAT = "labelgrove/distances/1"
_PART_FORMAT = "labelgrove/distances-part/1"
_DTYPES = (np.uint8, np.uint16, np.float32, np.float64)
_BLOCK = 512  # columns; one sweep of the breadth-first search
_SECONDS_PER_STEP = 2e-9  # for one column across one label or edge of length 1

_PARAMETERS = (
    *SPACE,
    Parameter(
        "columns", "all, or keys of the labels to measure from", keys=True, words=("all",), filled=True
    ),
    Parameter("n_columns", "number of columns", filled=True),
    Parameter("dtype", "exact, or float32 to store float64 distances in half the bytes", "exact"),
    Parameter("block", "a whole number, 1 or more: number of columns in a unit", _BLOCK),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    if subject is not None:  # all labels if no list is given
        given = {"columns": "all", "n_columns": subject.n_keys.get("columns", subject.n_labels), **given}
    found = Parameters.of_space("distances", given, _PARAMETERS)
    if found["columns"] != "all" and not is_digest(found["columns"]):
        raise found.wrong("columns", "choose all or the digest of a JSON list of keys")
    found.whole("n_columns", 1)
    found.whole("block", 1)
    found.choice("dtype", ("exact", "float32"))
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    n, block = parameters["n_columns"], parameters["block"]
    if n <= block:
        return [Step(parameters)]
    parts = [Step({**parameters, "first": first}) for first in range(0, n, block)]
    return [*parts, Step(parameters, stage=1)]


def _execute(work: Work) -> Product:
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
    """Return the points to measure from, in canonical order, even if the request has another order."""
    given = work.parameters["columns"]
    keys = list(space.points) if given == "all" else read_keys(work.artifacts, given)
    return np.sort(counted_points(space, keys, "columns", work.parameters["n_columns"]))


def _merged(work: Work, n_rows: int, n_columns: int) -> NDArray[Any]:
    """Return one array with all columns, which the units of the previous stage computed in parts.

    The artifacts of these units are read one by one.
    """
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


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    units, n_labels, n_edges = len(_plan(parameters)), subject.n_labels, subject.n_edges
    n = parameters["n_columns"]
    written = 1 if units == 1 else 2  # the parts, and the whole
    seconds = (n_labels + n_edges) * (n * _SECONDS_PER_STEP + units * OPENING_SECONDS)
    width = 8 if parameters["dtype"] == "exact" else 4  # bytes of a distance at most
    n_bytes = n_labels * n * width * written + 8 * (n_labels + n) + HEADER_BYTES * units
    n_rows = n_labels if parameters["labels"] == "all" else 1  # the number of listed labels is unknown
    return Estimate(units, n_bytes, 1, seconds, least_bytes=n_rows * n * written)


# ---- the file ------------------------------------------------------------------------------------------


def pack_distances(
    graph: LabelGraph, space: MetricSpace, columns: NDArray[np.int64], distances: NDArray[Any]
) -> Packed:
    """Return the arrays and the metadata of a file with a block of distances.

    Parameters
    ----------
    graph, space
        The label graph of the version, and its metric space.
    columns : ndarray of shape (n_columns,), dtype=int64
        Point indices, ascending.
    distances : ndarray of shape (n_labels, n_columns), dtype uint8, uint16, float32 or float64
        The distance from every allowed label to each of these points.
    """
    from labelgrove.ontology.results.layout import pack_space

    arrays, metadata = pack_space(graph, space)
    arrays |= {"columns": columns, "distances": distances}
    return arrays, metadata | {"format": _FORMAT, "n_columns": str(len(columns))}


def read_distances(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> MatrixSpace:
    """Return a block of distances, written by `pack_distances`, as a metric space.

    Parameters
    ----------
    artifacts, digest, graph
        See `ontology.results.layout.ResultFile`.

    Returns
    -------
    space : MatrixSpace
        Its labels are the allowed labels, and its points are those that have a column in the file. If the
        store is a local folder, the matrix is a view of the file.

    Raises
    ------
    NotFoundError, ArtifactError
        If the artifact is missing, or is not a block of distances of the version in `graph`.
    """
    from labelgrove.ontology.geometry import MatrixSpace
    from labelgrove.ontology.keys import Keys
    from labelgrove.ontology.results.layout import ResultFile

    file = ResultFile(artifacts, digest, graph, _FORMAT)
    columns = file.index("columns", graph.n_labels)
    rows = graph.keys
    if "labels.allowed" in file.arrays:
        rows = Keys.from_strings(rows.take(file.allowed))
    matrix = file.array("distances", _DTYPES, (len(rows), len(columns)))
    try:
        return MatrixSpace(matrix, rows, Keys.from_strings(graph.keys.take(columns)))
    except InputError as error:
        raise file.fault(str(error)) from None


# ---- showing and describing ----------------------------------------------------------------------------


def _show(result: JobResult) -> GraphResult:
    from labelgrove.ontology.results.layout import ResultFile

    file = ResultFile(result.artifacts, result.sha256, result.graph, _FORMAT)
    sizes = {name: file.whole(name) for name in ("n_labels", "n_columns")}
    return result.node("Distances", {"metric": file.text("metric"), **sizes})


def _describe(workspace: Workspace, result: JobResult) -> Description:
    space = read_distances(result.artifacts, result.sha256, result.graph)
    matrix = space.distances()
    numbers = {
        "shape": list(matrix.shape),
        "dtype": str(matrix.dtype),
        "mean": float(matrix.mean()),
        "largest": float(matrix.max()),
    }
    line = f"{matrix.shape[0]:,} x {matrix.shape[1]:,} distances; --out FILE.npy writes them"
    return facts(line, version_fields(workspace, result) | numbers, matrix=space)


DISTANCES = JobKind(
    name="distances",
    version=1,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    queue="blocks",
    parameters=_PARAMETERS,
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Compute distances from allowed labels to some points: `ontology.geometry.pairwise_distances` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``columns`` (all, or an artifact with a
JSON list of keys) and their number ``n_columns``; ``dtype`` (exact, or float32 to store float64 distances in
less space); and ``block``, the number of columns of a unit. The result, read by `read_distances`, has its
columns in canonical order and is the same for every ``block``.
"""
