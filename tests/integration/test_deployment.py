"""The whole main job on servers, by the commands a user types: Neo4j, PostgreSQL, Redis and a worker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.compose import SERVICES, words
from tests.services import wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]

WORKER = SERVICES["worker"]
START = words("worker", "entrypoint") + words("worker", "command")
EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


@pytest.fixture
def deployment(tmp_path: Path, neo4j_clean_url: str, postgres_url: str, redis_url: str) -> dict[str, str]:
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where grove is
        "GROVE_HOME": str(tmp_path / "home"),
        "GROVE_GRAPH_URL": neo4j_clean_url,
        "GROVE_DATABASE_URL": postgres_url,
        "GROVE_BROKER_URL": redis_url,
        "GROVE_ARTIFACTS_URL": str(tmp_path / "artifacts"),
    }


def grove(environment: dict[str, str], *arguments: str, cwd: Path, code: int = 0) -> str:
    """Run one command in a process of its own and return what it printed."""
    command = [sys.executable, "-m", "labelgrove", *arguments]
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def worker(deployment: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The worker of docker-compose.yml: its command and environment, on an empty database."""
    given = {name: str(value) for name, value in WORKER["environment"].items() if "$" not in str(value)}
    environment = given | deployment | {"GROVE_METRICS_PORT": "0", "GROVE_METRICS_ADDRESS": "127.0.0.1"}
    with (
        (tmp_path / "worker.log").open("wb") as log,
        subprocess.Popen(
            START, env=environment, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        wait_until(
            lambda: b" ready." in (tmp_path / "worker.log").read_bytes() or process.poll() is not None,
            deadline_s=90,
            what="the worker",
        )
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0, (tmp_path / "worker.log").read_text()


def test_ingest_build_score_and_query_on_servers(deployment, worker, tmp_path):
    (tmp_path / "garden.csv").write_text(EDGES)
    (tmp_path / "p.csv").write_text("moss,oak,elm\n0.0,0.5,0.5\n0.9,0.05,0.05\n")
    (tmp_path / "truth.txt").write_text("tree\nmoss\n")

    def call(*arguments: str) -> str:
        return grove(deployment, *arguments, cwd=tmp_path)

    parts = {p["part"]: p for p in json.loads(call("doctor", "--json"))["parts"]}
    assert "neo4j" in parts["graph"]["detail"].lower()
    assert parts["database"]["detail"].startswith("postgresql")
    assert all(p["ok"] is not False for p in parts.values())
    health_check = WORKER["healthcheck"]["test"]
    assert health_check[0] == "CMD"
    assert subprocess.run(health_check[1:], env=deployment, capture_output=True, check=False).returncode == 0

    digest = json.loads(call("ingest", "garden", "garden.csv", "--json"))["digest"]
    built = json.loads(call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss", "--json"))
    assert built["state"] == "done"
    rows = json.loads(call("score", "garden/all", "p.csv", "--json"))
    assert [row["key"] for row in rows] == ["tree", "moss"]
    measured = json.loads(call("evaluate", "garden/all", "p.csv", "truth.txt", "--json"))
    assert measured["rules"]["frechet_mean"]["all"]["mean_squared_distance"] == 0
    statement = "MATCH (l:Label {version: $version}) WHERE l.leaf RETURN l.key AS key ORDER BY l.idx"
    found = json.loads(call("cypher", statement, "--ontology", "garden", "--json"))
    assert found["rows"] == [["moss"], ["elm"], ["oak"]]
    assert json.loads(call("graph", "verify", "--json"))[0]["digest"] == digest
    assert json.loads(call("jobs", "list", "--json"))[0]["result_sha256"] == built["sha256"]
    log = (tmp_path / "worker.log").read_text()
    assert re.search(r"metrics at http://127\.0\.0\.1:\d+/metrics", log)
    ends = [line for line in map(json.loads, re.findall(r"^\{.*", log, re.M)) if "outcome" in line]
    assert [(end["kind"], end["outcome"]) for end in ends if built["job"] in end["jobs"]] == [
        ("bundle", "done")
    ]
    secret = deployment["GROVE_GRAPH_URL"].split("@")[0].split(":")[-1]
    assert secret not in log


@pytest.mark.slow
def test_the_same_commands_give_the_same_bundle_without_servers(deployment, worker, tmp_path):
    (tmp_path / "garden.csv").write_text(EDGES)
    kept = ("GROVE_HOME",)
    alone = {k: v for k, v in deployment.items() if not k.startswith("GROVE_") or k in kept}
    results = []
    for environment in (deployment, alone):
        grove(environment, "ingest", "garden", "garden.csv", cwd=tmp_path)
        arguments = ("bundle", "build", "garden", "all", "--observed", "oak,elm,moss", "--json")
        results.append(json.loads(grove(environment, *arguments, cwd=tmp_path)))
    assert results[0]["sha256"] == results[1]["sha256"]
    assert results[0]["job"] == results[1]["job"]
