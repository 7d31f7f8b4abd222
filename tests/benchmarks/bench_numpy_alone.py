"""What callers of an adapter pay where numba is not installed, against numpy's own softmax; one thread.

    python -m tests.benchmarks.bench_numpy_alone [--samples 1024] [--observed 1000] [--calls 200]

Labels, bundles and rows are those of `bench_callers`. A process in which numba cannot be imported opens each
bundle, and answers a batch and single rows through the public API; before anything is timed, its answers are
compared with those of this process, which compiles. Beside them stands the softmax of the same logits in
float64 in numpy, measured in the same process; ratios are to this softmax, of as many rows. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.adapter.outputs.outputkinds import OutputKind
from tests.benchmarks.baselines import softmax
from tests.benchmarks.bench_callers import REPEATS, SCALE, SEED, SPACES, one_row
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds

KINDS = ("probabilities", "logits")


def measured_without_numba(folder: Path, calls: int) -> dict[str, Any]:
    """Check and time every bundle in `folder`, in a process that has not loaded numba and cannot."""
    if "numba" in sys.modules:
        raise SystemExit("numba is loaded already")
    cast(dict[str, Any], sys.modules)["numba"] = None
    rows = {kind: np.load(folder / f"{kind}.npy") for kind in KINDS}
    exact = rows["logits"].astype(np.float64)
    one = exact[:1].copy()
    batch_ms = 1e3 * statistics.median(seconds(lambda: softmax(exact), REPEATS))
    one_us = one_row(lambda: softmax(one), calls)
    bundles: dict[str, Any] = {}
    for labels in SPACES:
        for kind, given in rows.items():
            adapter = Adapter.load(folder / f"{labels}.safetensors", outputs=cast(OutputKind, kind))
            expected = np.load(folder / f"{labels}-{kind}.npy")
            assert (adapter.predict_indices(given) == expected).all(), (labels, kind)
            row = given[0].copy()
            assert adapter.predict(row) == [adapter.keys[int(expected[0])]], (labels, kind)
            taken = 1e3 * statistics.median(seconds(lambda a=adapter, x=given: a.predict_indices(x), REPEATS))
            single = one_row(lambda a=adapter, x=row: a.predict(x), calls)
            bundles[kind if labels == "all" else f"{kind}, {labels}"] = {
                "batch_ms": round(taken, 2),
                "ratio_batch": round(taken / batch_ms, 2),
                "one_row_us": single,
                "ratio_one_row": round(single / one_us, 2),
            }
    return {"softmax_batch_ms": round(batch_ms, 2), "softmax_one_row_us": one_us, "bundles": bundles}


def prepare(folder: Path, n_samples: int, n_observed: int) -> dict[str, object]:
    """Write bundles, rows and expected answers into `folder`; describe the label graph."""
    name, graph = noun_tree()
    rng = np.random.default_rng(SEED)
    observed = graph.keys.take(rng.choice(graph.n_labels, n_observed, replace=False))
    logits = (SCALE * rng.standard_normal((n_samples, n_observed))).astype(np.float32)
    rows = dict(zip(KINDS, (softmax(logits), logits), strict=True))
    for kind, given in rows.items():
        np.save(folder / f"{kind}.npy", given)
    for labels, (metric, allowed) in SPACES.items():
        bundle = build_bundle(graph, observed, metric=metric, labels=allowed)
        bundle.save(folder / f"{labels}.safetensors")
        for kind, given in rows.items():
            adapter = Adapter(bundle, outputs=cast(OutputKind, kind)).warm()
            np.save(folder / f"{labels}-{kind}.npy", adapter.predict_indices(given))
    return describe(name, graph)


def main(arguments: list[str] | None = None) -> None:
    """Prepare everything, measure in a process without numba, and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--observed", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=200, help="calls of one row in each measurement")
    parser.add_argument("--prepared", type=Path, help="measure what was prepared in this folder")
    options = parser.parse_args(arguments)
    one_thread()
    if options.prepared:
        print(json.dumps(measured_without_numba(options.prepared, options.calls)))
        return
    with tempfile.TemporaryDirectory() as folder:
        graph = prepare(Path(folder), options.samples, options.observed)
        command = [sys.executable, "-m", "tests.benchmarks.bench_numpy_alone", "--prepared", folder]
        command += ["--calls", str(options.calls)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print_document(
        "numpy alone",
        SEED,
        graph=graph,
        n_samples=options.samples,
        n_observed=options.observed,
        **json.loads(done.stdout),
    )


if __name__ == "__main__":
    main()
