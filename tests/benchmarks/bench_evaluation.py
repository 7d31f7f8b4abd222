"""`adapter.evaluate` on files of the sizes that the paper's models have: rows a second and memory.

    python -m tests.benchmarks.bench_evaluation [--rows 500]

Outputs are drawn and written to a `.npy` file of float32 first: a softmax of seeded noise over the observed
labels, or 64 probabilities a row, the rest zero. Truths are any labels of the space. Each case is evaluated
in a process of its own, all six rules with 1,000 resamples; the peak of memory is counted beyond what the
process held before, bundle and truths among it, the file among neither. Before that, the first 200 rows are
evaluated, and the mean squared distance of the Fréchet mean and of argmax compared with sums over distances
that the space measures. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter import Adapter, build_bundle, evaluate
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import category_graph, describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document

SEED = 0
CHECKED = 200
LISTED = 64
DRAWN_AT_ONCE = 1 << 22


def all_categories() -> tuple[str, LabelGraph]:
    """Return the graph of 325,056 labels, and what it is called."""
    return "category_graph", category_graph()


CASES: dict[str, tuple[Callable[[], tuple[str, LabelGraph]], int, int | None, bool]] = {
    "82,115 labels, 1,000 observed": (noun_tree, 50_000, 1000, False),
    "325,056 labels, 1,000 observed": (all_categories, 10_000, 1000, False),
    "325,056 labels, all observed, 64 a row": (all_categories, 10_000, None, True),
    "325,056 labels, all observed, none zero": (all_categories, 240, None, False),
}
"""Graph, rows and observed labels (None: all) of each case, and whether a row lists 64 of them alone."""


def write_outputs(path: Path, n_rows: int, n_observed: int, few: bool, rng: np.random.Generator) -> None:
    """Draw probabilities and write them as a file."""
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_observed))
    if few:
        first = rng.integers(0, n_observed - LISTED, n_rows)
        for i, at in enumerate(first.tolist()):
            out[i, at : at + LISTED] = rng.dirichlet(np.full(LISTED, 0.2))
        return
    step = max(1, DRAWN_AT_ONCE // n_observed)
    for start in range(0, n_rows, step):
        block = np.exp(rng.gumbel(scale=2, size=(min(step, n_rows - start), n_observed)))
        out[start : start + len(block)] = block / block.sum(axis=1, keepdims=True)


def check(graph: LabelGraph, adapter: Adapter, P: NDArray[np.float32], truth: list[str]) -> None:
    """Compare two figures with the plain sum over what the space measures."""
    result, space = evaluate(adapter, P, truth, resamples=1), metric_space(graph, metric="tree")
    answers = {"frechet_mean": adapter.predict(P), "argmax": [adapter.observed[i] for i in P.argmax(axis=1)]}
    for rule, keys in answers.items():
        pairs = zip(space.index(keys), space.index(truth), strict=True)
        squares = [float(space.distances([a], [b])[0, 0]) ** 2 for a, b in pairs]
        found = result[rule].all.mean_squared_distance
        assert abs(found - np.mean(squares)) <= 1e-9 * found, rule


def measure(case: str, n_rows: int | None) -> None:
    """Evaluate one case in this process, and print its figures."""
    make, most, n_observed, listed = CASES[case]
    n_rows = most if n_rows is None else min(n_rows, most)
    rng = np.random.default_rng(SEED)
    name, graph = make()
    n_observed = graph.n_labels if n_observed is None else n_observed
    observed = np.sort(rng.choice(graph.n_labels, n_observed, replace=False))
    truth = graph.keys.take(rng.integers(0, graph.n_labels, n_rows))
    adapter = Adapter(build_bundle(graph, graph.keys.take(observed), metric="tree"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outputs.npy"
        write_outputs(path, n_rows, n_observed, listed, rng)
        few = min(CHECKED, n_rows, max(1, (1 << 22) // n_observed))
        check(graph, adapter, np.load(path, mmap_mode="r")[:few], list(truth[:few]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        wall, own = time.perf_counter(), time.process_time()
        result = evaluate(adapter, OutputFile(path), truth)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        most_held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        figures = {
            "graph": describe(name, graph),
            "n_rows": n_rows,
            "n_observed": n_observed,
            "file_mb": path.stat().st_size >> 20,
            "rules": len(result.rules),
            "wall_s": round(wall, 2),
            "processor_s": round(own, 2),
            "before_mb": before,
            "peak_mb": most_held,
        }
    json.dump(figures, sys.stdout)


def main() -> None:
    """Measure every case and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, help="rows of each case, if fewer than its own")
    parser.add_argument("--case", choices=CASES, help="measure one alone, in this process")
    options = parser.parse_args()
    one_thread()
    if options.case:
        measure(options.case, options.rows)
        return
    cases: dict[str, Any] = {}
    for case in CASES:
        command = [sys.executable, "-m", "tests.benchmarks.bench_evaluation", "--case", case]
        command += [] if options.rows is None else ["--rows", str(options.rows)]
        cases[case] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print_document("evaluation", SEED, cases=cases)


if __name__ == "__main__":
    main()
