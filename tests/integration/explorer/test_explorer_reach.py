"""The live locus: classes reach what `grove locus` says, label by label. Run by `pytest -m browser`."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from tests.integration.explorer.explorer_cases import PIXEL
from tests.unit.service.service_cases import printed

pytestmark = pytest.mark.browser

OPEN = "/o/garden/reach"


def located(home, keys, *options):
    return printed(home[0], "locus", "garden", "--metric", "tree", "--observed", ",".join(keys), *options)


def classes(page):
    return page.locator("#classes li").evaluate_all("rows => rows.map(row => row.dataset.key)")


REACHED = """async () => {
  const { version } = document.body.dataset, keys = [], headers = { "Content-Type": "application/json" };
  const observed = [...document.querySelectorAll("#classes li")].map(row => row.dataset.key);
  const taken = Number(document.querySelector("[name=taken]").value);
  const body = JSON.stringify({ observed, metric: "tree", taken });
  let after = "";
  do {
    const query = new URLSearchParams({ version, limit: 1000, ...(after ? { after } : {}) });
    const url = `/v1/ontologies/garden/reach/labels?${query}`;
    const found = await (await fetch(url, { method: "POST", headers, body })).json();
    keys.push(...found.items.map(item => item.key));
    after = found.next;
  } while (after);
  return keys;
}"""


def reached(page):
    """Return all labels that the service lists for what the page has chosen."""
    return page.evaluate(REACHED)


def paste(page, text):
    """Paste a text into the field for classes."""
    page.locator("#add textarea").evaluate(
        """(field, text) => {
          const clipboardData = new DataTransfer(), options = { bubbles: true, cancelable: true };
          clipboardData.setData("text", text);
          field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, ...options }));
        }""",
        text,
    )


def expect_figures(page, home, keys):
    """The page shows, and the service lists, what the command prints about these classes."""
    found = located(home, keys)
    figure = page.locator("#reached .figure b")
    expect(figure).to_have_text(f"{found['size']:,}")
    expect(page.locator("#reached")).to_contain_text(f"{found['n_unique']:,} as the only answer")
    assert reached(page) == [one["key"] for one in found["members"]]


def test_classes_are_chosen_by_search_click_paste_and_file(visit, home, tmp_path):
    page = visit(OPEN)
    expect(page.locator("#reached .figure b")).to_have_text("0")
    page.locator("#q").fill("oak")
    page.locator("#hits li").first.click()
    expect(page.locator("#n-classes")).to_have_text("1 class")
    expect_figures(page, home, ["oak"])
    page.locator("#add textarea").fill("tea rose\nelm\n")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#n-classes")).to_have_text("3 classes")
    assert classes(page) == ["oak", "tea", "elm"]
    expect_figures(page, home, ["oak", "tea", "elm"])
    (tmp_path / "classes.csv").write_text("key,name\nc1500,member 1500\nc1501,member 1501\n")
    page.locator("input[type=file]").set_input_files(tmp_path / "classes.csv")
    expect(page.locator("#n-classes")).to_have_text("5 classes")
    expect(page.locator("#unbound")).to_contain_text("no label has this key or name")  # the header
    expect_figures(page, home, ["oak", "tea", "elm", "c1500", "c1501"])
    canvas = page.locator("canvas")
    size = canvas.bounding_box()
    canvas.click(position={"x": size["width"] / 2, "y": 65})
    expect(page.locator("#n-classes")).to_have_text("6 classes")
    assert classes(page)[-1] == "crowd"
    expect_figures(page, home, classes(page))
    row = page.get_by_role("treeitem", name="plant", exact=False).first
    expect(row).to_have_attribute("aria-selected", "false")
    row.locator("bdi").click()
    expect(page.locator("#n-classes")).to_have_text("7 classes")
    expect(row).to_have_attribute("aria-selected", "true")
    expect_figures(page, home, classes(page))
    row.locator("bdi").click()
    expect(page.locator("#n-classes")).to_have_text("6 classes")
    expect(row).to_have_attribute("aria-selected", "false")


def test_a_slider_shows_what_further_classes_add_and_they_are_those_of_the_command(visit, home):
    page = visit(f"{OPEN}?observed=oak&observed=tea")
    picks = printed(home[0], "select", "garden", "--metric", "tree", "--observed", "oak,tea", "-n", "10")[
        "picks"
    ]
    expect(page.locator("#picks li")).to_have_count(10)
    assert page.locator("#picks li").evaluate_all("rows => rows.map(row => row.dataset.key)") == [
        one["key"] for one in picks
    ]
    expect(page.locator("#picks li").first).to_contain_text(f"+{picks[0]['gain']:,}")
    page.locator("[name=taken]").fill("3")
    expect(page.locator("#picks .taken")).to_have_count(3)
    expected = located(home, ["oak", "tea", *[one["key"] for one in picks[:3]]])
    expect(page.locator("#reached .figure b")).to_have_text(f"{expected['size']:,}")
    expect(page.locator("#reached")).to_contain_text("with 3 picks")
    assert reached(page) == [one["key"] for one in expected["members"]]
    assert "taken=3" in page.url
    page.locator("#picks button").first.click()
    expect(page.locator("#n-classes")).to_have_text("3 classes")
    expect_figures(page, home, classes(page))


def test_steps_are_undone_by_button_and_history_and_an_address_brings_them_back(visit, home):
    page = visit(OPEN)
    for key in ("oak", "elm"):
        page.locator("#add textarea").fill(key)
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(f"#classes li[data-key={key}]")).to_be_visible()
    address = page.url
    page.get_by_role("button", name="Remove elm").click()
    expect(page.locator("#n-classes")).to_have_text("1 class")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#n-classes")).to_have_text("2 classes")
    page.go_back()
    expect(page.locator("#n-classes")).to_have_text("1 class")
    expect_figures(page, home, ["oak"])
    again = visit(address)
    expect(again.locator("#n-classes")).to_have_text("2 classes")
    expect_figures(again, home, ["oak", "elm"])
    again.get_by_role("button", name="Clear").click()
    expect(again.locator("#reached .figure b")).to_have_text("0")


def test_a_thousand_classes_are_shown_and_survive_a_reload(visit, home):
    keys = [f"c{i:04}" for i in range(1_000)]
    page = visit(OPEN)
    digest = page.locator("body").get_attribute("data-version")
    page.goto(f"{OPEN}?version={digest}&metric=tree")
    paste(page, "\n".join(keys))
    expect(page.locator("#n-classes")).to_have_text("1,000 classes")
    expect_figures(page, home, keys)
    assert page.url.endswith(f"{OPEN}?version={digest}#1,000-classes")
    page.reload()
    expect(page.locator("#n-classes")).to_have_text("1,000 classes")
    expect_figures(page, home, keys)
    assert page.locator("body").get_attribute("data-pinned") == digest


def test_misspelt_and_ambiguous_lines_offer_what_they_may_mean(visit):
    page = visit(OPEN)
    page.locator("#add textarea").fill("shrubb\nno such thing at all")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#unbound .problem")).to_have_count(2)
    page.locator("#unbound button", has_text="shrub").click()
    expect(page.locator("#n-classes")).to_have_text("1 class")
    expect(page.locator("#unbound .problem")).to_have_count(1)


def test_another_metric_is_a_job_whose_result_streams_in(visit, home, sign_in):
    page = visit(OPEN)
    page.locator("[name=labels]").select_option("leaves")
    expect(page.locator("#reached .problem")).to_contain_text("the scope work")
    sign_in(page)
    page.goto(f"{OPEN}?observed=oak&observed=tea&labels=leaves&picks=2")
    expect(page.locator("#reached")).to_contain_text("Jobs compute it")
    expect(page.locator("#bound")).to_contain_text("A job computes the picks")
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        for job in client.list_jobs(workspace, limit=10):
            client.wait(workspace, job.id)
    found = printed(
        home[0], "locus", "garden", "--metric", "tree", "--labels", "leaves", "--observed", "oak,tea"
    )
    expect(page.locator("#reached .figure b")).to_have_text(f"{found['size']:,}", timeout=20_000)
    picks = printed(
        home[0], "select", "garden", "--metric=tree", "--labels=leaves", "--observed=oak,tea", "-n2"
    )
    expect(page.locator("#picks li")).to_have_count(len(picks["picks"]))


def test_it_is_kept_as_jobs_and_as_a_bundle(visit, home, sign_in):
    page = visit("/")
    sign_in(page)
    page.goto(f"{OPEN}?observed=oak&observed=elm")
    page.get_by_role("button", name="Locus as a job").click()
    expect(page.locator("#saved a").first).to_contain_text("locus")
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        asked = {"ontology": "garden", "observed": ["oak", "elm"], "metric": "tree", "labels": "all"}
        mine = client.submit(workspace, "locus", asked, wait=False)
    expect(page.locator("#saved a").first).to_have_attribute("href", f"/jobs/{mine.id}")
    page.locator("[name=bundle]").fill("from-page")
    page.get_by_role("button", name="Build a bundle").click()
    expect(page.locator("#saved a").first).to_contain_text("bundle")
    job = page.locator("#saved a").first.get_attribute("href").rpartition("/")[2]
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        client.wait(workspace, job)
    assert printed(home[0], "bundle", "inspect", "garden/from-page")["n_observed"] == 2
    page.get_by_role("link", name="open the bundle from-page").click()
    expect(page.locator("h1")).to_have_text("garden/from-page")


def test_the_picks_of_the_budget_become_classes_at_once(visit):
    page = visit(f"{OPEN}?observed=oak&taken=2")
    expect(page.locator("#picks .taken")).to_have_count(2)
    picked = page.locator("#picks .taken").evaluate_all("rows => rows.map(row => row.dataset.key)")
    page.get_by_role("button", name="Add these picks").click()
    expect(page.locator("#classes li")).to_have_count(3)
    chosen = page.locator("#classes li").evaluate_all("rows => rows.map(row => row.dataset.key)")
    assert chosen == ["oak", *picked]
    expect(page.locator("#adopt")).to_be_hidden()


def test_enter_in_the_search_adds_the_first_label(visit):
    page = visit(f"{OPEN}?observed=oak")
    page.locator("#q").fill("elm")
    expect(page.locator("#hitnote")).to_contain_text("Enter adds the first")
    page.locator("#q").press("Enter")
    expect(page.locator('#classes li[data-key="elm"]')).to_be_visible()
    assert page.url.endswith("observed=oak&observed=elm")


def test_the_map_shows_what_is_reached_and_what_picks_add(visit):
    page = visit(f"{OPEN}?observed=c0000&observed=c1500")
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs")).to_contain_text("plant")
    size = canvas.bounding_box()
    expect(page.locator("#reached .figure b")).to_have_text("3")
    faint = canvas.evaluate(PIXEL, [size["width"] * 0.7, 90])
    paste(page, "\n".join(f"c{i:04}" for i in range(3_000)))
    expect(page.locator("#n-classes")).to_have_text("3,000 classes")
    expect(page.locator("#reached .figure b")).to_have_text("3,001")
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 90]) != faint


def test_it_reads_without_scripts(visit):
    page = visit(f"{OPEN}?observed=oak&observed=tea&taken=2", java_script_enabled=False)
    expect(page.locator("#reached")).to_contain_text("labels reached")
    expect(page.locator("#picks li")).to_have_count(10)
    page.locator("#add textarea").fill("elm")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#classes li")).to_have_count(3)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nobody_is_kept_out(visit, scheme, width):
    page = visit(f"{OPEN}?observed=oak&observed=h1&observed=h3&taken=2", width=width, scheme=scheme)
    expect(page.locator("#picks li")).to_have_count(10)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
