"""The generators behind the benchmarks give the same graph for the same seed, on any machine."""

from __future__ import annotations

from tests.benchmarks.graphs import category_graph, taxonomy_tree


def test_sizes_and_digests_are_fixed() -> None:
    tree, graph = taxonomy_tree(500), category_graph(400, 1000)
    assert (tree.n_labels, tree.n_edges, tree.is_tree) == (500, 499, True)
    assert (graph.n_labels, graph.n_edges, graph.n_components) == (400, 1000, 1)
    assert tree.digest == taxonomy_tree(500).digest != taxonomy_tree(500, seed=1).digest
    assert graph.digest == category_graph(400, 1000).digest != category_graph(400, 1000, seed=1).digest
    assert tree.digest.startswith("eec429b3cc860039")
    assert graph.digest.startswith("ff9160fc16b6f9f8")
