"""Draw accuracy against confidence, with the gap to the diagonal and the number of samples.

Each of these is drawn for every bin of confidence.
"""

from __future__ import annotations

from labelgrove.report.picturedata import ReliabilityDiagram
from labelgrove.report.svg import Drawing, Scale, element

__all__ = ["draw_reliability"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 388.0, 30.0, 216.0
_STRIP = 26.0


def draw_reliability(picture: ReliabilityDiagram) -> Drawing:
    """Draw for each bin its accuracy, the gap above or below its confidence, and its number of samples."""
    bins = picture.bins
    drawing = Drawing(400, _BOTTOM + 44 + _STRIP)
    x, y = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    drawing.axes(x, y, "confidence", "accuracy", x_ticks=5)
    largest = max(bins.counts)
    floor = _BOTTOM + 36 + _STRIP
    for i, count in enumerate(bins.counts):
        confidence, accuracy = bins.confidence[i], bins.accuracy[i]
        if confidence is None or accuracy is None:
            continue
        left, width = x(bins.edges[i]), max(x(bins.edges[i + 1]) - x(bins.edges[i]) - 1.5, 1.0)
        low, high = sorted((accuracy, confidence))
        side = "s0" if accuracy > confidence else "s1"
        drawing.add("rect", x=left, y=y(low), width=width, height=_BOTTOM - y(low), class_="bar s0")
        drawing.add("rect", x=left, y=y(high), width=width, height=y(low) - y(high), class_=f"gap {side}")
        height = _STRIP * count / largest
        drawing.add("rect", x=left, y=floor - height, width=width, height=height, class_="bar quiet")
    drawing.line(x(0), y(0), x(1), y(1), "mark")
    drawing.line(_LEFT, floor, _RIGHT, floor, "axis")
    drawing.text(_LEFT, _BOTTOM + 34, "samples in each bin", class_="label")
    for class_, said in (
        ("bar s0", "accuracy"),
        ("gap s0", "more than the confidence"),
        ("gap s1", "less than the confidence"),
    ):
        drawing.explain("", said, element("rect", x=3, y=2, width=20, height=10, class_=class_))
    drawing.explain("", "perfect", element("line", x1=1, y1=7, x2=25, y2=7, class_="mark"))
    return drawing
