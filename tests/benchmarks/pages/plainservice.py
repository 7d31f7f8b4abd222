"""The HTTP service beside one that a user would write."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Run, Section, graph_line, number, table

ABOUT = """\
`python -m tests.benchmarks.bench_plain_service`: the same questions to the service and to what a user would
write in an afternoon (`tests/benchmarks/plain_app.py`): FastAPI, dictionaries, and one array of squared
distances that is multiplied by the rows in single precision. Both answer on the loopback address, one after
the other, and the labels that they give are compared before anything is timed. The plain service has no
search that ranks, no limits, no tokens and no check of what is sent."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    found = run["document"]
    alone, load, memory = found["one_client_ms"], found["load"], found["private_mb"]
    kinds = list(dict.fromkeys(kind for one in alone.values() for kind in one))
    rows = [[kind, *(_quantiles(one.get(kind)) for one in alone.values())] for kind in kinds]
    both = [
        [
            name,
            _quantiles(load[name]),
            number(load[name]["requests_per_second"]),
            number(memory[name]),
        ]
        for name in load
    ]
    tables = [
        table(["one client, p50 / p99, ms", *alone], rows),
        table(["16 clients", "p50 / p99 ms", "requests / s", "private MB"], both),
        f"The plain service answers {number(found['plain_started_s'])} s after its start.",
        graph_line(found["graph"]),
    ]
    return Section("The service beside a plain one", runs, ABOUT, [], tables)


def _quantiles(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{number(found['p50'])} / {number(found['p99'])}"
