"""Covers of leaf-only trees."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Run, Section, graph_line, table

ABOUT = """\
`python -m tests.benchmarks.bench_cover`: 1,000 leaves of WordNet's tree, drawn with a seed, and all labels
above them. Only leaves are allowed, as in a tree like ImageNet's. The paper's Algorithm 1 is compared with
`locus_cover(space, method="small")`; both covers are checked by the exact locus before their times count.
*Every cover contains* is `must_observe`, a lower bound on the size of every cover where it is exact. This
part has no goals, only the comparison."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    measured = run["document"]["runs"]
    body = ["; ".join(f"seed {one['seed']}: {graph_line(one['tree'])}" for one in measured) + "."]
    columns = ["seed", "leaves", "every cover contains", "Algorithm 1", "small cover", "lower bound"]
    columns += ["small over Algorithm 1", "seconds: must_observe", "Algorithm 1", "small cover"]
    body.append(table(columns, [_row(one) for one in measured]))
    return Section("Covers", runs, ABOUT, [], body)


def _row(one: dict[str, Any]) -> list[object]:
    required, algorithm, small = one["must_observe"], one["algorithm_1"], one["small_cover"]
    return [
        one["seed"],
        f"{one['n_labels']:,}",
        f"{required['size']} ({required['status']})",
        algorithm["size"],
        f"{small['size']} ({small['status']})",
        small["lower_bound"],
        one["small_cover_keeps_of_algorithm_1"],
        required["seconds"],
        algorithm["seconds"],
        small["seconds"],
    ]
