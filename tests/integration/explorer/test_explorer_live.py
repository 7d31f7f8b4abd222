"""Pages about jobs follow what the workers do, without being loaded again."""

import pytest
from playwright.sync_api import expect

from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client

pytestmark = pytest.mark.browser


@pytest.fixture
def workspace(home):
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as opened:
        yield opened


def test_a_page_of_a_job_shows_how_it_goes_on(visit, workspace):
    request = {"ontology": "garden", "observed": ["oak", "elm", "rose"]}
    job = client.submit(workspace, "locus", request, wait=False).id
    page, other = visit(f"/jobs/{job}"), visit("/jobs")
    row = other.locator("tr", has_text=job[:12])
    expect(page.locator("main .state").first).to_have_text("pending")
    expect(row.locator(".state")).to_have_text("pending")
    page.evaluate("window.kept = true")
    client.wait(workspace, job)
    expect(page.locator("main .state").first).to_have_text("done", timeout=10_000)
    expect(page.get_by_role("link", name="Result", exact=True)).to_be_visible()
    expect(page.locator("[data-live] button.copy")).to_be_visible()
    expect(row.locator(".state")).to_have_text("done", timeout=10_000)
    assert page.evaluate("window.kept")
