"""Tree scoring against the fused dense path, in one process and on one thread.

    python -m tests.benchmarks.bench_tree_scoring [--samples 1024] [--observed 50 1000]

The graph is the tree of primary parents of WordNet's nouns where WordNet is installed, else a seeded
synthetic tree of the same size. The fused dense path is a float32 matrix product over blocks of rows of uint8
distances, squared as they are read, with a running argmin. Answers are checked before anything is timed.
OPENBLAS_CORETYPE chooses the kernels of the dense path; unset, OpenBLAS takes the best the processor has.
Prints one JSON document.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from ontology.geometry import DenseScorer, TreeScorer, TreeSpace, metric_space
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds

SEED = 0
DENSE_BLOCK = 1024


def probabilities(kind: str, n_samples: int, n_observed: int) -> np.ndarray:
    """Rows as a classifier gives them: flat (Dirichlet) or peaked (softmax of wide logits), float32."""
    rng = np.random.default_rng(SEED)
    if kind == "flat":
        rows = rng.exponential(size=(n_samples, n_observed))
    else:
        logits = 4.0 * rng.standard_normal((n_samples, n_observed))
        rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    return rows.astype(np.float32)


def fused_dense(distances: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Argmin and minimum over row blocks of squared uint8 distances; float32 throughout."""
    n_samples, n_observed = weights.shape
    best = np.full(n_samples, np.inf, dtype=np.float32)
    index = np.zeros(n_samples, dtype=np.int64)
    squares = np.empty((DENSE_BLOCK, n_observed), dtype=np.float32)
    values = np.empty((n_samples, DENSE_BLOCK), dtype=np.float32)
    every = np.arange(n_samples)
    for start in range(0, len(distances), DENSE_BLOCK):
        block = distances[start : start + DENSE_BLOCK]
        square, value = squares[: len(block)], values[:, : len(block)]
        np.multiply(block, block, out=square, dtype=np.float32)
        np.matmul(weights, square.T, out=value)
        at = value.argmin(axis=1)
        least = value[every, at]
        better = least < best
        index[better], best[better] = at[better] + start, least[better]
    return index, best


def measure(
    space: TreeSpace, n_observed: int, n_samples: int, kind: str, in_preorder: bool
) -> dict[str, object]:
    """Check and time one setting."""
    rng = np.random.default_rng(SEED + n_observed)
    observed = rng.choice(space.n_points, n_observed, replace=False)
    if in_preorder:
        observed.sort()
    weights = probabilities(kind, n_samples, n_observed)
    prepare = seconds(lambda: TreeScorer(space, observed), 5)
    scorer = TreeScorer(space, observed)
    distances = space.distances(cols=observed)

    result = scorer.score(weights)
    exact = DenseScorer(distances).score(weights[:128])
    assert (result.index[:128] == exact.index).all()
    assert (result.value[:128] == exact.value).all()
    assert (result.n_tied[:128] == exact.n_tied).all()
    np.testing.assert_allclose(fused_dense(distances, weights)[1], result.value, rtol=1e-3)

    tree = seconds(lambda: scorer.score(weights), 15)
    dense = seconds(lambda: fused_dense(distances, weights), 3)
    tree += seconds(lambda: scorer.score(weights), 15)
    operations = 2.0 * distances.size * n_samples
    return {
        "n_observed": n_observed,
        "n_samples": n_samples,
        "probabilities": kind,
        "columns": "canonical order" if in_preorder else "random order",
        "prepare_ms": round(1e3 * min(prepare), 2),
        "tree_ms": round(1e3 * statistics.median(tree), 2),
        "tree_ms_least": round(1e3 * min(tree), 2),
        "dense_ms": round(1e3 * statistics.median(dense), 1),
        "dense_gflops": round(operations / statistics.median(dense) / 1e9, 1),
        "ratio": round(statistics.median(dense) / statistics.median(tree), 1),
        "distinct_answers": len(np.unique(result.index)),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, nargs="+", default=[50, 1000])
    options = parser.parse_args()
    one_thread()
    name, graph = noun_tree()
    begin = time.perf_counter()
    space = metric_space(graph, "tree")
    built = time.perf_counter() - begin
    assert isinstance(space, TreeSpace)
    settings = [
        measure(space, n_observed, options.samples, kind, in_preorder)
        for n_observed in options.observed
        for kind in ("flat", "peaked")
        for in_preorder in (True, False)
    ]
    print_document(
        "tree scoring against the fused dense path",
        SEED,
        graph=describe(name, graph),
        space_seconds=round(built, 3),
        settings=settings,
    )


if __name__ == "__main__":
    main()
