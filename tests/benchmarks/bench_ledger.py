"""What one statement of the ledger takes as a job grows, and how its dispatch window behaves.

    python -m tests.benchmarks.bench_ledger [--postgres URL] [--units 1000 10000 100000 1000000]

One job of as many units as told and a last one that waits for all. A share of its units is set done by hand;
then each statement is timed on units that follow in order, at the beginning, half way and close to the end:
the slowest of the three medians counts. Time is the wall clock's, as the server of PostgreSQL works too; the
ledger's own clock is told the time. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import sqlalchemy as sa

from labelgrove.ontology.sql.database import create_engine, metadata, writing
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import Beat, State
from tests.benchmarks.measuring import print_document
from tests.benchmarks.simulation import LEASE_S, Clock, Window, plan_nothing

T = TypeVar("T")
SEED = 0
SAMPLES = 25
SLOTS = 2
POSITIONS = (0.0, 0.5, 0.9)
WINDOW_UNITS = 1_000


class Watch:
    """Wall-clock milliseconds of named calls."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = defaultdict(list)

    def __call__(self, name: str, work: Callable[[], T]) -> T:
        begin = time.perf_counter()
        answer = work()
        self.taken[name].append(1e3 * (time.perf_counter() - begin))
        return answer

    def medians(self) -> dict[str, float]:
        """Return the median of every name."""
        return {name: statistics.median(taken) for name, taken in self.taken.items()}


def set_done(engine: sa.Engine, plan: PlannedJob, share: float) -> None:
    """Commit the first units in the order of the backlog without working on them."""
    keys = sorted(unit.key for unit in plan.units if unit.stage == 0)
    column = unit_table.c
    with writing(engine) as connection:
        connection.execute(
            sa.update(unit_table)
            .where(column.key < keys[min(int(share * len(keys)), len(keys) - 1)], column.stage == 0)
            .values(state=State.DONE, sha256=column.key, size=8)
        )


def work(ledger: Ledger, clock: Clock, watch: Watch) -> None:
    """Send, claim, renew, commit and settle some units, and lose as many workers."""
    window = 4 * SLOTS
    for _ in range(SAMPLES // window + 1):
        for key, _, _ in watch("due, a window of 8", lambda: ledger.due(window)):
            claim = watch("claim", lambda key=key: ledger.claim(key, lease_s=LEASE_S))
            assert watch("heartbeat", lambda c=claim: ledger.heartbeat(c, lease_s=LEASE_S)) is Beat.HELD
            assert watch("commit", lambda c=claim: ledger.commit(c, c.key, 8))
            watch("settle one unit", lambda key=key: ledger.settle(key))
        for key, _, _ in ledger.due(window):
            assert ledger.claim(key, lease_s=LEASE_S) is not None
        clock.time += LEASE_S + 1
        assert watch("expire 8 leases", ledger.expire) == window
        watch("settle in a sweep", ledger.settle)
        watch("sweep with nothing to do: expire", ledger.expire)


def slope(engine: sa.Engine, n_units: int) -> dict[str, Any]:
    """Time everything on one job."""
    metadata.drop_all(engine)
    metadata.create_all(engine)
    clock, seconds, slowest = Clock(), Watch(), dict[str, float]()
    ledger = Ledger(engine, clock=clock, jitter=Random(SEED))
    plan = seconds("plan", lambda: plan_nothing(n_units))
    seconds("submit", lambda: ledger.submit(plan))
    for position in POSITIONS:
        set_done(engine, plan, position)
        seconds("settle after a jump", ledger.settle)
        watch = Watch()
        work(ledger, clock, watch)
        watch("progress", lambda: ledger.job(plan.id))
        slowest = {name: max(ms, slowest.get(name, 0.0)) for name, ms in watch.medians().items()}
    clock.time += 1000.0
    set_done(engine, plan, 1.0)
    for key, _, _ in ledger.due(4 * SLOTS):
        assert ledger.commit(ledger.claim(key, lease_s=LEASE_S), key, 8)
    ledger.settle()
    (last,) = [unit.key for unit in plan.units if unit.stage]
    claim = seconds("claim of the last unit", lambda: ledger.claim(last, lease_s=LEASE_S))
    assert len(claim.inputs) == n_units
    assert ledger.commit(claim, last, 8)
    assert ledger.settle(last) == [plan.id]
    return {
        "units": n_units,
        "ms": {name: round(ms, 3) for name, ms in slowest.items()},
        "seconds": {name: round(max(taken) / 1e3, 3) for name, taken in seconds.taken.items()},
        "database_mb": round(size(engine) / 1e6, 1),
        "last_spec_mb": round(len(plan.units[-1].spec_json) / 1e6, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def size(engine: sa.Engine) -> int:
    """Bytes of the database."""
    if engine.dialect.name == "sqlite":
        return Path(str(engine.url.database)).stat().st_size
    with engine.connect() as connection:
        return int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())


def window(engine: sa.Engine, n_units: int) -> dict[str, Any]:
    """Run one job through a broker that loses a tenth of its messages."""
    metadata.drop_all(engine)
    metadata.create_all(engine)
    simulated = Window(engine, n_units, slots=SLOTS)
    begin = time.perf_counter()
    simulated.run()
    return {
        "units": n_units,
        "allowed": 4 * SLOTS,
        "most_out": simulated.most_out,
        "sent": len(simulated.sent),
        "lost": simulated.lost,
        "ms_per_unit": round(1e3 * (time.perf_counter() - begin) / n_units, 2),
    }


def main() -> None:
    """Measure one database and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", help="measure this database instead of SQLite; its tables are dropped")
    parser.add_argument("--units", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(options.postgres or f"sqlite:///{folder}/ledger.db")
        slopes = []
        for n_units in options.units:
            slopes.append(slope(engine, n_units))
            print(json.dumps(slopes[-1]), file=sys.stderr, flush=True)  # a long run shows how far it is
        drained = window(engine, WINDOW_UNITS)
        engine.dispose()
    database = "PostgreSQL" if options.postgres else "SQLite"
    print_document(f"ledger, {database}", SEED, database=database, slopes=slopes, window=drained)


if __name__ == "__main__":
    main()
