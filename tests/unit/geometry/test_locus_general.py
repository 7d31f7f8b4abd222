"""The general locus and the locus on trees with restricted labels, against exact games; and its proofs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from geometry_cases import build_graph
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace, TreeSpace, metric_space
from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus
from labelgrove.ontology.geometry.loci.proofs.certificates import Competition
from labelgrove.ontology.geometry.loci.proofs.exactgame import exact_product, settle, solve_game
from labelgrove.ontology.geometry.loci.proofs.marginprogram import MarginProgram
from labelgrove.ontology.geometry.loci.restrictedtree import nearest_at_hull, restricted_tree_locus
from labelgrove.ontology.geometry.paths.wholenumbers import are_short, whole_numbers
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles_locus import Rows, game, locus_of_rows, means, squared

Generator = np.random.Generator


def check(found: GeneralLocus, rows: Rows) -> None:
    """Members, unique members and witnesses are those of the exact oracle."""
    exact = locus_of_rows(rows)
    assert tuple(found.index.tolist()) == exact.members
    assert tuple(found.unique_index.tolist()) == exact.unique
    check_witnesses(found, rows)


def check_witnesses(found: GeneralLocus, rows: Rows) -> None:
    assert len(found.witnesses) == len(found.index)
    unique = set(found.unique_index.tolist())
    for y, witness in zip(found.index.tolist(), found.witnesses, strict=True):
        assert all(isinstance(w, int) and w >= 0 for w in witness)
        assert any(witness)
        best = means(rows, witness)
        assert best == [y] if y in unique else y in best


def check_matrix(distances: NDArray[Any], **options: Any) -> GeneralLocus:
    found = general_locus(distances, **options)
    check(found, squared([[Fraction(d) for d in row] for row in distances.tolist()]))
    return found


def graph_locus(
    pairs: Sequence[tuple[str, str]], observed: Sequence[str]
) -> tuple[MetricSpace, GeneralLocus]:
    space = metric_space(LabelGraph.from_edges(pairs, directed=False), "graph")
    return space, check_matrix(space.distances(cols=space.point_index(observed)))


def tree_space(parent: Sequence[int], length: Any = None, allowed: Any = None) -> TreeSpace:
    keys = Keys.from_strings(f"t{i:03d}" for i in range(len(parent)))
    return TreeSpace.from_arrays(keys, parent, length, allowed)


# --- named spaces -------------------------------------------------------------------------------------------


def test_three_leaves_of_a_spider_reach_the_fourth() -> None:
    space = tree_space([-1, 0, 1, 0, 3, 0, 5, 0], allowed=[2, 4, 6, 7])
    found = restricted_tree_locus(space, np.array([2, 4, 6]))
    check(found, squared(space.distances(cols=[2, 4, 6]).tolist()))
    assert found.index.tolist() == found.unique_index.tolist() == [0, 1, 2, 3]
    for pair in ([2, 4], [2, 6], [4, 6]):
        assert 3 not in restricted_tree_locus(space, np.array(pair)).index


def test_four_points_of_a_solid_grid_reach_its_center() -> None:
    space = metric_space(LabelGraph.grid((3, 3, 3)), "graph")
    corners = space.point_index(["0,0,0", "2,2,0", "2,0,2", "0,2,2"])
    found = check_matrix(space.distances(cols=corners))
    center = int(space.index(["1,1,1"])[0])
    assert center in found.unique_index
    for pair in itertools.combinations(corners, 2):
        assert center not in check_matrix(space.distances(cols=pair)).index


def test_a_label_that_is_reached_at_one_point_of_the_simplex() -> None:
    # every row but the last has two squares of 1 and two of 49, the last four of 25
    halves = [[1, 1, 7, 7], [7, 7, 1, 1], [1, 7, 1, 7], [7, 1, 7, 1], [1, 7, 7, 1], [7, 1, 1, 7]]
    found = check_matrix(np.array([*halves, [5, 5, 5, 5]], dtype=np.uint8))
    assert found.index.tolist() == list(range(7))
    assert found.unique_index.tolist() == list(range(6))
    assert found.witnesses[6] == (1, 1, 1, 1)
    assert found.proofs["exact"] == 1


def test_a_label_that_only_ties_is_a_member() -> None:
    space, found = graph_locus([("a", "x"), ("a", "y"), ("c", "x"), ("c", "y"), ("x", "y")], ["a", "c", "x"])
    y = int(space.index(["y"])[0])
    assert y in found.index
    assert y not in found.unique_index


def test_all_weights_zero_are_not_weights() -> None:
    _, found = graph_locus([(f"p{i}", f"p{i + 1}") for i in range(5)], ["p1", "p2"])
    assert found.index.tolist() == [1, 2]


def test_observed_labels_need_not_be_allowed() -> None:
    # the hub is observed alone: every leaf is as near
    space = tree_space([-1, 0, 0, 0], allowed=[1, 2, 3])
    found = restricted_tree_locus(space, np.array([0]))
    assert found.index.tolist() == [0, 1, 2]
    assert not len(found.unique_index)
    assert found.witnesses[1] == (1,)


def test_equal_rows_are_members_together_and_never_unique() -> None:
    found = check_matrix(np.array([[1, 2], [2, 1], [1, 2], [3, 3]], dtype=np.uint8))
    assert found.index.tolist() == [0, 1, 2]
    assert found.unique_index.tolist() == [1]
    assert found.witnesses[0:3:2] == (found.witnesses[0],) * 2


def test_margins_that_floating_point_cannot_see() -> None:
    # of many labels next to the line between two others, in squares, the one closest to it on either side
    first, last = (101, 1_000_003), (900_007, 203)
    rise, run = last[1] ** 2 - first[1] ** 2, last[0] ** 2 - first[0] ** 2
    below, above = [], []
    for x in range(1_000, 800_000, 17):
        on_line = first[1] ** 2 + Fraction((x * x - first[0] ** 2) * rise, run)
        y = math.isqrt(math.floor(on_line))
        below.append((on_line - y * y, x, y))
        above.append(((y + 1) ** 2 - on_line, x, y + 1))
    for nearest, is_member in ((min(below), True), (min(above), False)):
        assert 0 < nearest[0] < 1_000  # of squares up to 10^12
        plane = np.array([first, last, nearest[1:]])
        for distances in (plane, np.column_stack([plane, [0, 0, 1]])):
            found = check_matrix(distances)
            assert found.unique_index.tolist() == ([0, 1, 2] if is_member else [0, 1])
            assert found.proofs["exact"] == 1


def test_a_zero_with_a_sign_is_a_zero() -> None:
    found = check_matrix(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    assert found.unique_index.tolist() == [2]


def test_one_observed_label() -> None:
    assert check_matrix(np.array([[2], [1], [1]], dtype=np.uint16)).index.tolist() == [1, 2]
    assert check_matrix(np.array([[0.5]])).unique_index.tolist() == [0]


def test_short_edges_are_as_good_as_long_ones() -> None:
    for unit in (1e-5, 1.0, 1e5):
        space = tree_space([-1, 0, 1, 2, 3], [0.0] + [unit] * 4)
        found = general_locus(space.distances(cols=[0, 3]))
        assert found.index.tolist() == found.unique_index.tolist() == [0, 1, 2, 3]


def test_sums_that_rounding_tells_apart_tie() -> None:
    # one leg of 0.1 + 0.2 and one of 0.3, seen from where they meet
    space = tree_space([-1, 0, 1, 0], [0.0, 0.1, 0.2, 0.3], allowed=[2, 3])
    distances = space.distances(cols=[0])
    assert distances[0, 0] > distances[1, 0]
    for found in (restricted_tree_locus(space, np.array([0])), general_locus(distances)):
        assert found.tolerance > 0
        assert found.index.tolist() == [0, 1]
        assert not len(found.unique_index)


# --- against the oracle -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float32, np.float64])
def test_random_matrices(dtype: type) -> None:
    draw = np.random.default_rng(np.dtype(dtype).num)
    for _ in range(250):
        shape = tuple(draw.integers(1, 10, 2) // (1, 2) + (0, 1))
        distances = draw.integers(0, int(draw.choice([2, 3, 5, 20])), shape)
        check_matrix(distances.astype(dtype), seed=int(draw.integers(99)))


def test_random_matrices_of_long_numbers() -> None:
    draw = np.random.default_rng(3)
    for _ in range(100):
        distances = draw.integers(0, 4, (int(draw.integers(1, 8)), int(draw.integers(1, 5)))) / 3 + 0.1
        rows = [[round(d * 30) ** 2 for d in row] for row in distances.tolist()]
        found = general_locus(distances)
        exact = locus_of_rows(rows)
        assert tuple(found.index.tolist()) == exact.members
        assert tuple(found.unique_index.tolist()) == exact.unique


def test_random_trees_with_restricted_labels() -> None:
    draw = np.random.default_rng(4)
    for number in range(400):
        n = int(draw.integers(1, 14))
        parent = [-1] + [int(draw.integers(0, i)) for i in range(1, n)]
        length = draw.integers(1, 4, n) / (2 if number % 2 else 1)
        allowed = draw.permutation(n)[: draw.integers(1, n + 1)]
        space = tree_space(parent, length, allowed)
        points = draw.permutation(n)[: draw.integers(1, min(n, 5) + 1)]
        check(restricted_tree_locus(space, points), squared(space.distances(cols=points).tolist()))


def test_the_filter_leaves_out_only_what_is_strictly_farther_from_everything() -> None:
    draw = np.random.default_rng(5)
    n_dropped = 0
    for _ in range(200):
        graph = build_graph("tree", [int(draw.integers(0, i)) for i in range(1, 30)], [], [])
        space = metric_space(graph, "tree", "leaves")
        assert isinstance(space, TreeSpace)
        points = draw.permutation(30)[: draw.integers(1, 5)]
        kept = nearest_at_hull(space, points)
        distances = space.distances(cols=points)
        dropped = np.setdiff1d(np.arange(space.n_labels), kept)
        n_dropped += len(dropped)
        for y in dropped.tolist():
            assert (distances[kept] < distances[y]).all(axis=1).any()
    assert n_dropped > 500


def test_candidates_are_decided_against_every_row() -> None:
    draw = np.random.default_rng(6)
    for _ in range(100):
        distances = draw.integers(0, 4, (9, 3)).astype(np.uint8)
        whole = general_locus(distances)
        some = draw.permutation(9)[:4]
        found = general_locus(distances, some)
        assert found.index.tolist() == np.intersect1d(whole.index, some).tolist()
        assert found.unique_index.tolist() == np.intersect1d(whole.unique_index, some).tolist()
        check_witnesses(found, squared(distances.tolist()))
    assert not len(general_locus(distances, []).index)


def test_many_observed_labels_in_a_leaf_only_tree() -> None:
    draw = np.random.default_rng(1)
    n = 800
    parent = [-1] + [int(i * draw.beta(2.0, 1.6)) for i in range(1, n)]
    leaves = np.setdiff1d(np.arange(n), parent)
    space = tree_space(parent, allowed=leaves)
    points = draw.choice(leaves, 80, replace=False)
    found = restricted_tree_locus(space, points)
    other = general_locus(space.distances(cols=points), seed=1)
    assert found.index.tolist() == other.index.tolist()
    assert found.unique_index.tolist() == other.unique_index.tolist()
    assert set(np.flatnonzero(np.isin(leaves, points)).tolist()) <= set(found.index.tolist())
    assert found.proofs["exact"] > 0  # members that only tie
    assert found.proofs["multipliers"] > 0
    squares = space.distances(cols=points).astype(np.int64) ** 2
    unique = set(found.unique_index.tolist())
    for y, witness in zip(found.index.tolist(), found.witnesses, strict=True):
        sums = squares @ np.array(witness)
        assert sums[y] == sums.min()
        assert (np.count_nonzero(sums == sums.min()) == 1) >= (y in unique)


def test_nothing_depends_on_the_seed_or_the_order_of_rows() -> None:
    draw = np.random.default_rng(8)
    distances = draw.integers(1, 30, (120, 12)).astype(np.uint8)
    found = general_locus(distances)
    assert 0 < len(found.index) < 120
    again = general_locus(distances, seed=1)
    order = draw.permutation(120)
    turned = general_locus(distances[order])
    for other in (again.index, np.sort(order[turned.index])):
        assert other.tolist() == found.index.tolist()
    assert general_locus(distances).witnesses[:] == found.witnesses[:]
    check_witnesses(found, squared(distances.tolist()))


# --- proofs -------------------------------------------------------------------------------------------------

_SPIDER = np.array([[0, 4, 4], [4, 0, 4], [4, 4, 0], [3, 3, 3]], dtype=np.uint8)


def test_weights_that_prove_nothing_are_refused() -> None:
    rows = Competition(_SPIDER, 4, tolerant=False)
    assert rows.is_only_best(3, np.array([1, 1, 1]))
    assert rows.is_best(3, np.array([1, 1, 1]))
    for tampered in ([9, 1, 1], [0, 0, 0], [1, 1, -1]):
        assert not rows.is_only_best(3, np.array(tampered))
        assert not rows.is_best(3, np.array(tampered))
    # (3, 3, 1) in squares is 9, 9, 9 against 0, 16, 16: they tie where w_1 + w_2 = 9 and w_0 = 7
    assert rows.is_best(3, np.array([14, 9, 9]))
    assert not rows.is_only_best(3, np.array([14, 9, 9]))
    assert not rows.is_best(3, np.array([14, 9, 8]))


def test_multipliers_that_prove_nothing_are_refused() -> None:
    # the last row is above the even mixture of the first two, and above no other
    rows = Competition(np.array([[0, 4], [4, 0], [3, 3]], dtype=np.uint8), 3, tolerant=False)
    columns, rivals = np.arange(2), np.arange(2)
    assert rows.is_beaten(2, columns, rivals, np.array([1, 1]))
    for tampered in ([1, 0], [9, 1], [0, 0], [-1, -1]):
        assert not rows.is_beaten(2, columns, rivals, np.array(tampered))
        assert not rows.is_matched(2, rivals, np.array(tampered))
    level = Competition(np.array([[0, 2], [2, 0], [0, 0]], dtype=np.uint8), 3, tolerant=False)
    assert not level.is_beaten(2, columns, rivals, np.array([1, 1]))
    assert not level.is_matched(2, np.array([2]), np.array([1]))


def test_a_tie_is_matched_but_not_beaten() -> None:
    # 25 is the mean of 1 and 49, so the mixture of the first two is the third
    rows = Competition(np.array([[1, 7], [7, 1], [5, 5]], dtype=np.uint8), 3, tolerant=False)
    even = np.array([1, 1])
    assert rows.is_matched(2, np.arange(2), even)
    assert not rows.is_beaten(2, np.arange(2), np.arange(2), even)
    assert not rows.is_matched(2, np.arange(2), np.array([1, 2]))
    found = check_matrix(np.array([[1, 7], [7, 1], [5, 5]], dtype=np.uint8))
    assert found.index.tolist() == [0, 1, 2]
    assert found.unique_index.tolist() == [0, 1]


def test_ties_within_the_tolerance_are_ties() -> None:
    near = np.array([[1.0, 1.0], [1.0 + 1e-13, 1.0 + 1e-13], [1.0 + 1e-9, 1.0 + 1e-9]])
    strict, tolerant = (Competition(near, 3, tolerant=tolerant) for tolerant in (False, True))
    even = np.array([1, 1])
    assert [strict.is_best(row, even) for row in range(3)] == [True, False, False]
    assert [tolerant.is_best(row, even) for row in range(3)] == [True, True, False]
    assert strict.is_only_best(0, even)
    assert not tolerant.is_only_best(0, even)
    assert general_locus(near).index.tolist() == [0, 1]


def test_games_are_solved_exactly_from_any_start() -> None:
    draw = np.random.default_rng(9)
    signs = set()
    for _ in range(300):
        payoff = draw.integers(-3, 4, draw.integers(1, 7, 2))
        value, _, _ = game(payoff.T.tolist())
        sign, weights, multipliers = solve_game(payoff)
        assert sign == (value > 0) - (value < 0)
        assert Fraction(min(exact_product(payoff, weights)), sum(weights)) == value
        assert Fraction(max(exact_product(payoff.T, multipliers)), sum(multipliers)) == value
        start = draw.integers(len(payoff), size=1), draw.integers(payoff.shape[1], size=1)
        found = settle(payoff, *start)
        assert found.sign == sign
        low, high = exact_product(payoff, found.weights), exact_product(payoff.T, found.multipliers)
        assert sign < 0 or (low >= sign).all()
        assert sign > 0 or (high <= sign).all()
        signs.add(sign)
    assert signs == {-1, 0, 1}


def test_a_program_finds_the_margin_of_each_row_in_turn() -> None:
    squares = _SPIDER.astype(np.float64) ** 2 / 16
    program = MarginProgram(squares)
    everywhere = np.ones(3, dtype=bool)
    for row in (3, 0, 3, 1):
        idle = np.arange(4) == row
        margin = program.solve(squares[row], everywhere, idle)
        sums = squares @ margin.weights
        assert (sums[~idle] > sums[row]).all()
        assert margin.weights.sum() == pytest.approx(1.0)
    edge = program.solve(squares[3], np.array([True, True, False]), np.arange(4) == 3)
    assert edge.weights[2] == 0
    mixed = edge.multipliers @ squares[edge.rivals]
    assert (mixed[:2] < squares[3, :2]).all()


def test_products_leave_the_range_of_int64_without_harm() -> None:
    matrix = np.array([[1 << 60, 3], [1, 1 << 61]])
    vector = np.array([1 << 40, -5], dtype=object)
    assert exact_product(matrix, vector).tolist() == [(1 << 100) - 15, (1 << 40) - 5 * (1 << 61)]
    assert exact_product(matrix, np.array([1, 0])).dtype == np.int64


def test_distances_are_read_to_the_last_bit() -> None:
    for distances in ([0.1, 0.2, 7e5], [0.75, 3.0, 0.0], [1e-70, 1e70], [0.0]):
        whole = whole_numbers(np.array(distances))
        at = int(np.argmax(distances))
        for d, w in zip(distances, whole.tolist(), strict=True):
            assert Fraction(d) * int(whole[at]) == Fraction(distances[at]) * w
    assert are_short(np.array([0.75, 3.0]))
    assert are_short(np.array([5, 65_535], dtype=np.uint16))
    assert not are_short(np.array([1.0, 1 + 2.0**-40]))


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distances", "said"),
    [
        ([[1.0, -1.0]], r"distances: -1.0 in row 0, column 1"),
        ([[1.0, np.nan]], r"distances: nan in row 0"),
        ([[np.inf]], r"distances: inf"),
        (np.zeros((0, 3)), r"distances: float64 of shape \(0, 3\)"),
        (np.zeros((3, 0)), r"distances: .* at least one"),
        ([1.0, 2.0], r"distances: .* shape \(2,\)"),
        ([["a"]], r"distances: <U1"),
    ],
)
def test_bad_distances_are_refused(distances: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        general_locus(np.array(distances))


@pytest.mark.parametrize(
    ("candidates", "said"), [([4], "candidates: index 4 .*0..3"), ([-1], "-1"), ([0.5], "float64")]
)
def test_bad_candidates_are_refused(candidates: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        general_locus(_SPIDER, candidates)
