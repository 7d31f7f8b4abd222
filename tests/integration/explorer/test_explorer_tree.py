"""The tree and the search box of the explorer. Run by `pytest -m browser`."""

import re
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import expect

from tests.integration.explorer.explorer_cases import N_CROWD, ODD_KEYS, name, selected

pytestmark = pytest.mark.browser

# ---- the tree --------------------------------------------------------------------------------------


def test_the_tree_works_by_keyboard_alone(visit):
    page = visit("/o/garden")
    tree = page.get_by_role("tree")
    expect(selected(page)).to_have_text("plant")
    tree.focus()
    page.keyboard.press("ArrowDown")
    expect(selected(page)).to_have_text("crowd")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#rows")).to_have_text(f"{6 + N_CROWD:,} rows")
    page.keyboard.press("ArrowRight")
    expect(selected(page)).to_have_text("member 0000")
    page.keyboard.press("End")
    expect(selected(page)).to_have_text("tree")
    page.keyboard.press("ArrowRight")
    expect(tree.locator(".row", has_text="elm")).to_be_visible()
    page.keyboard.type("rose")
    expect(selected(page)).to_have_text("rose")
    expect(name(page)).to_have_text("rose")
    page.keyboard.press("ArrowLeft")
    expect(selected(page)).to_have_text("tree")
    page.keyboard.press("Home")
    expect(selected(page)).to_have_text("plant")
    page.keyboard.type("member 0")
    expect(selected(page)).to_have_text("member 0000")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("key=c0000"))
    active = tree.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").text_content() == "member 0000"
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()


def test_a_label_with_several_parents_is_below_each_of_them(visit):
    page = visit("/o/garden?key=tea")
    expect(selected(page)).to_have_text("tea rose")
    rows = page.locator("#tree .row", has_text="2 parents")
    expect(rows).to_have_count(1)
    page.locator("#tree .row", has_text=re.compile("^tree")).locator(".tw").click()
    expect(rows).to_have_count(2)
    expect(page.locator("#tree .row.ref")).to_have_attribute("aria-label", re.compile("elsewhere"))
    page.locator("#tree .row.ref").click()
    expect(page.locator("#label ol").first.locator("a")).to_have_text(["shrub", "tree"])


def test_any_row_of_a_large_tree_is_drawn_where_it_is_scrolled_to(visit):
    page = visit(f"/o/garden?key=c{N_CROWD // 2:04}")
    expect(selected(page)).to_have_text(f"member {N_CROWD // 2:04}")
    box, row = page.locator("#tree").bounding_box(), selected(page).bounding_box()
    assert box["y"] < row["y"] < box["y"] + box["height"]
    assert page.locator("#tree .row").count() < 100
    page.locator("#tree").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.locator("#tree .row").last.locator(".nm")).to_have_text("tree")


@pytest.mark.parametrize("key", ODD_KEYS)
def test_keys_of_any_characters_have_addresses(visit, key):
    page = visit(f"/o/garden?key={quote(key, safe='')}")
    expect(page.locator("#label code.key")).to_have_text(key)
    expect(selected(page)).to_have_text(f"odd {ODD_KEYS.index(key)}")
    page.locator("#tree .row", has_text="odd keys").click()
    expect(name(page)).to_have_text("odd keys")
    page.locator("#label a[data-key]", has_text=f"odd {ODD_KEYS.index(key)}").click()
    expect(page.locator("#label code.key")).to_have_text(key)
    assert unquote(page.url.partition("key=")[2].replace("+", " ")) == key


def test_back_and_forward_go_through_the_labels_that_were_taken(visit):
    page = visit("/o/garden?key=oak")
    expect(selected(page)).to_have_text("oak")
    page.locator("#tree .row", has_text="elm").click()
    expect(name(page)).to_have_text("elm")
    page.locator("#label a[data-key]", has_text="plant").click()
    expect(name(page)).to_have_text("plant")
    page.go_back()
    expect(name(page)).to_have_text("elm")
    expect(selected(page)).to_have_text("elm")
    page.go_back()
    expect(name(page)).to_have_text("oak")
    page.go_forward()
    expect(name(page)).to_have_text("elm")


# ---- search ----------------------------------------------------------------------------------------


def test_suggestions_come_while_typing_and_keys_choose_one(visit):
    page = visit("/o/garden")
    box, hits = page.locator("#q"), page.locator("#hits li")
    page.keyboard.press("/")
    page.keyboard.type("ulm")
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("synonym: Ulmus")
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == "hit0"
    page.keyboard.press("Enter")
    expect(name(page)).to_have_text("elm")
    expect(selected(page)).to_have_text("elm")
    box.fill("oa")
    expect(hits.first).to_contain_text("oak")
    page.keyboard.press("Escape")
    expect(page.locator("#pop")).to_be_hidden()
    box.fill("zzz")
    expect(page.locator("#hitnote")).to_have_text("Nothing has this in its key or names")
    for key in ODD_KEYS:
        box.fill(key)
        expect(page.locator("#hits code", has_text=key).first).to_be_visible()


def test_the_answer_to_the_newest_text_wins(visit):
    """The answer about the first text is held back until the second was shown."""
    page = visit("/o/garden")
    held = []
    page.route("**/suggest?q=oak&**", lambda route: held.append(route))
    box, hits = page.locator("#q"), page.locator("#hits li")
    with page.expect_request("**/suggest?q=oak&**"):
        box.fill("oak")
    box.fill("elm")
    expect(hits).to_contain_text(["elm"])
    for route in held:
        route.fulfill(response=page.request.get(route.request.url))
    page.evaluate("() => fetch('/healthz').then(answer => answer.text())")  # comes after the held answer
    expect(hits).to_contain_text(["elm"])


def test_a_search_without_a_choice_shows_all_that_is_found(visit):
    page = visit("/o/garden")
    page.locator("#q").fill("member")
    expect(page.locator("#hits li")).to_have_count(8)
    page.locator("#q").press("Enter")
    expect(page.locator("h1")).to_contain_text("3,000 labels")
    expect(page.locator(".hits li")).to_have_count(50)
    page.get_by_role("link", name="More").click()
    expect(page.locator(".hits li").first).to_contain_text("member 0050")
