"""Results of jobs in a graph store: written whole, listed, dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ontology.errors import NotFoundError
from ontology.graph.engine import Engine, Removal, Run
from ontology.graph.results import GraphResult, check_result

__all__ = ["ResultStore", "removals", "shown_by"]

_DROPPED_TOGETHER = 1_000


class ResultStore(Engine):
    """The part of a graph store that shows results.

    A result is whole once ``(:Job)-[:PRODUCED]->(result)`` leads to it: that relationship is written last and
    removed first, so whoever comes by the job never meets a part of a result.
    """

    def write_result(self, result: GraphResult) -> None:
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
        self.migrate()
        if result.job not in shown_by(self.run_named, result):
            self._write_result(result)

    def results(self, digest: str | None = None) -> list[dict[str, Any]]:
        """Return the whole results, of one version or of all.

        Returns
        -------
        list of dict
            ``job, kind, label, id, version``, ordered by (job, id); a result of several jobs stands there for
            each.
        """
        rows = self.run_named("results").dicts()
        return [row for row in rows if digest is None or row["version"] == digest]

    def drop_results(self, ids: Iterable[str]) -> None:
        """Remove results, their supernodes, and jobs that have produced nothing else; harmless when repeated.

        Parameters
        ----------
        ids : iterable of str
            Ids of the nodes, whole or not.
        """
        wanted = sorted(set(ids))
        for start in range(0, len(wanted), _DROPPED_TOGETHER):
            self._remove(removals(wanted[start : start + _DROPPED_TOGETHER]))


def shown_by(run: Run, result: GraphResult) -> list[str]:
    """Return the jobs that a result is shown for; it is whole where there is one.

    Raises `NotFoundError` when its version is not ready.
    """
    digest = result.graph.digest
    states = [row["state"] for row in run("version", version=digest).dicts()]
    if states != ["ready"]:
        raise NotFoundError(
            f"version {digest[:12]} is {states[0] if states else 'absent'} in the graph; a result is shown "
            "beside a version that is ready: load it first, or run: grove graph rebuild"
        )
    return [job for (job,) in run("producers", id=result.id).rows]


def removals(ids: Sequence[str]) -> list[Removal]:
    """Return the steps that remove these results, what joins them to their jobs first."""
    if not ids:
        return []
    of_these = {"ids": ids}
    return [
        ("drop_produced", of_these),
        ("drop_idle_jobs", {}),
        ("drop_supernode_links", of_these),
        ("drop_supernodes", of_these),
        ("drop_result_links", of_these),
        ("drop_result_nodes", of_these),
    ]
