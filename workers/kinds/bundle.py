"""The kind `bundle`: build the file that the adapter loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.workers.kinds.describing import facts, version_fields
from labelgrove.workers.kinds.inputs import read_graph, read_keys, read_labels
from labelgrove.workers.kinds.kind import (
    HEADER_BYTES,
    OPENING_SECONDS,
    Description,
    Estimate,
    JobKind,
    JobResult,
    Naming,
    Product,
    Step,
    Subject,
    Work,
)
from labelgrove.workers.kinds.parameters import SPACE, Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.graph.results import GraphResult
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["BUNDLE"]

_FORMS = ("auto", "tree", "block")
_PARAMETERS = (
    *SPACE,
    Parameter("observed", "label keys, in the order of a model's columns", keys=True, ordered=True),
    Parameter(
        "form",
        "auto, tree or block: a tree bundle stores a tree, a block bundle all distances to observed labels",
        "auto",
    ),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    found = Parameters.of_space("bundle", given, _PARAMETERS)
    found.digests("observed")
    found.choice("form", _FORMS)
    if found["form"] == "auto":  # the default is left out, so that older requests keep their key
        del found["form"]
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from labelgrove.adapter.bundles.bundle import build_bundle

    graph = read_graph(work)
    work.check()
    bundle = build_bundle(
        graph,
        read_keys(work.artifacts, work.parameters["observed"]),
        metric=work.parameters["metric"],
        labels=read_labels(work),
        form=work.parameters.get("form", "auto"),
        ontology={"digest": graph.digest},
    )
    arrays, metadata = bundle.to_arrays()
    return Product(arrays, metadata)


def _complete_target(
    workspace: Workspace, parameters: Mapping[str, Any], target: Mapping[str, str]
) -> dict[str, str]:
    if set(target) != {"ontology", "bundle"}:
        raise InputError(
            f"bundle: the target is {dict(target)!r}; give only the ontology that the bundle belongs to, and "
            "a name for the bundle: --target ontology=garden --target bundle=mine"
        )
    check_name(target["bundle"], "bundle")
    workspace.catalog.version(target["ontology"], parameters["ontology"])
    return dict(target)


def _publish(naming: Naming) -> None:
    workspace, result, target = naming.workspace, naming.result, naming.target
    _complete_target(workspace, result.parameters, target)
    version = result.parameters["ontology"]
    workspace.name_bundle(target["ontology"], target["bundle"], sha256=result.sha256, version=version)


def _show(result: JobResult) -> GraphResult:
    from labelgrove.adapter.bundles.bundle import Bundle

    found = Bundle.from_arrays(*result.artifacts.open_arrays(result.sha256), name=result.sha256)
    sizes = {"n_labels": found.n_labels, "n_observed": found.n_observed}
    return result.node("Bundle", {"metric": found.metric, **sizes})


def _describe(workspace: Workspace, result: JobResult) -> Description:
    names = [f"{b.ontology}/{b.name}" for b in workspace.catalog.bundles() if b.sha256 == result.sha256]
    uri = names[0] if names else result.sha256
    line = (
        f"load it with: labelgrove.adapter.open_bundle({uri!r}); inspect it with: grove bundle inspect {uri}"
    )
    return facts(line, version_fields(workspace, result) | {"names": names, "uri": uri}, is_file=True)


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    """Return an upper bound on the size of a bundle, and the estimated time to build it.

    Keys and names take at most as many bytes as the snapshot. A bundle of the form ``block`` also contains
    one distance for each pair of a label and an observed label, and the groups of its rows.
    """
    n_labels, n_observed = subject.n_labels, subject.n_keys["observed"]
    n_bytes = subject.snapshot_bytes + n_labels + 8 * n_observed + HEADER_BYTES
    if subject.space_kind(parameters) == "tree" and parameters.get("form") != "block":
        return Estimate(1, n_bytes + 16 * n_labels, 1, (n_labels + subject.n_edges) * OPENING_SECONDS)
    n_distances = n_labels * n_observed
    least_bytes = n_distances if parameters.get("labels", "all") == "all" else 0
    n_groups = n_labels // 7 + 8  # of eight items each; several sizes, of which each has one smaller group
    most_bytes = n_bytes + 8 * (n_distances + n_groups * n_observed) + 16 * n_labels
    return Estimate(1, most_bytes, 1, least_bytes=least_bytes)  # the time of a diameter is unknown


BUNDLE = JobKind(
    name="bundle",
    version=3,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    parameters=_PARAMETERS,
    estimate=_estimate,
    show=_show,
    describe=_describe,
    complete_target=_complete_target,
    publish=_publish,
)
"""Build all that the adapter needs to score one label space: `adapter.bundles.bundle.build_bundle` as a job.

Parameters: those of `workers.kinds.parameters.Parameters.of_space`; ``observed``, an artifact with a JSON
list of keys; and ``form``, which is not among the complete parameters if it is ``auto``. The name of a result
is ``{"ontology": name, "bundle": name}``.
"""
