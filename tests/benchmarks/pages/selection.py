"""The whole order of classes to collect next."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

WHOLE_ORDER_MS = 100
STARTS = "from "

ABOUT = """\
`python -m tests.benchmarks.bench_selection`: every label of a tree in the order of collection, from none
and from 50 observed. The first 20 picks are compared with a search of the whole tree for each pick, and the
whole order with the paper's search over pairs on a small tree, where that search ends in reasonable time."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    settings = [(tree, key) for tree in document["trees"] for key in tree if key.startswith(STARTS)]
    goals = []
    for tree, start in settings:
        what = f"{tree['graph']}, {tree['n_labels']:,} labels, {start}"
        goals.append(Goal(what, WHOLE_ORDER_MS, tree[start]["whole_order_ms"], "ms"))
    pairs = document["pair_search"]
    fields = ["n_labels", "n_observed", "n_picks", "pair_search_ms", "whole_order_ms", "ratio"]
    columns = ["tree", "start", "picks", "first gains", "whole order ms", "least ms", "first call ms"]
    beside = ["labels", "observed", "picks", "pair search ms", "whole order ms", "ratio"]
    body = [
        "; ".join(graph_line(tree) for tree in document["trees"]) + ".",
        table(columns, [_row(tree, start) for tree, start in settings]),
        table(beside, [[number(pairs[field]) for field in fields]]),
    ]
    return Section("Selection order", runs, ABOUT, goals, body)


def _row(tree: dict[str, Any], start: str) -> list[object]:
    found = tree[start]
    gains = ", ".join(map(str, found["gains"]))
    times = [found[field] for field in ("whole_order_ms", "whole_order_ms_least", "first_call_ms")]
    return [tree["graph"], start, number(found["n_picks"]), gains, *times]
