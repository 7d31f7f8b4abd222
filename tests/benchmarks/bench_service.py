"""The HTTP service: one client after the other, then 16 at once, on a real server on the loopback address.

    python -m tests.benchmarks.bench_service [--seconds 60]

Times are wall-clock milliseconds from the request to the whole answer, as a client in another process sees
them. First a single client sends each kind of request; then 16 clients send a mix of them for a minute, as
fast as they get answers. Every answer must have status 200. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import http.client
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from tests.benchmarks.graphs import category_graph, describe, noun_graph
from tests.benchmarks.measuring import print_document

SEED = 0
CLIENTS = 16
CALLS = 200
MIX = {"suggest": 25, "window of 60 rows": 25, "label": 20, "map, 1,200 pixels, 12 levels": 20, "search": 10}
"""How many of 100 requests of the load test are of each kind."""

SERVER = """
import sys
import uvicorn
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.service.running import listening
bound = listening("127.0.0.1", 0)
app = make_app(Workspace.open(Settings.from_env({"GROVE_HOME": sys.argv[1]})), Limits(requests_per_second=0))
bound.listen(1024)
print(bound.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[bound])
"""


class Requests:
    """The paths of requests about a graph, drawn at random; each kind has its own."""

    def __init__(self, graph: LabelGraph, seed: int) -> None:
        self._graph, self._random = graph, random.Random(seed)
        self._widest = graph.keys[int(np.bincount(graph.edge_parent, minlength=len(graph)).argmax())]

    def path(self, kind: str) -> str:
        """Return the path of the next request of a kind."""
        label = self._random.randrange(len(self._graph))
        key, name = quote(self._graph.keys[label], safe=""), self._graph.names[label]
        typed = quote(name[: self._random.randint(1, max(1, len(name)))], safe="")
        other = quote(self._graph.keys[self._random.randrange(len(self._graph))], safe="")
        at = self._random.randrange(self._graph.n_edges)
        tails = {
            "suggest": f"suggest?q={typed}",
            "search": f"labels?q={typed}&limit=50&facets=true",
            "label": f"label?key={key}",
            "context": f"context?key={key}",
            "children": f"children?key={key}",
            "children of the widest": f"children?key={quote(self._widest, safe='')}&limit=1000",
            "window of 60 rows": f"window?to={key}&rows=60",
            "window of 60 rows, all opened": f"window?closed=&at={at}&rows=60",
            "path": f"path?from={key}&to={other}",
            "lca": f"lca?from={key}&to={other}",
            "map, 1,200 pixels, 12 levels": "map" if self._random.random() < 0.3 else f"map?focus={key}",
        }
        return f"/v1/ontologies/bench/{tails[kind]}"

    def mixed(self) -> str:
        """Return the kind of the next request of the load test."""
        return self._random.choices(list(MIX), list(MIX.values()))[0]


KINDS = (
    "suggest",
    "search",
    "label",
    "context",
    "children",
    "children of the widest",
    "window of 60 rows",
    "window of 60 rows, all opened",
    "path",
    "lca",
    "map, 1,200 pixels, 12 levels",
)


def ask(connection: http.client.HTTPConnection, path: str) -> tuple[float, int, int]:
    """Return the milliseconds, the status and the size of one answer."""
    begin = time.perf_counter()
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    size = len(answer.read())
    return (time.perf_counter() - begin) * 1_000, answer.status, size


def quantiles(taken: list[float]) -> dict[str, float]:
    """Return median and 99th percentile."""
    return {
        "p50": round(float(np.percentile(taken, 50)), 2),
        "p99": round(float(np.percentile(taken, 99)), 2),
    }


def one_after_the_other(port: int, graph: LabelGraph) -> dict[str, Any]:
    """Send each kind of request from one client."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        requests, connection = Requests(graph, SEED), http.client.HTTPConnection("127.0.0.1", port)
        answers = [ask(connection, requests.path(kind)) for _ in range(CALLS)]
        assert {status for _, status, _ in answers} == {200}, kind
        found[kind] = quantiles([taken for taken, _, _ in answers])
        found[kind]["kb"] = round(max(size for _, _, size in answers) / 1_000, 1)
        connection.close()
    return found


def at_once(port: int, graph: LabelGraph, seconds: float) -> dict[str, Any]:
    """Send a mix of requests from many clients."""
    taken: dict[str, list[float]] = {kind: [] for kind in MIX}
    statuses: list[int] = []
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        requests, connection = Requests(graph, number), http.client.HTTPConnection("127.0.0.1", port)
        while time.perf_counter() < end:
            kind = requests.mixed()
            milliseconds, status, _ = ask(connection, requests.path(kind))
            taken[kind].append(milliseconds)
            statuses.append(status)
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}, sorted(set(statuses))
    everything = [one for times in taken.values() for one in times]
    return {
        "seconds": seconds,
        "requests_per_second": round(len(everything) / seconds),
        "all": quantiles(everything),
        "kinds": {kind: quantiles(times) for kind, times in taken.items()},
    }


def measured(named: Callable[[], tuple[str, LabelGraph]], seconds: float) -> dict[str, Any]:
    """Return everything about one graph."""
    name, graph = named()
    with tempfile.TemporaryDirectory() as folder:
        with Workspace.open(Settings.from_env({"GROVE_HOME": folder})) as workspace:
            register(workspace, "bench", graph)
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, folder], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
        )
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            connection = http.client.HTTPConnection("127.0.0.1", port)
            ask(connection, "/healthz")
            process = psutil.Process(server.pid)
            idle = process.memory_info().rss
            root = quote(graph.keys[0], safe="")
            first, status, _ = ask(connection, f"/v1/ontologies/bench/label?key={root}")
            assert status == 200
            connection.close()
            alone = one_after_the_other(port, graph)
            together = at_once(port, graph, seconds)
            private = process.memory_full_info().uss
        finally:
            server.terminate()
            server.wait()
    return describe(name, graph) | {
        "idle_mb": round(idle / 1e6, 1),
        "cold_open_ms": round(first, 1),
        "private_after_load_mb": round(private / 1e6, 1),
        "one_client_ms": alone,
        "clients": CLIENTS,
        "load": together,
    }


def main() -> None:
    """Measure everything and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the load test")
    options = parser.parse_args()
    graphs = [
        measured(noun_graph, options.seconds),
        measured(lambda: ("category_graph, LSHTC's size", category_graph(seed=SEED)), options.seconds),
    ]
    print_document("service", SEED, graphs=graphs, mix=MIX)


if __name__ == "__main__":
    main()
