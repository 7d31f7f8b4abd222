"""Draw curves with bands and marks."""

from __future__ import annotations

from labelgrove.report.picturedata import Line, Panel
from labelgrove.report.svg import Drawing, Element, Scale, element, points, series_class

__all__ = ["draw_panel", "marker"]

_LEFT, _RIGHT, _BOTTOM = 52.0, 388.0, 216.0
_MARK_ROW = 17.0
_MOST_MARKERS = 13
_N_DASHES = 5


def draw_panel(panel: Panel) -> Drawing:
    """Draw the curves of a panel with their bands, and a dashed line at each mark."""
    places: dict[float, list[str]] = {}
    for mark in panel.marks:
        places.setdefault(mark.x, []).append(mark.name)
    top = 30.0 + _MARK_ROW * len(places)
    drawing = Drawing(400, _BOTTOM + 44)
    xs = [v for line in panel.lines for v in line.x] + list(places)
    ys = [v for line in panel.lines for v in (*line.low, *line.high)]
    x = Scale.over(xs, _LEFT, _RIGHT, log=panel.log_x)
    y = Scale.over(ys, _BOTTOM, top, log=panel.log_y, zero=True)
    for i, at in enumerate(sorted(places)):
        row = 10.0 + _MARK_ROW * i
        drawing.line(x(at), row - 4, x(at), _BOTTOM, "mark")
        late = x(at) > (_LEFT + _RIGHT) / 2
        drawing.text(
            x(at) + (-4 if late else 4), row + 4, ", ".join(places[at]), anchor="end" if late else "start"
        )
    drawing.axes(x, y, panel.x_label, panel.y_label)
    names = [line.name for line in panel.lines]
    for i, line in enumerate(panel.lines):
        series = series_class(line.name, names)
        _curve(drawing, line, x, y, series, i)
        sample = element("line", x1=0, y1=7, x2=26, y2=7, class_=f"curve {series} d{i % _N_DASHES}")
        drawing.explain(series, line.name, element("g", sample, element("g", marker(13, 7, i), class_="dot")))
    return drawing


def _curve(drawing: Drawing, line: Line, x: Scale, y: Scale, series: str, number: int) -> None:
    shown = [
        i
        for i in range(len(line.x))
        if (not x.log or line.x[i] > 0) and (not y.log or min(line.y[i], line.low[i]) > 0)
    ]
    if not shown:
        return
    if line.low != line.high:
        around = [(x(line.x[i]), y(line.low[i])) for i in shown]
        around += [(x(line.x[i]), y(line.high[i])) for i in reversed(shown)]
        drawing.add("polygon", points=points(around), class_=f"band {series}")
    drawing.add(
        "polyline",
        points=points((x(line.x[i]), y(line.y[i])) for i in shown),
        class_=f"curve {series} d{number % _N_DASHES}",
    )
    every = -(-len(shown) // _MOST_MARKERS)
    for i in shown[::every]:
        drawing.root.append(element("g", marker(x(line.x[i]), y(line.y[i]), number), class_=f"dot {series}"))


def marker(x: float, y: float, number: int) -> Element:
    """Return the marker for a point of the series with index `number`.

    Series differ in the shapes of their markers, not only in color. There are 5 shapes, used in turn.
    """
    shape = number % 5
    if shape == 0:
        return element("circle", cx=x, cy=y, r=3.4)
    if shape == 1:
        return element("rect", x=x - 3.1, y=y - 3.1, width=6.2, height=6.2)
    turns = {
        2: ((0, -4.2), (3.9, 2.9), (-3.9, 2.9)),
        3: ((0, -4.4), (4.4, 0), (0, 4.4), (-4.4, 0)),
        4: ((0, 4.2), (3.9, -2.9), (-3.9, -2.9)),
    }
    return element("polygon", points=points((x + dx, y + dy) for dx, dy in turns[shape]))
