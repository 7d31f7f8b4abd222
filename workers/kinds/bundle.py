"""The kind `bundle`: what the adapter pulls, built as a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workers.kinds.inputs import open_graph, read_graph, read_keys, read_labels
from workers.kinds.kind import JobKind, Product, Step, Work
from workers.kinds.parameters import Parameters
from workers.kinds.showing import shown_result

if TYPE_CHECKING:
    from ontology.artifacts import ArtifactStore
    from ontology.graph.results import GraphResult
    from ontology.workspace import Workspace
    from workers.states import Publication

__all__ = ["BUNDLE"]


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters.of_space("bundle", given, required=["observed"])
    found.digests("observed")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from adapter.bundle import build_bundle

    graph = read_graph(work)
    work.check()
    bundle = build_bundle(
        graph,
        read_keys(work.artifacts, work.parameters["observed"]),
        metric=work.parameters["metric"],
        labels=read_labels(work),
        ontology={"digest": graph.digest},
    )
    arrays, metadata = bundle.to_arrays()
    return Product(arrays, metadata)


def _publish(workspace: Workspace, publication: Publication) -> None:
    target, version = publication.target, publication.parameters["ontology"]
    workspace.name_bundle(target["ontology"], target["bundle"], sha256=publication.sha256, version=version)


def _show(artifacts: ArtifactStore, publication: Publication) -> GraphResult:
    from adapter.bundle import Bundle

    graph = open_graph(artifacts, publication.parameters)
    found = Bundle.from_arrays(*artifacts.open_arrays(publication.sha256), name=publication.sha256)
    sizes = {"n_labels": found.n_labels, "n_observed": found.n_observed}
    return shown_result(publication, graph, "Bundle", {"metric": found.metric, **sizes})


BUNDLE = JobKind(
    name="bundle",
    version=1,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    publish=_publish,
    show=_show,
)
"""What an adapter needs to score one label space: `adapter.bundle.build_bundle` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`, and ``observed``, an artifact with a JSON
list of keys. A publication's target is ``{"ontology": name, "bundle": name}``.
"""
