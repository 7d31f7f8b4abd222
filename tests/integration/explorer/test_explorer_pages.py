"""Every page of the explorer in a real browser, on a real server. Run by `pytest -m browser`."""

import gzip
import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.workspace import Workspace
from tests.integration.explorer.explorer_cases import HOSTILE, PACKAGE, SCRIPT, name

pytestmark = pytest.mark.browser

MOST_SCRIPT, MOST_STYLE = 60_000, 15_000  # bytes, gzip


def paths(job):
    """Return an address of every page."""
    one = quote("hostile")
    return [
        "/",
        "/sign-in?next=/jobs",
        "/search?q=o",
        "/o/garden",
        f"/o/garden?key={one}",
        "/o/garden/label?key=h1",
        "/o/garden/search?q=o",
        "/jobs",
        f"/jobs/{job}",
        f"/jobs/{job}/result",
        f"/o/garden?key=oak&marks={job}",
        "/ingest",
        "/cypher",
        "/reference",
        "/o/garden/search?q=" + quote(SCRIPT),
        "/o/garden/reach?observed=h1&observed=h3&taken=2",
        "/bundles",
        "/bundles/garden/hostile",
        "/bundles/garden/hostile/what-if?row=0.5+0.3+0.2",
    ]


# ---- every page ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (800, "dark"), (1400, "light")])
def test_every_page_fits_and_has_a_twin(visit, home, width, scheme):
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(26, 30, 28)"}
    page = None
    for path in paths(home[1]):
        page = visit(path, width=width, scheme=scheme, instead=page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == grounds[scheme]
        assert page.locator("h1").count() == 1, path
        if path not in ("/ingest", "/sign-in?next=/jobs"):
            twin = page.locator("link[rel=alternate]").get_attribute("href")
            assert page.request.get(twin).ok, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_violation_of_accessibility(visit, home, scheme):
    page = None
    for path in paths(home[1]):
        page = visit(path, scheme=scheme, instead=page)
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path


def test_hostile_names_are_text_on_every_page(visit, home, sign_in):
    page = None
    for path in [*paths(home[1]), *(f"/o/garden?key={quote(key, safe='')}" for key in HOSTILE)]:
        page = visit(path, width=800, instead=page)
        assert page.evaluate("window.ran") is None, path
        assert page.evaluate("document.documentElement.scrollWidth") <= 800, path
    for key, text in HOSTILE.items():
        page = visit(f"/o/garden?key={quote(key, safe='')}", instead=page)
        expect(name(page)).to_have_text(text)
        page = visit(f"/o/garden/search?q={quote(text[:500], safe='')}", instead=page)
        assert page.locator(".hits bdi").first.text_content() == text
        assert page.evaluate("window.ran") is None
    page = visit("/")
    sign_in(page)
    page.goto("/ingest")
    page.locator("[name=ontology]").fill("other")
    row = f'key,name,parent\na,"{SCRIPT}",\nb,b,"{SCRIPT}"\nb,b,b\n'.encode()
    page.locator("[name=file]").set_input_files({"name": "<b>.csv", "mimeType": "text/csv", "buffer": row})
    page.get_by_role("button", name="Validate").click()
    expect(page.locator("#outcome")).to_contain_text("self-loop")
    assert page.evaluate("window.ran") is None
    assert page.locator("#outcome b:not(td b)").count() == 0


def test_pages_can_be_read_without_scripts(visit, home):
    page = None
    for path in paths(home[1]):
        page = visit(path, java_script_enabled=False, instead=page)
        assert page.locator("h1").count() == 1
    page = visit("/o/garden", java_script_enabled=False)
    page.get_by_role("link", name="tree", exact=True).first.click()
    page.locator("#tree").get_by_role("link", name="oak").click()
    expect(name(page)).to_have_text("oak")
    assert page.url.endswith("/o/garden?key=oak")
    assert page.locator("#tree li.hand").text_content().strip() == "oak"
    page.locator("#q").fill("Ulmus")
    page.keyboard.press("Enter")
    expect(page.locator(".hits li")).to_contain_text("elm")
    page.goto("/cypher")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome")).to_contain_text("20 rows")


def test_scripts_and_styles_stay_small_and_pages_have_none_inside():
    static = PACKAGE / "static"
    size = {
        end: sum(len(gzip.compress(path.read_bytes())) for path in static.glob(f"*{end}"))
        for end in (".js", ".css")
    }
    assert 0 < size[".js"] <= MOST_SCRIPT
    assert 0 < size[".css"] <= MOST_STYLE
    for template in (PACKAGE / "templates").glob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"<style|<script(?![^>]*src=)|\|\s*safe", text), template.name
        markup = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.DOTALL)
        assert not re.search(r"\sstyle=|\son\w+=", markup), template.name


# ---- ingest ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_a_file_is_validated_mended_by_a_policy_and_accepted(visit, sign_in, scripts):
    page = visit("/", java_script_enabled=scripts)
    sign_in(page)
    page.goto("/ingest")
    file = {
        "name": "my.csv",
        "mimeType": "text/csv",
        "buffer": b"key,name,parent\na,A,\nb,B,a\nd,D,e\ne,E,d\n",
    }

    def send(button):
        page.locator("[name=file]").set_input_files(file)
        page.get_by_role("button", name=button).click()

    page.locator("[name=ontology]").fill("mine")
    send("Validate")
    expect(page.locator("#outcome")).to_contain_text("It is refused")
    expect(page.locator("#outcome")).to_contain_text("my.csv:4")
    page.get_by_label("Policy for cycle").select_option("fix")
    page.get_by_label("Policy for roots").select_option("virtual")
    if scripts:
        send("Validate")
        expect(page.locator("#outcome")).to_contain_text("It would be accepted")
        send("Ingest")
        expect(page.locator("#outcome")).to_contain_text("Accepted")
        page.locator("#outcome a.mono").click()
        expect(page.locator("h1")).to_contain_text("ingest")


def test_who_did_not_sign_in_is_told_how(visit):
    page = visit("/ingest")
    expect(page.locator("main .problem")).to_contain_text("open the link")
    page.locator("[name=ontology]").fill("mine")
    file = {"name": "my.csv", "mimeType": "text/csv", "buffer": b"key,name,parent\na,A,\n"}
    page.locator("[name=file]").set_input_files(file)
    assert page.request.post("/ingest", multipart={"ontology": "mine", "file": file}).status == 401


# ---- Cypher and results ----------------------------------------------------------------------------


def test_a_recipe_fills_the_console_and_runs(visit):
    page = visit("/cypher")
    page.locator(".recipe", has_text="Find one label by its key").click()
    page.locator("[name=parameters]").fill('{"key": "tea"}')
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome td").nth(1)).to_have_text("tea rose", timeout=60_000)  # opens the graph
    page.locator("[name=parameters]").fill("tea")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome")).to_contain_text("write an object such as")
    page.locator("[name=parameters]").fill("")
    page.locator("[name=statement]").fill("MATCH (l:Label) DELETE l")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome .problem")).to_be_visible()


def test_a_result_leads_to_its_labels_and_files(visit, home):
    page = visit(f"/jobs/{home[1]}/result")
    document = page.request.get(f"/v1/jobs/{home[1]}/result").json()
    lines = page.request.get(f"/jobs/{home[1]}/result.csv").text().splitlines()
    assert len(lines) >= len(document["labels"]) + 1
    page.locator("td a", has_text="oak").first.click()
    expect(name(page)).to_have_text("oak")


def test_every_type_of_problem_has_an_anchor(visit):
    page = visit("/reference")
    named = set()
    for path in PACKAGE.rglob("*.py"):
        named |= set(
            re.findall(r'Problem\(\s*HTTPStatus\.\w+,\s*"([\w-]+)"', path.read_text(encoding="utf-8"))
        )
    from labelgrove.service.problems import PROBLEMS

    for type_ in named | {row[1] for row in PROBLEMS}:
        assert page.locator(f"#problem-{type_}").count() == 1, type_
    document = page.request.get("/openapi.json").json()
    assert page.locator(".route").count() == sum(len(methods) for methods in document["paths"].values())


def test_pages_print_without_controls_and_in_full(visit):
    page = visit("/o/garden?key=crowd")
    page.emulate_media(media="print")
    expect(page.locator(".search")).to_be_hidden()
    expect(page.locator(".panel.map")).to_be_hidden()
    expect(name(page)).to_be_visible()
    assert page.locator("#label").evaluate("e => e.scrollHeight <= e.clientHeight + 1")


def test_a_pasted_token_signs_in_until_it_is_revoked(visit, home):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        tokens = Tokens(workspace.engine)
        page = visit("/sign-in?next=/ingest")
        page.get_by_label("Token").fill(tokens.create("browser", ["read", "admin"]))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/ingest")
        expect(page.locator(".problem")).to_have_count(0)
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        tokens.revoke("browser")
        page.reload()
        expect(page.locator(".problem")).to_contain_text("open the link")
