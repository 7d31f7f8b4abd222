"""The HTTP service: answers to one client, and to many at once; the explorer in a browser."""

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
    "live locus, 10 picks and map": (30, 90),
    "score 1,024 x 1,000, binary": (40, 100),
    "score 1,024 x 1,000, JSON": (300, 500),
    "what-if": (6, 25),
}
COLD_MS, IDLE_MB, MAP_KB = 150, 110, 120
PAINT_MS, FRAME_MS = 250, 16
LARGEST_GOAL = 400_000
"""Number of labels above which the goals, which are for LSHTC's size, are not asked for."""

SLOWER_IN_INGESTS = 3

ABOUT = """\
`python -m tests.benchmarks.bench_service`: a server on the loopback address, and clients in another process.
Times are wall-clock milliseconds from the request to the whole answer. One client sends 200 requests of each
kind; then 16 clients send a mix of requests as fast as they get answers, while they share both cores with the
server. While a hierarchy is ingested, it is uploaded to the service, read in a process of its own, and loaded
by the worker beside the service. Every answer had status 200. `python -m tests.benchmarks.bench_explorer`
opens pages in Chromium: the first paint in a window without a cache, and the frames while the tree is
scrolled."""

PROFILE = """\
a request about one label takes about 2 ms, of which 1.6 ms are processor time of the application (without
HTTP; `/healthz`: 0.1 ms): FastAPI's routing and checks of parameters take about half of it, two changes of
thread and the answer itself the rest. Suggestions and windows add the time of their own work. A what-if row
is answered with all 1,000 contributions, 157 kB of JSON: finding, naming and sorting them takes 4 ms, and
writing them 1 ms."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    usual, largest, explorer = (run["document"]["graphs"] for run in runs)
    graphs = [*usual, *largest]
    goals = [goal for graph in graphs if graph["n_labels"] < LARGEST_GOAL for goal in _goals(graph)]
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
        _times("one client", graphs, [graph["one_client_ms"] for graph in graphs]),
        _times("one row of 1,000 classes, JSON", graphs, [graph["what_if_ms"] for graph in graphs]),
        _times("16 clients", graphs, [_of_load(graph["load"]) for graph in graphs]),
        *(_ingesting(graph) for graph in graphs if graph["while_ingesting"] is not None),
        table(
            ["in the browser, p50 / p99, ms", *(graph["graph"] for graph in explorer)],
            [
                [what, *(_quantiles(graph[field]) for graph in explorer)]
                for what, field in (
                    ("first paint", "first_paint_ms"),
                    ("frame of scrolling", "frame_ms"),
                    ("frame of scrolling while ingesting", "frame_while_ingesting_ms"),
                )
            ],
        ),
        *map(graph_line, graphs),
    ]
    goals += [goal for graph in explorer for goal in _seen(graph)]
    return Section("HTTP service", runs, ABOUT, goals, body, PROFILE)


def _of_load(load: dict[str, Any]) -> dict[str, Any]:
    return {"all": load["all"], **load["kinds"]}


def _times(clients: str, graphs: list[dict[str, Any]], found: list[dict[str, Any]]) -> str:
    rows = [[kind, *(_quantiles(one[kind]) for one in found)] for kind in found[0]]
    return table([f"{clients}, p50 / p99, ms", *(graph["graph"] for graph in graphs)], rows)


def _ingesting(graph: dict[str, Any]) -> str:
    """Return the table that compares the figures with those while a hierarchy is ingested."""
    busy = graph["while_ingesting"]
    rows = [
        [f"{clients}: {kind}", _quantiles(quiet[kind]), _quantiles(times), _slower(times, quiet[kind])]
        for clients, quiet, found in (
            ("one client", graph["one_client_ms"], busy["one_client_ms"]),
            ("16 clients", _of_load(graph["load"]), _of_load(busy["load"])),
        )
        for kind, times in found.items()
    ]
    return table([f"{graph['graph']}, p50 / p99, ms", "alone", "while ingesting", "p99, times"], rows)


def _slower(busy: dict[str, float], quiet: dict[str, float]) -> str:
    return number(round(busy["p99"] / quiet["p99"], 1))


def _goals(graph: dict[str, Any]) -> list[Goal]:
    name, alone = graph["graph"], graph["one_client_ms"]
    found = [
        Goal(f"{name}: open a version", COLD_MS, graph["cold_open_ms"], "ms"),
        Goal(f"{name}: memory of an idle server", IDLE_MB, graph["idle_mb"], "MB"),
        Goal(f"{name}: largest map, compressed", MAP_KB, alone["map, 1,200 pixels, 12 levels"]["kb"], "kB"),
    ]
    timed = alone | {"what-if": graph["what_if_ms"]["explain"]}
    for kind, most in GOALS_MS.items():
        for quantile, one in zip(("p50", "p99"), most, strict=True):
            found.append(Goal(f"{name}: {kind}, {quantile}", one, timed[kind][quantile], "ms"))
    if (busy := graph["while_ingesting"]) is not None:
        found.append(
            Goal(
                f"{name}: p99 of 16 clients while ingesting",
                SLOWER_IN_INGESTS * graph["load"]["all"]["p99"],
                busy["load"]["all"]["p99"],
                "ms",
            )
        )
    return found


def _seen(graph: dict[str, Any]) -> list[Goal]:
    name = graph["graph"]
    return [
        Goal(f"{name}: first paint, p50", PAINT_MS, graph["first_paint_ms"]["p50"], "ms"),
        Goal(f"{name}: frame of scrolling, p99", FRAME_MS, graph["frame_ms"]["p99"], "ms"),
    ]


def _quantiles(found: dict[str, float]) -> str:
    return f"{number(found['p50'])} / {number(found['p99'])}"
