"""Trees whose edge lengths suffer from rounding in floats, with exact distances; each family differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from labelgrove.ontology.geometry import GraphSpace, TreeSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles

Draw = np.random.Generator


def mixed(draw: Draw, n: int) -> list[float]:
    """Return lengths of any magnitude from 1e-17 to 1e12."""
    return (10 ** draw.uniform(-17, 12, n)).tolist()


def stem(draw: Draw, n: int) -> list[float]:
    """Return decimals after a first length that is thousands of times larger or more."""
    return [float(draw.choice([4000.1, 1e9 / 3, 1e12])), *(draw.integers(1, 9, n) / 10).tolist()][:n]


def thirds(draw: Draw, n: int) -> list[float]:
    return (draw.integers(1, 9, n) / 3).tolist()


def decimals(draw: Draw, n: int) -> list[float]:
    return (draw.integers(1, 9, n) * 0.1).tolist()


def crumbs(draw: Draw, n: int) -> list[float]:
    """Return lengths, some of which are too small for the tie rule to tell apart."""
    return draw.choice([1.0, 2.5, 1e-17, 2e-17, 1e-13, 1e-12, 5e-12, 1e-9, 1e-7, 1e-6, 1e-5], n).tolist()


def halves(draw: Draw, n: int) -> list[float]:
    """Return lengths with sums halfway between two floats, and tiny ones that decide how to round."""
    return draw.choice([1.0, 2.0**-53, 3 * 2.0**-53, 2.0**-106, 2.0**-170], n).tolist()


def whole(draw: Draw, n: int) -> list[float]:
    """Return whole numbers whose sums exceed 2^53."""
    return draw.choice([1.0, 3.0, 2.0**53, 2.0**60 + 2.0**20], n).tolist()


FAMILIES: dict[str, Callable[[Draw, int], list[float]]] = {
    family.__name__: family for family in (mixed, stem, thirds, decimals, crumbs, halves, whole)
}


@dataclass(frozen=True)
class HostileTree:
    """A tree in two spaces, that of trees and that of graphs, with its exact distances."""

    graph: LabelGraph
    tree: TreeSpace
    paths: GraphSpace
    exact: list[list[oracles.Number]]
    observed: list[int]

    @property
    def allowed(self) -> list[int]:
        given = self.tree.allowed
        return list(range(self.graph.n_labels)) if given is None else given.tolist()

    @property
    def keys(self) -> tuple[str, ...]:
        return self.graph.keys.take(self.observed)

    def rows(self, observed: list[int] | None = None) -> list[list[int]]:
        """Return exact squared distances from allowed to observed labels, scaled to whole numbers."""
        chosen = self.observed if observed is None else observed
        table = [[Fraction(self.exact[y][o]) for o in chosen] for y in self.allowed]
        unit = max(d.denominator for row in table for d in row)  # all are powers of two
        return [[int(d * unit) ** 2 for d in row] for row in table]


def hostile_tree(family: str, number: int, most_labels: int = 8, labels: str = "") -> HostileTree:
    """Return tree `number` of a family, which is the same in every run."""
    draw = np.random.default_rng([sorted(FAMILIES).index(family), number])
    n = int(draw.integers(2, most_labels + 1))
    window = int(draw.choice([1, 2, 99]))  # a path, a deep tree, any
    parents = [int(draw.integers(max(0, i - window), i)) for i in range(1, n)]
    keys = [f"k{(7 * i + 3) % 101:03d}" for i in range(n)]
    graph = LabelGraph.from_edges(
        [(keys[i], keys[p]) for i, p in enumerate(parents, start=1)],
        weights=FAMILIES[family](draw, n - 1),
        labels=keys,
    )
    observed = draw.permutation(n)[: draw.integers(1, min(n, 4) + 1)].tolist()
    labels = labels or ("all", "leaves")[int(draw.integers(2))]
    tree, paths = (metric_space(graph, metric, labels) for metric in ("tree", "graph"))
    assert isinstance(tree, TreeSpace)
    assert isinstance(paths, GraphSpace)
    return HostileTree(graph, tree, paths, oracles.graph_distances(graph), observed)
