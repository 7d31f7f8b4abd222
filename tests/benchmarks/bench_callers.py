"""What callers pay for a call of an adapter, for every form of outputs, in one process and on one thread.

    python -m tests.benchmarks.bench_callers [--samples 1024] [--observed 1000]

The labels are those of the tree of primary parents of WordNet's nouns where WordNet is installed, else of a
seeded synthetic tree of the same size. *Cold* calls come after the caches of the processor were filled with
other data, as a model's own products fill them; *warm* calls follow one another. Beside the adapter stand the
compiled search alone, the softmax and the argmax that numpy code would compute, and the dense path over
distinct rows of distances that a user can write in one line. The answers of every form are compared with
those for float64 before anything is timed. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from tests.benchmarks.baselines import dense_over_distinct_rows, softmax
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds
from tests.decisions import answers_of

SEED = 0
SCALE = 4.0  # of the logits, which makes rows as peaked as those of a trained classifier
REPEATS = 9


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


def both(work: Callable[[], object], other_data: np.ndarray) -> dict[str, float]:
    """Median milliseconds of calls after `other_data` has filled the caches, and of calls after these."""
    work()
    cold = []
    for _ in range(REPEATS):
        other_data += 1
        cold += seconds(work, 1)
    taken = {"cold": cold, "warm": seconds(work, REPEATS)}
    return {way: round(1e3 * statistics.median(times), 3) for way, times in taken.items()}


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


def main(arguments: list[str] | None = None) -> None:
    """Run every form and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=500, help="calls of one row in each measurement")
    parser.add_argument("--other-data", type=int, default=1 << 28, help="bytes, more than the caches hold")
    parser.add_argument("--shared-rows", type=int, default=100_000, help="rows that threads share")
    options = parser.parse_args(arguments)
    other = np.zeros(options.other_data // 8)
    importlib.import_module("numba")  # a process that has loaded it scores compiled from the first row
    one_thread()
    name, graph = noun_tree()
    rng = np.random.default_rng(SEED)
    observed = graph.keys.take(rng.choice(graph.n_labels, options.observed, replace=False))
    logits = (SCALE * rng.standard_normal((options.samples, options.observed))).astype(np.float32)
    rows = {"probabilities": softmax(logits), "logits": logits}
    batches: dict[str, Any] = {}
    single: dict[str, float] = {}
    threads: dict[str, Any] = {}
    for labels in ("all", "leaves"):
        bundle = build_bundle(graph, observed, metric="tree", labels=labels)
        for kind, values in rows.items():
            adapter = Adapter(bundle, outputs=kind)
            named = kind if labels == "all" else f"{kind}, leaves"
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
            if "threads" in inspect.signature(adapter.predict).parameters:
                threads[named] = shared(adapter, values, options.shared_rows)
    space = metric_space(graph, "tree")
    assert isinstance(space, TreeSpace)
    points = space.points.indices(observed)
    decide = answers_of(TreeScorer(space, points, compiled=True))
    dense = dense_over_distinct_rows(space.distances(cols=points))
    P = rows["probabilities"]
    beside = {
        "the compiled search alone": both(lambda: decide(P), other),
        "numpy: argmax": both(lambda: P.argmax(axis=1), other),
        "numpy: softmax in float32": both(lambda: softmax(logits), other),
        "numpy: distinct rows, product, argmin": both(lambda: dense(P), other),
    }
    print_document(
        "what callers pay",
        SEED,
        graph=describe(name, graph),
        n_samples=options.samples,
        n_observed=options.observed,
        other_data=options.other_data,
        cores=os.cpu_count(),
        batches_ms=batches,
        beside_ms=beside,
        one_row_us=single,
        shared_rows=options.shared_rows,
        threads=threads,
    )


if __name__ == "__main__":
    main()
