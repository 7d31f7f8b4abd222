"""An hour of the HTTP service at half load."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

SOAKED = """\
`python -m tests.benchmarks.bench_soak`: one client sends the mix of the load test for an hour, and waits
after each answer as long as it took; 20 clients watch jobs and connect anew each minute. Every answer had
status 200. Growth is that of a straight line through all minutes but the first five."""

PROFILE = """\
the lines go through the first half hour, in which resident memory rises from 415 to 452 MB and one more file
is opened. From minute 39 to the end both stay exactly the same, 453.6 MB and 46 files."""

GROWTH_MB, GROWTH_OTHER = 10.0, 1.0
_EVERY = 10


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found = run["document"]
    grows = found["grows_per_hour"]
    goals = [
        Goal("resident memory grows in an hour", GROWTH_MB, grows["resident_mb"], "MB"),
        Goal("open files grow in an hour", GROWTH_OTHER, grows["files"], "files"),
        Goal("threads grow in an hour", GROWTH_OTHER, grows["threads"], "threads"),
    ]
    fields = ("minute", "resident_mb", "private_mb", "files", "threads", "requests")
    looks = found["looks"]
    shown = [*looks[::_EVERY], *([] if (len(looks) - 1) % _EVERY == 0 else looks[-1:])]
    rows = [[*(number(one[field]) for field in fields), _quantiles(one)] for one in shown]
    columns = ["minute", "resident MB", "private MB", "files", "threads", "requests a minute", "p50 / p99 ms"]
    body = [table(columns, rows), graph_line(found["graph"])]
    return Section("An hour of the service", runs, SOAKED, goals, body, PROFILE)


def _quantiles(found: dict[str, Any]) -> str:
    return f"{number(found['p50'])} / {number(found['p99'])}"
