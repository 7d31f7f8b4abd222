"""A home, a server of it that runs as long as the tests, and windows of Chromium."""

import csv
import shutil
import socket
import threading

import pytest
import uvicorn
from playwright.sync_api import sync_playwright

from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.conftest import unavailable
from tests.integration.explorer.explorer_cases import ROWS


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
        bundle = client.build_bundle_job(workspace, "garden", "hostile", ["h1", "h2", "h3"], metric="tree")
        assert (bundle.state, bundle.error) == (State.DONE, None)
    return folder / "home", job.id


@pytest.fixture(scope="module")
def inner_job(home):
    """Return the id of a locus of ``garden`` that observes a label with children, and one of many."""
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home[0])})) as workspace:
        asked = {"ontology": "garden", "observed": ["tree", "c1500"], "metric": "tree"}
        job = client.submit(workspace, "locus", asked)
    assert (job.state, job.error) == (State.DONE, None)
    return job.id


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
    """Return a function that opens a page, which may neither say a word nor ask another host.

    It opens in a window of its own. With `instead`, it replaces that page in its window, and the options of
    a window do not apply. With `refused`, the page sends what is refused, which the browser says in the
    console.
    """
    address, _ = served
    contexts, said, asked = [], [], []

    def window(width, height, scheme, refused, options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, base_url=address, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: refused or said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        return page

    def open_(path, *, width=1400, height=900, scheme="light", refused=False, instead=None, **options):
        page = instead or window(width, height, scheme, refused, options)
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
