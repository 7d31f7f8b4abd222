"""Covers, part by part: the order of Algorithm 1, closed forms, large spaces, and what is refused."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from locus_cases import exact_space, undirected

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry import (
    CompleteSpace,
    Cover,
    MatrixSpace,
    MetricSpace,
    TreeSpace,
    frechet_mean,
    is_identifying_cover,
    is_locus_cover,
    locus_cover,
    metric_space,
    minimum_locus_cover,
    must_observe,
    phylogenetic_cover,
)
from labelgrove.ontology.geometry.covers.phylogenetic import entry_order
from labelgrove.ontology.geometry.covers.required import EXACT_LABELS, far_hanging, required_rows
from labelgrove.ontology.geometry.loci.exactlocus import locus_index
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.oracles_locus import ExactSpace


def random_tree(rng: np.random.Generator, n: int, *, weighted: bool = False) -> LabelGraph:
    deep = int(rng.integers(2, 6))
    pairs = [(f"{i:03d}", f"{int(rng.integers(max(0, i - deep), i)):03d}") for i in range(1, n)]
    return LabelGraph.from_edges(pairs, weights=rng.integers(1, 4, n - 1).tolist() if weighted else None)


def leaf_space(seed: int, n: int) -> tuple[LabelGraph, TreeSpace]:
    rng = np.random.default_rng(seed)
    graph = random_tree(rng, n, weighted=bool(seed % 2))
    labels = "leaves" if seed % 3 else graph.keys.take(np.sort(rng.permutation(n)[: n // 2 + 1]))
    space = metric_space(graph, "tree", labels=labels)
    assert isinstance(space, TreeSpace)
    return graph, space


def keys_of(space: MetricSpace, points: tuple[int, ...]) -> tuple[str, ...]:
    return space.points.take(points)


# ---- Algorithm 1 -----------------------------------------------------------------------------------------


def literal_steps(distances: list[list[oracles.Number]], labels: list[int]) -> list[list[int]]:
    """What the algorithm as printed has observed after each path, over a list of all of them."""
    paths = sorted(itertools.combinations(labels, 2), key=lambda path: -distances[path[0]][path[1]])
    observed: list[int] = []
    steps: list[list[int]] = []
    for path in paths:
        observed = observed + [end for end in path if end not in observed]
        steps.append(observed)
    return steps


@pytest.mark.parametrize("seed", range(40))
def test_labels_enter_as_in_the_list_of_all_paths(seed: int) -> None:
    graph, space = leaf_space(seed, 8 + seed % 20)
    assert space.n_labels > 1
    labels = list(range(graph.n_labels)) if space.allowed is None else space.allowed.tolist()
    steps = literal_steps(oracles.graph_distances(graph), labels)
    rows, path_ends = entry_order(space)
    order = np.array(labels)[rows].tolist()
    assert order == steps[-1]
    assert path_ends.tolist() == sorted({len(step) for step in steps})


def test_the_order_off_trees_is_that_of_all_paths_too() -> None:
    graph = LabelGraph.grid((3, 4))
    steps = literal_steps(oracles.graph_distances(graph), list(range(12)))
    assert entry_order(metric_space(graph))[0].tolist() == steps[-1]


@pytest.mark.parametrize("seed", range(24))
def test_algorithm_1_stops_where_the_printed_one_does(seed: int) -> None:
    graph, space = leaf_space(seed, 5 + seed % 7)
    exact = exact_space(space, graph)
    steps = literal_steps(exact.distances, exact.allowed)
    wanted = next(step for step in steps if exact.is_cover(step)) if steps else exact.allowed
    assert phylogenetic_cover(space).keys == keys_of(space, tuple(wanted))


@pytest.mark.parametrize("seed", range(12))
def test_algorithm_1_stops_there_off_trees_too(seed: int) -> None:
    """Here next to nothing must be observed, and the binary search has a way to go."""
    rng = np.random.default_rng(seed)
    ring = [(i, (i + 1) % 9) for i in range(9)]
    chords = [(a, b) for a, b in rng.integers(0, 9, (seed % 4, 2)).tolist() if abs(a - b) not in (0, 1, 8)]
    graph = undirected(ring + chords, 9, weights=None if seed % 2 else rng.integers(4, 7, 9 + len(chords)))
    space = metric_space(graph)
    exact = exact_space(space, graph)
    wanted = next(step for step in literal_steps(exact.distances, exact.allowed) if exact.is_cover(step))
    assert phylogenetic_cover(space).keys == keys_of(space, tuple(wanted))


def test_a_single_leaf_is_its_own_cover() -> None:
    space = metric_space(LabelGraph.from_edges([("stem", "root"), ("leaf", "stem")]), labels="leaves")
    assert phylogenetic_cover(space) == locus_cover(space, method="small") == Cover(("leaf",), "exact", 1)


def test_the_search_beats_algorithm_1() -> None:
    space = metric_space(random_tree(np.random.default_rng(3), 120), labels="leaves")
    algorithm, small = phylogenetic_cover(space), locus_cover(space, method="small")
    assert len(must_observe(space)) <= small.lower_bound <= len(small) < len(algorithm)
    assert is_locus_cover(space, algorithm.keys)
    assert is_locus_cover(space, small.keys)
    for key in small.keys:
        assert not is_locus_cover(space, [other for other in small.keys if other != key])


# ---- must observe ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("identifying", [False, True])
def test_required_labels_are_those_the_others_do_not_reach(seed: int, identifying: bool) -> None:
    """Against the exact locus of all the others, in every setting of the short cuts."""
    _, space = leaf_space(seed, 30)
    points = np.arange(space.n_points) if space.allowed is None else space.allowed
    wanted = []
    for y in range(space.n_labels):
        found = locus_index(space, np.delete(points, y))
        if y not in (found.unique_index if identifying else found.index):
            wanted.append(y)
    for between in (False, True):
        rows = required_rows(space.distances(cols=points), between=between, identifying=identifying)
        assert rows.tolist() == wanted


@pytest.mark.parametrize("seed", range(30))
def test_what_hangs_far_must_be_observed(seed: int) -> None:
    _, space = leaf_space(seed, 25)
    required = set(must_observe(space).keys)
    assert set(space.points.take(far_hanging(space))) <= required


def test_the_far_ends_of_a_spider_hang_far() -> None:
    """A short leg keeps every other end away from the middle; the short one itself is nearest."""
    pairs = [("a1", "m"), ("a2", "a1"), ("b1", "m"), ("b2", "b1"), ("c1", "m"), ("c2", "c1"), ("d", "m")]
    space = metric_space(LabelGraph.from_edges(pairs), labels="leaves")
    assert isinstance(space, TreeSpace)
    assert space.points.take(far_hanging(space)) == must_observe(space).keys == ("a2", "b2", "c2")


def test_large_spaces_get_a_lower_bound() -> None:
    n = EXACT_LABELS + 1
    pairs = [(f"leaf{i}", "hub") for i in range(n)] + [("far", "step"), ("step", "hub")]
    star = metric_space(LabelGraph.from_edges(pairs), labels="leaves")
    found = must_observe(star)
    assert (found.keys, found.status) == (("far",), "lower_bound")
    ring = metric_space(undirected([(i, (i + 1) % n) for i in range(n)], n))
    assert (must_observe(ring).keys, must_observe(ring).status) == ((), "lower_bound")
    with pytest.raises(SpaceError, match=r"^2,00\d labels: .* at most 2,000 labels; .*--labels FILE\)$"):
        locus_cover(star, method="small")
    with pytest.raises(SpaceError, match=r"--labels FILE\), or measure on the tree of primary parents"):
        locus_cover(ring, method="small")


def test_closed_forms_know_no_size() -> None:
    n = EXACT_LABELS + 1
    path = LabelGraph.from_edges([(f"{i:05d}", f"{i + 1:05d}") for i in range(n - 1)], directed=False)
    ends = {"00000", f"{n - 1:05d}"}
    for identifying in (False, True):
        assert set(minimum_locus_cover(metric_space(path), identifying=identifying).keys) == ends
        assert set(minimum_locus_cover(metric_space(path, "graph"), identifying=identifying).keys) == ends
    complete = CompleteSpace([f"{i}" for i in range(n)])
    assert len(minimum_locus_cover(complete)) == len(must_observe(complete)) == n
    corners = minimum_locus_cover(metric_space(LabelGraph.grid((50, 60))), identifying=True)
    assert (corners.keys, corners.status) == (("0,0", "0,59", "49,0", "49,59"), "exact")


# ---- closed forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 1, 2), (3, 3), (2, 5), (3, 3, 3), (2, 2, 2, 2), (1, 7)])
def test_opposite_corners_cover_and_all_corners_identify(shape: tuple[int, ...]) -> None:
    space = metric_space(LabelGraph.grid(shape))
    found = minimum_locus_cover(space)
    assert found == Cover((space.keys[0], space.keys[-1]), "exact", 2)
    corners = [",".join(map(str, c)) for c in itertools.product(*({0, side - 1} for side in shape))]
    assert is_identifying_cover(space, corners)
    identifying = minimum_locus_cover(space, identifying=True)
    assert is_identifying_cover(space, identifying.keys)
    axes = sum(side > 1 for side in shape)
    assert len(identifying) <= 2 * axes
    if axes <= 2:
        assert (set(identifying.keys), identifying.status) == (set(corners), "exact")


def test_four_corners_of_a_cube_identify_it() -> None:
    """Every other corner of the cube: each of the rest is the only best one between its three neighbors."""
    space = metric_space(LabelGraph.grid((2, 2, 2)))
    assert is_identifying_cover(space, ["0,0,1", "0,1,0", "1,0,0", "1,1,1"])
    assert len(minimum_locus_cover(space, identifying=True)) == 4


def test_a_large_solid_grid_is_identified_by_alternate_corners() -> None:
    space = metric_space(LabelGraph.grid((14, 13, 12)))
    found = minimum_locus_cover(space, identifying=True)
    assert found == Cover(("0,0,11", "0,12,0", "13,0,0", "13,12,11"), "lower_bound", 2)
    # what proves it: the middle is the only best one under weights that fall with its distances
    middle = space.index(["6,5,4"])
    measured = space.distances(cols=space.point_index(found.keys))
    mean = frechet_mean(space, found.keys, 1 / measured[middle].astype(np.float64))
    assert (mean.index.tolist(), mean.n_tied.tolist()) == (middle.tolist(), [1])


@pytest.mark.parametrize("n", range(3, 9))
def test_cycles(n: int) -> None:
    graph = undirected([(i, (i + 1) % n) for i in range(n)], n)
    space = metric_space(graph)
    exact = exact_space(space, graph)
    for identifying in (False, True):
        found = minimum_locus_cover(space, identifying=identifying)
        assert exact.is_cover(space.point_index(found.keys), identifying=identifying)
        assert (len(found), found.status) == (len(exact.covers(identifying=identifying)[0]), "exact")


# ---- matrices, and what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_matrices_without_the_triangle_inequality(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    upper = np.triu(rng.integers(1, 9, (n, n)), 1)
    distances = upper + upper.T
    space = MatrixSpace(distances.astype(np.uint8), [f"y{i}" for i in range(n)])
    exact = ExactSpace(distances.tolist(), range(n))
    shared = set.intersection(*(set(cover) for cover in exact.covers()))
    assert set(space.point_index(must_observe(space).keys).tolist()) == shared
    for identifying in (False, True):
        found = minimum_locus_cover(space, identifying=identifying)
        smallest = len(exact.covers(identifying=identifying)[0])
        assert exact.is_cover(space.point_index(found.keys), identifying=identifying)
        assert (len(found), found.status) == (smallest, "exact")


def test_labels_at_distance_zero_cover_each_other_and_cannot_be_told_apart() -> None:
    distances = np.array([[0, 0, 2], [0, 0, 2], [2, 2, 0]], dtype=np.uint8)
    space = MatrixSpace(distances, ["a", "b", "c"])
    assert minimum_locus_cover(space) == Cover(("a", "c"), "exact", 2)
    assert must_observe(space).keys == ("c",)
    with pytest.raises(SpaceError, match="2 labels, the first 'a', tie with another label under all weights"):
        minimum_locus_cover(space, identifying=True)


@pytest.mark.parametrize(
    "search", [minimum_locus_cover, partial(locus_cover, method="small"), phylogenetic_cover, must_observe]
)
def test_labels_that_cannot_be_observed_are_refused(search) -> None:
    space = MatrixSpace(np.array([[0, 1], [1, 1]], dtype=np.uint8), ["a", "b"], ["a", "x"])
    with pytest.raises(SpaceError, match="'b' among them"):
        search(space)


def test_what_a_cover_says_of_itself() -> None:
    cover = Cover(("a", "b", "c"), "lower_bound", 2)
    assert (len(cover), cover.gap) == (3, 1)
