"""The same questions to the service and to one that a user would write: FastAPI, dictionaries and numpy.

    python -m tests.benchmarks.bench_plain_service

Both answer on the loopback address, one after the other, over the noun hierarchy of WordNet and a model of
1,000 classes. Times are wall-clock milliseconds from the request to the whole answer, of one client, and of
16 that send a mix at once. The answers to rows of probabilities are compared first. Prints one JSON document.
"""

from __future__ import annotations

import contextlib
import http.client
import json
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

import numpy as np
import psutil
from numpy.typing import NDArray

from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.client import build_bundle_job
from tests.benchmarks.bench_service import CALLS, CLIENTS, JSON, SEED, Sent, for_seconds, quantiles, serving
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import print_document

N_CLASSES = 1_000
ROWS = {"score of 1 row": 1, "score of 64 rows": 64, "score of 1,024 rows": 1_024}
CALLS_OF = {"score of 64 rows": CALLS // 4, "score of 1,024 rows": CALLS // 20}
"""Requests of the kinds that take longest; of the others, one client sends `CALLS`."""

SECONDS = 20.0
MIX = {"suggest": 40, "label": 30, "children": 20, "score of 1 row": 10}


class Plain:
    """Requests to the service that a user would write."""

    def __init__(self, outputs: NDArray[np.float64]) -> None:
        self._outputs = outputs

    def read(self, kind: str, text: str) -> Sent:
        name = {"suggest": "q", "label": "key", "children": "key"}[kind]
        return "GET", f"/{kind}?{name}={quote(text, safe='')}", None, {}

    def score(self, rows: slice) -> Sent:
        return "POST", "/score", json.dumps({"rows": self._outputs[rows].tolist()}).encode(), JSON


class Ours(Plain):
    """The same requests to this service; scores are asked for in JSON."""

    def read(self, kind: str, text: str) -> Sent:
        method, path, body, headers = super().read(kind, text)
        return method, f"/v1/ontologies/bench{path}", body, headers

    def score(self, rows: slice) -> Sent:
        method, _, body, headers = super().score(rows)
        return method, "/v1/bundles/bench/model/score", body, headers


class Binary(Ours):
    """As `Ours`, with scores as a tensor of the Open Inference Protocol."""

    def score(self, rows: slice) -> Sent:
        values = self._outputs[rows].astype("<f4")
        tensor = {
            "name": "probabilities",
            "datatype": "FP32",
            "shape": list(values.shape),
            "parameters": {"binary_data_size": values.nbytes},
        }
        head = json.dumps({"inputs": [tensor], "outputs": [{"name": "label"}]}).encode()
        headers = {"Inference-Header-Content-Length": str(len(head))}
        return "POST", "/v2/models/bench~model/infer", head + values.tobytes(), headers


def ask(connection: http.client.HTTPConnection, sent: Sent) -> tuple[float, bytes]:
    """Return the milliseconds and the body of one answer, which must have status 200."""
    method, path, body, headers = sent
    begin = time.perf_counter()
    connection.request(method, path, body or None, headers)
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status == 200, said[:300]
    return (time.perf_counter() - begin) * 1_000, said


def drawn(requests: Plain, graph: LabelGraph, kind: str, rng: random.Random, n_rows: int) -> Sent:
    """Return a request of a kind, about a label or some rows drawn at random."""
    if kind in ROWS:
        first = rng.randrange(n_rows - ROWS[kind] + 1)
        return requests.score(slice(first, first + ROWS[kind]))
    label = rng.randrange(len(graph))
    name = graph.names[label]
    return requests.read(kind, name[: rng.randint(1, len(name))] if kind == "suggest" else graph.keys[label])


def one_client(
    port: int, requests: Plain, graph: LabelGraph, n_rows: int, kinds: list[str]
) -> dict[str, Any]:
    """Send each kind of request from one client."""
    found = {}
    for kind in kinds:
        rng, connection = random.Random(SEED), http.client.HTTPConnection("127.0.0.1", port)
        taken = []
        for _ in range(CALLS_OF.get(kind, CALLS)):
            sent = drawn(requests, graph, kind, rng, n_rows)
            connection.close()  # writing a million numbers takes longer than a server waits for a request
            taken.append(ask(connection, sent)[0])
        found[kind] = quantiles(taken)
    return found


def at_once(
    port: int, requests: Plain, graph: LabelGraph, n_rows: int, going: Callable[[], bool]
) -> dict[str, Any]:
    """Send a mix of requests from many clients."""
    taken: list[float] = []

    def client(number: int) -> None:
        rng, connection = random.Random(number), http.client.HTTPConnection("127.0.0.1", port)
        while going():
            (kind,) = rng.choices([*MIX], [*MIX.values()])
            taken.append(ask(connection, drawn(requests, graph, kind, rng, n_rows))[0])
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return quantiles(taken) | {"requests_per_second": round(len(taken) / (time.perf_counter() - begin))}


@contextlib.contextmanager
def plain_service(
    folder: Path, graph: LabelGraph, squares: NDArray[np.float32]
) -> Iterator[tuple[int, psutil.Process, float]]:
    """Yield the port and the process of the other service, and the seconds until it answered."""
    edges = np.column_stack([graph.edge_child, graph.edge_parent])
    keys, names = np.array(list(graph.keys)), np.array(list(graph.names))
    np.savez(folder / "held.npz", keys=keys, names=names, edges=edges, squares=squares)
    command = [sys.executable, "-m", "tests.benchmarks.plain_app", str(folder / "held.npz")]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            connection = http.client.HTTPConnection("127.0.0.1", port)
            ask(connection, ("GET", "/openapi.json", b"", {}))
            yield port, psutil.Process(server.pid), time.perf_counter() - begin
        finally:
            server.terminate()


def megabytes(process: psutil.Process) -> float:
    """Return the memory that only this process has."""
    return round(process.memory_full_info().uss / 1e6, 1)


def main() -> None:
    """Measure both and print the document."""
    title, graph = noun_tree()
    rng = np.random.default_rng(SEED)
    classes = sorted(rng.choice(graph.leaves, N_CLASSES, replace=False).tolist())
    outputs = rng.dirichlet(np.full(N_CLASSES, 0.02), 1_100)
    space = metric_space(graph, "tree")
    distances = space.distances(cols=space.point_index(classes))
    squares = np.square(distances.T, dtype=np.float32)
    reading = ["suggest", "label", "children"]
    with tempfile.TemporaryDirectory() as folder, serving(folder, graph) as (port, process):
        with Workspace.open(Settings.from_env({"GROVE_HOME": folder})) as workspace:
            build_bundle_job(workspace, "bench", "model", classes, metric="tree")
        connection = http.client.HTTPConnection("127.0.0.1", port)
        ours, binary, n = Ours(outputs), Binary(outputs), len(outputs)
        scored = json.loads(ask(connection, ours.score(slice(0, 64)))[1])["items"]
        found = {
            "service, JSON": one_client(port, ours, graph, n, [*reading, *ROWS]),
            "service, binary tensors": one_client(port, binary, graph, n, [*ROWS]),
        }
        load = {"service": at_once(port, binary, graph, n, for_seconds(SECONDS))}
        memory = {"service": megabytes(process)}
    with tempfile.TemporaryDirectory() as folder, plain_service(Path(folder), graph, squares) as plain:
        port, process, started_s = plain
        connection, requests = http.client.HTTPConnection("127.0.0.1", port), Plain(outputs)
        theirs = json.loads(ask(connection, requests.score(slice(0, 64)))[1])["items"]
        variances = np.square(distances, dtype=np.float64) @ outputs[:64].T
        for row, (one, other) in enumerate(zip(scored, theirs, strict=True)):
            best = variances[:, row].min()  # single precision may prefer another label that nearly ties
            for key in (one["key"], other["key"]):
                assert variances[graph.keys.index(key), row] <= best * (1 + 1e-5), (row, key)
        found["plain"] = one_client(port, requests, graph, n, [*reading, *ROWS])
        load["plain"] = at_once(port, requests, graph, n, for_seconds(SECONDS))
        memory["plain"] = megabytes(process)
    print_document(
        "bench_plain_service",
        SEED,
        graph=describe(title, graph),
        n_classes=N_CLASSES,
        one_client_ms=found,
        load=load,
        private_mb=memory,
        plain_started_s=round(started_s, 1),
    )


if __name__ == "__main__":
    main()
