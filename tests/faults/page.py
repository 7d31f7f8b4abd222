"""Render docs/reliability.md from the figures of the fault tests in `tests/faults/measured`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.measured import documents

__all__ = ["PAGE", "TESTS", "render"]

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

TESTS = {
    "F1": "kill -9 at random of a child, a node, a main process with its sweeper, the broker (emptied); "
    "freezes of a child or a node that outlast the lease",
    "F3": "the protocol as a model over the real SQL: messages lost, doubled and late, workers killed and "
    "frozen, the clock ahead, jobs cancelled and submitted again; 60 steps in each history",
    "F4": "processes that all claim the same units at once",
    "F5": "a broker that delivers a message again after a quarter of the task's time",
    "F6": "the broker restarted or emptied in the middle of a job",
    "F7": "connections from a node to a server are half-open, 5 s slow, reset at 1 % of the traffic, or cut",
    "F8": "a full disk, I/O errors, a read-only store, flipped bits in store and cache",
    "F11": "cancel and resume at random moments; the result is the same as without them",
    "F12": "Neo4j killed -9 repeatedly during imports, by a job and directly, and while a result is shown; "
    "a reader sees either the whole old version or the whole new version",
    "F14": "poison: a unit that crashes, exhausts memory or never ends, among a hundred good units",
    "F15": "PostgreSQL read-only for 2 s with every session ended, as in a failover, in the middle of units "
    "that outlast their lease; no unit is claimed a second time",
    "F16": "the HTTP service with Neo4j, PostgreSQL and Redis; server, workers and all three killed -9 while "
    "16 clients score, 20 watch, one submits jobs, and the bundle that answers is renewed every second",
    "live": "real Redis, PostgreSQL and Neo4j, two nodes of two children: children, nodes, Redis and Neo4j "
    "killed -9 while distances, a locus and a summary are computed and shown",
}
"""A description of every fault test that may have rows in the page."""

_HEAD = """\
# Reliability

## Promises

- A job that was accepted is not lost as long as the SQL database exists.
- A result can be seen only when it is complete and its checksum is right.
- A unit may be computed more than once; it is committed once, by the worker that holds its lease.
- Workers, whole nodes, the broker and the cache may be killed at any moment.

docs/jobs.md explains how these promises are kept. This page explains how they are tested.

## Tests

The tests break real processes and servers on purpose: Celery nodes on Redis, the ledger in PostgreSQL or
SQLite, with a lease of a few seconds so that much can happen. The faults of a run come from a seed, which
it prints. Its whole history (faults, and every change of every unit) is a file in the folder of the test.
Every run checks the same laws:

- every requested unit is done, with the same bytes as in an undisturbed run, and nothing in the store is
  incomplete;
- claims >= commits = units; no unit is committed twice, or by a worker whose lease has passed to another;
- no worker claims a unit while the lease of another worker runs;
- there are no more artifacts without a row than faults, and all units are done at most 60 s after the
  last fault (600 s where results of 325,000 labels are then written).

A trigger in the database records the history, so that no worker can forget to report. Each safeguard is
also removed, and the checks must then fail: *no fence* (a worker that is stopped between publication and
commit commits late), *no lease* (a message that is delivered twice is computed twice), *no sweeper* (a
job whose messages are lost is never done). With the fence in place, the late worker is told `lost`, both
while another worker computes the unit and after that worker has finished.

    make faults-small  # small forms, which continuous integration runs as well
    make faults        # all figures, then this page; needs redis-server, PostgreSQL and Neo4j
"""

_NOT_COVERED = """\
## Not covered

- Loss of power: after `kill -9`, the operating system still writes its buffers, so these runs do not
  prove the order of fsync and rename, or test a crash at every system call.
- Runs of many hours in which memory and open files are watched.
- Old and new versions at work next to each other during an upgrade, except for the test that units of an
  unknown version are left to a worker that knows this version.
- Loss of the SQL database itself: it is the record of all jobs, and must be backed up.
- Several hosts: the nodes of these runs are processes on one machine with one clock.
"""

_COLUMNS = ("test", "run", "units", "claims", "orphans", "drained s", "took s", "seed", "date", "remarks")


def render() -> str:
    """Return the text of docs/reliability.md."""
    kept = documents()
    done = [f"| {test} | {TESTS[test]} |" for test in kept]
    rows = [_row(test, run, figures) for test, runs in kept.items() for run, figures in runs.items()]
    return "\n".join(
        [
            _HEAD,
            "## Results\n",
            "All laws held in every run below.",
            "*Drained* is the time from the last fault until all units were done.\n",
            "| test | what is done |\n| --- | --- |",
            *done,
            "",
            _line(_COLUMNS),
            _line(["---"] * len(_COLUMNS)),
            *rows,
            "",
            _NOT_COVERED.rstrip(),
            "",
        ]
    )


def _row(test: str, run: str, figures: Mapping[str, Any]) -> str:
    names = ("units", "claims", "orphans", "drain_s", "seconds", "seed", "date", "note")
    return _line([test, run, *(str(figures.get(name, "")) for name in names)])


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
