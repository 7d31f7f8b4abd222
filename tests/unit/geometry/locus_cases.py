"""Small spaces of every family, each with its exact distances, for the brute force of `oracles_locus`."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from geometry_cases import KINDS, build_graph, make_case

from labelgrove.ontology.geometry import GraphSpace, MatrixSpace, MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.oracles_locus import ExactSpace, Rows

Generator = np.random.Generator
Edges = Sequence[tuple[int, int, int]]
MOST_OBSERVED = 5


@dataclass(frozen=True)
class SpaceCase:
    """A space and its exact twin; `observed` are indices of points."""

    space: MetricSpace
    exact: ExactSpace
    observed: tuple[int, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.space.points.take(self.observed)

    @property
    def rows(self) -> Rows:
        return self.exact.rows(self.observed)


def space_case(family: str, number: int, most_labels: int = 9) -> SpaceCase:
    """Case `number` of a family; the same one in every run."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), number])
    return FAMILIES[family](rng, most_labels)


def graph_case(
    graph: LabelGraph, rng: Generator, kind: str = "", labels: str | Sequence[int] | None = None
) -> SpaceCase:
    """Draw what is allowed (all, the leaves or any subset, unless `labels` says so) and what is observed."""
    n = graph.n_labels
    observed = rng.permutation(n)[: rng.integers(1, min(n, MOST_OBSERVED) + 1)].tolist()
    some = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    if labels is None:
        labels = ("all", "leaves", some)[int(rng.integers(3))]
    case = make_case(kind, graph, labels, observed, [])
    return SpaceCase(case.space, ExactSpace(case.distances, case.allowed), tuple(observed))


def built(kind: str, rng: Generator, most_labels: int) -> SpaceCase:
    n = int(rng.integers(1, most_labels + 1))
    shape = rng.integers(3)  # bushy, deep or a star
    parents = [0 if shape == 2 else int(rng.integers(max(0, i - 2) if shape else 0, i)) for i in range(1, n)]
    extra = rng.integers(0, 99, (int(rng.integers(0, n)), 2)).tolist()
    numbers = rng.integers(0, int(rng.choice([2, 5, 400])), 2 * n).tolist()
    return graph_case(build_graph(kind, parents, extra, numbers), rng, kind)


def undirected(
    pairs: Sequence[tuple[int, int]], n: int, weights: Sequence[float] | None = None
) -> LabelGraph:
    keys = [f"v{i:02d}" for i in range(n)]
    named = [(keys[a], keys[b]) for a, b in pairs]
    return LabelGraph.from_edges(named, weights=weights, labels=keys, directed=False)


def spider_graph(legs: Sequence[int]) -> LabelGraph:
    """Legs of unit edges that meet in ``v00``."""
    pairs, n = [], 1
    for length in legs:
        for step in range(length):
            pairs.append((0 if step == 0 else n - 1, n))
            n += 1
    return undirected(pairs, n)


SPIDER = spider_graph([2, 2, 2, 1])
"""Among its ends: the three far ones together reach the short one, and no two of them do."""
FAR_ENDS, SHORT_END = ["v02", "v04", "v06"], "v07"


def exact_tree(edges: Edges) -> ExactSpace:
    n = len(edges) + 1
    return ExactSpace(oracles.all_distances(n, edges), range(n))


def random_edges(n: int, rng: random.Random, lengths: Sequence[int] = (1,)) -> list[tuple[int, int, int]]:
    return [(rng.randrange(i), i, rng.choice(lengths)) for i in range(1, n)]


def degree_one(edges: Edges) -> tuple[int, ...]:
    """The ends of a tree; a lone vertex is one."""
    ends = [v for a, b, _ in edges for v in (a, b)]
    return tuple(v for v in range(len(edges) + 1) if ends.count(v) == 1) or (0,)


def named_tree(edges: Edges) -> LabelGraph:
    return undirected([(a, b) for a, b, _ in edges], len(edges) + 1, [w for *_, w in edges])


def leaf_space(edges: Edges) -> tuple[MetricSpace, ExactSpace]:
    """The ends of a tree as the only labels, and the exact twin."""
    graph = named_tree(edges)
    space = metric_space(graph, labels=[f"v{v:02d}" for v in degree_one(edges)])
    return space, exact_space(space, graph)


def subsets(points: Iterable[int], least: int = 1, most: int | None = None) -> Iterable[tuple[int, ...]]:
    chosen = list(points)
    for size in range(least, (len(chosen) if most is None else most) + 1):
        yield from itertools.combinations(chosen, size)


def quarters(n: int, rng: Generator) -> list[float]:
    """Fractions that floating point holds exactly, so that ties are ties there too."""
    return (rng.integers(1, 12, n) / 4).tolist()


def spider(rng: Generator, most_labels: int) -> SpaceCase:
    legs = rng.integers(1, 4, int(rng.integers(2, 6))).tolist()
    while sum(legs) >= most_labels:
        legs.pop()
    graph = spider_graph(legs)
    ends = np.cumsum(legs).tolist()
    return graph_case(graph, rng, labels=[graph.keys.index(f"v{end:02d}") for end in ends])


def star(rng: Generator, most_labels: int) -> SpaceCase:
    n = int(rng.integers(2, most_labels + 1))
    weights = quarters(n - 1, rng) if rng.integers(2) else None
    return graph_case(undirected([(0, i) for i in range(1, n)], n, weights), rng)


def cycle(rng: Generator, most_labels: int) -> SpaceCase:
    n = int(rng.integers(3, most_labels + 1))
    weights = quarters(n, rng) if rng.integers(2) else None
    return graph_case(undirected([(i, (i + 1) % n) for i in range(n)], n, weights), rng)


def clique(rng: Generator, most_labels: int) -> SpaceCase:
    """Every pair joined, by edges of different lengths."""
    n = int(rng.integers(2, most_labels + 1))
    pairs = list(itertools.combinations(range(n), 2))
    return graph_case(undirected(pairs, n, quarters(len(pairs), rng)), rng)


def solid_grid(rng: Generator, most_labels: int) -> SpaceCase:
    while True:
        shape = rng.integers(1, 4, 3).tolist()
        if np.prod(shape) <= max(most_labels, 8):
            return graph_case(LabelGraph.grid(shape), rng)


def fraction_tree(rng: Generator, most_labels: int) -> SpaceCase:
    n = int(rng.integers(2, most_labels + 1))
    pairs = [(int(rng.integers(0, i)), i) for i in range(1, n)]
    return graph_case(undirected(pairs, n, quarters(n - 1, rng)), rng)


def fraction_graph(rng: Generator, most_labels: int) -> SpaceCase:
    pairs, n = _connected_pairs(rng, most_labels)
    return graph_case(undirected(pairs, n, quarters(len(pairs), rng)), rng)


def unit_graph(rng: Generator, most_labels: int) -> SpaceCase:
    pairs, n = _connected_pairs(rng, most_labels)
    return graph_case(undirected(pairs, n), rng)


def tree_as_graph(rng: Generator, most_labels: int) -> SpaceCase:
    """A tree behind the space that knows nothing of trees."""
    case = fraction_tree(rng, most_labels) if rng.integers(2) else built("tree", rng, most_labels)
    n = case.space.n_points
    table = [[float(d) for d in row] for row in case.exact.distances]
    keys = list(case.space.points)
    pairs = list(itertools.combinations(range(n), 2))
    if not pairs:
        return case
    graph = LabelGraph.from_edges(
        [(keys[a], keys[b]) for a, b in pairs],
        weights=[table[a][b] for a, b in pairs],
        labels=keys,
        directed=False,
    )
    order = [case.space.points.index(key) for key in graph.keys]
    back = {old: new for new, old in enumerate(order)}
    distances = [[case.exact.distances[a][b] for b in order] for a in order]
    allowed = sorted(back[y] for y in case.exact.allowed)
    space = GraphSpace(graph, allowed)
    return SpaceCase(space, ExactSpace(distances, allowed), tuple(back[o] for o in case.observed))


def metric_matrix(rng: Generator, most_labels: int) -> SpaceCase:
    """Distances between r and 2 r always obey the triangle inequality."""
    n = int(rng.integers(1, most_labels + 1))
    least = int(rng.choice([1, 2, 5, 300, 40_000]))
    upper = np.triu(rng.integers(least, 2 * least + 1, (n, n)), 1)
    distances = upper + upper.T
    points = rng.permutation(n)[: rng.integers(1, n + 1)]
    return _matrix_case(distances[:, points], rng, [f"y{i}" for i in range(n)], [f"y{i}" for i in points])


def cross_matrix(rng: Generator, most_labels: int) -> SpaceCase:
    """Labels and points have nothing in common; rows are often equal, or dominated by others."""
    n, n_points = int(rng.integers(1, most_labels + 1)), int(rng.integers(1, MOST_OBSERVED + 1))
    distances = rng.integers(0, int(rng.choice([3, 4, 7, 60_000])), (n, n_points))
    return _matrix_case(distances, rng, [f"y{i}" for i in range(n)], [f"l{i}" for i in range(n_points)])


def decimal_case(rng: Generator, unit: Fraction, most_labels: int = 9) -> SpaceCase:
    """A graph with lengths that floating point rounds, and an exact twin with the lengths that were meant."""
    pairs, n = _connected_pairs(rng, most_labels)
    whole = rng.integers(1, 7, len(pairs)).tolist()
    graph = undirected(pairs, n, [float(length * unit) for length in whole])
    allowed = np.sort(rng.permutation(n)[: rng.integers(1, n + 1)])
    named = [int(key[1:]) for key in graph.keys]
    meant = oracles.all_distances(n, [(*pair, length) for pair, length in zip(pairs, whole, strict=True)])
    exact = ExactSpace([[meant[a][b] for b in named] for a in named], allowed.tolist())
    observed = rng.permutation(n)[: rng.integers(1, min(n, MOST_OBSERVED) + 1)].tolist()
    return SpaceCase(metric_space(graph, labels=graph.keys.take(allowed)), exact, tuple(observed))


def _matrix_case(
    distances: np.ndarray, rng: Generator, keys: Sequence[str], points: Sequence[str]
) -> SpaceCase:
    wide = [np.uint16, np.float32, np.float64] if distances.max() < 65_536 else [np.float32, np.float64]
    given = distances.astype(rng.choice([np.uint8, *wide] if distances.max() < 256 else wide))
    if given.dtype == np.float64 and rng.integers(2):
        given = given / 8
    n_points = len(points)
    observed = rng.permutation(n_points)[: rng.integers(1, min(n_points, MOST_OBSERVED) + 1)]
    space = MatrixSpace(given, keys, points)
    exact = ExactSpace(distances.tolist(), range(len(keys)))
    return SpaceCase(space, exact, tuple(observed.tolist()))


def _connected_pairs(rng: Generator, most_labels: int) -> tuple[list[tuple[int, int]], int]:
    n = int(rng.integers(2, most_labels + 1))
    pairs = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    for a, b in rng.integers(0, n, (int(rng.integers(0, 2 * n)), 2)).tolist():
        if a != b:
            pairs.add((min(a, b), max(a, b)))
    return sorted(pairs), n


def exact_space(space: MetricSpace, graph: LabelGraph) -> ExactSpace:
    """The exact twin of a space made from a graph by ``metric="auto"``."""
    allowed = range(graph.n_labels) if space.allowed is None else space.allowed.tolist()
    return ExactSpace(oracles.graph_distances(graph), list(allowed))


FAMILIES: dict[str, Callable[[Generator, int], SpaceCase]] = {
    **{kind: (lambda rng, most, kind=kind: built(kind, rng, most)) for kind in KINDS},
    "spider": spider,
    "star": star,
    "cycle": cycle,
    "clique": clique,
    "solid grid": solid_grid,
    "fraction tree": fraction_tree,
    "fraction graph": fraction_graph,
    "unit graph": unit_graph,
    "tree as graph": tree_as_graph,
    "metric matrix": metric_matrix,
    "cross matrix": cross_matrix,
}
