"""Euclidean spaces measure by the definition, and their scorer gives what dense scoring gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import FrechetResult
from labelgrove.ontology.geometry.scoring.dense import euclideanscorer
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.dense.euclideanscorer import EuclideanScorer
from labelgrove.ontology.geometry.spaces import euclideanspace
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace
from labelgrove.ontology.geometry.spaces.points import observed_points
from tests import oracles

SEED = 3


def keys(n: int) -> list[str]:
    return [f"{i:04d}" for i in range(n)]


def embeddings(rng: np.random.Generator, kind: str) -> NDArray[Any]:
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    if kind == "lattice":  # ties everywhere
        return rng.integers(-1, 2, (n, d)).astype(np.int8)
    if kind == "one-hot":
        return np.eye(n)
    vectors = rng.standard_normal((n, d))
    if kind == "far away":  # expanded squares cancel to nothing
        return vectors * 1e-3 + 1e3
    if kind == "repeated":
        return vectors[rng.integers(0, max(1, n // 3), n)]
    if kind == "tiny":
        return vectors * 1e-70
    return vectors.astype(np.float32)


KINDS = ["lattice", "one-hot", "far away", "repeated", "tiny", "float32"]


def assert_same(a: FrechetResult, b: FrechetResult) -> None:
    assert (a.index == b.index).all()
    assert (a.value == b.value).all()
    assert (a.n_tied == b.n_tied).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_scorer_gives_what_dense_scoring_gives_to_the_last_bit(kind: str) -> None:
    rng = np.random.default_rng(SEED)
    for round_ in range(40):
        vectors = embeddings(rng, kind)
        n = len(vectors)
        allowed = rng.permutation(n)[: rng.integers(1, n + 1)] if round_ % 3 == 0 else None
        space = EuclideanSpace(vectors, keys(n), allowed)
        observed = rng.permutation(n)[: rng.integers(1, n + 1)]
        distances = space.distances(cols=observed)
        scorer, dense = EuclideanScorer(space, observed), DenseScorer(distances)
        shape = (7, len(observed))
        weights = rng.integers(0, 3, shape).astype(float) if round_ % 2 else rng.random(shape) ** 6
        weights[:, 0] += 1 if round_ % 2 else 1e-3
        assert_same(scorer.score(weights), dense.score(weights))
        assert_same(
            scorer.score(weights, top=min(3, space.n_labels)), dense.score(weights, min(3, space.n_labels))
        )
        some = np.unique(rng.integers(0, space.n_labels, 4))
        assert_same(scorer.score(weights, candidates=some), dense.score(weights, candidates=some))
        assert scorer.tied(weights[0]).tolist() == dense.tied(weights[0]).tolist()
        np.testing.assert_array_equal(scorer.variance(weights), dense.variance(weights))
        sums = [oracles.float_plain_sum(weights[0].tolist(), row) for row in distances.tolist()]
        tied = [i for i, total in enumerate(sums) if total <= min(sums) * (1 + 1e-12)]
        result = scorer.score(weights[0])
        assert (result.index[0], result.n_tied[0], result.value[0]) == (tied[0], len(tied), sums[tied[0]])


def test_whole_numbers_give_the_exact_answer() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(40):
        vectors = rng.integers(-3, 4, (12, 2))
        weights = rng.integers(0, 4, 5)
        weights[0] += 1
        observed = rng.permutation(12)[:5]
        exact = [
            sum(
                int(w) * int(((vectors[y] - vectors[o]) ** 2).sum())
                for w, o in zip(weights, observed, strict=True)
            )
            for y in range(12)
        ]
        result = EuclideanScorer(EuclideanSpace(vectors, keys(12)), observed).score(weights)
        assert result.index[0] == oracles.smallest(exact)[0]
        assert result.n_tied[0] == len(oracles.smallest(exact))


def test_only_finalists_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(SEED)
    space = EuclideanSpace(rng.standard_normal((300, 4)), keys(300))
    weights = rng.random((20, 50))
    scorer = EuclideanScorer(space, np.arange(50))
    measured = []
    whole = EuclideanSpace.distances
    monkeypatch.setattr(
        EuclideanSpace,
        "distances",
        lambda self, rows, cols: measured.append(len(rows)) or whole(self, rows, cols),
    )
    scorer.score(weights)
    assert 1 <= sum(measured) <= 20


def test_near_ties_within_the_tolerance_go_to_the_lowest_index() -> None:
    vectors = np.array([[0.0], [1.0 + 1e-13], [1.0], [1.0 + 1e-11]])
    space = EuclideanSpace(vectors, ["o", "a", "b", "c"], allowed=[1, 2, 3])
    result = EuclideanScorer(space, [0]).score([1.0])
    assert (space.keys[int(result.index[0])], result.n_tied[0]) == ("a", 2)


def test_ties_that_rounding_blurs_are_ties() -> None:
    # corners of turned squares: the same distance to the middle, but for the last bits
    rng = np.random.default_rng(SEED)
    for angle in rng.random(50) * 6:
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        corners = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]]) @ turn + 0.3
        space = EuclideanSpace(corners, keys(5), allowed=range(4))
        assert EuclideanScorer(space, [4]).score([1.0]).n_tied.tolist() == [4]
        assert EuclideanScorer(space, [0, 1, 2, 3]).score(np.ones(4)).n_tied.tolist() == [4]


def test_blocks_and_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(SEED)
    space = EuclideanSpace(rng.integers(0, 4, (60, 5)).astype(np.float32), keys(60))
    weights = rng.random((30, 9))
    observed = rng.permutation(60)[:9]
    whole, distances, diameter = (
        EuclideanScorer(space, observed).score(weights),
        space.distances(),
        space.diameter(),
    )
    for module in (euclideanspace, euclideanscorer):
        monkeypatch.setattr(module, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(euclideanspace, "_CACHED_ENTRIES", 40)
    monkeypatch.setattr(euclideanscorer, "_MOST_PAIRS", 50)
    assert_same(EuclideanScorer(space, observed).score(weights), whole)
    np.testing.assert_array_equal(space.distances(), distances)
    for col in (0, 7):
        np.testing.assert_array_equal(space.distances(rows=[3], cols=[col])[0, 0], distances[3, col])
    assert space.diameter() == diameter == distances.max()


@pytest.mark.parametrize("kind", KINDS)
def test_distances_and_diameters_are_those_of_the_definition(kind: str) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(10):
        vectors = embeddings(rng, kind)
        n = len(vectors)
        allowed = np.sort(rng.permutation(n)[: rng.integers(1, n + 1)])
        space = EuclideanSpace(vectors, keys(n), allowed)
        table = [
            [math.dist(a, b) for b in vectors.astype(float).tolist()] for a in vectors.astype(float).tolist()
        ]
        found = space.distances()
        np.testing.assert_allclose(found, np.array(table)[allowed], rtol=1e-13, atol=0)
        assert (found[:, allowed] == found[:, allowed].T).all()
        assert (np.diag(found[:, allowed]) == 0).all()
        assert space.diameter() == pytest.approx(np.array(table)[np.ix_(allowed, allowed)].max(), rel=1e-13)
    assert (space.kind, space.distance_dtype) == ("euclidean", np.float64)


def test_normalized_vectors_lie_on_the_sphere() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 2e-200], [-5e200, 0.0]])
    space = EuclideanSpace(vectors, ["a", "b", "c"], normalize=True)
    np.testing.assert_allclose(space.embeddings, [[0.6, 0.8], [0, 1], [-1, 0]], rtol=1e-15)
    np.testing.assert_allclose(space.distances([1], [2]), np.sqrt(2), rtol=1e-15)
    assert vectors[0, 0] == 3.0


def test_float32_vectors_are_kept_and_read_as_given() -> None:
    vectors = np.array([[0.1], [0.3]], dtype=np.float32)
    space = EuclideanSpace(vectors, ["a", "b"])
    assert space.embeddings is vectors
    assert space.distances([0], [1])[0, 0] == float(vectors[1, 0]) - float(vectors[0, 0])


def test_observed_labels_may_be_any_points() -> None:
    space = EuclideanSpace(np.array([[0.0], [1.0], [5.0]]), ["a", "b", "c"], allowed=[0, 1])
    scorer = EuclideanScorer(space, observed_points(space, ["c"]))
    assert space.keys.take(scorer.score([1.0]).index) == ("b",)


def test_weights_that_break_a_rule_are_refused() -> None:
    scorer = EuclideanScorer(EuclideanSpace(np.eye(3), keys(3)), [0, 1])
    with pytest.raises(WeightError, match="negative"):
        scorer.score([1.0, -1.0])
    with pytest.raises(InputError, match="top: 4"):
        scorer.score([1.0, 1.0], top=4)


@pytest.mark.parametrize(
    ("vectors", "options", "words"),
    [
        (np.array([[0.0], [np.nan]]), {}, "the first for 'b'"),
        (np.array([[np.inf], [0.0]]), {}, "NaN or infinity, the first for 'a'"),
        (np.array([[1.0], [0.0]]), {"normalize": True}, "all zero, the first for 'b'"),
        (np.array([[1.0], [1e80]]), {}, "1e[+]80, the first for 'b'"),
        (np.array([[1e-90], [0.0]]), {}, "scale them"),
        (np.zeros((3, 1)), {}, "shape \\(3, 1\\) given for 2 keys"),
        (np.zeros(2), {}, "shape \\(2,\\)"),
        (np.zeros((2, 0)), {}, "at least one label and one dimension"),
        (np.array([["x"], ["y"]]), {}, "dtype <U1"),
        (np.zeros((2, 1), dtype=complex), {}, "dtype complex128"),
    ],
)
def test_embeddings_that_break_a_rule_are_refused_by_name(vectors: Any, options: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        EuclideanSpace(vectors, ["a", "b"], **options)


def test_keys_are_checked() -> None:
    with pytest.raises(InputError, match="the single string 'ab' given"):
        EuclideanSpace(np.zeros((2, 1)), "ab")
    with pytest.raises(InputError, match="'a' occurs twice"):
        EuclideanSpace(np.zeros((2, 1)), ["a", "a"])
    with pytest.raises(UnknownLabelError, match="'z'"):
        EuclideanSpace(np.zeros((2, 1)), ["a", "b"]).index(["z"])


def test_one_vector_is_a_space() -> None:
    space = EuclideanSpace(np.zeros((1, 2)), ["only"])
    assert (space.diameter(), space.distances().tolist()) == (0.0, [[0.0]])
    assert EuclideanScorer(space, [0]).score([2.0]).n_tied.tolist() == [1]
