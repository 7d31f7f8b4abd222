"""Loci: tree hulls, pairs compared with the weight grid, the general exact locus."""

from __future__ import annotations

import statistics
from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

HULL_MS, PAIRS_RATIO = 5, 50
GENERAL_SECONDS = {("graph", 10): 3, ("graph", 50): 15, ("leaves of the tree", 250): 10}

ABOUT = """\
`python -m tests.benchmarks.bench_locus_pairs` and `python -m tests.benchmarks.bench_locus`. First, the hull
of a tree after the space is prepared, checked by pruning. Second, the exact locus of every pair, compared
with the paper's Algorithm 2 (its weight grid on the same distances, with as many divisions as the
diameter), checked by witnesses in whole numbers and by envelopes in fractions. Third, the general exact
locus of random observed labels: each witness is scored against every label in whole numbers, and the
verdicts of two seeds are compared. The time of distances is measured separately on the graph (in a column)
and included on the leaves."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    pairs_run, general_run = (run["document"] for run in runs)
    pairs, hulls, settings = pairs_run["pairs"], pairs_run["hulls"], general_run["settings"]
    most = max(hulls, key=lambda hull: hull["ms"])
    goals = [
        Goal(f"hull at {most['n_labels']:,} labels, slowest of the settings", HULL_MS, most["ms"], "ms"),
        Goal(
            f"pairs, K = {pairs['n_observed']}: time of the grid over ours", PAIRS_RATIO, pairs["ratio"], "x"
        ),
    ]
    for setting in settings:
        wanted = GENERAL_SECONDS.get((setting["space"], setting["n_observed"]))
        if wanted is not None:
            what = f"general locus, {setting['space']}, K = {setting['n_observed']}"
            goals.append(Goal(what, wanted, _typical(setting), "s"))
    columns = [
        "pairs",
        "K",
        "diameter",
        "ours ms",
        "weight grid ms",
        "ratio",
        "members",
        "members the grid finds",
    ]
    fields = ["n_observed", "diameter", "exact_ms", "grid_ms", "ratio", "members", "members_of_the_grid"]
    general = ["general locus on", "K", "labels", "distances s", "locus s", "members", "unique"]
    general.append("distinct rows settled by")
    body = [
        graph_line(pairs_run["graph"]) + "; hulls on `taxonomy_tree`.",
        table(["hull of labels", "observed", "members", "ms"], [_hull(hull) for hull in hulls]),
        table(columns, [["all, exact", *(number(pairs[field]) for field in fields)]]),
        table(
            [
                "general locus on",
                "K",
                "labels",
                "distances s",
                "locus s",
                "members",
                "unique",
                "distinct rows settled by",
            ],
            [_general(setting) for setting in settings],
        ),
    ]
    return Section("Loci", runs, ABOUT, goals, body)


def _typical(setting: dict[str, Any]) -> float:
    return float(statistics.median(setting["seconds"]))


def _hull(hull: dict[str, Any]) -> list[object]:
    return [number(hull[field]) for field in ("n_labels", "n_observed", "members", "ms")]


def _general(setting: dict[str, Any]) -> list[object]:
    settled = setting["distinct_rows_settled_by"]
    return [
        setting["space"],
        setting["n_observed"],
        number(setting["n_labels"]),
        setting.get("distance_seconds", "inside"),
        _typical(setting),
        number(setting["n_members"]),
        number(setting["n_unique"]),
        ", ".join(f"{name} {count:,}" for name, count in settled.items()),
    ]
