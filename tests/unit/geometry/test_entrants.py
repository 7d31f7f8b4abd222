"""Labels that one more observed label brings into the locus, against exact loci computed from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from labelgrove.datasets.randomgraphs import watts_strogatz
from labelgrove.ontology.geometry import MatrixSpace, MetricSpace, metric_space
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.selections.entrants import Entrants
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.labelgraph import LabelGraph

SEED = 11


def tied_matrix(rng: np.random.Generator, n: int) -> MetricSpace:
    """Few values in few columns: most rows tie somewhere, and many are equal."""
    distances = rng.integers(1, 4, (n, n)).astype(np.uint8)
    np.fill_diagonal(distances, 0)
    return MatrixSpace(np.maximum(distances, distances.T), [f"{i:03d}" for i in range(n)])


def dag(rng: np.random.Generator, n: int, lengths: list[float], labels: str = "all") -> MetricSpace:
    pairs = {(f"{i:03d}", f"{rng.integers(i):03d}") for i in range(1, n)}
    pairs |= {(f"{i:03d}", f"{rng.integers(i):03d}") for i in rng.integers(1, n, n // 4).tolist()}
    weights = rng.choice(lengths, len(pairs))
    return metric_space(LabelGraph.from_edges(sorted(pairs), weights=weights), "graph", labels=labels)


def some_space(kind: str, rng: np.random.Generator) -> MetricSpace:
    n = int(rng.integers(8, 30))
    if kind == "ties":
        return tied_matrix(rng, n)
    if kind == "plane":
        vectors = rng.standard_normal((n, 2))
        distances = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
        return MatrixSpace(distances, [f"{i:03d}" for i in range(n)])
    if kind == "small world":
        return metric_space(watts_strogatz(n, k=4, p=0.2, seed=int(rng.integers(1000))))
    if kind == "leaves":
        return dag(rng, n, [1.0], "leaves")
    return dag(rng, n, {"hops": [1.0], "quarters": [0.25, 1.5, 2.0], "rounded": [0.1, 0.2, 0.3]}[kind])


@pytest.mark.parametrize("kind", ["hops", "leaves", "quarters", "rounded", "small world", "ties", "plane"])
def test_what_enters_is_what_the_locus_gains_round_after_round(kind: str) -> None:
    rng = np.random.default_rng(SEED)
    total = slack = outside = 0
    for _ in range(8):
        space = some_space(kind, rng)
        points = rng.permutation(space.n_points)[: int(rng.integers(1, 4))]
        if not len(allowed_points(space)):
            continue
        before = locus_index(space, points).index
        entrants = Entrants(space, points, before)
        for _ in range(3):
            pool = np.setdiff1d(np.arange(space.n_points), points)[:12]
            bounds = entrants.bounds(pool)
            for point, bound in zip(pool.tolist(), bounds.tolist(), strict=True):
                after = locus_index(space, np.append(points, point)).index
                gained = np.setdiff1d(after, before)
                assert entrants.of(point).tolist() == gained.tolist()
                assert bound >= len(gained)
                total, slack = total + len(gained), slack + bound - len(gained)
                outside += space.n_labels - len(before)
            point = int(rng.choice(pool))
            points = np.append(points, point)
            before = locus_index(space, points).index
            entrants.observe(point, before)
    assert total > 0
    assert slack < outside - total
