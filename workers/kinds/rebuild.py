"""The kind `rebuild-graph`: the graph made anew from the snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ontology.errors import ConflictError, TransientError
from workers.kinds.ingest import rows_of, seconds_for
from workers.kinds.kind import HEADER_BYTES, Estimate, JobKind, Product, Step, Work
from workers.kinds.parameters import Parameters

__all__ = ["REBUILD"]

_LONGEST = 200


def _normalise(given: Mapping[str, Any]) -> dict[str, Any]:
    found = Parameters("rebuild-graph", given, required=("request",), optional={})
    request = found["request"]
    if not (isinstance(request, str) and 0 < len(request) <= _LONGEST):
        raise found.wrong("request", f"give a text of 1 to {_LONGEST} characters, another for each rebuild")
    return found


def _plan(parameters: Mapping[str, Any]) -> list[Step]:
    return [Step(parameters)]


def _execute(work: Work) -> Product:
    from ontology.ingest import rebuild_graph
    from workers.ledger import Ledger
    from workers.showing import reshow

    def progress(step: str, done: int, total: int) -> None:
        del step, done, total
        work.check()

    work.check()
    try:
        digests = rebuild_graph(work.workspace, progress=progress)
    except ConflictError as error:
        work.check()  # ours is not to be tried again
        raise TransientError(f"{error}; the graph is rebuilt later") from error
    reshow(work.workspace, Ledger(work.workspace.engine))
    versions = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8).reshape(-1, 32)
    return Product({"versions": versions}, {"format": "labelgrove/rebuild-graph/1"})


def _estimate(parameters: Mapping[str, Any], n_labels: int, n_edges: int) -> Estimate:
    units = len(_plan(parameters))
    return Estimate(units, HEADER_BYTES, rows_of(n_labels, n_edges), seconds_for(n_labels, n_edges))


REBUILD = JobKind(
    name="rebuild-graph",
    version=1,
    normalise=_normalise,
    plan=_plan,
    execute=_execute,
    queue="ingest",
    estimate=_estimate,
)
"""The graph made anew, and results of jobs in it again: `ontology.ingest.rebuild_graph` as a job.

The one parameter, ``request``, is any text: the same text is the same rebuild, done once, so each wish has a
text of its own, as `workers.client.submit_rebuild` makes it. A unit cut short begins again. The result lists
the digests of the versions, 32 bytes each.
"""
