"""The explorer in a real browser, on a real server. Run by `pytest -m browser`."""

import csv
import gzip
import re
import shutil
import socket
import threading
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

import labelgrove.service
from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.sql.tokens import Tokens
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.conftest import unavailable

pytestmark = pytest.mark.browser

PACKAGE = Path(labelgrove.service.__file__).parent
MOST_SCRIPT, MOST_STYLE = 60_000, 15_000  # bytes, gzip
WIDTHS = (360, 800, 1400)
N_CROWD = 3_000
SCRIPT = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
TURNED = "\u202e\u05e9\u05dc\u05d5\u05dd evil\u2066"
LONG = "é" * 2_000
HOSTILE = {"h1": SCRIPT, "h2": TURNED, "h3": LONG, "</script>": '"><b onclick="x">', "h4": "{{ 7 * 7 }}"}
ODD_KEYS = ["a#b", "50%", "x/y", "who?", "this&that", "a b", "a+b", "שלום", "%2F", "ключ"]
ROWS = [
    ("plant", "plant", "", ""),
    ("tree", "tree", "plant", ""),
    ("shrub", "shrub", "plant", ""),
    ("oak", "oak", "tree", "Quercus"),
    ("elm", "elm", "tree", "Ulmus"),
    ("rose", "rose", "tree", ""),
    ("rose", "rose", "shrub", ""),
    ("tea", "tea rose", "rose", ""),
    ("odd", "odd keys", "plant", ""),
    *((key, f"odd {i}", "odd", "") for i, key in enumerate(ODD_KEYS)),
    ("hostile", "hostile names", "plant", ""),
    *((key, name, "hostile", "") for key, name in HOSTILE.items()),
    ("crowd", "crowd", "plant", ""),
    *((f"c{i:04}", f"member {i:04}", "crowd", "") for i in range(N_CROWD)),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a home with an ontology and a finished job."""
    folder = tmp_path_factory.mktemp("explorer")
    with (folder / "garden.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("key", "name", "parent", "synonym"), *ROWS])
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(folder / "home")})) as workspace:
        found = read(folder / "garden.csv", format="records", policies={"conflicting-texts": "fix"})
        assert client.submit_ingest(workspace, "garden", found).state is State.DONE
        observed = workspace.artifacts.put_bytes(b'["oak", "tea", "h1"]')
        job = client.submit(workspace, "locus", {"ontology": "garden", "observed": observed})
        assert (job.state, job.error) == (State.DONE, None)
    return folder / "home", job.id


@pytest.fixture(scope="module")
def served(home):
    """Return the address of a server, which runs as long as these tests, and its application."""
    from labelgrove.service.app import make_app

    application = make_app(Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", application
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        unavailable("chromium is not installed (apt-get install chromium)")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, served):
    """Return a function that opens a page in a window of its own; none may say a word or ask another host."""
    address, _ = served
    contexts, said, asked = [], [], []

    def open_(path, *, width=1400, height=900, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, base_url=address, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path)
        page.wait_for_load_state("networkidle")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


@pytest.fixture
def sign_in(served):
    """Return a function that signs a window in, as the owner of the home."""
    _, application = served
    return lambda page: page.goto(f"/enter?code={application.state.identity.sessions.new_link_code()}")


def paths(job):
    """Return an address of every page."""
    one = quote("hostile")
    return [
        "/",
        "/sign-in?next=/jobs",
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
    ]


def name(page):
    return page.locator("#name")


# ---- every page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_has_a_twin(visit, home, width, scheme):
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(26, 30, 28)"}
    for path in paths(home[1]):
        page = visit(path, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == grounds[scheme]
        assert page.locator("h1").count() == 1, path
        if path not in ("/ingest", "/sign-in?next=/jobs"):
            twin = page.locator("link[rel=alternate]").get_attribute("href")
            assert page.request.get(twin).ok, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_violation_of_accessibility(visit, home, scheme):
    for path in paths(home[1]):
        page = visit(path, scheme=scheme)
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path


def test_hostile_names_are_text_on_every_page(visit, home, sign_in):
    for path in [*paths(home[1]), *(f"/o/garden?key={quote(key, safe='')}" for key in HOSTILE)]:
        page = visit(path, width=800)
        assert page.evaluate("window.ran") is None, path
        assert page.evaluate("document.documentElement.scrollWidth") <= 800, path
    for key, text in HOSTILE.items():
        page = visit(f"/o/garden?key={quote(key, safe='')}")
        expect(name(page)).to_have_text(text)
        page = visit(f"/o/garden/search?q={quote(text[:500], safe='')}")
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
    for path in paths(home[1]):
        page = visit(path, java_script_enabled=False)
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
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)|\|\s*safe", text), template.name


# ---- the tree --------------------------------------------------------------------------------------


def selected(page):
    return page.locator("#tree [aria-selected=true] .nm")


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


# ---- the map ---------------------------------------------------------------------------------------

PIXEL = """(canvas, [x, y]) => {
  const ratio = canvas.width / canvas.clientWidth, copy = document.createElement('canvas');
  copy.width = copy.height = 1;
  const pen = copy.getContext('2d');
  pen.drawImage(canvas, -Math.round(x * ratio), -Math.round(y * ratio));
  return [...pen.getImageData(0, 0, 1, 1).data];
}"""
COLORS = {
    "light": {"here": [121, 179, 217, 255], "way": [211, 229, 241, 255], "cell": [232, 235, 233, 255]},
    "dark": {"here": [44, 106, 144, 255], "way": [31, 58, 76, 255], "cell": [42, 48, 45, 255]},
}


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
