"""The whole order of classes to collect next, beside the paper's search over pairs.

    python -m tests.benchmarks.bench_selection [--labels 325056] [--observed 50] [--pairs 2000]

Two trees of the size of LSHTC's category graph: `taxonomy_tree`, and the tree of primary parents of
`category_graph`. Answers are checked before anything is timed: every label is reached, each of the first
picks gains what a search from the hull finds, and the order is that of the pair search on a small tree. One
thread. Prints one JSON document.
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

import numpy as np

from ontology.geometry import TreeSpace, metric_space
from ontology.geometry.loci.locus import locus_index
from ontology.geometry.selections.selection import Selection, select_classes
from ontology.labelgraph import LabelGraph
from tests.benchmarks.bench_tree_scoring import processor
from tests.benchmarks.graphs import LSHTC_EDGES, LSHTC_LABELS, category_graph, describe, taxonomy_tree

SEED = 0
CHECKED_PICKS = 20


def seconds(work: Callable[[], object], repeats: int) -> list[float]:
    """Processor time of each of `repeats` calls; one thread works."""
    taken = []
    for _ in range(repeats):
        begin = time.thread_time()
        work()
        taken.append(time.thread_time() - begin)
    return taken


def observed_keys(space: TreeSpace, n: int) -> tuple[str, ...]:
    """Draw the labels to begin with."""
    return space.points.take(np.random.default_rng(SEED).choice(space.n_points, n, replace=False))


def hops_from(space: TreeSpace, reached: np.ndarray) -> np.ndarray:
    """Edges from each label to the nearest of `reached`, by sweeps up and down until nothing changes."""
    parent = space.parent.astype(np.int64)
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    hops = np.full(space.n_points, space.n_points)
    hops[reached] = 0
    while True:
        before = hops.copy()
        np.minimum.at(hops, above, hops[child] + 1)
        hops[child] = np.minimum(hops[child], hops[above] + 1)
        if (before == hops).all():
            return hops


def check(space: TreeSpace, observed: tuple[str, ...], found: Selection) -> None:
    """Compare the first picks with a search of the whole tree for each, and the end with all labels."""
    assert found.status == "exact"
    assert found.sizes[-1] == space.n_points
    points = space.point_index(observed)
    for pick, gain in zip(found.index[:CHECKED_PICKS], found.gains[:CHECKED_PICKS], strict=True):
        if len(points):
            hops = hops_from(space, locus_index(space, points).index)
            assert gain == hops.max()
            assert pick == hops.argmax()
        points = np.append(points, pick)


def measure(name: str, graph: LabelGraph, n_observed: int) -> dict[str, object]:
    """Check and time the whole order on one tree."""
    space = metric_space(graph, "tree")
    assert isinstance(space, TreeSpace)
    document: dict[str, object] = describe(name, graph)
    for n in (0, n_observed):
        observed = observed_keys(space, n)
        begin = time.perf_counter()
        found = select_classes(space, observed)
        first_call = time.perf_counter() - begin
        check(space, observed, found)
        taken = seconds(lambda observed=observed: select_classes(space, observed), 15)  # type: ignore[misc]
        document[f"from {n} observed"] = {
            "n_picks": len(found),
            "gains": found.gains[:5].tolist(),
            "first_call_ms": round(1e3 * first_call, 1),
            "whole_order_ms": round(1e3 * statistics.median(taken), 2),
            "whole_order_ms_least": round(1e3 * min(taken), 2),
        }
    return document


def pair_search(distance: np.ndarray, neighbours: np.ndarray, observed: np.ndarray) -> list[int]:
    """Return the gains of the paper's rule, repeated to the end: search over pairs for each pick.

    The farthest pair of a label y outside the locus and a label b on its inner boundary, such that the path
    between them meets the locus in b alone, which on a tree says that no label of the locus is nearer to y.
    """
    n = len(distance)
    inside = np.zeros(n, dtype=bool)
    for a in observed:
        for b in observed:
            inside |= distance[a] + distance[b] == distance[a, b]
    gains = []
    while not inside.all():
        boundary = np.flatnonzero(inside & neighbours[:, ~inside].any(axis=1))
        outside = np.flatnonzero(~inside)
        block = distance[np.ix_(outside, boundary)]
        open_way = block == distance[np.ix_(outside, inside)].min(axis=1)[:, None]
        best = np.where(open_way, block, -1)
        row, col = np.unravel_index(int(best.argmax()), best.shape)
        y, b = outside[row], boundary[col]
        inside |= distance[y] + distance[b] == distance[y, b]
        gains.append(int(distance[y, b]))
    return gains


def measure_pairs(n_labels: int, n_observed: int) -> dict[str, object]:
    """Time the whole order and the pair search on one small tree, in one run."""
    space = metric_space(taxonomy_tree(n_labels), "tree")
    observed = observed_keys(space, n_observed)  # type: ignore[arg-type]
    distance = space.distances().astype(np.int64)
    points = space.point_index(observed)
    begin = time.thread_time()
    gains = pair_search(distance, distance == 1, points)
    by_pairs = time.thread_time() - begin
    found = select_classes(space, observed)
    assert gains == found.gains.tolist()
    ours = statistics.median(seconds(lambda: select_classes(space, observed), 25))
    return {
        "graph": "taxonomy_tree",
        "n_labels": n_labels,
        "n_observed": n_observed,
        "n_picks": len(found),
        "pair_search_ms": round(1e3 * by_pairs, 1),
        "whole_order_ms": round(1e3 * ours, 3),
        "ratio": round(by_pairs / ours),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=LSHTC_LABELS)
    parser.add_argument("--observed", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=2000, help="size of the tree for the pair search")
    options = parser.parse_args()
    n_edges = max(options.labels - 1, round(options.labels * LSHTC_EDGES / LSHTC_LABELS))
    document = {
        "benchmark": "whole selection order on trees",
        "goal_ms": 100,
        "seed": SEED,
        "processor": processor(),
        "threads": 1,
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "trees": [
            measure("taxonomy_tree", taxonomy_tree(options.labels), options.observed),
            measure(
                "category_graph, primary parents", category_graph(options.labels, n_edges), options.observed
            ),
        ],
        "pair_search": measure_pairs(options.pairs, options.observed),
    }
    json.dump(document, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
