"""Reading, building, registering, opening."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

BUILD_SECONDS, OPEN_SECONDS, EMBEDDED_SECONDS = 3, 0.05, 20
STORES = ("embedded", "neo4j")

ABOUT = """\
`python -m tests.benchmarks.bench_ingest --neo4j URL`: wall-clock seconds of one run in a fresh home, after
the answer was checked: counts, and the digest that is read back. Goals are for the larger graph. Neo4j has
no goals, and its server counts among the other processes."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    largest = max(document["graphs"], key=lambda graph: graph["n_labels"])
    steps = largest["seconds"]
    goals = [
        Goal("build LabelGraph from edges", BUILD_SECONDS, steps["build LabelGraph from edges"], "s"),
        Goal("snapshot open, first", OPEN_SECONDS, steps["snapshot open, first"], "s"),
        Goal("register in the embedded graph", EMBEDDED_SECONDS, largest["embedded"]["register"], "s"),
    ]
    body = [part for graph in document["graphs"] for part in _graph(graph)]
    body.append(f"Peak memory of the whole run: {number(document['peak_memory_mb'])} MB.")
    return Section("Ingest", runs, ABOUT, goals, body)


def _graph(graph: dict[str, Any]) -> list[str]:
    stores = [store for store in STORES if store in graph]
    steps = [[step, f"{seconds:.3f}"] for step, seconds in graph["seconds"].items()]
    loads = [[step, *(f"{graph[store][step]:.3f}" for store in stores)] for step in graph["embedded"]]
    return [
        f"{graph_line(graph)}.",
        table(["step", "seconds"], steps),
        table(["in the graph, seconds", *stores], loads),
    ]
