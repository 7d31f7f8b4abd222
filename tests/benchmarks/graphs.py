"""Seeded synthetic label graphs for benchmarks; run as a script it prints their sizes and digests.

python -m tests.benchmarks.graphs
"""

from __future__ import annotations

import json
import sys

import numpy as np

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.readers import find_wordnet, read

WORDNET_SIZE = 82_115
LSHTC_LABELS, LSHTC_EDGES = 325_056, 863_261


def noun_graph() -> tuple[str, LabelGraph]:
    """WordNet's nouns with all their parents where WordNet is installed, else a graph of its size."""
    found = _wordnet()
    if found is None:
        return "category_graph", category_graph(WORDNET_SIZE, WORDNET_SIZE + 2_000)
    return "wordnet nouns", found


def noun_tree() -> tuple[str, LabelGraph]:
    """WordNet's nouns, meant for their primary parents, where it is installed, else a tree of its size."""
    found = _wordnet()
    return ("taxonomy_tree", taxonomy_tree()) if found is None else ("wordnet nouns, primary parents", found)


def _wordnet() -> LabelGraph | None:
    folder = find_wordnet()
    return None if folder is None else read(folder).graph


def taxonomy_tree(n_labels: int = WORDNET_SIZE, seed: int = 0) -> LabelGraph:
    """Grow a tree about as deep as WordNet's nouns: most labels hang on a recent one, some on any."""
    rng = np.random.default_rng(seed)
    child = np.arange(1, n_labels)
    parent = (child * rng.beta(2.0, 1.6, len(child))).astype(np.int64)
    keys = _keys(n_labels)
    return LabelGraph.from_edges([(keys[c], keys[p]) for c, p in zip(child, parent.tolist(), strict=True)])


def category_graph(n_labels: int = LSHTC_LABELS, n_edges: int = LSHTC_EDGES, seed: int = 0) -> LabelGraph:
    """Grow a hub-heavy hierarchy of several parents, shaped like the LSHTC category graph.

    Label i > 0 hangs on one earlier label, and further edges join random labels to earlier ones; an earlier
    label is drawn as ``floor(i * u**4)``, so that a few hubs hold a large share of all edges.
    """
    rng = np.random.default_rng(seed)
    first = np.arange(1, n_labels)
    edges = first * n_labels + hub_below(first, rng)
    while len(edges) < n_edges:
        child = rng.integers(1, n_labels, 2 * (n_edges - len(edges)))
        more = np.unique(child * n_labels + hub_below(child, rng))
        more = np.setdiff1d(more, edges)
        edges = np.concatenate([edges, rng.permutation(more)[: n_edges - len(edges)]])
    keys = _keys(n_labels)
    ends = zip((edges // n_labels).tolist(), (edges % n_labels).tolist(), strict=True)
    return LabelGraph.from_edges([(keys[c], keys[p]) for c, p in ends])


def hub_below(child: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw for each label an earlier one, the first ones by far the likelier."""
    return (child * rng.random(len(child)) ** 4).astype(np.int64)


def _keys(n: int) -> list[str]:
    return [f"{i:06d}" for i in range(n)]


def describe(name: str, graph: LabelGraph) -> dict[str, object]:
    """Size, largest degree and digest of a graph, as benchmarks print them."""
    degree = np.bincount(np.concatenate([graph.edge_child, graph.edge_parent]), minlength=graph.n_labels)
    return {
        "graph": name,
        "n_labels": graph.n_labels,
        "n_edges": graph.n_edges,
        "depth": int(graph.depth.max()),
        "largest_degree": int(degree.max()),
        "digest": graph.digest,
    }


if __name__ == "__main__":
    found = [describe("taxonomy_tree", taxonomy_tree()), describe("category_graph", category_graph())]
    json.dump(found, sys.stdout, indent=2)
    print()
