"""The general exact locus: WordNet's noun graph, and the leaves of its tree.

    python -m tests.benchmarks.bench_locus [--observed 10 50 250]

Random observed labels; every label of the graph may answer, then only the leaves of the tree of primary
parents. Without WordNet, seeded synthetic graphs of the same size. The distances are measured before the
clock starts on the graph, and inside it on the tree, where only those of the few labels that could be reached
are needed. What is timed is checked after: each witness is scored against every label, in whole numbers, and
two seeds of the random weights must give the same verdicts. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from labelgrove.ontology.geometry import MetricSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus
from labelgrove.ontology.geometry.loci.restrictedtree import nearest_at_hull, restricted_tree_locus
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import describe, noun_graph
from tests.benchmarks.measuring import one_thread, print_document

SEED = 0


def check(found: GeneralLocus, again: GeneralLocus, distances: np.ndarray) -> None:
    """Score every witness against every label; compare the verdicts of two seeds."""
    assert found.index.tolist() == again.index.tolist()
    assert found.unique_index.tolist() == again.unique_index.tolist()
    rows = np.unique(distances, axis=0).astype(np.int64) ** 2
    own = distances[found.index].astype(np.int64) ** 2
    unique = np.isin(found.index, found.unique_index)
    for witness in dict.fromkeys(found.witnesses):
        weights = np.array(witness)
        assert int(rows.max()) * sum(witness) < 1 << 62
        sums = rows @ weights
        members = [at for at, other in enumerate(found.witnesses) if other == witness]
        assert (own[members] @ weights == sums.min()).all()
        assert np.count_nonzero(sums == sums.min()) == 1 or not unique[members].any()


def measure(
    space: MetricSpace, n_observed: int, find: Callable[[np.ndarray, int], GeneralLocus], repeats: int
) -> dict[str, Any]:
    """Check and time one setting; `find` takes points and a seed."""
    among = np.arange(space.n_points) if space.allowed is None else space.allowed
    points = np.sort(np.random.default_rng(SEED + n_observed).choice(among, n_observed, replace=False))
    taken = []
    for _ in range(repeats):
        begin = time.thread_time()
        found = find(points, 0)
        taken.append(time.thread_time() - begin)
    check(found, find(points, 1), space.distances(cols=points))
    return {
        "n_observed": n_observed,
        "n_labels": space.n_labels,
        "n_members": len(found.index),
        "n_unique": len(found.unique_index),
        "distinct_rows_settled_by": found.proofs,
        "seconds": [round(t, 3) for t in taken],
    }


def on_graph(graph: LabelGraph, n_observed: int, repeats: int) -> dict[str, Any]:
    """Every label may answer; distances over all edges."""
    space = metric_space(graph, "graph")
    known: dict[bytes, np.ndarray] = {}

    def find(points: np.ndarray, seed: int) -> GeneralLocus:
        if points.tobytes() not in known:
            known[points.tobytes()] = space.distances(cols=points)
        return general_locus(known[points.tobytes()], seed=seed)

    points = np.sort(np.random.default_rng(SEED + n_observed).choice(space.n_points, n_observed, False))
    begin = time.thread_time()
    known[points.tobytes()] = space.distances(cols=points)
    measured = time.thread_time() - begin
    return {"space": "graph", "distance_seconds": round(measured, 3)} | measure(
        space, n_observed, find, repeats
    )


def on_leaves(graph: LabelGraph, n_observed: int, repeats: int) -> dict[str, Any]:
    """Only leaves may answer; distances along primary parents."""
    space = metric_space(graph, "tree", "leaves")
    assert isinstance(space, TreeSpace)

    def find(points: np.ndarray, seed: int) -> GeneralLocus:
        return restricted_tree_locus(space, points, seed=seed)

    found = {"space": "leaves of the tree"} | measure(space, n_observed, find, repeats)
    assert space.allowed is not None
    points = np.sort(np.random.default_rng(SEED + n_observed).choice(space.allowed, n_observed, False))
    return found | {"n_left_by_filter": len(nearest_at_hull(space, points))}


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observed", type=int, nargs="+", default=[10, 50, 250])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    one_thread()
    name, graph = noun_graph()
    general_locus(np.array([[0, 1], [1, 0]], dtype=np.uint8))  # compiles the kernels
    settings = [
        setting(graph, n_observed, options.repeats)
        for setting in (on_graph, on_leaves)
        for n_observed in options.observed
    ]
    print_document(
        "the general exact locus",
        SEED,
        graph=describe(name, graph),
        settings=settings,
    )


if __name__ == "__main__":
    main()
