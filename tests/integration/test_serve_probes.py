"""The probes of a running server: a real PostgreSQL that hangs, returns and dies, and SIGTERM."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.conftest import serving
from tests.integration.serving_process import Serving
from tests.services import PostgresServer, patient, wait_until

pytestmark = pytest.mark.long

READY = (200, {"status": "ok", "missing": []})
NO_DATABASE = (503, {"status": "unavailable", "missing": ["database"]})


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with serving(PostgresServer()) as server:
        yield server


def asked(url: str, path: str) -> tuple[int, dict[str, object]]:
    """Return status and document of a probe, which must answer within five seconds."""
    asking = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    with contextlib.closing(asking):
        asking.request("GET", path)
        answer = asking.getresponse()
        return answer.status, json.load(answer)


def _processes(database: PostgresServer) -> list[psutil.Process]:
    """Return the processes of a server, the parent first: each connection's is in a group of its own."""
    parent = psutil.Process(database.pid)
    return [parent, *parent.children(recursive=True)]


def test_a_database_that_hangs_or_dies_is_told_and_nothing_is_restarted(database, tmp_path):
    url = database.create_database()
    engine = create_engine(url)
    upgrade(engine)
    engine.dispose()
    with Serving(tmp_path / "home", "--no-worker", GROVE_DATABASE_URL=url) as serving:
        assert asked(serving.url, "/readyz") == READY
        stopped = _processes(database)
        for one in stopped:
            one.suspend()
        try:
            wait_until(lambda: asked(serving.url, "/readyz") == NO_DATABASE, deadline_s=20, what="a 503")
            for _ in range(45):  # more than there are threads for requests
                began = time.monotonic()
                assert asked(serving.url, "/readyz") == NO_DATABASE
                assert time.monotonic() - began < patient(4)
                assert asked(serving.url, "/healthz") == (200, {"status": "ok"})
        finally:
            for one in stopped:
                one.resume()
        wait_until(lambda: asked(serving.url, "/readyz") == READY, deadline_s=60, what="the database again")
        database.kill()
        wait_until(lambda: asked(serving.url, "/readyz") == NO_DATABASE, deadline_s=20, what="a 503")
        assert asked(serving.url, "/healthz") == (200, {"status": "ok"})
        database.start()
        wait_until(lambda: asked(serving.url, "/readyz") == READY, deadline_s=60, what="the database again")
        assert serving.process.poll() is None
        assert "Traceback" not in serving.said
        assert url not in serving.said


def test_a_server_that_ends_says_so_at_once_and_lets_running_requests_end(tmp_path: Path):
    home = tmp_path / "home"
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        register(workspace, "old", LabelGraph.from_edges([("oak", "tree")]))
    with Serving(home, "--no-worker") as serving:
        serving.sign_in()

        def told() -> None:
            serving.process.send_signal(signal.SIGTERM)

            def draining() -> bool:
                return asked(serving.url, "/readyz") == (
                    503,
                    {"status": "unavailable", "missing": ["draining"]},
                )

            began = time.monotonic()
            wait_until(draining, deadline_s=5, what="draining")
            assert time.monotonic() - began < patient(2)
            assert asked(serving.url, "/healthz")[0] == 200

        serving.upload("new", "id;parent\noak;tree\ntree;\n", half_way=told)  # it is accepted: 202
        began = time.monotonic()
        assert serving.process.wait(patient(30)) == 0
        assert time.monotonic() - began < patient(5)
    assert "Traceback" not in serving.said
