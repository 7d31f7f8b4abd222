"""Results of jobs in a graph store: written whole, listed, dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from labelgrove.ontology.graph.engine import Engine, Removal, shown_by
from labelgrove.ontology.graph.results import GraphResult, check_result

__all__ = ["ResultStore", "removals"]

_DROPPED_TOGETHER = 1_000

_NO_VERSION = ""
"""The version of results that are being dropped, by which the rest of a drop that was cut short is found."""


class ResultStore:
    """Results in the graph of an engine.

    A result is whole once ``(:Job)-[:PRODUCED]->(result)`` leads to it: that is written last, and nothing of
    the result is removed before it. So whoever comes by the job never meets a part of a result.

    A drop takes the result from its version first and removes its node last: one that was cut short is found
    and completed by the next, whatever that is to drop.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, result: GraphResult) -> None:
        """Show a result in the graph; harmless when repeated, and it completes what an earlier attempt left.

        Parameters
        ----------
        result : GraphResult
            Of a version that is ready in this graph. A result that is whole stays as it is: its content is
            named by its id.

        Raises
        ------
        InputError
            When it is not what `ontology.graph.results` describes.
        NotFoundError
            When its version is not ready.
        """
        check_result(result)
        self._engine.migrate()
        if result.id in self._half_dropped():
            self.drop([result.id])
        if result.job not in shown_by(self._engine.run_named, result):
            self._engine.write_result(result)

    def listed(self, digest: str | None = None) -> list[dict[str, Any]]:
        """Return the whole results, of one version or of all.

        Returns
        -------
        list of dict
            ``job, kind, label, id, version``, ordered by (job, id); a result of several jobs stands there for
            each.
        """
        return self._engine.run_named("results", version=digest).dicts()

    def drop(self, ids: Iterable[str]) -> None:
        """Remove results, their supernodes, and jobs that have produced nothing else; harmless when repeated.

        Removes as well what is left of earlier drops that were cut short.

        Parameters
        ----------
        ids : iterable of str
            Ids of the nodes, whole or not.
        """
        wanted = sorted({*ids, *self._half_dropped()})
        for start in range(0, len(wanted), _DROPPED_TOGETHER):
            self._engine.remove(removals(wanted[start : start + _DROPPED_TOGETHER]))

    def steps_dropping(self, version: str) -> list[Removal]:
        """Return the steps that remove the results of a version, and what is left of earlier drops."""
        return removals([*self._ids(version), *self._half_dropped()])

    def _ids(self, version: str) -> list[str]:
        return [row[0] for row in self._engine.run_named("results_of_version", version=version).rows]

    def _half_dropped(self) -> list[str]:
        return self._ids(_NO_VERSION)


def removals(ids: Sequence[str]) -> list[Removal]:
    """Return the steps that remove these results, what joins them to their version and their jobs first.

    Only results marked by the first step are removed: one that is written again meanwhile stays.
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
