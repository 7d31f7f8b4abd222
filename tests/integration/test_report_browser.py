"""Reports in a real browser: three widths, light and dark, and on paper. Run by `pytest -m browser`."""

import json
import re
import shutil
import subprocess

import pytest
from matplotlib.image import imread

from labelgrove.report import to_html
from tests.conftest import unavailable
from tests.report_samples import evaluation, experiment, overview

pytestmark = pytest.mark.browser

REPORTS = {
    "evaluation": lambda: evaluation(calibrated=True),
    "many-branches": lambda: evaluation(n_kinds=30, n_observed=12, n=900),
    "calibrate-first": lambda: evaluation(temperature=8.0, n_observed=12, calibrated=True),
    "nothing-observed": lambda: evaluation(calibrated=True, unobserved=True),
    "experiment": experiment,
    "overview": overview,
}
WIDTHS = (360, 390, 800, 1400)
SMALLEST = 10
"""Pixels that text has to be high, in pictures as well."""

SCHEMES = {"dark": "rgb(19, 22, 21)", "light": "rgb(246, 247, 245)"}
"""The ground of the page in each scheme, in the order of the browser's setting."""

MEASURE = """
addEventListener('load', () => {
  const drawn = [...document.querySelectorAll('svg[role=img]')];
  const said = (svg, name) => document.getElementById(svg.getAttribute(name))?.textContent.trim() || '';
  const outside = [];
  for (const svg of drawn) {
    const frame = svg.viewBox.baseVal;
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBBox(), right = box.x + box.width, bottom = box.y + box.height;
      if (box.x < -1 || box.y < -1 || right > frame.width + 1 || bottom > frame.height + 1)
        outside.push(`${said(svg, 'aria-labelledby')}: ${text.textContent}`);
    }
  }
  document.querySelectorAll('details').forEach(d => d.open = true);
  const texts = [...document.querySelectorAll('svg[role=img] text')].map(text => {
    const svg = text.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return scale * parseFloat(getComputedStyle(text).fontSize);
  });
  const words = [...document.querySelectorAll('p, li, td, th, dt, dd, figcaption, summary, code')].map(e =>
    parseFloat(getComputedStyle(e).fontSize));
  const boxes = [...document.querySelectorAll('.scroll, pre')];
  const scrolling = boxes.filter(e => e.scrollWidth > e.clientWidth + 1);
  const cue = e => {
    const style = getComputedStyle(e), seen = style.backgroundAttachment.split(', ');
    const ground = getComputedStyle(e.querySelector('td, code')).backgroundColor;
    return seen[0] === 'local' && seen[2] === 'scroll' && style.backgroundImage.split('gradient').length === 5
      && ground === 'rgba(0, 0, 0, 0)';
  };
  const held = scrolling.filter(e => e.querySelector('tbody')).every(e => {
    e.scrollLeft = 1e4;
    const first = e.querySelector('tbody th').getBoundingClientRect(), box = e.getBoundingClientRect();
    e.scrollLeft = 0;
    return Math.abs(first.left - box.left) < 2;
  });
  const wide = [...document.querySelectorAll('main *')].filter(e =>
    !e.closest('.scroll *, pre *, svg *, caption') && e.getBoundingClientRect().right > innerWidth + 1);
  parent.postMessage({
    name: location.hash.slice(1), width: innerWidth, scroll: document.documentElement.scrollWidth,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    ground: getComputedStyle(document.body).backgroundColor, pictures: drawn.length,
    silent: drawn.filter(s => !said(s, 'aria-labelledby') || said(s, 'aria-describedby').length < 30).length,
    unseen: drawn.filter(s => s.getBoundingClientRect().height < 40).length,
    smallest: Math.min(...texts, ...words), scrolling: scrolling.length,
    silently: scrolling.filter(e => !cue(e)).length, held: held,
    outside: outside, wide: wide.map(e => e.tagName + ' ' + e.className), ran: window.ran || 0
  }, '*');
});
"""

COLLECT = """
<meta name="color-scheme" content="light dark">
<script>
const found = [];
addEventListener('message', event => {
  found.push(event.data);
  document.querySelector('pre').textContent = JSON.stringify(found);
});
</script>
<pre></pre>
"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Open a page in a browser of its own; return what it printed, without a word in the console."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        unavailable("chromium is not installed (apt-get install chromium)")

    def run(page, *arguments):
        profile = tmp_path_factory.mktemp("profile")
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", "--enable-logging=stderr", *arguments, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=profile)
        assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
        return done.stdout

    return run


@pytest.fixture(scope="module")
def pages():
    return {name: to_html(make()) for name, make in REPORTS.items()}


@pytest.fixture(scope="module")
def measured(browse, pages, tmp_path_factory):
    """Open every page at every width, in frames of one window for each scheme, and return what they measure.

    The copies that are opened may run scripts: one that measures, and any that escaping let through.
    """
    folder = tmp_path_factory.mktemp("copies")
    frames = []
    for name, text in pages.items():
        copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        counting = "window.alert = () => { window.ran = 1; };"
        copy = copy.replace("<head>", f"<head><script>{counting}{MEASURE}</script>")
        (folder / f"{name}.html").write_text(copy, encoding="utf-8")
        frames += [
            f'<iframe src="{name}.html#{name}" width="{w}" height="900" style="border: 0"></iframe>'
            for w in WIDTHS
        ]
    window = folder / "window.html"
    window.write_text(COLLECT + "\n".join(frames), encoding="utf-8")
    found = {}
    for i, scheme in enumerate(SCHEMES):
        setting = f"--blink-settings=preferredColorScheme={i}"
        printed = browse(
            window, "--dump-dom", "--virtual-time-budget=20000", "--window-size=1500,900", setting
        )
        listed = re.search(r"<pre>(.*?)</pre>", printed, flags=re.DOTALL).group(1)
        for one in json.loads(listed.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")):
            found[scheme, one["name"], one["width"]] = one
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_a_page_fits_says_what_its_pictures_show_and_runs_nothing(measured, pages, name, width, scheme):
    found = measured[scheme, name, width]
    assert (found["dark"], found["ground"]) == (scheme == "dark", SCHEMES[scheme])
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert found["pictures"] == pages[name].count("<figure")
    assert (found["silent"], found["unseen"], found["outside"]) == (0, 0, [])
    assert found["ran"] == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_text_can_be_read_and_tables_show_that_they_scroll(measured, name, width):
    """A shade at the end where there is more to see, and the first column stays."""
    for scheme in SCHEMES:
        found = measured[scheme, name, width]
        assert found["smallest"] >= SMALLEST
        assert found["silently"] == 0
        assert found["held"]
    if width < 400 and name != "overview":
        assert measured["light", name, width]["scrolling"] > 0


def test_the_shade_of_a_table_that_scrolls_can_be_seen(browse, pages, tmp_path):
    """The columns of pixels at its right end are darker than the card, in the light scheme, or lighter."""
    (tmp_path / "page.html").write_text(pages["evaluation"], encoding="utf-8")
    for i, scheme in enumerate(SCHEMES):
        frame, picture = tmp_path / f"{scheme}.html", tmp_path / f"{scheme}.png"
        frame.write_text(
            '<body style="margin: 0"><iframe src="page.html" width="390" height="1600" style="border: 0">',
            encoding="utf-8",
        )
        browse(
            frame,
            f"--screenshot={picture}",
            "--window-size=500,1600",
            f"--blink-settings=preferredColorScheme={i}",
        )
        pixels = imread(picture)[:, :390, :3].mean(axis=2)
        card = {"dark": 32 / 255 * 0.95, "light": 1.0}[scheme]
        within = [row for row in pixels if abs(row[300] - card) < 0.02 and abs(row[340] - card) < 0.02]
        shaded = [row for row in within if abs(row[371] - card) > 0.08]
        assert len(shaded) > 40, scheme


def test_pages_as_they_are_written_show_without_a_word_and_print(browse, pages, tmp_path):
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    frames = (f'<iframe src="{name}.html" width="700" height="900"></iframe>' for name in pages)
    (tmp_path / "window.html").write_text("\n".join(frames), encoding="utf-8")
    picture, paper = tmp_path / "all.png", tmp_path / "page.pdf"
    browse(tmp_path / "window.html", f"--screenshot={picture}", "--window-size=1500,1900")
    assert picture.read_bytes().startswith(b"\x89PNG")
    browse(tmp_path / "evaluation.html", f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    n_pages = len(re.findall(rb"/Type\s*/Page[^s]", paper.read_bytes()))
    assert 1 < n_pages < 30
