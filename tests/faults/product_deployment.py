"""A deployment with all three servers, which runs real kinds of jobs and shows their results in the graph."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from labelgrove.ontology.errors import ServiceError
from labelgrove.ontology.store.artifacts import open_store
from labelgrove.ontology.versions.rebuilding import verify_graph
from labelgrove.workers import client
from labelgrove.workers.kinds import find_kind, kind_named
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.requests.request import plan_request
from labelgrove.workers.upkeep.references import references
from tests.faults.deployment import DRAIN_S, Deployment, Node, Result, undisturbed
from tests.faults.faulty_app import COMMITS
from tests.faults.invariants import violations
from tests.faults.product_app import Patience
from tests.faults.proxy import Proxy
from tests.faults.trial_kind import Conditions
from tests.integration.workers_support import UNREACHED_GRAPH, notes
from tests.services import wait_until

__all__ = ["ProductDeployment"]

_DIGEST = re.compile(r'"([0-9a-f]{64})"')
_ALL = 10_000  # results that stay in the graph, more than in any run
_FREED_SOON = "?options=-c%20idle_in_transaction_session_timeout%3D{:.0f}"
_RESULTS = "MATCH (r:Locus|Cover|Selection|Summary|Distances|Bundle|Evaluation) RETURN r.id AS id ORDER BY id"


class ProductDeployment(Deployment):
    """A `Deployment` with a graph, and optionally with a bad connection to one of its servers.

    Parameters
    ----------
    home, seed, database_url, nodes, slots, conditions, appendonly
        As for `Deployment`.
    graph_url : str
        An empty Neo4j; by default there is none, and no results are shown.
    spoiled : {"broker_url", "database_url", "graph_url"}, optional
        The server that the nodes reach through `proxy`; the test itself reaches it directly.
    patience : Patience, optional
        How long the nodes wait for a silent server.
    """

    def __init__(
        self,
        home: Path,
        *,
        seed: int,
        database_url: str,
        graph_url: str = UNREACHED_GRAPH,
        nodes: int = 1,
        slots: int = 2,
        conditions: Conditions | None = None,
        appendonly: bool = True,
        spoiled: str | None = None,
        patience: Patience | None = None,
    ) -> None:
        super().__init__(
            home,
            seed=seed,
            database_url=database_url,
            nodes=nodes,
            slots=slots,
            conditions=conditions,
            appendonly=appendonly,
        )
        self.settings = replace(self.settings, graph_url=graph_url, keep_results=_ALL)
        self._counts = (nodes, slots)
        self._spoiled = spoiled
        self._patience = patience or Patience()
        self._around = contextlib.ExitStack()
        self.proxy: Proxy | None = None

    # ---- work --------------------------------------------------------------------------------------

    def ask(
        self, kind: str, parameters: Mapping[str, Any], target: Mapping[str, str] | None = None
    ) -> PlannedJob:
        """Submit a job of any kind."""
        plan = plan_request(self.workspace, kind_named(kind), parameters)
        self.jobs.append(plan)
        client.submit(self.workspace, kind, parameters, target=target, wait=False)
        return plan

    def healed(self) -> float:
        """Measure the time to recover from now on; return the seconds since the last fault."""
        seconds = time.time() - self._last_fault
        self._last_fault += seconds
        return seconds

    # ---- the end -----------------------------------------------------------------------------------

    def drain(self, *, deadline_s: float = DRAIN_S) -> float:
        """Wait as `Deployment.drain` does, and also until the graph shows every result."""
        super().drain(deadline_s=deadline_s)
        if wanted := {job.id for job in self.jobs if _is_shown(job)}:
            with contextlib.suppress(TimeoutError):
                wait_until(
                    lambda: wanted <= self._shown(),
                    deadline_s=self._left(deadline_s),
                    what="results",
                    interval_s=0.2,
                )
        return time.time() - self._last_fault

    def breaches(self) -> list[str]:
        """Return every breach of the promise so far, in ledger, store and graph."""
        found = violations(
            self.workspace.engine,
            self.jobs,
            expected=self._expected(),
            store=self.home / "artifacts" / "sha256",
            told=notes(self.home / COMMITS),
            faults=10**6,  # not checked here: `_orphans` allows for inputs of jobs, which have no unit
        )
        if self._orphans() > self.faults:
            found.append(f"{self._orphans()} artifacts without a row after {self.faults} faults")
        if self.settings.graph_url != UNREACHED_GRAPH:
            found += self._graph_breaches()
        return found

    def finish(self, *, deadline_s: float = DRAIN_S) -> Result:
        """Wait until all jobs are done, check every law, and return the figures."""
        return replace(super().finish(deadline_s=deadline_s), orphans=self._orphans())

    def _shown(self) -> set[str]:
        try:
            return {row["job"] for row in self.workspace.graph.results()}
        except ServiceError:
            return set()

    def _expected(self) -> dict[str, str]:
        """Return the digests of the units' artifacts in a run without faults.

        Receipts of ingests are left out: `verify_graph` checks the graph that they confirm.
        """
        loading = [job for job in self.jobs if job.kind == "ingest"]
        receipts = [self.ledger.unit(unit.key) for job in loading for unit in job.units]
        jobs = [job for job in self.jobs if job.kind != "ingest"]
        home = self.home / "undisturbed"
        calm = open_store(str(home / "artifacts"))
        held = set(self.workspace.artifacts.digests())
        named = {digest for job in jobs for digest in _DIGEST.findall(job.spec_json)}
        for digest in held & named:
            calm.put_bytes(bytes(self.workspace.artifacts.read_bytes(digest)))
        return undisturbed(home, jobs) | {unit.key: str(unit.sha256) for unit in receipts if unit is not None}

    def _orphans(self) -> int:
        known = references(self.workspace)
        return sum(digest not in known for digest in self.workspace.artifacts.digests())

    def _graph_breaches(self) -> list[str]:
        """Return the faults of the graph, which must have one correct node and one PRODUCED for each job."""
        graph = self.workspace.graph
        wanted = sorted(job.id for job in self.jobs if _is_shown(job))
        produced = sorted(row["job"] for row in graph.results())
        found = [] if produced == wanted else [f"PRODUCED by {produced}, the jobs are {wanted}"]
        ids = sorted({str(self.ledger.job(job_id).result_sha256) for job_id in wanted})
        nodes = [row[0] for row in graph.run_user(_RESULTS).rows]
        if nodes != ids:
            found.append(f"result nodes {nodes}, the results are {ids}")
        return found + [
            f"graph: {version['digest']}: {problem}"
            for version in verify_graph(self.workspace)
            for problem in version["problems"]
        ]

    # ---- life --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self.home.mkdir(parents=True, exist_ok=True)
            self._patience.write(self.home)
            settings = self.settings
            if self._spoiled is not None:
                self.broker.start()
                self.proxy = stack.enter_context(Proxy(str(getattr(settings, self._spoiled)), seed=self.seed))
                url = self.proxy.url
                if self._spoiled == "database_url" and self._patience != Patience():
                    url += _FREED_SOON.format(1000 * self._patience.answer_s)
                settings = replace(settings, **{self._spoiled: url})
            n_nodes, slots = self._counts
            self.nodes = [
                Node(settings, self.home / f"node-{i}.log", app="tests.faults.product_app", slots=slots)
                for i in range(n_nodes)
            ]
            super().__enter__()
            self._around = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._around:
            super().__exit__(kind, error, trace)


def _is_shown(job: PlannedJob) -> bool:
    kind = find_kind(job.kind)
    return kind is not None and kind.show is not None
