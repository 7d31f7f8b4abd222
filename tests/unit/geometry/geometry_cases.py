"""Random small label graphs of every kind the spaces know, from one seeded generator."""

from __future__ import annotations

import numpy as np

from ontology.labelgraph import LabelGraph

KINDS = ("tree", "undirected tree", "weighted tree", "dag", "grid", "weighted graph", "polytree", "complete")


def random_graph(kind: str, rng: np.random.Generator, most: int = 14) -> LabelGraph:
    """Draw a connected graph; lengths, where there are any, are whole numbers."""
    n = int(rng.integers(1, most + 1))
    keys = [f"k{i:02d}" for i in rng.permutation(n)]
    shape = rng.integers(0, 3)  # bushy, deep or star-like
    low = np.maximum(0, np.arange(n) - 2) if shape == 1 else np.zeros(n, dtype=int)
    parent = [int(rng.integers(low[i], i)) if shape != 2 else 0 for i in range(1, n)]
    pairs = [(keys[i], keys[p]) for i, p in enumerate(parent, start=1)]
    if kind == "tree":
        return LabelGraph.from_edges(pairs, labels=keys)
    if kind == "undirected tree":
        return LabelGraph.from_edges(pairs, labels=keys, directed=False)
    if kind == "weighted tree":
        lengths = rng.integers(1, 1 + int(rng.choice([2, 5, 400])), len(pairs))
        return LabelGraph.from_edges(pairs, weights=lengths, labels=keys, directed=bool(rng.integers(2)))
    if kind == "polytree":
        return LabelGraph.from_edges([p if rng.random() < 0.7 else p[::-1] for p in pairs], labels=keys)
    if kind == "grid":
        return LabelGraph.grid([int(s) for s in rng.integers(1, 5, int(rng.integers(1, 3)))])
    if kind == "complete":
        return LabelGraph.complete(n)
    more = [sorted(rng.choice(n, 2, replace=False).tolist()) for _ in range(int(rng.integers(0, n)))] if n > 1 else []
    pairs = sorted({*pairs, *((keys[b], keys[a]) for a, b in more)})
    if kind == "dag":
        return LabelGraph.from_edges(pairs, ranks=rng.integers(0, 2, len(pairs)), labels=keys)
    lengths = rng.integers(1, 6, len(pairs))
    return LabelGraph.from_edges(pairs, weights=lengths, labels=keys, directed=False)


def random_observed(n_points: int, rng: np.random.Generator) -> np.ndarray:
    """Draw distinct observed points in any order."""
    return rng.permutation(n_points)[: int(rng.integers(1, n_points + 1))]


def random_votes(n_samples: int, n_observed: int, rng: np.random.Generator) -> np.ndarray:
    """Draw small whole weights with many zeros and equals, so that ties are common."""
    votes = rng.integers(0, int(rng.choice([2, 3, 6])), (n_samples, n_observed))
    votes[~votes.any(axis=1), 0] = 1
    return votes
