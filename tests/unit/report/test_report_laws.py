"""Laws of every report: the same figures in every form, nothing executed, the same bytes again."""

import dataclasses
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.texttable import shown
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import CompleteSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.report import Origin, as_bytes, evaluation_report, to_html, to_json, to_markdown
from labelgrove.report.experiment import overview_report
from labelgrove.report.forms import check_ending
from labelgrove.report.simplex import regions_of
from tests.report_samples import HOSTILE, SAMPLES, experiment_document, overview

VOID = {"meta", "br", "hr", "img", "input", "link", "col", "wbr"}
LOADING = {
    "script",
    "link",
    "img",
    "iframe",
    "object",
    "embed",
    "form",
    "image",
    "use",
    "base",
    "foreignObject",
}
"""What could load or run something."""

PLACES = {"default", "distance_best", "ece_best", "best"}
"""Places in the lists of a calibration, which pages show as names beside the figures."""


class Page(HTMLParser):
    """A page read strictly: tags must nest, and no name of an id may come twice."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.values, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self.values += [found["value"]] if tag == "data" else []
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def reports():
    return {name: make() for name, make in SAMPLES.items()}


@pytest.fixture(scope="module")
def pages(reports):
    return {name: Page(to_html(report)) for name, report in reports.items()}


def figures(value):
    """Yield every number of a JSON document."""
    if isinstance(value, dict):
        for part in value.values():
            yield from figures(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from figures(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def without_empty_bins(document):
    """Leave out what no table shows: bins beyond the last answer, and bins of confidence without a sample."""
    if "rules" in document:
        last = max(i for r in document["rules"].values() for i, n in enumerate(r["severity"]) if n)
        document = document | {"severity_edges": document["severity_edges"][: last + 1]}
    return {name: _full_bins(part) for name, part in document.items()}


def _full_bins(part):
    if not isinstance(part, dict):
        return part
    part = {name: inner for name, inner in part.items() if name not in PLACES}
    if "edges" not in part:
        return {name: _full_bins(inner) for name, inner in part.items()}
    full = [i for i, n in enumerate(part["counts"]) if n]
    return part | {"edges": [part["edges"][i] for i in full], "counts": [part["counts"][i] for i in full]}


def numbers(text):
    """Return everything in a text that reads as a number, as it is written."""
    return {word.rstrip(".,") for word in re.findall(r"-?\d[\d.,]*(?:e[+-]?\d+)?", text)}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_figure_of_the_json_stands_in_the_page_with_all_its_digits(reports, pages, name):
    wanted = set(figures(without_empty_bins(json.loads(to_json(reports[name])))))
    assert len(wanted) > 25
    assert sorted(wanted - {float(value) for value in pages[name].values}) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_every_figure_of_the_page_stands_in_the_markdown(reports, pages, name):
    wanted = {shown(json.loads(value)) for value in pages[name].values}
    assert sorted(wanted - numbers(to_markdown(reports[name]))) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_content_gives_the_same_bytes(reports, name):
    again = SAMPLES[name]()
    for form in (to_html, to_markdown, to_json):
        assert form(reports[name]) == form(again)


@pytest.mark.parametrize("name", [*SAMPLES, "overview"])
def test_a_page_is_well_formed_and_needs_nothing_else(reports, pages, name):
    text = to_html(overview() if name == "overview" else reports[name])
    page = Page(text) if name == "overview" else pages[name]
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert len(page.ids) == len(set(page.ids))
    assert len(page.all("h1")) == 1
    assert {tag for tag, _ in page.tags}.isdisjoint(LOADING)
    keys = {key for _, attributes in page.tags for key in attributes}
    assert not [
        key for key in keys if key.startswith("on") or key in ("src", "style", "srcset", "xlink:href")
    ]
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert all(re.fullmatch(r"made-up-\d/result\.html", link) for link in links)
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    assert not re.search(r"url\(|@import|@font-face|https?:", style)
    policy = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv")]
    assert policy[0].startswith("default-src 'none'; style-src 'unsafe-inline'")


@pytest.mark.parametrize("name", SAMPLES)
def test_names_are_text_and_never_markup(reports, pages, name):
    report, page = reports[name], pages[name]
    if name != "calibration":  # which names no label
        assert HOSTILE.replace("\x07", "\ufffd") in " ".join(page.words)
    text = to_markdown(report)
    prose = re.sub(r"(```+)sh\n.*?\n\1\n", "", text, flags=re.DOTALL)
    assert "<script" not in prose
    assert not re.search(r"(?<!\\)\]\(javascript", prose)
    assert "\x07" not in to_html(report) + text
    tables = [line for line in prose.splitlines() if line.startswith("|")]
    assert tables
    for line, after in pairwise(tables):
        if set(after) <= set("|-: "):
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"\|", after))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_picture_says_in_words_what_it_shows(pages, name):
    page = pages[name]
    texts = dict(zip(page.ids, page.ids, strict=True))
    drawn = [a for a in page.all("svg") if a.get("role") == "img"]
    assert drawn
    assert len(drawn) == len(page.all("figure")) == len(page.all("figcaption"))
    for attributes in drawn:
        assert attributes["aria-labelledby"] in texts
        assert attributes["aria-describedby"] in texts
    others = [a for a in page.all("svg") if a.get("role") != "img"]
    assert all(a["aria-hidden"] == "true" for a in others)


@pytest.mark.parametrize("name", SAMPLES)
def test_tables_have_captions_and_scopes_and_scroll_in_their_own_box(pages, name):
    page = pages[name]
    assert all(head["scope"] in ("col", "row") for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 0
    boxes = [a for a in page.all("div") if a.get("class") == "scroll"]
    assert len(boxes) == len(page.all("table"))
    assert all(a["role"] == "region" and a["tabindex"] == "0" and a["aria-label"] for a in boxes)


def test_the_verdict_stands_first_in_one_sentence(reports, pages):
    for name, report in reports.items():
        words = [w for w in pages[name].words if w.strip()]
        at = words.index(report.answer, 2)
        assert words[at + 1] == report.sentence
        assert report.sentence.endswith(".")
        assert to_markdown(report).splitlines()[0].startswith("# ")
    tones = {reports["too few"].tone, reports["calibrate first"].tone, reports["evaluation"].tone}
    assert tones == {"open", "mixed", "good"}


def test_a_short_text_leaves_out_what_is_folded(reports):
    report = reports["experiment"]
    whole, brief = to_markdown(report), to_markdown(report, level=2, brief=True)
    assert "Every unit that was computed" in whole
    assert "Every unit that was computed" not in brief
    assert brief.startswith("## made-up: holds in part\n")
    assert "(picture)" not in brief


def test_the_overview_counts_verdicts_and_leads_to_each_page():
    report = overview()
    assert report.answer == "2 hold, 1 holds in part, 1 does not hold, 1 reverses, 1 not testable"
    links = [a["href"] for a in Page(to_html(report)).all("a")]
    assert links == [f"made-up-{i}/result.html" for i in range(6)]
    lines = to_markdown(report).splitlines()
    (first,) = (i for i, line in enumerate(lines) if "[made-up-0](made-up-0/result.html)" in line)
    assert lines[first - 1] == "| --- | --- | --- | ---: |"  # words to the left, seconds to the right
    assert len(json.loads(to_json(report))) == 6
    assert "--quick" not in to_html(report)
    quick = experiment_document() | {"command": "grove experiment made-up --quick"}
    said = to_markdown(overview_report([quick, experiment_document()], [1.0, 1.0], lambda d: "page.html"))
    assert "1 of 2 ran with --quick" in said
    assert "Written by grove experiment all, which" in said
    shifted = experiment_document() | {"command": "grove experiment made-up --seeds-from 20"}
    said = to_markdown(overview_report([shifted, shifted], [1.0, 1.0], lambda d: "page.html"))
    assert "Written by grove experiment all --seeds-from 20, which" in said


def test_a_command_cannot_close_its_own_block(reports):
    report = reports["evaluation"]
    origin = dataclasses.replace(report.origin, command="echo ```` ``` x")
    text = to_markdown(dataclasses.replace(report, origin=origin))
    assert "\n`````sh\necho ```` ``` x\n`````\n" in text


def test_the_ending_of_a_file_says_the_form(reports, tmp_path):
    report = reports["experiment"]
    assert json.loads(as_bytes(report, tmp_path / "a.json")) == json.loads(json.dumps(experiment_document()))
    assert as_bytes(report, tmp_path / "a.md").decode() == to_markdown(report)
    assert as_bytes(report, tmp_path / "a.html").decode() == to_html(report)
    with pytest.raises(
        InputError, match=r"a\.pdf: its ending does not name a format; end the name in \.html, \.md"
    ):
        check_ending(tmp_path / "a.pdf")


PAIRS = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
FORK = LabelGraph.from_edges(PAIRS)


@pytest.mark.parametrize(
    ("space", "observed", "truth"),
    [
        (metric_space(FORK), ["oak"], ["oak"]),
        (metric_space(FORK), ["oak", "moss"], ["elm"]),
        (metric_space(FORK), ["oak", "elm", "moss"], ["tree"] * 40),
        (
            metric_space(LabelGraph.from_edges(PAIRS, weights=[0.3, 0.7, 1.1, 1.3])),
            ["oak", "elm", "moss"],
            ["tree", "oak"],
        ),
        (metric_space(FORK, "graph"), ["oak", "elm", "moss"], ["oak", "tree"]),
        (CompleteSpace(["a"]), ["a"], ["a"]),
        (CompleteSpace(["a", "b", "c", "d"]), ["a", "b", "c"], ["d", "a"]),
    ],
    ids=["one observed", "one sample", "three observed", "weights", "graph", "one label", "complete"],
)
def test_the_smallest_and_oddest_evaluations_have_a_report(space, observed, truth):
    P = np.random.default_rng(0).dirichlet(np.ones(len(observed)), len(truth))
    found = evaluate(space, P, truth, observed=observed, resamples=10)
    regions = regions_of(Adapter(build_bundle(space, observed)))
    report = evaluation_report(found, Origin("here", {}), regions=regions)
    page = Page(to_html(report))
    assert found.verdict.answer in " ".join(page.words)
    wanted = set(figures(without_empty_bins(json.loads(to_json(report)))))
    assert sorted(wanted - {float(value) for value in page.values}) == []
    assert to_markdown(report)
