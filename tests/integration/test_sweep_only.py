"""`grove worker --sweep-only` fires schedules and frees lost units, and leaves computing them to workers."""

from __future__ import annotations

import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade, writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import schedule_table, unit_table
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.presence import living
from labelgrove.workers.schedules.schedule import Timetable, add_schedule
from tests.integration.celery_worker import CeleryWorker
from tests.integration.embedded_worker import EmbeddedWorker
from tests.integration.workers_support import GATED, PARTS, notes, registered, settings_in
from tests.services import patient, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]

PATIENT_S = 30


@pytest.fixture(autouse=True)
def _kinds_are_known() -> Iterator[None]:
    with registered(GATED, PARTS):
        yield


def migrated(settings: Settings) -> Settings:
    engine = create_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    return settings


def ask(workspace: Workspace, gate: Path) -> str:
    """Ask for a unit that waits for a file; returns its key."""
    gate.mkdir()
    job = client.submit(workspace, "gated", {"folder": str(gate), "name": "x"}, wait=False)
    (key,) = Ledger(workspace.engine).units(job.id)
    return key


def lose(workspace: Workspace, key: str) -> None:
    """Let the lease of a killed worker end now."""
    with writing(workspace.engine) as connection:
        this = unit_table.c.key == key
        connection.execute(sa.update(unit_table).where(this).values(lease_until=time.time() - 1))


def begun(gate: Path, *, times: int) -> None:
    wait_until(lambda: len(notes(gate / "started")) == times, deadline_s=60, what="the unit to begin")


def test_without_a_broker(tmp_path: Path, postgres_url: str) -> None:
    settings = migrated(settings_in(tmp_path / "home", database_url=postgres_url))
    gate = tmp_path / "gate"
    with Workspace.open(settings) as workspace:
        ledger, timetable = Ledger(workspace.engine), Timetable(workspace.engine)
        with EmbeddedWorker(settings, tmp_path / "killed.log"):
            key = ask(workspace, gate)
            begun(gate, times=1)
        add_schedule(workspace, "often", "* * * * *", "parts", {"numbers": [1]})
        with writing(workspace.engine) as connection:
            connection.execute(sa.update(schedule_table).values(next_at=time.time() - 1))
        lose(workspace, key)
        with EmbeddedWorker(settings, tmp_path / "sweeper.log", "--sweep-only") as sweeper:
            sweeper.wait_for("ready: this process sweeps, and runs no units")
            wait_until(
                lambda: ledger.unit(key).state is State.PENDING,
                deadline_s=PATIENT_S,
                what="the unit to be free",
            )
            wait_until(
                lambda: bool(timetable.firings("often")), deadline_s=PATIENT_S, what="the schedule to fire"
            )
            (firing,) = timetable.firings("often")
            assert [
                worker.slots for worker in living(workspace.engine) if worker.name.endswith(f"/{sweeper.pid}")
            ] == [0]
            began = time.monotonic()
            assert sweeper.stop() == 0
            assert time.monotonic() - began < patient(5)
        assert "Traceback" not in sweeper.text()
        assert sweeper.pid not in {int(worker.name.rpartition("/")[2]) for worker in living(workspace.engine)}
        assert ledger.unit(key).state is State.PENDING
        assert len(notes(gate / "started")) == 1
        assert client.status(workspace, firing.job_id).units == {"pending": 2}
        (gate / "go").touch()
        with EmbeddedWorker(settings, tmp_path / "worker.log"):
            for what in (key, *ledger.units(firing.job_id)):
                wait_until(
                    lambda what=what: ledger.unit(what).state is State.DONE, deadline_s=60, what="every unit"
                )


def test_with_a_broker(tmp_path: Path, postgres_url: str, redis_url: str) -> None:
    """Messages wait in the broker until a worker comes."""
    settings = migrated(settings_in(tmp_path / "home", database_url=postgres_url, broker_url=redis_url))
    gate = tmp_path / "gate"
    with Workspace.open(settings) as workspace:
        ledger = Ledger(workspace.engine)
        with CeleryWorker(settings, tmp_path / "killed.log"):
            key = ask(workspace, gate)
            begun(gate, times=1)
        lose(workspace, key)
        with EmbeddedWorker(settings, tmp_path / "sweeper.log", "--sweep-only") as sweeper:
            wait_until(lambda: _sent(workspace, key) == 1, deadline_s=60, what="the unit to be sent again")
            assert ledger.unit(key).state is State.PENDING
            assert len(notes(gate / "started")) == 1
            (gate / "go").touch()
            with CeleryWorker(settings, tmp_path / "worker.log"):
                wait_until(lambda: ledger.unit(key).state is State.DONE, deadline_s=60, what="the unit")
            assert sweeper.stop() == 0
        assert "Traceback" not in sweeper.text()


def _sent(workspace: Workspace, key: str) -> int:
    with workspace.engine.connect() as connection:
        query = sa.select(unit_table.c.sends).where(
            unit_table.c.key == key, unit_table.c.state == State.PENDING
        )
        return connection.execute(query).scalar_one_or_none() or 0


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    settings = migrated(settings_in(tmp_path / "home"))
    with EmbeddedWorker(settings, tmp_path / "log", "--sweep-only") as sweeper:
        sweeper.wait_for("ready: ")
        assert sweeper.stop(signal.SIGINT) == 130
    assert sweeper.text().rstrip().endswith("go on with: grove worker --sweep-only")


def test_metrics_tell_when_it_swept_last(tmp_path: Path) -> None:
    settings = migrated(settings_in(tmp_path / "home"))
    with EmbeddedWorker(settings, tmp_path / "log", "--sweep-only", "--metrics-port", "0") as sweeper:
        sweeper.wait_for("ready: ")
        (url,) = re.findall(r"metrics at (\S+)", sweeper.text())

        def swept() -> bool:
            with urllib.request.urlopen(url, timeout=10) as answer:
                text = answer.read().decode()
            return float(re.findall(r"^labelgrove_last_sweep_timestamp_seconds (\S+)", text, re.M)[0]) > 0

        wait_until(swept, deadline_s=PATIENT_S, what="a sweep")
        assert sweeper.stop() == 0
    after = sweeper.text().partition("ready: ")[2].splitlines()[1:]
    assert after == []  # a sweep that found nothing says nothing
