"""Loci where labels are almost tied: information content, and the slowest instances of a generator."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

CONTENT_SECONDS = 5

ABOUT = """\
`python -m tests.benchmarks.bench_hard_loci`: the general locus of leaves with lengths of information
content and K random observed leaves, and hard instances made by `tests/hard_games.py`: distances many of
which are almost tied, and matrix games. A game decides one label. Its value is 0 or one unit above or below
0, its rows and columns differ by powers of two, or its rows are the same in float64. Verdicts are checked
by other random weights, and games by their proofs in whole numbers. No bound on the number of steps is
known that is better than the number of corners; expect the slowest times in the table."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    document = runs[0]["document"]
    content, loci, games = document["information_content"], document["loci"], document["games"]
    k, n = document["n_observed"], document["n_rows"]
    goals = [
        Goal(
            f"leaves with information content, K = {k}, slowest of {content['n_runs']}",
            CONTENT_SECONDS,
            content["worst_s"],
            "s",
        )
    ]
    columns = ["locus of", "runs", "median s", "slowest s", "seed of the slowest", "rows settled exactly"]
    bits = list(next(iter(games.values())))
    body = [
        graph_line(document["graph"]) + ".",
        table(
            columns,
            [
                _row("leaves, information content", content),
                *(_row(f"{n} rows, {kind}", found) for kind, found in loci.items()),
            ],
        ),
        table(
            [f"game of {n} rows and {k} columns, slowest s", *(f"{b} bits" for b in bits)],
            [[kind, *(number(found[b]["worst_s"]) for b in bits)] for kind, found in games.items()],
        ),
    ]
    return Section("Loci of labels that are almost tied", runs, ABOUT, goals, body)


def _row(what: str, found: dict[str, Any]) -> list[object]:
    fields = ("n_runs", "median_s", "worst_s", "worst_seed", "exact")
    return [what, *(number(found[field]) for field in fields)]
