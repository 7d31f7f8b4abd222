"""Every claim of docs/theory.md about the published algorithms, grids, other graphs and learning."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from locus_cases import (
    SPIDER,
    exact_space,
    exact_tree,
    leaf_space,
    named_tree,
    random_edges,
    subsets,
    undirected,
)

from labelgrove.adapter.evaluation import evaluate
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import (
    CompleteSpace,
    frechet_mean,
    is_identifying_cover,
    is_locus_cover,
    is_nontrivial,
    locus,
    metric_space,
    minimum_locus_cover,
    phylogenetic_cover,
)
from labelgrove.ontology.geometry.loci.pairs import is_pairwise_decomposable
from labelgrove.ontology.geometry.summaries.summary import DegenerateSummaryWarning, summarize
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles_locus import (
    ExactSpace,
    locus_of_rows,
    margin,
    means,
    pair_grid_union,
    pair_union,
    weight_grid_union,
)

# ---- the published algorithms ----------------------------------------------------------------------------


def test_algorithm_1_returns_a_cover_that_depends_on_the_order_of_ties() -> None:
    """Three leaves cover this tree; paths of equal length in another order make it four."""
    edges = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 1),
        (3, 4, 1),
        (2, 5, 1),
        (1, 6, 1),
        (5, 7, 1),
        (1, 8, 1),
        (6, 9, 1),
    ]
    space, exact = leaf_space(edges)
    sizes = {len(algorithm_1(exact, random.Random(seed))) for seed in range(20)}
    assert (sizes, len(exact.covers()[0])) == ({3, 4}, 3)
    assert is_locus_cover(space, phylogenetic_cover(space).keys)


def test_algorithm_1_is_not_minimum_in_any_order() -> None:
    edges = [(0, 1, 3), (1, 2, 1), (0, 3, 2), (0, 4, 2), (3, 5, 3), (1, 6, 3)]
    space, exact = leaf_space(edges)
    assert {len(algorithm_1(exact, random.Random(seed))) for seed in range(50)} == {4}
    assert len(exact.covers()[0]) == 3
    found = phylogenetic_cover(space)
    assert is_locus_cover(space, found.keys)
    assert found.lower_bound <= 3


def test_algorithm_1_as_printed_returns_nothing_for_a_single_leaf() -> None:
    exact = ExactSpace([[0, 1], [1, 0]], [1])
    assert algorithm_1(exact, random.Random(0)) is None
    space = metric_space(undirected([(0, 1)], 2), labels=["v01"])
    assert phylogenetic_cover(space).keys == ("v01",)


def algorithm_1(exact: ExactSpace, rng: random.Random) -> set[int] | None:
    """Add the ends of the longest paths until everything is reached, as printed; ties in random order."""
    paths = list(itertools.product(exact.allowed, repeat=2))
    rng.shuffle(paths)
    paths.sort(key=lambda path: -exact.distances[path[0]][path[1]])
    chosen: set[int] = set()
    for path in paths:
        if exact.is_cover(chosen):
            return chosen
        chosen.update(path)
    return None


@pytest.mark.parametrize("lengths", [(1,), (1, 2, 5)])
def test_algorithm_2_is_exact_on_trees_with_whole_lengths(lengths: tuple[int, ...]) -> None:
    rng = random.Random(7)
    for n in (2, 4, 6, 7):
        edges = random_edges(n, rng, lengths)
        exact, space = exact_tree(edges), metric_space(named_tree(edges))
        diameter = max(map(max, exact.distances))
        for chosen in subsets(range(n), least=2, most=3):
            assert pair_grid_union(exact.rows(chosen), diameter) == exact.locus(chosen).members
            keys = [f"v{v:02d}" for v in chosen]
            found = locus(space, keys, method="pair-grid")
            assert (found.members, found.status) == (locus(space, keys).members, "exact")


def test_algorithm_2_misses_labels_on_leaf_only_trees() -> None:
    """A path of five edges with a leaf beside it that ties at (1/2, 1/2): fifths step over it."""
    edges = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (2, 4, 1), (3, 5, 1), (5, 6, 1)]
    space, _ = leaf_space(edges)
    found = locus(space, ["v00", "v06"], method="pair-grid")
    assert (set(found.members), found.status) == ({"v00", "v06"}, "lower_bound")
    exact_locus = locus(space, ["v00", "v06"])
    assert set(exact_locus.members) == {"v00", "v04", "v06"}
    assert set(exact_locus.unique) == {"v00", "v06"}
    assert exact_locus.witness("v04") == (1, 1)


def test_algorithm_2_never_adds_a_label() -> None:
    rng = random.Random(8)
    for _ in range(40):
        edges = random_edges(rng.randint(3, 9), rng)
        _, exact = leaf_space(edges)
        observed = rng.sample(exact.allowed, min(len(exact.allowed), 3))
        rows = exact.rows(observed)
        steps = rng.randint(1, 6)
        assert set(pair_grid_union(rows, steps)) <= set(pair_union(rows))


def test_algorithm_2_steps_over_labels_where_lengths_are_fractions() -> None:
    """Edges of a quarter on a path of length 1: the weights 0/1 and 1/1 reach its two ends alone."""
    line = metric_space(undirected([(0, 1), (1, 2), (2, 3), (3, 4)], 5, [0.25] * 4))
    found = locus(line, ["v00", "v04"], method="pair-grid")
    assert (found.members, found.status) == (("v00", "v04"), "lower_bound")
    assert len(locus(line, ["v00", "v04"])) == 5


def test_algorithm_3_as_printed_returns_every_label() -> None:
    exact = exact_space(metric_space(SPIDER), SPIDER)
    rows = exact.rows([1, 2])
    assert len(weight_grid_union(rows, 4, with_zero=True)) == 8
    assert weight_grid_union(rows, 4, with_zero=False) == locus_of_rows(rows).members
    space = metric_space(SPIDER)
    assert len(locus(space, space.points.take([1, 2]), method="grid")) == len(locus_of_rows(rows).members)


def test_algorithm_3_without_zero_still_steps_over_labels() -> None:
    """A square with edges 2, 1, 3, 2: v01 needs weights near 9 : 15, and quarters hold no such ratio."""
    graph = undirected([(0, 1), (0, 2), (0, 3), (1, 3)], 4, [2, 1, 3, 2])
    space = metric_space(graph)
    assert space.diameter() == 4
    assert set(locus(space, ["v03", "v02"], method="grid").members) == {"v00", "v02", "v03"}
    found = locus(space, ["v03", "v02"])
    assert set(found.members) == set(found.unique) == set(space.keys)


def test_algorithm_3_refuses_a_grid_that_would_not_end() -> None:
    space = metric_space(LabelGraph.grid((9, 9)))
    with pytest.raises(InputError, match="estimated"):
        locus(space, space.keys.take(range(12)), method="grid")


def test_a_general_locus_is_one_linear_program_for_each_label() -> None:
    """Twelve observed labels on a graph with cycles: 6^12 weights for a grid, nine small programs here."""
    rng = random.Random(9)
    pairs = {(rng.randrange(i), i) for i in range(1, 16)} | {(0, 15), (3, 14), (5, 11), (2, 9)}
    graph = undirected(sorted(pairs), 16)
    space = metric_space(graph, labels=[f"v{v:02d}" for v in range(0, 16, 2)])
    observed = [f"v{v:02d}" for v in range(12)]
    rows = exact_space(space, graph).rows(space.point_index(observed).tolist())
    wanted = locus_of_rows(rows)
    found = locus(space, observed)
    assert (tuple(found.index), tuple(found.unique_index)) == (wanted.members, wanted.unique)


# ---- grids, other graphs ---------------------------------------------------------------------------------


def grid_points(shape: Sequence[int], wanted: Iterable[Sequence[int]]) -> list[int]:
    every = list(itertools.product(*map(range, shape)))
    return [every.index(tuple(point)) for point in wanted]


def corners(shape: Sequence[int]) -> list[str]:
    return sorted({",".join(map(str, p)) for p in itertools.product(*((0, side - 1) for side in shape))})


SHAPES = [(2, 2), (4, 3), (1, 4), (3, 3), (2, 3, 4), (3, 3, 3), (2, 2, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_opposite_corners_cover_a_grid_and_all_corners_identify(shape: tuple[int, ...]) -> None:
    space = metric_space(LabelGraph.grid(shape))
    opposite = [",".join("0" for _ in shape), ",".join(str(side - 1) for side in shape)]
    assert is_locus_cover(space, opposite)
    assert is_identifying_cover(space, opposite) == (sum(side > 1 for side in shape) < 2)
    assert is_identifying_cover(space, corners(shape))
    assert not any(is_locus_cover(space, [corner]) for corner in corners(shape))
    found = minimum_locus_cover(space)
    assert (len(found.keys), found.status) == (2, "exact")


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2)])
def test_the_locus_of_two_grid_points_is_their_box(shape: tuple[int, ...]) -> None:
    space = metric_space(LabelGraph.grid(shape))
    points = list(itertools.product(*map(range, shape)))
    for a, b in itertools.combinations(range(len(points)), 2):
        box = [
            i
            for i, p in enumerate(points)
            if all(min(x, y) <= z <= max(x, y) for x, y, z in zip(points[a], points[b], p, strict=True))
        ]
        assert locus(space, space.points.take([a, b])).index.tolist() == box


def test_loci_of_plane_grids_are_pairwise_decomposable() -> None:
    """Every set of two to four points of the 3 x 3 grid, and some of larger ones."""
    rng = random.Random(10)
    for shape in ((3, 3), (4, 4), (3, 5)):
        graph = LabelGraph.grid(shape)
        exact = exact_space(metric_space(graph), graph)
        every = list(subsets(range(9), least=2, most=4))
        some = [rng.sample(range(graph.n_labels), rng.randint(3, 6)) for _ in range(20)]
        for chosen in every if shape == (3, 3) else some:
            rows = exact.rows(chosen)
            assert pair_union(rows) == locus_of_rows(rows).members


def test_loci_of_solid_grids_are_not() -> None:
    """3 x 3 x 3: four corners, no two of them adjacent, reach the middle, and no pair of them does."""
    graph = LabelGraph.grid((3, 3, 3))
    space = metric_space(graph)
    four = grid_points((3, 3, 3), [(0, 0, 0), (2, 2, 0), (2, 0, 2), (0, 2, 2)])
    (middle,) = grid_points((3, 3, 3), [(1, 1, 1)])
    rows = exact_space(space, graph).rows(four)
    assert means(rows, [1, 1, 1, 1]) == [middle]
    assert margin(rows, middle).value == 1  # 9 against 10, so that nearby weights reach it too
    assert set(range(27)) - set(pair_union(rows)) == {middle}
    keys = space.points.take(four)
    assert "1,1,1" in locus(space, keys).unique
    assert "1,1,1" not in locus(space, keys, method="pairs").members
    assert not is_pairwise_decomposable(space, keys)


def test_four_corners_identify_a_cube_as_well_as_eight() -> None:
    space = metric_space(LabelGraph.grid((3, 3, 3)))
    assert is_identifying_cover(space, ["0,0,0", "2,2,0", "2,0,2", "0,2,2"])


def test_loci_of_unit_graphs_are_not_pairwise_decomposable() -> None:
    """Two vertices joined by paths of 2, 3 and 5 edges: the middle of the short one needs three labels."""
    pairs = [(0, 1), (1, 2), (0, 3), (3, 4), (4, 2), (0, 5), (5, 6), (6, 7), (7, 8), (8, 2)]
    space = metric_space(undirected(pairs, 9))
    exact = exact_space(space, undirected(pairs, 9))
    observed = ["v03", "v05", "v08"]
    rows = exact.rows(space.point_index(observed).tolist())
    middle = space.points.index("v01")
    assert margin(rows, middle).value > 0
    assert middle not in pair_union(rows)
    assert "v01" in locus(space, observed).unique
    assert not is_pairwise_decomposable(space, observed)


def test_dropping_weakly_dominated_rows_would_lose_ties() -> None:
    """Diamond a-x, a-y, c-x, c-y, x-y: x is nowhere farther than y, yet y ties where x has no weight."""
    graph = LabelGraph.from_edges(["ax", "ay", "cx", "cy", "xy"], directed=False)
    space = metric_space(graph)
    columns = space.point_index(["a", "c", "x"])
    x, y = space.distances(cols=columns)[space.index(["x", "y"])].tolist()
    assert all(near <= far for near, far in zip(x, y, strict=True))
    found = locus(space, ["a", "c", "x"])
    assert set(found.members) == set("acxy")
    assert set(found.unique) == set("acx")
    weights = dict(zip(["a", "c", "x"], found.witness("y"), strict=True))
    assert weights["x"] == 0 < weights["a"] == weights["c"]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_complete_graph_has_no_nontrivial_cover(n: int) -> None:
    space = CompleteSpace([f"y{i}" for i in range(n)])
    for chosen in subsets(range(n)):
        keys = space.keys.take(chosen)
        assert locus(space, keys).members == keys
        assert not is_nontrivial(space, keys)
    assert minimum_locus_cover(space).keys == tuple(space.keys)


def test_a_complete_graph_with_other_lengths_has_one() -> None:
    triangle = metric_space(undirected([(0, 1), (0, 2), (1, 2)], 3, [3, 2, 2]))
    assert is_nontrivial(triangle, ["v00", "v01"])


def test_the_complete_graph_gives_argmax_with_the_same_ties() -> None:
    rng = np.random.default_rng(11)
    space = CompleteSpace([f"y{i}" for i in range(6)])
    votes = rng.integers(0, 4, (300, 6))
    votes[:, 0] += ~votes.any(axis=1)
    result = frechet_mean(space, space.keys, votes)
    assert (result.index == votes.argmax(axis=1)).all()
    assert (result.n_tied == (votes == votes.max(axis=1, keepdims=True)).sum(axis=1)).all()
    assert (result.n_tied > 1).any()
    observed = ["y4", "y1", "y2"]
    result = frechet_mean(space, observed, votes[:, :3] + 1)
    for row, index in zip(votes[:, :3].tolist(), result.index.tolist(), strict=True):
        best = [key for key, vote in zip(observed, row, strict=True) if vote == max(row)]
        assert space.keys[index] == min(best)


# ---- errors, bounds, the learning theorem ----------------------------------------------------------------


def test_the_ball_bound_needs_the_sum_of_the_weights() -> None:
    """|sqrt F(y) - sqrt F(c)| <= sqrt(W) max |d(y) - d(c)|: without sqrt(W) it fails once W exceeds 1."""
    rng = random.Random(14)
    broken = 0
    for _ in range(300):
        n_observed = rng.randint(1, 4)
        weights = [rng.randint(0, 8) for _ in range(n_observed)]
        weights[0] += 8 - sum(weights) if sum(weights) < 8 else 0
        y, c = ([rng.randint(0, 6) for _ in weights] for _ in range(2))
        at_y, at_c = (sum(w * d * d for w, d in zip(weights, row, strict=True)) for row in (y, c))
        apart = max(abs(a - b) for a, b in zip(y, c, strict=True)) ** 2
        assert root_gap_is_at_most(at_y, at_c, sum(weights) * apart)
        broken += not root_gap_is_at_most(at_y, at_c, apart)
    assert broken
    assert not root_gap_is_at_most(8 * 1, 8 * 4, 1)  # weight 8, distances 1 and 2
    assert root_gap_is_at_most(8 * 1, 8 * 4, 8)


def root_gap_is_at_most(a: int, b: int, squared: int) -> bool:
    """Whether (sqrt a - sqrt b)^2 <= squared, in whole numbers."""
    rest = a + b - squared
    return rest <= 0 or rest * rest <= 4 * a * b


def test_means_are_exact_where_weights_sum_to_eight() -> None:
    rng = random.Random(15)
    for _ in range(60):
        n = rng.randint(4, 12)
        pairs = sorted({(rng.randrange(i), i) for i in range(1, n)} | {(0, n - 1), (1, n - 1)})
        graph = undirected(pairs, n)
        space = metric_space(graph, "graph")
        observed = rng.sample(range(n), rng.randint(2, 4))
        weights = [1] * len(observed)
        for _ in range(8 - len(observed)):
            weights[rng.randrange(len(observed))] += 1
        best = means(exact_space(space, graph).rows(observed), weights)
        result = frechet_mean(space, space.points.take(observed), weights)
        assert (int(result.index), int(result.n_tied)) == (best[0], len(best))


def test_two_tied_labels_leave_no_bi_lipschitz_constant() -> None:
    """alpha d(a, b)^2 <= |F(a) - F(b)| asks for alpha = 0 where a and b tie."""
    at_a, at_b = ((0, 1), (1, 0))
    weights = (Fraction(1, 2), Fraction(1, 2))
    f_a, f_b = (sum(w * d for w, d in zip(weights, row, strict=True)) for row in (at_a, at_b))
    assert abs(f_a - f_b) == 0 < 1  # d(a, b)^2 = 1


def test_some_error_no_number_of_samples_removes() -> None:
    """Classes at -1, 0 and 1 on a line, the first two observed: true posteriors still answer 0 at best."""
    space = metric_space(LabelGraph.grid((1, 3)))  # 0,0  0,1  0,2 stand for -1, 0, 1
    assert locus(space, ["0,0", "0,1"]).members == ("0,0", "0,1")
    rng = np.random.default_rng(16)
    x = rng.normal(1.0, 1.0, 2_000)
    likelihood = np.exp(-0.5 * (x[:, None] - np.array([-1.0, 0.0])) ** 2)
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    report = evaluate(space, posterior, ["0,2"] * len(x), observed=["0,0", "0,1"])
    assert report["frechet_mean"].all.mean_squared_distance >= 1


def test_expected_squared_distance_is_the_mean_squared_error_on_a_line() -> None:
    rng = np.random.default_rng(17)
    line = metric_space(LabelGraph.grid((1, 7)))
    observed, truth = ["0,0", "0,3", "0,6"], rng.integers(0, 7, 200)
    P = rng.dirichlet(np.ones(3), 200)
    answers = frechet_mean(line, observed, P).index
    report = evaluate(line, P, line.keys.take(truth), observed=observed)
    assert math.isclose(report["frechet_mean"].all.mean_squared_distance, np.mean((answers - truth) ** 2))


def test_expected_squared_distance_is_the_zero_one_loss_on_a_complete_graph() -> None:
    rng = np.random.default_rng(18)
    space = CompleteSpace([f"y{i}" for i in range(5)])
    truth = rng.integers(0, 5, 200)
    P = rng.dirichlet(np.ones(5), 200)
    report = evaluate(space, P, space.keys.take(truth), observed=space.keys)
    assert math.isclose(report["frechet_mean"].all.mean_squared_distance, np.mean(P.argmax(axis=1) != truth))


def test_the_published_summary_collapses_around_a_hub() -> None:
    """A hub with 2,000 neighbors: whoever merges the hub's whole neighbourhood ends far below the target."""
    pairs = [(f"v{i:04d}", "hub") for i in range(2_000)]
    graph = LabelGraph.from_edges(pairs, directed=False)
    whole = summarize(graph, 100, method="neighbourhood", seed=1)
    assert len(whole.sizes) < 100 // 2
    with pytest.warns(DegenerateSummaryWarning):
        stopped = summarize(graph, 100, method="node", seed=1)
    assert len(stopped.sizes) == 100
    assert stopped.largest_share > 0.9
    capped = summarize(graph, 100, seed=1)
    assert len(capped.sizes) <= 100
    assert capped.largest_share < 0.1
