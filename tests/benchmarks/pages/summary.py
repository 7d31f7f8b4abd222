"""Summaries of a category graph."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

SECONDS, EXTRA_MB = 2, 200

ABOUT = """\
`python -m tests.benchmarks.bench_summary`: partition and quotient graph by each method. Times are processor
time, the best of three runs after a first one that compiles and is checked (a partition, its sizes, its
quotient, its cap, each adjacency entry scanned at most once). Memory is the peak of a separate process
without what it held before. On a small graph, networkx contracts the same picks one neighbor at a time, and
reaches the same partition."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    methods, beside = document["methods"], document["beside_networkx"]
    goals = [Goal(f"{m['method']}: seconds", SECONDS, m["seconds"], "s") for m in methods]
    goals += [
        Goal(f"{m['method']}: memory without the graph", EXTRA_MB, m["extra_mb"], "MB") for m in methods
    ]
    columns = [
        "method",
        "seconds",
        "extra MB",
        "supernodes",
        "cap",
        "largest share",
        "single labels",
        "quotient edges",
    ]
    columns += ["entries scanned", "mean diameter bound of a label"]
    fields = ["n_labels", "n_edges", "target", "seconds", "networkx_seconds", "ratio"]
    body = [
        f"{graph_line(document['graph'])}; to {document['target']:,} supernodes.",
        table(columns, [_row(method) for method in methods]),
        table(
            ["neighbourhood, labels", "edges", "supernodes wanted", "seconds", "networkx seconds", "ratio"],
            [[number(beside[field]) for field in fields]],
        ),
    ]
    return Section("Summaries", runs, ABOUT, goals, body)


def _row(method: dict[str, Any]) -> list[object]:
    return [
        method["method"],
        method["seconds"],
        method["extra_mb"],
        number(method["n_supernodes"]),
        "none" if method["cap"] is None else number(method["cap"]),
        f"{method['largest_share']:.2%}",
        number(method["single"]),
        number(method["quotient_edges"]),
        f"{method['entries_scanned']:,} of {method['adjacency_entries']:,}",
        method["mean_diameter_bound_of_a_label"],
    ]
