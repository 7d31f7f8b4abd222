"""Draw the branches of the hierarchy as a tree on its side, each with the difference of two rules' errors."""

from __future__ import annotations

import math

from labelgrove.adapter.texttable import shown
from labelgrove.report.picturedata import Branches
from labelgrove.report.svg import Drawing, Scale, element, short

__all__ = ["draw_branches"]

_ROOT, _LEFT, _RIGHT, _TOP, _ROW = 12.0, 62.0, 392.0, 4.0, 40.0
_NAME = 20.0  # the part of a row's height for its name
_LETTERS = 25
_THICKEST = 11.0


def draw_branches(picture: Branches) -> Drawing:
    """Draw for each branch a twig, thicker if the branch has more samples, and a bar.

    The bar shows the E[d²] of the rule `before` minus the E[d²] of the rule `after` in this branch.
    """
    bottom = _TOP + _ROW * len(picture.rows)
    drawing = Drawing(400, bottom + 42)
    saved = [before - after for _, _, before, after in picture.rows]
    x = Scale.over([*saved, 0.0], _LEFT, _RIGHT)
    rows = [_TOP + _ROW * i for i in range(len(picture.rows))]
    strips = [(y + _NAME, y + _ROW) for y in rows]
    drawing.below(x, strips, bottom, f"E[d²] of {picture.before} minus {picture.after}")
    middle = (_TOP + bottom) / 2
    total = max(sum(n for _, n, _, _ in picture.rows), 1)
    for i, (name, n, _, _) in enumerate(picture.rows):
        y = _TOP + _ROW * i + 16
        _twig(drawing, middle, y + 6, max(1.2, _THICKEST * math.sqrt(n / total)))
        side = "better" if saved[i] > 0 else "worse" if saved[i] < 0 else "untold"
        low, high = sorted((x(0), x(saved[i])))
        drawing.add("rect", x=low, y=y + 6, width=high - low, height=12.0, class_=f"bar {side}")
        drawing.text(_LEFT, y, f"{short(name, _LETTERS)} ({shown(n)})", class_="over")
        sign = "+" if saved[i] > 0 else "−" if saved[i] < 0 else ""
        drawing.text(_RIGHT, y, f"{sign}{shown(abs(saved[i]))}", anchor="end", class_="over tick")
    drawing.root.append(element("circle", cx=_ROOT, cy=middle, r=6.0, class_="root"))
    for side, said in (
        ("better", f"{picture.after} is nearer (+)"),
        ("worse", f"{picture.before} is nearer (−)"),
    ):
        swatch = element("rect", x=3, y=2, width=20, height=10, class_=f"bar {side}")
        drawing.explain(side, said, swatch)
    return drawing


def _twig(drawing: Drawing, middle: float, y: float, width: float) -> None:
    end = _LEFT - 8
    bend = (_ROOT + end) / 2
    path = f"M{_ROOT:.1f} {middle:.1f}C{bend:.1f} {middle:.1f} {bend:.1f} {y:.1f} {end:.1f} {y:.1f}"
    drawing.add("path", d=path, class_="twig", stroke_width=width)
