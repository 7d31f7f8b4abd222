"""F12: Neo4j killed -9 in the middle of an import or of showing a result, while a reader watches."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from labelgrove.ontology.errors import ConflictError, ServiceError
from labelgrove.ontology.graph import open_graph
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from tests.faults.ingest_kill import numbered_graph
from tests.faults.measured import keep
from tests.faults.product_deployment import ProductDeployment
from tests.faults.trial_kind import Conditions
from tests.services import Neo4jServer, patient, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

NAME = "garden"
GIVE_UP_S = 600.0
SHARES = 4
LATEST = 0.8  # of an import: later a kill may miss it


class Reader(threading.Thread):
    """Asks what the name answers with and how large that is, all the time; keeps what was wrong."""

    def __init__(self, settings: Settings, versions: Mapping[str, tuple[int, int]]) -> None:
        super().__init__(name="reader")
        self._graph = open_graph(settings)
        self._versions, self._order = versions, list(versions)
        self._stopped = threading.Event()
        self.reads = 0
        self.problems: list[str] = []

    def run(self) -> None:
        """Read until stopped; a server that is away says nothing, which is no wrong answer."""
        newest = 0
        pause_s = 0.0
        while not self._stopped.wait(pause_s):
            began = time.monotonic()
            try:
                current = self._graph.current(NAME)
                held = None if current is None else self._graph.counts(current)
            except ServiceError:
                continue
            finally:  # to count a large version keeps the server busy for seconds
                pause_s = max(0.02, 2 * (time.monotonic() - began))
            self.reads += 1
            if current not in self._versions or held != self._versions[current]:
                self.problems.append(f"read {self.reads}: {current} is current with {held}")
            elif self._order.index(current) < newest:
                self.problems.append(f"read {self.reads}: went back to {current}")
            else:
                newest = self._order.index(current)

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self.join()
        self._graph.close()


@contextmanager
def watched(settings: Settings, graphs: list[LabelGraph]) -> Iterator[Reader]:
    """Let a reader watch while versions follow another in this order."""
    reader = Reader(settings, {graph.digest: (graph.n_labels, graph.n_edges) for graph in graphs})
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()


def kill_and_start(deployment: ProductDeployment, server: Neo4jServer, where: str) -> None:
    """Kill the server, and start it again on what it had written."""
    deployment.note("Neo4j killed", where=where)
    server.kill()
    server.start()
    deployment.healed()


def kill_during_import(
    deployment: ProductDeployment, server: Neo4jServer, graph: LabelGraph, shares: list[float]
) -> None:
    """Kill the server whenever the graph holds one of these shares of a version."""
    total = graph.n_labels + graph.n_edges
    for share in shares:
        wait_until(
            lambda share=share: sum(deployment.workspace.graph.counts(graph.digest)) > share * total,
            deadline_s=GIVE_UP_S,
            what=f"{share:.0%} of the version",
            interval_s=total / 600_000,  # about as long as it takes to count them
        )
        assert deployment.workspace.catalog.current(NAME) != graph.digest
        kill_and_start(deployment, server, f"import at {share:.0%}")


def import_by_job(
    deployment: ProductDeployment, server: Neo4jServer, graph: LabelGraph, shares: list[float]
) -> None:
    snapshot = put_snapshot(deployment.workspace.artifacts, graph, None, None).arrays[0]
    wanted = {"ontology": graph.digest, "snapshot": snapshot, "shares": SHARES}
    job = deployment.ask("ingest", wanted, {"ontology": NAME})
    kill_during_import(deployment, server, graph, shares)
    wait_until(
        lambda: deployment.done(job) and deployment.workspace.graph.current(NAME) == graph.digest,
        deadline_s=GIVE_UP_S,
        what="the import",
    )


@contextmanager
def importing_at_once(deployment: ProductDeployment, graph: LabelGraph) -> Iterator[None]:
    """Ingest as `grove ingest` does, again where it gave up: it goes on where it stood."""
    failures: list[BaseException] = []

    def ingest() -> None:
        deadline = time.monotonic() + patient(GIVE_UP_S)
        while True:
            try:
                with Workspace.open(deployment.settings) as workspace:
                    register(workspace, NAME, graph)
            except (ServiceError, ConflictError) as error:  # the name may still be a worker's, for a moment
                if time.monotonic() > deadline:
                    failures.append(error)
                    return
                time.sleep(0.5)
            except BaseException as error:
                failures.append(error)
                return
            else:
                return

    thread = threading.Thread(target=ingest, name="ingest")
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert failures == []


def show_a_summary(deployment: ProductDeployment, server: Neo4jServer, graph: LabelGraph) -> None:
    """Kill the server when a part of a result is in the graph; the result is whole afterwards."""
    version = deployment.workspace.catalog.version(NAME)
    target = graph.n_labels // 10
    wanted = {"ontology": version.digest, "snapshot": version.snapshot_sha256, "target": target}
    job = deployment.ask("summary", wanted)
    ask = deployment.workspace.graph.run_user
    begun = "MATCH (s:Summary) WHERE NOT (:Job)-[:PRODUCED]->(s) RETURN count(s)"
    look = deployment.workspace.graph.engine.read  # at once, where a user's query takes a process of its own
    wait_until(
        lambda: look(begun, {}).rows[0][0] == 1, deadline_s=60, what="a part of a result", interval_s=0.01
    )
    kill_and_start(deployment, server, "showing a result")
    # A large one takes its time to be written.
    assert deployment.drain(deadline_s=GIVE_UP_S) < patient(GIVE_UP_S)
    members = "MATCH (s:Summary {id: $id})-[:HAS]->(n:Supernode)-[:CONTAINS]->(l:Label) "
    members += "RETURN count(DISTINCT n), count(l), count(DISTINCT l)"
    found = ask(members, {"id": deployment.ledger.job(job.id).result_sha256}).rows
    assert found == [(target, graph.n_labels, graph.n_labels)]


@pytest.mark.parametrize(
    ("labels", "imports", "kills", "seed"),
    [
        (5_000, 1, 1, 121),
        pytest.param(20_000, 1, 1, 121, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
        pytest.param(325_000, 4, 5, 122, marks=[pytest.mark.slow, pytest.mark.timeout(7200)]),
    ],
)
def test_a_killed_graph_is_whole_again(
    tmp_path: Path,
    postgres_url: str,
    mortal_neo4j: Neo4jServer,
    labels: int,
    imports: int,
    kills: int,
    seed: int,
):
    rng = random.Random(seed)
    graphs = [numbered_graph(0, 100), *(numbered_graph(i, labels) for i in range(1, imports + 2))]
    with ProductDeployment(
        tmp_path,
        seed=seed,
        database_url=postgres_url,
        graph_url=mortal_neo4j.url,
        conditions=Conditions(lease_s=5.0, max_attempts=50, unit_s=0.0, time_limit_s=GIVE_UP_S),
    ) as deployment:
        register(deployment.workspace, NAME, graphs[0])
        with watched(deployment.settings, graphs) as reader:
            for i, graph in enumerate(graphs[1:-1]):
                shares = sorted(rng.uniform(0.02, LATEST) for _ in range(kills))
                if i % 2 == 0:
                    import_by_job(deployment, mortal_neo4j, graph, shares)
                else:
                    with importing_at_once(deployment, graph):
                        kill_during_import(deployment, mortal_neo4j, graph, shares)
                check(deployment, graph)
            with importing_at_once(deployment, graphs[-1]):
                show_a_summary(deployment, mortal_neo4j, graphs[-2])
            check(deployment, graphs[-1])
        assert not reader.problems
        assert reader.reads > len(graphs)
        result = deployment.finish(deadline_s=GIVE_UP_S)
    note = f"{labels} labels, {reader.reads} reads; the last kill also while a result was shown"
    keep("F12", f"{imports * kills + 1} kills", {**dataclasses.asdict(result), "note": note})


def check(deployment: ProductDeployment, graph: LabelGraph) -> None:
    """Compare what the graph holds with a clean import."""
    assert deployment.workspace.graph.counts(graph.digest) == (graph.n_labels, graph.n_edges)
    assert deployment.workspace.graph.current(NAME) == graph.digest
