"""Whatever the edge lengths, a tree and the same tree as a graph answer alike, and as exactly as can be."""

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest

from labelgrove.ontology.geometry import (
    GraphSpace,
    MatrixSpace,
    TreeSpace,
    is_identifying_cover,
    is_locus_cover,
    locus,
    locus_cover,
    make_scorer,
    metric_space,
    minimum_locus_cover,
    must_observe,
    select_classes,
)
from labelgrove.ontology.geometry.covers import required
from labelgrove.ontology.geometry.paths.exactpaths import ExactPaths
from labelgrove.ontology.geometry.paths.exactsums import expansion, narrowed, parts_of, rounded
from labelgrove.ontology.geometry.sampling import uniform_center
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.tree.treescorer import TreeScorer
from labelgrove.ontology.geometry.ties import TIE_RELATIVE
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.hostile_trees import FAMILIES, HostileTree, hostile_tree
from tests.oracles_locus import locus_by_tie_rule, locus_of_rows
from tests.sampled import sampled

pytestmark = pytest.mark.long

CASES = sampled(((family, number) for family in FAMILIES for number in range(40)), every=3)
SMALL = [(family, number) for family in FAMILIES for number in range(12)]


def exact_locus(case: HostileTree, observed=None):
    """Members and unique members by brute force: equal means equal where sums are free of rounding."""
    rows = case.rows(observed)
    if case.tree.tree.has_short_distances:
        found = locus_of_rows(rows)
        return found.members, found.unique
    return locus_by_tie_rule(rows)


def votes(case, seed, n=24):
    """Rows of weights: whole numbers, zeros among them, and some of very different size."""
    draw = np.random.default_rng(seed)
    shape = n, len(case.observed)
    rows = draw.integers(0, 4, shape) * 10.0 ** draw.integers(-9, 9, shape)
    rows[: n // 2] = draw.integers(0, 3, (n // 2, shape[1]))
    return rows[rows.any(axis=1)]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 5])
def test_sums_of_parts_are_rounded_once(n_parts):
    draw = np.random.default_rng(n_parts)
    for _ in range(300):
        n = int(draw.integers(1, 9))
        lengths = 10 ** draw.uniform(-17, [-16, -10, 1, 12][min(n_parts, 4) - 1], n)
        if draw.integers(3) == 0:  # half way between two floats, and what decides
            lengths = np.array([1.0, draw.choice([1, 3, 5]) * 2.0**-53, 2.0 ** -draw.integers(54, 300)])
        parts = parts_of(lengths, len(lengths))
        sums = parts.sum(axis=1)[:, None]
        exact = sum(map(Fraction, lengths.tolist()))
        for some, length in zip(parts.T.tolist(), lengths.tolist(), strict=True):
            assert min(some) >= 0
            assert sum(map(Fraction, some)) == Fraction(length)
        assert rounded(sums).tolist() == [float(exact)]
        assert sum(map(Fraction, expansion(sums).ravel().tolist())) == exact
        narrow = narrowed(sums, 24)
        assert sum(map(Fraction, narrow.ravel().tolist())) == exact
        digits = np.ldexp(np.frexp(narrow)[0], 24)
        assert (digits == np.floor(digits)).all()


@pytest.mark.parametrize(("family", "number"), CASES)
def test_distances_are_the_exact_sums_rounded_once(family, number):
    case = hostile_tree(family, number, most_labels=14)
    exact = np.array([[float(d) for d in row] for row in case.exact])[case.allowed]
    draw = np.random.default_rng(number)
    rows = draw.integers(0, len(exact), 3)
    cols = draw.integers(0, case.graph.n_labels, 4)
    for space in (case.tree, case.paths):
        np.testing.assert_array_equal(space.distances(), exact)
        np.testing.assert_array_equal(space.distances(rows, cols), exact[np.ix_(rows, cols)])
        assert space.diameter() == exact[:, case.allowed].max()
    np.testing.assert_array_equal(case.paths.paths.from_point(0), [float(d) for d in case.exact[0]])


@pytest.mark.parametrize("family", FAMILIES)
def test_distances_on_graphs_are_the_same_both_ways(family):
    for number in range(10):
        draw = np.random.default_rng([7, number])
        n = int(draw.integers(3, 12))
        pairs = {(int(draw.integers(i)), i) for i in range(1, n)}
        pairs |= {(min(a, b), max(a, b)) for a, b in draw.integers(0, n, (n, 2)).tolist() if a != b}
        named = [(f"v{a:02d}", f"v{b:02d}") for a, b in sorted(pairs)]
        lengths = FAMILIES[family](draw, len(named))
        graph = LabelGraph.from_edges(named, weights=lengths, directed=False)
        found = GraphSpace(graph).distances()
        assert found.tolist() == [[float(d) for d in row] for row in oracles.graph_distances(graph)]
        assert found.tobytes() == np.ascontiguousarray(found.T).tobytes()
        assert MatrixSpace(found, graph.keys).diameter() == found.max()


def test_paths_are_the_same_without_numba(monkeypatch):
    for number in range(20):
        case = hostile_tree("mixed", number)
        every = np.arange(case.graph.n_labels)
        edges = case.graph.edge_child, case.graph.edge_parent, case.graph.edge_weight
        paths = ExactPaths(len(every), *edges)
        found = paths.distances(every, every)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "labelgrove.ontology.geometry.kernels.graphs.pathsums", None)
            np.testing.assert_array_equal(paths.distances(every, every), found)


@pytest.mark.parametrize("without_numba", [False, True])
def test_a_way_whose_sum_rounds_to_the_same_is_found_to_be_shorter(without_numba, monkeypatch):
    """a-c is longer than a-b-c by less than rounding shows, and c-d measures the difference."""
    if without_numba:
        monkeypatch.setitem(sys.modules, "labelgrove.ontology.geometry.kernels.graphs.pathsums", None)
    pairs = [("a", "c"), ("a", "b"), ("b", "c"), ("c", "d")]
    weights = [1 + 2.0**-52, 1, 2.0**-54, 2.0**-53]
    space = GraphSpace(LabelGraph.from_edges(pairs, weights=weights, directed=False))
    a, d = space.point_index(["a"]), space.point_index(["d"])
    # over b it is 1 + 3/4 of the gap between floats, and rounds to the next; directly 1 + 3/2 of it, to two
    assert space.distances(a, d).item() == space.distances(d, a).item() == 1 + 2.0**-52


@pytest.mark.parametrize(("family", "number"), CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_means_and_ties_are_those_of_the_exact_sums(family, number, compiled):
    case = hostile_tree(family, number)
    points = case.graph.keys.indices(case.keys)
    scorers = [RestrictedTreeScorer(case.tree, points, compiled=compiled), make_scorer(case.paths, case.keys)]
    if case.tree.allowed is None:
        scorers.append(TreeScorer(case.tree, points, compiled=compiled))
    rows = votes(case, number)
    dense = DenseScorer(case.paths.distances(cols=points))
    expected = dense.score(rows)
    some = min(3, case.tree.n_labels)
    for scorer in scorers:
        found = scorer.score(rows)
        assert found.index.tolist() == expected.index.tolist()
        assert found.value.tobytes() == expected.value.tobytes()
        assert found.n_tied.tolist() == expected.n_tied.tolist()
        assert scorer.score(rows, some).index.tolist() == dense.score(rows, some).index.tolist()
        np.testing.assert_allclose(scorer.variance(rows[:4]), dense.variance(rows[:4]), rtol=1e-14)
    squares = case.rows()
    for row, n_tied in zip(rows, expected.n_tied.tolist(), strict=True):
        exact = [sum(Fraction(w) * s for w, s in zip(row, squared, strict=True)) for squared in squares]
        limit = min(exact) * (1 + Fraction(TIE_RELATIVE))
        if any(abs(value - limit) < limit * Fraction(1, 10**14) for value in exact):
            continue  # rounding may put it on either side
        tied = [y for y, value in enumerate(exact) if value <= limit]
        assert n_tied == len(tied)
        for scorer in scorers:
            assert scorer.tied(row).tolist() == tied


@pytest.mark.parametrize(("family", "number"), CASES)
def test_loci_are_what_the_tie_rule_makes_of_the_exact_sums(family, number):
    case = hostile_tree(family, number)
    members, unique = exact_locus(case)
    for space in (case.tree, case.paths):
        found = locus(space, case.keys)
        assert tuple(found.index.tolist()) == members
        assert tuple(found.unique_index.tolist()) == unique
        assert found.status == "exact"
        assert_witnesses(case, found)
        pairs = locus(space, case.keys, method="pairs")
        assert set(pairs.index.tolist()) <= set(members)
        assert pairs.status == "lower_bound" or tuple(pairs.index.tolist()) == members
        assert is_locus_cover(space, case.keys) == (len(members) == space.n_labels)
        assert is_identifying_cover(space, case.keys) == (len(unique) == space.n_labels)


def assert_witnesses(case, found):
    """Each witness makes its member a best label, and the only one where it is uniquely reachable."""
    room = Fraction(1, 10**14) if found.tolerance else 0  # the distances it was found by have been rounded
    factor, squares, unique = 1 + Fraction(found.tolerance), case.rows(), set(found.unique_index.tolist())
    for y, witness in zip(found.index.tolist(), found.witnesses, strict=True):
        assert min(witness) >= 0 < max(witness)
        sums = [sum(w * s for w, s in zip(witness, squared, strict=True)) for squared in squares]
        assert sums[y] <= min(sums) * (factor + room)
        if y in unique:
            assert all(value > sums[y] * (factor - room) for z, value in enumerate(sums) if z != y)


def test_a_label_is_in_the_locus_where_the_mean_names_it():
    """Lengths 1, 1e-17 and 2e-17: from root and c the mean is tied with b, which hangs beside h."""
    graph = LabelGraph.from_edges([("h", "root"), ("b", "h"), ("c", "h")], weights=[1, 1e-17, 2e-17])
    for metric in ("tree", "graph"):
        space = metric_space(graph, metric)
        b, c = space.index(["b"]), space.index(["c"])
        assert space.distances(b, c).item() == float(Fraction(1e-17) + Fraction(2e-17))
        found = locus(space, ["root", "c"])
        assert sorted(found.members) == ["b", "c", "h", "root"]
        assert sorted(found.unique) == ["c", "root"]
        assert sorted(locus(space, ["b", "c"]).unique) == ["b", "c", "h"]


def test_nothing_cancels_below_a_long_stem():
    pairs = [("h", "root"), ("a", "h"), ("m", "h"), ("b", "m"), ("c", "h")]
    graph = LabelGraph.from_edges(pairs, weights=[4000.1, 0.3, 0.1, 0.2, 0.3])
    for metric in ("tree", "graph"):
        assert sorted(locus(metric_space(graph, metric, "leaves"), ["h"]).members) == ["a", "b", "c"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_center_is_that_of_the_exact_sums(family):
    for number in range(20):
        case = hostile_tree(family, number, most_labels=12)
        table = [[case.exact[y][z] for z in case.allowed] for y in case.allowed]
        sums = [sum(d * d for d in row) for row in table]
        first = next(i for i, total in enumerate(sums) if total <= min(sums) * (1 + Fraction(TIE_RELATIVE)))
        for space in (case.tree, case.paths):
            assert uniform_center(space) == space.keys[first]


@pytest.mark.parametrize(("family", "number"), SMALL)
def test_covers_are_smallest_or_say_what_is_known(family, number):
    case = hostile_tree(family, number, most_labels=6)
    n = len(case.allowed)
    chosen = [some for size in range(1, n + 1) for some in itertools.combinations(case.allowed, size)]
    reached = [exact_locus(case, list(some)) for some in chosen]
    for identifying in (False, True):
        covers = [
            set(some) for some, found in zip(chosen, reached, strict=True) if len(found[identifying]) == n
        ]
        for space in (case.tree, case.paths):
            found = minimum_locus_cover(space, identifying=identifying)
            assert set(case.graph.keys.indices(found.keys).tolist()) in covers
            assert found.lower_bound <= min(map(len, covers))
            assert found.status == "lower_bound" or len(found) == min(map(len, covers))
            if not identifying:
                needed = must_observe(space)
                assert needed.status == "exact"
                assert set(case.graph.keys.indices(needed.keys).tolist()) == set.intersection(*covers)
                small = locus_cover(space, method="small")
                assert set(case.graph.keys.indices(small.keys).tolist()) in covers


def test_large_trees_with_edges_that_tie_have_covers_with_a_bound(monkeypatch):
    """Of four ends of a star one hangs so near to the hub that it need not be observed."""
    star = LabelGraph.from_edges([(end, "hub") for end in "abcd"], weights=[1, 1, 1, 1e-13])
    space = metric_space(star, "tree")
    assert minimum_locus_cover(space).keys == ("a", "b", "c")
    monkeypatch.setattr(required, "EXACT_LABELS", 3)
    monkeypatch.setattr("labelgrove.ontology.geometry.covers.minimum.EXACT_LABELS", 3)
    found = minimum_locus_cover(space)
    assert (found.keys, found.lower_bound, found.status) == (("a", "b", "c", "d"), 3, "lower_bound")
    assert must_observe(space).keys == ("a", "b", "c")
    assert must_observe(space).status == "lower_bound"


@pytest.mark.parametrize(("family", "number"), SMALL)
def test_selections_gain_what_they_say(family, number):
    case = hostile_tree(family, number, most_labels=7)
    n_free = len(set(case.allowed) - set(case.observed))
    if not n_free:
        return

    def size(chosen):
        return len(exact_locus(case, list(chosen))[0])

    for space in (case.tree, case.paths):
        found = select_classes(space, case.keys, min(2, n_free))
        chosen = list(case.observed)
        assert found.size_before == size(chosen)
        for pick, gain in zip(found.index.tolist(), found.gains.tolist(), strict=True):
            left = [c for c in case.allowed if c not in chosen]
            gains = [size([*chosen, c]) - size(chosen) for c in left]
            assert (pick, gain) == (left[gains.index(max(gains))], max(gains))
            chosen.append(pick)


def test_lengths_that_floats_hold_are_held_as_before():
    """Whole lengths and the like take one part, and no distance of theirs is anything new."""
    draw = np.random.default_rng(5)
    parent = np.concatenate([[-1], (draw.random(499) * np.arange(1, 500)).astype(np.int64)])
    keys = [f"{i:03d}" for i in range(500)]
    for lengths in (
        None,
        draw.integers(1, 9, 500),
        draw.integers(1, 9, 500) / 8,
        draw.integers(1, 9, 500) * 2.0**40,
    ):
        assert (
            TreeSpace.from_arrays(LabelGraph.from_edges([], labels=keys).keys, parent, lengths).tree.n_parts
            == 1
        )


@pytest.mark.parametrize("length", [1e-75, 1e75])
def test_what_a_label_graph_accepts_every_space_accepts(length):
    """The shortest edges and the longest: nothing underflows or overflows, whatever the weights."""
    pairs = [("a", "r"), ("b", "r"), ("c", "b")]
    graph = LabelGraph.from_edges(pairs, weights=[length] * 3)
    found = []
    for space in (metric_space(graph, "tree"), metric_space(graph, "graph")):
        for total in (1e-150, 1.0, 1e150):
            result = make_scorer(space, ["a", "c"]).score([[total / 2, total / 2]])
            assert 0 < result.value[0] < np.inf
            found.append((int(result.index[0]), float(result.value[0]), int(result.n_tied[0])))
        found.append(locus(space, ["a", "c"]).members)
        found.append(MatrixSpace(space.distances(), graph.keys).diameter())
    assert found[:5] == found[5:]
