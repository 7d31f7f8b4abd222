"""Covers equal exhaustive search over all sets of labels, on every family of small spaces."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from locus_cases import FAMILIES, SpaceCase, exact_space, space_case, undirected

from labelgrove.ontology.errors import InputError, UnknownLabelError
from labelgrove.ontology.geometry import (
    MetricSpace,
    TreeSpace,
    is_identifying_cover,
    is_locus_cover,
    is_nontrivial,
    locus_cover,
    metric_space,
    minimum_locus_cover,
    must_observe,
    phylogenetic_cover,
)
from labelgrove.ontology.geometry.selections.selection import select_classes
from labelgrove.ontology.labelgraph import LabelGraph
from tests.oracles_locus import ExactSpace

pytestmark = pytest.mark.long

CASES_PER_FAMILY = 12
"""Where all covers of a space are searched; what a cover is takes `PER_FAMILY`, 2,000 in all."""

PER_FAMILY = 100
MOST_LABELS = 7
SQUARE_FAMILIES = [family for family in FAMILIES if not family.endswith("matrix")]


def cover_cases(family: str, n: int = CASES_PER_FAMILY) -> list[SpaceCase]:
    return [space_case(family, number, MOST_LABELS) for number in range(n)]


def points(space: MetricSpace, keys: tuple[str, ...]) -> list[int]:
    return space.point_index(keys).tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_cover_is(family: str) -> None:
    assert len(FAMILIES) * PER_FAMILY >= 2_000
    for case in cover_cases(family, PER_FAMILY):
        cover = case.exact.is_cover(case.observed)
        identifying = case.exact.is_cover(case.observed, identifying=True)
        assert is_locus_cover(case.space, case.keys) == cover
        assert is_identifying_cover(case.space, case.keys) == identifying
        trivial = set(case.space.keys) <= set(case.keys)
        assert is_nontrivial(case.space, case.keys) == (cover and not trivial)


@pytest.mark.parametrize("identifying", [False, True])
@pytest.mark.parametrize("family", SQUARE_FAMILIES)
def test_minimum_covers_equal_exhaustive_search(family: str, identifying: bool) -> None:
    for case in cover_cases(family):
        covers = case.exact.covers(identifying=identifying)
        smallest = len(covers[0])
        found = minimum_locus_cover(case.space, identifying=identifying)
        assert tuple(sorted(points(case.space, found.keys))) in covers
        assert found.lower_bound <= smallest <= len(found.keys)
        if found.status == "exact":
            assert found.lower_bound == smallest == len(found.keys)
        else:  # only where no closed form is known
            assert case.space.kind != "complete"
            assert not (isinstance(case.space, TreeSpace) and case.space.allowed is None)


@pytest.mark.parametrize("family", SQUARE_FAMILIES)
def test_heuristics_give_covers_and_honest_bounds(family: str) -> None:
    for case in cover_cases(family):
        covers = case.exact.covers()
        heuristics = [partial(locus_cover, method="small")]
        if isinstance(case.space, TreeSpace):
            heuristics.append(phylogenetic_cover)
        for found in (heuristic(case.space) for heuristic in heuristics):
            assert tuple(sorted(points(case.space, found.keys))) in covers
            assert found.lower_bound <= len(covers[0])
            assert found.status == "lower_bound" or len(found.keys) == len(covers[0])


@pytest.mark.parametrize("family", SQUARE_FAMILIES)
def test_must_observe_is_what_all_covers_share(family: str) -> None:
    for case in cover_cases(family):
        shared = set.intersection(*(set(cover) for cover in case.exact.covers()))
        found = must_observe(case.space)
        assert (set(points(case.space, found.keys)), found.status) == (shared, "exact")


@pytest.mark.parametrize("family", SQUARE_FAMILIES)
def test_selections_gain_what_they_say_and_never_more_than_can_be(family: str) -> None:
    for case in cover_cases(family):
        exact, chosen = case.exact, list(case.observed)
        left = [y for y in exact.allowed if y not in chosen]
        if not left:
            continue
        n = min(len(left), 3)
        found = select_classes(case.space, case.keys, n)
        best = exact.best_size(chosen, n, left) - exact.size(chosen)
        assert found.size_before == exact.size(chosen)
        for pick, size in zip(points(case.space, found.keys), found.sizes.tolist(), strict=True):
            chosen.append(pick)
            assert exact.size(chosen) == size
        first = exact.size([*case.observed, chosen[len(case.observed)]])
        assert first == exact.best_size(case.observed, 1, left)
        assert sum(found.gains.tolist()) <= best <= found.upper_bound
        assert found.status == "lower_bound" or sum(found.gains.tolist()) == best


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_every_leaf_of_a_unit_star_must_be_observed(labels: str) -> None:
    pairs = [(f"leaf{i}", "hub") for i in range(5)]
    graph = LabelGraph.from_edges(pairs)
    space = metric_space(graph, labels=labels)
    found = must_observe(space)
    assert (set(found.keys), found.status) == (set(graph.leaves), "exact")
    exact = exact_space(space, graph)
    assert set(exact.covers()[0]) == set(points(space, found.keys))


def test_a_root_with_one_child_is_an_end_of_the_tree() -> None:
    graph = LabelGraph.from_edges([("stem", "root"), ("left", "stem"), ("right", "stem")])
    space = metric_space(graph)
    assert not is_locus_cover(space, graph.leaves)
    for identifying in (False, True):
        found = minimum_locus_cover(space, identifying=identifying)
        assert (set(found.keys), found.status) == ({"root", "left", "right"}, "exact")
    assert set(must_observe(space).keys) == {"root", "left", "right"}


def test_one_label_covers_itself_and_two_need_both() -> None:
    one = metric_space(LabelGraph.from_edges([], labels=["only"]))
    assert minimum_locus_cover(one).keys == must_observe(one).keys == ("only",)
    assert is_identifying_cover(one, ["only"])
    assert not is_nontrivial(one, ["only"])
    two = metric_space(undirected([(0, 1)], 2))
    assert minimum_locus_cover(two).keys == ("v00", "v01")
    assert not is_locus_cover(two, ["v01"])


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (2, 3), (1, 2, 3), (2, 2, 2)])
def test_grids_have_closed_forms(shape: tuple[int, ...]) -> None:
    graph = LabelGraph.grid(shape)
    space = metric_space(graph)
    exact = exact_space(space, graph)
    for identifying in (False, True):
        found = minimum_locus_cover(space, identifying=identifying)
        assert exact.is_cover(points(space, found.keys), identifying=identifying)
        if not identifying:
            assert (len(found.keys), found.status) == (min(2, graph.n_labels), "exact")
        elif found.status == "exact":
            assert len(found.keys) == len(exact.covers(identifying=True)[0])


def test_a_cover_survives_one_more_label() -> None:
    rng = np.random.default_rng(3)
    for family in ("dag", "spider", "unit graph"):
        for number in range(6):
            case = space_case(family, number, MOST_LABELS)
            keys = list(minimum_locus_cover(case.space).keys)
            more = [key for key in case.space.keys if key not in keys]
            rng.shuffle(more)
            for key in more:
                keys.append(key)
                assert is_locus_cover(case.space, keys)


@pytest.mark.parametrize("question", [is_locus_cover, is_identifying_cover, is_nontrivial])
@pytest.mark.parametrize(
    ("observed", "error", "text"),
    [
        ([], InputError, "empty"),
        (["v00", "v00"], InputError, "twice"),
        (["v00", "nobody"], UnknownLabelError, "nobody"),
        ("v00", InputError, "list of keys"),
    ],
)
def test_bad_sets_are_refused(question, observed, error: type[Exception], text: str) -> None:
    space = metric_space(undirected([(0, 1), (1, 2), (2, 0)], 3))
    with pytest.raises(error, match=text):
        question(space, observed)


def test_the_exact_twin_agrees_on_a_known_case() -> None:
    """The oracle's own check: two opposite corners are the least that covers a square."""
    exact = ExactSpace([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]], range(4))
    assert exact.covers()[:2] == [(0, 3), (1, 2)]
    assert exact.covers(identifying=True) == [(0, 1, 2, 3)]
