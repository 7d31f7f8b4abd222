"""`grove worker` without a broker outlives restarts of its database, and gives its units back at its end."""

from __future__ import annotations

import dataclasses
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.ontology.errors import MigrationError, ServiceError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade, writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import schedule_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.presence import living
from labelgrove.workers.schedules.schedule import Timetable, add_schedule
from tests.conftest import serving
from tests.integration.embedded_worker import EmbeddedWorker
from tests.integration.workers_support import GATED, PARTS, SLEEPING, notes, registered, settings_in
from tests.services import PostgresServer, patient, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]

PATIENT_S = 30


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of the test's own, which it may stop."""
    with serving(PostgresServer()) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, postgres_url: str) -> Settings:
    return migrated(settings_in(tmp_path / "home", database_url=postgres_url))


def migrated(settings: Settings) -> Settings:
    engine = create_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    return settings


@pytest.fixture(autouse=True)
def _kinds_are_known() -> Iterator[None]:
    with registered(GATED, PARTS, SLEEPING):
        yield


def ask(workspace: Workspace, kind: str, folder: Path) -> str:
    """Ask for a unit that waits for a file; returns its key."""
    folder.mkdir(exist_ok=True)
    job = client.submit(workspace, kind, {"folder": str(folder), "name": "x"}, wait=False)
    (key,) = Ledger(workspace.engine).units(job.id)
    return key


def started(folder: Path, times: int = 1) -> None:
    began = folder / "started"
    wait_until(lambda: len(notes(began)) == times, deadline_s=PATIENT_S, what="the unit to start")


def make_due(workspace: Workspace, name: str) -> None:
    """Let a schedule be due now, and not at the next full minute."""
    with writing(workspace.engine) as connection:
        this = schedule_table.c.name == name
        connection.execute(sa.update(schedule_table).where(this).values(next_at=time.time() - 1))


def test_a_restart_of_the_database_ends_neither_worker_nor_unit_and_schedules_fire(tmp_path, server):
    settings = migrated(settings_in(tmp_path / "home", database_url=server.url))
    gate = tmp_path / "gate"
    with EmbeddedWorker(settings, tmp_path / "log") as worker:
        with Workspace.open(settings) as workspace:
            key = ask(workspace, "gated", gate)
            add_schedule(workspace, "often", "* * * * *", "parts", {"numbers": [1]})
            started(gate)
        server.stop()
        worker.wait_for("the sweep failed, and is tried again soon: database")
        server.start()
        worker.wait_for("the sweep works again")
        (gate / "go").touch()
        with Workspace.open(settings) as workspace:
            ledger, timetable = Ledger(workspace.engine), Timetable(workspace.engine)
            wait_until(lambda: ledger.unit(key).state is State.DONE, deadline_s=PATIENT_S, what="the unit")
            assert ledger.unit(key).attempts == 1
            make_due(workspace, "often")
            wait_until(
                lambda: bool(timetable.firings("often")), deadline_s=PATIENT_S, what="the schedule to fire"
            )
        assert worker.running
        assert worker.stop() == 0
    assert "Traceback" not in worker.text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["gated", "sleeping"])
def test_units_are_given_back_at_once_by_who_is_told_to_end(kind, number, tmp_path, settings):
    gate = tmp_path / "gate"
    with Workspace.open(settings) as workspace:
        ledger = Ledger(workspace.engine)
        with EmbeddedWorker(settings, tmp_path / "log") as worker:
            key = ask(workspace, kind, gate)
            started(gate)
            lease_until = ledger.unit(key).lease_until
            status = worker.stop(number)
            assert (status == 0) is (number == signal.SIGTERM)
            unit = ledger.unit(key)
            assert (unit.state, unit.attempts, unit.fence) == (State.PENDING, 0, 1)
            assert "told to stop" in unit.error
            assert living(workspace.engine) == []
        assert "Traceback" not in worker.text()
        with EmbeddedWorker(settings, tmp_path / "second.log"):
            started(gate, times=2)
            assert ledger.unit(key).claimed_at < lease_until
            (gate / "go").touch()
            wait_until(lambda: ledger.unit(key).state is State.DONE, deadline_s=PATIENT_S, what="the unit")
        assert (ledger.unit(key).attempts, ledger.unit(key).fence) == (1, 2)


def test_who_is_told_to_end_without_a_database_ends_all_the_same(tmp_path, server):
    settings = migrated(settings_in(tmp_path / "home", database_url=server.url))
    with EmbeddedWorker(settings, tmp_path / "log") as worker:
        with Workspace.open(settings) as workspace:
            ask(workspace, "gated", tmp_path / "gate")
            started(tmp_path / "gate")
        server.stop()
        worker.wait_for("the sweep failed, and is tried again soon")
        assert worker.stop() == 0
    assert "is free again when its lease ends" in worker.text()
    assert "Traceback" not in worker.text()


def test_a_worker_counts_as_alive_while_it_lives(tmp_path, settings):
    with Workspace.open(settings) as workspace:
        assert living(workspace.engine) == []
        with EmbeddedWorker(settings, tmp_path / "log", "--concurrency", "3") as worker:
            worker.wait_for("ready: ")
            wait_until(lambda: bool(living(workspace.engine)), deadline_s=PATIENT_S, what="a living worker")
            (found,) = living(workspace.engine)
            assert (found.name, found.slots) == (f"{socket.gethostname()}/{worker.pid}", 3)
            assert worker.stop() == 0
        assert living(workspace.engine) == []


# ---- starting ------------------------------------------------------------------------------------------


def test_a_worker_waits_for_a_database_that_starts_later(tmp_path, server):
    settings = migrated(settings_in(tmp_path / "home", database_url=server.url))
    server.stop()
    with EmbeddedWorker(settings, tmp_path / "log") as worker:
        worker.wait_for("waiting at most 60 s for the database")
        server.start()
        worker.wait_for("ready: units run in this process")
        assert worker.stop() == 0


def test_a_worker_does_not_wait_for_ever_nor_for_what_waiting_does_not_mend(tmp_path, monkeypatch, server):
    from labelgrove.workers.running import process

    waiting_s = patient(1.5)
    monkeypatch.setattr(process, "_DATABASE_S", waiting_s)
    away = settings_in(tmp_path / "home", database_url="postgresql://grove:made-up@127.0.0.1:1/grove")
    began = time.monotonic()
    with pytest.raises(ServiceError, match="check that it runs"):
        process.await_database(away)
    assert waiting_s <= time.monotonic() - began < 10 * waiting_s
    began = time.monotonic()
    with pytest.raises(MigrationError, match="grove db upgrade"):
        process.await_database(dataclasses.replace(away, database_url=server.url))
    assert time.monotonic() - began < waiting_s


def test_a_second_worker_on_a_port_that_is_taken_ends_in_one_line(tmp_path, settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with EmbeddedWorker(settings, tmp_path / "log", "--metrics-port", str(port)) as worker:
            assert worker.wait() == 2
    assert re.fullmatch(r"error: GROVE_METRICS_PORT: cannot listen at 127\.0\.0\.1:\d+ .*\n", worker.text())
