"""The kind `rebuild-graph`: the graph made again from the snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelgrove.ontology.errors import ConflictError, TransientError
from labelgrove.workers.kinds.ingest import rows_of, seconds_for
from labelgrove.workers.kinds.kind import HEADER_BYTES, Estimate, JobKind, Product, Step, Work
from labelgrove.workers.kinds.parameters import Parameter, Parameters

__all__ = ["REBUILD"]

_LONGEST = 200

_PARAMETERS = (Parameter("request", "any text, another for each rebuild"),)


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters("rebuild-graph", given, _PARAMETERS)
    request = found["request"]
    if not (isinstance(request, str) and 0 < len(request) <= _LONGEST):
        raise found.wrong("request", f"give a text of 1 to {_LONGEST} characters, another for each rebuild")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step({**parameters, "part": "drop"}), Step({**parameters, "part": "restore"}, stage=1)]


def _execute(work: Work) -> Product:
    work.check()
    part = work.parameters["part"]
    try:
        digests = _drop(work) if part == "drop" else _restore(work)
    except ConflictError as error:
        work.check()  # ours is not to be tried again
        raise TransientError(f"{error}; the graph is rebuilt later") from error
    versions = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
    return Product({"versions": versions}, {"format": "labelgrove/rebuild-graph/1", "part": part})


def _drop(work: Work) -> list[str]:
    from labelgrove.ontology.versions.rebuilding import empty_graph

    return empty_graph(work.workspace)


def _restore(work: Work) -> list[str]:
    from labelgrove.ontology.versions.rebuilding import restore_graph
    from labelgrove.workers.ledger.ledger import Ledger
    from labelgrove.workers.showing import reshow

    def progress(step: str, done: int, total: int) -> None:
        del step, done, total
        work.check()

    digests = restore_graph(work.workspace, progress=progress)
    reshow(work.workspace, Ledger(work.workspace.engine), out_of_time=work.out_of_time)
    return digests


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    units = len(_plan(parameters))
    return Estimate(units, units * HEADER_BYTES, rows_of(n_labels, n_edges), seconds_for(n_labels, n_edges))


REBUILD = JobKind(
    name="rebuild-graph",
    version=2,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    queue="ingest",
    estimate=_estimate,
    parameters=_PARAMETERS,
)
"""The graph made again from the snapshots, and results of jobs in it again.

Two units, `empty_graph` and `restore_graph` of `ontology.versions.rebuilding`: one that
restores and is cut short goes on with the batches that are left. The one parameter, ``request``, is any text:
the same text is the same rebuild, done once, so each wish has a text of its own, as
`workers.client.submit_rebuild` makes it. The result lists the digests of the versions, 32 bytes each.
"""
