"""Server, worker, broker and database killed while a page and a raw client watch a job.

Both recover by themselves, and neither is ever told of a state that the ledger did not have.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.conftest import unavailable
from tests.faults.deployment import Deployment
from tests.faults.invariants import read_trail
from tests.faults.trial_kind import Conditions
from tests.integration.serving_process import Serving
from tests.services import PostgresServer, wait_until
from tests.services.process import free_port

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.browser]

UNITS = 60
KILLS = ("server", "worker", "broker", "database", "server")
RECOVERY_S = 30.0


class Client:
    """A raw client that connects again with the last id whenever its stream ends, as browsers do."""

    def __init__(self, port: int, job: str) -> None:
        self._port, self._path = port, f"/v1/jobs/{job}/events"
        self._last, self._stop = "", threading.Event()
        self.told: list[tuple[float, dict[str, Any]]] = []
        self.repeated = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._read()

    def _read(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", self._path, headers={"Last-Event-ID": self._last})
            answer = connection.getresponse()
            if answer.status != 200:
                return
            while not self._stop.is_set() and (line := answer.readline().decode()):
                name, _, value = line.strip().partition(": ")
                if name == "id":
                    self.repeated += value == self._last
                    self._last = value
                if name == "data":
                    (job,) = json.loads(value)
                    self.told.append((time.time(), job))


@pytest.fixture
def page() -> Iterator[Page]:
    program = shutil.which("chromium")
    if program is None:
        unavailable("chromium is not installed (apt-get install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


def shown(page: Page) -> tuple[str, int]:
    """Return the state and the number of done units on a page."""
    text = page.locator("main p").first.inner_text()
    found = re.match(r"(\w+).*?([\d,]+) of", text, re.S)
    assert found, text
    return found[1], int(found[2].replace(",", ""))


def test_who_watches_recovers_by_itself_and_sees_only_what_was(tmp_path: Path, page: Page) -> None:
    port = free_port()
    with (
        PostgresServer() as database,
        Deployment(
            tmp_path / "home",
            seed=7,
            database_url=database.create_database(),
            conditions=Conditions(unit_s=0.8),
            appendonly=True,
        ) as deployment,
        contextlib.ExitStack() as stack,
    ):
        settings = deployment.settings
        variables = {
            "GROVE_DATABASE_URL": str(settings.database_url),
            "GROVE_BROKER_URL": str(settings.broker_url),
            "GROVE_GRAPH_URL": str(settings.graph_url),
            "GROVE_ARTIFACTS_URL": str(settings.artifacts_url),
        }

        def serve() -> Serving:
            return stack.enter_context(
                Serving(deployment.home, "--no-worker", "--port", str(port), **variables)
            )

        serving = serve()
        job = deployment.submit(UNITS)
        client = stack.enter_context(Client(port, job.id))
        page.goto(f"http://127.0.0.1:{port}/jobs/{job.id}")
        page.evaluate("window.kept = true")
        seen: list[tuple[float, str, int]] = []

        def look() -> int:
            state, done = shown(page)
            seen.append((time.time(), state, done))
            return done

        def goes_on(before: int) -> bool:
            return look() > before and client.told[-1][1]["units"].get("done", 0) > before

        for what in KILLS:
            before = look()
            wait_until(lambda n=before: goes_on(n), deadline_s=RECOVERY_S, what=f"progress before {what}")
            deployment.note(f"{what} killed")
            match what:
                case "server":
                    serving.kill()
                    serving = serve()
                case "worker":
                    (node,) = deployment.nodes
                    node.kill()
                    deployment.restart(node)
                case "broker":
                    deployment.broker.kill()
                    deployment.broker.start()
                case "database":
                    database.kill()
                    database.start()
            deployment.settle()
            before = deployment.ledger.job(job.id).units.get("done", 0)
            if before < UNITS:
                wait_until(lambda n=before: goes_on(n), deadline_s=RECOVERY_S, what=f"progress after {what}")
        wait_until(lambda: deployment.done(job), deadline_s=90, what="the job", interval_s=0.2)
        wait_until(lambda: look() == UNITS + 1, deadline_s=RECOVERY_S, what="the end on the page")
        wait_until(
            lambda: client.told[-1][1]["state"] == "done", deadline_s=RECOVERY_S, what="the end at the client"
        )
        assert page.evaluate("window.kept")  # it was never loaded again
        assert client.repeated == 0

        commits = [move.at for move in read_trail(deployment.workspace.engine) if move.commits]
        told = [(at, one["state"], one["units"].get("done", 0)) for at, one in client.told]
        for watched in (seen, told):
            numbers = [done for _, _, done in watched]
            assert numbers == sorted(numbers)
            for at, state, done in watched:
                assert done <= sum(commit <= at for commit in commits)
                assert state in ("pending", "running", "done")
                assert (state == "done") == (done == UNITS + 1) or state == "running"
                assert (state == "pending") <= (done == 0)
        assert all(sum(one["units"].values()) == UNITS + 1 for _, one in client.told)
