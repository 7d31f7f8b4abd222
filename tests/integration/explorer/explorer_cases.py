"""What the tests of the explorer browse, and what they look at."""

from pathlib import Path

import labelgrove.service

PACKAGE = Path(labelgrove.service.__file__).parent
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


def name(page):
    return page.locator("#name")


def selected(page):
    return page.locator("#tree [aria-selected=true] .nm")


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
