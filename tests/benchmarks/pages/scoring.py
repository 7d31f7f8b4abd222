"""Scoring trees, the leaves of trees, and graphs, beside the fused dense path."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

TREE_RATIO, RESTRICTED_RATIO, GRAPH_RATIO = 180, 500, 15
GOAL_OBSERVED = 1000

_DENSE = """\
The dense path is a float32 matrix product over blocks of rows of uint8 distances, squared as they are read,
with a running argmin; it depends on the kernels that the BLAS picks, so each is measured: as the
environment pins them, and as the BLAS chooses."""

TREE = f"""\
`python -m tests.benchmarks.bench_tree_scoring`: numpy alone. {_DENSE} All flat rows have one answer, peaked
ones have some 170."""

TREE_PROFILE = """\
the ratio moves with the dense path: kernels with AVX-512 are half as fast again as the pinned ones, and the
tree's own time hardly changes."""

RESTRICTED = f"""\
`python -m tests.benchmarks.bench_restricted_scoring`: only leaves may answer; compiled and numpy-only
search, both equal to the dense scorer in index, value and number of ties, the five best ranked as well.
{_DENSE}"""

RESTRICTED_PROFILE = """\
of 3.9 ms for peaked rows the compiled search takes 2.4 and the plain sums of the finalists 1.0; ranking them
is the rest. With the kernels that the BLAS chooses here, the dense path is 1.6 times as fast and the search,
which uses none, is as it was."""

GRAPH = f"""\
`python -m tests.benchmarks.bench_graph_scoring`: rows of distances reduced (merged, dominated ones
dropped), then a ball bound; equal to the dense scorer in index, value and number of ties. Votes give five
observed labels one vote each. {_DENSE}"""

GRAPH_PROFILE = """\
of the time for peaked rows two thirds are the sums over the rows of the balls that remain, some 580 products
of a few rows each; a sixth is sifting the balls, a tenth completing ties over the rows dropped. Such small
products gain little from wider kernels, the dense path a third of its time."""


def kernels(document: dict[str, Any]) -> str:
    """Which kernels the BLAS used, and why."""
    pinned = document["blas_kernels_pinned_to"]
    return f"{document['blas'][0].split()[2]}, {'pinned' if pinned else 'as it chooses'}"


def tree(runs: list[Run]) -> Section:
    """Write tree scoring."""
    goals, body = [], [_graph(runs)]
    columns = [
        "K",
        "rows",
        "probabilities",
        "columns",
        "prepare ms",
        "tree ms",
        "dense ms",
        "Gflop/s",
        "ratio",
    ]
    fields = ["n_observed", "n_samples", "probabilities", "columns", "prepare_ms", "tree_ms", "dense_ms"]
    fields += ["dense_gflops", "ratio"]
    for document in _documents(runs):
        for setting in document["settings"]:
            if setting["n_observed"] == GOAL_OBSERVED:
                what = f"{setting['probabilities']}, {setting['columns']}, BLAS {kernels(document)}"
                goals.append(Goal(what, TREE_RATIO, setting["ratio"], "x"))
        body.append(_settings(document, columns, fields))
    return Section("Tree scoring", runs, TREE, goals, body, TREE_PROFILE)


def restricted(runs: list[Run]) -> Section:
    """Write the scoring of leaves."""
    goals, body = [], [f"{_graph(runs)} {runs[0]['document']['n_allowed']:,} leaves may answer."]
    columns = ["K", "rows", "probabilities", "compiled ms", "numpy ms", "compiled, 5 best", "numpy, 5 best"]
    columns += ["dense ms", "Gflop/s", "ratio compiled", "ratio numpy", "answers", "mean ties"]
    fields = ["n_observed", "n_samples", "probabilities", "compiled_ms", "numpy_ms", "compiled_top_5_ms"]
    fields += [
        "numpy_top_5_ms",
        "dense_ms",
        "dense_gflops",
        "ratio_compiled",
        "ratio_numpy",
        "distinct_answers",
    ]
    fields += ["mean_n_tied"]
    for document in _documents(runs):
        for setting in document["settings"]:
            what = f"{setting['probabilities']}, compiled, BLAS {kernels(document)}"
            goals.append(Goal(what, RESTRICTED_RATIO, setting["ratio_compiled"], "x"))
        body.append(_settings(document, columns, fields))
    return Section("Scoring the leaves of a tree", runs, RESTRICTED, goals, body, RESTRICTED_PROFILE)


def graph(runs: list[Run]) -> Section:
    """Write the scoring of graphs."""
    first = runs[0]["document"]
    rows = first["rows"]
    goals, body = [], [_graph(runs)]
    body.append(
        f"K = {first['n_observed']:,}, {first['n_samples']:,} rows of probabilities. Of {rows['all']:,} rows "
        f"of distances {rows['distinct']:,} are distinct and {rows['kept']:,} are kept, in {rows['balls']:,} "
        f"balls; distances take {first['distances_seconds']} s, the reduction {first['prepare_seconds']} s."
    )
    columns = ["probabilities", "reduced ms", "5 best ms", "dense ms", "Gflop/s", "ratio", "ratio 5 best"]
    columns += ["answers", "mean ties"]
    fields = ["probabilities", "reduced_ms", "top_5_ms", "dense_ms", "dense_gflops", "ratio", "ratio_top_5"]
    fields += ["distinct_answers", "mean_n_tied"]
    for document in _documents(runs):
        for setting in document["settings"]:
            what = f"{setting['probabilities']}, BLAS {kernels(document)}"
            goals.append(Goal(what, GRAPH_RATIO, setting["ratio"], "x"))
        body.append(_settings(document, columns, fields))
    return Section("Scoring the labels of a graph", runs, GRAPH, goals, body, GRAPH_PROFILE)


def _documents(runs: list[Run]) -> list[dict[str, Any]]:
    return [run["document"] for run in runs]


def _graph(runs: list[Run]) -> str:
    return f"{graph_line(runs[0]['document']['graph'])}."


def _settings(document: dict[str, Any], columns: list[str], fields: list[str]) -> str:
    rows = [
        [value if isinstance(value := setting[field], str) else number(value) for field in fields]
        for setting in document["settings"]
    ]
    return f"BLAS kernels {kernels(document)} ({document['blas'][0]}):\n\n{table(columns, rows)}"
