"""Scoring trees, the leaves of trees, and graphs, compared with the fused dense path."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, paragraph, table

TREE_RATIO, RESTRICTED_RATIO, GRAPH_RATIO = 180, 1000, 25
SORTED_TREE_RATIO, MOVED_TREE_RATIO, LARGE_TREE_RATIO, TREE_READS, SINGLE_ROW = 4000, 3000, 15000, 3, 10
GOAL_OBSERVED = 1000

_DENSE = """\
The dense path is a float32 matrix product over blocks of rows of uint8 distances, squared as they are read,
with a running argmin. It depends on the kernels that the BLAS picks, so it is measured twice: with the
kernels that the environment pins, and with those that the BLAS chooses."""

TREE = f"""\
`python -m tests.benchmarks.bench_tree_scoring --large`: *decisions* are the index and ties of every row,
compiled, as the adapter takes them; *values* adds the Fréchet variance of each answer, to the last bit;
*numpy* is all of this without numba. All three are equal, and equal to the dense scorer. *Reading* is the
maximum of P, the cheapest way to look at each number. *One row* is `Adapter.predict` of a float32 array,
including checks and key. {_DENSE} All flat rows have one answer, peaked rows some 170."""

TREE_PROFILE = """\
of a compiled decision on rows in canonical order, nine tenths are the pass that adds up weights and
moments, and the rest is the descent. Another order of columns adds the gathering of each row, one load for
each number: 0.27 ms for 1,024 rows of 1,000. Loading the place of a column once for two, four or eight rows
makes that 0.27, 0.35 and 0.39 ms, because more rows then wait for their cache lines. In numpy, a third of
the time each goes to transposing the rows, to running sums with the descent, and to plain sums. With
AVX-512 kernels, only the dense path is faster: 1.5 times as fast as with the pinned kernels."""

RESTRICTED = f"""\
`python -m tests.benchmarks.bench_restricted_scoring`: only leaves may be answers. *Decisions* are the index
and ties of every row, compiled, as the adapter takes them; *values* adds the Fréchet variance of each
answer, to the last bit; *numpy* is all of this without numba. All are equal to the dense scorer, and so are
the five best labels of each row. {_DENSE}"""

RESTRICTED_PROFILE = """\
of a decision on peaked rows, about half is spent on putting each row into preorder and on its running sums,
a fifth on the way down to the lowest vertex, and the rest on the search for leaves; *values* add the
distances of some 200 answers and the plain sums. Columns that are already in preorder would save most of
the first part. Prefetching rows saved a fifth of the search. Tried without gain: the gather instructions of
the processor, a copy of the row before the sums, measuring distances stretch by stretch, and the row pass
of the decisions over all labels, which keeps running sums over blocks of 32 instead of every label: 1.5 ms
instead of 1.3 for flat rows, and 2.3 instead of 1.4 for peaked rows, whose search needs more sums than the
pass saves."""

GRAPH = f"""\
`python -m tests.benchmarks.bench_graph_scoring`: equal rows of distances are merged, and the others are put
in nested groups; a search opens the groups that it cannot rule out, compiled or only in numpy. Both are
equal to the dense scorer in index, value and number of ties, and the compiled search also in the five best
labels. *Votes* give one vote to each of five observed labels. {_DENSE}"""

GRAPH_PROFILE = """\
of the time for peaked rows, five sixths are the sums over some 125 groups and rows for each sample, and the
rest is plain sums and reading the weights."""


DISTINCT_COLUMNS = {
    "distinct_ms": "distinct rows ms",
    "ratio_distinct": "ratio distinct rows",
    "torch_ms": "PyTorch ms",
    "ratio_torch": "ratio PyTorch",
}
"""Fields of each setting, and their columns; documents measured before them have none."""

DISTINCT = """\
*Distinct rows* is what a user can write in one line of numpy: one float32 product with the squares of the
distinct rows of distances, found beforehand, and one argmin. *PyTorch* is the same line there, on one thread.
Ratios are to the compiled search; a dash means not measured: too many labels, or PyTorch not installed."""


def kernels(document: dict[str, Any]) -> str:
    """Which kernels the BLAS used, and why."""
    pinned = document["blas_kernels_pinned_to"]
    return f"{document['blas'][0].split()[2]}, {'pinned' if pinned else 'as it chooses'}"


def tree(runs: list[Run]) -> Section:
    """Write tree scoring."""
    graphs = runs[0]["document"]["graphs"]
    goals, body = [], [f"{graph_line(graph)}." for graph in graphs]
    columns = ["N", "K", "rows", "probabilities", "columns", "prepare ms", "decisions ms", "values ms"]
    columns += ["numpy ms", "reading ms", "dense ms", "Gflop/s", "ratio decisions", "ratio values"]
    columns += ["ratio numpy", "one row us"]
    fields = ["n_labels", "n_observed", "n_samples", "probabilities", "columns", "prepare_ms", "compiled_ms"]
    fields += ["values_ms", "numpy_ms", "read_ms", "dense_ms", "dense_gflops", "ratio_compiled"]
    fields += ["ratio_values", "ratio_numpy", "single_predict_us"]
    for document in _documents(runs):
        for setting in document["settings"]:
            if setting["n_observed"] == GOAL_OBSERVED:
                large = setting["n_labels"] != graphs[0]["n_labels"]
                goals += _tree_goals(setting, kernels(document), large)
    body += _settings(runs, columns, fields)
    return Section("Tree scoring", runs, TREE, goals, body, TREE_PROFILE)


def _tree_goals(setting: dict[str, Any], blas: str, large: bool) -> list[Goal]:
    what = f"{setting['probabilities']}, {setting['columns']}, BLAS {blas}"
    if large:
        what = f"{setting['n_labels']:,} labels, {what}"
        return [Goal(f"decisions: {what}", LARGE_TREE_RATIO, setting["ratio_compiled"], "x")]
    in_order = setting["columns"] == "canonical order"
    wanted = SORTED_TREE_RATIO if in_order else MOVED_TREE_RATIO
    goals = [
        Goal(f"decisions: {what}", wanted, setting["ratio_compiled"], "x"),
        Goal(f"numpy: {what}", TREE_RATIO, setting["ratio_numpy"], "x"),
        Goal(f"one row: {what}", SINGLE_ROW, setting["single_predict_us"], "us"),
    ]
    if in_order:
        goals.append(Goal(f"decisions over reading: {what}", TREE_READS, setting["reads"], "times"))
    return goals


def restricted(runs: list[Run]) -> Section:
    """Write the scoring of leaves."""
    goals, body = [], [f"{_graph(runs)} {runs[0]['document']['n_allowed']:,} leaves may be answers."]
    columns = ["K", "rows", "probabilities", "decisions ms", "values ms", "numpy ms", "compiled, 5 best"]
    columns += ["numpy, 5 best", "dense ms", "Gflop/s", "ratio decisions", "ratio values", "ratio numpy"]
    columns += ["answers", "mean ties"]
    fields = ["n_observed", "n_samples", "probabilities", "decisions_ms", "compiled_ms", "numpy_ms"]
    fields += [
        "compiled_top_5_ms",
        "numpy_top_5_ms",
        "dense_ms",
        "dense_gflops",
        "ratio_decisions",
        "ratio_compiled",
        "ratio_numpy",
        "distinct_answers",
    ]
    fields += ["mean_n_tied"]
    for document in _documents(runs):
        for setting in document["settings"]:
            what = f"decisions: {setting['probabilities']}, BLAS {kernels(document)}"
            goals.append(Goal(what, RESTRICTED_RATIO, setting["ratio_decisions"], "x"))
    body += _settings(runs, columns, fields)
    return Section("Scoring the leaves of a tree", runs, RESTRICTED, goals, body, RESTRICTED_PROFILE)


def graph(runs: list[Run]) -> Section:
    """Write the scoring of graphs."""
    first = runs[0]["document"]
    rows = first["rows"]
    goals, body = [], [_graph(runs)]
    body.append(
        f"K = {first['n_observed']:,}, {first['n_samples']:,} rows of probabilities. Of {rows['all']:,} rows "
        f"of distances {rows['distinct']:,} are distinct, in {rows['groups']:,} groups of all sizes; "
        f"distances take {first['distances_seconds']} s, grouping {first['prepare_seconds']} s."
    )
    columns = ["probabilities", "compiled ms", "numpy ms", "compiled, 5 best", "dense ms", "Gflop/s", "ratio"]
    columns += ["ratio numpy", "ratio 5 best", "answers", "mean ties"]
    fields = ["probabilities", "reduced_ms", "numpy_ms", "top_5_ms", "dense_ms", "dense_gflops", "ratio"]
    fields += ["ratio_numpy", "ratio_top_5", "distinct_answers", "mean_n_tied"]
    for document in _documents(runs):
        for setting in document["settings"]:
            what = f"{setting['probabilities']}, BLAS {kernels(document)}"
            goals.append(Goal(what, GRAPH_RATIO, setting["ratio"], "x"))
    body += _settings(runs, columns, fields)
    return Section("Scoring the labels of a graph", runs, GRAPH, goals, body, GRAPH_PROFILE)


def _documents(runs: list[Run]) -> list[dict[str, Any]]:
    return [run["document"] for run in runs]


def _graph(runs: list[Run]) -> str:
    return f"{graph_line(runs[0]['document']['graph'])}."


def _settings(runs: list[Run], columns: list[str], fields: list[str]) -> list[str]:
    documents = _documents(runs)
    settings = [setting for document in documents for setting in document["settings"]]
    more = [field for field in DISTINCT_COLUMNS if any(field in setting for setting in settings)]
    columns = [*columns, *(DISTINCT_COLUMNS[field] for field in more)]
    found = []
    for document in documents:
        rows = [
            [*(_cell(setting[field]) for field in fields), *(number(setting.get(field)) for field in more)]
            for setting in document["settings"]
        ]
        head = f"BLAS kernels {kernels(document)} ({document['blas'][0]}):"
        found.append(f"{head}\n\n{table(columns, rows)}")
    return [*found, paragraph(DISTINCT)] if more else found


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else number(value)
