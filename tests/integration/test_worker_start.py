"""How a Celery node begins where something it needs is not there yet, or is taken."""

from __future__ import annotations

import dataclasses
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.running.presence import living
from tests.conftest import serving
from tests.integration.celery_worker import ROOT, CeleryWorker, environment
from tests.integration.workers_support import settings_in
from tests.services import PostgresServer, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of the test's own, which it may stop."""
    with serving(PostgresServer()) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, redis_url: str, server: PostgresServer) -> Settings:
    engine = create_engine(server.url)
    upgrade(engine)
    engine.dispose()
    return settings_in(tmp_path / "home", broker_url=redis_url, database_url=server.url)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_node_waits_for_a_database_that_starts_later(log_format, tmp_path, settings, server):
    settings = dataclasses.replace(settings, log_format=log_format)
    server.stop()
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "labelgrove", "worker", "--concurrency", "1"],
            cwd=ROOT,
            env=environment(settings) | {"REMAP_SIGTERM": "SIGQUIT"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(
            lambda: b"waiting at most 60 s for the database" in log.read_bytes(),
            deadline_s=60,
            what="waiting",
        )
        server.start()
        wait_until(lambda: b" ready." in log.read_bytes(), deadline_s=60, what="the node to be ready")
        with Workspace.open(settings) as workspace:
            wait_until(lambda: bool(living(workspace.engine)), deadline_s=30, what="a living worker")
            (found,) = living(workspace.engine)
            assert (found.name, found.slots) == (f"{socket.gethostname()}/{process.pid}", 1)
            process.terminate()
            assert process.wait(60) == 0
            assert living(workspace.engine) == []
    finally:
        process.kill()
        process.wait(30)
    text = log.read_text()
    assert "Traceback" not in text
    if log_format == "json":
        assert all(line.startswith("{") for line in text.splitlines() if "waiting" in line)


def test_a_node_whose_metrics_port_is_taken_ends_in_one_line(tmp_path, settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = CeleryWorker(dataclasses.replace(settings, metrics_port=port), tmp_path / "log")
        with pytest.raises(RuntimeError, match=r"ended with status [^0]"):
            worker.start()
        worker.kill()
    text = worker.text()
    assert len(re.findall(rf"GROVE_METRICS_PORT: cannot listen at 127\.0\.0\.1:{port} ", text)) == 1
    assert "Traceback" not in text
