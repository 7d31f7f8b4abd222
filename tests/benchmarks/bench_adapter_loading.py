"""From an address to the first answer: what `Adapter.load` takes in a fresh process, warm and cold.

    python -m tests.benchmarks.bench_adapter_loading [--processes 7]

Two bundles of 1,000 observed labels: a tree of 325,056 labels, and the distances of WordNet's nouns, uint8.
Each figure is the median over processes of their own. Imports come first and are timed apart, `numpy.ma`
among them, which numpy itself loads on first use; then the bundle is loaded, and one row is answered. *Warm*:
the copy on this machine bears its stamp. *First met*: it is compared with its digest and checked. *Fetched*:
the same after it came over HTTP from this machine. Files are in the memory of the system throughout. Every
answer is compared with that of the space the bundle was made from. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.adapter import Bundle, build_bundle
from labelgrove.ontology.geometry import frechet_mean, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.artifacts import ArtifactStore, open_store
from tests.benchmarks.graphs import LSHTC_LABELS, category_graph, describe, noun_tree
from tests.benchmarks.measuring import print_document

SEED = 0
N_OBSERVED = 1000
ONTOLOGY = "measured"

CHILD = """
import json, sys, time
def now():
    return time.perf_counter(), time.process_time()
begin = now()
import numpy as np
import numpy.ma
from labelgrove.adapter.scorer import Adapter
imported = now()
row = np.load(sys.argv[3])
uri, store = sys.argv[1:3]
before = now()
adapter = Adapter.load(uri, artifacts_url=store)
loaded = now()
answer = adapter.predict(row)
answered = now()
print(json.dumps({"answer": answer[0], "begin": begin, "imported": imported, "before": before,
                  "loaded": loaded, "answered": answered}))
"""

SPANS = {
    "import": ("begin", "imported"),
    "load": ("before", "loaded"),
    "first answer": ("loaded", "answered"),
}


def fresh_process(uri: str, store: str, home: Path, row: Path) -> dict[str, Any]:
    """Load and answer in a process of its own; return its answer and the milliseconds of each step."""
    environment = os.environ | {"GROVE_HOME": str(home), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, uri, store, str(row)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    said = json.loads(done.stdout)
    taken = {
        step: [1e3 * (until - since) for since, until in zip(said[first], said[last], strict=True)]
        for step, (first, last) in SPANS.items()
    }
    return {"answer": said["answer"], "taken": taken}


def medians(runs: list[dict[str, Any]], expected: str) -> dict[str, dict[str, float]]:
    """Check every answer; return the median wall and processor milliseconds of each step."""
    assert {run["answer"] for run in runs} == {expected}
    return {
        step: {
            clock: round(statistics.median(run["taken"][step][i] for run in runs), 1)
            for i, clock in enumerate(("wall_ms", "processor_ms"))
        }
        for step in SPANS
    }


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: str) -> Iterator[str]:
    """Serve a folder over HTTP on this machine; yield the address."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def measured(
    name: str, bundle: Bundle, store: ArtifactStore, home: Path, row: Path, expected: str, n_processes: int
) -> dict[str, Any]:
    """Measure one bundle from each address, warm and cold."""
    path = home / f"{name}.safetensors"
    bundle.save(path)
    time.sleep(0.2)  # what was written just now is never stamped

    def runs(uri: str, where: str = store.where, *, clear: bool = False) -> dict[str, Any]:
        found = []
        for _ in range(n_processes):
            if clear:
                shutil.rmtree(home / "cache", ignore_errors=True)
            found.append(fresh_process(uri, where, home, row))
        return medians(found, expected)

    named = f"{ONTOLOGY}/{name}"
    rows = {"by name, first met": runs(named, clear=True), "by name, warm": runs(named)}
    rows["by digest, warm"] = runs(bundle.digest)
    rows["by path, checked each time"] = runs(str(path))
    with served(store.where) as url:
        rows["by name, fetched"] = runs(named, url, clear=True)
        rows["by name, warm copy of what was fetched"] = runs(named, url)
    return {"bytes": path.stat().st_size, "n_labels": bundle.n_labels, "steps": rows}


def cases() -> dict[str, tuple[LabelGraph, str, Bundle]]:
    """Return the graph, its name and the bundle of each case."""
    rng = np.random.default_rng(SEED)
    nouns_name, nouns = noun_tree()
    graphs = {"tree": (category_graph(), "category_graph"), "block": (nouns, nouns_name)}
    found = {}
    for form, (graph, name) in graphs.items():
        observed = [graph.keys[int(i)] for i in rng.choice(graph.n_labels, N_OBSERVED, replace=False)]
        found[form] = (graph, name, build_bundle(graph, observed, metric="tree", form=form))  # type: ignore[arg-type]
    assert found["tree"][2].n_labels == LSHTC_LABELS
    return found


def main() -> None:
    """Measure both bundles and print the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=7)
    options = parser.parse_args()
    weights = np.random.default_rng(SEED).dirichlet(np.full(N_OBSERVED, 0.05), 1)
    bundles: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        home, row = Path(folder), Path(folder) / "row.npy"
        np.save(row, weights)
        store = open_store(f"{folder}/store")
        made = cases()
        entries = {}
        for name, (_, _, bundle) in made.items():
            store.put_arrays(*bundle.to_arrays())
            entries[name] = {"sha256": bundle.digest, "version": bundle.ontology_digest}
        store.write_index(ONTOLOGY, {"name": ONTOLOGY, "bundles": entries})
        for name, (graph, graph_name, bundle) in made.items():
            space = metric_space(graph, metric="tree")
            expected = space.keys[int(frechet_mean(space, bundle.observed_keys, weights).index[0])]
            figures = measured(name, bundle, store, home, row, expected, options.processes)
            bundles[name] = {"graph": describe(graph_name, graph), **figures}
        print_document(
            "adapter_loading", SEED, n_observed=N_OBSERVED, processes=options.processes, bundles=bundles
        )


if __name__ == "__main__":
    main()
