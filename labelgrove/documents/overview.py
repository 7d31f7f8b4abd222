"""Describe a home at a glance: its ontologies, what was found about them, and unfinished jobs."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from labelgrove.documents.jobs import describe_jobs
from labelgrove.documents.ontologies import describe_version

if TYPE_CHECKING:
    from labelgrove.ontology.sql.catalog import Version
    from labelgrove.ontology.versions.workspace import Workspace
    from labelgrove.workers.ledger.states import Job

__all__ = ["Overview"]

_EVALUATION = "evaluation"
_MOST_EVALUATIONS = 500
_MOST_JOBS = 100
_MOST_KEPT = 1_000


class Overview:
    """Describes a home; what it reads from files is read once, as files never change.

    Safe to use from several threads.

    Parameters
    ----------
    workspace : Workspace
        Only what it shows is described.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._depths: dict[str, int | None] = {}
        self._verdicts: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def describe(self) -> dict[str, Any]:
        """Return the document of the home.

        ``ontologies`` has the current version of each ontology, with ``depth`` (None for an undirected
        graph), ``n_versions``, ``stale_jobs`` and ``evaluation``: ``job``, ``model``, ``answer`` and
        ``stale`` of its newest evaluation, or None. ``unfinished`` has the jobs that run or wait, the newest
        first.
        """
        from labelgrove.workers import client
        from labelgrove.workers.ledger.states import State
        from labelgrove.workers.refresh import stale_jobs

        versions = [one for one in self.workspace.catalog.versions() if one.state == "ready"]
        names: dict[str, set[str]] = {}  # ontologies with the same labels have the same digest
        for one in versions:
            names.setdefault(one.digest, set()).add(one.ontology)
        stale = Counter(
            name for job in stale_jobs(self.workspace) for name in names.get(job.parameters["ontology"], ())
        )
        evaluations = self._newest_evaluations(names)
        counts = Counter(one.ontology for one in versions)
        unfinished = [
            job
            for state in (State.RUNNING, State.PENDING)
            for job in client.list_jobs(self.workspace, limit=_MOST_JOBS, state=state)
        ]
        ontologies = [
            describe_version(one)
            | {
                "depth": self._depth(one),
                "n_versions": counts[one.ontology],
                "stale_jobs": stale[one.ontology],
                "evaluation": self._verdict(evaluations.get(one.ontology), one.digest),
            }
            for one in versions
            if one.current
        ]
        return {"ontologies": ontologies, "unfinished": describe_jobs(self.workspace, unfinished)}

    def _newest_evaluations(self, names: dict[str, set[str]]) -> dict[str, Job]:
        from labelgrove.workers import client
        from labelgrove.workers.ledger.states import State

        newest: dict[str, Job] = {}
        done = client.list_jobs(self.workspace, limit=_MOST_EVALUATIONS, state=State.DONE, kind=_EVALUATION)
        for job in done:
            for name in names.get(str(job.parameters.get("ontology")), ()):
                newest.setdefault(name, job)
        return newest

    def _depth(self, version: Version) -> int | None:
        with self._lock:
            if version.digest in self._depths:
                return self._depths[version.digest]
        graph = self.workspace.label_graph_of(version)
        depth = int(graph.depth.max()) if graph.directed else None
        with self._lock:
            self._depths[version.digest] = depth
            _forget_oldest(self._depths)
        return depth

    def _verdict(self, job: Job | None, current: str) -> dict[str, Any] | None:
        if job is None or job.result_sha256 is None:
            return None
        with self._lock:
            found = self._verdicts.get(job.result_sha256)
        if found is None:
            from labelgrove.workers.kinds.evaluation.file import read_evaluation

            document = read_evaluation(self.workspace.artifacts, job.result_sha256)
            found = {"model": document["model"], "answer": document["verdict"]["answer"]}
            with self._lock:
                self._verdicts[job.result_sha256] = found
                _forget_oldest(self._verdicts)
        return {"job": job.id, "stale": job.parameters["ontology"] != current, **found}


def _forget_oldest(kept: dict[str, Any]) -> None:
    while len(kept) > _MOST_KEPT:
        del kept[next(iter(kept))]
