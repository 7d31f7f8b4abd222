"""Scoring the labels of a graph from grouped rows of distances, against the fused dense path; one thread.

    python -m tests.benchmarks.bench_graph_scoring [--samples 1024] [--observed 1000]

The graph is WordNet's nouns with all their parents where WordNet is installed, edges taken both ways, else a
seeded synthetic hierarchy of several parents. Rows of probabilities and the fused dense path are those of
`bench_tree_scoring`; votes give five observed labels one vote each. Both searches, compiled and numpy alone,
are timed; beside them stands the product over distinct rows of distances, as in `bench_tree_scoring`. Answers
are checked against `DenseScorer` before anything is timed: index, value and number of ties. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.rows.rowgroups import group_rows
from tests.benchmarks.bench_tree_scoring import SEED, fused_dense, over_distinct_rows, probabilities
from tests.benchmarks.graphs import describe, noun_graph
from tests.benchmarks.measuring import one_thread, print_document, seconds

TOP = 5


def rows_of(kind: str, n_samples: int, n_observed: int) -> np.ndarray:
    """Probabilities, or five votes."""
    if kind != "votes":
        return probabilities(kind, n_samples, n_observed)
    rng = np.random.default_rng(SEED)
    rows = np.zeros((n_samples, n_observed), dtype=np.float32)
    for row in rows:
        row[rng.choice(n_observed, 5, replace=False)] = 1
    return rows


def measure(
    distances: np.ndarray, scorer: GraphScorer, in_numpy: GraphScorer, kind: str, n_samples: int
) -> dict[str, object]:
    """Check and time one setting."""
    weights = rows_of(kind, n_samples, distances.shape[1])
    result = scorer.score(weights)
    dense = DenseScorer(distances)
    for a, b in (
        (scorer.score(weights[:256]), dense.score(weights[:256])),
        (scorer.score(weights[:32], TOP), dense.score(weights[:32], TOP)),
        (in_numpy.score(weights), result),
    ):
        assert (a.index == b.index).all()
        assert (a.value == b.value).all()
        assert (a.n_tied == b.n_tied).all()
    np.testing.assert_allclose(fused_dense(distances, weights)[1], result.value, rtol=1e-3)
    taken = seconds(lambda: scorer.score(weights), 5)
    baseline = statistics.median(seconds(lambda: fused_dense(distances, weights), 3))
    reduced = statistics.median(taken + seconds(lambda: scorer.score(weights), 4))
    top = statistics.median(seconds(lambda: scorer.score(weights, TOP), 3))
    slow = statistics.median(seconds(lambda: in_numpy.score(weights), 3))
    return {
        "probabilities": kind,
        "reduced_ms": round(1e3 * reduced, 1),
        "numpy_ms": round(1e3 * slow, 1),
        f"top_{TOP}_ms": round(1e3 * top, 1),
        "dense_ms": round(1e3 * baseline, 1),
        "dense_gflops": round(2.0 * distances.size * n_samples / baseline / 1e9, 1),
        **over_distinct_rows(distances, weights, result.value, reduced),
        "ratio": round(baseline / reduced, 1),
        "ratio_numpy": round(baseline / slow, 1),
        f"ratio_top_{TOP}": round(baseline / top, 1),
        "distinct_answers": len(np.unique(result.index)),
        "mean_n_tied": round(float(result.n_tied.mean()), 3),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, default=1000)
    options = parser.parse_args()
    one_thread()
    name, graph = noun_graph()
    space = metric_space(graph, "graph")
    rng = np.random.default_rng(SEED + options.observed)
    begin = time.perf_counter()
    distances = space.distances(cols=rng.choice(space.n_points, options.observed, replace=False))
    measured = time.perf_counter() - begin
    begin = time.thread_time()
    groups = group_rows(distances)
    prepared = time.thread_time() - begin
    scorer = GraphScorer(distances, groups=groups, compiled=True)
    in_numpy = GraphScorer(distances, groups=groups, compiled=False)
    figures = len(distances), groups.n_classes, groups.n_groups
    settings = [
        measure(distances, scorer, in_numpy, kind, options.samples) for kind in ("flat", "peaked", "votes")
    ]
    print_document(
        "scoring a graph from grouped rows against the fused dense path",
        SEED,
        graph=describe(name, graph),
        n_observed=options.observed,
        n_samples=options.samples,
        distances_seconds=round(measured, 2),
        prepare_seconds=round(prepared, 2),
        rows=dict(zip(("all", "distinct", "groups"), figures, strict=True)),
        settings=settings,
    )


if __name__ == "__main__":
    main()
