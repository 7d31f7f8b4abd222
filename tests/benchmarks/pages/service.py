"""The HTTP service: answers to one client, and to many at once."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

GOALS_MS = {
    "suggest": (3, 15),
    "search": (8, 30),
    "children": (3, 12),
    "window of 60 rows": (3, 12),
    "label": (5, 25),
    "context": (5, 25),
    "path": (30, 120),
    "map, 1,200 pixels, 12 levels": (12, 40),
}
COLD_MS, IDLE_MB, MAP_KB = 150, 110, 120

ABOUT = """\
`python -m tests.benchmarks.bench_service`: a server on the loopback address, and clients in another process.
Times are wall-clock milliseconds from the request to the whole answer. One client sends 200 requests of each
kind; then 16 clients send a mix of requests as fast as they get answers, while they share both cores with the
server. Every answer had status 200."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    graphs = run["document"]["graphs"]
    body = [
        table(
            ["graph", "idle MB", "cold open ms", "private MB after the load", "requests / s of 16 clients"],
            [
                [
                    graph["graph"],
                    *(number(graph[field]) for field in ("idle_mb", "cold_open_ms", "private_after_load_mb")),
                    number(graph["load"]["requests_per_second"]),
                ]
                for graph in graphs
            ],
        ),
        table(
            ["one client, p50 / p99, ms", *(graph["graph"] for graph in graphs)],
            [
                [kind, *(_quantiles(graph["one_client_ms"][kind]) for graph in graphs)]
                for kind in graphs[0]["one_client_ms"]
            ],
        ),
        table(
            ["16 clients, p50 / p99, ms", *(graph["graph"] for graph in graphs)],
            [
                ["all", *(_quantiles(graph["load"]["all"]) for graph in graphs)],
                *(
                    [kind, *(_quantiles(graph["load"]["kinds"][kind]) for graph in graphs)]
                    for kind in graphs[0]["load"]["kinds"]
                ),
            ],
        ),
        *map(graph_line, graphs),
    ]
    return Section("HTTP service", runs, ABOUT, [goal for graph in graphs for goal in _goals(graph)], body)


def _goals(graph: dict[str, Any]) -> list[Goal]:
    name = graph["graph"]
    found = [
        Goal(f"{name}: open a version", COLD_MS, graph["cold_open_ms"], "ms"),
        Goal(f"{name}: memory of an idle server", IDLE_MB, graph["idle_mb"], "MB"),
        Goal(
            f"{name}: largest map, compressed",
            MAP_KB,
            graph["one_client_ms"]["map, 1,200 pixels, 12 levels"]["kb"],
            "kB",
        ),
    ]
    for kind, wanted in GOALS_MS.items():
        for quantile, most in zip(("p50", "p99"), wanted, strict=True):
            found.append(
                Goal(f"{name}: {kind}, {quantile}", most, graph["one_client_ms"][kind][quantile], "ms")
            )
    return found


def _quantiles(found: dict[str, float]) -> str:
    return f"{number(found['p50'])} / {number(found['p99'])}"
