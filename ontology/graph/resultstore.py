"""Write, list and drop results of jobs in a graph store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from labelgrove.ontology.graph.engine import Engine, Removal, shown_by
from labelgrove.ontology.graph.results import GraphResult, check_result

__all__ = ["ResultStore", "removals"]

_DROPPED_TOGETHER = 1_000

_NO_VERSION = ""
"""The ``version`` of each result that is being dropped; a later drop finds unfinished drops by this value."""


class ResultStore:
    """Results of jobs in the graph of an engine.

    A result is complete if there is a relationship ``(:Job)-[:PRODUCED]->(result)``. This relationship is
    written last, and removed before any other part of the result. A reader who starts from the job therefore
    never finds an incomplete result.

    A drop begins by setting the property ``version`` of the result's node to the empty string, and ends by
    removing the node. If a drop is interrupted, the next drop finds and removes what is left, even if it is
    called for other results.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, result: GraphResult) -> None:
        """Write a result to the graph; safe to repeat, also after an interrupted attempt.

        Parameters
        ----------
        result : GraphResult
            The result; its version must be ready in this graph. If the result is already complete there,
            nothing is changed, because its id is a digest of its content.

        Raises
        ------
        InputError
            If the result breaks the rules of `ontology.graph.results`.
        NotFoundError
            If the result's version is not ready.
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
            Dictionaries with the keys ``job``, ``kind``, ``label``, ``id`` and ``version``, ordered by
            (job, id). ``label`` is the label of the node, such as ``Locus``. A result of several jobs is
            listed once for each job.
        """
        return self._engine.run_named("results", version=digest).dicts()

    def drop(self, ids: Iterable[str]) -> None:
        """Remove results, their supernodes, and jobs that have no results left; safe to repeat.

        Anything that an earlier, interrupted drop has left is removed too.

        Parameters
        ----------
        ids : iterable of str
            Ids of the nodes of the results; incomplete results are removed too.
        """
        wanted = sorted({*ids, *self._half_dropped()})
        for start in range(0, len(wanted), _DROPPED_TOGETHER):
            self._engine.remove(removals(wanted[start : start + _DROPPED_TOGETHER]))

    def steps_dropping(self, version: str) -> list[Removal]:
        """Return the queries that remove the results of a version.

        The queries also remove everything that interrupted drops have left.
        """
        return removals([*self._ids(version), *self._half_dropped()])

    def _ids(self, version: str) -> list[str]:
        return [row[0] for row in self._engine.run_named("results_of_version", version=version).rows]

    def _half_dropped(self) -> list[str]:
        return self._ids(_NO_VERSION)


def removals(ids: Sequence[str]) -> list[Removal]:
    """Return the queries, for `Engine.remove`, that remove the results `ids` from the graph.

    The first query marks the results as dropped: it sets their property ``version`` to the empty string. The
    second query removes the relationships from jobs to the results. The later queries remove only marked
    results. A result that is written again meanwhile is no longer marked, so it remains.
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
