"""Draw which label answers each probability vector of three classes, as a triangle cut into polygons."""

from __future__ import annotations

import math
from itertools import pairwise

from labelgrove.report.picturedata import Region, Regions
from labelgrove.report.svg import Drawing, points, short

__all__ = ["draw_regions"]

_SIDE, _LEFT, _BOTTOM = 320.0, 40.0, 312.0
_CORNERS = (
    (_LEFT, _BOTTOM),
    (_LEFT + _SIDE, _BOTTOM),
    (_LEFT + _SIDE / 2, _BOTTOM - _SIDE * math.sqrt(3) / 2),
)
_HUES = ((86, 180, 233), (230, 159, 0), (0, 158, 115))
_SMALLEST_NAMED = 0.012
_LETTERS = 19


def draw_regions(picture: Regions) -> Drawing:
    """Draw each region, with its name if there is room.

    The color of a region mixes the colors of the corners (`_mixed`).
    """
    drawing = Drawing(400, _BOTTOM + 28)
    for region in picture.regions:
        outline = [_place(weights) for weights in region.corners]
        drawing.add("polygon", points=points(outline), fill=_mixed(region), class_="region")
    taken: list[tuple[float, float, float]] = []
    for region in picture.regions:
        name = short(region.name, 14)
        x, y = _place(_center(region))
        half = 3.9 * len(name)
        ends = [_place(weights)[0] for weights in region.corners]
        wide = 2 * half <= max(ends) - min(ends)
        free = all(abs(x - a) > half + b or abs(y - c) > 13 for a, c, b in taken)
        if region.share >= _SMALLEST_NAMED and wide and free:
            taken.append((x, y, half))
            drawing.text(x, y + 4, name, anchor="middle", class_="on strong" if region.observed else "on")
    left, right, upper = (short(name, _LETTERS) for name in picture.names)
    drawing.text(4, _BOTTOM + 20, left, class_="strong")
    drawing.text(396, _BOTTOM + 20, right, anchor="end", class_="strong")
    drawing.text(_CORNERS[2][0], _CORNERS[2][1] - 9, upper, anchor="middle", class_="strong")
    return drawing


def _center(region: Region) -> tuple[float, float, float]:
    """Return the weights at the center of mass of a polygon."""
    (a, b, c), *rest = region.corners
    total, sums = 0.0, [0.0, 0.0, 0.0]
    for one, other in pairwise(rest):
        area = abs((one[0] - a) * (other[1] - b) - (other[0] - a) * (one[1] - b))
        total += area
        sums = [s + area * (f + p + q) / 3 for s, f, p, q in zip(sums, (a, b, c), one, other, strict=True)]
    x, y, z = (s / total for s in sums)
    return x, y, z


def _place(weights: tuple[float, float, float]) -> tuple[float, float]:
    x, y = (sum(w * corner[i] for w, corner in zip(weights, _CORNERS, strict=True)) for i in (0, 1))
    return x, y


def _mixed(region: Region) -> str:
    """Return the colors of the corners, mixed by the weights at the center, and lightened for dark text."""
    center = _center(region)
    pale = 0.3 if region.observed else 0.45
    mixed = (sum(w * hue[i] for w, hue in zip(center, _HUES, strict=True)) for i in range(3))
    return "#" + "".join(f"{round((1 - pale) * v + pale * 255):02x}" for v in mixed)
