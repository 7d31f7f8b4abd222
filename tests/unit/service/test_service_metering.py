"""What is counted of requests whose answer does not come, and which ports the metrics of processes have."""

from __future__ import annotations

import asyncio
import logging
import re
import socket

import pytest
from starlette.testclient import TestClient

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.service.metering import Metered, ServiceMetrics
from tests.unit.service.service_cases import URL, two_free_ports


def settings_at(port: int, **variables: str) -> Settings:
    return Settings.from_env({"GROVE_SERVE_METRICS_PORT": str(port), **variables})


def counted(metrics: ServiceMetrics) -> dict[tuple[str, str, str], float]:
    """How many requests were counted by route, method and status."""
    return {
        (sample.labels["route"], sample.labels["method"], sample.labels["status"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "labelgrove_requests_total"
    }


def in_flight(metrics: ServiceMetrics) -> float | None:
    return metrics.registry.get_sample_value("labelgrove_requests_in_flight")


@pytest.fixture
def metrics():
    return ServiceMetrics(settings_at(0))


@pytest.fixture
def client(tmp_path, metrics):
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})
    app = make_app(Workspace.open(settings), metrics=metrics)
    with TestClient(app, base_url=URL, raise_server_exceptions=False) as client:
        yield client


def test_a_fault_of_a_route_is_counted_as_500(client, metrics):
    client.app.state.shared = None
    assert client.get("/v1/ontologies").status_code == 500
    assert counted(metrics) == {("/v1/ontologies", "GET", "500"): 1}
    assert in_flight(metrics) == 0


def test_a_fault_before_the_route_is_counted_as_500(client, metrics, monkeypatch):
    monkeypatch.setattr(client.app.state.identity, "asks_nothing", lambda _: 1 / 0)
    assert client.get("/v1/ontologies").status_code == 500
    assert counted(metrics) == {("none", "GET", "500"): 1}
    assert in_flight(metrics) == 0


def test_what_is_refused_before_its_route_is_counted(tmp_path, metrics):
    settings = Settings.from_env({"GROVE_HOME": str(tmp_path / "home")})
    app = make_app(Workspace.open(settings), Limits(requests_per_second=1), metrics=metrics)
    with TestClient(app, base_url=URL) as client:
        said = [client.get("/about").status_code for _ in range(20)]
    assert 429 in said
    assert counted(metrics)["none", "GET", "429"] == said.count(429)


def test_a_client_who_left_is_counted_as_499(metrics):
    async def leaving(scope, receive, send):
        """Return without an answer, as the guards do when a client leaves while its body is read."""

    async def nothing(*_):
        raise AssertionError("nothing is received or sent")

    scope = {"type": "http", "method": "POST", "path": "/v1/x"}
    asyncio.run(Metered(leaving, metrics)(scope, nothing, nothing))
    assert counted(metrics) == {("none", "POST", "499"): 1}


def test_without_metrics_nothing_is_between_the_server_and_the_guards(tmp_path):
    settings = settings_at(0, GROVE_HOME=str(tmp_path))
    assert Metered not in [one.cls for one in make_app(Workspace(settings)).user_middleware]
    measured = make_app(Workspace(settings), metrics=ServiceMetrics(settings))
    assert measured.user_middleware[0].cls is Metered
    assert ServiceMetrics.of(Settings.from_env({"GROVE_HOME": str(tmp_path)})) is None


def test_each_process_takes_the_first_free_port(caplog):
    caplog.set_level(logging.INFO)
    first = two_free_ports()
    settings = settings_at(first)
    processes = [ServiceMetrics(settings, processes=2) for _ in range(3)]
    processes[0].check()
    with processes[0], processes[1]:
        assert [one.port for one in processes] == [first, first + 1, None]
        with pytest.raises(SettingsError, match=rf"GROVE_SERVE_METRICS_PORT: .* 127\.0\.0\.1:{first} "):
            processes[2].check()
        with processes[2]:  # it goes on without metrics
            assert processes[2].port is None
        (wrong,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
        text = wrong.getMessage()
        assert re.match("this process has no metrics: GROVE_SERVE_METRICS_PORT: cannot listen", text)
        assert "\n" not in text
    with processes[2]:
        assert processes[2].port == first


def test_one_port_that_is_taken_is_refused_before_processes_begin():
    first = two_free_ports()
    with (
        socket.create_server(("127.0.0.1", first + 1)),
        pytest.raises(SettingsError, match=f":{first + 1} "),
    ):
        ServiceMetrics(settings_at(first), processes=2).check()


def test_ports_above_the_last_one_are_refused():
    with pytest.raises(SettingsError, match=r"GROVE_SERVE_METRICS_PORT: .*:65536 "):
        ServiceMetrics(settings_at(65535), processes=3).check()


def test_an_address_of_another_host_is_refused():
    with pytest.raises(SettingsError, match=r"cannot listen at 192\.0\.2\.1:0 .*GROVE_METRICS_ADDRESS"):
        ServiceMetrics(settings_at(0, GROVE_METRICS_ADDRESS="192.0.2.1")).check()
