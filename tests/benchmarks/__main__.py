"""Measure, keep what was measured, and write docs/benchmarks.md from it.

    python -m tests.benchmarks [--only PART ...] [--render]

Each part is measured in processes of its own, one after the other, and its documents are kept in
`tests/benchmarks/measured/PART.json`; the page is written from those files alone, so that parts not named by
`--only` keep their last figures, and `--render` measures nothing. Run it on a machine that does nothing else:
how many cores other processes kept busy during a run is noted beside it. The parts `ingest`, `ledger`,
`overhead` and `lshtc` start servers of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.bench_overhead import CHILDREN
from tests.benchmarks.pages import PAGE, PARTS, curvepicture, file_of, render
from tests.benchmarks.pages import measured as kept
from tests.services import Neo4jServer, PostgresServer, RedisServer

PINNED = "OPENBLAS_CORETYPE"


def measured(module: str, *arguments: str, pinned: bool = True) -> dict[str, Any]:
    """Run one benchmark in a process of its own, and return its document with when and under what load."""
    command = ["-m", f"tests.benchmarks.{module}", *arguments]
    environment = {name: value for name, value in os.environ.items() if pinned or name != PINNED}
    print(f"running python {' '.join(command)}", file=sys.stderr, flush=True)
    begin = time.perf_counter(), busy_seconds(), own_seconds()
    done = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    wall, busy, own = time.perf_counter() - begin[0], busy_seconds() - begin[1], own_seconds() - begin[2]
    return {
        "date": str(datetime.now(UTC).date()),
        "others_kept_busy": round(max(busy - own, 0.0) / wall, 2),
        "document": json.loads(done.stdout),
    }


def busy_seconds() -> float:
    """Processor seconds that everything on this machine has worked since it started, on all cores."""
    user, nice, system, *_ = Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Processor seconds that the benchmarks of this run have worked."""
    return sum(os.times()[:4])


def on_each_blas(module: str, *arguments: str) -> list[dict[str, Any]]:
    """Measure with the kernels that the environment pins, if it pins any, and with those BLAS chooses."""
    pinned = [measured(module, *arguments)] if PINNED in os.environ else []
    return [*pinned, measured(module, *arguments, pinned=False)]


def ingest() -> list[dict[str, Any]]:
    """Measure both graph stores."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Neo4jServer(sustained=True))
        return [measured("bench_ingest", "--neo4j", server.url)]


def ledger() -> list[dict[str, Any]]:
    """Measure both databases."""
    with PostgresServer() as server:
        postgres = [
            "--postgres",
            server.create_database(),
            "--units",
            *map(str, (10**3, 10**4, 10**5, 10**6)),
        ]
        return [measured("bench_ledger"), measured("bench_ledger", *postgres)]


def overhead() -> list[dict[str, Any]]:
    """Measure both deployments."""
    with PostgresServer() as postgres, RedisServer(appendonly=True) as redis:
        databases = [postgres.create_database() for _ in CHILDREN]
        return [measured("bench_overhead", "--celery", redis.url, *databases)]


def measure(part: str) -> list[dict[str, Any]]:
    """Run every benchmark of one part."""
    match part:
        case "ingest":
            return ingest()
        case "ledger":
            return ledger()
        case "overhead":
            return overhead()
        case "distances":
            return [measured("bench_distances", "--whole")]
        case "scale":
            return [measured("bench_scale", "taxdump"), measured("bench_scale", "thesaurus")]
        case "scoring_curves" | "callers" | "numpy_alone":
            return [measured(f"bench_{part}", pinned=False)]
        case "service":
            return [
                measured("bench_service"),
                measured("bench_service", "--largest"),
                measured("bench_explorer"),
            ]
        case "locus":
            return [measured("bench_locus_pairs"), measured("bench_locus")]
        case "tree_scoring":
            return on_each_blas("bench_tree_scoring", "--large")
        case "restricted_scoring" | "graph_scoring":
            return on_each_blas(f"bench_{part}")
        case _:
            return [measured(f"bench_{part}")]


def main() -> None:
    """Run the parts asked for, then write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--render", action="store_true", help="write the page again, measure nothing")
    options = parser.parse_args()
    for part in [] if options.render else options.only:
        runs = measure(part)
        file_of(part).write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE} and {curvepicture.draw(kept('scoring_curves'))}")


if __name__ == "__main__":
    main()
