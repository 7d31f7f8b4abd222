"""Exact pair loci against the paper's grid of weights, and the hull of a large tree; one process, one thread.

    python -m tests.benchmarks.bench_locus_pairs [--observed 20]

The graph for pairs is WordNet's noun hierarchy with every edge where WordNet is installed, else a seeded
synthetic hierarchy of several parents. Both sides start from the same distances: the grid is the paper's
Algorithm 2 with its Fréchet means taken from them, not from a new search for each weight. Answers are checked
before anything is timed: a witness for every member in whole numbers, the grid's labels among the exact ones,
and each pair's labels again as an envelope of lines. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from fractions import Fraction
from functools import partial

import numpy as np

from labelgrove.ontology.geometry import TreeSpace, locus, metric_space
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.loci.pairs import hull_members
from labelgrove.ontology.geometry.spaces.matrixspace import MatrixSpace
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.graphs import LSHTC_LABELS, describe, noun_graph, taxonomy_tree
from tests.benchmarks.measuring import one_thread, print_document, seconds

SEED = 0


def envelope(first: np.ndarray, second: np.ndarray) -> set[int]:
    """What two columns of squared distances reach, found by moving weight from the second to the first.

    At odds u : 1 a label sums to ``u first + second``. From the best label at u = 0, the next is the one that
    ties with it at the smallest u, in fractions.
    """
    both, place = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    points = [(x, z) for x, z in both.T.tolist()]
    lowest = min(z for _, z in points)
    reached = {point for point in points if point[1] == lowest}
    while True:
        x, z = at = min(reached)
        ahead = {p: Fraction(p[1] - z, x - p[0]) for p in points if p[0] < x}
        if not ahead:
            break
        odds = min(ahead.values())
        reached |= {point for point in ahead if ahead[point] == odds}
    reached |= {point for point in points if point[0] == at[0]}
    kept = np.array([point in reached for point in points])
    return set(np.flatnonzero(kept[place.ravel()]).tolist())


def check_pairs(distances: np.ndarray, members: np.ndarray, witnesses: list[tuple[int, ...]]) -> None:
    """Every member is best under its witness, and nothing is left out."""
    squared = distances.astype(np.int64) ** 2
    for y, weights in zip(members.tolist(), witnesses, strict=True):
        total = squared @ np.array(weights)
        assert total[y] == total.min()
    columns = range(distances.shape[1])
    again = [envelope(squared[:, a], squared[:, b]) for a, b in itertools.combinations(columns, 2)]
    assert set().union(*again) == set(members.tolist())


def pairs(graph: LabelGraph, n_observed: int) -> dict[str, object]:
    """Check and time the exact pair loci and the grid."""
    space = metric_space(graph, "graph")
    chosen = np.random.default_rng(SEED).choice(space.n_points, n_observed, replace=False)
    distances = space.distances(cols=chosen)
    measured = MatrixSpace(distances, space.keys, space.points.take(chosen))
    keys = list(measured.points)
    diameter = space.diameter()

    exact = locus(measured, keys, method="pairs")
    check_pairs(distances, exact.index, list(exact.witnesses))
    grid = locus(measured, keys, divisions=diameter, method="pair-grid")
    assert set(grid.index.tolist()) <= set(exact.index.tolist())

    taken = seconds(lambda: hull_members(distances), 7)
    slow = seconds(lambda: locus(measured, keys, divisions=diameter, method="pair-grid"), 3)
    taken += seconds(lambda: hull_members(distances), 7)
    return {
        "n_observed": n_observed,
        "diameter": diameter,
        "distance_dtype": str(distances.dtype),
        "exact_ms": round(1e3 * statistics.median(taken), 2),
        "grid_ms": round(1e3 * statistics.median(slow), 1),
        "ratio": round(statistics.median(slow) / statistics.median(taken), 1),
        "members": len(exact),
        "members_of_the_grid": len(grid),
    }


def hulls() -> list[dict[str, object]]:
    """Check and time the hull of a tree of LSHTC's size, from few observed labels to all leaves."""
    graph = taxonomy_tree(LSHTC_LABELS, SEED)
    space = metric_space(graph, "tree")
    assert isinstance(space, TreeSpace)
    rng = np.random.default_rng(SEED)
    leaves = np.flatnonzero(graph.leaf_mask)
    choices = [rng.choice(space.n_points, n, replace=False) for n in (50, 1_000, 100_000)] + [leaves]
    found: list[dict[str, object]] = []
    for observed in choices:
        got = locus_index(space, observed)
        assert np.array_equal(got.index, hull_by_pruning(space.parent, observed))
        taken = seconds(partial(locus_index, space, observed), 15)
        found.append(
            {
                "n_labels": space.n_labels,
                "n_observed": len(observed),
                "members": len(got),
                "ms": round(1e3 * statistics.median(taken), 2),
            }
        )
    return found


def hull_by_pruning(parent: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Take away vertices of degree one that are not observed, until there is none."""
    n = len(parent)
    neighbors: list[set[int]] = [set() for _ in range(n)]
    for v, p in enumerate(parent.tolist()):
        if p >= 0:
            neighbors[v].add(p)
            neighbors[p].add(v)
    kept = set(observed.tolist())
    waiting = [v for v in range(n) if len(neighbors[v]) < 2 and v not in kept]
    gone = np.zeros(n, dtype=bool)
    while waiting:
        v = waiting.pop()
        gone[v] = True
        for u in neighbors[v]:
            neighbors[u].discard(v)
            if len(neighbors[u]) < 2 and u not in kept and not gone[u]:
                waiting.append(u)
        neighbors[v].clear()
    return np.flatnonzero(~gone)


def main() -> None:
    """Measure and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observed", type=int, default=20)
    options = parser.parse_args()
    one_thread()
    name, graph = noun_graph()
    print_document(
        "exact pair loci against the paper's grid; the hull of a tree",
        SEED,
        graph=describe(name, graph),
        pairs=pairs(graph, options.observed),
        hulls=hulls(),
    )


if __name__ == "__main__":
    main()
