"""What an operator sees of real workers: log lines, metrics, and refusals that name their fix."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from labelgrove.cli import doctor, grove
from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.celery_transport.broker_check import check_deployment
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.states import State
from tests.conftest import serving
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import GATED, PARTS, notes, registered, settings_in
from tests.services import RedisServer, wait_until

pytestmark = [pytest.mark.services, pytest.mark.long]


@pytest.fixture
def settings(tmp_path: Path, redis_url: str) -> Settings:
    (tmp_path / "home").mkdir()
    return settings_in(tmp_path / "home", broker_url=redis_url)


def scraped(port: int) -> dict[tuple[str, ...], float]:
    """Samples by name and label values."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in families
            for sample in family.samples
        }


def records(log: str) -> list[dict]:
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


def test_logs_and_metrics_of_a_worker_whose_child_is_killed(tmp_path, settings):
    settings = dataclasses.replace(settings, log_format="json", metrics_port=0)
    began = time.time()
    with (
        registered(PARTS, GATED),
        CeleryWorker(settings, tmp_path / "log", slots=2) as worker,
        Workspace.open(settings) as workspace,
    ):
        port = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)/", worker.text())[1])
        gated = client.submit(workspace, "gated", {"folder": str(tmp_path), "name": "x"}, wait=False)
        wait_until(lambda: notes(tmp_path / "started"), deadline_s=30, what="the gated unit")
        os.kill(int(notes(tmp_path / "started")[0]), signal.SIGKILL)
        numbers = list(range(6))
        parts = client.submit(workspace, "parts", {"numbers": numbers, "log": str(tmp_path / "units")})
        wait_until(lambda: len(notes(tmp_path / "started")) == 2, deadline_s=30, what="the second attempt")
        (tmp_path / "go").touch()
        gated = client.wait(workspace, gated.id, timeout_s=30)
        assert {parts.state, gated.state} == {State.DONE}
        ledger = Ledger(workspace.engine)
        units = ledger.unit_records(parts.id, limit=100)
        wait_until(
            lambda: scraped(port).get(("labelgrove_units", "gated", "done")) == 1,
            deadline_s=10,
            what="a fresh reading of the ledger",
        )
        found = scraped(port)
        children = worker.children()
        for child in children:  # the port must not outlive the process that answers
            listening = [
                c.laddr.port for c in psutil.Process(child).net_connections() if c.status == "LISTEN"
            ]
            assert port not in listening
        lines = records(worker.text())
        assert worker.stop() == 0
    expected = {
        ("labelgrove_ledger_up",): 1,
        ("labelgrove_units", "parts", "done"): 7,
        ("labelgrove_jobs", "parts", "done"): 1,
        ("labelgrove_jobs", "gated", "done"): 1,
        ("labelgrove_unit_attempts", "gated"): 2,
        ("labelgrove_unit_attempts", "parts"): sum(unit.fence for unit in units),
        ("labelgrove_artifact_bytes", "parts"): sum(unit.size for unit in units),
        ("labelgrove_unit_seconds_gcount", "parts", "done"): 7,
        ("labelgrove_unit_seconds_bucket", "parts", "+Inf", "done"): 7,
        ("labelgrove_lease_expiries_total",): 1,
        ("labelgrove_messages_out",): 0,
        ("labelgrove_queue_age_seconds",): 0,
    }
    assert {name: found.get(name) for name in expected} == expected
    took = sum(unit.ended_at - unit.claimed_at for unit in units)
    assert found["labelgrove_unit_seconds_gsum", "parts", "done"] == pytest.approx(took)
    assert began < found[("labelgrove_last_sweep_timestamp_seconds",)] <= time.time()
    for job, keys in ((parts, {unit.key for unit in units}), (gated, set(ledger_keys(settings, gated.id)))):
        ends = [line for line in lines if line.get("outcome") == "done" and line["jobs"] == [job.id]]
        assert {line["unit"] for line in ends} == keys
        assert {line["kind"] for line in ends} == {job.kind}
        assert all(line["host"] and line["pid"] != worker_pid(lines) for line in ends)
        assert all(line["seconds"] >= 0 and line["level"] == "INFO" and line["time"] for line in ends)
    assert [line["attempt"] for line in lines if line.get("kind") == "gated" and "outcome" in line] == [2]


def ledger_keys(settings: Settings, job_id: str) -> list[str]:
    with Workspace.open(settings) as workspace:
        return Ledger(workspace.engine).units(job_id)


def worker_pid(lines: list[dict]) -> int:
    """Process id of the main process, which says where the metrics are."""
    return next(line["pid"] for line in lines if line["logger"] == "labelgrove.workers.running.metricsport")


def test_a_unit_out_of_time_is_given_back(tmp_path, settings):
    worker = CeleryWorker(settings, tmp_path / "log", app="tests.integration.hasty_app")
    with registered(GATED), worker, Workspace.open(settings) as workspace:
        job = client.submit(workspace, "gated", {"folder": str(tmp_path), "name": "x"}, wait=False)
        ledger = Ledger(workspace.engine)
        (key,) = ledger.units(job.id)
        wait_until(lambda: ledger.unit(key).error, deadline_s=30, what="the end of the attempt")
        unit = ledger.unit(key)
        assert (unit.state, unit.attempts) == (State.PENDING, 1)
        assert "time limit of a unit (GROVE_UNIT_TIME_LIMIT_S" in unit.error
        assert int(notes(tmp_path / "started")[0]) in worker.children()


def test_metrics_say_when_the_ledger_is_away(tmp_path):
    from labelgrove.workers.running.metrics import Metrics

    settings = dataclasses.replace(
        settings_in(tmp_path, database_url="postgresql://grove:made-up@127.0.0.1:1/grove"), metrics_port=0
    )
    with Metrics(settings) as metrics:
        found = scraped(metrics.port)
        assert found[("labelgrove_ledger_up",)] == 0
        assert not any(name[0] == "labelgrove_units" for name in found)
        with pytest.raises(SettingsError, match="GROVE_METRICS_PORT"):
            Metrics(dataclasses.replace(settings, metrics_port=metrics.port)).start()


# --- refusals and findings ----------------------------------------------------------------------------------


def spelled_openly(url: str) -> str:
    """The same server by a name that is no loopback address to who only reads it."""
    return url.replace("@127.0.0.1:", "@127.1:")


def findings(monkeypatch: pytest.MonkeyPatch, code: int, **env: str) -> dict[str, dict]:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(grove, ["doctor", "--json"])
    assert result.exit_code == code, result.output
    return {part["part"]: part for part in json.loads(result.stdout)["parts"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [("GROVE_LOG_FORMAT", "xml"), ("GROVE_METRICS_PORT", "-1"), ("GROVE_METRICS_PORT", "65536")],
)
def test_settings_of_operations_are_checked(name, value):
    with pytest.raises(SettingsError, match=f"{name}: '{value}' "):
        Settings.from_env({"GROVE_HOME": "/nowhere", name: value})


def test_one_redis_as_broker_and_cache_is_refused(settings):
    with pytest.raises(SettingsError, match="are the same Redis"):
        check_deployment(dataclasses.replace(settings, cache_url=settings.broker_url[:-1] + "1"))


def test_a_cache_that_is_away_stops_no_worker(settings):
    check_deployment(dataclasses.replace(settings, cache_url="redis://127.0.0.1:1/0"))


@pytest.mark.parametrize("part", ["broker", "cache"])
def test_a_redis_open_to_other_hosts_is_refused(part, settings, postgres_url):
    good = dataclasses.replace(settings, database_url=postgres_url)
    with serving(RedisServer()) as server:
        url = spelled_openly(server.url)
        given = dataclasses.replace(good, **{f"{part}_url": url})
        check_deployment(given)
        with server.client() as redis:
            redis.config_set("requirepass", "")
        given = dataclasses.replace(good, **{f"{part}_url": url.replace(f":{server.password}@", "")})
        with pytest.raises(SettingsError, match=rf"{part} .*asks for no password.*requirepass"):
            check_deployment(given)
        check_deployment(dataclasses.replace(given, **{f"{part}_url": server_here(given, part)}))


def server_here(settings: Settings, part: str) -> str:
    return getattr(settings, f"{part}_url").replace("127.1:", "127.0.0.1:")


@pytest.mark.parametrize(("skew", "state", "code"), [(0, True, 0), (5, None, 0), (60, False, 1)])
def test_doctor_compares_clocks(monkeypatch, settings, postgres_url, skew, state, code):
    from labelgrove.ontology.sql.database import create_engine, upgrade

    engine = create_engine(postgres_url)
    upgrade(engine)
    engine.dispose()
    ours = SimpleNamespace(time=lambda: time.time() - skew, perf_counter=time.perf_counter)
    monkeypatch.setattr(doctor, "time", ours)
    with Workspace.open(dataclasses.replace(settings, database_url=postgres_url)) as workspace:
        found = doctor._look("clocks", "", lambda: doctor._clocks(workspace, {"database", "workers"}))
    assert found.ok is state
    assert re.search(rf"database \+?-?{skew}\.\d s, broker \+?-?{skew}\.\d s", found.detail)
    assert ("chronyd" in found.detail) is (skew > 0)


@pytest.mark.parametrize(
    ("free", "total", "state"),
    [(10**12, 10**13, True), (9 * 10**8, 10**13, None), (9 * 10**7, 10**13, False), (10**9, 10**9, True)],
)
def test_doctor_looks_at_disks(monkeypatch, free, total, state):
    usage = SimpleNamespace(free=free, total=total, used=total - free)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    code = 1 if state is False else 0
    found = findings(monkeypatch, code)["disk of GROVE_HOME"]
    assert found["ok"] is state
    assert ("free some space" in found["detail"]) is (state is not True)


def test_doctor_says_whether_the_broker_keeps_messages(settings, tmp_path):
    with serving(RedisServer()) as server:
        given = dataclasses.replace(settings, broker_url=server.url)
        found = doctor._look("workers", "", lambda: doctor._workers(given))
        assert found.ok is None
        assert "appendonly yes" in found.detail
        with server.client() as redis:
            redis.config_set("appendonly", "yes")
        assert doctor._look("workers", "", lambda: doctor._workers(given)).ok is True
