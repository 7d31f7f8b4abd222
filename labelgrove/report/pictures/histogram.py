"""Draw how far answers are from the truth, as a row of bars for each rule over one axis of distances."""

from __future__ import annotations

from labelgrove.adapter.texttable import shown
from labelgrove.report.picturedata import Histogram
from labelgrove.report.svg import Drawing, Scale, series_class

__all__ = ["draw_histogram"]

_LEFT, _RIGHT, _TOP = 8.0, 392.0, 4.0
_ROW, _BARS = 56.0, 34.0
_MOST_BARS = 64


def draw_histogram(picture: Histogram) -> Drawing:
    """Draw the share of samples in each bin; if there are more than 64 bins, neighboring ones are joined."""
    last = max(i for _, counts, _ in picture.rules for i, n in enumerate(counts) if n)
    joined = -(-(last + 1) // _MOST_BARS)
    n_bars = -(-(last + 1) // joined)
    rows = []
    for name, counts, squared in picture.rules:
        total = sum(counts)
        rows.append(
            (
                name,
                [sum(counts[i * joined : (i + 1) * joined]) / total for i in range(n_bars)],
                squared,
            )
        )
    highest = max(max(shares) for _, shares, _ in rows)
    bottom = _TOP + _ROW * len(rows)
    drawing = Drawing(400, bottom + 38)
    step = (_RIGHT - _LEFT) / n_bars
    names = [name for name, _, _ in rows]
    for r, (name, shares, squared) in enumerate(rows):
        base = _TOP + _ROW * (r + 1) - 2
        series = series_class(name, names)
        drawing.text(_LEFT, base - _BARS - 5, name, class_="strong")
        drawing.text(_RIGHT, base - _BARS - 5, f"E[d²] {shown(squared)}", anchor="end", class_="tick")
        for i, share in enumerate(shares):
            height = _BARS * share / highest
            if height:
                drawing.add(
                    "rect",
                    x=_LEFT + i * step + 0.06 * step,
                    y=base - height,
                    width=0.88 * step,
                    height=height,
                    class_=f"{'outline' if name in picture.oracles else 'bar'} {series}",
                )
        drawing.line(_LEFT, base, _RIGHT, base, "axis")
    whole = all(edge.is_integer() for edge in picture.edges)
    if whole and joined == 1:  # the label of a distance is below the middle of its bar
        scale = Scale(-0.5, n_bars - 0.5, _LEFT, _RIGHT)
    else:
        scale = Scale(
            picture.edges[0], picture.edges[min(n_bars * joined, len(picture.edges) - 1)], _LEFT, _RIGHT
        )
    for value in scale.ticks(8):
        if not whole or value.is_integer():
            drawing.text(scale(value), bottom + 13, shown(value), anchor="middle", class_="tick")
    drawing.text(_RIGHT, bottom + 30, picture.x_label, anchor="end", class_="label")
    return drawing
