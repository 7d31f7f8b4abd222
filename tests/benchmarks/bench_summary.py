"""Summaries of a hub-heavy category graph: time, memory and shape of each method, beside networkx.

    python -m tests.benchmarks.bench_summary [--labels 325056] [--edges 863261] [--target 10000]

Every method runs once before it is timed (compiled, and its answer checked), then three times on one thread;
seconds are processor time of the best run, summary with its quotient graph included. Memory is by
how much the peak of a fresh process exceeds what it held before one run. networkx contracts the same
neighbors one by one, on a small graph and following the same picks; the partition must be the same. Prints
one JSON document.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
import time
import warnings
from pathlib import Path

import networkx
import numba
import numpy as np

from labelgrove.ontology.geometry.summaries.summary import (
    DegenerateSummaryWarning,
    Method,
    Summary,
    summarize,
)
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import LSHTC_EDGES, LSHTC_LABELS, category_graph, describe
from tests.benchmarks.measuring import one_thread, print_document

SEED = 0
METHODS: tuple[Method, ...] = ("neighbourhood", "node", "capped", "subtree")
SMALL_LABELS, SMALL_EDGES, SMALL_TARGET = 4000, 10_600, 125


def check(summary: Summary) -> None:
    """Check what every summary must be: a partition, its size, its quotient, its cap, its scan."""
    graph = summary.source
    sizes = np.bincount(summary.assignment)
    assert summary.n_supernodes <= summary.target
    assert (sizes == summary.sizes).all()
    assert sizes.min() >= 1
    assert summary.entries_scanned <= 2 * graph.n_edges
    assert summary.cap is None or sizes.max() <= summary.cap
    ends = np.sort(
        np.stack([summary.assignment[graph.edge_child], summary.assignment[graph.edge_parent]]), axis=0
    )
    between = ends[:, ends[0] != ends[1]]
    pairs, counts = np.unique(between, axis=1, return_counts=True)
    assert (summary.edges == pairs.T).all()
    assert (counts == summary.counts).all()


def measure(graph: LabelGraph, snapshot: Path, method: Method, target: int) -> dict[str, object]:
    """Check and time one method."""

    def run() -> Summary:
        return summarize(graph, target, method=method, seed=SEED)

    check(run())
    taken = []
    for _ in range(3):
        begin = time.thread_time()
        summary = run()
        taken.append(time.thread_time() - begin)
    begin = time.thread_time()
    diameters = summary.diameters
    bounding = time.thread_time() - begin
    return {
        "method": method,
        "seconds": round(min(taken), 3),
        "extra_mb": round(extra_memory(snapshot, method, target) / 2**20, 1),
        "n_supernodes": summary.n_supernodes,
        "cap": summary.cap,
        "largest_share": round(summary.largest_share, 6),
        "single": int((summary.sizes == 1).sum()),
        "quotient_edges": len(summary.counts),
        "entries_scanned": summary.entries_scanned,
        "adjacency_entries": 2 * graph.n_edges,
        "diameter_bounds_seconds": round(bounding, 3),
        "mean_diameter_bound_of_a_label": round(float(diameters[summary.assignment].mean()), 2),
    }


def extra_memory(snapshot: Path, method: Method, target: int) -> int:
    """Return by how many bytes the peak of a fresh process exceeds what it holds before summarizing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_above, (snapshot, method, target))


def _peak_above(snapshot: Path, method: Method, target: int) -> int:
    warnings.simplefilter("ignore", DegenerateSummaryWarning)
    with np.load(snapshot) as arrays:
        metadata = {name: str(arrays[f"metadata.{name}"]) for name in ("format", "layout", "digest")}
        graph = LabelGraph.from_arrays({name: arrays[name] for name in arrays.files}, metadata)
    summarize(category_graph(300, 500), 100, method=method)  # the kernels are compiled
    before = _status("VmRSS")
    summarize(graph, target, method=method, seed=SEED)
    return _status("VmHWM") - before


def _status(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found.group(1)) * 1024


def beside_networkx() -> dict[str, object]:
    """Replay one drawn summary with networkx's edge contraction; the partition must be the same."""
    graph = category_graph(SMALL_LABELS, SMALL_EDGES, SEED)
    summary = summarize(graph, SMALL_TARGET, method="neighbourhood", seed=SEED)
    begin = time.thread_time()
    summarize(graph, SMALL_TARGET, method="neighbourhood", seed=SEED)
    ours = time.thread_time() - begin
    merged = networkx.Graph()
    merged.add_nodes_from(range(graph.n_labels))
    merged.add_edges_from(zip(graph.edge_child.tolist(), graph.edge_parent.tolist(), strict=True))
    members = {v: {v} for v in range(graph.n_labels)}
    begin = time.thread_time()
    for pick in summary.picks.tolist():
        for neighbor in list(merged[pick]):
            networkx.contracted_nodes(merged, pick, neighbor, self_loops=False, copy=False)
            members[pick] |= members.pop(neighbor)
    theirs = time.thread_time() - begin
    ordered = sorted(map(sorted, members.values()))
    assert ordered == [summary.members(s).tolist() for s in range(summary.n_supernodes)]
    return {
        **describe("category_graph", graph),
        "target": SMALL_TARGET,
        "seconds": round(ours, 4),
        "networkx_seconds": round(theirs, 2),
        "ratio": round(theirs / ours),
    }


def main() -> None:
    """Run every method and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=LSHTC_LABELS)
    parser.add_argument("--edges", type=int, default=LSHTC_EDGES)
    parser.add_argument("--target", type=int, default=10_000)
    options = parser.parse_args()
    one_thread()
    warnings.simplefilter("ignore", DegenerateSummaryWarning)
    graph = category_graph(options.labels, options.edges, SEED)
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "graph.npz"
        arrays, metadata = graph.to_arrays()
        texts = {f"metadata.{name}": np.array(text) for name, text in metadata.items()}
        np.savez(snapshot, allow_pickle=False, **arrays, **texts)
        methods = [measure(graph, snapshot, method, options.target) for method in METHODS]
    print_document(
        "summaries",
        SEED,
        graph=describe("category_graph", graph),
        target=options.target,
        numba=numba.__version__,
        networkx=networkx.__version__,
        methods=methods,
        beside_networkx=beside_networkx(),
    )


if __name__ == "__main__":
    main()
