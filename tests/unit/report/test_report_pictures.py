"""Pictures tell what the data say: places, heights, areas, and colors that can be told apart."""

import re
from importlib.resources import files
from xml.etree import ElementTree

import pytest

from labelgrove.adapter import Adapter
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.report.picturedata import (
    Branches,
    Differences,
    Histogram,
    Line,
    Mark,
    Panel,
    Region,
    Regions,
    ReliabilityDiagram,
)
from labelgrove.report.pictures import draw
from labelgrove.report.simplex import regions_of
from labelgrove.report.svg import Scale, element, series_class

STYLE = files("labelgrove.report").joinpath("page.css").read_text(encoding="utf-8")


def parts(picture, tag, class_):
    """Return what was drawn under a class, without the legend."""
    return [e for e in draw(picture).root.iter(tag) if class_ in e.get("class", "").split()]


def numbers(element, *names):
    return tuple(float(element.get(name)) for name in names)


def places(element):
    return [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]


def texts(picture):
    return ["".join(e.itertext()) for e in draw(picture).root.iter("text")]


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [
        *((low, high, False) for low, high in ((0, 1), (-3, 7.5), (0.001, 0.0042), (1e6, 3e7), (-2e-5, 0))),
        *((low, high, True) for low, high in ((0.03, 32), (0.02, 0.3), (1, 1e6), (3, 4), (1e-9, 1e9))),
    ],
)
def test_ticks_are_round_few_and_within(low, high, log):
    scale = Scale.over([low, high], 10, 90, log=log)
    ticks = scale.ticks(6)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    assert all(10 <= scale(value) <= 90 for value in (*ticks, low, high))
    assert all(
        len(f"{value:.6e}".split("e")[0].rstrip("0.").replace(".", "").lstrip("-")) <= 2 for value in ticks
    )
    assert scale(low) < scale(high)


@pytest.mark.parametrize("values", [[5.0], [0.0], [0.0, 0.0], []])
@pytest.mark.parametrize("log", [False, True])
def test_a_scale_of_one_value_or_none_still_places_it(values, log):
    scale = Scale.over(values, 0, 100, log=log, zero=not log)
    assert scale.high > scale.low
    assert all(0 <= scale(v) <= 100 for v in scale.ticks())


def test_a_curve_goes_through_its_points_and_its_band_around_them():
    line = Line("Fréchet mean", (1.0, 2.0, 3.0), (4.0, 2.0, 3.0), (3.5, 1.0, 2.0), (5.0, 3.0, 3.0))
    panel = Panel("t", "K", "E[d²]", (line,), marks=(Mark("best", 2.0), Mark("default", 2.0)))
    (curve,), (band,) = parts(panel, "polyline", "curve"), parts(panel, "polygon", "band")
    (x1, y1), (x2, y2), (x3, y3) = places(curve)
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)
    assert y1 < y3 < y2  # downwards
    assert (y2 - y1) / (y3 - y1) == pytest.approx(2, abs=0.01)
    assert [x for x, _ in places(band)] == [x1, x2, x3, x3, x2, x1]
    (mark,) = parts(panel, "line", "mark")
    assert numbers(mark, "x1", "x2") == (x2, x2)
    assert "best, default" in texts(panel)
    assert (
        "Fréchet mean: from 4 at 1 to 3 at 3, with a minimum of 2 at 2. best is marked at 2."
        in panel.alternative
    )


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    line = Line.bare("a", (1.0, 10.0, 100.0), (0.0, 1.0, 10.0))
    (curve,) = parts(Panel("t", "n", "error", (line,), log_x=True, log_y=True), "polyline", "curve")
    assert len(places(curve)) == 2


def test_a_curve_of_which_a_logarithmic_axis_can_show_nothing_is_left_out():
    nought = Line("exact", (1.0, 2.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    other = Line.bare("other", (1.0, 2.0), (3.0, 1.0))
    for lines in ((nought,), (nought, other)):
        panel = Panel("t", "n", "error", lines, log_x=True, log_y=True)
        assert len(parts(panel, "polyline", "curve")) == len(lines) - 1
        assert len(draw(panel).legend) == len(lines)


def test_bars_are_as_high_as_their_shares_over_one_scale():
    picture = Histogram(
        "t", "d", (0.0, 1.0, 2.0, 3.0), (("frechet_mean", (6, 2, 0), 0.2), ("argmax", (2, 0, 2), 2.0))
    )
    bars = parts(picture, "rect", "bar")
    heights = [numbers(bar, "height")[0] for bar in bars]
    assert [h / heights[0] for h in heights] == pytest.approx([1, 1 / 3, 2 / 3, 2 / 3], abs=0.01)
    assert [bar.get("class") for bar in bars] == ["bar s0", "bar s0", "bar s1", "bar s1"]
    lefts = [numbers(bar, "x")[0] for bar in bars]
    assert lefts[0] == lefts[2]
    assert lefts[1] - lefts[0] == pytest.approx((lefts[3] - lefts[2]) / 2, abs=0.02)
    assert "frechet_mean: 75% in the first bin, median 0, E[d²] 0.2." in picture.alternative


def test_many_bins_are_joined_and_none_is_lost():
    counts = tuple(range(1, 201))
    picture = Histogram("t", "d", tuple(map(float, range(201))), (("frechet_mean", counts, 1.0),))
    bars = parts(picture, "rect", "bar")
    assert len(bars) == 50
    heights = [numbers(bar, "height")[0] for bar in bars]
    assert heights[0] / heights[-1] == pytest.approx((1 + 2 + 3 + 4) / (197 + 198 + 199 + 200), abs=0.01)


def test_a_difference_is_filled_only_where_its_interval_leaves_out_zero():
    rows = (
        ("up", 2.0, 1.0, 3.0),
        ("down", -1.0, -1.5, -0.5),
        ("about", 0.5, -1.0, 2.0),
        ("bare", 1.0, None, None),
    )
    picture = Differences("t", "saved", "saves", "costs", rows)
    sides = [e.get("class").split()[1] for e in draw(picture).root.iter("g")]
    assert sides == ["better", "worse", "untold", "better"]
    assert len(parts(picture, "line", "whisker")) == 3
    zero, *others = parts(picture, "line", "zero")
    assert {e.get("x1") for e in others} == {zero.get("x1")}  # one line, in pieces
    center = [numbers(e, "cx")[0] for e in draw(picture).root.iter("circle")]
    assert center[0] > numbers(zero, "x1")[0]
    assert [said for _, said, _ in draw(picture).legend] == ["saves", "costs", "the interval includes zero"]


def test_branches_go_right_where_the_second_rule_wins_and_left_where_it_loses():
    rows = (("oak", 90, 4.0, 1.0), ("elm", 10, 1.0, 2.0), ("ash", 10, 1.0, 1.0))
    picture = Branches("t", "argmax", "Fréchet mean", rows)
    bars = parts(picture, "rect", "bar")
    zero = numbers(parts(picture, "line", "zero")[0], "x1")[0]
    spans = [(x, x + w) for x, w in (numbers(bar, "x", "width") for bar in bars)]
    assert [bar.get("class") for bar in bars] == ["bar better", "bar worse", "bar untold"]
    assert spans[0][0] == pytest.approx(zero, abs=0.02)
    assert spans[1][1] == pytest.approx(zero, abs=0.02)
    assert (spans[0][1] - zero) / (zero - spans[1][0]) == pytest.approx(3, abs=0.01)
    twigs = [numbers(twig, "stroke-width")[0] for twig in parts(picture, "path", "twig")]
    assert twigs[0] / twigs[1] == pytest.approx(3, abs=0.02)
    assert {"+3", "−1"} <= set(texts(picture))
    assert "better in 1 of 3 branches. oak (90 samples): 4 to 1; elm" in picture.alternative


def test_a_reliability_bar_stands_in_its_bin_and_shows_the_gap():
    bins = Reliability.of([0.9, 0.9, 0.3, 0.3], [True, False, True, True], bins=5)
    picture = ReliabilityDiagram("t", bins)
    gaps = parts(picture, "rect", "gap")
    assert [gap.get("class") for gap in gaps] == ["gap s0", "gap s1"]  # too little, too much confidence
    heights = [numbers(gap, "height")[0] for gap in gaps]
    assert heights[0] / heights[1] == pytest.approx(0.7 / 0.4, abs=0.01)
    assert "mean confidence 0.6, accuracy 0.75" in picture.alternative


def test_regions_fill_the_triangle_and_are_named_by_what_is_answered():
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
    found = regions_of(Adapter.from_graph(graph, ["oak", "elm", "moss"]))
    assert {region.name for region in found.regions} == set(graph.keys)
    assert sum(region.share for region in found.regions) == pytest.approx(1)
    polygons = parts(found, "polygon", "region")

    def area(outline):
        pairs = zip(outline, [*outline[1:], outline[0]], strict=True)
        return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairs)) / 2

    areas = [area(places(polygon)) for polygon in polygons]
    assert [a / sum(areas) for a in areas] == pytest.approx([r.share for r in found.regions], abs=1e-3)
    assert {"oak", "elm", "moss", "tree", "plant"} <= set(texts(found))
    at = {region.name: places(polygon) for region, polygon in zip(found.regions, polygons, strict=True)}
    left, right, upper = found.names
    assert min(x for x, _ in at[left]) == min(x for outline in at.values() for x, _ in outline)
    assert max(x for x, _ in at[right]) == max(x for outline in at.values() for x, _ in outline)
    assert min(y for _, y in at[upper]) == min(y for outline in at.values() for _, y in outline)
    written = {"".join(e.itertext()): e for e in draw(found).root.iter("text") if e.get("y") == "332"}
    assert [written[name].get("text-anchor") for name in (left, right)] == ["start", "end"]
    assert regions_of(Adapter.from_graph(graph, ["oak", "elm"])) is None
    assert regions_of(Adapter.from_graph(graph, ["oak", "elm", "moss"], beta=1)) is None


def test_labels_that_tie_are_one_region_with_the_number_of_the_others():
    graph = LabelGraph.from_edges(
        [(key, "r") for key in ("a", "b", "c")] + [(f"t{i}", "r") for i in range(3)]
    )
    found = regions_of(Adapter.from_graph(graph, ["a", "b", "c"]))
    assert found.regions[0].name == "r"
    tied = Regions("t", ("a", "b", "c"), (Region("x +2", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), 1.0, False),))
    assert "x +2 100.0%" in tied.alternative


def test_a_rule_has_one_color_in_every_picture():
    assert (
        series_class("Fréchet mean", ["argmax", "Fréchet mean"])
        == series_class("frechet_mean", ["frechet_mean"])
        == "s0"
    )
    names = ["argmax", "frechet_mean", "constant", "observed_only", "crm", "nearest_observed"]
    assert len({series_class(name, names) for name in names}) == 6
    several = [f"K = {k}" for k in range(7)]
    assert [series_class(name, several) for name in several] == [f"s{i}" for i in range(7)]


def test_an_element_escapes_and_keeps_its_text_in_order():
    made = element("p", "a<", element("b", "&"), "c", None, title='"<')
    assert ElementTree.tostring(made).decode() == '<p title="&quot;&lt;">a&lt;<b>&amp;</b>c</p>'


# --- colors ----------------------------------------------------------------------------------------------


def scheme(block):
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", block))


LIGHT = scheme(STYLE[: STYLE.index("@media")])
DARK = LIGHT | scheme(
    STYLE[STYLE.index("@media screen and (prefers-color-scheme: dark)") : STYLE.index("* {")]
)


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_series_can_be_read_in_both_schemes(colors):
    for text in ("ink", "quiet", "link"):
        for ground in ("page", "card"):
            assert contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
    for tone in ("good", "mixed", "bad", "open"):
        assert contrast(colors[tone], colors[f"{tone}-soft"]) >= 4.5, tone
        assert contrast(colors["ink"], colors[f"{tone}-soft"]) >= 7, tone
    for i in range(7):
        assert contrast(colors[f"s{i}"], colors["card"]) >= 3, i


def test_every_color_that_is_used_is_defined_in_both_schemes():
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE)) - {"own"}
    assert used <= set(LIGHT)
    assert set(DARK) == set(LIGHT)
    assert LIGHT["page"] != DARK["page"]


LONG = "a long name of some setting or branch"


@pytest.mark.parametrize(
    "picture",
    [
        Differences("t", "x", "b", "w", tuple((LONG, m, m - 1.0, m + 1.0) for m in (-8.0, 0.0, 5.0))),
        Branches("t", "argmax", "Fréchet mean", tuple((LONG, 10, 1.0, after) for after in (0.5, 1.0, 3.0))),
    ],
    ids=["differences", "branches"],
)
def test_no_line_of_the_axis_crosses_a_name(picture):
    drawn = [numbers(e, "y1", "y2") for class_ in ("zero", "grid") for e in parts(picture, "line", class_)]
    names = [float(e.get("y")) for e in parts(picture, "text", "over")]
    assert len(names) == 2 * len(picture.rows)  # the name and the figure
    assert all(low >= base + 4 or high <= base - 12 for low, high in drawn for base in names)
    marked = {round(low) for low, _ in (numbers(e, "y1", "y2") for e in parts(picture, "line", "zero"))}
    assert len(marked) == len(picture.rows)  # zero is drawn in every row
