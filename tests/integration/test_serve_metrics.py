"""Metrics of a running server, as Prometheus reads them."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import urllib.request

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.serving_process import Serving
from tests.services import wait_until
from tests.unit.service.scoring_cases import N_OBSERVED, fill_with_bundles
from tests.unit.service.service_cases import two_free_ports

pytestmark = pytest.mark.long

Samples = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    home = tmp_path_factory.mktemp("metrics") / "home"
    fill_with_bundles(home)
    with Serving(home, "--no-worker", GROVE_SERVE_METRICS_PORT="0") as server:
        yield server


def scraped(serving: Serving) -> Samples:
    """Samples by name and label values, sorted by the names of the labels."""
    (port,) = re.findall(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", serving.said)[-1:]
    return scraped_at(port)


def scraped_at(port: int | str) -> Samples:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(answer.read().decode())
            for sample in family.samples
        }


def ask(serving: Serving, method: str, path: str, body: object = None) -> int:
    """Send a request on a connection of its own and return the status, once the answer was read."""
    asking = http.client.HTTPConnection(serving.url.removeprefix("http://"), timeout=60)
    try:
        content = None if body is None else json.dumps(body)
        asking.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        answer = asking.getresponse()
        answer.read()
        return answer.status
    finally:
        asking.close()


def requests(found: Samples) -> Samples:
    return {name[1:]: n for name, n in found.items() if name[0] == "labelgrove_requests_total"}


def test_requests_are_counted_by_route_method_and_status(serving):
    before = scraped(serving)
    asked = [
        ("GET", "/v1/ontologies/zoo/label?key=k1", 200),
        ("GET", "/v1/ontologies/zoo/label?key=k2", 200),
        ("GET", "/v1/ontologies/zoo/label?key=nothing", 404),
        ("HEAD", "/v1/ontologies/zoo/label?key=k1", 200),
        ("GET", "/nowhere/1", 404),
        ("GET", "/nowhere/2", 404),
        ("GET", "/static/any/words.js", 200),
        ("POST", "/v1/jobs", 401),
        ("BREW", "/v1/ontologies", 405),
    ]
    for method, path, status in asked:
        assert ask(serving, method, path, {} if method == "POST" else None) == status
    found = scraped(serving)
    more = {key: n - requests(before).get(key, 0) for key, n in requests(found).items()}
    more = {key: n for key, n in more.items() if n and "/readyz" not in key}
    label = "/v1/ontologies/{ontology}/label"
    assert more == {
        ("GET", label, "200"): 2,
        ("GET", label, "404"): 1,
        ("HEAD", label, "200"): 1,
        ("GET", "none", "404"): 2,
        ("GET", "/static/", "200"): 1,
        ("POST", "/v1/jobs", "401"): 1,
        ("other", "/v1/ontologies", "405"): 1,
    }
    assert found["labelgrove_request_seconds_count", label] == 4
    assert 0 < found["labelgrove_request_seconds_sum", label] < 60
    buckets = {
        name[2]: n for name, n in found.items() if name[:2] == ("labelgrove_request_seconds_bucket", "+Inf")
    }
    assert buckets[label] == 4
    assert found[("labelgrove_requests_in_flight",)] == 0
    assert [name for name in found if name[0] == "labelgrove_build_info"]
    assert found[("process_resident_memory_bytes",)] > 1e6


def test_scored_rows_are_counted(serving):
    before = scraped(serving)[("labelgrove_scored_rows_total",)]
    row = [1.0 / N_OBSERVED] * N_OBSERVED
    assert ask(serving, "POST", "/v1/bundles/zoo/tree/score", {"rows": [row] * 5}) == 200
    tensor = {"name": "probabilities", "shape": [3, N_OBSERVED], "datatype": "FP64", "data": [row] * 3}
    assert ask(serving, "POST", "/v2/models/zoo~tree/infer", {"inputs": [tensor]}) == 200
    assert ask(serving, "POST", "/v1/bundles/zoo/tree/score", {"rows": [[1.0]]}) == 400
    found = scraped(serving)
    assert found[("labelgrove_scored_rows_total",)] - before == 8
    assert found[("labelgrove_score_places_taken",)] == 0
    assert found[("labelgrove_score_places",)] > 16


def test_watchers_connections_and_places_are_those_of_the_moment(serving):
    host, port = serving.url.removeprefix("http://").split(":")
    wait_until(
        lambda: scraped(serving)[("labelgrove_connections",)] == 0, deadline_s=30, what="no connection"
    )
    assert scraped(serving)[("labelgrove_watchers",)] == 0
    streaming = http.client.HTTPConnection(host, int(port), timeout=60)
    streaming.request("GET", "/v1/events")
    assert streaming.getresponse().readline()
    with socket.create_connection((host, int(port))) as scoring:
        head = "POST /v1/bundles/zoo/tree/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
        scoring.sendall(head.encode())  # its place is taken before its body is here
        wait_until(
            lambda: scraped(serving)[("labelgrove_score_places_taken",)] == 1, deadline_s=30, what="a place"
        )
        found = scraped(serving)
        assert found[("labelgrove_watchers",)] == 1
        assert found[("labelgrove_connections",)] == 2
        assert found[("labelgrove_requests_in_flight",)] == 2
    streaming.close()
    wait_until(
        lambda: scraped(serving)[("labelgrove_connections",)] == 0, deadline_s=30, what="no connection"
    )
    wait_until(lambda: scraped(serving)[("labelgrove_watchers",)] == 0, deadline_s=30, what="no watcher")
    found = scraped(serving)
    assert found[("labelgrove_score_places_taken",)] == found[("labelgrove_requests_in_flight",)] == 0
    assert not any(
        name[-1] == "/v1/events" for name in found if name[0] == "labelgrove_request_seconds_count"
    )
    assert found[("labelgrove_watchers_limit",)] == 200


def test_clients_cannot_make_series_of_their_own(serving):
    ask(serving, "GET", "/nowhere")
    ask(serving, "GET", "/v1/ontologies/zoo")
    ask(serving, "GET", "/v1/ontologies/none")
    ask(serving, "BREW", "/")
    before = {*scraped(serving)}
    for i in range(30):
        ask(serving, "GET", f"/nowhere/{i}")
        ask(serving, "GET", f"/v1/ontologies/none{i}")
        ask(serving, f"BREW{i}", "/")
    assert {*scraped(serving)} == before


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_that_is_taken_ends_in_one_line(tmp_path, workers):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serving = Serving(tmp_path / "home", f"--workers={workers}", GROVE_SERVE_METRICS_PORT=str(port))
        with pytest.raises(AssertionError):
            serving.begin()
        assert serving.process.wait(timeout=60) == 2
        serving.process.communicate()
    wanted = rf"error: GROVE_SERVE_METRICS_PORT: cannot listen at 127\.0\.0\.1:{port} .*\n"
    assert re.fullmatch(wanted, serving.said), serving.said


def test_each_process_has_a_port_of_its_own_and_a_new_one_takes_that_of_the_dead(tmp_path):
    first = two_free_ports()
    options = ("--no-worker", "--workers=2")
    with Serving(tmp_path / "home", *options, GROVE_SERVE_METRICS_PORT=str(first)) as serving:

        def ports() -> list[int]:
            return [int(port) for port in re.findall(r"metrics at http://127\.0\.0\.1:(\d+)/", serving.said)]

        wait_until(lambda: len(ports()) == 2, deadline_s=60, what="the metrics of two processes")
        assert sorted(ports()) == [first, first + 1]
        (killed,) = [
            process
            for process in psutil.Process(serving.process.pid).children()
            if first in [one.laddr.port for one in process.net_connections() if one.status == "LISTEN"]
        ]
        killed.kill()
        wait_until(lambda: len(ports()) == 3, deadline_s=60, what="the metrics of a new process")
        assert ports()[-1] == first
        for port in (first, first + 1):
            assert scraped_at(port)[("labelgrove_connections_limit",)] > 0
        assert serving.end(signal.SIGTERM) == 0
