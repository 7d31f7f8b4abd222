"""The selection and locus pictures, checked from the figure objects."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.plots import locus_hierarchy, selection_curves
from labelgrove.plots.branches import chosen_marks, forest_of
from tests.unit.frontdoor.figure_texts import problems

LONG = "Staphylococcus aureus subsp. aureus of "


def hierarchy(n: int, seed: int = 0) -> LabelGraph:
    rng = np.random.default_rng(seed)
    return LabelGraph.from_edges([(f"{c:05d}", f"{int(c * rng.random()):05d}") for c in range(1, n)])


def to_root(graph: LabelGraph, labels: list[int]) -> list[int]:
    """The labels and all above them: what is reached where the root is observed too."""
    parent, found = graph.primary_parent, set()
    for v in labels:
        while v >= 0:
            found.add(int(v))
            v = parent[v]
    return sorted(found)


def legend_texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def collections(ax):
    return {c.get_label(): c for c in ax.collections if not c.get_label().startswith("_")}


class TestSelectionCurves:
    SIZES: ClassVar = {"active": [[5, 9, 12], [3, 9, 20]], "random": [[5, 6, 7], [3, 4, 9]]}

    @pytest.fixture
    def ax(self):
        return selection_curves(self.SIZES, n_start=3, n_labels=20).axes[0]

    def test_lines_are_means_over_seeds_against_the_number_observed(self, ax):
        lines = [line for line in ax.lines if len(line.get_xdata()) == 3]
        assert [line.get_xdata().tolist() for line in lines] == [[3, 4, 5]] * 2
        assert [line.get_ydata().tolist() for line in lines] == [[4, 9, 16], [4, 5, 8]]

    def test_bands_run_from_the_smallest_to_the_largest(self, ax):
        for band, sizes in zip(ax.collections, self.SIZES.values(), strict=True):
            corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
            for i, column in enumerate(zip(*sizes, strict=True)):
                assert {(3 + i, min(column)), (3 + i, max(column))} <= corners

    def test_axes_and_legend(self, ax):
        assert ax.get_xlabel() == "observed labels (count)"
        assert ax.get_ylabel() == "labels in the locus (count)"
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            f"{method} (mean of 2 seeds; band: smallest to largest)" for method in self.SIZES
        ]
        assert ax.texts[0].get_text() == "all 20 labels "

    def test_methods_differ_in_more_than_color(self, ax):
        lines = [line for line in ax.lines if len(line.get_xdata()) == 3]
        for trait in ("get_color", "get_linestyle", "get_marker"):
            assert len({getattr(line, trait)() for line in lines}) == 2

    @pytest.mark.parametrize(
        ("sizes", "told"),
        [
            ({}, "0 methods"),
            ({str(i): [[1]] for i in range(5)}, "5 methods"),
            ({"a": [1, 2]}, r"'a' has shape \(2,\)"),
            ({"a": [[]]}, "shape"),
            ({"a": [[1, 21]]}, "has values outside 0..20"),
        ],
    )
    def test_what_cannot_be_drawn_is_named(self, sizes, told):
        with pytest.raises(InputError, match=told):
            selection_curves(sizes, n_start=3, n_labels=20)


class TestLocusHierarchy:
    GRAPH = LabelGraph.from_edges(
        [("a", "r"), ("b", "r"), ("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"), ("b3", "b")]
    )

    def figure(self, **options):
        index = self.GRAPH.keys.index
        observed, reached = [index("a1"), index("b1")], [index(k) for k in ("a1", "a", "r", "b", "b1")]
        return locus_hierarchy(self.GRAPH, observed, reached, **options)

    def test_each_label_has_one_mark_of_its_kind_at_its_depth(self):
        (ax,) = self.figure().axes
        drawn = {kind: sorted(-c.get_offsets()[:, 1]) for kind, c in collections(ax).items()}
        assert drawn == {"observed": [2, 2], "reached": [0, 1, 1], "unreached": [2, 2, 2]}

    def test_parents_stand_over_the_middle_of_their_children(self):
        (ax,) = self.figure().axes
        at = {tuple(p) for c in collections(ax).values() for p in c.get_offsets().tolist()}
        assert {(0.5, -1.0), (3.0, -1.0), (1.75, 0.0)} <= at
        assert len({x for x, y in at if y == -2}) == 5

    def test_legend_axis_and_names(self):
        figure = self.figure(name=str.upper)
        assert legend_texts(figure) == [
            "observed: 2 labels",
            "reached, not observed: 3 labels",
            "unreached: 3 labels",
        ]
        (ax,) = figure.axes
        assert ax.get_ylabel() == "depth (edges from the root)"
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1", "2"]
        assert {text.get_text() for text in ax.texts} == {"A1", "B1", "A", "B", "R"}  # observed, reached

    def test_kinds_differ_in_more_than_color(self):
        (ax,) = self.figure().axes
        kinds = collections(ax)
        assert len(kinds["observed"].get_paths()[0]) != len(kinds["reached"].get_paths()[0])
        assert kinds["unreached"].get_facecolor()[0].tolist() == [1, 1, 1, 1]

    def test_labels_that_are_no_answers_are_told_apart(self):
        allowed = np.flatnonzero(self.GRAPH.leaf_mask)
        index = self.GRAPH.keys.index
        figure = locus_hierarchy(self.GRAPH, [index("a1")], [index("a1")], allowed=allowed)
        assert legend_texts(figure)[-1] == "not allowed as an answer: 3 labels"
        assert len(collections(figure.axes[0])["no answer"].get_offsets()) == 3

    @pytest.mark.parametrize("name", [str, LONG.__add__], ids=["short", "long"])
    @pytest.mark.parametrize(
        ("n", "n_observed", "limit"),
        [(8, 2, 1000), (60, 8, 1000), (400, 30, 1000), (3000, 40, 20), (5000, 25, 300), (5000, 3, 2000)],
    )
    def test_all_texts_are_in_the_picture_and_on_no_mark_or_other_text(self, n, n_observed, limit, name):
        graph = hierarchy(n, 1)
        observed = np.random.default_rng(0).choice(n, n_observed, replace=False).tolist()
        figure = locus_hierarchy(graph, observed, to_root(graph, observed), limit=limit, name=name)
        assert problems(figure) == []
        if n_observed <= 25:
            (drawn,) = (
                len(c.get_offsets()) for k, c in collections(figure.axes[0]).items() if k == "observed"
            )
            assert sum(text.get_fontweight() == "bold" for text in figure.axes[0].texts) == drawn

    def test_reached_labels_are_named_where_there_is_room(self):
        graph = hierarchy(60, 1)
        reached = to_root(graph, [12, 51])
        figure = locus_hierarchy(graph, [12, 51], reached)
        assert {text.get_text() for text in figure.axes[0].texts} == {graph.keys[i] for i in reached}

    def test_a_name_that_stands_apart_is_joined_to_its_mark(self):
        graph = LabelGraph.from_edges([(f"{i:02d}", "root") for i in range(60)])
        observed = list(range(1, 26))  # side by side, closer than their names are long
        ax = locus_hierarchy(graph, observed, observed, name=LONG.__add__).axes[0]
        (marks,) = (c.get_offsets() for k, c in collections(ax).items() if k == "observed")
        leaders = ax.collections[-1].get_segments()
        assert len(ax.texts) == 25
        assert len(leaders) > 10
        assert all((np.abs(marks - leader[0]).max(axis=1) < 1e-9).any() for leader in leaders)

    @pytest.mark.parametrize("limit", [1, 7, 60, 400, 2000])
    def test_there_are_never_more_marks_than_the_limit_and_every_label_counts_once(self, limit):
        graph = hierarchy(5000)
        reached = to_root(graph, [70, 900, 4000, 4500])
        figure = locus_hierarchy(graph, [70, 900, 4000, 4500], reached, limit=limit)
        ax = figure.axes[0]
        assert sum(len(c.get_offsets()) for c in collections(ax).values()) <= limit

        mask = np.zeros(5000, dtype=bool)
        mask[reached] = True
        forest = forest_of(graph)
        top, n_marks = chosen_marks(forest, mask, limit)
        seen, stack, counted = [], list(top), 0
        while stack:
            mark = stack.pop()
            counted += 1
            stack.extend(mark.below)
            if mark.branches:
                assert not mark.below
                for v in mark.branches:
                    seen.extend(range(v, int(forest.end[v])))
            else:
                seen.append(mark.top)
        assert sorted(seen) == list(range(5000))
        assert counted == n_marks <= limit

    def test_branches_carry_their_number_of_labels_and_their_share(self):
        graph = hierarchy(3000)
        observed = list(range(500, 3000, 60))
        figure = locus_hierarchy(graph, observed, to_root(graph, observed), limit=20)
        ax, bar = figure.axes
        assert bar.get_ylabel() == "reached labels in the branches at one ▼ (%)"
        branches = collections(ax)["branch"]
        assert branches.get_array().max() <= 100
        counts = [int(text.get_text().replace(",", "")) for text in ax.texts if text.get_text()[0].isdigit()]
        assert counts
        assert max(counts) <= 3000
        assert legend_texts(figure)[3:] == [
            "branches drawn as one mark, with their number of labels",
            "the same, with observed labels among them",
        ]

    def test_the_reached_part_is_opened_first(self):
        graph = hierarchy(5000, 1)
        reached = to_root(graph, [4321])
        ax = locus_hierarchy(graph, [4321], reached, limit=150).axes[0]
        kinds = collections(ax)
        assert len(kinds["observed"].get_offsets()) == 1
        assert len(kinds["reached"].get_offsets()) == len(reached) - 1

    @pytest.mark.long
    def test_a_deep_path_and_an_undirected_tree_are_drawn(self):
        path = LabelGraph.from_edges([(f"{i + 1:04d}", f"{i:04d}") for i in range(1500)])
        ax = locus_hierarchy(path, [0, 1500], list(range(1501)), limit=2000).axes[0]
        assert len(collections(ax)["reached"].get_offsets()) == 1499
        tree = LabelGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")], directed=False)
        assert len(collections(locus_hierarchy(tree, [1], [1]).axes[0])["unreached"].get_offsets()) == 3

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"limit": 0}, "limit: 0"),
            ({"limit": 2001}, "limit: 2001"),
            ({"observed": [8]}, "observed: index 8 at position 0 is outside 0..7"),
            ({"reached": [-1]}, "reached: index -1"),
            ({"reached": [0.5]}, "reached: float64 of shape"),
            ({"reached": [0], "allowed": [1]}, "reached: label 0 is not an allowed label"),
        ],
    )
    def test_what_cannot_be_drawn_is_named(self, change, told):
        options = {"observed": [1], "reached": [1], **change}
        with pytest.raises(InputError, match=told):
            locus_hierarchy(self.GRAPH, **options)

    def test_a_graph_with_cycles_has_no_hierarchy(self):
        with pytest.raises(SpaceError, match="cycle"):
            locus_hierarchy(LabelGraph.grid((2, 2)), [0], [0])


def test_memory_does_not_grow_with_the_names(tmp_path):
    """A figure without a canvas makes, and keeps, a whole picture for each text that is measured."""
    program = """
import resource, sys
from labelgrove.plots import locus_hierarchy
from tests.unit.frontdoor.test_plots_locus import hierarchy, to_root
graph = hierarchy(3000)
observed = list(range(1000, 3000, 50))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
locus_hierarchy(graph, observed, to_root(graph, observed), limit=600)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300
