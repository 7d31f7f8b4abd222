"""Write, list and drop results of jobs in a graph store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from labelgrove.ontology.graph.engine import Engine, Removal, shown_by
from labelgrove.ontology.graph.results import GraphResult, check_result

__all__ = ["ResultStore", "removals"]

_DROPPED_TOGETHER = 1_000

_NO_VERSION = ""
"""Version of results that are being dropped; it identifies the remains of an interrupted drop."""


class ResultStore:
    """Results in the graph of an engine.

    A result is complete once ``(:Job)-[:PRODUCED]->(result)`` leads to it. This relationship is written last,
    and removed before any other part of the result. A reader who starts from the job therefore never finds a
    part of a result.

    A drop separates the result from its version first and removes its node last. If it is interrupted, the
    next drop finds and completes it, whatever results that drop is for.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, result: GraphResult) -> None:
        """Write a result to the graph; safe to repeat, and it completes an interrupted earlier attempt.

        Parameters
        ----------
        result : GraphResult
            Its version must be ready in this graph. A complete result is left as it is, because its id names
            its content.

        Raises
        ------
        InputError
            If the result breaks the rules of `ontology.graph.results`.
        NotFoundError
            If its version is not ready.
        """
        check_result(result)
        self._engine.migrate()
        if result.id in self._half_dropped():
            self.drop([result.id])
        if result.job not in shown_by(self._engine.run_named, result):
            self._engine.write_result(result)

    def listed(self, digest: str | None = None) -> list[dict[str, Any]]:
        """Return the complete results of one version or of all versions.

        Returns
        -------
        list of dict
            ``job, kind, label, id, version``, ordered by (job, id); a result of several jobs is listed for
            each of them.
        """
        return self._engine.run_named("results", version=digest).dicts()

    def drop(self, ids: Iterable[str]) -> None:
        """Remove results, their supernodes, and jobs without other results; safe to repeat.

        Also remove what interrupted earlier drops left.

        Parameters
        ----------
        ids : iterable of str
            Ids of the nodes, complete or not.
        """
        wanted = sorted({*ids, *self._half_dropped()})
        for start in range(0, len(wanted), _DROPPED_TOGETHER):
            self._engine.remove(removals(wanted[start : start + _DROPPED_TOGETHER]))

    def steps_dropping(self, version: str) -> list[Removal]:
        """Return the steps that remove the results of a version, and the remains of earlier drops."""
        return removals([*self._ids(version), *self._half_dropped()])

    def _ids(self, version: str) -> list[str]:
        return [row[0] for row in self._engine.run_named("results_of_version", version=version).rows]

    def _half_dropped(self) -> list[str]:
        return self._ids(_NO_VERSION)


def removals(ids: Sequence[str]) -> list[Removal]:
    """Return the steps that remove these results, beginning with their relationships to version and jobs.

    Only results that the first step marked are removed; one that is written again meanwhile remains.
    """
    if not ids:
        return []
    of_these = {"ids": ids}
    return [
        ("mark_dropped", of_these),
        ("drop_produced", of_these),
        ("drop_idle_jobs", {}),
        ("drop_supernode_links", of_these),
        ("drop_supernodes", of_these),
        ("drop_result_links", of_these),
        ("drop_result_nodes", of_these),
    ]
