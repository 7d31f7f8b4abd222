"""The kind `ingest`: load a version into the graph in parts, called shares, and make it current."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove.ontology.errors import ArtifactError, ConflictError, InputError, NotFoundError, TransientError
from labelgrove.ontology.store.artifacts import check_name
from labelgrove.workers.kinds.describing import facts, version_fields
from labelgrove.workers.kinds.inputs import open_graph, read_graph
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
from labelgrove.workers.kinds.parameters import CONTENT, Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["INGEST", "rows_of", "seconds_for"]

_ROWS_PER_SHARE = 40_000
_MOST_SHARES = 200
_SECONDS_PER_ROW = 5e-5  # for a label or an edge, written to a server

_PARAMETERS = (
    *CONTENT,
    Parameter("annotations", "the artifact with the annotations of the labels; or null", None),
    Parameter(
        "shrink",
        "true or false: accept a version with less than half of the labels of the current one",
        False,
    ),
    Parameter(
        "shares",
        f"a whole number from 1 to {_MOST_SHARES}: number of units; by default, chosen by the size of the "
        "work",
        1,
    ),
)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    if subject is not None:
        shares = -(-(subject.n_labels + subject.n_edges) // _ROWS_PER_SHARE)
        given = {"shares": min(shares, _MOST_SHARES), **given}
    found = Parameters("ingest", given, _PARAMETERS)
    found.digests("ontology", "snapshot")
    found.digests("annotations", optional=True)
    found.whole("shares", 1, _MOST_SHARES)
    found.flag("shrink")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    """Return one step for each share of the version, and a last step that completes the version.

    The last step also shows the annotations of the version in the graph.

    A share is a part of the labels and edges. Shares are loaded one after the other: an edge can only be
    written when its labels exist, and two writers of one version would block each other.
    """
    shares = parameters["shares"]
    content = {name: parameters[name] for name in ("ontology", "snapshot", "shares")}
    loading = [Step({**content, "share": share}, stage=share) for share in range(shares)]
    last = content | {"annotations": parameters["annotations"]}
    return [*loading, Step(last, stage=shares)]


def _execute(work: Work) -> Product:
    from labelgrove.ontology.versions.graphloading import complete, load_share

    graph, wanted = read_graph(work), work.parameters
    receipt = {"format": "labelgrove/ingest/1", "ontology": graph.digest}
    counts = np.array([graph.n_labels, graph.n_edges], dtype=np.int64)
    if "share" not in wanted:
        complete(work.workspace.stores, graph, wanted["annotations"], work.check)
        return Product({"counts": counts}, receipt)
    load_share(work.workspace.stores, graph, wanted["share"], wanted["shares"], work.check)
    return Product({"counts": counts}, receipt | {"share": f"{wanted['share']} of {wanted['shares']}"})


def _complete_target(
    workspace: Workspace, parameters: Mapping[str, Any], target: Mapping[str, str]
) -> dict[str, str]:
    """Check the name of the ontology in `target` and the size of the new version; return `target`.

    Both are checked before any work begins. `target` is a mapping; its only key is ``ontology``. If the new
    version has less than half of the labels of the current version, `ShrinkError` is raised unless the
    parameter ``shrink`` is true.
    """
    from labelgrove.ontology.versions.ingest import check_size

    name = _named(target)
    if not parameters["shrink"] and workspace.catalog.current(name) is not None:
        try:
            graph = open_graph(workspace.artifacts, parameters)
        except (ArtifactError, NotFoundError):  # its units report the error
            return dict(target)
        check_size(workspace, name, graph.n_labels)
    return dict(target)


def _named(target: Mapping[str, str]) -> str:
    """Return the name of the ontology that gets the new version; `target` contains the name.

    `InputError` is raised if the name is invalid, or if ``ontology`` is not the only key of `target`.
    """
    if set(target) != {"ontology"}:
        raise InputError(f"ingest: the target is {dict(target)!r}; give only ontology=NAME")
    return check_name(target["ontology"])


def _publish(naming: Naming) -> None:
    """Make the version that the job loaded the current version of the ontology that `naming.target` names.

    If the graph no longer contains the version, open the job again and raise `TransientError`; the units of
    the job then load the version.
    """
    from labelgrove.ontology.versions.graphloading import holds
    from labelgrove.ontology.versions.ingest import register
    from labelgrove.ontology.versions.snapshots import open_snapshot

    workspace, wanted = naming.workspace, naming.result.parameters
    name = _named(naming.target)
    snapshot = open_snapshot(workspace.artifacts, wanted["snapshot"], wanted["annotations"])
    if snapshot.graph.digest != wanted["ontology"]:
        raise ArtifactError(
            f"snapshot {wanted['snapshot']}: contains version {snapshot.graph.digest}, but "
            f"{wanted['ontology']} is requested; ingest its source again"
        )
    if not holds(workspace.graph, snapshot.graph):
        naming.recompute()
        raise TransientError(
            f"version {snapshot.graph.digest[:12]} is no longer in the graph; it will be loaded again"
        )
    try:
        # a job recorded before the parameter existed lacks it
        register(workspace, name, snapshot, shrink=bool(wanted.get("shrink")))
    except ConflictError as error:  # the holder of the name ends at some time; the request stays
        raise TransientError(f"{error}; {name} will be updated later") from error
    naming.reshow()  # results of a version that was loaded again


def _describe(workspace: Workspace, result: JobResult) -> Description:
    labels, edges = result.artifacts.open_arrays(result.sha256)[0]["counts"].tolist()
    line = f"{labels:,} labels and {edges:,} edges were loaded into the graph"
    return facts(line, version_fields(workspace, result) | {"n_labels": labels, "n_edges": edges})


def rows_of(n_labels: int, n_edges: int) -> int:
    """Return how many nodes and relationships a version adds to the graph.

    The nodes are those of the labels, and one for the version itself. Names of labels are not counted: how
    many there are is known only when the annotations are read.
    """
    return 1 + n_labels + n_edges


def seconds_for(n_labels: int, n_edges: int) -> float:
    """Return the estimated seconds that loading a version takes."""
    return rows_of(n_labels, n_edges) * _SECONDS_PER_ROW


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    units, n_labels, n_edges = len(_plan(parameters)), subject.n_labels, subject.n_edges
    opening = units * (n_labels + n_edges) * OPENING_SECONDS
    seconds = seconds_for(n_labels, n_edges) + opening
    return Estimate(units, units * HEADER_BYTES, 1 + rows_of(n_labels, n_edges), seconds)


INGEST = JobKind(
    name="ingest",
    version=2,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    parameters=_PARAMETERS,
    queue="ingest",
    estimate=_estimate,
    describe=_describe,
    complete_target=_complete_target,
    publish=_publish,
)
"""Load a version into the graph and make it current: `ontology.versions.ingest.register` as a job.

Parameters: ``ontology`` (its digest), ``snapshot`` and ``annotations`` (artifacts; annotations may be null),
``shrink``, whether it may have less than half of the labels of the current version, and ``shares``, how many
units load it, one after the other. The name of a result is ``{"ontology": name}``; until the job is done, the
previous version stays current. A result is only a receipt, because the loaded version itself is in the graph.
`workers.client.submit_ingest` stores a read ontology and submits the job.
"""
