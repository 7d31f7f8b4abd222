"""The whole order of classes to collect next, beside the paper's search over pairs; and on leaves alone.

    python -m tests.benchmarks.bench_selection [--labels 325056] [--observed 50] [--pairs 2000] [--picks 10]

Two trees of the size of LSHTC's category graph: `taxonomy_tree`, and the tree of primary parents of
`category_graph`. Answers are checked before anything is timed: every label is reached, each of the first
picks gains what a search from the hull finds, and the order is that of the pair search on a small tree.

Leaves alone: 1,000 leaves drawn from WordNet's noun tree, as many as ImageNet has classes, and all of them.
The total gain is compared with the loci at the start and the end; draws outside the locus stand beside it.
One thread. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from labelgrove.ontology.geometry import TreeSpace, metric_space
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.selections.growing import Limits
from labelgrove.ontology.geometry.selections.growingmeasured import MeasuredLocus
from labelgrove.ontology.geometry.selections.selection import Selection, select_classes
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.bench_cover import some_leaves
from tests.benchmarks.graphs import (
    LSHTC_EDGES,
    LSHTC_LABELS,
    category_graph,
    describe,
    noun_tree,
    taxonomy_tree,
)
from tests.benchmarks.measuring import one_thread, print_document, seconds, timed

SEED = 0
CHECKED_PICKS = 20
PASSIVE_SEEDS = (0, 1, 2)


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


def pair_search(distance: np.ndarray, neighbors: np.ndarray, observed: np.ndarray) -> list[int]:
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
        boundary = np.flatnonzero(inside & neighbors[:, ~inside].any(axis=1))
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


def measure_leaves(name: str, graph: LabelGraph, n_observed: int, n_picks: int) -> dict[str, object]:
    """Time active picks where only leaves are allowed, and draw as many outside the locus."""
    space = metric_space(graph, "tree", labels="leaves")
    assert isinstance(space, TreeSpace)
    allowed = allowed_points(space)
    points = np.random.default_rng(SEED).choice(allowed, n_observed, replace=False)
    pool = np.setdiff1d(allowed, points)
    growing = MeasuredLocus(space, points)
    before = growing.size
    taken, found = timed(lambda: growing.pick(pool, Limits(n_picks)))
    after = locus_index(space, np.concatenate([points, found.index]))
    assert before + found.gains.sum() == len(after)
    observed = space.points.take(points)
    outside = [
        int(select_classes(space, observed, n_picks, method="outside", seed=seed).gains.sum())
        for seed in PASSIVE_SEEDS
    ]
    return {
        "tree": describe(name, graph),
        "n_allowed": space.n_labels,
        "n_observed": n_observed,
        "locus_before": before,
        "gains": found.gains.tolist(),
        "gained": int(found.gains.sum()),
        "gained_outside_by_seed": outside,
        "exact_loci": growing.n_measured,
        "seconds": round(taken, 2),
    }


def main() -> None:
    """Run every setting and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=LSHTC_LABELS)
    parser.add_argument("--observed", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=2000, help="size of the tree for the pair search")
    parser.add_argument("--picks", type=int, default=10, help="number of picks among leaves")
    options = parser.parse_args()
    one_thread()
    name, nouns = noun_tree()
    some = some_leaves(nouns, 1000, SEED)
    measure_leaves(name, some, 10, 1)  # compile outside the clock
    n_edges = max(options.labels - 1, round(options.labels * LSHTC_EDGES / LSHTC_LABELS))
    print_document(
        "whole selection order on trees",
        SEED,
        trees=[
            measure("taxonomy_tree", taxonomy_tree(options.labels), options.observed),
            measure(
                "category_graph, primary parents", category_graph(options.labels, n_edges), options.observed
            ),
        ],
        pair_search=measure_pairs(options.pairs, options.observed),
        leaves_alone=[
            measure_leaves(f"1000 leaves of {name}", some, 10, options.picks),
            measure_leaves(f"1000 leaves of {name}", some, 100, options.picks),
            measure_leaves(name, nouns, 100, options.picks),
        ],
    )


if __name__ == "__main__":
    main()
