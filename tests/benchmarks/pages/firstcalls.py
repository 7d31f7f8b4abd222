"""What the first calls in a process cost."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Run, Section, graph_line, number, table

ABOUT = """\
`python -m tests.benchmarks.bench_first_calls`: adapters of a tree and of a graph are opened in processes
of their own, and `Adapter.predict` is called for one row at a time, with an *empty* folder of compiled
code and with what the first process left there (*filled*); a third process calls `Adapter.warm` before
(*warmed*), which *open ms* includes. All answers equal those of one batch. Times are on the clock, but
for *processor*, which counts all threads; *private* is memory that no other process maps, with the pages
of the bundle's file that were read, and *dirty* is memory without these. Commands run in copies of one
home, which holds none of their results, first with an empty folder of compiled code and then with what
the first run left; the results are equal, and the difference is what compiling costs. `select` runs on
the tree, the others on the graph."""

FIELDS = {
    "open_ms": "open ms",
    "longest_ms": "longest call ms",
    "longest_index": "its index",
    "median_us": "median us",
    "total_ms": "all calls ms",
    "processor_ms": "processor ms",
    "private_mb": "private MB",
    "private_dirty_mb": "dirty MB",
    "kernels_kept": "files of compiled code",
}
CLOCKS = ("wall_seconds", "processor_seconds")
RUNS = {"first": "first", "second": "second", "first_minus_second": "first minus second"}


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found: dict[str, Any] = run["document"]
    adapters, commands = found["adapters"], found["commands"]
    sizes = f"{found['n_observed']:,} observed labels, {found['n_calls']:,} calls"
    body = [
        f"{graph_line(adapters['graph'])}; {sizes}.",
        table(
            ["bundle", "compiled code", *FIELDS.values()],
            [
                [metric, state, *(number(figures[field]) for field in FIELDS)]
                for metric, states in adapters["bundles"].items()
                for state, figures in states.items()
            ],
        ),
        f"Commands on `{commands['digest'][:16]}`, {found['n_commands_observed']:,} observed labels; "
        f"`score` answers {found['n_rows']:,} rows.",
        table(
            ["seconds", *(f"{part}, {clock}" for clock in ("clock", "processor") for part in RUNS.values())],
            [
                [f"`grove {name}`", *(number(taken[clock][part]) for clock in CLOCKS for part in RUNS)]
                for name, taken in commands["commands"].items()
            ],
        ),
    ]
    return Section("First calls", runs, ABOUT, [], body)
