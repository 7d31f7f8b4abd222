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
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from ontology.geometry import DenseScorer, TreeScorer, TreeSpace, metric_space
from ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import describe, taxonomy_tree

SEED = 0
DENSE_BLOCK = 1024


def label_graph() -> tuple[str, LabelGraph]:
    """WordNet where it is installed, else the synthetic tree."""
    from ontology.readers import find_wordnet, read

    folder = find_wordnet()
    if folder is None:
        return "taxonomy_tree", taxonomy_tree()
    graph = read(folder).graph
    assert graph is not None
    return "wordnet nouns, primary parents", graph


def probabilities(kind: str, n_samples: int, n_observed: int) -> np.ndarray:
    """Rows as a classifier gives them: flat (Dirichlet) or peaked (softmax of wide logits), float32."""
    rng = np.random.default_rng(SEED)
    if kind == "flat":
        rows = rng.exponential(size=(n_samples, n_observed))
    else:
        logits = 4.0 * rng.standard_normal((n_samples, n_observed))
        rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32)


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


def seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Processor time of each of `repeats` calls; one thread works, so a quiet machine shows the same."""
    taken = []
    for _ in range(repeats):
        begin = time.thread_time()
        work()
        taken.append(time.thread_time() - begin)
    return taken


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


def processor() -> str:
    """Model name of the processor, where the system tells."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, nargs="+", default=[50, 1000])
    options = parser.parse_args()
    name, graph = label_graph()
    with threadpool_limits(1):
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
        blas = [
            "{internal_api} {version} {architecture} threads={num_threads}".format_map(info)
            for info in threadpool_info()
        ]
    document = {
        "benchmark": "tree scoring against the fused dense path",
        "graph": describe(name, graph),
        "space_seconds": round(built, 3),
        "seed": SEED,
        "processor": processor(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": blas,
        "blas_kernels_pinned_to": os.environ.get("OPENBLAS_CORETYPE"),
        "settings": settings,
    }
    json.dump(document, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
