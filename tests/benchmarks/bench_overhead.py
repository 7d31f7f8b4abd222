"""Units per second that compute nothing: what ledger, artifact store and carrier take for themselves.

    python -m tests.benchmarks.bench_overhead [--units 2000] [--celery REDIS_URL POSTGRES_URL POSTGRES_URL]

End to end, from the request to the finished job: every unit is sent, claimed, executed, its artifact
published and read back by nobody, committed, and its jobs settled; one unit at the end waits for all.
Prints one JSON document.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.database import create_engine, upgrade
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.app import send_due
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import State
from labelgrove.workers.running.pool import Pool
from tests.benchmarks.measuring import print_document
from tests.benchmarks.simulation import NOTHING, plan_nothing
from tests.integration.celery_worker import CeleryWorker
from tests.integration.workers_support import registered, settings_in
from tests.services import wait_until

SEED = 0
THREADS = 2
"""Units at the same time, embedded."""

CHILDREN = (2, 4)
"""Units at the same time, through Celery: half of what such a unit takes is waiting, for disk and answers."""


def fsync_ms(folder: Path) -> float:
    """Milliseconds that one fsync of a page takes here."""
    descriptor = os.open(folder / "page", os.O_CREAT | os.O_WRONLY)
    try:
        begin = time.perf_counter()
        for _ in range(100):
            os.write(descriptor, bytes(4096))
            os.fsync(descriptor)
        return 10 * (time.perf_counter() - begin)
    finally:
        os.close(descriptor)


def outcome(ledger: Ledger, plan: PlannedJob, seconds: float, worked: float) -> dict[str, Any]:
    """Check that every unit was done by its first attempt; return the figures."""
    job = ledger.job(plan.id)
    assert (job.state, job.units) == (State.DONE, {State.DONE: len(plan.units)}), job
    units = ledger.unit_records(plan.id, limit=len(plan.units))
    again = sum(unit.fence > 1 for unit in units)
    return {
        "units": len(plan.units),
        "seconds": round(seconds, 2),
        "units_per_second": round(len(plan.units) / seconds, 1),
        "processor_ms_per_unit": round(1e3 * worked / len(plan.units), 2),
        "units_claimed_more_than_once": again,
    }


def seconds_of(node: int) -> float:
    """Processor seconds that a worker's processes have worked, those included that ended."""
    main = psutil.Process(node)
    return sum(sum(process.cpu_times()[:4]) for process in [main, *main.children()])


def embedded(home: Path, n_units: int) -> dict[str, Any]:
    """Run one job in threads over SQLite."""
    with registered(NOTHING), Workspace.open(settings_in(home)) as workspace:
        ledger, plan = Ledger(workspace.engine), plan_nothing(n_units)
        begin, worked = time.perf_counter(), time.process_time()
        ledger.submit(plan)
        with Pool(workspace, threads=THREADS) as pool:
            pool.run_until(lambda: ledger.job(plan.id).finished)
        return outcome(ledger, plan, time.perf_counter() - begin, time.process_time() - worked)


def celery(home: Path, n_units: int, children: int, redis_url: str, postgres_url: str) -> dict[str, Any]:
    """Run one job through one worker, which is ready when the clock starts; the database is empty."""
    settings: Settings = settings_in(home, broker_url=redis_url, database_url=postgres_url)
    engine = create_engine(postgres_url)
    upgrade(engine)
    engine.dispose()
    worker = CeleryWorker(settings, home / "worker.log", app="tests.benchmarks.nothing_app", slots=children)
    with worker, registered(NOTHING), Workspace.open(settings) as workspace:
        ledger, plan = Ledger(workspace.engine), plan_nothing(n_units)
        begin, worked = time.perf_counter(), seconds_of(worker.pid)
        ledger.submit(plan)
        send_due(settings, ledger)  # as whoever asks does: the first units do not wait for a sweep
        wait_until(
            lambda: ledger.job(plan.id).finished,
            deadline_s=600,
            what="the job to be done",
            interval_s=0.25,  # asking counts all units
        )
        taken = time.perf_counter() - begin
        figures = outcome(ledger, plan, taken, seconds_of(worker.pid) - worked)
        workspace.engine.dispose()
        worker.stop()
    return figures


def main() -> None:
    """Run both deployments and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=2000)
    parser.add_argument("--celery", nargs=1 + len(CHILDREN), metavar="URL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        runs = {"embedded, SQLite": embedded(home / "embedded", options.units)}
        redis_url, *databases = options.celery or [None]
        for children, postgres_url in zip(CHILDREN, databases, strict=False):
            folder_of_run = home / f"{children} children"
            folder_of_run.mkdir()
            runs[f"Celery, Redis, PostgreSQL, {children} children"] = celery(
                folder_of_run, options.units, children, redis_url, postgres_url
            )
        print_document("overhead", SEED, fsync_ms=round(fsync_ms(home), 3), runs=runs)


if __name__ == "__main__":
    main()
