"""Covers of leaf-only taxonomies: the paper's Algorithm 1 against the search from what every cover contains.

    python -m tests.benchmarks.bench_cover [--leaves 1000] [--seeds 0 1]

The tree resembles the one of ImageNet's classes: 1,000 leaves drawn with a seed from the tree of primary
parents of WordNet's nouns (of the synthetic taxonomy where WordNet is not installed) with everything above
them, leaves alone allowed. Every cover is checked by the exact locus before its time is told. Prints one JSON
document.
"""

from __future__ import annotations

import argparse

import numpy as np

from labelgrove.ontology.geometry import (
    TreeSpace,
    is_locus_cover,
    locus_cover,
    metric_space,
    must_observe,
    phylogenetic_cover,
)
from labelgrove.ontology.geometry.covers.phylogenetic import entry_order
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import describe, noun_tree
from tests.benchmarks.measuring import one_thread, print_document, timed


def some_leaves(graph: LabelGraph, n_leaves: int, seed: int) -> LabelGraph:
    """The tree of primary parents above a random choice of childless labels."""
    parent = graph.primary_parent.tolist()
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(graph.leaf_mask), n_leaves, replace=False)
    kept: set[int] = set()
    for label in chosen.tolist():
        while label >= 0 and label not in kept:
            kept.add(label)
            label = parent[label]
    keys = graph.keys
    return LabelGraph.from_edges([(keys[c], keys[parent[c]]) for c in sorted(kept) if parent[c] >= 0])


def measure(name: str, whole: LabelGraph, n_leaves: int, seed: int) -> dict[str, object]:
    """Sizes, bounds and times on one tree."""
    graph = some_leaves(whole, n_leaves, seed)
    space = metric_space(graph, "tree", labels="leaves")
    assert isinstance(space, TreeSpace)
    required_s, required = timed(lambda: must_observe(space))
    order_s, _ = timed(lambda: entry_order(space))
    algorithm_s, algorithm = timed(lambda: phylogenetic_cover(space))
    small_s, small = timed(lambda: locus_cover(space, method="small"))
    assert is_locus_cover(space, algorithm.keys)
    assert is_locus_cover(space, small.keys)
    return {
        "seed": seed,
        "tree": describe(f"{n_leaves} leaves of {name}", graph),
        "n_labels": space.n_labels,
        "must_observe": {"size": len(required), "status": required.status, "seconds": round(required_s, 4)},
        "algorithm_1": {
            "size": len(algorithm),
            "seconds": round(algorithm_s, 4),
            "order_seconds": round(order_s, 4),
        },
        "small_cover": {
            "size": len(small),
            "status": small.status,
            "lower_bound": small.lower_bound,
            "seconds": round(small_s, 4),
        },
        "small_cover_keeps_of_algorithm_1": round(len(small) / len(algorithm), 3),
    }


def main() -> None:
    """Measure every seed and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    one_thread()
    name, whole = noun_tree()
    locus_cover(metric_space(LabelGraph.grid((2, 3))), method="small")  # compile outside the clock
    runs = [measure(name, whole, options.leaves, seed) for seed in options.seeds]
    print_document("covers of leaf-only taxonomies", options.seeds, runs=runs)


if __name__ == "__main__":
    main()
