"""Small label graphs of every kind the spaces know: drawn by Hypothesis, or from a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelgrove.ontology.geometry import MetricSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles

KINDS = (
    "tree",
    "undirected tree",
    "weighted tree",
    "polytree",
    "dag",
    "primary tree",
    "weighted graph",
    "grid",
    "complete",
)


def build_graph(
    kind: str, parents: Sequence[int], extra: Sequence[tuple[int, int]], numbers: Sequence[int]
) -> LabelGraph:
    """Build a connected graph: label i + 1 hangs on ``parents[i]``; `numbers` become lengths, ranks, turns.

    Keys run against the numbering, so that canonical order is not the order of the input.
    """
    n = len(parents) + 1
    keys = [f"k{(7 * i + 3) % 101:03d}" for i in range(n)]
    pairs = [(keys[i], keys[p]) for i, p in enumerate(parents, start=1)]
    if kind == "tree":
        return LabelGraph.from_edges(pairs, labels=keys)
    if kind == "undirected tree":
        return LabelGraph.from_edges(pairs, labels=keys, directed=False)
    if kind == "weighted tree":
        lengths = [1 + number for number in numbers[: len(pairs)]]
        return LabelGraph.from_edges(pairs, weights=lengths, labels=keys, directed=bool(n % 2))
    if kind == "polytree":
        turned = [p if number % 3 else p[::-1] for p, number in zip(pairs, numbers, strict=False)]
        return LabelGraph.from_edges(turned, labels=keys)
    if kind == "grid":
        return LabelGraph.grid((1 + n % 4, 1 + n // 4))
    if kind == "complete":
        return LabelGraph.complete(n)
    known = set(pairs)
    for a, b in extra:
        if a % n != b % n:
            known.add((keys[max(a % n, b % n)], keys[min(a % n, b % n)]))
    pairs = sorted(known)
    if kind in ("dag", "primary tree"):
        return LabelGraph.from_edges(pairs, ranks=[k % 2 for k in numbers[: len(pairs)]], labels=keys)
    lengths = [1 + number for number in numbers[: len(pairs)]]
    return LabelGraph.from_edges(pairs, weights=lengths, labels=keys, directed=False)


@dataclass(frozen=True)
class Case:
    """A space, its exact distances between points, the allowed and the observed points, and weights."""

    space: MetricSpace
    distances: list[list[oracles.Number]]
    allowed: list[int]
    observed: list[int]
    weights: list[list[int]]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.space.points.take(self.observed)

    def variances(self, sample: int, beta: int = 2) -> list[oracles.Number]:
        return oracles.variances(self.distances, self.allowed, self.observed, self.weights[sample], beta)


def make_case(
    kind: str,
    graph: LabelGraph,
    labels: str | Sequence[int],
    observed: Sequence[int],
    weights: list[list[int]],
) -> Case:
    """Bind a graph to its space and its oracle; labels without a leaf fall back to all."""
    chosen: str | list[str] = labels if isinstance(labels, str) else [graph.keys[i] for i in labels]
    if chosen == "leaves" and not graph.leaf_mask.any():
        chosen = "all"
    if kind == "primary tree":
        space = metric_space(graph, "tree", chosen)
        table = oracles.primary_tree_distances(graph)
    else:
        space = metric_space(graph, "auto", chosen)
        table = oracles.graph_distances(graph)
    allowed = list(range(graph.n_labels)) if space.allowed is None else space.allowed.tolist()
    return Case(space, table, allowed, list(observed), weights)


def random_case(kind: str, rng: np.random.Generator, n_samples: int) -> Case:
    """Draw a case from a generator; small whole weights with zeros and equals, so that ties are common."""
    n = int(rng.integers(1, 13))
    shape = rng.integers(3)  # bushy, deep or a star
    parents = [0 if shape == 2 else int(rng.integers(max(0, i - 2) if shape else 0, i)) for i in range(1, n)]
    extra = rng.integers(0, 99, (int(rng.integers(0, n)), 2)).tolist()
    numbers = rng.integers(0, int(rng.choice([2, 5, 400])), 2 * n).tolist()
    graph = build_graph(kind, parents, extra, numbers)
    observed = rng.permutation(graph.n_labels)[: rng.integers(1, graph.n_labels + 1)].tolist()
    some = rng.permutation(graph.n_labels)[: rng.integers(1, graph.n_labels + 1)].tolist()
    labels = ("all", "leaves", some)[int(rng.integers(3))]
    return make_case(kind, graph, labels, observed, random_votes(n_samples, len(observed), rng).tolist())


def random_votes(n_samples: int, n_observed: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw small whole weights, no row without one."""
    votes = rng.integers(0, int(rng.choice([2, 3, 6])), (n_samples, n_observed))
    votes[~votes.any(axis=1), 0] = 1
    return votes


@st.composite
def cases(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> Case:
    """Draw a case that shrinks to few labels and small numbers; one row of weights."""
    kind = draw(st.sampled_from(kinds))
    n = draw(st.integers(1, 16))
    parents = [draw(st.integers(0, i)) for i in range(n - 1)]
    extra = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=n))
    numbers = draw(st.lists(st.integers(0, 6), min_size=2 * n, max_size=2 * n))
    graph = build_graph(kind, parents, extra, numbers)
    points = st.lists(st.integers(0, graph.n_labels - 1), min_size=1, unique=True)
    observed = draw(points)
    weights = draw(st.lists(st.integers(0, 9), min_size=len(observed), max_size=len(observed)).filter(any))
    return make_case(
        kind, graph, draw(st.one_of(st.sampled_from(["all", "leaves"]), points)), observed, [weights]
    )
