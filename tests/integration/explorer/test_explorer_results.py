"""HOME, the results of labels, and reports of the explorer. Run by `pytest -m browser`."""

import math
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.integration.explorer.explorer_cases import name
from tests.unit.service.service_cases import fill_results

pytestmark = pytest.mark.browser

HEIGHT = "document.querySelector('iframe').contentDocument.documentElement.getBoundingClientRect().height"
REPORTS = {"evaluation": "Comparison of the rules", "experiment": "What was found"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a home with three versions and results, and the id of each job by its kind."""
    home = tmp_path_factory.mktemp("explorer") / "home"
    return home, fill_results(home, experiment=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_report_is_shown_inside_its_page_in_full(visit, home, width, scheme):
    for kind, heading in REPORTS.items():
        page = visit(f"/jobs/{home[1][kind]}/result", width=width, scheme=scheme)
        report = page.frame_locator("iframe.report")
        expect(report.get_by_role("heading", name=heading)).to_be_visible()
        frame = page.locator("iframe.report")
        inner = page.evaluate(HEIGHT)
        assert abs(frame.bounding_box()["height"] - inner) < 6  # only the page around it scrolls
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        report.locator("details").first.locator("summary").click()
        opened = page.evaluate(HEIGHT)
        assert opened > inner
        expect(frame).to_have_css("height", f"{math.ceil(opened) + 2}px")


def test_a_report_runs_no_script_and_can_be_read_without_any(visit, home):
    for kind, heading in REPORTS.items():
        page = visit(f"/jobs/{home[1][kind]}/result", java_script_enabled=False)
        expect(page.frame_locator("iframe.report").get_by_role("heading", name=heading)).to_be_visible()
        page = visit(f"/jobs/{home[1][kind]}/result")
        assert page.frame_locator("iframe.report").locator("script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_with_results_have_no_serious_violation_of_accessibility(visit, home, scheme):
    _, ids = home
    for path in (
        "/",
        "/o/garden/label?key=tree",
        "/search?q=oa",
        *(f"/jobs/{ids[kind]}/result" for kind in REPORTS),
    ):
        found = Axe().run(visit(path, scheme=scheme)).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], path


def test_home_leads_to_stale_jobs_and_to_the_newest_verdict(visit, home):
    page = visit("/")
    row = page.locator(".ontologies li")
    expect(row).to_contain_text("depth 2")
    expect(row).to_contain_text("3 versions")
    expect(row.locator("time")).to_have_attribute("title", re.compile(r"^20\d\d-.*Z$"))
    row.get_by_role("link", name="2 stale jobs").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.go_back()
    page.locator(".verdict").click()
    expect(page.locator("h1")).to_contain_text("evaluation")


def test_the_owner_sees_what_the_doctor_noted_as_soon_as_it_is_known(visit, sign_in, served):
    _, application = served
    page = visit("/")
    expect(page.get_by_text("Health")).to_have_count(0)
    sign_in(page)
    expect(page.locator("#notes")).to_contain_text("grove doctor")
    expect(page.locator("#notes:not([data-wait])")).to_have_count(1, timeout=60_000)
    checkup = application.state.shared.checkup
    checkup._notes = [{"part": "disk", "ok": None, "uses": "/<b>", "detail": "free some space: <i>now</i>"}]
    page.reload()
    expect(page.locator("#notes")).to_contain_text("free some space: <i>now</i>")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_search_from_home_looks_into_every_ontology(visit):
    page = visit("/")
    page.keyboard.press("/")
    page.keyboard.type("oa")
    expect(page.locator("#hits li")).to_have_count(1)
    expect(page.locator("#hits li")).to_contain_text("in garden")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("1 label")
    page.locator("#q").fill("elm")
    page.locator("#hits li").first.click()
    expect(name(page)).to_have_text("Elm")


def test_a_label_says_what_results_and_versions_say_of_it(visit, home):
    page = visit("/o/garden?key=tree")
    panel = page.locator("#label")
    expect(panel).to_contain_text("reached, as the only answer")
    expect(panel.locator(".witness")).to_contain_text("Oak")
    expect(panel).to_contain_text("not picked")
    expect(panel.locator(".history summary")).to_have_text("3 of the 3 versions have it")
    panel.locator(".witness a", has_text="Oak").click()
    expect(name(page)).to_have_text("Oak")
    page.locator("#label .history a").last.click()
    expect(page.locator(".version")).to_contain_text("not current")
    expect(page.locator("h1")).to_have_text("oak")
