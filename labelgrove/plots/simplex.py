"""Draw which label answers each probability vector of a classifier with three classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, counted
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace, frechet_mean
from labelgrove.ontology.geometry.simplexregions import Region, exact_regions
from labelgrove.plots.backend import Axes, Figure, Line2D, Patch, Polygon, Text, to_rgb, withStroke
from labelgrove.plots.figure import INK, PALETTE, QUIET, panels, shorten_to_fit, shortened

__all__ = ["prediction_regions", "region_panels"]

_HEIGHT = math.sqrt(3) / 2
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
_CAPTION = (
    "Points: probability vectors. Corners: certainty of one class. "
    "Bold: labels the classifier was trained on; the others need no training example."
)
_X_LIMITS, _Y_LIMITS = (-0.16, 1.16), (-0.15, _HEIGHT + 0.1)
_BELOW = -0.19
"""The y coordinate of the list of labels whose name does not fit in their region."""
_LISTED_ROOM = 1.3
_CORNERS_NAMED = (((0.0, -0.06), 0.29), ((1.0, -0.06), 0.29), ((0.5, _HEIGHT + 0.06), 1.2))
"""For each corner, the place of its name and the largest width of the name."""
_SIDE_ROOM = 0.85
_INSIDE = 0.015
"""The space between the name of a region and the sides of the triangle."""
_ON_COLOR: dict[str, Any] = {
    "zorder": 4,
    "path_effects": [withStroke(linewidth=2.5, foreground="white", alpha=0.75)],
}
_SMALLEST_LABELED = 0.006
_SMALLEST_OBSERVED = 0.04
"""The smallest share of the simplex at which the region of an observed label gets a text.

For other labels the smallest share is lower, because they are not named at a corner.
"""

_SHARED: dict[str, Any] = {"fill": False, "hatch": "....", "linewidth": 0, "edgecolor": INK, "alpha": 0.35}
"""The style of regions in which several labels tie."""
_ONLY_TIED: dict[str, Any] = {"color": INK, "linewidth": 1.8, "solid_capstyle": "round"}
"""The style of lines and points with tied labels that are never the only answer."""


def prediction_regions(
    space: MetricSpace,
    observed: Sequence[str],
    *,
    name: Callable[[str], str] = str,
    resolution: int = 700,
) -> Figure:
    """Draw the prediction regions of argmax and of the Fréchet mean on the 3-class simplex, side by side.

    Parameters
    ----------
    space : MetricSpace
        The space of the labels that may be answers.
    observed : sequence of three keys
        The labels of the classifier, at the lower left, lower right and upper corner.
    name : callable, default=str
        Turns a key into the text to write.
    resolution : int, default=700
        The number of pixels along the lower side. The color of every pixel is that of its Fréchet mean; the
        exact boundaries are drawn over the pixels.

    Returns
    -------
    figure : Figure
        Each region shows the name of its label. The region of an observed label has the color of its corner.
        The color of any other region mixes the colors of the three corners by the probabilities at the center
        of the region. If a name does not fit in its region, it is listed below the panel. Names of
        observed labels are not listed there, because each is also written at its corner.

    Raises
    ------
    InputError
        If `observed` does not have three labels.

    Notes
    -----
    Boundaries are exact (`ontology.geometry.simplexregions`). If several labels tie in a whole region, it
    shows the first one in canonical order and the number of the others. A label that is an answer only on a
    line or at a point, tied with its neighbors, has no region; the line or point is drawn black.
    """
    figure, axes = panels(2, width=11.6, height=5.9, title="The answer to each probability vector")
    figure.supxlabel(_CAPTION, fontsize=9.5, color=INK)
    complete = CompleteSpace(observed)  # unit distances between all labels: the Fréchet mean is argmax
    drawn = []
    for ax, rule, answers in ((axes[0], "argmax", complete), (axes[1], "Fréchet mean", space)):
        regions = _panel(ax, answers, observed, resolution)
        ax.set_title(f"{rule}: {_n_answers(regions)} different answers", fontsize=11, pad=10)
        ax.set_ylim(_BELOW - 0.02, _Y_LIMITS[1])
        drawn.append((ax, answers, regions))
    figure.draw_without_rendering()  # texts are cut to fit, so the layout must be known first
    for ax, answers, regions in drawn:
        _name_corners(ax, observed, name)
        unwritten = _name_regions(ax, answers, observed, regions, name, fontsize=10)
        if unwritten:
            _list(ax, unwritten)
    return figure


def region_panels(
    families: Mapping[str, tuple[MetricSpace, Sequence[str]]],
    *,
    title: str = "Answers of a classifier with three classes, on six kinds of label spaces",
    resolution: int = 400,
) -> Figure:
    """Draw the prediction regions of the Fréchet mean on several spaces, side by side in rows of three.

    Parameters
    ----------
    families : mapping of title to (space, three observed keys)
        The spaces, such as those of `labelgrove.plots.paper_families`; their number is a multiple of three.
    title : str
        The title of the figure.
    resolution : int, default=400
        The number of pixels along the lower side of a triangle, as for `prediction_regions`.

    Returns
    -------
    figure : Figure
        One panel for each space, like the right panel of `prediction_regions`; small regions have no name.

    Raises
    ------
    InputError
        If the number of spaces is not a multiple of three, or a space does not have three observed labels.
    """
    if not families or len(families) % 3:
        raise InputError(
            f"families: {len(families)} given; panels are drawn in rows of three, so give 3, 6, ..."
        )
    rows = len(families) // 3
    figure, axes = panels(len(families), width=14.4, height=4.5 * rows + 0.9, title=title, rows=rows)
    drawn = []
    for ax, (family, (space, observed)) in zip(axes, families.items(), strict=True):
        regions = _panel(ax, space, observed, resolution)
        told = f"{family}\n{_n_answers(regions)} different answers of {space.n_labels} labels"
        ax.set_title(told, fontsize=11, pad=8)
        drawn.append((ax, space, observed, regions))
    shared = "a dotted region: several labels are tied everywhere in it (+ number of others)"
    only_tied = "a black line or dot: labels that are tied there and never the only answer"
    handles = [
        Patch(label=shared, **{**_SHARED, "linewidth": 0.8}),
        Line2D([], [], label=only_tied, **_ONLY_TIED),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    figure.draw_without_rendering()
    for ax, space, observed, regions in drawn:
        _name_corners(ax, observed, str)
        _name_regions(ax, space, observed, regions, str, fontsize=8)
    return figure


def _panel(ax: Axes, space: MetricSpace, observed: Sequence[str], resolution: int) -> list[Region]:
    """Draw the regions of the Fréchet mean over `space` without texts; return the regions, largest first."""
    if len(observed) != 3:
        raise InputError(
            f"observed: {list(observed)!r} given; give three labels, because regions are drawn for three"
        )
    _frame(ax)
    regions = sorted(exact_regions(space.distances(cols=space.point_index(observed))), key=lambda r: -r.area)
    _fill(ax, space, observed, regions, resolution)
    for region in regions:
        outline = region.corners @ _CORNERS
        if not region.area:
            marker = "o" if len(outline) == 1 else ""
            ax.plot(*outline.T, zorder=3, marker=marker, markersize=3.5, **_ONLY_TIED)
            continue
        ax.add_patch(Polygon(outline, fill=False, edgecolor="white", linewidth=1.1, zorder=2))
        if len(region.labels) > 1:
            ax.add_patch(Polygon(outline, zorder=2, **_SHARED))
    ax.set_xlim(*_X_LIMITS)
    ax.set_ylim(*_Y_LIMITS)
    return regions


def _n_answers(regions: Sequence[Region]) -> int:
    return sum(region.area > 0 for region in regions)


def _fill(
    ax: Axes, space: MetricSpace, observed: Sequence[str], regions: Sequence[Region], resolution: int
) -> None:
    """Color each pixel by the region of the label that is the Fréchet mean there."""
    inside, weights = _raster(resolution)
    found, winner = np.unique(frechet_mean(space, observed, weights).index, return_inverse=True)
    region_of = {label: region for region in regions for label in region.labels}
    colors = [_mixed(region_of[i].center, is_observed=space.keys[i] in observed) for i in found.tolist()]
    picture = np.zeros((*inside.shape, 4))
    picture[inside] = np.column_stack([np.array(colors)[winner], np.ones(len(winner))])
    image = ax.imshow(picture, extent=(0, 1, 0, _HEIGHT), origin="lower", interpolation="antialiased")
    image.set_clip_path(Polygon(_CORNERS, transform=ax.transData))


def _raster(resolution: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which pixels touch the triangle, and the probabilities at their centers, as shape (n, 3)."""
    rows = round(resolution * _HEIGHT)
    x = (np.arange(resolution) + 0.5) / resolution
    top = ((np.arange(rows) + 0.5) / rows)[:, None]
    right = x[None, :] - top / 2
    weights = np.stack([1 - right - top, right, np.broadcast_to(top, right.shape)], axis=-1)
    inside = weights.min(axis=-1) > -1 / resolution  # with a rim of one pixel, clipped to the triangle later
    clipped = np.maximum(weights[inside], 0)
    return inside, clipped / clipped.sum(axis=1, keepdims=True)


def _mixed(center: NDArray[np.float64], *, is_observed: bool) -> tuple[float, float, float]:
    """Return the colors of the corners, mixed by the probabilities at `center`.

    An observed label has the color of its corner, unmixed.
    """
    colors = np.array([to_rgb(c) for c in (PALETTE[1], PALETTE[4], PALETTE[2])])
    blend = center @ colors if not is_observed else colors[int(center.argmax())]
    pale = 0.35 if is_observed else 0.45
    red, green, blue = (1 - pale) * blend + pale
    return float(red), float(green), float(blue)


def _frame(ax: Axes) -> None:
    """Draw the outline of the triangle, and along each side the probability scale of a corner."""
    ax.add_patch(Polygon(_CORNERS, fill=False, edgecolor=QUIET, linewidth=1.2, zorder=5))
    ax.axis("off")
    for c in range(3):
        start, end, outward = _side(c)
        for level in (0.2, 0.4, 0.6, 0.8):
            at = start + level * (end - start)
            tip = at + 0.015 * outward
            ax.plot(*zip(at, tip, strict=True), color=QUIET, linewidth=1)
            _write(ax, at + 0.05 * outward, f"{level:.1f}", fontsize=8, color=QUIET)


def _side(c: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the start and the end of one side of the triangle, and a vector at a right angle to the side.

    The vector points out of the triangle. Along the side, the scale of corner `c` is drawn: its probability
    rises from 0 at the start, which is the previous corner, to 1 at the end, which is corner `c`.
    """
    start, end = _CORNERS[(c + 2) % 3], _CORNERS[c]
    return start, end, np.array([end[1] - start[1], start[0] - end[0]])


def _name_corners(ax: Axes, observed: Sequence[str], name: Callable[[str], str]) -> None:
    """Write the name of each corner next to it, and the title of its scale along the side."""
    for c, (key, turn, (place, room)) in enumerate(zip(observed, (60, 0, -60), _CORNERS_NAMED, strict=True)):
        named = shortened(name(key))
        corner = _write(ax, np.array(place), named, fontsize=11, fontweight="bold")
        _fit(ax, corner, room)
        start, end, outward = _side(c)
        middle = (start + end) / 2 + 0.12 * outward
        side = _write(ax, middle, f"probability of {named}", fontsize=9)
        _fit(ax, side, _SIDE_ROOM)
        side.set(rotation=turn, rotation_mode="anchor")


def _name_regions(
    ax: Axes,
    space: MetricSpace,
    observed: Sequence[str],
    regions: Sequence[Region],
    name: Callable[[str], str],
    *,
    fontsize: float,
) -> list[str]:
    """Write the name of each region in the region, in the given order; return the names that do not fit.

    Observed labels are not among the names returned. A text that would leave the triangle is cut, and a text
    that would touch another one is left out.
    """
    boxes: list[Any] = []
    unwritten = []
    for region in regions:
        key = space.keys[region.labels[0]]
        others = len(region.labels) - 1
        least = _SMALLEST_OBSERVED if key in observed else _SMALLEST_LABELED
        if region.area >= least:
            more = f" +{others}" if others else ""
            weight = "bold" if key in observed else "normal"
            place = region.center @ _CORNERS
            text = _write(ax, place, more, fontweight=weight, fontsize=fontsize, **_ON_COLOR)
            end = text.get_window_extent().width if more else 0.0
            text.set_text(shortened(name(key)))
            if _fit(ax, text, _width_at(ax, place, text), less=end):
                text.set_text(text.get_text() + more)
                box = text.get_window_extent()
                if not any(box.overlaps(other) for other in boxes):
                    boxes.append(box)
                    continue
            text.remove()
        if region.area and key not in observed:
            unwritten.append(shortened(name(key)))
    return unwritten


def _width_at(ax: Axes, place: NDArray[np.float64], text: Text) -> float:
    """Return the largest width at which `text`, with its middle at `place`, stays in the triangle."""
    x, y = place.tolist()
    top = y + float(text.get_window_extent().height) / 2 / _pixels(ax)
    left = top / math.sqrt(3)
    return float(2 * (min(x, 1 - x) - left - _INSIDE))


def _fit(ax: Axes, text: Text, room: float, *, less: float = 0.0) -> bool:
    """Cut a text to a width, and return whether it fits.

    The width is `room` times the length of a side of the triangle, minus `less` pixels.
    """
    return shorten_to_fit(text, room * _pixels(ax) - less)


def _pixels(ax: Axes) -> float:
    """Return the length of a side of the triangle in pixels."""
    ends = np.asarray(ax.transData.transform(_CORNERS[:2]), dtype=np.float64)
    return float(ends[1, 0] - ends[0, 0])


def _list(ax: Axes, unwritten: Sequence[str]) -> None:
    """Write below the panel the names of the regions that have no text, as many as there is room for."""
    for n in range(len(unwritten), -1, -1):
        left_out = len(unwritten) - n
        told = ", ".join(unwritten[:n]) + (f" and {counted(left_out, 'other')}" if n and left_out else "")
        text = _write(
            ax,
            np.array([0.5, _BELOW]),
            f"too small to label: {told or counted(left_out, 'answer')}",
            fontsize=8,
            color=QUIET,
        )
        if not n or text.get_window_extent().width <= _LISTED_ROOM * _pixels(ax):
            return
        text.remove()


def _write(ax: Axes, place: NDArray[np.float64], text: str, *, color: str = INK, **style: Any) -> Text:
    """Write a text centered at a place; it does not affect the layout of the figure."""
    x, y = place.tolist()
    style |= {"ha": "center", "va": "center", "parse_math": False, "in_layout": False}
    return ax.text(x, y, text, color=color, **style)
