"""The HTTP service: one client after the other, then 16 at once, on a real server on the loopback address.

    python -m tests.benchmarks.bench_service [--largest] [--seconds 60]

Times are wall-clock milliseconds from the request to the whole answer, as a client in another process sees
them. First a single client sends each kind of request; then 16 clients send a mix of them for a minute, as
fast as they get answers. On the larger graph, both are measured again while somebody uploads a hierarchy of
the same size and the worker beside the service ingests it. Every answer must have status 200. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import numpy as np
import psutil

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import ReadResult, read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.sessions import Sessions
from labelgrove.workers.client import build_bundle_job
from labelgrove.workers.ledger.states import State
from tests.benchmarks.graphs import category_graph, describe, noun_graph
from tests.benchmarks.measuring import print_document
from tests.benchmarks.taxonomies import NCBI_LABELS, write_taxdump

SEED = 0
CLIENTS = 16
CALLS = 200
SCORE = "score 64 x 1,000, binary"
SCORES = {SCORE: 64, "score 1,024 x 1,000, binary": 1_024, "score 1,024 x 1,000, JSON": 1_024}
"""Kinds of requests for scores, with their rows."""

MIX = {"suggest": 25, "window of 60 rows": 25, "label": 20, "map, 1,200 pixels, 12 levels": 20, SCORE: 10}
"""How many of 100 requests of the load test are of each kind."""

CLASSES = 1_000
"""Observed labels of the bundle that explains rows, and numbers in each row."""

LIVE_LOCUS = "live locus, 10 picks and map"
MOST_CLASSES = 1_000
"""Observed labels of a request for the live locus, at most."""

AT_A_TIME = 32
"""Requests of each kind that a single client sends between two looks at the ingest."""

SERVER = """
import sys
import uvicorn
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from labelgrove.service.limits import Limits
from labelgrove.service.running import configured, listening
bound = listening("127.0.0.1", 0)
app = make_app(Workspace.open(Settings.from_env({"GROVE_HOME": sys.argv[1]})), Limits(requests_per_second=0))
print(bound.getsockname()[1], flush=True)
uvicorn.Server(configured(lambda: app)).run(sockets=[bound])
"""


Sent = tuple[str, str, bytes | None, dict[str, str]]
"""Method, path, body and headers of a request."""

JSON = {"Content-Type": "application/json"}


@functools.cache
def _scores(kind: str) -> Sent:
    """Return a request for scores of rows of probabilities."""
    rows = np.random.default_rng(SEED).dirichlet(np.full(CLASSES, 0.05), SCORES[kind]).astype("<f4")
    if kind.endswith("JSON"):
        body = json.dumps({"rows": rows.tolist()}).encode()
        return "POST", "/v1/bundles/bench/model/score", body, JSON
    tensor = {"name": "probabilities", "datatype": "FP32", "shape": [*rows.shape]}
    tensor |= {"parameters": {"binary_data_size": rows.nbytes}}
    head = json.dumps({"inputs": [tensor], "outputs": [{"name": "index"}]}).encode()
    length = {"Inference-Header-Content-Length": str(len(head))}
    return "POST", "/v2/models/bench~model/infer", head + rows.tobytes(), length


class Requests:
    """The paths of requests about a graph, drawn at random; each kind has its own."""

    def __init__(self, graph: LabelGraph, seed: int) -> None:
        self._graph, self._random = graph, random.Random(seed)
        self._widest = graph.keys[int(np.bincount(graph.edge_parent, minlength=len(graph)).argmax())]

    def sent(self, kind: str) -> Sent:
        """Return the next request of a kind."""
        if kind in SCORES:
            return _scores(kind)
        if kind != LIVE_LOCUS:
            return "GET", self.path(kind), None, {}
        n_classes = min(MOST_CLASSES, len(self._graph) // 2)
        classes = self._random.sample(range(len(self._graph)), self._random.randint(1, n_classes))
        asked = {"observed": [self._graph.keys[i] for i in classes], "metric": "tree"}
        return "POST", self.path(kind), json.dumps(asked).encode(), JSON

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
            LIVE_LOCUS: "reach?width=1200",
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
    LIVE_LOCUS,
    *SCORES,
)


def ask(connection: http.client.HTTPConnection, sent: Sent) -> tuple[float, int, int]:
    """Return the milliseconds, the status and the size of one answer."""
    method, path, body, headers = sent
    begin = time.perf_counter()
    connection.request(method, path, body, {"Accept-Encoding": "gzip"} | headers)
    answer = connection.getresponse()
    size = len(answer.read())
    return (time.perf_counter() - begin) * 1_000, answer.status, size


def quantiles(taken: list[float]) -> dict[str, float]:
    """Return median and 99th percentile."""
    return {
        "p50": round(float(np.percentile(taken, 50)), 2),
        "p99": round(float(np.percentile(taken, 99)), 2),
    }


def one_after_the_other(port: int, graph: LabelGraph, calls: int = CALLS) -> dict[str, Any]:
    """Send each kind of request from one client."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        requests, connection = Requests(graph, SEED), http.client.HTTPConnection("127.0.0.1", port)
        ask(connection, requests.sent(kind))  # the first one loads what all others use
        answers = [ask(connection, requests.sent(kind)) for _ in range(calls)]
        assert {status for _, status, _ in answers} == {200}, kind
        found[kind] = {
            "all_ms": [taken for taken, _, _ in answers],
            "kb": round(max(size for _, _, size in answers) / 1_000, 1),
        }
        connection.close()
    return found


def what_if(port: int, graph: LabelGraph, calls: int = CALLS) -> dict[str, Any]:
    """Ask what a bundle of a tree answers to a row in JSON: why, and as heat on the map."""
    rng, found = np.random.default_rng(SEED), {}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for kind, path in (("explain", "explain"), ("heat, 1,200 pixels, 12 levels", "heat")):
        taken, size = [], 0
        for _ in range(calls):
            row = rng.dirichlet(np.full(CLASSES, 0.05)).tolist()
            body = json.dumps({"rows": [row]})
            sent = ("POST", f"/v1/bundles/bench/model/{path}", body.encode(), JSON)
            milliseconds, status, one = ask(connection, sent)
            assert status == 200
            taken.append(milliseconds)
            size = max(size, one)
        found[kind] = quantiles(taken[10:]) | {"kb": round(size / 1_000, 1)}  # the first ones open the bundle
    connection.close()
    return found


def at_once(port: int, graph: LabelGraph, going: Callable[[], bool]) -> dict[str, Any]:
    """Send a mix of requests from many clients."""
    taken: dict[str, list[float]] = {kind: [] for kind in MIX}
    statuses: list[int] = []

    def client(number: int) -> None:
        requests, connection = Requests(graph, number), http.client.HTTPConnection("127.0.0.1", port)
        while going():
            kind = requests.mixed()
            milliseconds, status, _ = ask(connection, requests.sent(kind))
            taken[kind].append(milliseconds)
            statuses.append(status)
        connection.close()

    begin = time.perf_counter()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    assert set(statuses) == {200}, sorted(set(statuses))
    everything = [one for times in taken.values() for one in times]
    return {
        "seconds": round(seconds, 1),
        "requests_per_second": round(len(everything) / seconds),
        "all": quantiles(everything),
        "kinds": {kind: quantiles(times) for kind, times in taken.items()},
    }


def for_seconds(seconds: float) -> Callable[[], bool]:
    """Return a function that tells whether the time is not over."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() < end


class Ingest:
    """An upload of a hierarchy of the graph's size, which a worker beside the service ingests."""

    def __init__(self, port: int, home: Path, graph: LabelGraph, seed: int) -> None:
        self._done = threading.Event()
        other = category_graph(graph.n_labels, graph.n_edges, seed=seed)
        ends = zip(other.edge_child.tolist(), other.edge_parent.tolist(), strict=True)
        table = "child,parent\n" + "".join(f"{other.keys[c]},{other.keys[p]}\n" for c, p in ends)
        self._thread = threading.Thread(target=self._run, args=(port, home, table.encode(), f"other{seed}"))
        self.job: dict[str, Any] = {}

    def __enter__(self) -> Callable[[], bool]:
        """Begin, and return a function that tells whether the ingest is going on."""
        self._thread.start()
        return lambda: not self._done.is_set()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        assert self.job.get("state") == "done", self.job

    def _run(self, port: int, home: Path, table: bytes, name: str) -> None:
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as client:
                client.get("/enter", params={"code": Sessions(home).new_link_code()})
                files = {"file": ("other.csv", table)}
                sent = client.post(f"/v1/ontologies/{name}/ingest", files=files).raise_for_status()
                while self.job.get("state") not in ("done", "failed"):
                    time.sleep(0.25)
                    self.job = client.get(sent.json()["location"]).raise_for_status().json()
        finally:
            self._done.set()


@contextlib.contextmanager
def worker_beside(home: Path) -> Iterator[None]:
    """Run a worker for the jobs of a home, as `grove serve` does."""
    environment = os.environ | {"GROVE_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-m", "labelgrove.service.processes.child"], stdin=subprocess.PIPE, env=environment
    ) as worker:
        try:
            yield
        finally:
            worker.terminate()


def while_ingesting(port: int, home: Path, graph: LabelGraph) -> dict[str, Any]:
    """Measure one client, and many, each while an ingest goes on."""
    with worker_beside(home):
        with Ingest(port, home, graph, seed=1) as going:
            taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
            while going():
                for kind, answered in one_after_the_other(port, graph, AT_A_TIME).items():
                    taken[kind] += answered["all_ms"]
            alone = {kind: quantiles(times) for kind, times in taken.items()}
        with Ingest(port, home, graph, seed=2) as going:
            together = at_once(port, graph, going)
    return {"one_client_ms": alone, "load": together}


@contextlib.contextmanager
def serving(
    folder: str, held: ReadResult | LabelGraph, *, bundle: bool = True
) -> Iterator[tuple[int, psutil.Process]]:
    """Serve a hierarchy, called ``bench``, from a process of its own; yield its port and the process.

    With `bundle`, a job has built the bundle ``bench/model``, which observes some leaves.
    """
    with Workspace.open(Settings.from_env({"GROVE_HOME": folder})) as workspace:
        register(workspace, "bench", held)
        if bundle:
            graph = workspace.label_graph("bench")
            leaves = np.flatnonzero(graph.leaf_mask)
            chosen = np.random.default_rng(SEED).choice(leaves, CLASSES, replace=False)
            keys = graph.keys.take(np.sort(chosen))
            job = build_bundle_job(workspace, "bench", "model", keys, metric="tree")
            assert job.state is State.DONE, job.error
    command = [sys.executable, "-c", SERVER, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline()), psutil.Process(server.pid)
        finally:
            server.terminate()


def measured(
    title: str, held: ReadResult | LabelGraph, seconds: float, *, ingesting: bool = False
) -> dict[str, Any]:
    """Return everything about one hierarchy."""
    graph = held if isinstance(held, LabelGraph) else held.graph
    assert graph is not None
    with tempfile.TemporaryDirectory() as folder, serving(folder, held) as (port, process):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        ask(connection, ("GET", "/healthz", None, {}))
        idle = process.memory_info().rss
        root = quote(graph.keys[0], safe="")
        first, status, _ = ask(connection, ("GET", f"/v1/ontologies/bench/label?key={root}", None, {}))
        assert status == 200
        connection.close()
        alone = {
            kind: quantiles(found["all_ms"]) | {"kb": found["kb"]}
            for kind, found in one_after_the_other(port, graph).items()
        }
        asked = what_if(port, graph)
        together = at_once(port, graph, for_seconds(seconds))
        busy = while_ingesting(port, Path(folder), graph) if ingesting else None
        private = process.memory_full_info().uss
    return describe(title, graph) | {
        "idle_mb": round(idle / 1e6, 1),
        "cold_open_ms": round(first, 1),
        "private_after_load_mb": round(private / 1e6, 1),
        "one_client_ms": alone,
        "what_if_ms": asked,
        "load": together,
        "while_ingesting": busy,
    }


def largest(seconds: float) -> dict[str, Any]:
    """Measure a generated taxonomy of the size of NCBI's."""
    with tempfile.TemporaryDirectory() as folder:
        write_taxdump(Path(folder), NCBI_LABELS, SEED)
        found = read(folder)
    return measured("taxonomy dump, NCBI's size", found, seconds)


def main() -> None:
    """Measure everything and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the load test")
    parser.add_argument("--largest", action="store_true", help="measure the largest hierarchy instead")
    options = parser.parse_args()
    if options.largest:
        graphs = [largest(options.seconds)]
    else:
        large = "category_graph, LSHTC's size", category_graph(seed=SEED)
        graphs = [measured(*noun_graph(), options.seconds)]
        graphs.append(measured(*large, options.seconds, ingesting=True))
    print_document("service", SEED, graphs=graphs, mix=MIX, clients=CLIENTS)


if __name__ == "__main__":
    main()
