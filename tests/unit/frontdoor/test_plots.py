"""Pictures are checked from the figure objects: what is drawn, and what the axes and legends say about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.plots import error_histogram, grid_errors, prediction_regions, save

TREE = LabelGraph.from_edges(
    [
        ("dog", "carnivore"),
        ("cat", "carnivore"),
        ("carnivore", "animal"),
        ("fish", "animal"),
        ("trout", "fish"),
    ]
)


def legend_texts(legend):
    return [text.get_text() for text in legend.get_texts()]


# Four samples each: distances 0, 2, 4, 4 and 1, 1, 1, 2.
COUNTS = {"argmax": [1, 0, 1, 0, 2], "Fréchet mean": [0, 3, 1, 0, 0, 0]}


class TestErrorHistogram:
    def test_bars_are_the_share_of_samples_at_each_distance(self):
        (ax,) = error_histogram({"toy": COUNTS}).axes
        heights = [[bar.get_height() for bar in container] for container in ax.containers]
        assert heights == [[25, 0, 25, 0, 50], [0, 75, 25, 0, 0]]

    def test_axes_and_legend_name_what_is_drawn_and_its_unit(self):
        (ax,) = error_histogram({"toy": COUNTS}).axes
        assert ax.get_title() == "toy"
        assert ax.get_xlabel() == "distance to the true label (hops)"
        assert ax.get_ylabel() == "share of test samples (%)"
        assert legend_texts(ax.get_legend()) == [
            "argmax: E[d²] = 9.0 hops²",
            "Fréchet mean: E[d²] = 1.8 hops²",
        ]

    def test_one_rule_has_one_color_in_every_panel(self):
        backwards = dict(reversed(COUNTS.items()))
        left, right = error_histogram({"a": COUNTS, "b": backwards}).axes

        def colors(ax):
            return {c.get_label().split(":")[0]: c.patches[0].get_facecolor() for c in ax.containers}

        assert colors(left) == colors(right)
        assert len(set(colors(left).values())) == 2

    @pytest.mark.parametrize("bad", [{}, {"toy": {"argmax": [0, 0]}}])
    def test_nothing_to_draw_is_an_error(self, bad):
        with pytest.raises(InputError, match="settings"):
            error_histogram(bad)


class TestGridErrors:
    OBSERVED = np.array([0, 2, 6, 8])
    TRUTH = np.array([0, 4, 4, 8])

    def figure(self):
        answers = {"argmax": np.array([0, 0, 2, 8]), "Fréchet mean": np.array([1, 4, 4, 8])}
        return grid_errors((3, 3), self.OBSERVED, self.TRUTH, answers)

    def test_cells_hold_the_mean_squared_hops_of_their_samples(self):
        left, right = self.figure().axes[:2]
        first, second = (np.ma.filled(ax.images[0].get_array(), np.nan) for ax in (left, right))
        assert first[0, 0] == 0
        assert first[1, 1] == 4
        assert second[0, 0] == 1
        assert second[1, 1] == 0
        assert np.isnan(first[0, 1])  # no sample lies there

    def test_both_rules_share_one_color_scale_with_its_unit(self):
        left, right, bar = self.figure().axes
        assert left.images[0].get_clim() == right.images[0].get_clim() == (0, 4)
        assert bar.get_ylabel() == "mean squared distance to the true position (hops²)"

    def test_discs_stand_at_the_answers_given_and_squares_at_the_observed_labels(self):
        left, right = self.figure().axes[:2]
        discs, squares = right.collections[:2]
        assert discs.get_offsets().tolist() == [[1, 0], [1, 1], [2, 2]]
        sizes = discs.get_sizes()
        assert sizes[1] == pytest.approx(2 * sizes[0])
        assert squares.get_offsets().tolist() == [[0, 0], [2, 0], [0, 2], [2, 2]]
        assert left.collections[1].get_offsets().tolist() == squares.get_offsets().tolist()

    def test_titles_axes_and_legend(self):
        figure = self.figure()
        left, right = figure.axes[:2]
        assert left.get_title() == "argmax: E[d²] = 2.0 hops²"
        assert right.get_title() == "Fréchet mean: E[d²] = 0.2 hops²"
        assert {ax.get_xlabel() for ax in (left, right)} == {"column (hops)"}
        assert {ax.get_ylabel() for ax in (left, right)} == {"row (hops)"}
        assert legend_texts(figure.legends[0])[0] == "observed label (trained on)"
        assert "5% of the answers" in legend_texts(figure.legends[0])

    def test_arrays_that_do_not_match_are_an_error(self):
        with pytest.raises(InputError, match="argmax"):
            grid_errors((3, 3), self.OBSERVED, self.TRUTH, {"argmax": np.array([0])})
        with pytest.raises(InputError, match="empty"):
            grid_errors((3, 3), self.OBSERVED, self.TRUTH, {})


class TestPredictionRegions:
    OBSERVED = ("dog", "cat", "trout")

    @pytest.fixture
    def figure(self):
        return prediction_regions(metric_space(TREE), self.OBSERVED, resolution=120)

    def test_argmax_answers_three_labels_and_the_mean_all_between_them(self, figure):
        left, right = figure.axes
        assert left.get_title() == "argmax: 3 different answers"
        assert right.get_title() == "Fréchet mean: 6 different answers"
        inside = {text.get_text() for text in right.texts}
        assert {"carnivore", "animal", "fish"} <= inside
        assert "carnivore" not in {text.get_text() for text in left.texts}

    def test_each_label_stands_in_its_own_region(self, figure):
        # By hand: an even mixture of dog and cat has the mean carnivore, so its text is near that side.
        places = {text.get_text(): text.get_position() for text in figure.axes[1].texts}
        assert places["carnivore"][0] == pytest.approx(0.5, abs=0.02)
        assert places["carnivore"][1] < places["animal"][1] < places["fish"][1]

    def test_regions_have_the_size_that_the_tree_gives_them(self):
        # By hand: argmax gives each label a third. On the tree trout wins against fish where p(trout) > 7/8,
        # which cuts a corner with sides of 1/8 off the triangle.
        figure = prediction_regions(metric_space(TREE), self.OBSERVED, resolution=500)
        for ax, share in zip(figure.axes, (1 / 3, 1 / 64), strict=True):
            picture = np.asarray(ax.images[0].get_array())
            drawn = (picture[..., 3] == 1) & (picture[..., :3] < 1).any(axis=-1)
            tip = picture[np.flatnonzero(drawn.any(axis=1))[-1]]
            color = tip[tip[:, 3] == 1][0]
            found = (picture[drawn] == color).all(axis=-1).mean()
            assert found == pytest.approx(share, rel=0.1)

    def test_every_side_is_a_named_scale_of_probabilities(self, figure):
        for ax in figure.axes:
            texts = [text.get_text() for text in ax.texts]
            assert [t for t in texts if t.startswith("probability of")] == [
                f"probability of {key}" for key in self.OBSERVED
            ]
            assert texts.count("0.2") == texts.count("0.8") == 3
        assert "Bold: labels the classifier was trained on" in figure.get_supxlabel()

    def test_names_replace_keys(self):
        figure = prediction_regions(metric_space(TREE), self.OBSERVED, name=str.upper, resolution=60)
        assert {"CARNIVORE", "probability of DOG"} <= {text.get_text() for text in figure.axes[1].texts}

    def test_anything_but_three_labels_is_an_error(self):
        with pytest.raises(InputError, match="three labels"):
            prediction_regions(metric_space(TREE), ("dog", "cat"))


def test_a_picture_is_written_with_the_same_bytes_each_time(tmp_path: Path):
    files = [save(error_histogram({"toy": COUNTS}), tmp_path / name / "errors.png") for name in ("a", "b")]
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith(b"\x89PNG")


def test_drawing_leaves_the_global_state_of_matplotlib_alone():
    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy();"
        "from labelgrove.plots import error_histogram; error_histogram({'toy': {'argmax': [1, 2]}});"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "assert all(matplotlib.rcParams[k] == before[k] for k in before if not k.startswith('backend'))"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
