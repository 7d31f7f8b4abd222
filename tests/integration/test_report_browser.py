"""Reports in a real browser: three widths, light and dark, and on paper. Run by `pytest -m browser`."""

import json
import re
import shutil
import subprocess

import pytest

from labelgrove.report import to_html
from tests.conftest import unavailable
from tests.report_samples import evaluation, experiment, overview

pytestmark = pytest.mark.browser

REPORTS = {
    "evaluation": lambda: evaluation(calibrated=True),
    "many-branches": lambda: evaluation(n_kinds=30, n_observed=12, n=900),
    "experiment": experiment,
    "overview": overview,
}
WIDTHS = (360, 800, 1400)
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
  const wide = [...document.querySelectorAll('main *')].filter(e =>
    !e.closest('.scroll *, pre *, svg *, caption') && e.getBoundingClientRect().right > innerWidth + 1);
  parent.postMessage({
    name: location.hash.slice(1), width: innerWidth, scroll: document.documentElement.scrollWidth,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    ground: getComputedStyle(document.body).backgroundColor, pictures: drawn.length,
    silent: drawn.filter(s => !said(s, 'aria-labelledby') || said(s, 'aria-describedby').length < 30).length,
    unseen: drawn.filter(s => s.getBoundingClientRect().height < 40).length,
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
