"""GraphScorer: rows left out change no answer, no value and no number of ties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from geometry_cases import KINDS, random_case
from numpy.typing import NDArray

from ontology.errors import InputError, WeightError
from ontology.geometry import (
    CompleteSpace,
    DenseScorer,
    FrechetResult,
    MatrixSpace,
    make_scorer,
    metric_space,
)
from ontology.geometry.scoring import ballscorer, densescorer, graphscorer, rowreduction
from ontology.geometry.scoring.ballscorer import BallScorer
from ontology.geometry.scoring.graphscorer import GraphScorer
from ontology.geometry.scoring.rowreduction import Classes, Dominance
from ontology.labelgraph import LabelGraph
from tests import oracles

SEED = 20_250_704
GRAPHS = ("dag", "weighted graph", "grid")


@pytest.fixture(autouse=True)
def reduced_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(graphscorer, "_WORTH_REDUCING", 0)
    return


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


def test_three_thousand_random_cases_equal_the_exact_answer() -> None:
    rng = np.random.default_rng(SEED)
    n_cases = 0
    for _ in range(110):
        for kind in GRAPHS:
            case = random_case(kind, rng, n_samples=10)
            scorer = make_scorer(case.space, case.keys)
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
    assert n_cases >= 3_000


@pytest.mark.parametrize("kind", KINDS)
def test_any_distances_will_do(kind: str) -> None:
    # restricted labels, trees, weights that sum to 8 and floats: the reduction reads rows, not graphs
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        case = random_case(kind, rng, n_samples=6)
        distances = case.space.distances(cols=np.array(case.observed))
        rows = np.array(case.weights, dtype=np.float64)
        rows *= 8 / rows.sum(axis=1, keepdims=True)
        for scaled in (distances, distances.astype(np.float64) * 0.1, distances.astype(np.float64) * 1e-60):
            dense, scorer = DenseScorer(scaled), GraphScorer(scaled)
            assert_same(scorer.score(rows), dense.score(rows))
            assert scorer.tied(rows[0]).tolist() == dense.tied(rows[0]).tolist()


def votes(n_samples: int, n_observed: int, rng: np.random.Generator) -> NDArray[np.float64]:
    rows = np.zeros((n_samples, n_observed))
    for row in rows:
        row[rng.choice(n_observed, 3, replace=False)] = 1
    return rows


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_a_graph_of_hubs(labels: str) -> None:
    rng = np.random.default_rng(SEED)
    graph = hub_graph(1500, 1900, rng)
    space = metric_space(
        graph, "graph", labels if labels == "all" else graph.keys.take(np.arange(0, 1500, 3))
    )
    observed = rng.permutation(1500)[:40]
    distances = space.distances(cols=observed)
    dense, scorer = DenseScorer(distances), GraphScorer(distances)
    assert len(scorer._dominance.kept) < len(distances) / 3
    peaked = np.exp(5 * rng.standard_normal((80, 40)))
    flat = rng.exponential(size=(80, 40))
    one_hot = np.eye(40)
    for rows in (peaked, flat, flat * 8, votes(80, 40, rng), one_hot, peaked.astype(np.float32)):
        assert_same(scorer.score(rows), dense.score(rows))
        assert_same(scorer.score(rows, 4), dense.score(rows, 4))
    candidates = rng.permutation(len(distances))[:50]
    assert_same(scorer.score(flat, 2, candidates), dense.score(flat, 2, candidates))
    np.testing.assert_array_equal(scorer.variance(flat), dense.variance(flat))


def test_dropped_rows_that_tie_are_counted_and_may_win() -> None:
    # row 2 bounds all others; rows 0 and 1 are farther only where there is no weight
    distances = np.array([[1, 1, 5], [1, 1, 4], [1, 1, 3], [1, 2, 3]], dtype=np.uint8)
    scorer = GraphScorer(distances)
    assert scorer._dominance.kept.tolist() == [2]
    result = scorer.score([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1e-14]])
    assert result.index.tolist() == [0, 2, 0]
    assert result.n_tied.tolist() == [3, 1, 3]
    assert scorer.tied([1.0, 1.0, 0.0]).tolist() == [0, 1, 2]


def test_ties_below_the_smallest_float_are_ties() -> None:
    # every product is lost in underflow: all rows are 0, whatever bounds them
    distances = np.array([[3e-75], [2e-75], [1e-75]])
    weights = np.array([[1.0, 1e-200]])
    distances = np.hstack([np.zeros((3, 1)), distances])
    assert_same(GraphScorer(distances).score(weights), DenseScorer(distances).score(weights))
    assert GraphScorer(distances).score(weights).n_tied.tolist() == [3]


def test_equal_rows_are_scored_once() -> None:
    distances = np.repeat(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8), 1000, axis=0)[::-1]
    scorer = GraphScorer(np.ascontiguousarray(distances))
    assert len(scorer._rows) == 3
    result = scorer.score([[1.0, 1.0]], top=3)
    assert result.index.tolist() == [[1000, 1001, 1002]]
    assert result.n_tied.tolist() == [1000]
    assert scorer.tied([2.0, 0.0]).tolist() == list(range(2000, 3000))


def test_what_is_dropped_is_bounded_by_what_is_named() -> None:
    rng = np.random.default_rng(SEED)
    space = metric_space(hub_graph(400, 500, rng), "graph")
    distances = space.distances(cols=rng.permutation(400)[:12])
    classes = Classes.of(distances)
    rows = distances[classes.row]
    np.testing.assert_array_equal(np.unique(distances, axis=0), np.unique(rows, axis=0))
    assert len(rows) == len(np.unique(rows, axis=0))
    for c in range(len(rows)):
        members = classes.label[classes.first[c] : classes.first[c + 1]]
        assert members[0] == classes.row[c]
        assert (distances[members] == rows[c]).all()
    dominance = Dominance.of(rows)
    dropped = []
    for r in range(len(rows)):
        for at in range(dominance.begin[r], dominance.begin[r + 1]):
            below = dominance.below[at]
            assert (rows[r] <= rows[below]).all()
            assert dominance.n_farther[at] == (rows[r] < rows[below]).sum() > 0
            dropped.append(int(below))
    assert sorted([*dropped, *dominance.kept.tolist()]) == list(range(len(rows)))
    assert dominance.least_gap == 1.0


@pytest.mark.parametrize("scale", [1.0, 8.0, 1e-3, 1e20])
def test_closed_balls_hold_no_winner(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ballscorer, "_BLOCK_ROWS", 50)
    rng = np.random.default_rng(SEED)
    space = metric_space(hub_graph(600, 800, rng), "graph")
    distances = space.distances(cols=rng.permutation(600)[:15])
    rows = np.exp(3 * rng.standard_normal((60, 15))) * scale  # rows sum to anything
    for given in (distances, distances.astype(np.uint16), distances * scale):
        balls, dense = BallScorer(given), DenseScorer(given)
        assert 1 < len(balls._centre) < len(given)
        assert_same(balls.score(rows), dense.score(rows))
        assert_same(balls.score(rows, top=3), dense.score(rows, top=3))


def test_blocks_and_floods_of_ties_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(SEED)
    space = metric_space(hub_graph(300, 380, rng), "graph")
    distances = space.distances(cols=rng.permutation(300)[:20])
    rows = votes(50, 20, rng)
    dense = DenseScorer(distances)
    best, ranked = dense.score(rows), dense.score(rows, 5)
    monkeypatch.setattr(rowreduction, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(ballscorer, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(densescorer, "_MOST_PAIRS", 30)
    monkeypatch.setattr(densescorer, "_BATCH", 9)
    assert_same(GraphScorer(distances).score(rows), best)
    assert_same(GraphScorer(distances).score(rows, 5), ranked)


def test_few_rows_are_scored_without_a_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphscorer, "_WORTH_REDUCING", 10)
    scorer = GraphScorer(np.array([[0, 2], [1, 1], [1, 1], [2, 0]], dtype=np.uint8))
    few = scorer.score(np.ones((6, 2)))
    assert "_kept" not in vars(scorer)
    many = scorer.score(np.ones((6, 2)))
    assert "_kept" in vars(scorer)
    assert_same(few, many)
    assert scorer.reduce()[:3] == (4, 3, 3)


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


def test_make_scorer_takes_it_for_graphs_and_matrices() -> None:
    grid = metric_space(LabelGraph.grid((3, 3)))
    assert type(make_scorer(grid, ["0,0"])) is GraphScorer
    assert type(make_scorer(grid, ["0,0"], beta=1)) is DenseScorer
    assert type(make_scorer(MatrixSpace(np.zeros((1, 1)), ["a"]), ["a"])) is GraphScorer
    assert type(make_scorer(CompleteSpace(["a", "b"]), ["a"])) is DenseScorer
