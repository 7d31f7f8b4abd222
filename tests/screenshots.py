"""Take the screenshots of the explorer that documents show: ``python -m tests.screenshots [NAME ...]``.

WordNet's nouns (``apt-get install wordnet-base``) and the animals of quickstart are ingested into a temporary
home and served by `grove serve`, and Chromium looks at them. Every picture has at most `MOST_BYTES`.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from labelgrove.ontology.geometry import metric_space, sample_observed
from labelgrove.ontology.readers import read
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.ledger.states import State
from tests.integration.serving_process import ROOT, Serving

WORDNET = Path("/usr/share/wordnet")
ANIMALS = ROOT / "labelgrove" / "quickstart" / "animals.noun.gz"
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 150_000
WIDTH, HEIGHT = 1_280, 800
N_OBSERVED = 95
MINE = b"""id;name;parent;synonyms
plant;Plant;;
tree;Tree;plant;woody plant
oak;Oak;tree;Quercus|Eiche
elm;Elm;tree;Ulmus
ash;Ash;trees;Fraxinus
rose;Rose;shrub;Rosa
shrub;Shrub;rose;
"""


def fill(home: Path) -> str:
    """Ingest WordNet and its animals, compute results and a bundle, and return the locus of the animals."""
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        animals = read(ANIMALS, format="wordnet")
        nouns = read(WORDNET, format="wordnet", part="noun")
        for name, found in (("animals", animals), ("wordnet", nouns)):
            assert client.submit_ingest(workspace, name, found, source="WordNet 3.0").state is State.DONE
        asked = {}
        for name, found in (("wordnet", nouns), ("animals", animals)):
            observed = sample_observed(metric_space(found.graph, metric="tree"), N_OBSERVED, seed=0)
            asked[name] = {"ontology": name, "observed": [*observed], "metric": "tree"}
        client.submit(workspace, "selection", {**asked["wordnet"], "n": 12})
        client.build_bundle_job(workspace, "animals", "model", asked["animals"]["observed"], metric="tree")
        return client.submit(workspace, "locus", asked["animals"]).id


def key_of(served: Serving, name: str, ontology: str = "wordnet") -> str:
    """Return the key of the first noun with this name."""
    return quote(served.get(f"/v1/ontologies/{ontology}/lookup?name={quote(name)}")["items"][0]["key"])


def home(page: Page, served: Serving, job: str) -> None:
    page.goto("/")


def browse(page: Page, served: Serving, job: str) -> None:
    page.goto(f"/o/animals?key={key_of(served, 'primate', 'animals')}&marks={job}")


def reach(page: Page, served: Serving, job: str) -> None:
    observed = sample_observed(metric_space(read(ANIMALS, format="wordnet").graph, "tree"), 40, seed=0)
    page.goto(f"/o/animals/reach?taken=3&{'&'.join(f'observed={quote(key)}' for key in observed)}")
    page.locator("#picks .taken").first.wait_for()


def what_if(page: Page, served: Serving, job: str) -> None:
    observed = sample_observed(
        metric_space(read(ANIMALS, format="wordnet").graph, "tree"), N_OBSERVED, seed=0
    )
    shares = (0.31, 0.24, 0.16, 0.11, 0.08, 0.06, 0.04)
    row = "\n".join(f"{key}: {share}" for key, share in zip(observed[::13], shares, strict=False))
    page.goto(f"/bundles/animals/model/what-if?row={quote(row)}")
    page.locator(".pulls li").first.wait_for()


def label(page: Page, served: Serving, job: str) -> None:
    page.goto(f"/o/wordnet/label?key={key_of(served, 'dog')}")


def result(page: Page, served: Serving, job: str) -> None:
    listed = served.get("/v1/jobs?kind=selection")["items"]
    page.goto(f"/jobs/{listed[0]['id']}/result")


def ingest(page: Page, served: Serving, job: str) -> None:
    page.goto(served.link)
    page.goto("/ingest")
    page.locator("[name=ontology]").fill("garden")
    page.locator("[name=file]").set_input_files(
        {"name": "garden.csv", "mimeType": "text/csv", "buffer": MINE}
    )
    page.get_by_role("button", name="Validate").click()
    page.locator("#outcome table").wait_for()
    page.evaluate("scrollTo(0, 0)")


def cypher(page: Page, served: Serving, job: str) -> None:
    page.goto("/cypher?recipe=children&ontology=wordnet")
    page.locator("[name=parameters]").fill(f'{{"key": "{key_of(served, "dog")}"}}')
    page.get_by_role("button", name="Run").click()
    page.locator("#outcome table").wait_for(timeout=120_000)


SHOTS: dict[str, tuple[Callable[[Page, Serving, str], None], str]] = {
    "explorer-home": (home, "light"),
    "explorer-browse": (browse, "light"),
    "explorer-reach": (reach, "light"),
    "explorer-what-if": (what_if, "light"),
    "explorer-label": (label, "dark"),
    "explorer-result": (result, "light"),
    "explorer-ingest": (ingest, "light"),
    "explorer-cypher": (cypher, "light"),
}
"""For each picture the page, and the color scheme."""


def take(browser: Browser, served: Serving, job: str, name: str) -> None:
    """Write one picture, in at most 256 colors."""
    show, scheme = SHOTS[name]
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, base_url=served.url
    )
    page = context.new_page()
    show(page, served, job)
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    context.close()
    path = PICTURES / f"{name}.png"
    shot.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, (name, path.stat().st_size)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def main() -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None or not WORDNET.is_dir():
        sys.exit("Chromium and WordNet are needed: apt-get install chromium fonts-dejavu-core wordnet-base")
    with tempfile.TemporaryDirectory() as folder:
        job = fill(Path(folder) / "home")
        with Serving(Path(folder) / "home", "--no-worker") as served, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for name in sys.argv[1:] or SHOTS:
                take(browser, served, job, name)
            browser.close()


if __name__ == "__main__":
    main()
