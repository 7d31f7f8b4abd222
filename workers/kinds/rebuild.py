"""The kind `rebuild-graph`: rebuild the graph from the snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove.ontology.errors import ConflictError, TransientError
from labelgrove.workers.kinds.ingest import rows_of, seconds_for
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
from labelgrove.workers.kinds.parameters import Parameter, Parameters

if TYPE_CHECKING:
    from labelgrove.ontology.versions.workspace import Workspace

__all__ = ["REBUILD"]

_LONGEST = 200

_PARAMETERS = (Parameter("request", "any text, different for each rebuild"),)


def _complete(given: Mapping[str, Any], subject: Subject | None) -> dict[str, Any]:
    del subject
    found = Parameters("rebuild-graph", given, _PARAMETERS)
    request = found["request"]
    if not (isinstance(request, str) and 0 < len(request) <= _LONGEST):
        raise found.wrong("request", f"give a text of 1 to {_LONGEST} characters, different for each rebuild")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step({**parameters, "part": "drop"}), Step({**parameters, "part": "restore"}, stage=1)]


def _execute(work: Work) -> Product:
    work.check()
    part = work.parameters["part"]
    try:
        digests = _drop(work) if part == "drop" else _restore(work)
    except ConflictError as error:
        work.check()  # stopped work is a conflict too, but is not tried again
        raise TransientError(f"{error}; the graph will be rebuilt later") from error
    versions = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
    return Product({"versions": versions}, {"format": "labelgrove/rebuild-graph/1", "part": part})


def _drop(work: Work) -> list[str]:
    from labelgrove.ontology.versions.rebuilding import empty_graph

    return empty_graph(work.workspace)


def _restore(work: Work) -> list[str]:
    from labelgrove.ontology.versions.rebuilding import restore_graph

    def progress(step: str, done: int, total: int) -> None:
        del step, done, total
        work.check()

    digests = restore_graph(work.workspace, progress=progress)
    work.reshow()
    return digests


def _describe(workspace: Workspace, result: JobResult) -> Description:
    del workspace
    rows = result.artifacts.open_arrays(result.sha256)[0]["versions"]
    versions = [row.tobytes().hex() for row in rows]
    listed = [(version,) for version in versions]
    return Description(
        f"{len(versions)} versions were restored", {"versions": versions}, ("version",), listed
    )


def _estimate(parameters: Mapping[str, Any], subject: Subject) -> Estimate:
    units, sizes = len(_plan(parameters)), (subject.n_labels, subject.n_edges)
    return Estimate(units, units * HEADER_BYTES, rows_of(*sizes), seconds_for(*sizes))


REBUILD = JobKind(
    name="rebuild-graph",
    version=2,
    complete=_complete,
    plan=_plan,
    execute=_execute,
    parameters=_PARAMETERS,
    queue="ingest",
    estimate=_estimate,
    describe=_describe,
)
"""Rebuild the graph from the snapshots, and show the results of jobs in it again.

The job has two units, which call `empty_graph` and `restore_graph` of `ontology.versions.rebuilding`. If the
second one is interrupted, it continues later with the remaining batches. The only parameter, ``request``, is
any text. Two requests with the same text are one job, done once. To rebuild again, give another text, as
`workers.client.submit_rebuild` does. The result is the digests of the versions, 32 bytes each.
"""
