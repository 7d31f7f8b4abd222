"""Scoring the leaves of a tree, and ranking, against the fused dense path; one process, one thread.

    python -m tests.benchmarks.bench_restricted_scoring [--samples 1024] [--observed 1000]

Graph, rows of probabilities and the fused dense path are those of `bench_tree_scoring`; only leaves may be
answers. Timed are decisions (index and ties) compiled, and scores (those and the values at them) compiled
and in numpy alone; all are checked against `DenseScorer` before that, scores in index, value and number of
ties. Beside them stands the product over distinct rows of distances, as in `bench_tree_scoring`. Prints one
JSON document.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from tests.benchmarks.bench_tree_scoring import SEED, fused_dense, over_distinct_rows, probabilities
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds
from tests.decisions import answers_of

TOP = 5


def measure(space: TreeSpace, n_observed: int, n_samples: int, kind: str) -> dict[str, object]:
    """Check and time one setting."""
    rng = np.random.default_rng(SEED + n_observed)
    observed = rng.choice(space.n_points, n_observed, replace=False)
    weights = probabilities(kind, n_samples, n_observed)
    distances = space.distances(cols=observed)
    dense = DenseScorer(distances)
    exact, ranked = dense.score(weights[:128]), dense.score(weights[:32], TOP)
    document: dict[str, object] = {"n_observed": n_observed, "n_samples": n_samples, "probabilities": kind}

    taken = {}
    for name, compiled in (("compiled", True), ("numpy", False)):
        begin = time.thread_time()
        scorer = RestrictedTreeScorer(space, observed, compiled=compiled)
        result = scorer.score(weights[:128])
        document[f"{name}_first_call_ms"] = round(1e3 * (time.thread_time() - begin), 1)
        for a, b in ((result, exact), (scorer.score(weights[:32], TOP), ranked)):
            assert (a.index == b.index).all()
            assert (a.value == b.value).all()
            assert (a.n_tied == b.n_tied).all()
        taken[name] = statistics.median(seconds(lambda s=scorer: s.score(weights), 15))
        top = statistics.median(seconds(lambda s=scorer: s.score(weights, TOP), 5))
        if compiled:
            decide = answers_of(scorer)
            assert (decide(weights) == scorer.score(weights).index).all()
            taken["decisions"] = statistics.median(seconds(lambda d=decide: d(weights), 40))
            document["decisions_ms"] = round(1e3 * taken["decisions"], 2)
        document[f"{name}_ms"] = round(1e3 * taken[name], 2)
        document[f"{name}_top_{TOP}_ms"] = round(1e3 * top, 2)
    whole = scorer.score(weights)
    np.testing.assert_allclose(fused_dense(distances, weights)[1], whole.value, rtol=1e-3)
    baseline = statistics.median(seconds(lambda: fused_dense(distances, weights), 3))
    return document | {
        "dense_ms": round(1e3 * baseline, 1),
        "dense_gflops": round(2.0 * distances.size * n_samples / baseline / 1e9, 1),
        "ratio_decisions": round(baseline / taken["decisions"], 1),
        "ratio_compiled": round(baseline / taken["compiled"], 1),
        "ratio_numpy": round(baseline / taken["numpy"], 1),
        **over_distinct_rows(distances, weights, whole.value, taken["decisions"]),
        "distinct_answers": len(np.unique(whole.index)),
        "mean_n_tied": round(float(whole.n_tied.mean()), 3),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, nargs="+", default=[1000])
    options = parser.parse_args()
    one_thread()
    name, graph = noun_tree()
    space = metric_space(graph, "tree", "leaves")
    assert isinstance(space, TreeSpace)
    settings = [
        measure(space, n_observed, options.samples, kind)
        for n_observed in options.observed
        for kind in ("flat", "peaked")
    ]
    print_document(
        "scoring the leaves of a tree against the fused dense path",
        SEED,
        graph=describe(name, graph),
        n_allowed=space.n_labels,
        settings=settings,
    )


if __name__ == "__main__":
    main()
