"""Random label graphs: their family's laws, and the same graph from the same seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("networkx")

from labelgrove.datasets.randomgraphs import barabasi_albert, erdos_renyi, random_tree, watts_strogatz
from labelgrove.ontology.errors import InputError

FAMILIES = [random_tree, watts_strogatz, erdos_renyi, barabasi_albert]


def degrees(graph):
    return np.bincount(np.concatenate([graph.edge_child, graph.edge_parent]), minlength=graph.n_labels)


@pytest.mark.parametrize("family", FAMILIES)
def test_graphs_are_connected_undirected_and_keyed_by_padded_numbers(family):
    for seed in range(5):
        graph = family(100, seed=seed)
        assert graph.n_components == 1
        assert not graph.directed
        assert sorted(graph.keys) == [f"{i:02d}" for i in range(100)]
        assert not graph.is_weighted


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_is_a_graph(family):
    assert family(40, seed=3).digest == family(40, seed=3).digest
    assert len({family(40, seed=seed).digest for seed in range(8)}) == 8


def test_every_labeled_tree_is_equally_likely():
    # 16 labeled trees on four labels: 4 stars and 12 paths, 1,600 seeds, 100 expected of each.
    drawn = Counter(random_tree(4, seed=seed).digest for seed in range(1600))
    assert len(drawn) == 16
    assert sum((count - 100) ** 2 / 100 for count in drawn.values()) < 37.7  # chi-square, 15 degrees: 0.1 %


def test_trees_are_trees_and_one_label_is_one():
    assert all(random_tree(n).is_tree for n in (1, 2, 3, 50))


def test_edges_are_as_many_as_the_family_has():
    assert watts_strogatz(100).n_edges == 200  # k = 5 joins two neighbors on either side
    assert barabasi_albert(100).n_edges == 2 * 98
    assert degrees(barabasi_albert(100)).max() > 2 * degrees(erdos_renyi(100, p=0.04)).max()
    mean = np.mean([erdos_renyi(100, seed=seed).n_edges for seed in range(10)])
    assert mean == pytest.approx(495, rel=0.05)


def test_a_draw_that_falls_into_parts_is_drawn_again():
    # p = 0.05 leaves some label alone in about every other draw on 100 labels.
    assert all(erdos_renyi(100, p=0.05, seed=seed).n_components == 1 for seed in range(6))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: random_tree(0), "n: 0"),
        (lambda: random_tree(True), "n: True"),
        (lambda: random_tree(5, seed="x"), "seed: 'x'"),
        (lambda: watts_strogatz(5, k=5), "n: 5 given; it must be at least 6"),
        (lambda: watts_strogatz(9, k=1), "k: 1"),
        (lambda: watts_strogatz(9, p=1.5), "p: 1.5"),
        (lambda: erdos_renyi(9, p=-0.1), "p: -0.1"),
        (lambda: erdos_renyi(9, p=0.0), "none of 1000 draws on 9 labels is a connected graph"),
        (lambda: barabasi_albert(2), "n: 2"),
        (lambda: barabasi_albert(9, m=0), "m: 0"),
    ],
)
def test_bad_parameters_are_named(call, told):
    with pytest.raises(InputError, match=told):
        call()
