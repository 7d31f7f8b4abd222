"""On a tree, any exponent: the rows of the hull give the answers that all rows give, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.ontology.geometry import TreeSpace, make_scorer
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.tree.hullscorer import HullScorer
from labelgrove.ontology.keys import Keys


def random_tree(seed, n, lengths=None, allowed=None):
    rng = np.random.default_rng(seed)
    parent = np.concatenate([[-1], (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)])
    return TreeSpace.from_arrays(Keys.from_strings(map(str, range(n))), parent, lengths, allowed)


def test_it_is_what_other_exponents_take_on_a_tree():
    space = random_tree(0, 9)
    assert type(make_scorer(space, ["3", "5"], beta=1)) is HullScorer
    assert type(make_scorer(space, ["3", "5"])) is not HullScorer


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 40),
    k=st.integers(1, 6),
    beta=st.sampled_from([1e-14, 0.25, 1, 1.5, 3, 4, 9]),
    edge=st.sampled_from([None, 0.1, 1e-13, 1e-75, 1e20]),
    restricted=st.booleans(),
)
def test_answers_are_those_of_all_rows(seed, n, k, beta, edge, restricted):
    rng = np.random.default_rng(seed)
    lengths = None if edge is None else np.where(rng.random(n) < 0.5, edge, 1.0)
    if edge == 1e20:
        beta = min(beta, 3)  # powers of distances must stay below 1e150
    allowed = np.unique(rng.integers(0, n, n)) if restricted else None
    space = random_tree(seed, n, lengths, allowed)
    points = rng.permutation(n)[: min(k, n)]
    weights = rng.integers(0, 3, (30, len(points))) * np.where(rng.random((30, 1)) < 0.2, 1e-140, 1.0)
    weights = weights[weights.any(axis=1)]
    scorer = HullScorer(space, points, beta=beta)
    dense = DenseScorer(space.distances(None, points), beta=beta)
    for top in (1, min(3, space.n_labels)):
        found, expected = scorer.score(weights, top), dense.score(weights, top)
        assert found.index.tolist() == expected.index.tolist()
        assert found.value.tobytes() == expected.value.tobytes()
        assert found.n_tied.tolist() == expected.n_tied.tolist()
    for row in weights[:5]:
        assert scorer.tied(row).tolist() == dense.tied(row).tolist()
    some = np.unique(rng.integers(0, space.n_labels, 3))
    assert scorer.score(weights, 1, some).index.tolist() == dense.score(weights, 1, some).index.tolist()


def test_rows_outside_the_hull_are_left_out_where_that_is_safe():
    space = random_tree(1, 5000)
    points = np.arange(50, 60)
    labels, inside = HullScorer(space, points, beta=1)._inside
    assert inside.n_labels == len(labels) < 100
    short = random_tree(1, 5000, np.full(5000, 1.0) * np.where(np.arange(5000) == 4999, 1e-13, 1.0))
    assert HullScorer(short, points, beta=1)._inside is None
    assert HullScorer(space, points, beta=1e-12)._inside is None


@pytest.mark.parametrize("beta", [1, 3])
def test_large_hulls_are_measured_on_demand(beta, monkeypatch):
    space = random_tree(2, 300)
    points = np.random.default_rng(2).permutation(300)[:20]
    weights = np.random.default_rng(3).random((10, 20))
    expected = HullScorer(space, points, beta=beta).score(weights)
    monkeypatch.setattr("labelgrove.ontology.geometry.scoring.tree.hullscorer._STORED_ENTRIES", 0)
    found = HullScorer(space, points, beta=beta).score(weights)
    assert found.index.tolist() == expected.index.tolist()
    assert found.value.tobytes() == expected.value.tobytes()
