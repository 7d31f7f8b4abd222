"""The variances of all vertices of a tree at once are the sums of weights times squared distances."""

from __future__ import annotations

import numpy as np
import pytest

from labelgrove.ontology.geometry.paths import rootedtree
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.tree.everywhere import Everywhere


def random_tree(rng, n, reach, lengths):
    parent = np.array([-1] + [int(rng.integers(max(0, i - reach), i)) for i in range(1, n)])
    return RootedTree(parent, rng.random(n) * 10.0 ** rng.integers(-3, 4) if lengths else None)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("reach", [1, 3, 1_000])
def test_every_variance_is_its_plain_sum(reach, lengths):
    rng = np.random.default_rng(reach)
    for _ in range(60):
        tree = random_tree(rng, int(rng.integers(1, 60)), reach, lengths)
        at = rng.integers(0, len(tree), int(rng.integers(1, 9)))  # some more than once
        weights = rng.random(len(at)) * (rng.random(len(at)) < 0.7)
        squared = tree.distances(np.arange(len(tree)), at).astype(float) ** 2
        found = Everywhere(tree, at).variance(weights)
        assert found == pytest.approx(squared @ weights, rel=1e-9, abs=1e-12 * squared.max())


def test_whole_numbers_give_exact_sums():
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 500, 40, False)
    at, weights = rng.integers(0, 500, 30), rng.integers(0, 1_000, 30).astype(float)
    exact = (tree.distances(np.arange(500), at).astype(np.int64) ** 2) @ weights.astype(np.int64)
    assert (Everywhere(tree, at).variance(weights) == exact).all()


def test_a_long_stem_above_all_observed_labels_costs_no_digits():
    tree = RootedTree(np.array([-1, 0, 1, 1, 3]), np.array([0, 1e9, 0.1, 0.2, 0.3]))
    at, weights = np.array([2, 4]), np.array([0.25, 0.75])
    squared = tree.distances(np.arange(1, 5), at).astype(float) ** 2
    assert Everywhere(tree, at).variance(weights)[1:] == pytest.approx(squared @ weights, rel=1e-12)


@pytest.mark.parametrize("lengths", [False, True])
def test_few_distances_are_those_of_many(monkeypatch, lengths):
    rng = np.random.default_rng(11)
    for _ in range(100):
        tree = random_tree(rng, int(rng.integers(40, 900)), 20, lengths)
        rows, cols = (rng.integers(0, len(tree), int(rng.integers(1, most))) for most in (5, 20))
        found = []
        for few in (1, 10**9):
            monkeypatch.setattr(rootedtree, "_FEW", few)
            found.append(tree.distances(rows, cols))
        assert (found[0] == found[1]).all()
