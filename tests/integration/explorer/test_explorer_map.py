"""The map of the explorer, pixel by pixel. Run by `pytest -m browser`."""

import re

import pytest
from playwright.sync_api import expect

from tests.integration.explorer.explorer_cases import COLORS, PIXEL, name, selected

pytestmark = pytest.mark.browser

# ---- the map ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "ratio"), [(360, 3), (800, 1), (1400, 2)])
def test_the_map_shows_the_label_in_hand_and_the_way_to_it(visit, width, ratio, scheme):
    page = visit("/o/garden?key=crowd", width=width, scheme=scheme, device_scale_factor=ratio)
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs")).to_contain_text("plant")
    expect(name(page)).to_have_text("crowd")
    size = canvas.bounding_box()
    assert canvas.evaluate("canvas => canvas.width") == round(size["width"] * ratio)
    # plant has 3,026 labels, and the branch of crowd comes first in it
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 5]) == COLORS[scheme]["way"]
    assert canvas.evaluate(PIXEL, [size["width"] * 0.7, 65]) == COLORS[scheme]["here"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_map_shows_which_labels_a_result_marks(visit, home, scheme):
    page = visit(f"/jobs/{home[1]}/result", scheme=scheme)
    page.get_by_role("link", name="garden on the map").click()
    expect(page.locator(".marks")).to_contain_text("locus")
    page.locator("#q").fill("oak")
    page.locator("#hits li").first.click()
    expect(page.locator("#crumbs [aria-current]")).to_have_text("tree")
    canvas = page.locator("canvas")
    width = canvas.bounding_box()["width"]
    observed = {"light": [213, 94, 0, 255], "dark": [245, 133, 63, 255]}[scheme]
    assert canvas.evaluate(PIXEL, [width * 0.95, 75]) == observed  # oak
    assert canvas.evaluate(PIXEL, [width * 0.55, 75]) == COLORS[scheme]["cell"]  # elm
    expect(page.locator("#label")).to_contain_text("observed")
    page.go_back()
    assert f"marks={home[1]}" in page.url


def test_the_map_zooms_by_click_wheel_and_key(visit):
    page = visit("/o/garden")
    canvas, crumbs = page.locator("canvas"), page.locator("#crumbs")
    expect(crumbs).to_contain_text("plant")
    size = canvas.bounding_box()
    canvas.click(position={"x": size["width"] / 2, "y": 65})
    expect(crumbs.locator("[aria-current]")).to_have_text("crowd")
    expect(name(page)).to_have_text("crowd")
    expect(selected(page)).to_have_text("crowd")
    canvas.focus()
    page.keyboard.press("Escape")
    expect(crumbs.locator("[aria-current]")).to_have_text("plant")
    page.keyboard.press("ArrowUp")
    expect(name(page)).to_have_text("plant")
    page.keyboard.press("ArrowDown")
    expect(name(page)).to_have_text("crowd")
    page.keyboard.press("Enter")
    expect(crumbs.locator("[aria-current]")).to_have_text("crowd")
    page.get_by_role("button", name="Zoom out").click()
    expect(crumbs.locator("[aria-current]")).to_have_text("plant")
    page.mouse.move(size["x"] + size["width"] / 2, size["y"] + 65)
    expect(page.locator(".tip")).to_contain_text("3,001 labels")
    page.mouse.wheel(0, -100)
    expect(crumbs.locator("[aria-current]")).to_have_text("crowd")


def test_the_map_follows_the_size_of_the_window(visit):
    page = visit("/o/garden", width=1400)
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs")).to_contain_text("plant")
    for width in (1000, 360, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_load_state("networkidle")
        expect(canvas).to_be_visible()
        inner = canvas.bounding_box()["width"]
        expect(canvas).to_have_js_property("width", round(inner))
        assert canvas.evaluate(PIXEL, [inner - 20, 5]) == COLORS["light"]["cell"]


POINT = {"light": [213, 94, 0, 255], "dark": [245, 133, 63, 255]}
RELOADED = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_observed_label_with_children_has_its_diamond_too(visit, inner_job, scheme):
    page = visit(f"/o/garden?key=oak&marks={inner_job}", scheme=scheme)
    expect(page.locator("#crumbs [aria-current]")).to_have_text("tree")
    canvas = page.locator("canvas")
    assert canvas.evaluate(PIXEL, [11, 30]) == POINT[scheme]  # tree, which is on top
    # without the diamond, the cell has the color of its share
    assert canvas.evaluate(PIXEL, [40, 5]) != POINT[scheme]


def test_an_observed_label_is_seen_however_narrow_it_is(visit, inner_job):
    """One of 3,000 children is narrower than a pixel."""
    page = visit(f"/o/garden?marks={inner_job}")
    expect(page.locator("#crumbs [aria-current]")).to_have_text("plant")
    drawn = page.request.get(f"/v1/ontologies/garden/map?width=700&marks={inner_job}").json()
    ((idx, left, wide),) = drawn["rows"][2]["points"]["OBSERVES"]
    assert wide < 1
    assert idx not in [cell[0] for row in drawn["rows"] for cell in row["cells"]]
    canvas = page.locator("canvas")
    size = canvas.bounding_box()["width"]
    assert canvas.evaluate(PIXEL, [left * size / drawn["width"] + 1, 125]) == POINT["light"]
    expect(page.locator("#legend")).to_contain_text("observed")
    expect(page.locator("#legend")).not_to_contain_text("cover")


def test_the_wheel_at_the_deepest_level_changes_nothing(visit):
    page = visit("/o/garden?key=tea")
    canvas, crumbs = page.locator("canvas"), page.locator("#crumbs")
    for row in ("rose", "tea rose"):
        page.locator("#tree .row", has_text=re.compile(f"^{row}")).first.dblclick()
        expect(crumbs.locator("[aria-current]")).to_have_text(row)
        size, asked = canvas.bounding_box(), []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        if row == "tea rose":  # a leaf, alone on its map
            page.mouse.move(size["x"] + size["width"] / 2, size["y"] + 10)
            for _ in range(3):
                page.mouse.wheel(0, -100)
                page.evaluate("() => new Promise(done => setTimeout(done, 250))")  # the pause between steps
            assert [url for url in asked if "/map?" in url] == []
            expect(crumbs.locator("[aria-current]")).to_have_text("tea rose")
            assert page.evaluate("scrollY") == 0
    page.mouse.wheel(0, 100)
    expect(crumbs.locator("[aria-current]")).to_have_text("rose")
    for above in ("shrub", "plant"):
        page.evaluate("() => new Promise(done => setTimeout(done, 250))")
        page.mouse.wheel(0, 100)
        expect(crumbs.locator("[aria-current]")).to_have_text(above)
    page.evaluate("() => new Promise(done => setTimeout(done, 250))")
    page.mouse.wheel(0, 100)  # everything is shown already
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()


def test_branches_too_narrow_to_draw_can_be_named_and_taken(visit):
    page = visit("/o/garden")
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs")).to_contain_text("plant")
    size = canvas.bounding_box()
    page.mouse.move(size["x"] + size["width"] / 2, size["y"] + 125)
    expect(page.locator(".tip")).to_contain_text("member 15")
    canvas.click(position={"x": size["width"] / 2, "y": 125})
    expect(name(page)).to_have_text(re.compile("member 15"))
    expect(selected(page)).to_have_text(re.compile("member 15"))
    page.keyboard.press("ArrowUp")
    expect(name(page)).to_have_text("crowd")


def test_a_deep_link_zooms_although_the_window_changes_before_the_map_comes(visit):
    page = visit("/")
    held = []
    page.route("**/map?**", lambda route: held.append(route))
    with page.expect_request("**/map?**"):
        page.goto("/o/garden?key=oak")
    with page.expect_request("**/map?**"):
        page.set_viewport_size({"width": 1200, "height": 900})
    for route in held[1:]:
        route.continue_()
    page.unroute("**/map?**")
    expect(page.locator("#crumbs [aria-current]")).to_have_text("tree")


def test_the_map_is_sharp_when_the_window_moves_to_another_screen(visit):
    """Emulated screens tell a page that its window has another size, not that its pixels have."""
    page = visit("/o/garden?key=crowd", width=1000, height=800)
    canvas = page.locator("canvas")
    expect(page.locator("#crumbs")).to_contain_text("plant")
    screen = page.context.new_cdp_session(page)
    for ratio, wide in ((2, 1100), (1, 1000), (3, 900), (1.5, 1200)):
        metrics = {"width": wide, "height": 800, "deviceScaleFactor": ratio, "mobile": False}
        screen.send("Emulation.setDeviceMetricsOverride", metrics)
        page.wait_for_load_state("networkidle")
        expect(page.locator("body")).to_have_js_property("clientWidth", wide)
        width = canvas.bounding_box()["width"]
        expect(canvas).to_have_js_property("width", round(width * ratio))
        assert canvas.evaluate(PIXEL, [width * 0.7, 65]) == COLORS["light"]["here"]
