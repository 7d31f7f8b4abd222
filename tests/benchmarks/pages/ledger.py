"""Statements of the ledger as a job grows, and what one unit costs end to end."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, number, table

FLAT = 3.0
"""Times that a statement on the largest job may take of what it takes on the smallest."""

UNITS_PER_SECOND = {"embedded, SQLite": 300, "Celery, Redis, PostgreSQL, 4 children": 150}

SLOPES = """\
`python -m tests.benchmarks.bench_ledger --postgres URL`: wall-clock milliseconds of each statement on one
job with that many units: the slowest of three medians, at the beginning of the job, half way and at nine
tenths. A last unit waits for all others. Progress counts every unit of the job by state, and by design
takes longer for larger jobs: there is no counter that could drift."""

OVERHEAD = """\
`python -m tests.benchmarks.bench_overhead --celery REDIS POSTGRES POSTGRES`: units that compute nothing,
from the request to the finished job, each with one artifact in a local folder. Embedded, two units run at a
time. Celery has two or four children, because such a unit spends half of its time there waiting. SQLite
runs with synchronous FULL, PostgreSQL and Redis with their durable defaults."""

PROFILE = """\
see docs/scaling.md, which says where the time of a unit goes."""


def slopes(runs: list[Run]) -> Section:
    """Write the part about growing jobs."""
    databases = [run["document"] for run in runs]
    goals = [goal for database in databases for goal in _flat(database)]
    body = [part for database in databases for part in _database(database)]
    return Section("Ledger", runs, SLOPES, goals, body, PROFILE)


def overhead(runs: list[Run]) -> Section:
    """Write the part about units that compute nothing."""
    (run,) = runs
    document = run["document"]
    goals = [
        Goal(name, wanted, document["runs"][name]["units_per_second"], "units/s")
        for name, wanted in UNITS_PER_SECOND.items()
    ]
    columns = [
        "deployment",
        "units",
        "seconds",
        "units a second",
        "processor ms a unit",
        "claimed more than once",
    ]
    rows = [
        [name, *(number(value) for value in figures.values())] for name, figures in document["runs"].items()
    ]
    said = f"One fsync of a page took {document['fsync_ms']} ms on this disk, which others used too."
    return Section("Overhead of a unit", runs, OVERHEAD, goals, [table(columns, rows), said], PROFILE)


def _flat(database: dict[str, Any]) -> list[Goal]:
    first, last = database["slopes"][0], database["slopes"][-1]
    fixed = [name for name in first["ms"] if name != "progress"]
    worst = max(fixed, key=lambda name: last["ms"][name] / first["ms"][name])
    what = f"{database['database']}, {last['units']:,} units over {first['units']:,}: {worst}"
    return [Goal(what, FLAT, round(last["ms"][worst] / first["ms"][worst], 2), "times")]


def _database(database: dict[str, Any]) -> list[str]:
    found = database["slopes"]
    sizes = [f"{slope['units']:,}" for slope in found]
    rows = [[name, *(number(slope["ms"][name]) for slope in found)] for name in found[0]["ms"]]
    whole = [
        [f"{name}, s", *(number(slope["seconds"][name]) for slope in found)] for name in found[0]["seconds"]
    ]
    whole += [
        ["database, MB", *(number(slope["database_mb"]) for slope in found)],
        ["row of the last unit, MB", *(number(slope["last_spec_mb"]) for slope in found)],
        ["peak memory of the process so far, MB", *(number(slope["peak_memory_mb"]) for slope in found)],
    ]
    fields = ("units", "allowed", "most_out", "sent", "lost", "ms_per_unit")
    window = [[number(database["window"][field]) for field in fields]]
    return [
        table([f"{database['database']}, ms", *sizes], rows),
        table([f"{database['database']}, once for a job", *sizes], whole),
        table(
            [
                "units, a tenth of the messages lost",
                "messages allowed",
                "most sent and not done",
                "sent",
                "lost",
                "ms a unit",
            ],
            window,
        ),
    ]
