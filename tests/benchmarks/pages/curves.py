"""Scoring through an adapter over the number of labels, of observed ones and of rows."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.pages.section import Goal, Run, Section, graph_line, number, table

DENSE_SHARE, STATE_BYTES = 0.85, 16
WAYS = ("tree", "leaves", "graph", "dense")
BESIDE = ("naive", "torch", "fused")

ABOUT = """\
`python -m tests.benchmarks.bench_scoring_curves`: one thread, `Adapter.predict_indices` from peaked rows in
float32, whose columns are in random order; the answers equal those of the dense scorer. *tree*: all labels
of the tree of primary parents; *leaves*: only its leaves; *graph*: all labels of the graph, from a block of
distances; *dense*: that block with exponent 3, which only the dense path supports. For comparison: *naive*
is `np.argmin(D2 @ P.T)` over a stored float32 matrix, *torch* is the same in torch, and *fused* is the
dense path of the parts above. A dash means not measured: too large to store, too slow to wait for, or torch
not installed. The BLAS chooses its kernels."""

PROFILE = """\
bytes are counted for each leaf: 4 for the leaf itself and, at 79 leaves of 100 labels, 14 for the tree. The
other half depends on the 1,000 observed labels and not on N: 290 bytes for each of 2,670 vertices between
them, stored once for the search in numpy and once for the compiled search, and 40 for each of 5,229 groups
of leaves that hang alike; with 10 observed labels, 18 bytes a leaf remain. Besides the matrix product, the
dense path squares distances, looks for the smallest value of each column and reads the rows of weights."""


def section(runs: list[Run]) -> Section:
    """Write the part."""
    (run,) = runs
    document = run["document"]
    points, memory, gemm = document["points"], document["memory"], document["gemm"]
    goals = [
        Goal("the dense path, as a share of the rate of sgemm", DENSE_SHARE, gemm["share"], "x"),
        Goal(
            "state of a tree for each label, without keys",
            STATE_BYTES,
            memory["tree_bytes_per_label"],
            "bytes",
        ),
        Goal("the same, with only leaves allowed", STATE_BYTES, memory["leaves_bytes_per_label"], "bytes"),
    ]
    body = ["; ".join(graph_line(graph) for graph in document["graphs"]) + "."]
    body.append("![Microseconds for each row over N, K and B](pictures/scoring_curves.svg)")
    for field, name in (("n_labels", "N"), ("n_observed", "K"), ("n_samples", "B")):
        body.append(_curve(name, curve_over(points, field)))
    body.append(
        f"Peak memory for {memory['n_samples']:,} rows, without the rows ({number(memory['rows_mb'])} MB): "
        f"tree {number(memory['tree_peak_mb'])} MB, leaves {number(memory['leaves_peak_mb'])} MB, graph "
        f"{number(memory['graph_peak_mb'])} MB. Bytes for each label, without keys: tree "
        f"{number(memory['tree_bytes_per_label'])}, leaves {number(memory['leaves_bytes_per_label'])}, "
        f"graph {number(memory['graph_bytes_per_label'])}. The dense scorer reaches {gemm['dense_gflops']} "
        f"Gflop/s and the product alone {gemm['sgemm_gflops']}."
    )
    return Section("Scoring curves", runs, ABOUT, goals, body, PROFILE)


def curve_over(points: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Return the points that differ in one field from the first, ascending in it."""
    usual = points[0]
    others = [other for other in ("n_labels", "n_observed", "n_samples") if other != field]
    if field == "n_labels":  # K follows N where there are few labels
        others.remove("n_observed")
    curve = [point for point in points if all(point[other] == usual[other] for other in others)]
    if field == "n_labels":
        curve = [point for point in curve if point["n_labels"] != usual["n_labels"] or point is usual]
    return sorted(curve, key=lambda point: point[field])


def _curve(name: str, points: list[dict[str, Any]]) -> str:
    sizes = ["N", "K", "B"]
    fields = ["n_labels", "n_observed", "n_samples"]
    times = [
        [*(number(point[field]) for field in fields), *(_microseconds(point, way) for way in WAYS + BESIDE)]
        for point in points
    ]
    rates = [
        [*(number(point[field]) for field in fields), *(_rate(point, way) for way in WAYS + BESIDE)]
        for point in points
    ]
    columns = [*sizes, *WAYS, *BESIDE]
    return (
        f"Over {name}, microseconds for each row:\n\n{table(columns, times)}\n\n"
        f"Over {name}, thousands of rows a second:\n\n{table(columns, rates)}"
    )


def _microseconds(point: dict[str, Any], way: str) -> str:
    taken = point[way]
    return "-" if taken is None else f"{1e3 * taken / point['n_samples']:,.4g}"


def _rate(point: dict[str, Any], way: str) -> str:
    taken = point[way]
    return "-" if taken is None else f"{point['n_samples'] / taken:,.4g}"
