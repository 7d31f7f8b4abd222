"""An hour of the HTTP service at half load: whether memory, open files and threads stay what they are.

    python -m tests.benchmarks.bench_soak [--seconds 3600]

One client sends the mix of the load test (`tests.benchmarks.bench_service`) to a server with 325,056 labels,
and waits after each answer as long as the answer took, so that the server is busy half of the time.
Meanwhile 20 others watch jobs, and once a minute all of them connect anew. Every answer must have status 200.
Prints one JSON document with what the server uses, minute by minute.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import tempfile
import threading
import time
from typing import Any

import numpy as np
import psutil

from tests.benchmarks.bench_service import SEED, Requests, ask, quantiles, serving
from tests.benchmarks.graphs import category_graph, describe
from tests.benchmarks.measuring import print_document

WATCHERS = 20
LOOK_S = 60.0
WARM = 5
"""Looks at the beginning that are left out of the trend, because versions and kernels are loaded then."""


def watch(port: int, ending: threading.Event) -> None:
    """Read a stream of events, and begin another one after each minute; it says something every 15 s."""
    while not ending.is_set():
        until = time.monotonic() + LOOK_S
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/v1/events")
            answer = connection.getresponse()
            while time.monotonic() < until and not ending.is_set():
                answer.readline()


def used(process: psutil.Process, taken: list[float], since: float) -> dict[str, Any]:
    """Return what the server uses, and how the answers of the last minute were."""
    return {
        "minute": round((time.monotonic() - since) / 60, 1),
        "resident_mb": round(process.memory_info().rss / 1e6, 1),
        "private_mb": round(process.memory_full_info().uss / 1e6, 1),
        "files": process.num_fds(),
        "threads": process.num_threads(),
        "requests": len(taken),
        **quantiles(taken),
    }


def trend(looks: list[dict[str, Any]], field: str) -> float:
    """Return how much a figure grows in an hour, by a straight line through all looks but the first."""
    kept = looks[WARM:]
    minutes, values = [one["minute"] for one in kept], [one[field] for one in kept]
    return round(float(np.polyfit(minutes, values, 1)[0]) * 60, 2)


def main() -> None:
    """Keep the server busy and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3_600.0)
    options = parser.parse_args()
    graph, ending = category_graph(), threading.Event()
    looks: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, serving(folder, graph) as (port, process):
        threads = [threading.Thread(target=watch, args=(port, ending)) for _ in range(WATCHERS)]
        for thread in threads:
            thread.start()
        requests, connection = Requests(graph, SEED), http.client.HTTPConnection("127.0.0.1", port)
        begin = last = time.monotonic()
        taken: list[float] = []
        while time.monotonic() - begin < options.seconds:
            milliseconds, status, _ = ask(connection, requests.sent(requests.mixed()))
            assert status == 200
            taken.append(milliseconds)
            time.sleep(milliseconds / 1_000)
            if time.monotonic() - last >= LOOK_S:
                last = time.monotonic()
                looks.append(used(process, taken, begin))
                taken = []
        ending.set()
        for thread in threads:
            thread.join()
    fields = ("resident_mb", "private_mb", "files", "threads")
    print_document(
        "bench_soak",
        SEED,
        graph=describe("category graph, LSHTC's size", graph),
        watchers=WATCHERS,
        looks=looks,
        grows_per_hour={field: trend(looks, field) for field in fields} if len(looks) > WARM + 1 else None,
    )


if __name__ == "__main__":
    main()
