"""Scorers agree to the last bit, whatever the numbers; their filters and shortcuts lose nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.geometry import FrechetResult, TreeSpace
from labelgrove.ontology.geometry.scoring.dense import densescorer
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.scoring.tree import treescorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.ties import plain_sums, powers, tied
from labelgrove.ontology.keys import Keys
from tests.oracles import float_plain_sum

SEED = 7


def random_tree(
    rng: np.random.Generator, n: int, lengths: NDArray[np.float64] | None, deep: bool
) -> TreeSpace:
    parent = [-1] + [int(rng.integers(max(0, i - 3) if deep else 0, i)) for i in range(1, n)]
    return TreeSpace.from_arrays(Keys.from_strings([f"{i:04d}" for i in range(n)]), parent, lengths)


def assert_same(a: FrechetResult, b: FrechetResult) -> None:
    assert (a.index == b.index).all()
    assert (a.value == b.value).all()
    assert (a.n_tied == b.n_tied).all()


@pytest.mark.parametrize("lengths", ["unit", "any", "tenths", "nine decades", "tiny and one"])
@pytest.mark.parametrize("weights", ["uniform", "peaked", "tenths", "float32", "float16"])
def test_tree_and_dense_scorer_agree_to_the_last_bit(lengths: str, weights: str) -> None:
    rng = np.random.default_rng(SEED)
    for round_ in range(40):
        n = int(rng.integers(1, 40))
        length = {
            "unit": None,
            "any": rng.random(n) + 0.01,
            "tenths": rng.integers(1, 4, n) * 0.1,
            "nine decades": 10.0 ** rng.uniform(-9, 0, n),
            "tiny and one": np.where(rng.random(n) < 0.5, 1e-7, 1.0),
        }[lengths]
        space = random_tree(rng, n, length, deep=bool(round_ % 2))
        observed = rng.permutation(n)[: rng.integers(1, n + 1)]
        rows = rng.random((6, len(observed))) + 1e-3
        if weights == "peaked":
            rows = rows**12
        elif weights == "tenths":
            rows = 0.1 * (1 + rng.integers(0, 3, rows.shape))
        elif weights != "uniform":
            rows = rows.astype(weights)
        tree, dense = TreeScorer(space, observed), DenseScorer(space.distances(cols=observed))
        result = dense.score(rows)
        assert_same(tree.score(rows), result)
        assert_same(DenseScorer(RowsOnDemand(space, observed)).score(rows), result)
        table = space.distances(cols=observed).astype(float).tolist()
        for sample in (0, 1):
            row = rows[sample].astype(float).tolist()
            sums = np.array([float_plain_sum(row, line) for line in table])
            among = np.flatnonzero(sums <= sums.min() * (1 + 1e-12))
            assert tree.tied(rows[sample]).tolist() == dense.tied(rows[sample]).tolist() == among.tolist()
            assert (result.index[sample], result.n_tied[sample]) == (among[0], len(among))
            assert result.value[sample] == sums[among[0]]


def test_tiny_edges_are_noticed_as_crowded() -> None:
    length = np.array([0.0, 1e3, 1e3, 1e-10, 1e-10, 1e-10])
    space = TreeSpace.from_arrays(Keys.from_strings("rabcde"), [-1, 0, 0, 0, 3, 4], length)
    result = TreeScorer(space, [1, 2]).score([1.0, 1.0])
    assert_same(result, DenseScorer(space.distances(cols=[1, 2])).score([1.0, 1.0]))
    assert result.n_tied[0] == 4


@pytest.mark.parametrize("n", [2, 3, 1000])
def test_long_paths_are_crossed(n: int) -> None:
    space = TreeSpace.from_arrays(Keys.from_strings([f"{i:04d}" for i in range(n)]), np.arange(n) - 1)
    scorer = TreeScorer(space, [n - 1, 0])
    rows = np.random.default_rng(SEED).integers(0, 5, (200, 2)) + np.array([1, 0])
    assert_same(scorer.score(rows), DenseScorer(space.distances(cols=[n - 1, 0])).score(rows))


def test_batches_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(SEED)
    space = random_tree(rng, 300, None, deep=False)
    observed = rng.permutation(300)[:37]
    rows = rng.integers(0, 3, (90, 37))
    rows[:, 0] += 1
    tree, dense = TreeScorer(space, observed), DenseScorer(space.distances(cols=observed))
    whole, top = dense.score(rows), dense.score(rows, top=5)
    monkeypatch.setattr(treescorer, "_BATCH_ENTRIES", 200)
    monkeypatch.setattr(densescorer, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(densescorer, "_BATCH", 7)
    assert_same(tree.score(rows), whole)
    assert_same(dense.score(rows), whole)
    assert_same(dense.score(rows, top=5), top)
    assert_same(tree.score(rows, top=5), top)
    np.testing.assert_array_equal(dense.variance(rows)[range(90), whole.index], whole.value)


def test_a_flood_of_ties_is_answered_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = np.ones((50, 3), dtype=np.uint8)
    monkeypatch.setattr(densescorer, "_MOST_PAIRS", 60)
    monkeypatch.setattr(densescorer, "_BLOCK_ENTRIES", 40)
    result = DenseScorer(distances).score(np.ones((20, 3)))
    assert set(result.index.tolist()) == {0}
    assert set(result.n_tied.tolist()) == {50}


def test_the_filter_keeps_what_float32_cannot_tell_apart() -> None:
    # 65535^2 and 65534^2 differ by 3e-5, one part in 2^24 of the sum they stand in
    rng = np.random.default_rng(SEED)
    base = rng.integers(40_000, 65_000, 400).astype(np.uint16)
    rows = np.repeat(base[None, :], 64, axis=0)
    rows[np.arange(64), rng.integers(0, 400, 64)] += rng.integers(0, 2, 64).astype(np.uint16)
    rows[17] = base
    rows[17, 3] -= 1
    result = DenseScorer(rows).score(np.ones((1, 400)))
    exact = [sum(int(d) ** 2 for d in row) for row in rows]
    assert result.index[0] == 17
    assert int(result.value[0]) == exact[17] == min(exact)


@pytest.mark.parametrize("scale", [1.0, 1e16])  # squares of the latter are beyond float32: another filter
def test_near_ties_within_the_tolerance_go_to_the_lowest_index(scale: float) -> None:
    distances = scale * np.array([[1.0 + 1e-13], [1.0], [1.0 + 1e-11]])
    result = DenseScorer(distances).score([1.0])
    assert (result.index[0], result.n_tied[0]) == (0, 2)
    assert DenseScorer(distances).score([1.0], top=3).index.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 8, 33])
@pytest.mark.parametrize("n_observed", [1, 7, 8, 9, 130, 5000])
def test_the_plain_sum_adds_in_column_order(n_pairs: int, n_observed: int) -> None:
    rng = np.random.default_rng(SEED)
    weights, distances = rng.random((n_observed, n_pairs)), rng.random((n_observed, 4)) * 9
    which = rng.integers(0, 4, n_pairs)
    sums = plain_sums(weights, powers(distances, 2), which)
    for pair in range(n_pairs):
        column = distances[:, which[pair]].tolist()
        assert sums[pair] == float_plain_sum(weights[:, pair].tolist(), column)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("beta", range(1, 7))
def test_whole_powers_are_exact(dtype: type, beta: int) -> None:
    values = np.arange(200).astype(dtype)
    assert powers(values, beta).tolist() == [float(int(v) ** beta) for v in values]


def test_fractional_powers() -> None:
    for values in (np.arange(9, dtype=np.uint8), np.linspace(0, 3, 7)):
        np.testing.assert_allclose(powers(values, 0.5), np.sqrt(values.astype(float)), rtol=1e-15)
        np.testing.assert_allclose(powers(values, 2.5), values.astype(float) ** 2.5, rtol=1e-15)


def test_tied_positions() -> None:
    assert tied(np.array([0.0, 0.0, 1e-300])).tolist() == [0, 1]
