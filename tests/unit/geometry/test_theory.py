"""Every claim of docs/theory.md about words, trees, leaf-only trees and selection; and the page itself."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from locus_cases import (
    FAR_ENDS,
    SHORT_END,
    SPIDER,
    degree_one,
    exact_space,
    exact_tree,
    named_tree,
    random_edges,
    spider_graph,
    subsets,
    undirected,
)

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import (
    MatrixSpace,
    TreeSpace,
    frechet_mean,
    is_identifying_cover,
    is_locus_cover,
    locus,
    metric_space,
    minimum_locus_cover,
)
from labelgrove.ontology.geometry.loci.pairs import is_pairwise_decomposable
from labelgrove.ontology.geometry.selections.selection import select_classes, select_next
from labelgrove.ontology.keys import Keys
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.oracles_locus import (
    ExactSpace,
    locus_of_rows,
    margin,
    means,
    pair_union,
)

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"


# ---- what the words mean ---------------------------------------------------------------------------------


def test_weights_that_are_all_zero_make_every_label_a_minimizer() -> None:
    exact = exact_space(metric_space(SPIDER), SPIDER)
    rows = exact.rows([1, 2])
    assert means(rows, [0, 0]) == list(range(8))
    assert len(locus_of_rows(rows).members) < 8


def test_minimum_covers_need_not_be_unique() -> None:
    graph = LabelGraph.grid((2, 2))
    covers = exact_space(metric_space(graph), graph).covers()
    assert covers[:2] == [(0, 3), (1, 2)]


def test_an_identifying_cover_still_leaves_ties() -> None:
    """Some weights make each label the only best one; other weights tie all the same."""
    space = metric_space(undirected([(0, 1)], 2))
    assert is_identifying_cover(space, ["v00", "v01"])
    assert frechet_mean(space, ["v00", "v01"], [1, 1]).n_tied == 2


def test_equal_rows_are_members_together_and_never_unique() -> None:
    space = MatrixSpace(np.array([[0, 2], [1, 1], [1, 1], [2, 0]], dtype=np.uint8), list("abcd"), ["l", "m"])
    found = locus(space, ["l", "m"])
    assert (found.members, found.unique) == (("a", "b", "c", "d"), ("a", "d"))


def test_an_observed_label_outside_y_reaches_all_that_tie_for_nearest() -> None:
    """A star whose hub is observed and may not answer: all weight on the hub ties the leaves."""
    graph = undirected([(0, 1), (0, 2), (0, 3)], 4)
    space = metric_space(graph, labels=["v01", "v02", "v03"])
    found = locus(space, ["v00"])
    assert (found.members, found.unique) == (("v01", "v02", "v03"), ())


def test_an_empty_set_of_observed_labels_has_no_locus() -> None:
    space = metric_space(SPIDER)
    for question in (
        *(partial(locus, method=method) for method in ("exact", "pairs", "pair-grid", "grid")),
        is_locus_cover,
    ):
        with pytest.raises(InputError, match="observed: empty"):
            question(space, [])
    assert select_classes(space, [], 2).sizes.tolist() == [1, 5]  # both ends of a longest path


# ---- trees, all vertices labels --------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(1,), (1, 2, 5)])
def test_leaves_are_the_minimum_identifying_cover_of_trees(lengths: tuple[int, ...]) -> None:
    rng = random.Random(1)
    for n in (1, 2, 3, 4, 5, 6, 6, 7):
        edges = random_edges(n, rng, lengths)
        exact, ends = exact_tree(edges), set(degree_one(edges))
        for chosen in subsets(range(n)):
            covers = ends <= set(chosen)
            assert exact.is_cover(chosen) == exact.is_cover(chosen, identifying=True) == covers
    for n in (2, 30, 100):
        edges = random_edges(n, rng, lengths)
        space = metric_space(named_tree(edges))
        wanted = {f"v{v:02d}" for v in degree_one(edges)}
        for identifying in (False, True):
            found = minimum_locus_cover(space, identifying=identifying)
            assert (set(found.keys), found.status) == (wanted, "exact")
        assert is_identifying_cover(space, wanted)
        for end in wanted if n > 1 else ():
            assert not is_locus_cover(space, [key for key in space.keys if key != end])


@pytest.mark.parametrize("lengths", [(1,), (1, 2, 5)])
def test_tree_loci_are_unions_of_paths(lengths: tuple[int, ...]) -> None:
    rng = random.Random(2)
    for n in (2, 4, 6, 7):
        exact = exact_tree(random_edges(n, rng, lengths))
        d = exact.distances
        for chosen in subsets(range(n), most=4):
            on_paths = {v for v in range(n) for a in chosen for b in chosen if d[a][v] + d[v][b] == d[a][b]}
            found = exact.locus(chosen)
            assert found.members == found.unique == tuple(sorted(on_paths)) == pair_union(exact.rows(chosen))


def test_at_most_two_labels_tie_on_a_tree_and_they_are_adjacent() -> None:
    rng = random.Random(3)
    most = 0
    for _ in range(200):
        n = rng.randint(2, 9)
        edges = random_edges(n, rng, (1, 2, 3))
        exact = exact_tree(edges)
        observed = rng.sample(range(n), rng.randint(1, n))
        rows = exact.rows(observed)
        best = means(rows, [rng.randint(0, 3) for _ in observed[1:]] + [1])
        most = max(most, len(best))
        assert len(best) == 1 or any({a, b} == set(best) for a, b, _ in edges)
    assert most == 2


def test_edges_below_a_millionth_of_the_way_tie_more_than_two_labels() -> None:
    """F is convex along the path 1, 47 times 1e-8, 1, but differs by less than 1e-12 over its middle."""
    lengths = [1.0, *[1e-8] * 47, 1.0]
    path = [(f"v{i + 1:02d}", f"v{i:02d}") for i in range(49)]
    graph = LabelGraph.from_edges(path, weights=lengths)
    for metric in ("tree", "graph"):
        assert frechet_mean(metric_space(graph, metric), ["v00", "v49"], [1, 1]).n_tied == 48
    short = LabelGraph.from_edges(path, weights=[1.0, *[1e-5] * 47, 1.0])
    for metric in ("tree", "graph"):
        assert frechet_mean(metric_space(short, metric), ["v00", "v49"], [1, 1]).n_tied == 2


def test_whole_numbers_beyond_10_to_the_12_tie_by_the_rule() -> None:
    """On a path of a million edges the two best sums, whole numbers both, differ by a relative 4e-14."""
    n = 1_000_001
    path = TreeSpace.from_arrays(Keys.from_strings(f"{i:07d}" for i in range(n)), np.arange(-1, n - 1))
    weights = [50, 51]
    found = frechet_mean(path, ["0000000", "1000000"], weights)
    sums = [50 * y**2 + 51 * (n - 1 - y) ** 2 for y in range(504_000, 506_000)]
    best = int(np.argmin(sums))
    near = sorted(sums)[:3]
    assert near[0] < near[1] <= near[0] * (1 + Fraction(1, 10**12)) < near[2]
    assert found.n_tied == 2
    assert found.value in near[:2]
    assert abs(int(path.keys[int(found.index)]) - 504_000 - best) <= 1
    shorter = TreeSpace.from_arrays(Keys.from_strings(f"{i:06d}" for i in range(1000)), np.arange(-1, 999))
    assert frechet_mean(shorter, ["000000", "000999"], weights).n_tied == 1


def test_medians_tie_along_whole_paths() -> None:
    line = metric_space(LabelGraph.grid((1, 5)))
    assert frechet_mean(line, ["0,0", "0,4"], [1, 1], beta=1).n_tied == 5
    assert frechet_mean(line, ["0,0", "0,4"], [1, 1], beta=2).n_tied == 1


def test_an_unobserved_leaf_is_never_in_a_tree_locus() -> None:
    rng = random.Random(4)
    for n in (2, 5, 7):
        edges = random_edges(n, rng)
        exact = exact_tree(edges)
        for end in degree_one(edges):
            assert end not in exact.locus([v for v in range(n) if v != end]).members


def test_a_root_with_one_child_is_a_vertex_of_degree_one() -> None:
    graph = LabelGraph.from_edges([("stem", "root"), ("left", "stem"), ("right", "stem")])
    space = metric_space(graph)
    assert graph.leaves == ("left", "right")
    assert not is_locus_cover(space, graph.leaves)
    assert set(minimum_locus_cover(space).keys) == {"root", "left", "right"}


def test_short_edges_are_as_good_as_long_ones() -> None:
    """A path of edges of length 1e-5, and one more label hanging off it; no absolute tolerance would do."""
    pairs, lengths = [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5)], [1e-5] * 5
    tree = undirected(pairs, 6, lengths)
    for space in (metric_space(tree), metric_space(tree, "graph")):
        found = locus(space, ["v00", "v04"])
        assert found.members == found.unique == ("v00", "v01", "v02", "v03", "v04")
        assert found.status == "exact"
        assert not is_locus_cover(space, ["v00", "v04"])


# ---- leaf-only trees -------------------------------------------------------------------------------------


def test_leaf_only_loci_are_not_pairwise_decomposable() -> None:
    """Spider 2,2,2,1: the short leg's end is best at equal weights on the three others, never for two."""
    space = metric_space(SPIDER, labels=[*FAR_ENDS, SHORT_END])
    exact = exact_space(space, SPIDER)
    far = space.point_index(FAR_ENDS).tolist()
    short = space.index([SHORT_END])[0]
    rows = exact.rows(far)
    thirds = [Fraction(1, 3)] * 3
    values = [sum(w * entry for w, entry in zip(thirds, row, strict=True)) for row in rows]
    assert (values[short], set(values)) == (9, {9, Fraction(32, 3)})
    assert margin(rows, short).value == Fraction(5, 3)
    assert short not in pair_union(rows)
    found = locus(space, FAR_ENDS)
    assert set(found.members) == set(found.unique) == {*FAR_ENDS, SHORT_END}
    assert set(locus(space, FAR_ENDS, method="pairs").members) == set(FAR_ENDS)
    assert not is_pairwise_decomposable(space, FAR_ENDS)


def test_gains_are_not_submodular_on_leaf_only_trees() -> None:
    """The third far end of the spider gains two labels, though as the second it would gain one."""
    space = metric_space(SPIDER, labels=[*FAR_ENDS, SHORT_END])
    a, b, c = FAR_ENDS
    assert len(locus(space, [a, c])) - len(locus(space, [a])) == 1
    assert len(locus(space, [a, b, c])) - len(locus(space, [a, b])) == 2


def test_a_leaf_can_only_tie_with_an_observed_sibling_at_its_height() -> None:
    rng = random.Random(5)
    for _ in range(60):
        edges = random_edges(rng.randint(4, 8), rng)
        ends = degree_one(edges)
        neighbor = {v: a if b == v else b for v in ends for a, b, _ in edges if v in (a, b)}
        exact = ExactSpace(oracles.all_distances(len(edges) + 1, edges), ends)
        for y, sibling in itertools.permutations(ends, 2):
            if neighbor[y] == neighbor[sibling]:
                assert ends.index(y) not in exact.locus([v for v in ends if v != y]).unique
    two_short_legs = spider_graph([2, 2, 2, 1, 1])
    space = metric_space(two_short_legs, labels=[*FAR_ENDS, "v07", "v08"])
    found = locus(space, [*FAR_ENDS, "v07"])
    assert set(found.members) - set(found.unique) == {"v08"}


def test_leaves_of_one_depth_reach_only_what_is_observed() -> None:
    """Where all leaves lie equally deep, the locus among the leaves is the observed labels themselves."""
    rng = random.Random(6)
    for _ in range(30):
        depth, edges, level = rng.randint(1, 3), [], [0]
        for _ in range(depth):
            level = [
                edges.append((parent, len(edges) + 1, 1)) or len(edges)
                for parent in level
                for _ in range(rng.randint(1, 3))
            ]
        exact = ExactSpace(oracles.all_distances(len(edges) + 1, edges), level)
        observed = rng.sample(level, min(len(level), rng.randint(1, 5)))
        found = exact.locus(observed)
        assert found.members == found.unique == tuple(sorted(level.index(o) for o in observed))


def test_an_observed_superclass_reaches_all_its_leaves() -> None:
    pairs = [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"), ("a", "root"), ("b", "root")]
    space = metric_space(LabelGraph.from_edges(pairs), labels="leaves")
    found = locus(space, ["a", "b1"])
    assert (found.members, found.unique) == (("a1", "a2", "b1"), ("b1",))


def test_the_default_tree_of_cifar_100() -> None:
    """Its shape: a root, 20 superclasses, 5 classes each."""
    pairs = [(f"super{s:02d}", "root") for s in range(20)]
    pairs += [(f"class{c:02d}", f"super{c // 5:02d}") for c in range(100)]
    space = metric_space(LabelGraph.from_edges(pairs), labels="leaves")
    assert (space.n_labels, space.n_points, space.diameter()) == (100, 121, 4.0)
    observed = [f"class{c:02d}" for c in range(0, 100, 3)]
    assert locus(space, observed).members == tuple(observed)


# ---- selection -------------------------------------------------------------------------------------------


def farthest_from_locus(exact: ExactSpace, observed: Sequence[int]) -> list[int]:
    """The published rule: the vertices farthest from the locus."""
    inside = exact.locus(observed).members
    apart = {y: min(exact.distances[y][m] for m in inside) for y in range(len(exact.allowed))}
    return [y for y, distance in apart.items() if distance == max(apart.values())]


def test_the_farthest_vertex_is_the_best_next_class_on_unit_trees() -> None:
    rng = random.Random(12)
    for n in (3, 5, 6, 7):
        exact = exact_tree(random_edges(n, rng))
        for observed in subsets(range(n), most=4):
            left = [v for v in range(n) if v not in observed]
            if exact.size(observed) < n:
                best = exact.best_size(observed, 1, left)
                assert all(exact.size([*observed, v]) == best for v in farthest_from_locus(exact, observed))


def test_the_farthest_vertex_is_not_the_best_next_class_on_weighted_trees() -> None:
    """Edges 0-1 of length 5, 0-2 and 2-3 of length 1: the far label gains 1, the near one 2."""
    edges = [(0, 1, 5), (0, 2, 1), (2, 3, 1)]
    exact = exact_tree(edges)
    assert farthest_from_locus(exact, [0]) == [1]
    assert (exact.size([0, 1]) - 1, exact.size([0, 3]) - 1) == (1, 2)
    assert select_next(metric_space(named_tree(edges)), ["v00"]) == "v03"


@pytest.mark.parametrize("lengths", [(1,), (1, 2, 5)])
def test_every_prefix_of_the_greedy_order_is_best_on_trees(lengths: tuple[int, ...]) -> None:
    rng = random.Random(13)
    for n in (2, 4, 6, 7, 7, 8):
        edges = random_edges(n, rng, lengths)
        graph = named_tree(edges)
        space = metric_space(graph)
        exact = exact_space(space, graph)
        for observed in ([], [rng.randrange(n)], rng.sample(range(n), 2)):
            left = [v for v in range(n) if v not in observed]
            if not left:
                continue
            found = select_classes(space, space.points.take(observed), min(len(left), 4))
            for rounds, size in enumerate(found.sizes.tolist(), start=1):
                assert size == exact.best_size(observed, rounds, left)


def test_active_selection_beats_random_on_trees_of_100() -> None:
    """From 3 labels, 10 trees, both baselines: on average in every round until the locus is everything."""
    rounds = 12
    active, uniform, outside = np.zeros((3, 10, rounds))
    for seed in range(10):
        rng = random.Random(seed)
        space = metric_space(named_tree(random_edges(100, rng)))
        observed = [f"v{v:02d}" for v in rng.sample(range(100), 3)]
        for sizes, method in ((active, "active"), (uniform, "uniform"), (outside, "outside")):
            sizes[seed] = select_classes(space, observed, rounds, method=method, seed=seed).sizes
    assert (active >= np.maximum(uniform, outside)).all()
    assert (active.mean(axis=0) > uniform.mean(axis=0)).all()
    assert (active.mean(axis=0) > outside.mean(axis=0)).all()
    assert active[:, -1].mean() > 1.3 * uniform[:, -1].mean()


# ---- the page --------------------------------------------------------------------------------------------


def test_every_claim_has_its_test_and_every_test_its_claim() -> None:
    tests: dict[str, str] = {}
    for file in Path(__file__).parent.glob("test_*.py"):
        found = re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        tests.update(dict.fromkeys(found, file.name))
    claimed = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert claimed <= set(tests)
    theory = {name for name, file in tests.items() if file.startswith("test_theory")}
    assert theory - claimed == {"test_every_claim_has_its_test_and_every_test_its_claim"}
