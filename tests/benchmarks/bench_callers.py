"""What callers pay for a call of an adapter, for every form of outputs, in one process and on one thread.

    python -m tests.benchmarks.bench_callers [--samples 1024] [--observed 1000]

The labels are WordNet's nouns where WordNet is installed, else those of a seeded synthetic tree of the same
size. Bundles are those of the tree of primary parents, of its leaves alone, and of the graph of all parents,
as a block of distances. *Cold* calls come after the caches of the processor were filled with other data;
*warm* calls follow one another; calls *after a product* follow one row's product with the last matrix of a
model, which gives the row. Beside the adapter stand the compiled search alone, the softmax and the argmax
that numpy or PyTorch code would compute, and the dense path over distinct rows of distances that a user can
write in one line; null: PyTorch is not installed. The answers of every form are compared with those for
float64 before anything is timed. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, Literal

import ml_dtypes
import numpy as np

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.rows.rowgroups import group_rows
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from tests.benchmarks.baselines import (
    check_means,
    dense_in_torch,
    dense_over_distinct_rows,
    distinct_squares,
    softmax,
    softmax_in_torch,
)
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed
from tests.decisions import Answers, answers_of

SEED = 0
SCALE = 4.0  # of the logits, which makes rows as peaked as those of a trained classifier
REPEATS = 9
SPACES: dict[str, tuple[Literal["tree", "graph"], str]] = {
    "all": ("tree", "all"),
    "leaves": ("tree", "leaves"),
    "graph": ("graph", "all"),
}
"""Metric and allowed labels; a bundle of a graph holds a block of distances."""


def forms(values: np.ndarray) -> dict[str, Any]:
    """Return the same numbers in every form that callers give; those in half precision are rounded."""
    wide = np.zeros((len(values), 2 * values.shape[1]), dtype=np.float32)
    wide[:, ::2] = values
    return {
        "float32": values,
        "float64": values.astype(np.float64),
        "float16": values.astype(np.float16),
        "bfloat16": values.astype(ml_dtypes.bfloat16),
        "Fortran order": np.asfortranarray(values),
        "every other column": wide[:, ::2],
    }


class Model:
    """The last matrix of a model, and what comes into it: ``n_samples`` rows of ``n_hidden`` numbers."""

    def __init__(self, n_samples: int, n_hidden: int, n_observed: int) -> None:
        rng = np.random.default_rng(SEED)
        self.n_samples = n_samples
        self._hidden = rng.standard_normal((n_samples, n_hidden), dtype=np.float32)
        self._matrix = rng.standard_normal((n_hidden, n_observed), dtype=np.float32)
        self._matrix *= SCALE / np.sqrt(n_hidden)

    def logits(self, i: int) -> np.ndarray:
        """Return one row of logits, by one product that reads the whole matrix."""
        return np.asarray(self._hidden[i : i + 1] @ self._matrix)


def after(other_data: np.ndarray, work: Callable[[], object]) -> float:
    """Median seconds of calls, each after `other_data` has filled the caches."""
    cold = []
    for _ in range(REPEATS):
        other_data += 1
        cold += seconds(work, 1)
    return statistics.median(cold)


def both(work: Callable[[], object], other_data: np.ndarray) -> dict[str, float]:
    """Median milliseconds of calls after `other_data` has filled the caches, and of calls after these."""
    work()
    taken = {"cold": after(other_data, work), "warm": statistics.median(seconds(work, REPEATS))}
    return {way: round(1e3 * time_of, 3) for way, time_of in taken.items()}


def one_row(work: Callable[[], object], calls: int) -> float:
    """Microseconds of one warm call."""
    taken = seconds(lambda: [work() for _ in range(calls)], REPEATS)
    return round(1e6 * statistics.median(taken) / calls, 1)


def shared(adapter: Adapter, rows: np.ndarray, n_rows: int) -> dict[str, float]:
    """Wall milliseconds of `n_rows` rows with one and with two threads."""
    many = np.tile(rows, (-(-n_rows // len(rows)), 1))[:n_rows]
    found = {}
    for threads in (1, 2):
        taken = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            adapter.predict_indices(many, threads=threads)
            taken.append(time.perf_counter() - begin)
        found[f"threads_{threads}_ms"] = round(1e3 * min(taken), 1)
    return found | {"ratio": round(found["threads_1_ms"] / found["threads_2_ms"], 2)}


def between_products(adapter: Adapter, model: Model, other_data: np.ndarray) -> dict[str, float]:
    """Microseconds of `Adapter.predict` of one row: cold, after a product of a model, and warm; medians.

    As in a model server, each product gives the row for the next call. It leaves its weights in the caches.
    """
    outputs = softmax if adapter.outputs == "probabilities" else np.asarray
    rows = [outputs(model.logits(i)) for i in range(model.n_samples)]
    answers, taken = [], []
    for i in range(model.n_samples):
        row = outputs(model.logits(i))
        used, answer = timed(lambda row=row: adapter.predict(row))
        taken.append(used)
        answers += answer
    assert answers == adapter.predict(np.concatenate(rows))
    row = rows[0]
    return {
        "cold": round(1e6 * after(other_data, lambda: adapter.predict(row)), 1),
        "after a product": round(1e6 * statistics.median(taken), 1),
        "warm": one_row(lambda: adapter.predict(row), model.n_samples),
    }


def paths_beside(
    distances: np.ndarray, decide: Answers, rows: dict[str, np.ndarray], other_data: np.ndarray
) -> dict[str, dict[str, float] | None]:
    """Milliseconds of the search alone and of the dense paths over distinct rows, their answers checked."""
    P, logits = rows["probabilities"], rows["logits"]
    squares, first = distinct_squares(distances)
    ways = {
        "the compiled search alone": (P, decide),
        "numpy: distinct rows, product, argmin": (P, dense_over_distinct_rows(squares, first)),
        "torch: distinct rows, product, argmin": (P, dense_in_torch(squares, first)),
        "torch: softmax, distinct rows, product, argmin": (logits, dense_in_torch(squares, first, "logits")),
    }
    decided = decide(P)
    assert decided is not None
    least = (distances[decided].astype(np.float64) ** 2 * P).sum(axis=1)
    for given, answers in ways.values():
        if answers is not None:
            check_means(distances, answers(given), P, least)
    return {way: beside(answers, given, other_data) for way, (given, answers) in ways.items()}


def beside(
    work: Callable[[np.ndarray], object] | None, given: np.ndarray, other_data: np.ndarray
) -> dict[str, float] | None:
    """Return both times of a path; None where what it needs is not installed."""
    return None if work is None else both(lambda: work(given), other_data)


def main(arguments: list[str] | None = None) -> None:
    """Run every form and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=500, help="calls of one row in each measurement")
    parser.add_argument("--hidden", type=int, default=2048, help="rows of the model's last matrix")
    parser.add_argument("--other-data", type=int, default=1 << 28, help="bytes, more than the caches hold")
    parser.add_argument("--shared-rows", type=int, default=100_000, help="rows that threads share")
    options = parser.parse_args(arguments)
    other = np.zeros(options.other_data // 8)
    one_thread()
    name, graph = noun_tree()
    rng = np.random.default_rng(SEED)
    observed = graph.keys.take(rng.choice(graph.n_labels, options.observed, replace=False))
    logits = (SCALE * rng.standard_normal((options.samples, options.observed))).astype(np.float32)
    rows = {"probabilities": softmax(logits), "logits": logits}
    model = Model(options.calls, options.hidden, options.observed)
    batches: dict[str, Any] = {}
    single: dict[str, float] = {}
    products: dict[str, Any] = {}
    threads: dict[str, Any] = {}
    for labels, (metric, allowed) in SPACES.items():
        bundle = build_bundle(graph, observed, metric=metric, labels=allowed)
        for kind, values in rows.items():
            adapter = Adapter(bundle, outputs=kind).warm(5)
            named = kind if labels == "all" else f"{kind}, {labels}"
            for form, given in forms(values).items():
                exact = adapter.top_k(np.asarray(given, dtype=np.float64), 1).indices[:, 0]
                assert (adapter.predict_indices(given) == exact).all(), (named, form)
                batches[f"{named}, {form}"] = both(lambda a=adapter, x=given: a.predict_indices(x), other)
            batches[f"{named}, keys as text"] = both(lambda a=adapter, x=values: a.predict(x), other)
            for k in (1, 5):
                batches[f"{named}, top {k}"] = both(lambda a=adapter, x=values, k=k: a.top_k(x, k), other)
            row, listed = values[0].copy(), values[0].tolist()
            single[named] = one_row(lambda a=adapter, x=row: a.predict_indices(x), options.calls)
            single[f"{named}, top 5"] = one_row(lambda a=adapter, x=row: a.top_k(x, 5), options.calls)
            single[f"{named}, a list"] = one_row(
                lambda a=adapter, x=listed: a.predict_indices(x), options.calls
            )
            products[named] = between_products(adapter, model, other)
            threads[named] = shared(adapter, values, options.shared_rows)
    P = rows["probabilities"]
    beside_ms: dict[str, Any] = {
        "numpy: argmax": both(lambda: P.argmax(axis=1), other),
        "numpy: softmax in float32": both(lambda: softmax(logits), other),
        "torch: softmax in float32": None,
    }
    in_torch = softmax_in_torch()
    if in_torch is not None:
        np.testing.assert_allclose(in_torch(logits), P, rtol=1e-3, atol=1e-6)
        beside_ms["torch: softmax in float32"] = both(lambda: in_torch(logits), other)
    tree = metric_space(graph, "tree")
    assert isinstance(tree, TreeSpace)
    points = tree.points.indices(observed)
    beside_ms |= paths_beside(
        tree.distances(cols=points), answers_of(TreeScorer(tree, points, compiled=True)), rows, other
    )
    block = metric_space(graph, "graph").distances(cols=points)
    search = GraphScorer(block, groups=group_rows(block), compiled=True)
    of_graph = paths_beside(block, answers_of(search), rows, other)
    beside_ms |= {f"{way}, graph": taken for way, taken in of_graph.items()}
    print_document(
        "what callers pay",
        SEED,
        graph=describe(name, graph),
        n_samples=options.samples,
        n_observed=options.observed,
        n_hidden=options.hidden,
        other_data=options.other_data,
        cores=os.cpu_count(),
        batches_ms=batches,
        beside_ms=beside_ms,
        one_row_us=single,
        one_row_in_a_server_us=products,
        shared_rows=options.shared_rows,
        shared_ms=threads,
    )


if __name__ == "__main__":
    main()
