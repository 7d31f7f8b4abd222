"""Tree scoring against the fused dense path, in one process and on one thread.

    python -m tests.benchmarks.bench_tree_scoring [--samples 1024] [--observed 50 1000] [--large]

The graph is the tree of primary parents of WordNet's nouns where WordNet is installed, else a seeded
synthetic tree of the same size; `--large` adds one of 325,056 labels. Timed are decisions (index and ties)
compiled, scores (those and the values at them) compiled and in numpy alone, one row through an adapter, and
the mere reading of the rows, their maximum. The fused dense path is a float32 matrix product over blocks of
rows of uint8 distances, squared as they are read, with a running argmin; beside
it, for up to 100,000 labels, stands the product over distinct rows of distances alone, with one argmin, which
a user can write in one line of numpy or, where it is installed, PyTorch (finding those rows is not timed).
Answers are checked before anything is timed. OPENBLAS_CORETYPE chooses the kernels of the dense path; unset,
OpenBLAS takes the best the processor has. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from tests.benchmarks.baselines import (
    check_means,
    dense_in_torch,
    dense_over_distinct_rows,
    distinct_squares,
)
from tests.benchmarks.graphs import category_graph, describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed
from tests.decisions import answers_of

SEED = 0
DENSE_BLOCK = 1024
LONG_LABELS = 100_000  # of more, the dense path is timed once
DISTINCT_FIELDS = ("distinct_ms", "ratio_distinct", "torch_ms", "ratio_torch")
CHECKED = 32  # rows compared with the dense scorer
CALLS = 500  # of one row each


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


def over_distinct_rows(
    distances: np.ndarray, weights: np.ndarray, least: np.ndarray, ours: float
) -> dict[str, float | None]:
    """Milliseconds of the dense path over distinct rows of distances, and the ratio to `ours`, in seconds.

    Its answers are checked by their means first. None: too many labels, or PyTorch is not installed.
    """
    found: dict[str, float | None] = dict.fromkeys(DISTINCT_FIELDS)
    if len(distances) > LONG_LABELS:
        return found
    squares, first = distinct_squares(distances)
    ways = {
        "distinct": dense_over_distinct_rows(squares, first),
        "torch": dense_in_torch(squares, first),
    }
    for name, dense in ways.items():
        if dense is not None:
            check_means(distances, dense(weights), weights, least)
            taken = statistics.median(seconds(lambda dense=dense: dense(weights), 3))
            found |= {f"{name}_ms": round(1e3 * taken, 1), f"ratio_{name}": round(taken / ours, 1)}
    return found


def single_row(space: TreeSpace, observed: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Microseconds of one call for one row through an adapter, and what it answers checked."""
    adapter = Adapter(build_bundle(space, space.points.take(observed)))
    rows = [row.copy() for row in weights[:CALLS]]
    indices = adapter.predict_indices(weights[: len(rows)])
    assert [adapter.predict(row) for row in rows] == [[adapter.keys[i]] for i in indices.tolist()]
    ways = {"predict": adapter.predict, "indices": adapter.predict_indices}
    return {
        f"single_{name}_us": round(
            1e6 * statistics.median(seconds(lambda call=call: [call(row) for row in rows], 15)) / len(rows), 1
        )
        for name, call in ways.items()
    }


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
    compiled, in_numpy = (TreeScorer(space, observed, compiled=way) for way in (True, False))
    distances = space.distances(cols=observed)

    result = in_numpy.score(weights)
    exact = DenseScorer(distances).score(weights[:CHECKED])
    for other, part in ((exact, slice(CHECKED)), (compiled.score(weights), slice(None))):
        assert (result.index[part] == other.index).all()
        assert (result.value[part] == other.value).all()
        assert (result.n_tied[part] == other.n_tied).all()
    decide = answers_of(compiled)
    assert (decide(weights) == result.index).all()
    dense_repeats = 0 if space.n_labels > LONG_LABELS else 2
    first, (_, least) = timed(lambda: fused_dense(distances, weights))
    np.testing.assert_allclose(least, result.value, rtol=1e-3)

    works = {
        "compiled": (lambda: decide(weights), 40),
        "values": (lambda: compiled.score(weights), 20),
        "numpy": (lambda: in_numpy.score(weights), 10),
        "read": (weights.max, 40),
    }
    taken = {name: seconds(work, repeats) for name, (work, repeats) in works.items()}
    dense = statistics.median([first, *seconds(lambda: fused_dense(distances, weights), dense_repeats)])
    for name, (work, repeats) in works.items():
        taken[name] += seconds(work, repeats)
    median = {name: statistics.median(times) for name, times in taken.items()}
    return {
        "n_labels": space.n_labels,
        "n_observed": n_observed,
        "n_samples": n_samples,
        "probabilities": kind,
        "columns": "canonical order" if in_preorder else "random order",
        "prepare_ms": round(1e3 * min(prepare), 2),
        **{f"{name}_ms": round(1e3 * time_of, 3) for name, time_of in median.items()},
        "dense_ms": round(1e3 * dense, 1),
        "dense_gflops": round(2.0 * distances.size * n_samples / dense / 1e9, 1),
        **over_distinct_rows(distances, weights, result.value, median["compiled"]),
        "ratio_compiled": round(dense / median["compiled"]),
        "ratio_values": round(dense / median["values"]),
        "ratio_numpy": round(dense / median["numpy"], 1),
        "reads": round(median["compiled"] / median["read"], 2),
        **single_row(space, observed, weights),
        "distinct_answers": len(np.unique(result.index)),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, nargs="+", default=[50, 1000])
    parser.add_argument("--large", action="store_true", help="the primary parents of category_graph as well")
    options = parser.parse_args()
    one_thread()
    graphs = [noun_tree()]
    if options.large:
        graphs.append(("category_graph, primary parents", category_graph()))
    settings = []
    for _, graph in graphs:
        space = metric_space(graph, "tree")
        assert isinstance(space, TreeSpace)
        settings += [
            measure(space, n_observed, options.samples, kind, in_preorder)
            for n_observed in (options.observed if graph is graphs[0][1] else options.observed[-1:])
            for kind in ("flat", "peaked")
            for in_preorder in (True, False)
        ]
    print_document(
        "tree scoring against the fused dense path",
        SEED,
        graphs=[describe(name, graph) for name, graph in graphs],
        settings=settings,
    )


if __name__ == "__main__":
    main()
