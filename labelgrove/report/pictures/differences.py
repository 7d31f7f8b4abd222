"""Draw paired differences with their intervals, on an axis that includes zero."""

from __future__ import annotations

from labelgrove.adapter.texttable import shown
from labelgrove.report.picturedata import Differences
from labelgrove.report.svg import Drawing, Element, Scale, element, points, short

__all__ = ["draw_differences"]

_LEFT, _RIGHT, _TOP, _ROW = 8.0, 392.0, 4.0, 38.0
_NAME = 20.0  # the part of a row's height for its name
_LETTERS = 34
_ORACLE = "an oracle, which knows the truth"


def draw_differences(picture: Differences) -> Drawing:
    """Draw one row for each difference between the errors of two rules.

    The style of a row shows which of these is true: the second rule is better; the second rule is worse; the
    interval of the difference includes zero; the row belongs to an oracle.
    """
    ends = [v for _, mean, low, high in picture.rows for v in (mean, low, high) if v is not None]
    x = Scale.over([*ends, 0.0], _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(picture.rows)
    drawing = Drawing(400, bottom + 42)
    rows = [_TOP + _ROW * i for i in range(len(picture.rows))]
    drawing.below(x, [(y + _NAME, y + _ROW) for y in rows], bottom, picture.x_label)
    for i, (name, mean, low, high) in enumerate(picture.rows):
        y = _TOP + _ROW * i + 28
        drawing.text(_LEFT, y - 13, short(name, _LETTERS), class_="over")
        drawing.text(_RIGHT, y - 13, shown(mean), anchor="end", class_="over tick")
        side = "oracle" if name in picture.oracles else _side(mean, low, high)
        if low is not None and high is not None:
            drawing.line(x(low), y, x(high), y, f"whisker {side}")
        drawing.root.append(element("g", _point(x(mean), y, side), class_=f"dot {side}"))
    sides = {
        "better": picture.better,
        "worse": picture.worse,
        "untold": "the interval includes zero",
    }
    rules = [row for row in picture.rows if row[0] not in picture.oracles]
    for side, said in sides.items():
        if any(_side(*row[1:]) == side for row in rules):
            drawing.explain(side, said, _point(13, 7, side))
    if len(rules) < len(picture.rows):
        drawing.explain("oracle", _ORACLE, _point(13, 7, "oracle"))
    return drawing


def _side(mean: float, low: float | None, high: float | None) -> str:
    least, most = (mean if end is None else end for end in (low, high))
    return "better" if least > 0 else "worse" if most < 0 else "untold"


def _point(x: float, y: float, side: str) -> Element:
    if side == "oracle":
        return element("polygon", points=points(((x - 5, y), (x, y - 5), (x + 5, y), (x, y + 5))))
    if side == "worse":
        return element("rect", x=x - 4, y=y - 4, width=8.0, height=8.0)
    return element("circle", cx=x, cy=y, r=4.6)
