"""F7: a bad way to Redis, PostgreSQL and Neo4j: half-open connections, latency, resets, cuts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.workers.ledger.states import State
from tests.faults.ingest_kill import numbered_graph
from tests.faults.measured import keep
from tests.faults.product_app import Patience
from tests.faults.product_deployment import ProductDeployment
from tests.faults.proxy import Proxy
from tests.faults.trial_kind import Conditions
from tests.services import patient, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.services]

RECOVERY_S = 60.0
LATENCY_S = 5.0
RESET_SHARE = 0.01
FAULTS = ("half-open", "latency", "resets", "cut")
UNITS = 10
LABELS = 6_000


def spoil(proxy: Proxy, fault: str, hold_s: float, keep_busy: Callable[[], None]) -> None:
    """Let one fault last for a while; a connection left half-open stays so."""
    match fault:
        case "half-open":
            proxy.half_open()
        case "latency":
            proxy.slow(LATENCY_S)
            time.sleep(hold_s)
        case "resets":
            before, begin = proxy.broken, time.monotonic()
            proxy.reset(RESET_SHARE)
            while time.monotonic() < begin + hold_s or proxy.broken == before:
                keep_busy()
                time.sleep(0.05)
        case "cut":
            proxy.cut()
            time.sleep(hold_s)
    proxy.heal()


# ---- a whole deployment --------------------------------------------------------------------------------


def begun(deployment: ProductDeployment) -> None:
    """Ask for more of the trial's units, and wait until they are being worked on."""
    job = deployment.submit(UNITS)
    wait_until(
        lambda: bool(deployment.ledger.job(job.id).units.get("done")),
        deadline_s=60,
        what="the middle of a job",
    )


def ingest_begun(deployment: ProductDeployment) -> None:
    """Ask for a version and for a result on the one before it, and wait until they are being worked on."""
    graph = numbered_graph(len(deployment.jobs), LABELS)
    snapshot = put_snapshot(deployment.workspace.artifacts, graph, None, None).arrays[0]
    job = deployment.ask(
        "ingest", {"ontology": graph.digest, "snapshot": snapshot, "shares": 4}, {"ontology": "garden"}
    )
    first = deployment.workspace.catalog.version("first")
    deployment.ask(
        "summary",
        {"ontology": first.digest, "snapshot": first.snapshot_sha256, "target": 2 + len(deployment.jobs)},
    )
    wait_until(
        lambda: bool({"done", "running"} & deployment.ledger.job(job.id).units.keys()),
        deadline_s=60,
        what="the middle of an ingest",
    )


@pytest.mark.parametrize(
    ("times", "hold_s", "patience"),
    [
        pytest.param(1, 2.0, Patience(socket_s=2.0, answer_s=3.0), id="one each"),
        pytest.param(
            10, 30.0, Patience(), id="ten each", marks=[pytest.mark.slow, pytest.mark.timeout(7200)]
        ),
    ],
)
@pytest.mark.parametrize(
    ("server", "seed"),
    [("broker_url", 71), ("database_url", 72), pytest.param("graph_url", 73, marks=pytest.mark.slow)],
    ids=lambda value: str(value),
)
def test_a_bad_way_to_a_server_delays_and_loses_nothing(
    tmp_path: Path,
    postgres_url: str,
    request: pytest.FixtureRequest,
    server: str,
    seed: int,
    times: int,
    hold_s: float,
    patience: Patience,
):
    graph = {"graph_url": request.getfixturevalue("mortal_neo4j").url} if server == "graph_url" else {}
    begin = ingest_begun if graph else begun
    recovered = dict.fromkeys(FAULTS, 0.0)
    with ProductDeployment(
        tmp_path,
        seed=seed,
        database_url=postgres_url,
        conditions=Conditions(lease_s=3.0, max_attempts=50),
        spoiled=server,
        patience=patience,
        **graph,
    ) as deployment:
        if graph:
            register(deployment.workspace, "first", numbered_graph(0, 60))

        def keep_busy() -> None:
            if deployment.units(State.PENDING) == 0:
                begin(deployment)

        for _ in range(times):
            for fault in FAULTS:
                begin(deployment)
                deployment.note(fault)
                spoil(deployment.proxy, fault, hold_s, keep_busy)
                deployment.healed()
                seconds = deployment.drain()
                assert seconds <= patient(RECOVERY_S), f"{fault}, seed {seed}: {deployment.history}"
                recovered[fault] = max(recovered[fault], seconds)
        result = deployment.finish()
    seconds_each = ", ".join(f"{fault} {seconds:.1f} s" for fault, seconds in recovered.items())
    note = f"each for {hold_s:g} s; recovered after, at most: {seconds_each}"
    name = {"broker_url": "Redis", "database_url": "PostgreSQL", "graph_url": "Neo4j"}[server]
    keep("F7", f"{name}, {times} of each fault", {**dataclasses.asdict(result), "note": note})
