"""The explorer in Chromium: the first paint of its page, and the frames while its tree is scrolled.

    python -m tests.benchmarks.bench_explorer

The first paint is what the browser tells of a page that is opened in a window without a cache. A frame lasts
from the event of the scroll bar until the rows are drawn and painted; the tree is scrolled from its
deepest label and from a label with many children, and again while a hierarchy of the same size is ingested.
Prints one JSON document.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.bench_service import SEED, Ingest, quantiles, serving, worker_beside
from tests.benchmarks.graphs import category_graph, describe, noun_graph
from tests.benchmarks.measuring import print_document

VISITS, STEPS = 20, 300

SCROLL = """
async steps => {
  const box = document.getElementById("tree"), taken = [];
  let begun = 0, step = 120;
  box.addEventListener("scroll", () => { begun = performance.now(); }, { capture: true });
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  for (let i = 0; i < steps; i++) {
    if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) step = -step;
    box.scrollTop += step;
    await frame(); // the event comes at the beginning of this frame, and the tree draws in it
    await new Promise(resolve => setTimeout(resolve)); // after the frame is painted
    if (begun) taken.push(performance.now() - begun);
    begun = 0;
  }
  return taken;
}
"""

PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def measured(browser: Browser, title: str, graph: LabelGraph) -> dict[str, Any]:
    """Return the figures of one hierarchy."""
    deepest, widest = graph.keys[int(graph.depth.argmax())], graph.keys[int(graph.edge_parent[0])]
    with tempfile.TemporaryDirectory() as folder, serving(folder, graph) as (port, _):
        where = f"http://127.0.0.1:{port}/o/bench"
        paints = [paint(browser, where) for _ in range(VISITS)]
        frames, busy = scrolled(browser, where, [deepest, widest]), []
        with worker_beside(Path(folder)), Ingest(port, Path(folder), graph, seed=1) as going:
            while going():
                busy += scrolled(browser, where, [deepest])
    return describe(title, graph) | {
        "first_paint_ms": quantiles(paints[1:]),
        "first_paint_of_a_new_server_ms": round(paints[0], 1),
        "frame_ms": quantiles(frames),
        "frames": len(frames),
        "frame_while_ingesting_ms": quantiles(busy),
    }


def paint(browser: Browser, address: str) -> float:
    """Return the milliseconds until a page shows something."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_load_state("networkidle")
        return float(page.evaluate(PAINT))


def scrolled(browser: Browser, address: str, keys: list[str]) -> list[float]:
    """Return the milliseconds of each frame while the tree is scrolled around some labels."""
    found: list[float] = []
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        for key in keys:
            page.goto(f"{address}?key={quote(key, safe='')}")
            page.wait_for_load_state("networkidle")
            found += page.evaluate(SCROLL, STEPS)
    return found


def main() -> None:
    """Measure both hierarchies and print the document."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=program, args=["--no-sandbox"]) as browser,
    ):
        graphs = [
            measured(browser, *noun_graph()),
            measured(browser, "category_graph, LSHTC's size", category_graph(seed=SEED)),
        ]
        print_document("explorer", SEED, graphs=graphs, browser=browser.version)


if __name__ == "__main__":
    main()
