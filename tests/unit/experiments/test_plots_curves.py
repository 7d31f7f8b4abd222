"""Curves are checked from the figure: what is drawn, and what axes and legends say about it."""

import pytest

pytest.importorskip("matplotlib")

from labelgrove.experiments.experiment import Line, Panel, band
from labelgrove.plots import save
from labelgrove.plots.curves import curve_panels
from ontology.errors import InputError


def panel(**other):
    lines = (
        band("argmax", {10: [3.0, 5.0], 100: [2.0, 2.5]}),
        band("Loki", {10: [1.0, 2.0], 100: [1.0, 1.5]}),
    )
    return Panel(**{"title": "glosses", "x_label": "K", "y_label": "E[d²]", "lines": lines} | other)


def test_a_line_is_the_mean_in_a_band_from_the_least_to_the_largest():
    assert panel().lines[0] == Line("argmax", (10.0, 100.0), (4.0, 2.25), (3.0, 2.0), (5.0, 2.5))
    figure = curve_panels([panel(log_x=True)], title="a claim")
    (ax,) = figure.axes
    assert [line.get_xydata().tolist() for line in ax.lines] == [
        [[10, 4], [100, 2.25]],
        [[10, 1.5], [100, 1.25]],
    ]
    low, high = (f(v[1] for v in ax.collections[0].get_paths()[0].vertices) for f in (min, max))
    assert (low, high) == (2.0, 5.0)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("K", "E[d²]", "glosses")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["argmax", "Loki"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert figure.get_suptitle() == "a claim"


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3)])
def test_panels_stand_in_rows_of_two_where_there_is_an_even_number(n, rows, tmp_path):
    figure = curve_panels([panel()] * n, title="all")
    assert len(figure.axes) == n
    assert figure.axes[0].get_subplotspec().get_gridspec().nrows == rows
    assert save(figure, tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="no panel"):
        curve_panels([], title="none")
    with pytest.raises(InputError, match="'glosses' has 0 lines"):
        curve_panels([panel(lines=())], title="none")
