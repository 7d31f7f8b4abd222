"""Samplers draw with the probabilities they promise, about a center that is exact."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, MetricSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.sampling import sample_observed, uniform_center
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.spaces.euclideanspace import EuclideanSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.unit.geometry.geometry_cases import KINDS, random_case

SEED = 13
LINE = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])


@pytest.mark.parametrize("kind", KINDS)
def test_the_center_has_the_least_sum_of_squares(kind: str) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(40):
        case = random_case(kind, rng, 1)
        ones = [1] * len(case.allowed)
        sums = oracles.variances(case.distances, case.allowed, case.allowed, ones)
        assert uniform_center(case.space) == case.space.keys[oracles.smallest(sums)[0]]


@pytest.mark.parametrize("lengths", ["any", "tenths", "nine decades", "huge whole", "tiny"])
def test_the_center_of_weighted_trees_follows_the_tie_rule(lengths: str) -> None:
    rng = np.random.default_rng(SEED)
    for round_ in range(40):
        n = int(rng.integers(1, 40))
        length = {
            "any": rng.random(n) + 0.01,
            "tenths": rng.integers(1, 3, n) * 0.1,
            "nine decades": 10.0 ** rng.uniform(-9, 0, n),
            "huge whole": rng.integers(1, 3, n) * 2.0**33,  # squares beyond 64 bits
            "tiny": rng.integers(1, 3, n) * 1e-5,
        }[lengths]
        parent = [-1] + [int(rng.integers(max(0, i - 3), i)) for i in range(1, n)]
        allowed = rng.permutation(n)[: rng.integers(1, n + 1)] if round_ % 2 else None
        space = TreeSpace.from_arrays(
            Keys.from_strings([f"{i:02d}" for i in range(n)]), parent, length, allowed
        )
        points = allowed_points(space)
        best = DenseScorer(space.distances(cols=points)).score(np.ones(len(points))).index[0]
        assert uniform_center(space) == space.keys[int(best)]


def test_exact_where_float_sums_would_not_be() -> None:
    # an even path: its two middle labels tie, and everything is a whole number beyond 2^53
    n = 200_000
    path = TreeSpace.from_arrays(Keys.from_strings([f"{i:06d}" for i in range(n)]), np.arange(n) - 1)
    assert uniform_center(path) == f"{n // 2 - 1:06d}"


def test_the_center_of_embeddings() -> None:
    vectors = np.random.default_rng(SEED).standard_normal((30, 3))
    space = EuclideanSpace(vectors, [f"{i:02d}" for i in range(30)], allowed=range(3, 20))
    sums = ((vectors[3:20, None] - vectors[None, 3:20]) ** 2).sum(axis=(1, 2))
    assert uniform_center(space) == space.keys[int(sums.argmin())]


def successive(space: MetricSpace, theta: float, n: int) -> dict[tuple[str, ...], float]:
    """Probability of every sequence of n draws, each proportional to what is left."""
    center = int(space.point_index([uniform_center(space)])[0])
    weight = dict(
        zip(space.keys, np.exp(-theta * space.distances(cols=[center])[:, 0].astype(float)), strict=True)
    )
    law = {}
    for drawn in permutations(space.keys, n):
        left, probability = sum(weight.values()), 1.0
        for key in drawn:
            probability *= weight[key] / left
            left -= weight[key]
        law[drawn] = float(probability)
    return law


def chi_square(drawn: list[tuple[str, ...]], law: dict[tuple[str, ...], float]) -> float:
    counts = {key: 0 for key in law}
    for key in drawn:
        counts[key] += 1
    expected = {key: p * len(drawn) for key, p in law.items()}
    return sum((counts[key] - expected[key]) ** 2 / expected[key] for key in law)


SPACES = {
    "line": LINE,
    "leaves": metric_space(
        LabelGraph.from_edges([(c, p) for c, p in ("ba", "ca", "db", "eb", "fe", "ge")]), labels="leaves"
    ),
    "grid": metric_space(LabelGraph.grid((2, 3))),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(
    ("method", "theta"), [("uniform", 0.5), ("gibbs", 0.5), ("gibbs", 2.0), ("gibbs", 0.0)]
)
def test_draws_and_pairs_of_draws_follow_their_law(space: MetricSpace, method: Any, theta: float) -> None:
    rng = np.random.default_rng(SEED)
    times = 4000
    pairs = [sample_observed(space, 2, method=method, theta=theta, seed=rng) for _ in range(times)]
    law = {n: successive(space, theta if method == "gibbs" else 0.0, n) for n in (1, 2)}
    # mean: one less than the number of outcomes; the bounds are some five standard deviations above
    for n in (1, 2):
        free = len(law[n]) - 1
        assert chi_square([pair[:n] for pair in pairs], law[n]) < free + 5 * (2 * free) ** 0.5 + 5


def test_the_law_is_told_from_that_of_squared_distances() -> None:
    rng = np.random.default_rng(SEED)
    drawn = [sample_observed(LINE, 1, method="gibbs", seed=rng) for _ in range(4000)]
    weight = np.exp(-0.5 * np.array([4.0, 1, 0, 1, 4]))
    law = dict(zip([(key,) for key in "abcde"], (weight / weight.sum()).tolist(), strict=True))
    assert chi_square(drawn, law) > 100


def test_all_can_be_drawn_and_seeds_decide() -> None:
    for method in ("uniform", "gibbs"):
        drawn: Any = {"method": method}
        assert sorted(sample_observed(LINE, 5, seed=1, **drawn)) == list("abcde")
        assert sample_observed(LINE, 3, seed=1, **drawn) == sample_observed(LINE, 3, seed=1, **drawn)
        assert len({sample_observed(LINE, 3, seed=seed, **drawn) for seed in range(20)}) > 5


def test_far_labels_do_not_underflow() -> None:
    path = TreeSpace.from_arrays(Keys.from_strings([f"{i:04d}" for i in range(4001)]), np.arange(4001) - 1)
    drawn = sample_observed(path, 4001, method="gibbs", theta=3.0, seed=0)
    offsets = [abs(int(key) - 2000) for key in drawn]
    assert max(abs(offset - rank // 2) for rank, offset in enumerate(offsets)) < 30  # near before far


def test_leaf_only_centers_are_leaves() -> None:
    star = metric_space(LabelGraph.from_edges([(key, "hub") for key in "abcd"]), labels="leaves")
    assert uniform_center(star) == "a"
    assert uniform_center(CompleteSpace(["x", "y"])) == "x"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "n: 0 given; it must be from 1 to 5"),
        ({"n": 6}, "n: 6"),
        ({"n": True}, "n: True"),
        ({"method": "normal"}, "method: 'normal'"),
        ({"method": "gibbs", "theta": -1.0}, "theta: -1.0"),
        ({"theta": float("nan")}, "theta: nan"),
        ({"seed": -3}, "seed: -3"),
        ({"seed": None}, "seed: None"),
    ],
)
def test_what_breaks_a_rule_is_named(change: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"n": 2, "seed": 0}
    with pytest.raises(InputError, match=words):
        sample_observed(LINE, **(arguments | change))


def test_labels_that_are_no_points_cannot_be_drawn() -> None:
    with pytest.raises(SpaceError, match="'b' among them"):
        sample_observed(MatrixSpace(np.array([[0.0], [1.0]]), ["a", "b"], ["a"]), 1, seed=0)
