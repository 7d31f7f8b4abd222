"""WHAT-IF in a real browser: it shows what `grove score --explain` says. Run by `pytest -m browser`."""

import io
import re
from urllib.parse import quote

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.client import build_bundle_job
from labelgrove.workers.ledger.states import State
from tests.integration.explorer.explorer_cases import PIXEL, SCRIPT
from tests.unit.service.service_cases import printed

pytestmark = pytest.mark.browser

OBSERVED = ["oak", "elm", "tea", "c0001", "c0002", "h1"]
ONE = [0.35, 0.3, 0.2, 0.1, 0.05, 0.0]
PAGE = "/bundles/garden/model/what-if"
HEAT = {
    "light": {"h1": [83, 32, 128, 255], "h6": [240, 234, 247, 255], "cell": [232, 235, 233, 255]},
    "dark": {"h1": [220, 196, 255, 255], "h6": [53, 43, 71, 255], "cell": [42, 48, 45, 255]},
}


@pytest.fixture(scope="module", autouse=True)
def bundles(home):
    """Build the bundles ``model`` and ``leafy`` of ``garden``."""
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        for name, labels in (("model", "all"), ("leafy", "leaves")):
            job = build_bundle_job(workspace, "garden", name, OBSERVED, metric="tree", labels=labels)
            assert (job.state, job.error) == (State.DONE, None)


@pytest.fixture
def explained(home, tmp_path):
    """Return a function that explains a row on the command line."""

    def run(row, *options, bundle="garden/model"):
        np.save(tmp_path / "row.npy", np.array([row]))
        words = ["score", bundle, str(tmp_path / "row.npy"), "--columns", "bundle", "--explain", "0"]
        return printed(home[0], *words, *options)

    return run


def settled(page):
    expect(page.locator("#outcome")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#outcome #facts")).to_be_visible()


def shows(page, document):
    """Assert that the page shows each figure of an explanation, to the last digit."""
    settled(page)
    expect(page.locator("#outcome .key")).to_have_text(document["answer"])
    figures = [float(one.get_attribute("data-value")) for one in page.locator("#facts [data-value]").all()]
    known = ("value", "n_tied", "argmax_value", "runner_up_value", "margin")
    assert figures == [document[name] for name in known if document[name] is not None]
    keys = [one.get_attribute("data-key") for one in page.locator("#facts [data-key]").all()]
    assert keys == [document[name] for name in ("argmax", "runner_up") if document[name] is not None]
    path = [one.get_attribute("data-key") for one in page.locator("#path [data-key]").all()]
    assert path == document["path"]
    pulls = [
        (
            one.get_attribute("data-key"),
            *(float(x.get_attribute("data-value")) for x in one.locator("[data-value]").all()),
        )
        for one in page.locator("#pulls > li").all()
    ]
    assert pulls == [(one["key"], one["pull"], one["pull_at_argmax"]) for one in document["contributions"]]


def row_of(page):
    return [float(x) for x in page.locator("[name=row]").input_value().split(",")]


def test_a_pasted_row_is_explained_as_on_the_command_line(visit, explained):
    page = visit(PAGE, refused=True)
    text = page.locator("[name=row]")
    text.fill(", ".join(map(str, ONE)))
    shows(page, explained(ONE))
    assert explained(ONE)["argmax"] != explained(ONE)["answer"]
    text.fill("oak: 0.5\nodd 1: 0.5")
    expect(page.locator("#outcome")).to_contain_text("'odd 1' is unknown")
    text.fill(f"oak: 0.5\n{SCRIPT}: 0.5")
    shows(page, explained([0.5, 0, 0, 0, 0, 0.5]))
    text.fill('{"tea rose": 1, "elm": 3}')
    shows(page, explained([0, 3, 1, 0, 0, 0]))
    text.fill("oak\telm\ttea\n.25\t.5\t.25")
    shows(page, explained([0.25, 0.5, 0.25, 0, 0, 0]))
    text.fill("0 0 0 0 0 0")
    expect(page.locator("#outcome .problem")).to_contain_text("sums to 0")
    expect(page.locator("#facts")).to_have_count(0)


def test_a_row_of_a_file_is_explained_with_temperature_and_candidates(visit, explained):
    rows = np.random.default_rng(3).normal(size=(4, 6)).astype(np.float32) * 3
    file = io.BytesIO()
    np.save(file, rows)
    page = visit(PAGE, refused=True)
    page.locator("[name=outputs]").select_option("logits")
    page.locator("[name=file]").set_input_files(
        {"name": "P.npy", "mimeType": "application/octet-stream", "buffer": file.getvalue()}
    )
    shows(page, explained(rows[0], "--outputs", "logits"))
    page.locator("[name=number]").fill("3")
    page.locator("[name=number]").press("Tab")
    shows(page, explained(rows[3], "--outputs", "logits"))
    page.locator("[name=temperature]").fill("3.5")
    options = ["--outputs", "logits", "--temperature", "3.5"]
    shows(page, explained(rows[3], *options))
    for candidates in ("leaves", "locus", "subtree:tree", "c0001,c0500,shrub"):
        page.locator("[name=candidates]").fill(candidates)
        shows(page, explained(rows[3], *options, "--candidates", candidates))
    page.wait_for_url("**candidates=c0001**")
    page.reload()  # the address has everything
    shows(page, explained(rows[3], *options, "--candidates", "c0001,c0500,shrub"))
    page.locator("[name=candidates]").fill("nobody")
    expect(page.locator("#outcome .problem")).to_contain_text("nobody")
    page.locator("[name=number]").fill("4")
    page.locator("[name=file]").set_input_files(
        {"name": "P.npy", "mimeType": "application/octet-stream", "buffer": file.getvalue()}
    )
    expect(page.locator("#outcome .problem")).to_contain_text("has 4 rows")


def test_sliders_move_the_row_and_keep_its_sum(visit, explained):
    page = visit(f"{PAGE}?row={quote(str(ONE))}")
    shows(page, explained(ONE))
    expect(page.locator("#slide li")).to_have_count(5)  # classes without weight have no slider
    expect(page.locator("#rule")).to_contain_text("the sum stays 1")
    page.get_by_role("slider", name="tea rose").fill("0.8")
    row = row_of(page)
    assert (row[2], sum(row)) == pytest.approx((0.8, 1))
    assert row[0] / row[1] == pytest.approx(ONE[0] / ONE[1])
    shows(page, explained(row))
    page.get_by_role("slider", name="tea rose").fill("0.2")
    assert row_of(page) == pytest.approx(ONE)
    page.locator("#add").fill("h1")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#slide li")).to_have_count(6)
    page.get_by_role("spinbutton", name="Number of <script>").fill("1")
    expect(page.locator("#outcome .key")).to_have_text("h1")
    assert row_of(page) == pytest.approx([0, 0, 0, 0, 0, 1])
    shows(page, explained(row_of(page)))
    assert page.evaluate("window.ran") is None
    page.locator("#add").fill("nobody at all")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#said")).to_contain_text("unknown")


def test_logits_move_alone(visit, explained):
    page = visit(f"{PAGE}?row={quote('1 2 3 0 -1 -2')}&outputs=logits&temperature=2")
    options = ["--outputs", "logits", "--temperature", "2"]
    shows(page, explained([1.0, 2, 3, 0, -1, -2], *options))
    page.get_by_role("spinbutton", name="Number of oak").fill("7")
    page.wait_for_url(re.compile("row=7"))
    assert row_of(page)[1:] == [2, 3, 0, -1, -2]
    shows(page, explained(row_of(page), *options))


def test_an_answer_that_comes_late_is_not_shown(visit, explained):
    page = visit(f"{PAGE}?row={quote(str(ONE))}")
    settled(page)
    held = []
    page.route("**/heat?**", lambda route: held.append(route))
    with page.expect_request("**/heat?**"):
        page.locator("[name=row]").fill("1 0 0 0 0 0")
    page.unroute("**/heat?**")
    page.locator("[name=row]").fill("0 0 0 1 0 0")
    shows(page, explained([0, 0, 0, 1.0, 0, 0]))
    for route in held:
        route.continue_()
    page.wait_for_load_state("networkidle")
    expect(page.locator("#outcome .key")).to_have_text("c0001")


@pytest.mark.parametrize(("text", "said"), [("", "Paste a row"), ("1 0", "2 numbers given; give 6")])
def test_an_answer_to_a_row_that_is_gone_is_not_shown(visit, text, said):
    page = visit(f"{PAGE}?row={quote(str(ONE))}", refused=True)
    settled(page)
    page.route("**/heat?**", lambda route: None)  # never answered
    with page.expect_request("**/heat?**"):
        page.locator("[name=row]").fill("1 0 0 0 0 0")
    with page.expect_event("requestfailed", lambda request: "/heat?" in request.url):
        page.locator("[name=row]").fill(text)
    expect(page.locator("#outcome")).to_contain_text(said)
    expect(page.locator("#facts")).to_have_count(0)
    expect(page.locator("#sliders")).to_be_hidden()


def test_candidates_that_were_wrong_can_be_corrected(visit, explained):
    page = visit(f"{PAGE}?row={quote(str(ONE))}&candidates=nobody", refused=True)
    expect(page.locator("#outcome .problem")).to_contain_text("nobody")
    page.locator("[name=candidates]").fill("leaves")
    shows(page, explained(ONE, "--candidates", "leaves"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "ratio"), [(360, 3), (800, 1), (1400, 2)])
def test_the_map_shows_variances_as_heat(visit, width, ratio, scheme):
    row = quote("0 0 0 1 0 0")
    page = visit(f"{PAGE}?row={row}", width=width, scheme=scheme, device_scale_factor=ratio)
    settled(page)
    expect(page.locator("#legend .h6")).to_be_visible()
    canvas = page.locator("canvas")
    size = canvas.bounding_box()
    # the answer is below crowd, so the lowest variances of plant and crowd are that of the answer
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 5]) == HEAT[scheme]["h1"]
    page.get_by_role("navigation", name="Path of the map").get_by_role("button", name="plant").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = [
        one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")
    ]
    assert found == []


def test_each_cell_has_the_color_of_its_lowest_variance(visit):
    page = visit(f"{PAGE}?row={quote('0.6 0.4 0 0 0 0')}")
    settled(page)
    canvas = page.locator("canvas")
    colors = page.evaluate(
        """() => Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6", "cell"].map(name => {
            const pen = document.createElement("canvas").getContext("2d");
            pen.fillStyle = getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
            pen.fillRect(0, 0, 1, 1);
            return [name, [...pen.getImageData(0, 0, 1, 1).data]];
        }))"""
    )
    with page.expect_response("**/heat?**") as asked:
        page.set_viewport_size({"width": 1300, "height": 900})
    settled(page)
    heat, size = asked.value.json(), canvas.bounding_box()
    address = re.sub(r".*/heat\?", "/v1/ontologies/garden/map?", asked.value.url)
    drawn = page.request.get(address).json()
    high = max(28, min(60, int(size["height"] // len(drawn["rows"]))))
    seen = 0
    for y, (row, cells) in enumerate(zip(heat["rows"], drawn["rows"], strict=True)):
        for (_, left, wide), lowest in zip(cells["cells"], row["lowest"], strict=True):
            if wide < 30:
                continue
            seen += 1
            step = 1 + sum(lowest > edge for edge in heat["edges"][1:-1])
            x = (left + wide) * size["width"] / drawn["width"] - 4
            assert canvas.evaluate(PIXEL, [x, y * high + 8]) == colors[f"h{step}"]
    assert seen >= 2


def test_labels_that_cannot_be_answers_are_drawn_apart(visit):
    page = visit(f"/bundles/garden/leafy/what-if?row={quote(str(ONE))}&candidates=oak,elm")
    settled(page)
    expect(page.locator("#legend")).to_contain_text("no candidate")
    canvas = page.locator("canvas")
    size = canvas.bounding_box()
    # crowd has neither oak nor elm
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 65]) == HEAT["light"]["cell"]
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 5]) == HEAT["light"]["h1"]


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_row_is_explained_without_scripts(visit, explained, width):
    page = visit(PAGE, java_script_enabled=False, width=width, refused=True)
    page.locator("[name=row]").fill("tea: 0.5\noak: 0.25\nelm: 0.25")
    page.get_by_role("button", name="Answer").click()
    document = explained([0.25, 0.25, 0.5, 0, 0, 0])
    expect(page.locator("#outcome .key")).to_have_text(document["answer"])
    expect(page.locator("#outcome")).to_contain_text(f"{document['value']:.6g}")
    file = io.BytesIO()
    np.save(file, np.eye(6))
    page.locator("[name=file]").set_input_files(
        {"name": "P.npy", "mimeType": "application/octet-stream", "buffer": file.getvalue()}
    )
    page.locator("[name=number]").fill("4")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#outcome .key")).to_have_text("c0002")
    page.goto(f"{PAGE}?row=1+2")
    expect(page.locator(".problem")).to_contain_text("2 numbers given; give 6")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bundles_are_found_from_the_ontology(visit, scheme):
    for width in (360, 800, 1400):
        page = visit("/o/garden", scheme=scheme, width=width)
        page.get_by_role("link", name="bundles", exact=True).click()
        page.get_by_role("link", name="garden/model").click()
        expect(page.locator("h1")).to_have_text("garden/model")
        expect(page.locator(".list li")).to_have_count(6)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        assert [one for one in found if one["impact"] in ("serious", "critical")] == []
        page.get_by_role("link", name="What if").click()
        expect(page).to_have_url(re.compile(f"{PAGE}$"))
        expect(page.locator("#outcome")).to_contain_text("Paste a row")
