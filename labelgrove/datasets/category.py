"""Generate a graph of categories, and documents with several categories each, similar to the LSHTC data.

Some categories of the graph are hubs: they have very many children.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.ownfiles import Files, read_features, read_votes
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Categories", "categories", "categories_of_files"]

_DIMENSIONS = 32
_STREAM = 23
_FEWEST = 7  # fewer have too few pairs for the edges
_EDGES_PER_LABEL = 2.65
_NOISE = 0.35
_UNIFORM = 0.25


@dataclass(frozen=True, eq=False)
class Categories:
    """Documents, their categories, and the graph of categories.

    Attributes
    ----------
    graph : LabelGraph
        The categories, in one connected component.
    features : ndarray of shape (n_documents, n_features), or scipy.sparse matrix
    votes : tuple of tuple of str
        The keys of the categories of each document.
    """

    graph: LabelGraph
    features: Any
    votes: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=2)
def categories(n_labels: int, n_documents: int, seed: int) -> Categories:
    """Generate a hierarchy with hubs, a vector for each category, and documents.

    Hubs are categories with very many children. The vector of a category is near that of its first parent.

    Notes
    -----
    The first parent of each new category is drawn among the categories that exist already. In three of four
    cases, the probability of a category grows with its number of children; otherwise all are equally likely.
    Then further parents are drawn, half of them near the first parent, until there are 2.65 edges for each
    category, as in LSHTC. A document has one to four neighboring categories; its features are the mean of the
    vectors of these categories, plus noise.
    """
    if n_labels < _FEWEST:
        raise InputError(f"n_labels: {n_labels} given; give {_FEWEST} or more")
    rng = np.random.default_rng((seed, _STREAM))
    parent = _tree_with_hubs(rng, n_labels)
    vectors = _vectors(rng, parent)
    keys = [str(i) for i in range(1, n_labels + 1)]
    edges = _with_more_parents(rng, parent)
    graph = LabelGraph.from_edges([(keys[child], keys[above]) for child, above in edges])
    center = rng.integers(1, n_labels, n_documents)
    votes, features = [], np.empty((n_documents, _DIMENSIONS))
    for i, label in enumerate(center.tolist()):
        near = [label, int(parent[label]), *np.flatnonzero(parent == parent[label])[:3].tolist()]
        chosen = sorted({label, *rng.choice(near, rng.integers(1, 4)).tolist()})
        votes.append(tuple(keys[j] for j in chosen))
        features[i] = vectors[chosen].mean(axis=0) + _NOISE * rng.standard_normal(_DIMENSIONS)
    return Categories(graph, features, tuple(votes))


def categories_of_files(files: Files) -> Categories:
    """Read the user's documents and hierarchy; keep only the categories in its largest connected component.

    Documents that have no category in this component are left out.

    Raises
    ------
    InputError
        If the numbers of documents and of lines with labels differ, or if no document is left.
    """
    graph = files.graph(largest=True)
    if files.embeddings is None or files.labels is None:
        raise InputError("--embeddings, --labels: both are needed for training and testing; give both")
    features, votes = read_features(files.embeddings), read_votes(files.labels)
    if features.shape[0] != len(votes):
        raise InputError(
            f"--labels {files.labels}: {len(votes)} lines for {features.shape[0]} rows of --embeddings; "
            "give the labels of one row on each line"
        )
    kept = [tuple(key for key in row if graph.keys.find(key) >= 0) for row in votes]
    rows: NDArray[np.int64] = np.array([i for i, row in enumerate(kept) if row], dtype=np.int64)
    if not len(rows):
        raise InputError(
            f"--labels {files.labels}: no category is in the largest component of --hierarchy; "
            "write categories as keys of the hierarchy"
        )
    return Categories(graph, features[rows], tuple(kept[i] for i in rows.tolist()))


def _tree_with_hubs(rng: np.random.Generator, n_labels: int) -> NDArray[np.int64]:
    """Return the index of the first parent of each category; -1 for the root.

    The index of a parent is smaller than that of its child.
    """
    parent = np.full(n_labels, -1, dtype=np.int64)
    ends = np.zeros(2 * n_labels, dtype=np.int64)  # one entry per label and child: hubs occur often
    filled = 1
    for label in range(1, n_labels):
        if rng.random() < _UNIFORM:
            parent[label] = rng.integers(label)
        else:
            parent[label] = ends[rng.integers(filled)]
        ends[filled], ends[filled + 1] = parent[label], label
        filled += 2
    return parent


def _vectors(rng: np.random.Generator, parent: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a vector for each category; it is near the vector of the first parent of the category."""
    step = rng.standard_normal((len(parent), _DIMENSIONS))
    vectors = np.empty_like(step)
    vectors[0] = step[0]
    for label in range(1, len(parent)):
        vectors[label] = 0.9 * vectors[parent[label]] + 0.5 * step[label]
    return vectors


def _with_more_parents(rng: np.random.Generator, parent: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the edges of the tree and of further parents, as sorted pairs (child, parent)."""
    n_labels = len(parent)
    pairs = {(label, int(parent[label])) for label in range(1, n_labels)}
    while len(pairs) < _EDGES_PER_LABEL * n_labels:
        child = int(rng.integers(2, n_labels))
        grandparent = max(int(parent[parent[child]]), 0)
        pairs.add((child, grandparent if rng.random() < 0.5 else int(rng.integers(child))))
    return sorted(pairs)
