"""Streams of events about jobs: 200 watchers of one server, while nothing changes and while units end.

    python -m tests.benchmarks.bench_watchers [--seconds 20] [--units 5000]

Half of the clients watch all jobs, half of them one job of many units. While the job runs, another process
ends one unit in each tenth of a second; a commit is told when an event with at least as many done units
arrives at a client. Times are wall-clock seconds from the return of the commit to the arrival, of every
commit at every client; the share of a core is processor time of the server by wall-clock time. Prints one
JSON document.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.specs import PlannedJob, PlannedUnit
from tests.benchmarks.bench_service import serving
from tests.benchmarks.measuring import print_document

WATCHERS = 200
EVERY_S = 0.1
JOB = "a" * 64
SPEC = '{"format":"labelgrove/job/1","parameters":{}}'
UNIT = '{"format":"labelgrove/unit/1","inputs":[],"parameters":{}}'
LEASE_S = 3_600.0


class Watcher:
    """A client of a stream, which notes when it is first told of each number of done units."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.told: list[tuple[float, int]] = []
        self.bytes = 0

    async def watch(self, port: int, ready: asyncio.Semaphore) -> None:
        """Read the stream until cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        writer.write(f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert b" 200 " in await reader.readline()
        try:
            while line := await reader.readline():
                self.bytes += len(line)
                if line.startswith(b"data: "):
                    (job,) = json.loads(line[6:])
                    if not self.told:
                        ready.release()
                    self.told.append((time.monotonic(), job["units"].get("done", 0)))
        finally:
            writer.close()


def quantiles(times: list[float]) -> dict[str, float]:
    """Return the median, the 99th percentile and the largest of some times."""
    p50, p99, most = np.quantile(times, [0.5, 0.99, 1.0])
    return {"p50": round(float(p50), 3), "p99": round(float(p99), 3), "max": round(float(most), 3)}


async def measured(port: int, server: psutil.Process, ledger: Ledger, seconds: float) -> dict[str, Any]:
    """Watch while nothing changes, and while units end."""
    paths = ["/v1/events", f"/v1/jobs/{JOB}/events"]
    watchers = [Watcher(paths[i % 2]) for i in range(WATCHERS)]
    ready = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.watch(port, ready)) for one in watchers]
        for _ in watchers:
            await ready.acquire()
        await asyncio.sleep(2.0)
        still = await core_share(server, asyncio.sleep(seconds))
        before = sum(one.bytes for one in watchers)
        commits: list[tuple[float, int]] = []
        running = await core_share(server, end_units(ledger, seconds, commits))
        await asyncio.sleep(3.0)
        for task in tasks:
            task.cancel()
    late = []
    for one in watchers:
        told = iter(one.told)
        at, n = next(told)
        for committed, done in commits:
            while n < done:
                at, n = next(told)
            late.append(max(at - committed, 0.0))
    return {
        "watchers": WATCHERS,
        "core_share_while_nothing_changes": round(still, 4),
        "core_share_while_units_end": round(running, 4),
        "commits": len(commits),
        "events_a_watcher": round(sum(len(one.told) for one in watchers) / WATCHERS, 1),
        "kb_a_watcher": round((sum(one.bytes for one in watchers) - before) / WATCHERS / 1e3, 1),
        "commit_to_event_s": quantiles(late),
    }


async def core_share(server: psutil.Process, waited: Any) -> float:
    """Return the share of a core that a server uses while something is awaited."""
    begin, used = time.monotonic(), sum(server.cpu_times()[:2])
    await waited
    return (sum(server.cpu_times()[:2]) - used) / (time.monotonic() - begin)


async def end_units(ledger: Ledger, seconds: float, commits: list[tuple[float, int]]) -> None:
    """Finish the units one by one, and note when each was committed."""
    end = time.monotonic() + seconds
    for n, key in enumerate(ledger.claimable(JOB, limit=100_000), start=1):
        if time.monotonic() > end:
            return

        def commit(key: str = key) -> None:
            claim = ledger.claim(key, lease_s=LEASE_S)
            assert claim is not None
            assert ledger.commit(claim, "b" * 64, 1)

        await asyncio.to_thread(commit)
        commits.append((time.monotonic(), n))
        await asyncio.sleep(EVERY_S)


def main() -> None:
    """Measure, and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each of the two measurements")
    parser.add_argument("--units", type=int, default=5_000, help="units of the job")
    options = parser.parse_args()
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder, graph, bundle=False) as (port, process),
        Workspace.open(Settings.from_env({"GROVE_HOME": str(Path(folder))})) as workspace,
    ):
        ledger = Ledger(workspace.engine)
        units = tuple(PlannedUnit(f"{i:064x}", 0, UNIT) for i in range(options.units))
        ledger.submit(PlannedJob(JOB, "locus", 1, SPEC, units, parameters={}))
        found = asyncio.run(measured(port, process, ledger, options.seconds))
    print_document("watchers", 0, units=options.units, **found)


if __name__ == "__main__":
    main()
