"""The kind `cover`: find labels to observe so that every label can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.workers.kinds.describing import labels_table, named_labels, places, version_fields
from labelgrove.workers.kinds.inputs import read_space
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Product,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.geometry import Cover, MetricSpace
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.labelgraph import LabelGraph
    from labelgrove.ontology.results.layout import Packed
    from labelgrove.ontology.store.artifacts import ArtifactStore
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["COVER", "pack_cover", "read_cover"]

_FORMAT = "labelgrove/cover/1"
_METHODS = ("minimum", "phylogenetic", "small")

_PARAMETERS = (
    *SPACE,
    Parameter("method", "minimum, phylogenetic or small", "minimum"),
    Parameter("identifying", "true or false: whether every label must be reached uniquely", False),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    found = Parameters.of_space("cover", given, _PARAMETERS)
    found.choice("method", _METHODS)
    found.flag("identifying")
    if found["identifying"] and found["method"] != "minimum":
        raise found.wrong("identifying", f"needs the method minimum, not {found['method']}")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.geometry import locus_cover

    graph, space = read_space(work)
    method, identifying = work.parameters["method"], work.parameters["identifying"]
    work.check()
    found = locus_cover(space, method=method, identifying=identifying)
    return Product(*pack_cover(graph, space, found, method=method, identifying=identifying))


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    return Estimate(len(_plan(parameters)), 16 * subject.n_labels + HEADER_BYTES, 1 + subject.n_labels)


# ---- the file ------------------------------------------------------------------------------------------


def pack_cover(
    graph: LabelGraph, space: MetricSpace, found: Cover, *, method: str, identifying: bool = False
) -> Packed:
    """Return the arrays and the metadata of a file with a cover.

    Parameters
    ----------
    graph, space
        The label graph of the version, and its metric space.
    found : Cover
        The cover; the order of its keys is kept.
    method : {"minimum", "phylogenetic", "small"}
        How the cover was found.
    identifying : bool, default=False
        Whether the cover makes every label uniquely reachable.
    """
    from labelgrove.ontology.results.layout import pack_space

    arrays, metadata = pack_space(graph, space)
    arrays["index"] = space.point_index(found.keys)
    metadata |= {
        "format": _FORMAT,
        "method": method,
        "identifying": str(identifying).lower(),
        "status": found.status,
        "size": str(len(found)),
        "lower_bound": str(found.lower_bound),
    }
    return arrays, metadata


def read_cover(artifacts: ArtifactStore, digest: str, graph: LabelGraph) -> Cover:
    """Return a cover written by `pack_cover`.

    Parameters
    ----------
    artifacts, digest, graph
        See `ontology.results.layout.ResultFile`.

    Raises
    ------
    NotFoundError, ArtifactError
        If the artifact is missing, or is not a cover of the version in `graph`.
    """
    from labelgrove.ontology.geometry import Cover
    from labelgrove.ontology.results.layout import ResultFile

    file = ResultFile(artifacts, digest, graph, _FORMAT)
    keys = graph.keys.take(file.index("index", graph.n_labels))
    lower_bound, status = file.whole("lower_bound", 1), file.status()
    if lower_bound > len(keys) or (status == "exact") != (lower_bound == len(keys)):
        raise file.fault(
            f"{len(keys)} labels, a lower bound of {lower_bound} and status {status} contradict each other"
        )
    return Cover(keys, status, lower_bound)


# ---- showing and describing ----------------------------------------------------------------------------


def _show(result: JobResult) -> GraphResult:
    from labelgrove.ontology.graph.results import Links

    given = result.parameters
    index = result.graph.keys.indices(read_cover(result.artifacts, result.sha256, result.graph).keys)
    kind = "identifying" if given["identifying"] else given["method"]
    links = Links("INCLUDES", index, {"rank": places(index)})
    return result.node("Cover", {"kind": kind, "size": len(index)}, links)


def _describe(workspace: Workspace, result: JobResult) -> Description:
    found = read_cover(result.artifacts, result.sha256, result.graph)
    rows = [(rank, *named) for rank, named in enumerate(named_labels(result.graph, found.keys), start=1)]
    sizes = {"status": found.status, "size": len(rows), "lower_bound": found.lower_bound}
    line = f"{len(rows):,} labels are a cover; at least {found.lower_bound:,} are needed"
    return labels_table(line, version_fields(workspace, result) | sizes, ("rank", "key", "name"), rows)


COVER = JobKind(
    name="cover",
    version=1,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    parameters=_PARAMETERS,
    queue="lp",
    estimate=_estimate,
    show=_show,
    describe=_describe,
)
"""Find labels to observe so that every label can be reached: `ontology.geometry.locus_cover` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`, ``method`` (minimum, phylogenetic, small)
and ``identifying``. The result is read by `read_cover`.
"""
