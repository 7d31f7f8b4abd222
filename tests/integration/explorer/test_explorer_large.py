"""Large hierarchies, browsed from end to end. Run by `pytest -m browser` together with `long`."""

import pytest
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.snapshots import put_snapshot
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.benchmarks.graphs import LSHTC_EDGES, LSHTC_LABELS, category_graph
from tests.integration.explorer.explorer_cases import PIXEL, name, selected

pytestmark = [pytest.mark.browser, pytest.mark.long]

N_CHILDREN = 43_899
"""Children of the root, as many as one LSHTC label has."""

MOST_ROWS = 100
"""Rows in the page, whatever the size of the tree."""

IN_SIGHT = """box => {
  const { top, bottom } = box.getBoundingClientRect();
  const rows = [...box.querySelectorAll('.row')].map(row => row.getBoundingClientRect());
  return rows.some(row => row.top <= top + 1 && row.bottom > top) && rows.at(-1).bottom >= bottom - 1;
}"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a home with a hierarchy of 325,056 labels, and the id of a locus of 300 of them."""
    folder = tmp_path_factory.mktemp("large") / "home"
    graph = category_graph()
    assert (graph.n_labels, graph.n_edges) == (LSHTC_LABELS, LSHTC_EDGES)
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(folder)})) as workspace:
        register(workspace, "categories", put_snapshot(workspace.artifacts, graph, None, None))
        workspace.label_index("categories")
        observed = [graph.keys[i] for i in range(1_000, LSHTC_LABELS, LSHTC_LABELS // 300)]
        asked = {"ontology": "categories", "observed": observed, "metric": "tree"}
        job = client.submit(workspace, "locus", asked)
        assert (job.state, job.error) == (State.DONE, None)
    return folder, job.id


def scrolled(page, share):
    """Scroll the tree to a share of its height, and return the positions of the rows that are drawn."""
    tree = page.locator("#tree")
    tree.evaluate("(box, share) => { box.scrollTop = (box.scrollHeight - box.clientHeight) * share; }", share)
    for _ in range(200):
        if tree.evaluate(IN_SIGHT):
            break
        page.evaluate("() => new Promise(done => requestAnimationFrame(done))")
    assert tree.evaluate(IN_SIGHT)
    rows = page.locator("#tree .row")
    assert rows.count() <= MOST_ROWS
    return [int(row.get_attribute("data-at")) for row in (rows.first, rows.last)]


def test_home_counts_what_is_there(visit):
    page = visit("/")
    expect(page.locator(".figures")).to_contain_text(f"{LSHTC_LABELS:,} labels")
    expect(page.locator(".figures")).to_contain_text(f"{LSHTC_EDGES:,} edges")


@pytest.mark.parametrize("width", [360, 1400])
def test_a_label_with_43_899_children_is_scrolled_to_its_middle_and_its_end(visit, width):
    page = visit("/o/categories", width=width)
    children = page.request.get("/v1/ontologies/categories/children?key=000000&limit=1").json()
    assert children["total"] == N_CHILDREN
    expect(page.locator("#rows")).to_have_text(f"{N_CHILDREN + 1:,} rows")
    first, last = scrolled(page, 0.5)
    assert first < (N_CHILDREN + 1) / 2 < last
    page.locator("#tree .row").nth(12).click()
    row = selected(page)
    expect(name(page)).to_have_text(row.text_content())
    key = page.url.partition("key=")[2]
    first, last = scrolled(page, 1)
    assert last == N_CHILDREN
    page.locator("#tree").focus()
    page.keyboard.press("Home")
    expect(selected(page)).to_have_text("000000")
    page.keyboard.press("End")
    expect(page.locator("#tree .row").last).to_have_attribute("aria-selected", "true")
    page.goto(f"/o/categories?key={key}")
    expect(selected(page)).to_have_text(key)
    box, row = page.locator("#tree").bounding_box(), selected(page).bounding_box()
    assert box["y"] <= row["y"] <= box["y"] + box["height"]


def test_a_deep_label_is_found_shown_and_left_again(visit):
    page = visit("/o/categories")
    deepest = page.request.get("/v1/ontologies/categories/labels?q=0&depth=8&limit=1").json()["items"][0]
    page.locator("#q").fill(deepest["key"])
    page.locator("#hits li").first.click()
    expect(name(page)).to_have_text(deepest["name"])
    expect(selected(page)).to_have_text(deepest["name"])
    expect(page.locator("#crumbs [aria-current]")).not_to_have_text("000000")
    page.locator("#label .acts a", has_text="Own page").click()
    expect(page.locator("h1")).to_have_text(deepest["name"])
    page.go_back()
    expect(name(page)).to_have_text(deepest["name"])
    expect(selected(page)).to_have_text(deepest["name"])
    page.go_back()
    expect(name(page)).to_have_text("000000")


def test_each_of_many_children_is_taken_on_the_map(visit, home):
    page = visit(f"/o/categories?marks={home[1]}")
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs [aria-current]")).to_have_text("000000")
    size = canvas.bounding_box()
    assert page.request.get("/v1/ontologies/categories/map?width=1").status == 400
    drawn = page.request.get(
        f"/v1/ontologies/categories/map?width={round(size['width'])}&marks={home[1]}"
    ).json()
    points = [(y, left) for y, row in enumerate(drawn["rows"]) for _, left, _ in row["points"]["OBSERVES"]]
    assert len(points) > 150
    height = min(60, max(28, size["height"] // len(drawn["rows"])))
    for y, left in points[::20]:
        assert canvas.evaluate(PIXEL, [min(left + 1, size["width"] - 1), y * height + 3]) == [213, 94, 0, 255]
    canvas.click(position={"x": size["width"] - 3, "y": height * 1.5})
    expect(page.locator("#name")).not_to_have_text("000000")
    taken = page.request.get(f"/v1/ontologies/categories/label?key={name(page).text_content()}").json()
    assert [one["key"] for one in taken["path"]][:1] == ["000000"]
    assert taken["depth"] == 1
    expect(selected(page)).to_have_text(taken["name"])
