"""Hulls of trees, hulls of pairs and the paper's weight grids, against exact certificates and brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from locus_cases import FAMILIES, SpaceCase, space_case, spider_graph, unit_graph

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, TreeSpace, locus, metric_space
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.loci.pairs import (
    geodesic_interval,
    hull_members,
    is_pairwise_decomposable,
    joined_hulls,
    shares_of_pairs,
)
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.ties import TIE_RELATIVE
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles import all_distances
from tests.oracles_locus import (
    locus_by_tie_rule,
    locus_of_rows,
    means,
    pair_grid_union,
    pair_union,
    squared,
    weight_grid_union,
)


def tree(parent: list[int], length: list[float] | None = None) -> TreeSpace:
    keys = Keys.from_strings(f"t{i:03d}" for i in range(len(parent)))
    return TreeSpace.from_arrays(keys, parent, length)


def path(*lengths: float) -> TreeSpace:
    return tree([i - 1 for i in range(len(lengths) + 1)], [0.0, *lengths])


def exact_distances(space: TreeSpace) -> list[list[Fraction]]:
    parent = space.parent.tolist()
    length = np.ones(len(parent)) if space.length is None else space.length
    edges = [(i, parent[i], Fraction(length[i])) for i in range(len(parent)) if parent[i] >= 0]
    return all_distances(len(parent), edges)


def random_trees() -> Iterator[tuple[TreeSpace, np.ndarray]]:
    """Trees of all shapes, in unit, whole and fractional lengths, with observed labels in any order."""
    rng = np.random.default_rng(5)
    for number in range(240):
        n = int(rng.integers(1, 25))
        parent = np.array(
            [-1, *(int(rng.integers(max(0, i - 3) if number % 2 else 0, i)) for i in range(1, n))]
        )
        turn = rng.permutation(n)
        moved = np.empty(n, dtype=np.int64)
        moved[turn] = np.where(parent < 0, -1, turn[parent])
        lengths = [np.ones(n), rng.integers(1, 9, n), rng.random(n) + 1e-9, 10.0 ** rng.integers(-9, 9, n)]
        space = tree(moved.tolist(), lengths[number % 4].tolist())
        yield space, rng.permutation(n)[: rng.integers(1, n + 1)]


# ---- trees with every label allowed ----------------------------------------------------------------------


def test_the_hull_is_proved_label_by_label() -> None:
    """A witness proves who is in, and uniquely; a label nearer to every observed one proves who is out.

    Where sums tie by the tie rule, short edges blur both, and an oracle says who is in.
    """
    n_blurred = 0
    for space, points in random_trees():
        found = locus_index(space, points)
        distances = exact_distances(space)
        rows = [[distances[y][o] for o in points.tolist()] for y in range(space.n_labels)]
        assert found.status == "exact"
        if found.tolerance:
            if space.n_labels <= 10:
                members, unique = locus_by_tie_rule(squared(rows))
                assert tuple(found.index.tolist()) == members
                assert tuple(found.unique_index.tolist()) == unique
                n_blurred += members != unique
            continue
        assert found.unique_index.tolist() == found.index.tolist()
        for y, weights in zip(found.index.tolist(), found.witnesses, strict=True):
            assert means(squared(rows), weights) == [y]
            assert np.gcd.reduce(np.array(weights, dtype=object)) == 1
        for y in set(range(space.n_labels)) - set(found.index.tolist()):
            assert any(all(d < e for d, e in zip(row, rows[y], strict=True)) for row in rows)
    assert n_blurred


def test_named_trees() -> None:
    assert locus(tree([-1]), ["t000"]).members == ("t000",)
    one_child = tree([-1, 0, 1, 1])
    assert locus(one_child, ["t002", "t003"]).members == ("t001", "t002", "t003")
    assert locus(one_child, ["t000", "t002"]).members == ("t000", "t001", "t002")
    assert locus(one_child, ["t001"]).members == ("t001",)
    assert len(locus(one_child, one_child.keys)) == 4


def test_witnesses_are_exact_where_floats_are_not() -> None:
    short = path(*[1e-5] * 40)
    assert locus(short, ["t000", "t040"]).witness("t010") == (3, 1)
    uneven = path(1e9, 1e-9, 1e9)
    found = locus(uneven, ["t000", "t003"])
    distances = exact_distances(uneven)
    assert found.witness("t001") != found.witness("t002")
    for key, weights in zip(found.members, found.witnesses, strict=True):
        assert means(squared([[row[0], row[3]] for row in distances]), weights) == [uneven.keys.index(key)]


def test_a_large_hull_makes_no_keys_and_walks_one_path_for_a_witness() -> None:
    n = 200_000
    space = tree([-1, *range(n - 1)])
    found = locus_index(space, np.array([n - 1, 0]))
    assert len(found) == n
    assert not {"members", "unique", "observed"} & set(vars(found))
    assert found.witness(space.keys[n // 2]) == (n // 2, n // 2 - 1)
    assert found.witnesses[-1] == (1, 0)


def test_a_slice_of_witnesses_is_those_witnesses() -> None:
    for method in ("exact", "pairs"):
        found = locus(path(1, 1, 1), ["t000", "t003"], method=method)
        assert found.witnesses[1:3] == (found.witnesses[1], found.witnesses[2]) == ((2, 1), (1, 2))


# ---- complete graphs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [[0, 1, 2, 3, 4], [0, 2], [3], [4, 1, 2]])
def test_complete_graphs_equal_the_oracle(allowed: list[int]) -> None:
    space = CompleteSpace(list("abcde"), allowed)
    for n in (1, 2, 3, 5):
        for points in itertools.permutations(range(5), n):
            rows = [[int(y != o) for o in points] for y in sorted(allowed)]
            found, wanted = locus_index(space, np.array(points)), locus_of_rows(rows)
            assert tuple(found.index.tolist()) == wanted.members
            assert tuple(found.unique_index.tolist()) == wanted.unique
            assert_witnesses(found, rows)
            assert locus(space, found.observed, method="pairs").index.tolist() == found.index.tolist()


def assert_witnesses(found: Locus, rows: list[list[int]]) -> None:
    unique = set(found.unique_index.tolist())
    assert len(found.witnesses) == len(found.index)
    for y, weights in zip(found.index.tolist(), found.witnesses, strict=True):
        assert min(weights) >= 0
        assert all(type(weight) is int for weight in weights)
        best = means(rows, weights)
        assert best == [y] if y in unique else y in best


# ---- pairs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_equal_the_oracle(family: str) -> None:
    for number in range(200, 215):
        case = space_case(family, number)
        found = locus(case.space, case.keys, method="pairs")
        assert tuple(found.index.tolist()) == pair_union(case.rows)
        assert set(found.unique_index.tolist()) == unique_in_pairs(case)
        assert_witnesses(found, case.rows)
        if found.status == "exact":
            assert tuple(found.index.tolist()) == locus_of_rows(case.rows).members


def unique_in_pairs(case: SpaceCase) -> set[int]:
    n = len(case.observed)
    pairs = list(itertools.combinations(range(n), 2)) or [(0,)]
    loci = [locus_of_rows([[row[i] for i in pair] for row in case.rows]) for pair in pairs]
    return {y for found in loci for y in found.unique}


def test_every_way_to_hold_the_same_distances_gives_the_same_pairs() -> None:
    """Bytes, two bytes, whole floats, and scaled floats that are decided with a tolerance."""
    rng = np.random.default_rng(1)
    for n_observed in (1, 2, 3, 31, 32, 33, 70):
        small = rng.integers(0, 60, (90, n_observed)).astype(np.uint8)
        wanted = hull_members(small)
        assert wanted[0].any()
        for other in (
            small.astype(np.uint16),
            small.astype(np.float32),
            small * 700.0,
            small / 16,
            small * 0.1,
        ):
            found = hull_members(other)
            assert np.array_equal(found[0], wanted[0])
            assert np.array_equal(found[1], wanted[1])


@pytest.mark.parametrize("n_observed", [1, 2, 3, 8, 33, 70])
def test_shares_of_the_pairs_join_to_what_all_pairs_reach(n_observed: int) -> None:
    """Members, verdicts and the very same witnesses, in whole numbers and in floats."""
    rng = np.random.default_rng(n_observed)
    small = rng.integers(0, 40, (90, n_observed)).astype(np.uint8)
    for distances in (small, small.astype(np.uint16), small * 0.1):
        whole = hull_members(distances)
        for n_shares in {1, 2, 3, n_observed - 1} & set(range(1, max(2, n_observed))):
            shares = shares_of_pairs(n_observed, n_shares)
            assert [row for share in shares for row in share] == list(range(n_observed - 1))
            joined = joined_hulls(hull_members(distances, share) for share in shares)
            for ours, theirs in zip(joined, whole, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_shares_of_pairs_are_of_about_equal_size() -> None:
    for n_observed, n_shares in [(2, 1), (10, 9), (50, 7), (1000, 100)]:
        shares = shares_of_pairs(n_observed, n_shares)
        sizes = [sum(n_observed - 1 - a for a in share) for share in shares]
        assert len(shares) == n_shares
        assert sum(sizes) == n_observed * (n_observed - 1) // 2
        assert min(sizes) > 0
        assert max(sizes) < sum(sizes) / n_shares + n_observed


def test_the_largest_distances_are_compared_without_overflow() -> None:
    big = 65_535
    rows = np.array([[0, big], [big, 0], [46_340, 46_340], [46_341, 46_340], [46_341, 46_341]])
    exact = locus_of_rows((rows.astype(object) ** 2).tolist())
    for distances in (rows.astype(np.uint16), rows * 3.0):
        member, unique, *_ = hull_members(distances)
        assert tuple(np.flatnonzero(member)) == exact.members == (0, 1, 2)
        assert tuple(np.flatnonzero(unique)) == exact.unique


def test_labels_on_one_line_are_members_that_only_tie() -> None:
    distances = np.array([[5, 1], [1, 5], [np.sqrt(13), np.sqrt(13)], [4, 4]])
    member, unique, *_ = hull_members(distances)
    assert member.tolist() == [True, True, True, False]
    assert unique.tolist() == [True, True, False, False]
    whole = np.array([[7, 1], [5, 5], [1, 7], [5, 6]], dtype=np.uint8)
    member, unique, *_ = hull_members(whole)
    assert member.tolist() == [True, True, True, False]
    assert unique.tolist() == [True, False, True, False]


def test_the_pairs_of_a_tree_make_its_hull() -> None:
    for space, points in random_trees():
        if space.distance_dtype != np.float64:
            keys = space.points.take(points)
            assert locus(space, keys, method="pairs").index.tolist() == locus(space, keys).index.tolist()
            assert is_pairwise_decomposable(space, keys)


def test_unit_graphs_pair_by_geodesics() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        case = unit_graph(rng, 12)
        whole = MatrixSpace(np.array(case.exact.distances, dtype=np.uint8), case.space.points)
        for first, second in itertools.combinations(whole.points, 2):
            on_the_way = geodesic_interval(whole, first, second)
            assert on_the_way == locus(whole, [first, second], method="pairs").members
            assert {first, second} <= set(on_the_way)


def test_geodesics_with_labels_left_out() -> None:
    ring = LabelGraph.from_edges(["ab", "bc", "cd", "da"], directed=False)
    assert geodesic_interval(metric_space(ring, labels=["a", "b"]), "a", "c") == ("a", "b")
    assert geodesic_interval(metric_space(ring, labels=["b", "c"]), "a", "c") == ("b", "c")
    with pytest.raises(SpaceError, match="neither 'a' nor 'c' is an allowed label"):
        geodesic_interval(metric_space(ring, labels=["b"]), "a", "c")
    with pytest.raises(InputError, match="occurs twice"):
        geodesic_interval(metric_space(ring), "a", "a")


def test_distances_that_are_rounded_state_a_tolerance() -> None:
    for factor, tolerance in ((0.25, 0.0), (0.1, TIE_RELATIVE)):
        space = MatrixSpace(factor * np.array([[0, 5], [3, 4], [5, 0], [4, 4]]), list("axfy"), ["a", "f"])
        for found in (locus(space, ["a", "f"], method="pairs"), locus(space, ["a", "f"])):
            assert (found.members, found.unique) == (("a", "x", "f"), ("a", "f"))
            assert (found.tolerance, found.status) == (tolerance, "exact")


def test_what_pairs_miss() -> None:
    spider = spider_graph([2, 2, 2, 1])
    ends = ["v02", "v04", "v06"]
    leaves = metric_space(spider, labels=[*ends, "v07"])
    assert locus(leaves, ends, method="pairs").members == tuple(ends)
    assert set(locus(leaves, ends).members) == {*ends, "v07"}
    assert not is_pairwise_decomposable(leaves, ends)
    assert is_pairwise_decomposable(metric_space(spider), ends)

    cube = LabelGraph.grid((3, 3, 3))
    space = metric_space(cube)
    corners = [cube.keys[i] for i in (0, 8, 20, 24)]  # of the eight, four at distance 4 from each other
    center = cube.keys[13]
    assert center not in locus(space, corners, method="pairs").members
    assert center in locus(space, corners).unique
    assert not is_pairwise_decomposable(space, corners)
    assert is_pairwise_decomposable(space, corners[:2])


# ---- the paper's grids -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["tree", "spider", "cycle", "unit graph", "cross matrix"])
def test_the_grids_do_what_is_printed_and_never_add(family: str) -> None:
    for number in range(300, 312):
        case = space_case(family, number, most_labels=7)
        members = set(locus_of_rows(case.rows).members)
        for steps in (1, 3, 4):
            pairs = locus(case.space, case.keys, divisions=steps, method="pair-grid")
            if len(case.keys) > 1:
                assert tuple(pairs.index.tolist()) == pair_grid_union(case.rows, steps)
            found = locus(case.space, case.keys, divisions=steps, method="grid")
            assert tuple(found.index.tolist()) == weight_grid_union(case.rows, steps, with_zero=False)
            for result in (pairs, found):
                assert set(result.index.tolist()) <= members
                assert result.status == "lower_bound" or set(result.index.tolist()) == members
                assert_witnesses(result, case.rows)


def test_weights_that_are_all_zero_reach_everything_and_are_left_out() -> None:
    space = path(1, 1, 1)
    rows = squared([[d] for d in range(4)])
    assert weight_grid_union(rows, 3, with_zero=True) == (0, 1, 2, 3)
    assert locus(space, ["t000"], method="grid").members == locus(space, ["t000"]).members == ("t000",)


def test_pair_grids_are_exact_on_trees_of_whole_lengths() -> None:
    for space, points in random_trees():
        if space.distance_dtype != np.float64:
            keys = space.points.take(points[:6])
            found = locus(space, keys, method="pair-grid")
            assert found.status == "exact"
            assert found.index.tolist() == locus(space, keys).index.tolist()


def test_pair_grids_step_over_labels() -> None:
    short = path(*[1e-5] * 6)  # the diameter is below 1: the grid is 0 and 1
    ends = ["t000", "t006"]
    assert locus(short, ends, method="pair-grid").members == ("t000", "t006")
    assert locus(short, ends, method="pair-grid").status == "lower_bound"
    assert len(locus(short, ends)) == 7

    # two leaves at distance 5, a third at 3 and 4 from them: all tie at (1/2, 1/2), which is not k/5
    taxonomy = LabelGraph.from_edges(["ab", "bc", "cd", "de", "ef", "cx"], directed=False)
    leaves = metric_space(taxonomy, labels=["a", "f", "x"])
    found = locus(leaves, ["a", "f"], method="pairs")
    assert (set(found.members), found.witness("x")) == ({"a", "f", "x"}, (1, 1))
    assert set(locus(leaves, ["a", "f"], method="pair-grid").members) == {"a", "f"}
    assert set(locus(leaves, ["a", "f"], divisions=2, method="pair-grid").members) == {"a", "f", "x"}


def test_a_grid_that_would_not_end_is_refused_with_its_cost() -> None:
    space = tree([-1, *range(40)])
    with pytest.raises(InputError, match=r"estimated 10\^\d+\.\d multiply-adds.*largest_cost = 1e\+10"):
        locus(space, space.keys, method="grid")
    with pytest.raises(InputError, match="estimated"):
        locus(path(1e70), ["t000", "t001"], method="pair-grid")
    assert len(locus(space, ["t000", "t040"], largest_cost=41 * 41 * 2 * 41, method="grid")) == 41
    with pytest.raises(InputError, match="largest_cost"):
        locus(space, ["t000", "t040"], largest_cost=41 * 41 * 2 * 41 - 1, method="grid")
    for divisions in (0, -1, np.inf, np.nan):
        with pytest.raises(InputError, match="divisions"):
            locus(space, ["t000"], divisions=divisions, method="grid")


# ---- laws and errors -------------------------------------------------------------------------------------


def test_more_observed_labels_never_reach_less() -> None:
    for space, points in random_trees():
        found = [locus_index(space, points[:k]).index for k in range(1, len(points) + 1)]
        assert all(set(a.tolist()) <= set(b.tolist()) for a, b in itertools.pairwise(found))
        keys = space.points.take(points)
        pairs = [locus(space, keys[:k], method="pairs").index for k in range(1, min(len(keys), 4) + 1)]
        assert all(set(a.tolist()) <= set(b.tolist()) for a, b in itertools.pairwise(pairs))


@pytest.mark.parametrize(
    "find",
    [
        *(partial(locus, method=method) for method in ("exact", "pairs", "pair-grid", "grid")),
        is_pairwise_decomposable,
    ],
)
def test_observed_labels_are_checked(find: object) -> None:
    space = path(1, 1)
    assert callable(find)
    with pytest.raises(InputError, match="observed: empty"):
        find(space, [])
    with pytest.raises(InputError, match="'t001' occurs twice"):
        find(space, ["t001", "t000", "t001"])
    with pytest.raises(UnknownLabelError, match="nobody"):
        find(space, ["nobody"])
    with pytest.raises(InputError, match="give a list of keys"):
        find(space, "t001")


def test_a_witness_is_of_a_member() -> None:
    found = locus(path(1, 1), ["t000", "t001"])
    with pytest.raises(InputError, match=r"'t002' is not among the 2 members.*no weights reach it"):
        found.witness("t002")
    with pytest.raises(UnknownLabelError, match="nobody"):
        found.witness("nobody")
    assert repr(found) == "Locus(2 of 3 labels, 2 uniquely, from 2 observed; exact)"
    assert found.observed == ("t000", "t001")


def test_a_rooted_tree_in_any_order_has_the_same_hull() -> None:
    parent = np.array([3, 3, 1, -1, 1])
    assert len(RootedTree(parent)) == 5
    space = tree(parent.tolist())
    assert locus(space, ["t002", "t000"]).members == ("t000", "t001", "t002", "t003")
