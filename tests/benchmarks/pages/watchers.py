"""Streams of events about jobs: how late they are, and what 200 watchers cost."""

from __future__ import annotations

from tests.benchmarks.pages.section import Goal, Run, Section, table

ABOUT = """\
`python -m tests.benchmarks.bench_watchers`: one server over SQLite, and 200 clients in another process; half
of them watch all jobs, half of them one job of many units. While it runs, a unit ends about every tenth of a
second. Seconds are wall-clock time from a commit to the arrival of an event that tells it, of every commit
at every client. The share of a core is processor time of the server by wall-clock time."""

LATE_S, SHARE_PERCENT = 1.5, 2.0


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found = run["document"]
    still, running = (
        round(100 * found[f"core_share_while_{what}"], 1) for what in ("nothing_changes", "units_end")
    )
    late = found["commit_to_event_s"]
    goals = [
        Goal("commit to event, p99", LATE_S, late["p99"], "s"),
        Goal("a core while nothing changes", SHARE_PERCENT, still, "%"),
        Goal("a core while units end", SHARE_PERCENT, running, "%"),
    ]
    columns = ["units", "watchers", "commits", "events / watcher", "p50 s", "p99 s", "max s"]
    counts = [f"{found[name]:,}" for name in ("units", "watchers", "commits")]
    row = [
        *counts,
        f"{found['events_a_watcher']:g}",
        *(f"{late[name]:.2f}" for name in ("p50", "p99", "max")),
    ]
    return Section("Watchers of jobs", runs, ABOUT, goals, [table(columns, [row])])
