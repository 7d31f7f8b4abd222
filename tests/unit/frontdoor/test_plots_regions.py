"""Exact prediction regions: fractions by hand, the library's own answers, and what the panels say."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("networkx")

from labelgrove.datasets.randomgraphs import barabasi_albert, random_tree
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import frechet_mean, metric_space
from labelgrove.ontology.geometry.simplexregions import exact_regions
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.plots import paper_families, prediction_regions, region_panels
from labelgrove.plots.figure import shortened
from tests.unit.frontdoor.figure_texts import problems

SPIDER = LabelGraph.from_edges(
    [("a1", "o"), ("a2", "a1"), ("b1", "o"), ("b2", "b1"), ("c1", "o"), ("c2", "c1"), ("d", "o")]
)


@pytest.fixture(scope="module")
def families():
    return paper_families(0)


@pytest.fixture(scope="module")
def figure(families):
    return region_panels(families, resolution=60)


def spaces():
    rng = np.random.default_rng(0)
    for seed in range(4):
        yield metric_space(random_tree(30, seed=seed))
        tree = random_tree(60, seed=seed)
        yield metric_space(tree, labels="leaves")
        yield metric_space(barabasi_albert(40, seed=seed))
        weights = rng.uniform(0.1, 3, 24).tolist()
        pairs = [(f"{c:02d}", f"{int(rng.integers(c)):02d}") for c in range(1, 25)]
        yield metric_space(LabelGraph.from_edges(pairs, weights=weights))


class TestExactRegions:
    def test_by_hand(self):
        # A star with its hub: the hub wins unless one label has more than 3/4 of the weight.
        regions = exact_regions(np.array([[1, 1, 1], [0, 2, 2], [2, 0, 2], [2, 2, 0]]))
        assert [(r.labels, r.area) for r in regions] == [
            ((0,), Fraction(13, 16)),
            *(((i,), Fraction(1, 16)) for i in (1, 2, 3)),
        ]
        assert {tuple(corner) for corner in regions[1].corners.tolist()} == {
            (1.0, 0.0, 0.0),
            (0.75, 0.25, 0.0),
            (0.75, 0.0, 0.25),
        }

    def test_areas_tile_the_simplex_exactly(self):
        for space in spaces():
            found = exact_regions(space.distances()[:, :3])
            assert sum(r.area for r in found) == 1

    def test_the_library_answers_the_first_label_of_the_region_inside_and_ties_on_the_rim(self):
        rng = np.random.default_rng(1)
        for space in spaces():
            observed = space.points.take(rng.choice(space.n_points, 3, replace=False))
            regions = exact_regions(space.distances(cols=space.point_index(observed)))
            for region in regions:
                if region.area:
                    result = frechet_mean(space, observed, region.center)
                    assert (result.index, result.n_tied) == (region.labels[0], len(region.labels))
                for corner in region.corners:  # rounded: tied up to the last bits
                    value = (space.distances(cols=space.point_index(observed)).astype(float) ** 2) @ corner
                    assert value[region.labels[0]] <= value.min() * (1 + 1e-9) + 1e-12

    def test_every_answer_of_many_random_weights_has_a_region(self):
        rng = np.random.default_rng(2)
        for space in spaces():
            observed = space.points.take([0, 5, 11])
            regions = exact_regions(space.distances(cols=space.point_index(observed)))
            members = {label for r in regions for label in r.labels}
            weights = rng.dirichlet([0.6] * 3, 2000)
            share = np.bincount(frechet_mean(space, observed, weights).index, minlength=space.n_labels)
            assert set(np.flatnonzero(share).tolist()) <= members

    def test_a_label_that_only_ever_ties_is_a_line_or_a_point(self):
        # A spider with legs 2, 2, 2, 1, its ends the labels: the short end has F = 9, a far one 16 (1 - w),
        # so it wins where no weight exceeds 7/16, a triangle upside down with sides of 5/16.
        space = metric_space(SPIDER, labels=["a2", "b2", "c2", "d"])
        regions = exact_regions(space.distances(cols=space.point_index(["a2", "b2", "c2"])))
        short = next(r for r in regions if space.keys[r.labels[0]] == "d")
        assert short.area == Fraction(25, 256)
        square = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0], [1, 2, 1]])  # a 4-cycle, three corners observed
        by_label = {r.labels[0]: r for r in exact_regions(square)}
        assert by_label[3].area == 0
        assert len(by_label[3].corners) == 2  # with label 1 it ties where label 1 has no weight
        assert by_label[3].corners[:, 1].tolist() == [0, 0]

    def test_equal_rows_share_a_region_and_the_lowest_is_first(self):
        regions = exact_regions(np.array([[0, 2, 2], [1, 1, 1], [2, 0, 2], [1, 1, 1], [2, 2, 0]]))
        assert [r.labels for r in regions] == [(0,), (1, 3), (2,), (4,)]

    def test_large_and_broken_distances_stay_exact(self):
        rows = np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0], [1, 1, 1]])
        expected = [r.area for r in exact_regions(rows)]
        for scaled in (rows * 60000, rows * 0.1, rows.astype(np.uint8), rows * 1e150):
            assert [r.area for r in exact_regions(scaled)] == expected

    @pytest.mark.parametrize(
        "bad", [np.zeros((3, 2)), np.zeros(3), np.array([[0, np.inf, 1]]), -np.ones((1, 3))]
    )
    def test_what_has_no_regions_is_refused(self, bad):
        with pytest.raises(InputError, match="distances"):
            exact_regions(bad)


class TestPanels:
    def test_there_are_six_families_of_a_hundred_labels(self, families):
        assert [space.n_labels for space, _ in families.values()] == [100] * 6
        assert families["Leaves of a random tree"][0].n_points == 1000
        assert families["Grid, 10 × 10"][1] == ("0,0", "3,9", "9,9")
        assert families["Erdős-Rényi, p = 0.1"][1] == ("00", "39", "99")

    def test_each_panel_names_its_family_and_counts_its_answers(self, figure, families):
        assert len(figure.axes) == 6
        for ax, (family, (space, observed)) in zip(figure.axes, families.items(), strict=True):
            found = exact_regions(space.distances(cols=space.point_index(observed)))
            n = sum(r.area > 0 for r in found)
            assert ax.get_title() == f"{family}\n{n} different answers of 100 labels"
            texts = {text.get_text() for text in ax.texts}
            assert {f"probability of {key}" for key in observed} <= texts

    def test_boundaries_are_the_exact_polygons(self, figure, families):
        for ax, (space, observed) in zip(figure.axes, families.values(), strict=True):
            found = exact_regions(space.distances(cols=space.point_index(observed)))
            drawn = [p.get_xy()[:-1] for p in ax.patches if p.get_edgecolor()[:3] == (1, 1, 1)]
            areas = sorted(_area(corners) / _area([[0, 0], [1, 0], [0.5, 3**0.5 / 2]]) for corners in drawn)
            assert areas == pytest.approx(sorted(float(r.area) for r in found if r.area), abs=1e-12)

    def test_ties_are_drawn_and_explained(self, figure):
        told = [text.get_text() for text in figure.legends[0].get_texts()]
        assert told[0].startswith("a dotted region: several labels are tied")
        assert told[1].startswith("a black line or dot")
        hatched = [p for ax in figure.axes for p in ax.patches if p.get_hatch()]
        assert hatched  # the grid and the Barabási-Albert graph have equal rows

    def test_texts_do_not_touch(self, figure):
        figure.draw_without_rendering()
        renderer = figure._get_renderer()
        for ax in figure.axes:
            inside = [t for t in ax.texts if t.get_path_effects()]
            boxes = [t.get_window_extent(renderer) for t in inside]
            for i, box in enumerate(boxes):
                assert not any(box.shrunk(0.9, 0.9).overlaps(other.shrunk(0.9, 0.9)) for other in boxes[:i])

    def test_anything_but_rows_of_three_is_an_error(self, families):
        with pytest.raises(InputError, match="rows of three"):
            region_panels(dict(list(families.items())[:2]))


def test_tied_answers_are_counted_beside_the_first():
    space = metric_space(LabelGraph.grid((4, 4)))  # 0,1 and 1,0 have the same distances to all three
    figure = prediction_regions(space, ("0,0", "1,3", "3,3"), resolution=80)
    assert any(text.get_text().endswith("+1") for text in figure.axes[1].texts)


@pytest.mark.parametrize(
    "before", ["", "the ordinary ", "a very long name that nobody would choose ", "$5 or $6 "]
)
def test_names_of_any_length_stand_on_nothing(before):
    space = metric_space(LabelGraph.grid((5, 5)))
    figure = prediction_regions(
        space, ("0,0", "1,4", "4,4"), name=lambda key: f"{before}{key}", resolution=60
    )
    assert problems(figure) == []
    for ax in figure.axes:
        inside = [text for text in ax.texts if text.get_path_effects()]
        for corner in (ax.transData.inverted().transform(t.get_window_extent().corners()) for t in inside):
            x, y = corner.T
            assert (np.minimum(x, 1 - x) * 3**0.5 >= y).all()
            assert (y >= 0).all()
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {f"probability of {shortened(before + key)}" for key in ("0,0", "1,4", "4,4")} <= texts


def test_regions_without_room_are_listed_as_far_as_they_fit():
    space = metric_space(LabelGraph.grid((30, 30)))
    figure = prediction_regions(space, ("0,0", "7,29", "29,29"), name="label {}".format, resolution=60)
    assert problems(figure) == []
    listed = [text.get_text() for text in figure.axes[1].texts if text.get_text().startswith("too small")]
    assert re.fullmatch(r"too small to label: (label \d+,\d+(, )?)+ and \d+ others?", listed[0])


def _area(corners):
    x, y = np.asarray(corners, dtype=float).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
