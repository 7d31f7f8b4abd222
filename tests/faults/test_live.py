"""Everything at once: kill -9 of children, nodes, Redis and Neo4j while jobs of the product run."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.ingest import register
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.requests.request import complete_request
from tests.faults.deployment import Node
from tests.faults.ingest_kill import numbered_graph
from tests.faults.measured import keep
from tests.faults.product_deployment import ProductDeployment
from tests.faults.trial_kind import Conditions
from tests.services import Neo4jServer, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

NAME = "garden"
COLUMNS_A_UNIT = 16
KINDS = ("child", "node", "redis", "neo4j")
WEIGHTS = (8, 3, 3, 1)
EVENLY = ["child", "node", "redis", "child", "neo4j", "child"]


def ask_for_everything(deployment: ProductDeployment, graph: LabelGraph, units: int) -> None:
    """Ask for distances in so many units, for a locus and for a summary."""
    keys = list(graph.keys)
    wanted = [
        (
            "distances",
            {"metric": "graph", "block": COLUMNS_A_UNIT},
            {"columns": keys[: units * COLUMNS_A_UNIT]},
        ),
        ("locus", {"metric": "graph", "method": "pairs"}, {"observed": keys[5:5000:700]}),
        ("summary", {"target": 500}, {}),
    ]
    for kind, options, lists in wanted:
        deployment.ask(
            kind,
            complete_request(deployment.workspace, kind_named(kind), {"ontology": NAME, **options, **lists}),
        )


class Storm:
    """Kills what it is told to, and starts servers and nodes again.

    Attributes
    ----------
    down_s : float
        Seconds from the last kill until everything was back.
    """

    def __init__(self, deployment: ProductDeployment, neo4j: Neo4jServer, rng: random.Random) -> None:
        self._deployment, self._neo4j, self._rng = deployment, neo4j, rng
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="neo4j")
        self._starting: Future[None] | None = None
        self.down_s = 0.0

    def strike(self, what: str) -> None:
        """Let one fault happen; Neo4j, which takes long to start, is spared while it does."""
        match what:
            case "child":
                children = [
                    child for node in self._deployment.ready_nodes() for child in node.able_children()
                ]
                if children:
                    child = self._rng.choice(children)
                    self._deployment.note("child killed", process=child)
                    os.kill(child, signal.SIGKILL)
            case "node":
                node = self._a_node()
                self._deployment.note("node killed", process=node.pid)
                node.kill()
                self._deployment.restart(node)
            case "redis":
                self._deployment.note("Redis killed")
                self._deployment.broker.kill()
                time.sleep(self._rng.uniform(0.0, 0.5))
                self._deployment.broker.start()
            case "neo4j":
                if self._starting is None or self._starting.done():
                    self._deployment.note("Neo4j killed")
                    self._neo4j.kill()
                    self._starting = self._starter.submit(self._neo4j.start)

    def end(self) -> None:
        """Wait until everything is back."""
        self._starter.shutdown()
        if self._starting is not None:
            self._starting.result()
        self._deployment.settle()
        self.down_s = self._deployment.healed()

    def _a_node(self) -> Node:
        wait_until(lambda: bool(self._deployment.ready_nodes()), deadline_s=60, what="a node to kill")
        return self._rng.choice(self._deployment.ready_nodes())


def chosen(deployment: ProductDeployment, rng: random.Random, *, full: bool) -> Iterator[str]:
    """Yield what to kill next: each thing at least once, in the full form on and on until all is done."""
    first = rng.sample(EVENLY, len(EVENLY))
    yield from first
    while full and not all(deployment.ledger.job(job.id).finished for job in deployment.jobs):
        yield rng.choices(KINDS, WEIGHTS)[0]


@pytest.mark.parametrize(
    ("units", "labels", "pause_s", "seed"),
    [
        (40, 6_000, (0.2, 1.0), 151),
        pytest.param(200, 20_000, (1.0, 4.0), 152, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_jobs_outlive_everything(
    tmp_path: Path,
    postgres_url: str,
    mortal_neo4j: Neo4jServer,
    units: int,
    labels: int,
    pause_s: tuple[float, float],
    seed: int,
):
    rng = random.Random(seed)
    graph = numbered_graph(0, labels)
    with ProductDeployment(
        tmp_path,
        seed=seed,
        database_url=postgres_url,
        graph_url=mortal_neo4j.url,
        nodes=2,
        slots=2,
        conditions=Conditions(lease_s=4.0, max_attempts=50, unit_s=0.2),
    ) as deployment:
        register(deployment.workspace, NAME, graph)
        ask_for_everything(deployment, graph, units)
        storm = Storm(deployment, mortal_neo4j, rng)
        try:
            for what in chosen(deployment, rng, full=units >= 200):
                time.sleep(rng.uniform(*pause_s))
                storm.strike(what)
        finally:
            storm.end()
        result = deployment.finish()
    figures = dataclasses.asdict(result)
    note = f"{result.faults} kills; all done {storm.down_s + result.drain_s:.0f} s after the last"
    keep("live", f"{units} units, {labels} labels", {**figures, "note": note})
