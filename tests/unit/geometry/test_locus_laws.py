"""Loci equal the exact brute force on every family of small spaces, and obey their laws."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from geometry_cases import Case, cases
from hypothesis import given
from hypothesis import strategies as st
from locus_cases import FAMILIES, SpaceCase, decimal_case, space_case

from labelgrove.ontology.geometry import MatrixSpace, locus, metric_space
from labelgrove.ontology.geometry.loci.pairs import is_pairwise_decomposable
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles_locus import (
    ExactSpace,
    locus_by_corners,
    locus_of_rows,
    margin,
    means,
    pair_union,
    squared,
)

PER_FAMILY = 100
SEED = 20_240_701


def test_the_families_make_two_thousand_cases() -> None:
    assert len(FAMILIES) * PER_FAMILY >= 2_000


# ---- the oracle itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_exact_verdict_proves_itself(family: str) -> None:
    for number in range(10):
        rows = space_case(family, number).rows
        for y, own in enumerate(rows if len(rows) > 1 else []):
            found = margin(rows, y)
            against = [[a - b for a, b in zip(row, own, strict=True)] for row in rows if row is not own]
            worst = min(sum(w * m for w, m in zip(found.weights, row, strict=True)) for row in against)
            best = max(
                sum(q * m for q, m in zip(found.multipliers, column, strict=True))
                for column in zip(*against, strict=True)
            )
            assert min(*found.weights, *found.multipliers) >= 0
            assert worst == found.value * sum(found.weights)
            assert best == found.value * sum(found.multipliers)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_methods_without_a_common_step_agree(family: str) -> None:
    for number in range(8):
        rows = [row[:3] for row in space_case(family, number, most_labels=6).rows]
        by_game, by_corners = locus_of_rows(rows), locus_by_corners(rows)
        assert (by_game.members, by_game.unique) == (by_corners.members, by_corners.unique)
        for found in (by_game, by_corners):
            for y, weights in zip(found.members, found.witnesses, strict=True):
                assert (means(rows, weights) == [y]) if y in found.unique else (y in means(rows, weights))


# ---- the exact answer ------------------------------------------------------------------------------------


def assert_equals_oracle(case: SpaceCase) -> None:
    """Members, unique reachability, status, and what each witness proves."""
    rows = case.rows
    wanted = locus_of_rows(rows)
    found = locus(case.space, case.keys)
    assert tuple(found.index.tolist()) == wanted.members
    assert tuple(found.unique_index.tolist()) == wanted.unique
    assert found.status == "exact"
    assert found.index.dtype == found.unique_index.dtype == np.int64
    assert (found.members, found.unique) == (
        case.space.keys.take(wanted.members),
        case.space.keys.take(wanted.unique),
    )
    assert len(found) == len(wanted.members)
    for y, weights in zip(wanted.members, found.witnesses, strict=True):
        given_ = [int(w) for w in weights]
        assert given_ == list(weights)
        assert len(given_) == len(case.observed)
        assert min(given_) >= 0 < max(given_)
        reached = means(rows, given_)
        assert (reached == [y]) if y in wanted.unique else (y in reached)
        assert list(found.witness(case.space.keys[y])) == given_


@pytest.mark.parametrize("family", FAMILIES)
def test_locus_equals_the_exact_answer(family: str) -> None:
    for number in range(PER_FAMILY):
        try:
            assert_equals_oracle(space_case(family, number))
        except Exception as error:
            error.add_note(f"space_case({family!r}, {number})")
            raise


@pytest.mark.parametrize("family", FAMILIES)
def test_pairwise_locus_equals_the_union_of_exact_pair_loci(family: str) -> None:
    for number in range(PER_FAMILY // 4):
        case = space_case(family, number)
        rows, all_together = case.rows, locus_of_rows(case.rows).members
        found = locus(case.space, case.keys, method="pairs")
        assert tuple(found.index.tolist()) == pair_union(rows), (family, number)
        assert found.status == "lower_bound" or found.index.tolist() == list(all_together)
        assert is_pairwise_decomposable(case.space, case.keys) == (pair_union(rows) == all_together)
        for y, weights in zip(found.index.tolist(), found.witnesses, strict=True):
            assert y in means(rows, [int(w) for w in weights]), (family, number)


@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(1, 3), Fraction(1, 10**6)])
def test_lengths_that_floats_round_give_the_locus_of_the_lengths_meant(unit: Fraction) -> None:
    rng = np.random.default_rng(SEED)
    for number in range(100):
        case = decimal_case(rng, unit)
        wanted = locus_of_rows(case.rows)
        found = locus(case.space, case.keys)
        assert tuple(found.index.tolist()) == wanted.members, number
        assert tuple(found.unique_index.tolist()) == wanted.unique, number


def test_the_tolerance_can_only_make_ties() -> None:
    """Distances over twelve orders of magnitude, where sums differ by less than floats can tell."""
    rng = np.random.default_rng(SEED)
    made = 0
    for _ in range(300):
        n, n_observed = int(rng.integers(2, 13)), int(rng.integers(1, 5))
        distances = 10.0 ** rng.integers(-6, 6, (n, n_observed))
        keys, points = (
            [f"{letter}{i}" for i in range(size)] for letter, size in (("y", n), ("l", n_observed))
        )
        found = locus(MatrixSpace(distances, keys, points), points)
        exact = locus_of_rows(squared([[Fraction(d) for d in row] for row in distances.tolist()]))
        assert set(exact.members) <= set(found.index.tolist())
        assert set(exact.unique) >= set(found.unique_index.tolist())
        made += len(found) - len(exact.members)
    assert made  # the tolerance was met


# ---- laws ------------------------------------------------------------------------------------------------


def twin(case: Case) -> ExactSpace:
    return ExactSpace(case.distances, case.allowed)


@given(cases(), st.data())
def test_one_more_observed_label_never_loses_a_label(case: Case, data: st.DataObject) -> None:
    fewer = data.draw(st.lists(st.sampled_from(case.keys), min_size=1, unique=True))
    small, large = locus(case.space, fewer), locus(case.space, case.keys)
    assert set(small.index.tolist()) <= set(large.index.tolist())
    assert set(small.unique_index.tolist()) <= set(large.unique_index.tolist())


@given(cases())
def test_an_observed_label_that_may_answer_is_uniquely_reachable(case: Case) -> None:
    allowed_and_observed = set(case.keys) & set(case.space.keys)
    assert allowed_and_observed <= set(locus(case.space, case.keys).unique)


@given(cases())
def test_the_union_of_pair_loci_is_part_of_the_locus(case: Case) -> None:
    found = set(locus(case.space, case.keys).members)
    for pair in itertools.combinations(case.keys[:4], 2):
        assert set(locus(case.space, pair).members) <= found
    assert set(case.space.keys.take(pair_union(twin(case).rows(case.observed)))) <= found


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_observed_labels_changes_nothing(case: Case, random) -> None:
    plain = locus(case.space, case.keys)
    moved = locus(case.space, random.sample(case.keys, len(case.keys)))
    assert (plain.members, plain.unique) == (moved.members, moved.unique)


@given(cases(["tree", "dag", "weighted graph"]), st.randoms(use_true_random=False))
def test_renaming_labels_renames_the_locus(case: Case, random) -> None:
    n = case.space.n_points
    names = [f"n{i:02d}" for i in range(n)]
    random.shuffle(names)
    order = np.argsort(names)
    table = np.array(case.distances, dtype=np.float64)
    plain = locus(MatrixSpace(table, case.space.points), case.keys)
    renamed = locus(
        MatrixSpace(table[np.ix_(order, order)], [names[i] for i in order]),
        [names[o] for o in case.observed],
    )
    for one, other in ((plain.members, renamed.members), (plain.unique, renamed.unique)):
        assert sorted(names[case.space.points.index(key)] for key in one) == sorted(other)


@pytest.mark.parametrize("factor", [0.25, 3, 1e-5, 1e6])
@pytest.mark.parametrize("metric", ["tree", "graph"])
@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_scaling_edges_scales_distances_and_keeps_the_locus(factor: float, metric, labels: str) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(6):
        pairs = {(f"v{i}", f"v{rng.integers(0, i)}") for i in range(1, 9)}
        if metric == "graph":
            pairs |= {("v8", "v1"), ("v7", "v2")}
        weights = rng.integers(1, 4, len(pairs))
        plain, scaled = (
            metric_space(LabelGraph.from_edges(sorted(pairs), weights=weights * times), metric, labels)
            for times in (1, factor)
        )
        assert np.allclose(plain.distances() * factor, scaled.distances(), rtol=1e-12)
        one, other = (locus(space, ["v8", "v7", "v6", "v1"]) for space in (plain, scaled))
        assert (one.members, one.unique) == (other.members, other.unique)
