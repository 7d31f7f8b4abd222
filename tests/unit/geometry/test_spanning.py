"""Spanning trees are minimal and depend on canonical order alone; comparisons reduce to known losses."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, DenseScorer, MatrixSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.spaces.compare import compare_spaces
from labelgrove.ontology.geometry.spaces.euclidean import EuclideanSpace
from labelgrove.ontology.geometry.spaces.spanning import spanning_tree
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph

SEED = 5


def euclidean(n: int, seed: int = SEED) -> EuclideanSpace:
    return EuclideanSpace(np.random.default_rng(seed).standard_normal((n, 3)), [f"{i:04d}" for i in range(n)])


def kruskal(distance: np.ndarray) -> float:
    """Length of a minimum spanning tree by another algorithm."""
    n = len(distance)
    part, total = list(range(n)), 0.0
    for a, b in sorted(combinations(range(n), 2), key=lambda pair: distance[pair]):
        if part[a] != part[b]:
            total += float(distance[a, b])
            part = [part[a] if p == part[b] else p for p in part]
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_it_is_minimal_and_its_distortion_is_measured(n: int) -> None:
    space = euclidean(n)
    tree, distortion = spanning_tree(space)
    distance = space.distances()
    assert tuple(tree.keys) == tuple(space.keys)
    assert tree.tree.length.sum() == pytest.approx(kruskal(distance))
    pairs = np.triu_indices(n, 1)
    ratio = tree.distances()[pairs] / distance[pairs]
    assert (distortion.n_pairs, distortion.status) == (n * (n - 1) // 2, "exact")
    assert distortion.largest == (ratio.max() if n > 1 else 1.0)
    assert distortion.mean == pytest.approx(ratio.mean() if n > 1 else 1.0)


def test_a_tree_is_its_own_spanning_tree() -> None:
    rng = np.random.default_rng(SEED)
    parent = [-1] + [int(rng.integers(0, i)) for i in range(1, 25)]
    space = TreeSpace.from_arrays(Keys.from_strings([f"{i:02d}" for i in range(25)]), parent)
    tree, distortion = spanning_tree(space)
    np.testing.assert_array_equal(tree.distances(), space.distances())
    assert (distortion.largest, distortion.mean) == (1.0, 1.0)


def test_ties_go_to_the_lowest_index() -> None:
    grid = metric_space(LabelGraph.grid((3, 3)))
    tree, distortion = spanning_tree(grid)
    assert tree.parent.tolist() == [-1, 0, 1, 0, 1, 2, 3, 4, 5]
    assert distortion.largest == 5.0  # the last two corners, one step apart
    assert spanning_tree(CompleteSpace(list("abcd")))[0].parent.tolist() == [-1, 0, 0, 0]


def test_leaf_only_spaces_give_trees_over_their_leaves() -> None:
    graph = LabelGraph.from_edges([("b", "a"), ("c", "a"), ("d", "c"), ("e", "c"), ("d", "b")])
    space = metric_space(graph, labels="leaves")
    tree, _ = spanning_tree(space)
    assert tuple(tree.keys) == tuple(space.keys) == ("d", "e")
    assert tree.diameter() == space.diameter() == 2


def test_large_spaces_are_sampled_and_say_so() -> None:
    space = euclidean(40)
    exact = spanning_tree(space)[1]
    sampled = spanning_tree(space, max_pairs=400, seed=1)[1]
    assert sampled.status == "lower_bound"
    assert sampled.n_pairs == 10 * 30 + 45  # every pair with one of ten labels, once
    assert 1 <= sampled.mean <= sampled.largest <= exact.largest
    assert sampled == spanning_tree(space, max_pairs=400, seed=1)[1]
    assert sampled != spanning_tree(space, max_pairs=400, seed=2)[1]
    assert spanning_tree(space, max_pairs=1)[1].n_pairs == 39


def test_what_has_no_tree_is_refused() -> None:
    with pytest.raises(SpaceError, match="'b' and 'c' are at distance 0"):
        spanning_tree(EuclideanSpace(np.array([[0.0], [1.0], [1.0]]), ["a", "b", "c"]))
    with pytest.raises(InputError, match="max_pairs: 0"):
        spanning_tree(euclidean(3), max_pairs=0)
    with pytest.raises(SpaceError, match="have no column"):
        spanning_tree(MatrixSpace(np.array([[0.0], [1.0]]), ["a", "b"], ["a"]))


def samples(n_observed: int) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(SEED)
    weights = rng.random((200, n_observed)) ** 4
    return weights / weights.sum(axis=1, keepdims=True), rng.integers(0, 9, 200).tolist()


def test_on_a_line_it_is_the_mean_squared_error_and_on_a_complete_graph_the_0_1_loss() -> None:
    keys = list("abcdefghi")
    line = TreeSpace.from_arrays(Keys.from_strings(keys), np.arange(9) - 1)
    on_axis = EuclideanSpace(np.arange(9.0)[:, None], keys)
    observed = np.array([0, 3, 8, 5])
    weights, truth = samples(4)
    spaces = {"line": line, "axis": on_axis, "flat": CompleteSpace(keys)}
    found = {
        one.name: one
        for one in compare_spaces(spaces, [keys[o] for o in observed], weights, [keys[t] for t in truth])
    }
    assert list(found) == list(spaces)
    # on the line of numbers 0..8 the Fréchet mean is the mean of the numbers, rounded
    predicted = np.rint(weights @ observed)
    error = ((predicted - np.array(truth)) ** 2).mean()
    assert found["line"].mean_squared == found["axis"].mean_squared == pytest.approx(error)
    assert found["line"].relative == pytest.approx(error / 64)
    loss = (observed[weights.argmax(axis=1)] != np.array(truth)).mean()
    assert (found["flat"].mean_squared, found["flat"].relative) == (loss, loss)
    assert [found[name].diameter for name in spaces] == [8.0, 8.0, 1.0]


def test_it_is_the_rule_of_the_space_and_not_of_the_classifier() -> None:
    grid = metric_space(LabelGraph.grid((3, 3)))
    observed = [0, 2, 6]
    weights, truth = samples(3)
    (found,) = compare_spaces({"grid": grid}, grid.keys.take(observed), weights, grid.keys.take(truth))
    predicted = DenseScorer(grid.distances(cols=observed)).score(weights).index
    distance = grid.distances().astype(float)
    assert found.mean_squared == pytest.approx((distance[predicted, truth] ** 2).mean())
    assert found.diameter == 4


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"spaces": {}}, InputError, "spaces: empty"),
        (
            {"spaces": {"dot": CompleteSpace(["a"])}, "observed": ["a"], "weights": [[1.0]]},
            SpaceError,
            "'dot'",
        ),
        ({"truth": ["a", "a"]}, InputError, "truth: 2 keys for 1 rows"),
        ({"truth": "a"}, InputError, "truth: the single string 'a' given"),
        ({"weights": np.zeros((0, 2)), "truth": []}, InputError, "truth: 0 keys for 0 rows"),
        ({"truth": ["z"]}, UnknownLabelError, "'z'"),
        ({"observed": ["a", "z"]}, UnknownLabelError, "'z'"),
    ],
)
def test_what_cannot_be_compared_is_named(change: dict[str, Any], error: type, words: str) -> None:
    arguments: dict[str, Any] = {
        "spaces": {"flat": CompleteSpace(["a", "b"])},
        "observed": ["a", "b"],
        "weights": [[1.0, 0.0]],
        "truth": ["a"],
    }
    with pytest.raises(error, match=words):
        compare_spaces(**(arguments | change))
