"""F16: kill -9 of every process of the service, its workers and its servers, while clients go on."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import random
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove.adapter import Adapter
from labelgrove.ontology.errors import GroveError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.requests.request import plan_request
from tests.faults.ingest_kill import numbered_graph
from tests.faults.measured import keep
from tests.faults.product_deployment import ProductDeployment
from tests.faults.service_clients import Clients, Told
from tests.faults.trial_kind import Conditions
from tests.integration.celery_worker import ROOT, environment
from tests.services import (
    Neo4jServer,
    PostgresServer,
    ServerProcess,
    ServiceError,
    patient,
    wait_until,
)

pytestmark = [pytest.mark.faults, pytest.mark.services]

N_LABELS = 3_000
N_ROWS, N_OBSERVED = 200, 40
KINDS = ("server", "child", "node", "redis", "postgres", "neo4j")
WEIGHTS = (5, 4, 2, 2, 2, 1)
PAUSE_S = (1.0, 4.0)
RENEWED_S = 1.0
SEEN_S = 30.0
LONGEST_MORE_S = patient(180.0)


class GroveServer(ServerProcess):
    """`grove serve` with the settings of a deployment, without a worker beside it."""

    name = "grove"

    def __init__(self, settings: Settings, home: Path) -> None:
        super().__init__(home)
        self._settings = settings

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        return "this one"

    def _prepare(self) -> None:
        pass

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "labelgrove", "serve", "--port", str(self.port), "--no-worker"]

    def _popen_options(self) -> dict[str, Any]:
        return {"cwd": ROOT, "env": environment(self._settings)}

    def _probe(self) -> None:
        with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
            assert answer.status == 200


class Storm:
    """Kills processes one after the other, and starts them again as a supervisor does."""

    def __init__(
        self,
        deployment: ProductDeployment,
        server: GroveServer,
        servers: dict[str, ServerProcess],
        rng: random.Random,
    ) -> None:
        self._deployment, self._server, self._servers, self._rng = deployment, server, servers, rng
        self._starter = ThreadPoolExecutor(max_workers=4, thread_name_prefix="supervisor")
        self._starting: dict[str, Future[None]] = {}
        self.killed = dict.fromkeys(KINDS, 0)

    def strike(self, what: str) -> None:
        """Let one fault happen; what is being started is spared."""
        if (starting := self._starting.get(what)) is not None and not starting.done():
            return
        match what:
            case "server" | "postgres" | "neo4j" | "redis":
                struck = self._server if what == "server" else self._servers[what]
                self._deployment.note(f"{what} killed")
                struck.kill()
                self._starting[what] = self._starter.submit(_keep_starting, struck, self._rng.uniform(0, 1))
            case "child":
                able = [one for node in self._deployment.ready_nodes() for one in node.able_children()]
                if not able:
                    return
                child = self._rng.choice(able)
                self._deployment.note("child killed", process=child)
                os.kill(child, signal.SIGKILL)
            case "node":
                if not (ready := self._deployment.ready_nodes()):
                    return
                node = self._rng.choice(ready)
                self._deployment.note("node killed", process=node.pid)
                node.kill()
                self._deployment.restart(node)
        self.killed[what] += 1

    def end(self) -> None:
        """Wait until everything is back."""
        self._starter.shutdown()
        for starting in self._starting.values():
            starting.result()
        self._deployment.settle()
        self._deployment.healed()


def _keep_starting(server: ServerProcess, pause_s: float) -> None:
    """Start a server again; it may end at once as long as one that it needs is away."""
    time.sleep(pause_s)
    for _ in range(60):
        try:
            server.start()
        except ServiceError:
            time.sleep(0.5)
        else:
            return
    raise ServiceError(f"{server.name} does not start again; see {server.log_path}")


def renew(workspace: Workspace, digests: list[str], version: str, ending: threading.Event) -> int:
    """Give the name of the bundle to another one every second; return how often."""
    n = 0
    for digest in itertools.cycle(digests):
        with contextlib.suppress(GroveError):  # PostgreSQL is away
            workspace.name_bundle("zoo", "tree", sha256=digest, version=version)
            n += 1
        if ending.wait(RENEWED_S):
            return n
    raise AssertionError("a cycle ends")


def jobs_to_ask(keys: list[str]) -> Iterator[dict[str, Any]]:
    """Yield different jobs without end: loci of pairs, and selections."""
    for i in itertools.count():
        few = keys[10 + 7 * i : 10 + 7 * i + 48]
        for metric, n in (("graph", 6), ("tree", 40)):
            asked = {"ontology": "zoo", "metric": metric, "method": "pairs", "observed": few[:n]}
            yield {"kind": "locus", "parameters": asked}
        asked = {"ontology": "zoo", "metric": "tree", "observed": few[:3], "n": 5}
        yield {"kind": "selection", "parameters": asked}


@pytest.fixture
def mortal_postgres():
    with PostgresServer() as server:
        yield server


@pytest.mark.parametrize(
    ("seconds", "seed"),
    [(30, 161), pytest.param(600, 162, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
)
def test_clients_outlive_every_process(
    tmp_path: Path, mortal_postgres: PostgresServer, mortal_neo4j: Neo4jServer, seconds: int, seed: int
):
    rng = random.Random(seed)
    graph = numbered_graph(0, N_LABELS)
    deployment = ProductDeployment(
        tmp_path / "home",
        seed=seed,
        database_url=mortal_postgres.create_database(),
        graph_url=mortal_neo4j.url,
        nodes=2,
        slots=1,
        conditions=Conditions(lease_s=4.0, max_attempts=50, unit_s=0.2),
    )
    with deployment, contextlib.ExitStack() as stack:
        workspace = deployment.workspace
        register(workspace, "zoo", graph)
        keys = list(graph.keys)
        answers, digests = {}, []
        outputs = np.random.default_rng(seed).dirichlet(np.full(N_OBSERVED, 0.1), N_ROWS)
        for first in (5, 900):
            observed = keys[first : first + N_OBSERVED]
            job = deployment.ask(
                "bundle",
                {"ontology": "zoo", "observed": observed, "metric": "tree"},
                {"ontology": "zoo", "bundle": "tree"},
            )
            client.wait(workspace, job.id)
            adapter = Adapter.load("zoo/tree", artifacts_url=deployment.settings.artifacts_url)
            digests.append(adapter.digest)
            answers[adapter.digest] = adapter.predict_indices(outputs)
        token = Tokens(workspace.engine).create("storm", ("read", "score", "work"))
        server = stack.enter_context(GroveServer(deployment.settings, tmp_path / "server"))
        servers = {"postgres": mortal_postgres, "neo4j": mortal_neo4j, "redis": deployment.broker}
        storm = Storm(deployment, server, servers, rng)
        ending = threading.Event()
        with ThreadPoolExecutor(1) as renewing:
            renewed = renewing.submit(renew, workspace, digests, graph.digest, ending)
            clients = Clients(server.port, token, outputs=outputs, answers=answers, ask=jobs_to_ask(keys))
            with clients:
                until = time.monotonic() + seconds
                try:
                    for what in itertools.chain(rng.sample(KINDS, len(KINDS)), _further(rng)):
                        time.sleep(rng.uniform(*PAUSE_S))
                        late_s = time.monotonic() - until
                        if late_s > 0 and (_much(clients.told, seconds) or late_s > LONGEST_MORE_S):
                            break
                        storm.strike(what)
                    clients.stop_submitting()
                finally:
                    storm.end()
                told = clients.told
                for asked in told.accepted.values():
                    deployment.jobs.append(
                        plan_request(workspace, kind_named(asked["kind"]), asked["parameters"])
                    )
                assert {job.id for job in deployment.jobs} >= {*told.accepted}
                deployment.drain()
                newest = [*told.accepted][-10:]
                wait_until(
                    lambda: all(
                        told.seen[i].get(job, [""])[0] == "done" for i in range(20) for job in newest
                    ),
                    deadline_s=SEEN_S,
                    what="every watcher to see that the newest jobs are done",
                )
                assert clients.dead == 0
            ending.set()
        result = deployment.finish()
    assert told.wrong == []
    assert _much(told, seconds)
    assert "Traceback" not in server.log_path.read_text()
    killed = ", ".join(f"{n} {name}" for name, n in storm.killed.items())
    note = (
        f"{told.scored[200]:,} scores right, {told.broken:,} connections broke, "
        f"slowest {told.slowest_s:.1f} s; "
        f"{len(told.accepted)} jobs accepted; {renewed.result()} renewals; {told.events:,} events; "
        f"killed: {killed}"
    )
    keep("F16", f"{seconds} s, 16 scoring clients, 20 watchers", {**dataclasses.asdict(result), "note": note})


def _much(told: Told, seconds: int) -> bool:
    """Return whether clients got what a storm of this length has to let through.

    On a slow machine the storm goes on until they have, if that comes soon.
    """
    return told.scored[200] > 10 * seconds and len(told.accepted) > seconds / 10


def _further(rng: random.Random) -> Iterator[str]:
    while True:
        yield rng.choices(KINDS, WEIGHTS)[0]
