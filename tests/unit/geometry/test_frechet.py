"""Fréchet means on every space equal the exact integer answer, ties included; and obey their laws."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_cases import KINDS, Case, cases, random_case
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.errors import InputError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import (
    CompleteSpace,
    EuclideanSpace,
    MatrixSpace,
    frechet_mean,
    frechet_mean_set,
    frechet_variance,
    make_scorer,
    metric_space,
)
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles

SEED = 20_240_611


def assert_equals_oracle(case: Case, beta: int = 2) -> int:
    """Compare index, value and number tied of every sample; return the number of samples."""
    result = frechet_mean(case.space, case.keys, case.weights, beta=beta)
    for sample in range(len(case.weights)):
        values = case.variances(sample, beta)
        among = oracles.smallest(values)
        found = (int(result.index[sample]), int(result.value[sample]), int(result.n_tied[sample]))
        assert found == (among[0], values[among[0]], len(among)), (case, sample)
        assert result.value[sample] == found[1]
    return len(case.weights)


def test_ten_thousand_random_cases_equal_the_exact_answer() -> None:
    rng = np.random.default_rng(SEED)
    n_cases = 0
    for round_ in range(190):
        beta = (2, 2, 2, 1, 2, 3)[round_ % 6]
        for kind in KINDS:
            n_cases += assert_equals_oracle(random_case(kind, rng, n_samples=6), beta)
    assert n_cases >= 10_000


@given(cases())
def test_mean_set_and_variance_equal_the_exact_answer(case: Case) -> None:
    values = case.variances(0)
    keys = case.space.keys.take(oracles.smallest(values))
    assert frechet_mean_set(case.space, case.keys, case.weights[0]) == keys
    assert frechet_variance(case.space, case.keys, case.weights[0]).tolist() == values
    assert_equals_oracle(case)


@given(cases(), st.sampled_from([1, 2, 3, 4, 7]), st.data())
def test_top_and_candidates_equal_the_exact_ranking(case: Case, beta: int, data: st.DataObject) -> None:
    values = case.variances(0, beta)
    candidates = data.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, unique=True))
    top = data.draw(st.integers(1, len(candidates)))
    among = sorted(candidates)
    wanted = [among[i] for i in oracles.ranking([values[i] for i in among], top)]
    result = frechet_mean(
        case.space,
        case.keys,
        case.weights,
        beta=beta,
        top=top,
        candidates=case.space.keys.take(candidates),
    )
    assert result.index.reshape(1, top).tolist() == [wanted]
    assert result.value.reshape(top).tolist() == [values[i] for i in wanted]
    assert result.n_tied.tolist() == [len(oracles.smallest([values[i] for i in among]))]


# ---- laws ------------------------------------------------------------------------------------------------


def test_on_a_line_it_is_the_rounded_mean_and_on_a_complete_graph_the_argmax() -> None:
    keys, observed = list("abcdefghi"), np.array([0, 3, 8, 5])
    weights = np.random.default_rng(SEED).random((200, 4)) ** 4
    weights /= weights.sum(axis=1, keepdims=True)
    line = metric_space(LabelGraph.from_edges(list(zip(keys[1:], keys, strict=False))))
    axis = EuclideanSpace(np.arange(9.0)[:, None], keys)
    for space in (line, axis):
        found = frechet_mean(space, [keys[o] for o in observed], weights)
        assert space.keys.take(found.index) == tuple(keys[i] for i in np.rint(weights @ observed).astype(int))
    flat = frechet_mean(CompleteSpace(keys), [keys[o] for o in observed], weights)
    assert flat.index.tolist() == observed[weights.argmax(axis=1)].tolist()


@given(cases())
def test_all_weight_on_one_allowed_label_returns_it(case: Case) -> None:
    one_hot = np.eye(len(case.observed))
    result = frechet_mean(case.space, case.keys, one_hot)
    for sample, point in enumerate(case.observed):
        if point in case.allowed:
            assert case.allowed[result.index[sample]] == point
            assert (result.value[sample], result.n_tied[sample]) == (0.0, 1)


@given(cases(), st.integers(-60, 60))
def test_scaling_a_row_changes_no_decision(case: Case, exponent: int) -> None:
    plain = frechet_mean(case.space, case.keys, case.weights)
    scaled = frechet_mean(case.space, case.keys, np.array(case.weights) * 2.0**exponent)
    assert (plain.index == scaled.index).all()
    assert (plain.n_tied == scaled.n_tied).all()
    assert (plain.value * 2.0**exponent == scaled.value).all()


@given(cases(["tree", "weighted tree", "undirected tree"]))
def test_a_label_that_stands_twice_counts_twice(case: Case) -> None:
    weights = np.array(case.weights)
    space = metric_space_of_all(case)
    doubled = weights.copy()
    doubled[:, 0] *= 2
    repeated = np.hstack([weights, weights[:, :1]])
    points = np.array(case.observed)
    once = TreeScorer(space, points).score(doubled)
    twice = TreeScorer(space, np.append(points, points[0])).score(repeated)
    assert (once.index == twice.index).all()
    assert (once.value == twice.value).all()
    columns = space.distances(cols=points)
    dense = DenseScorer(np.hstack([columns, columns[:, :1]])).score(repeated)
    assert (once.index == dense.index).all()


def metric_space_of_all(case: Case):
    return type(case.space)(case.space.points, case.space.tree)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_observed_labels_changes_no_whole_number(case: Case, random) -> None:
    order = list(range(len(case.observed)))
    random.shuffle(order)
    plain = frechet_mean(case.space, case.keys, case.weights)
    moved = frechet_mean(
        case.space, [case.keys[i] for i in order], [[row[i] for i in order] for row in case.weights]
    )
    assert (plain.index == moved.index).all()
    assert (plain.value == moved.value).all()


@given(cases(["tree", "dag", "weighted graph"]), st.randoms(use_true_random=False))
def test_renaming_labels_renames_the_mean_set(case: Case, random) -> None:
    n = case.space.n_points
    names = [f"n{i:02d}" for i in range(n)]
    random.shuffle(names)
    space = MatrixSpace(np.array(case.distances, dtype=np.float64), case.space.points)
    order = np.argsort(names)
    renamed = MatrixSpace(
        np.array(case.distances, dtype=np.float64)[np.ix_(order, order)], [names[i] for i in order]
    )
    found = frechet_mean_set(space, case.keys, case.weights[0])
    again = frechet_mean_set(renamed, [names[o] for o in case.observed], case.weights[0])
    assert sorted(names[space.points.index(key)] for key in found) == sorted(again)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint16])
def test_weights_are_read_as_given_into_float64(dtype: type) -> None:
    space = metric_space(LabelGraph.grid((5, 4)))
    keys = ["0,0", "4,3", "2,1"]
    weights = np.random.default_rng(SEED).random((50, 3))
    weights = (weights * 100 if np.dtype(dtype).kind in "iu" else weights).astype(dtype)
    given_ = frechet_mean(space, keys, weights)
    read = frechet_mean(space, keys, weights.astype(np.float64))
    assert (given_.index == read.index).all()
    assert (given_.value == read.value).all()


# ---- shapes and errors -----------------------------------------------------------------------------------


def test_shapes_follow_weights_and_top() -> None:
    space = CompleteSpace(["a", "b", "c"])
    one = frechet_mean(space, ["a", "b"], [1, 2])
    assert (one.index, one.value, one.n_tied) == (1, 1.0, 1)
    assert frechet_mean(space, ["a", "b"], [[1, 2]]).index.shape == (1,)
    assert frechet_mean(space, ["a", "b"], [[1, 2]] * 4, top=3).index.shape == (4, 3)
    assert frechet_mean(space, ["a", "b"], [1, 2], top=2).index.tolist() == [1, 0]
    assert frechet_mean(space, ["a", "b"], np.empty((0, 2))).index.shape == (0,)
    assert frechet_mean(space, ["a", "b"], np.empty((0, 2)), top=2).index.shape == (0, 2)
    assert frechet_variance(space, ["a"], [[1.0]] * 2).shape == (2, 3)


TREE = metric_space(LabelGraph.from_edges([("a", "r"), ("b", "r")]))
GRID = metric_space(LabelGraph.grid((3, 3)))
BAD_WEIGHTS = [
    ([[1.0, np.nan]], "NaN"),
    ([[1.0, 1.0], [np.inf, 1.0]], "row 1, column 0 holds inf"),
    ([[1.0, -0.5]], "negative"),
    ([[0.0, 0.0]], "row 0 sums to 0.0"),
    ([[1e-200, 0.0]], "scale"),
    ([[1e200, 0.0]], "scale"),
    ([[1e308, 1e308]], "scale"),
    ([[1.0, 2.0, 3.0]], "shape"),
    ([[[1.0, 2.0]]], "shape"),
    (1.0, "shape"),
    ([["a", "b"]], "dtype"),
    ([[1j, 0]], "dtype"),
]


@pytest.mark.parametrize(("weights", "text"), BAD_WEIGHTS)
def test_bad_weights_are_refused_by_both_scorers(weights, text: str) -> None:
    for space, keys in ((TREE, ["a", "b"]), (GRID, ["0,0", "1,1"])):
        scorer = make_scorer(space, keys)
        with pytest.raises(WeightError, match=text):
            scorer.score(weights)
        with pytest.raises(WeightError, match=text):
            scorer.variance(weights)


def test_a_mean_set_is_of_one_row() -> None:
    for space, keys in ((TREE, ["a", "b"]), (GRID, ["0,0", "1,1"])):
        with pytest.raises(WeightError, match="2 rows"):
            frechet_mean_set(space, keys, [[1, 1], [1, 0]])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"observed": ["a", "b", "a"]}, InputError, "'a' occurs twice"),
        ({"observed": []}, InputError, "empty"),
        ({"observed": "a"}, InputError, "list of keys"),
        ({"observed": ["a", "nobody"]}, UnknownLabelError, "nobody"),
        ({"beta": 0}, InputError, "beta"),
        ({"beta": -1.5}, InputError, "beta"),
        ({"beta": np.nan}, InputError, "beta"),
        ({"beta": "2"}, InputError, "beta"),
        ({"top": 0}, InputError, "top"),
        ({"top": 4}, InputError, "top"),
        ({"top": 2, "candidates": ["a"]}, InputError, "top"),
        ({"candidates": []}, InputError, "candidates"),
        ({"candidates": ["nobody"]}, UnknownLabelError, "nobody"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, error: type[Exception], text: str) -> None:
    given_ = {"observed": ["a", "b"], "weights": [1.0, 1.0]} | arguments
    with pytest.raises(error, match=text):
        frechet_mean(TREE, given_.pop("observed"), given_.pop("weights"), **given_)


def test_an_exponent_too_large_for_float64_is_refused() -> None:
    with pytest.raises(InputError, match="smaller exponent"):
        frechet_mean(GRID, ["0,0"], [1.0], beta=1000)


def test_observed_labels_may_be_outside_the_allowed_ones() -> None:
    space = metric_space(LabelGraph.from_edges([("a", "r"), ("b", "a"), ("c", "r")]), labels="leaves")
    result = frechet_mean(space, ["r", "a"], [1.0, 2.0])
    assert space.keys[int(result.index)] == "b"
