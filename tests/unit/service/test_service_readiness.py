"""Readiness: what is missing is told in time, while parts hang, fail and come back."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import anyio.to_thread
import pytest

from labelgrove.ontology.errors import MigrationError, ServiceError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.kept import readiness
from labelgrove.service.kept.readiness import Readiness
from labelgrove.service.limits import Limits
from tests.services import patient, wait_until
from tests.unit.service.service_cases import client_of


class _Store:
    """An artifact store that does what a test wants of it."""

    def __init__(self) -> None:
        self.asked, self.error = 0, None
        self.going = threading.Event()
        self.going.set()

    def exists(self, digest: str) -> bool:
        self.asked += 1
        assert self.going.wait(60)
        if self.error is not None:
            raise self.error
        return False


@pytest.fixture
def store() -> _Store:
    return _Store()


def _readiness(monkeypatch: pytest.MonkeyPatch, store: Any, *, within_s: float = 0.2, kept_s: float = 60.0):
    catalog = SimpleNamespace(currents=lambda: [])
    monkeypatch.setattr(readiness, "check_schema", lambda _: None)
    workspace = cast("Workspace", SimpleNamespace(artifacts=store, engine=None, catalog=catalog))
    return Readiness(workspace, within_s=within_s, kept_s=kept_s)


def test_a_part_that_hangs_is_missing_in_time_and_keeps_one_thread(monkeypatch, store):
    store.going.clear()
    one = _readiness(monkeypatch, store)

    async def asked() -> None:
        before = threading.active_count()
        began = time.monotonic()
        assert await asyncio.gather(*(one.missing() for _ in range(50))) == [["artifacts"]] * 50
        for _ in range(20):
            assert await one.missing() == ["artifacts"]
        assert time.monotonic() - began < patient(5)
        assert store.asked == 1
        assert threading.active_count() <= before + 1
        store.going.set()
        for _ in range(1_000):
            if not await one.missing():
                break
            await asyncio.sleep(0.01)
        assert await one.missing() == []

    asyncio.run(asked())


def test_many_probes_look_once(monkeypatch, store):
    one = _readiness(monkeypatch, store, within_s=30)

    async def asked() -> list[list[str]]:
        return [await one.missing() for _ in range(100)]

    assert asyncio.run(asked()) == [[]] * 100
    assert store.asked == 1


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (ServiceError("away"), "artifacts"),
        (OSError("away"), "artifacts"),
        (ValueError("a fault"), "artifacts"),
        (MigrationError("newer"), "schema"),
    ],
)
def test_each_failure_names_what_is_missing_and_ends_with_its_cause(monkeypatch, store, error, missing):
    one = _readiness(monkeypatch, store, within_s=30, kept_s=0.0)
    store.error = error

    async def asked() -> None:
        assert await one.missing() == [missing]
        store.error = None
        await asyncio.sleep(0.01)
        assert await one.missing() == []

    asyncio.run(asked())


def test_a_draining_process_says_so_without_a_look(monkeypatch, store):
    one = _readiness(monkeypatch, store)
    one.drain()
    assert asyncio.run(one.missing()) == ["draining"]
    assert store.asked == 0


def test_both_probes_answer_without_a_limit_of_requests(filled):
    with client_of(filled, Limits(requests_per_second=1)) as client:
        assert {client.get("/healthz").status_code for _ in range(20)} == {200}
        assert {client.get("/readyz").text for _ in range(20)} == {'{"status":"ok","missing":[]}'}
        assert any(client.get("/about").status_code == 429 for _ in range(20))


def test_liveness_answers_while_every_thread_of_requests_waits(filled):
    with client_of(filled) as client:
        going = threading.Event()
        limiter = client.portal.call(anyio.to_thread.current_default_thread_limiter)
        waiting = [
            client.portal.start_task_soon(anyio.to_thread.run_sync, going.wait, 60)
            for _ in range(int(limiter.total_tokens))
        ]
        try:
            wait_until(lambda: limiter.available_tokens == 0, deadline_s=30, what="threads that wait")
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").json() == {"status": "ok", "missing": []}
        finally:
            going.set()
        assert all(one.result(60) for one in waiting)


def test_a_database_that_is_not_there_is_told_without_its_url(tmp_path):
    url = "postgresql+psycopg://grove:made-up@127.0.0.1:1/grove"
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home"), "GROVE_DATABASE_URL": url})
    with Workspace(settings) as workspace:
        assert asyncio.run(Readiness(workspace, within_s=30).missing()) == ["database"]
