"""Compare covers of small, unusual spaces with a search through all sets of labels.

The spaces: labels in one place, ties everywhere, thin and solid grids, complete graphs, and matrices that are
not a metric.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry import (
    CompleteSpace,
    EuclideanSpace,
    GraphSpace,
    MatrixSpace,
    MetricSpace,
    is_identifying_cover,
    is_locus_cover,
    is_nontrivial,
    locus_cover,
    metric_space,
    minimum_locus_cover,
    must_observe,
    phylogenetic_cover,
)
from labelgrove.ontology.labelgraph import LabelGraph
from tests import oracles
from tests.oracles_locus import ExactSpace, Number


@dataclass
class Case:
    name: str
    space: MetricSpace
    exact: list[list[Number]]


def keys(n):
    return [f"k{i}" for i in range(n)]


def one_place() -> Iterator[Case]:
    """Vectors on a line, most of them shared by several labels."""
    draw = np.random.default_rng(1)
    yield Case("the two of them", EuclideanSpace([[0.0], [0.0]], ["a", "b"]), [[0, 0], [0, 0]])
    for n in range(2, 6):
        for number in range(8):
            at = draw.integers(0, 3, n) if number else np.zeros(n, dtype=int)
            yield Case(
                f"{at}",
                EuclideanSpace(at[:, None].astype(float), keys(n)),
                [[abs(int(a - b)) for b in at] for a in at],
            )


def matrices() -> Iterator[Case]:
    """Any symmetrical matrix of a few small numbers: zeros beside the diagonal, no triangle inequality."""
    draw = np.random.default_rng(2)
    given = [[0, 0, 4, 2], [0, 0, 2, 3], [4, 2, 0, 4], [2, 3, 4, 0]]
    yield Case("apart at distance 0", MatrixSpace(np.array(given, dtype=np.uint8), list("abcd")), given)
    for n in range(1, 6):
        for number in range(20):
            half = np.triu(draw.integers(0, (1, 2, 3, 5)[number % 4], (n, n)), 1)
            whole = half + half.T
            dtype = (np.uint8, np.float64)[number % 2]
            yield Case(f"{n} x {number}", MatrixSpace(whole.astype(dtype), keys(n)), whole.tolist())


def ties_everywhere() -> Iterator[Case]:
    for n in range(1, 6):
        apart = (1 - np.eye(n, dtype=int)).tolist()
        yield Case(f"complete {n}", CompleteSpace(keys(n)), apart)
        yield Case(f"complete graph {n}", GraphSpace(LabelGraph.complete(n)), apart)
        star = LabelGraph.from_edges([(f"leaf{i}", "hub") for i in range(n)])
        for labels in ("all", "leaves"):
            for metric in ("tree", "graph"):
                space = metric_space(star, metric, labels)
                table = oracles.graph_distances(star)
                allowed = range(n + 1) if space.allowed is None else space.allowed
                yield Case(
                    f"{metric} of a star, {labels}", space, [[table[a][b] for b in allowed] for a in allowed]
                )


def grids() -> Iterator[Case]:
    for shape in ((1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (1, 2, 2), (2, 2, 2)):
        graph = LabelGraph.grid(shape)
        yield Case(f"grid {shape}", GraphSpace(graph), oracles.graph_distances(graph))


FAMILIES = (one_place, matrices, ties_everywhere, grids)


@pytest.mark.parametrize("family", FAMILIES)
def test_covers_are_what_all_sets_of_labels_say(family):
    for case in family():
        n = len(case.exact)
        space, exact, key = case.space, ExactSpace(case.exact, range(n)), case.space.keys
        covers = {}
        for size in range(1, n + 1):
            for chosen in itertools.combinations(range(n), size):
                found = exact.locus(chosen)
                covers[chosen] = len(found.members) == n, len(found.unique) == n
                named = key.take(chosen)
                assert is_locus_cover(space, named) == covers[chosen][0], case.name
                assert is_identifying_cover(space, named) == covers[chosen][1], case.name
                assert is_nontrivial(space, named) == (covers[chosen][0] and size < n), case.name
        for identifying in (False, True):
            sound = [set(key.take(chosen)) for chosen, are in covers.items() if are[identifying]]
            if not sound:
                with pytest.raises(SpaceError, match=r"identifies every label: \d labels, the first '"):
                    minimum_locus_cover(space, identifying=True)
                continue
            least = min(map(len, sound))
            found = [minimum_locus_cover(space, identifying=identifying)]
            if not identifying:
                found += [locus_cover(space, method="small"), phylogenetic_cover(space)]
                needed = must_observe(space)
                assert (set(needed.keys), needed.status) == (set.intersection(*sound), "exact"), case.name
            for cover in found:
                assert set(cover.keys) in sound, case.name
                assert cover.lower_bound <= least <= len(cover), case.name
                assert cover.status == ("exact" if len(cover) == cover.lower_bound else "lower_bound")
            # spaces so small are searched through
            assert [len(cover) for cover in found[:2]] == [least] * len(found[:2]), case.name
            assert found[0].status == "exact", case.name


@pytest.mark.parametrize(
    "shape", [(3, 3), (2, 2, 3), (1, 3, 3), (2, 3, 3), (3, 3, 3), (2, 2, 2, 2), (3, 1, 2, 3)]
)
def test_grids_take_one_corner_more_than_they_have_sides(shape):
    graph = LabelGraph.grid(shape)
    space, exact = GraphSpace(graph), ExactSpace(oracles.graph_distances(graph), range(graph.n_labels))
    n_sides = sum(side > 1 for side in shape)
    for identifying, size in ((False, 2), (True, 4 if n_sides == 2 else n_sides + 1)):
        found = minimum_locus_cover(space, identifying=identifying)
        assert len(found) == size
        reached = exact.locus(graph.keys.indices(found.keys).tolist())
        assert len(reached.unique if identifying else reached.members) == graph.n_labels
        assert found.lower_bound <= size
        assert found.status == "exact" or n_sides > 3


def test_labels_that_stand_like_a_box_but_in_one_place_are_not_identified():
    """Two labels with the same distances from every corner: what holds for a grid holds for no such space."""
    graph = LabelGraph.grid((2, 2, 2))
    table = GraphSpace(graph).distances().astype(float)
    twice = np.vstack([table, table[:1]])
    twice = np.hstack([twice, twice[:, :1]])
    with pytest.raises(SpaceError, match="identifies every label: 2 labels, "):
        minimum_locus_cover(MatrixSpace(twice, [*graph.keys, "again"]), identifying=True)
