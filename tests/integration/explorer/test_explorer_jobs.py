"""Jobs in a browser: requested, cancelled and retried by forms, and only by who may."""

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.access.sessions import COOKIE
from labelgrove.workers import client

pytestmark = pytest.mark.browser


@pytest.fixture
def workspace(home):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as opened:
        yield opened


def test_a_job_is_requested_cancelled_and_retried_and_two_windows_follow(visit, sign_in):
    page = visit("/jobs")
    expect(page.get_by_role("link", name="New job")).to_have_count(0)
    sign_in(page)
    expect(page.locator(".who summary")).to_have_text("owner")
    page.goto("/jobs/new?kind=selection")
    page.locator("[name='p.ontology']").fill("garden")
    page.locator("[name='p.observed']").fill("oak\ntea")
    page.locator("input[name='p.n']").fill("2")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_role("heading", name="What it would take")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("main .state").first).to_have_text("pending")
    other = visit(page.url)
    expect(other.get_by_role("link", name="Cancel…")).to_have_count(0)
    page.get_by_role("link", name="Cancel…").click()
    page.get_by_role("button", name="Cancel the job for everybody").click()
    for window in (page, other):
        expect(window.locator("main .state").first).to_have_text("cancelled", timeout=10_000)
    page.get_by_role("button", name="Retry").click()
    for window in (page, other):
        expect(window.locator("main .state").first).to_have_text("pending", timeout=10_000)
    page.locator(".who summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.goto(other.url)
    expect(page.get_by_role("link", name="Cancel…")).to_have_count(0)
    expect(page.locator("a.who")).to_have_text("Sign in")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_about_jobs_has_a_serious_violation_or_is_too_wide(visit, sign_in, home, scheme):
    page = visit("/", width=360, scheme=scheme)
    sign_in(page)
    for path in ("/jobs", f"/jobs/{home[1]}", "/jobs/new?kind=bundle", "/jobs/schedules"):
        page.goto(path)
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    page.locator(".who summary").click()
    box = page.locator(".who .pop").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_a_form_of_another_site_changes_nothing(browser, served, workspace):
    address, application = served
    job = client.submit(workspace, "cover", {"ontology": "garden", "identifying": True}, wait=False).id
    context = browser.new_context(base_url=address)
    page = context.new_page()
    page.goto(f"/enter?code={application.state.identity.sessions.new_link_code()}")
    form = f'<form method="post" action="{address}/jobs/{job}/cancel"><button>Win</button></form>'
    page.route("http://evil.example/", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto("http://evil.example/")
    with page.expect_response(f"{address}/jobs/{job}/cancel") as answered:
        page.get_by_role("button").click()
    assert answered.value.status == 403
    assert client.status(workspace, job).state == "pending"
    context.close()


def test_a_name_that_was_made_to_lead_here_gets_nothing(browser, served):
    port = served[0].rpartition(":")[2]
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    rebound = browser.browser_type.launch(
        executable_path=program,
        args=["--no-sandbox", "--host-resolver-rules=MAP rebound.example 127.0.0.1"],
    )
    answer = rebound.new_page().goto(f"http://rebound.example:{port}/v1/ontologies")
    assert answer.status == 421
    assert "garden" not in answer.text()
    rebound.close()


def test_a_stale_cookie_is_nobody(browser, served):
    address, application = served
    session = application.state.identity.sessions.begin("owner")
    until, _, rest = session.partition(".")
    for value, who in (
        (session, "owner"),
        (f"{int(until) - 10**9}.{rest}", "Sign in"),
        (f"{int(until) + 1}.{rest}", "Sign in"),
        (session[:-1] + ("0" if session[-1] != "0" else "1"), "Sign in"),
    ):
        context = browser.new_context(base_url=address)
        context.add_cookies([{"name": COOKIE, "value": value, "url": address}])
        page = context.new_page()
        page.goto("/jobs")
        expect(page.locator(".who summary, a.who")).to_have_text(who)
        expect(page.get_by_role("link", name="New job")).to_have_count(int(who == "owner"))
        context.close()
