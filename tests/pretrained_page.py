"""Write the second part of docs/pretrained.md, and its pictures, from results of experiments.

::

    grove experiment languages --set models=py3langid,lingua --out experiments
    grove experiment file-types --out experiments
    python -m tests.pretrained_page experiments
"""

from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from labelgrove.experiments import PRETRAINED
from labelgrove.report.experiment import experiment_report
from labelgrove.report.markdown import to_markdown
from labelgrove.report.picturedata import Line, Panel
from labelgrove.report.pictures.curves import draw_panel
from labelgrove.report.svg import Element, element

PAGE = Path(__file__).parents[1] / "docs" / "pretrained.md"

_BEGIN = "<!-- results: written by python -m tests.pretrained_page -->\n"


def render(folder: Path) -> None:
    """Write the results into the page, and the pictures; `folder` has the results of each experiment."""
    parts = [PAGE.read_text(encoding="utf-8").partition(_BEGIN)[0] + _BEGIN]
    for name in PRETRAINED:
        document = json.loads((folder / name / "result.json").read_bytes())
        picture = PAGE.parent / "pictures" / f"{name}.svg"
        picture.write_text(_drawn(document["panels"]), encoding="utf-8")
        text = to_markdown(experiment_report(document), level=2, brief=True)
        head, found, rest = text.partition("### What was found\n")
        shown = f"\n![Errors by the share of classes withheld](pictures/{picture.name})\n"
        parts.append(head + found + shown + rest)
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _drawn(panels: list[dict[str, Any]]) -> str:
    """Return one SVG file with all panels, three in a row, as the report draws them, and their legend."""
    width, height, title = 400, 260, 30
    rows = -(-len(panels) // 3)
    root = element(
        "svg",
        element("style", _style()),
        element("rect", width=3 * width, height=rows * (height + title) + title, fill="#ffffff"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {3 * width} {rows * (height + title) + title}",
    )
    legend: list[tuple[str, str, Element]] = []
    for i, panel in enumerate(panels):
        x, y = width * (i % 3), (height + title) * (i // 3)
        lines = (
            Line(line["name"], *(tuple(line[axis]) for axis in ("x", "y", "low", "high")))
            for line in panel["lines"]
        )
        drawing = draw_panel(Panel(panel["title"], panel["x_label"], panel["y_label"], tuple(lines)))
        for name, value in (("x", x), ("y", y + title), ("width", width), ("height", height)):
            drawing.root.set(name, str(value))
        root.append(element("text", panel["title"], x=x + 52, y=y + 22, class_="strong"))
        root.append(drawing.root)
        legend = drawing.legend
    for i, (class_, said, sign) in enumerate(legend):
        x, y = 52 + 200 * i, rows * (height + title) + 8
        sign = element("g", sign, class_=f"dot {class_}", transform=f"translate({x} {y})")
        root.extend([sign, element("text", said, x=x + 34, y=y + 11)])
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _style() -> str:
    """Return those rules of the style sheet of reports that curves need, in the colors for light pages."""
    page = files("labelgrove.report").joinpath("page.css").read_text(encoding="utf-8")
    colors = re.search(r":root \{.*?\n\}", page, re.DOTALL)
    needed = re.findall(
        r"^(?:svg (?:text|\.)|\.(?:grid|axis|s\d|oracle|curve|d\d|band|dot)\b).*$", page, re.MULTILINE
    )
    return "\n".join([colors[0] if colors else "", *needed])


if __name__ == "__main__":
    render(Path(sys.argv[1]))
