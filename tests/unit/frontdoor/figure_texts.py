"""Find texts of a finished figure that are cut off, or that overlap each other or anything drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

_DPI = 160
_TOUCH = 1.0
"""The number of pixels by which two boxes may overlap, since glyphs do not fill their boxes."""


def problems(figure: Figure) -> list[str]:
    """Return the problems with the texts of a figure, as it is written to a file."""
    figure.dpi = _DPI
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    texts = [(text, _corners(text, renderer)) for text in _texts(figure)]
    drawn = list(_drawn(figure))
    found = []
    for text, corners in texts:
        low, high = corners.min(axis=0), corners.max(axis=0)
        if (low < -_TOUCH).any() or (high > np.array(figure.bbox.size) + _TOUCH).any():
            found.append(f"{text.get_text()!r} leaves the figure")
    for i, (text, corners) in enumerate(texts):
        found += [
            f"{text.get_text()!r} stands on {other.get_text()!r}"
            for other, theirs in texts[i + 1 :]
            if _overlap(corners, theirs)
        ]
        found += [
            f"{text.get_text()!r} stands on {what}" for what, theirs in drawn if _overlap(corners, theirs)
        ]
    return found


def _texts(figure: Figure) -> Iterator[Text]:
    scales = [axis for ax in figure.axes if not ax.axison for axis in (ax.xaxis, ax.yaxis)]
    hidden = {id(text) for axis in scales for text in axis.findobj(Text)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden and _shown(text):
            yield text


def _shown(text: Text) -> bool:
    """Return whether a text is drawn; ticks of hidden axes and ticks out of range are not."""
    ax = text.axes
    if ax is None:
        return True
    if not ax.axison and text not in (*ax.texts, ax.title):
        return False
    for axis, low, high in ((ax.xaxis, *sorted(ax.get_xlim())), (ax.yaxis, *sorted(ax.get_ylim()))):
        for tick in axis.get_major_ticks():
            if text in (tick.label1, tick.label2):
                return bool(low <= tick.get_loc() <= high) and text is tick.label1
    return True


def _corners(text: Text, renderer: object) -> np.ndarray:
    """Return the four corners of a text, rotated as it is drawn."""
    box = text.get_window_extent(renderer)
    angle = text.get_rotation()
    if angle % 90 == 0:
        return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
    center = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    text.set_rotation(0)
    flat = text.get_window_extent(renderer)
    text.set_rotation(angle)
    half = np.array([flat.width, flat.height]) / 2
    turn = np.radians(angle)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return center + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ matrix.T


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two convex outlines overlap in more than a rim (separating axes)."""
    for outline in (one, other):
        for edge in np.roll(outline, -1, axis=0) - outline:
            length = np.hypot(*edge)
            if not length:
                continue
            normal = np.array([-edge[1], edge[0]]) / length
            a, b = one @ normal, other @ normal
            if a.max() - _TOUCH <= b.min() or b.max() - _TOUCH <= a.min():
                return False
    return True


def _drawn(figure: Figure) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the outlines of marks, bars and lines."""
    for ax in figure.axes:
        for collection in ax.collections:
            if isinstance(collection, PathCollection):
                yield from _marks(figure, collection)
        for patch in ax.patches:
            if isinstance(patch, Rectangle) and patch.get_height():
                yield "a bar", _box(patch.get_window_extent())
        for line in ax.lines:
            if isinstance(line, Line2D) and len(line.get_xdata()) > 1:
                points = line.get_transform().transform(np.column_stack(line.get_data()))
                for a, b in pairwise(points):
                    yield "a line", np.array([a, b, b, a])


def _marks(figure: Figure, collection: PathCollection) -> Iterator[tuple[str, np.ndarray]]:
    sizes = collection.get_sizes()
    for i, place in enumerate(collection.get_offset_transform().transform(collection.get_offsets())):
        radius = np.sqrt(sizes[i % len(sizes)]) / 2 * figure.dpi / 72
        reach = 0.85 * radius  # marks are round, or have cut corners
        yield "a mark", _box(Bbox([place - reach, place + reach]))


def _box(box: Bbox) -> np.ndarray:
    return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
