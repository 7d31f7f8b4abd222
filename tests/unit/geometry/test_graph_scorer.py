"""GraphScorer: rows that are never looked at change no answer, no value and no number of ties."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from geometry_cases import KINDS, random_case
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry import CompleteSpace, FrechetResult, MatrixSpace, make_scorer, metric_space
from labelgrove.ontology.geometry.scoring.dense import densescorer
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.rows import (
    compiledrows,
    graphscorer,
    rowclasses,
    rowgroups,
    rowtree,
)
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
from labelgrove.ontology.geometry.scoring.rows.rowclasses import Classes
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups, group_rows
from labelgrove.ontology.geometry.scoring.rows.rowtree import RowTree
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.decisions import answers_of

SEED = 20_250_704
GRAPHS = ("dag", "weighted graph", "grid")


@pytest.fixture(autouse=True)
def reduced_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(graphscorer, "_WORTH_REDUCING", 0)
    return


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def compiled(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def compiled_scorer(distances: NDArray[Any]) -> GraphScorer:
    scorer = GraphScorer(distances, compiled=True)
    scorer.group()
    return scorer


def assert_same(a: FrechetResult, b: FrechetResult) -> None:
    np.testing.assert_array_equal(a.index, b.index)
    np.testing.assert_array_equal(a.value, b.value)
    np.testing.assert_array_equal(a.n_tied, b.n_tied)


def hub_graph(n: int, n_edges: int, rng: np.random.Generator) -> LabelGraph:
    """Every label hangs on an earlier one, many of them on few; further edges close cycles."""
    child = np.arange(1, n)
    pairs = set(zip(child.tolist(), (child * rng.random(n - 1) ** 3).astype(int).tolist(), strict=True))
    while len(pairs) < n_edges:
        a, b = sorted(rng.integers(0, n, 2).tolist())
        if a < b:
            pairs.add((b, a))
    return LabelGraph.from_edges([(f"{c:04d}", f"{p:04d}") for c, p in sorted(pairs)], directed=False)


def test_random_cases_equal_the_exact_answer(compiled: bool) -> None:
    rng = np.random.default_rng(SEED)
    n_cases = 0
    for _ in range(55):
        for kind in GRAPHS:
            case = random_case(kind, rng, n_samples=10)
            scorer = GraphScorer(case.space.distances(cols=np.array(case.observed)), compiled=compiled)
            top = int(rng.integers(1, case.space.n_labels + 1))
            best, ranked = scorer.score(case.weights), scorer.score(case.weights, top)
            for sample in range(len(case.weights)):
                values = case.variances(sample)
                among = oracles.smallest(values)
                assert best.index[sample] == among[0]
                assert best.value[sample] == values[among[0]]
                assert best.n_tied[sample] == len(among)
                order = oracles.ranking(values, top)
                assert ranked.index.reshape(-1, top)[sample].tolist() == order
                assert ranked.n_tied[sample] == len(among)
            assert scorer.tied(case.weights[0]).tolist() == oracles.smallest(case.variances(0))
            n_cases += len(case.weights)
    assert n_cases >= 1_500


@pytest.mark.parametrize("kind", KINDS)
def test_any_distances_will_do(kind: str, compiled: bool) -> None:
    # restricted labels, trees, weights that sum to 8 and floats: the search reads rows, not graphs
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        case = random_case(kind, rng, n_samples=6)
        distances = case.space.distances(cols=np.array(case.observed))
        rows = np.array(case.weights, dtype=np.float64)
        rows *= 8 / rows.sum(axis=1, keepdims=True)
        for scale in (1, 0.1, 1e-60, 1e20):  # too small for float32, and too large
            scaled = distances if scale == 1 else distances.astype(np.float64) * scale
            dense, scorer = DenseScorer(scaled), GraphScorer(scaled, compiled=compiled)
            assert_same(scorer.score(rows), dense.score(rows))
            assert scorer.tied(rows[0]).tolist() == dense.tied(rows[0]).tolist()


def votes(n_samples: int, n_observed: int, rng: np.random.Generator) -> NDArray[np.float64]:
    rows = np.zeros((n_samples, n_observed))
    for row in rows:
        row[rng.choice(n_observed, 3, replace=False)] = 1
    return rows


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_a_graph_of_hubs(labels: str, compiled: bool) -> None:
    rng = np.random.default_rng(SEED)
    graph = hub_graph(1500, 1900, rng)
    space = metric_space(
        graph, "graph", labels if labels == "all" else graph.keys.take(np.arange(0, 1500, 3))
    )
    observed = rng.permutation(1500)[:40]
    distances = space.distances(cols=observed)
    dense, scorer = DenseScorer(distances), GraphScorer(distances, compiled=compiled)
    peaked = np.exp(5 * rng.standard_normal((80, 40)))
    flat = rng.exponential(size=(80, 40))
    one_hot = np.eye(40)
    for rows in (peaked, flat, flat * 8, votes(80, 40, rng), one_hot, peaked.astype(np.float32)):
        assert_same(scorer.score(rows), dense.score(rows))
        assert_same(scorer.score(rows, 4), dense.score(rows, 4))
    candidates = rng.permutation(len(distances))[:50]
    assert_same(scorer.score(flat, 2, candidates), dense.score(flat, 2, candidates))
    np.testing.assert_array_equal(scorer.variance(flat), dense.variance(flat))


def test_farther_rows_that_tie_are_counted_and_may_win(compiled: bool) -> None:
    # row 2 is nearest everywhere; rows 0 and 1 are farther only where there is no weight
    distances = np.array([[1, 1, 5], [1, 1, 4], [1, 1, 3], [1, 2, 3]], dtype=np.uint8)
    scorer = GraphScorer(distances, compiled=compiled)
    result = scorer.score([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1e-14]])
    assert result.index.tolist() == [0, 2, 0]
    assert result.n_tied.tolist() == [3, 1, 3]
    assert scorer.tied([1.0, 1.0, 0.0]).tolist() == [0, 1, 2]


def test_ties_below_the_smallest_float_are_ties(compiled: bool) -> None:
    # every product is lost in underflow: all rows are 0
    distances = np.hstack([np.zeros((3, 1)), [[3e-75], [2e-75], [1e-75]]])
    weights = np.array([[1.0, 1e-200]])
    scorer = GraphScorer(distances, compiled=compiled)
    assert_same(scorer.score(weights), DenseScorer(distances).score(weights))
    assert scorer.score(weights).n_tied.tolist() == [3]


def test_equal_rows_are_scored_once(compiled: bool) -> None:
    distances = np.repeat(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8), 1000, axis=0)[::-1]
    scorer = GraphScorer(np.ascontiguousarray(distances), compiled=compiled)
    assert group_rows(distances).n_classes == 3
    result = scorer.score([[1.0, 1.0]], top=3)
    assert result.index.tolist() == [[1000, 1001, 1002]]
    assert result.n_tied.tolist() == [1000]
    assert scorer.tied([2.0, 0.0]).tolist() == list(range(2000, 3000))


def hub_distances(n: int, n_edges: int, n_observed: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(SEED)
    space = metric_space(hub_graph(n, n_edges, rng), "graph")
    return space.distances(cols=rng.permutation(n)[:n_observed])


def test_classes_are_the_labels_with_equal_rows() -> None:
    distances = hub_distances(400, 500, 12)
    classes = Classes.of(distances)
    classes = classes.taken(np.random.default_rng(SEED).permutation(len(classes.row)))
    rows = distances[classes.row]
    np.testing.assert_array_equal(np.unique(distances, axis=0), np.unique(rows, axis=0))
    assert len(rows) == len(np.unique(rows, axis=0))
    assert sorted(classes.label.tolist()) == list(range(400))
    for c in range(len(rows)):
        members = classes.label[classes.first[c] : classes.first[c + 1]]
        assert members[0] == classes.row[c] == members.min()
        assert (distances[members] == rows[c]).all()


def items_of(distances: NDArray[np.uint8], groups: RowGroups) -> NDArray[np.uint8]:
    return np.concatenate([groups.bounds, distances[groups.label[groups.first[:-1]]]])


def test_groups_hold_every_row_once_and_their_least_distances() -> None:
    distances = hub_distances(900, 1200, 25)
    groups = group_rows(distances)
    items, begin = items_of(distances, groups), groups.begin
    np.testing.assert_array_equal(np.unique(distances, axis=0), np.unique(items[groups.n_groups :], axis=0))
    assert groups.n_classes == len(np.unique(distances, axis=0))
    parts = [items[begin[g] : begin[g + 1]] for g in range(groups.n_groups)]
    assert all(1 <= len(part) <= 8 for part in parts)
    np.testing.assert_array_equal([part.min(axis=0) for part in parts], groups.bounds)
    assert begin[0] + sum(map(len, parts)) == len(items) == begin[-1]
    assert groups.largest == distances.max()
    assert groups.shape_fault() is None
    assert groups.content_fault(distances) is None


def test_a_group_of_groups_and_rows_is_a_fault() -> None:
    bounds, four, largest = np.zeros((3, 1), np.uint8), np.arange(4, dtype=np.int32), np.ones(1, np.uint8)
    for begin, fault in (([1, 3, 4, 6], None), ([1, 2, 4, 6], "begin must not join groups and classes")):
        groups = RowGroups(bounds, np.array(begin, dtype=np.int32), four, four[:3], largest)
        assert (groups.shape_fault() or "").startswith(fault or "")
        assert (groups.shape_fault() is None) is (fault is None)


def test_equal_distances_give_equal_groups_whatever_their_dtype() -> None:
    distances = hub_distances(900, 1200, 25)
    one = group_rows(distances)
    for dtype in (np.uint16, np.float32, np.float64):
        other = group_rows(distances.astype(dtype))
        for field in ("begin", "first", "label", "bounds", "largest"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_the_split_adds_only_numbers_that_float32_represents(monkeypatch: pytest.MonkeyPatch) -> None:
    # so no library of linear algebra can change the groups: sums in another order are the same
    rng = np.random.default_rng(SEED)
    monkeypatch.setattr(rowgroups, "_EXACT_ROWS", 50)
    for largest in (1, 29, 1e-300, 1e300):
        distances = rng.random((400, 64)) * largest
        groups = group_rows(distances)
        columns = rng.permutation(64)
        other = group_rows(np.ascontiguousarray(distances[:, columns]))
        np.testing.assert_array_equal(groups.label, other.label)
        np.testing.assert_array_equal(groups.bounds[:, columns], other.bounds)


def test_groups_rule_most_rows_out(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rowgroups, "_MOST_ROOTS", 4)
    monkeypatch.setattr(rowtree, "_MOST_IN_PRODUCT", 8)
    monkeypatch.setattr(compiledrows, "_FEW_ITEMS", 0)
    distances = hub_distances(900, 1200, 25)
    tree = RowTree(distances, group_rows(distances))
    rows = np.exp(5 * np.random.default_rng(SEED).standard_normal((50, 25)))
    find = partial(compiledrows.find, top=1) if compiled else RowTree.find
    for worthwhile, known in ((3, True), (1000, False)):
        monkeypatch.setattr(rowtree, "_WORTHWHILE", worthwhile)
        assert (find(tree, tree.shares(rows, rows.sum(axis=1))) is not None) is known


DTYPES = (np.uint8, np.uint16, np.float32, np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_decision_names_the_labels_that_the_plain_sums_name(dtype: type) -> None:
    rng = np.random.default_rng(SEED)
    for n, n_edges, n_observed in ((40, 45, 3), (900, 1200, 25), (1500, 5000, 70)):
        distances = hub_distances(n, n_edges, n_observed).astype(dtype)
        if distances.dtype.kind == "f":
            distances *= dtype(0.1)
        scorer = compiled_scorer(distances)
        order = rng.permutation(n_observed)
        peaked = np.exp(5 * rng.standard_normal((90, n_observed)))
        for rows in (peaked, votes(90, n_observed, rng), np.eye(n_observed), peaked * 1e-140):
            expected = DenseScorer(distances).score(rows).index
            decide, reordered = answers_of(scorer), answers_of(scorer, order)
            np.testing.assert_array_equal(decide(rows), expected)
            shuffled = np.empty_like(rows)
            shuffled[:, order] = rows
            np.testing.assert_array_equal(reordered(shuffled), expected)
            np.testing.assert_array_equal([decide(row[None])[0] for row in rows[:20]], expected[:20])
            if rows is not rows[0] and rows.max() > 1e-30:
                single = rows.astype(np.float32)
                exact = DenseScorer(distances).score(single).index
                np.testing.assert_array_equal(decide(single), exact)


@pytest.mark.parametrize("error", [1e-6, 1e-3, 1e-1])
def test_inexact_weights_leave_open_what_they_cannot_decide(error: float) -> None:
    rng = np.random.default_rng(SEED)
    distances = hub_distances(900, 1200, 25)
    decide = compiled_scorer(distances).decision(None)
    assert decide is not None
    exact = np.exp(2 * rng.standard_normal((400, 25)))
    exact /= exact.sum(axis=1, keepdims=True)
    best = DenseScorer(distances).score(exact).index
    n_wrong = n_left = 0
    for _ in range(5):
        moved = rng.standard_normal(exact.shape)
        moved -= moved.mean(axis=1, keepdims=True)
        moved *= 0.9 * error / np.abs(moved).sum(axis=1, keepdims=True)
        rows = np.maximum(exact + moved, 0)
        rows /= rows.sum(axis=1, keepdims=True)
        rows = rows[np.abs(rows - exact).sum(axis=1) <= error]
        if len(rows) < len(exact):
            continue
        found = decide.find(rows, error)
        assert found is not None
        index, left = found
        closed = np.ones(len(rows), dtype=np.bool_)
        closed[[] if left is None else left] = False
        np.testing.assert_array_equal(index[closed], best[closed])
        n_wrong += int((DenseScorer(distances).score(rows).index != best).sum())
        n_left += len(rows) - int(closed.sum())
    assert n_left >= n_wrong
    assert n_left < 5 * len(exact) or error == 0.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-3, 1e200])
def test_a_decision_leaves_rows_that_break_a_rule_to_the_checks(bad: float) -> None:
    decide = answers_of(compiled_scorer(hub_distances(40, 45, 3)))
    assert decide(np.array([[1.0, 2.0, 3.0], [1.0, bad, 1.0]])) is None
    assert decide(np.zeros((1, 3))) is None


def test_stored_groups_are_used_from_the_first_row(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphscorer, "_WORTH_REDUCING", 1 << 40)
    distances = hub_distances(900, 1200, 25)
    groups = group_rows(distances)
    scorer = GraphScorer(distances, groups=groups, compiled=compiled)
    monkeypatch.setattr(DenseScorer, "sifted", None)  # it reads every row
    monkeypatch.setattr(graphscorer, "group_rows", None)
    row = np.exp(5 * np.random.default_rng(SEED).standard_normal((1, 25)))
    value = distances.astype(np.float64) ** 2 @ row[0]
    assert scorer.score(row).index == value.argmin()
    assert scorer.tied(row)[0] == value.argmin()


def test_each_scorer_groups_its_own_rows() -> None:
    one, other = (GraphScorer(hub_distances(n, n + 9, 9), compiled=True) for n in (200, 300))
    one.warm()
    assert "_tree" not in vars(other)
    assert other.decision(None) is None
    other.warm()
    assert "_tree" in vars(other)


@pytest.mark.parametrize("scale", [1.0, 8.0, 1e-3, 1e20])
def test_closed_groups_hold_no_winner(scale: float, compiled: bool) -> None:
    distances = hub_distances(600, 800, 15)
    # rows sum to anything
    rows = np.exp(3 * np.random.default_rng(SEED).standard_normal((60, 15))) * scale
    for given in (distances, distances.astype(np.uint16), distances * scale):
        scorer, dense = GraphScorer(given, compiled=compiled), DenseScorer(given)
        assert_same(scorer.score(rows), dense.score(rows))
        assert_same(scorer.score(rows, top=3), dense.score(rows, top=3))


def test_blocks_and_floods_of_ties_change_nothing(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    distances = hub_distances(300, 380, 20)
    rows = votes(50, 20, np.random.default_rng(SEED))
    dense = DenseScorer(distances)
    best, ranked = dense.score(rows), dense.score(rows, 5)
    monkeypatch.setattr(rowclasses, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(rowtree, "_CHUNK_ENTRIES", 100)
    monkeypatch.setattr(rowgroups, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(rowgroups, "_MOST_ROOTS", 3)
    monkeypatch.setattr(rowtree, "_MOST_IN_PRODUCT", 4)
    monkeypatch.setattr(densescorer, "_MOST_PAIRS", 30)
    monkeypatch.setattr(graphscorer, "_BATCH", 9)
    for most in (rowtree.MOST_PAIRS, 7):  # too many pairs to hold: the dense scorer takes over
        monkeypatch.setattr(rowtree, "MOST_PAIRS", most)
        monkeypatch.setattr(compiledrows, "MOST_PAIRS", most)
        assert_same(GraphScorer(distances, compiled=compiled).score(rows), best)
        assert_same(GraphScorer(distances, compiled=compiled).score(rows, 5), ranked)


def test_few_rows_are_scored_without_a_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphscorer, "_WORTH_REDUCING", 10)
    scorer = GraphScorer(np.array([[0, 2], [1, 1], [1, 1], [2, 0]], dtype=np.uint8), compiled=False)
    few = scorer.score(np.ones((6, 2)))
    assert scorer.decision(None) is None
    assert "_tree" not in vars(scorer)
    many = scorer.score(np.ones((6, 2)))
    assert "_tree" in vars(scorer)
    assert_same(few, many)


def test_bad_input_is_refused() -> None:
    scorer = GraphScorer(np.array([[0, 2], [1, 1]], dtype=np.uint8))
    with pytest.raises(WeightError, match="negative"):
        scorer.score([[1.0, -1.0]])
    with pytest.raises(WeightError, match="one row"):
        scorer.tied([[1.0, 1.0], [1.0, 1.0]])
    for top in (0, 3):
        with pytest.raises(InputError, match="top"):
            scorer.score([[1.0, 1.0]], top)
    with pytest.raises(InputError, match="candidates"):
        scorer.score([[1.0, 1.0]], 1, [2])


def test_without_numba_the_same_scorer_answers() -> None:
    program = """
import sys
sys.modules["numba"] = None
import numpy as np
from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.scoring.rows.graphscorer import GraphScorer
distances = np.array([[0, 2], [1, 1], [1, 1], [2, 0]], dtype=np.uint8)
print(GraphScorer(distances).score(np.ones((20_000, 2))).n_tied.sum())
try:
    GraphScorer(distances, compiled=True).score(np.ones((300, 2)))
except MissingExtraError as error:
    print("[science]" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["40000", "True"]


def test_make_scorer_takes_it_for_graphs_and_matrices() -> None:
    grid = metric_space(LabelGraph.grid((3, 3)))
    assert type(make_scorer(grid, ["0,0"])) is GraphScorer
    assert type(make_scorer(grid, ["0,0"], beta=1)) is DenseScorer
    assert type(make_scorer(MatrixSpace(np.zeros((1, 1)), ["a"]), ["a"])) is GraphScorer
    assert type(make_scorer(CompleteSpace(["a", "b"]), ["a"])) is DenseScorer
