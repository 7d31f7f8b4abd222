"""Which label a classifier of three classes answers with, for every probability vector it can utter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.plots.backend import Axes, Figure, Polygon, to_rgb, withStroke
from labelgrove.plots.figure import INK, PALETTE, QUIET, panels
from ontology.errors import InputError
from ontology.geometry import CompleteSpace, MetricSpace, frechet_mean

__all__ = ["prediction_regions"]

_HEIGHT = math.sqrt(3) / 2
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
_CAPTION = (
    "Each point is one probability vector, each corner certainty. "
    "Bold: labels the classifier was trained on; the others need no training example."
)
_X_LIMITS, _Y_LIMITS = (-0.16, 1.16), (-0.19, _HEIGHT + 0.1)
_ON_COLOUR: dict[str, Any] = {
    "fontsize": 10,
    "zorder": 4,
    "path_effects": [withStroke(linewidth=2.5, foreground="white", alpha=0.75)],
}
_SMALLEST_LABELLED = 0.006
_SMALLEST_OBSERVED = 0.04
"""Shares of the simplex below which a region holds no text; observed labels stand beside their corner too."""


def prediction_regions(
    space: MetricSpace,
    observed: Sequence[str],
    *,
    name: Callable[[str], str] = str,
    title: str = "What each probability vector is answered with",
    resolution: int = 700,
) -> Figure:
    """Draw the prediction regions of argmax beside those of the Fréchet mean on the 3-class simplex.

    Parameters
    ----------
    space : MetricSpace
        Space of the labels that may be answered.
    observed : sequence of three keys
        Labels of the classifier, at the lower left, lower right and upper corner.
    name : callable, default=str
        Turns a key into the text to write.
    title : str
        Title of the figure.
    resolution : int, default=700
        Pixels along the lower side; every pixel is answered by its own Fréchet mean.

    Returns
    -------
    figure : Figure
        A region takes the colour that its centre mixes from the three corners and carries its label. Regions
        of less than 0.6 % of the simplex are named below the panel; observed labels stand at their corner.

    Raises
    ------
    InputError
        If `observed` does not hold three labels.

    Notes
    -----
    A label wins where its Fréchet variance, linear in the probabilities, is least: regions are convex, so
    their centres lie inside. Ties go to the lowest canonical index.
    """
    if len(observed) != 3:
        raise InputError(f"observed: {list(observed)!r}; prediction regions are drawn for three labels")
    inside, weights = _raster(resolution)
    figure, axes = panels(2, width=11.6, height=5.9, title=title)
    figure.supxlabel(_CAPTION, fontsize=9.5, color=INK)
    complete = CompleteSpace(observed)  # unit distances between all labels: the Fréchet mean is argmax
    for ax, rule, answers in ((axes[0], "argmax", complete), (axes[1], "Fréchet mean", space)):
        _frame(ax, [name(key) for key in observed])
        n_answers = _regions(ax, answers, observed, name, inside, weights)
        ax.set_title(f"{rule}: {n_answers} different answers", fontsize=11, pad=10)
    return figure


def _regions(
    ax: Axes,
    space: MetricSpace,
    observed: Sequence[str],
    name: Callable[[str], str],
    inside: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> int:
    """Colour and label the regions of the Fréchet mean over `space`; return their number."""
    winner = frechet_mean(space, observed, weights).index
    found, region = np.unique(winner, return_inverse=True)
    places = np.full(inside.shape, -1, dtype=np.int64)
    places[inside] = region
    picture = np.zeros((*inside.shape, 4))
    unlabelled = []
    for i, key in enumerate(space.keys.take(found)):
        centre = weights[region == i].mean(axis=0)
        picture[places == i] = (*_mixed(centre, is_observed=key in observed), 1.0)
        share = float(np.mean(region == i))
        if key in observed:
            if share >= _SMALLEST_OBSERVED:
                _write(ax, centre @ _CORNERS, name(key), fontweight="bold", **_ON_COLOUR)
        elif share >= _SMALLEST_LABELLED:
            _write(ax, centre @ _CORNERS, name(key), **_ON_COLOUR)
        else:
            unlabelled.append(name(key))
    picture[_borders(places)] = 1.0
    image = ax.imshow(picture, extent=(0, 1, 0, _HEIGHT), origin="lower", interpolation="antialiased")
    image.set_clip_path(Polygon(_CORNERS, transform=ax.transData))
    ax.set_xlim(*_X_LIMITS)
    ax.set_ylim(*_Y_LIMITS)
    if unlabelled:
        _write(
            ax,
            np.array([0.5, -0.17]),
            f"too small to label: {', '.join(unlabelled)}",
            fontsize=8,
            color=QUIET,
        )
    return len(found)


def _raster(resolution: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which pixels touch the triangle, and the probabilities at their centres; shape (n, 3)."""
    rows = round(resolution * _HEIGHT)
    x = (np.arange(resolution) + 0.5) / resolution
    top = ((np.arange(rows) + 0.5) / rows)[:, None]
    right = x[None, :] - top / 2
    weights = np.stack([1 - right - top, right, np.broadcast_to(top, right.shape)], axis=-1)
    inside = weights.min(axis=-1) > -2 / resolution  # a rim of two pixels, cut by the outline of the triangle
    clipped = np.maximum(weights[inside], 0)
    return inside, clipped / clipped.sum(axis=1, keepdims=True)


def _mixed(centre: NDArray[np.float64], *, is_observed: bool) -> tuple[float, float, float]:
    """Colour that the probabilities at `centre` mix; observed labels keep their corner's own hue stronger."""
    colours = np.array([to_rgb(c) for c in (PALETTE[1], PALETTE[4], PALETTE[2])])
    blend = centre @ colours if not is_observed else colours[int(centre.argmax())]
    pale = 0.35 if is_observed else 0.45
    red, green, blue = (1 - pale) * blend + pale
    return float(red), float(green), float(blue)


def _borders(places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pixels on either side of a change from one region to another."""
    border = np.zeros(places.shape, dtype=bool)
    for axis in (0, 1):
        first = [slice(None)] * 2
        second = [slice(None)] * 2
        first[axis], second[axis] = slice(0, -1), slice(1, None)
        a, b = places[tuple(first)], places[tuple(second)]
        change = (a != b) & (a >= 0) & (b >= 0)
        border[tuple(first)] |= change
        border[tuple(second)] |= change
    return border


def _frame(ax: Axes, names: Sequence[str]) -> None:
    """Draw outline, corner names, and the probability scale of each corner along one side."""
    ax.add_patch(Polygon(_CORNERS, fill=False, edgecolor=QUIET, linewidth=1.2, zorder=5))
    ax.axis("off")
    # The scale of corner c runs along the side from the corner before it (0) to itself (1).
    for c, turn in enumerate((60, 0, -60)):
        start, end = _CORNERS[(c + 2) % 3], _CORNERS[c]
        outward = np.array([end[1] - start[1], start[0] - end[0]])
        for level in (0.2, 0.4, 0.6, 0.8):
            at = start + level * (end - start)
            tip = at + 0.015 * outward
            ax.plot(*zip(at, tip, strict=True), color=QUIET, linewidth=1)
            _write(ax, at + 0.045 * outward, f"{level:.1f}", fontsize=8, color=QUIET)
        middle = (start + end) / 2 + 0.1 * outward
        _write(ax, middle, f"probability of {names[c]}", fontsize=9, rotation=turn, rotation_mode="anchor")
        beyond = end + 0.1 * (end - _CORNERS.mean(axis=0))
        _write(ax, beyond, names[c], fontsize=11, fontweight="bold")


def _write(ax: Axes, place: NDArray[np.float64], text: str, *, color: str = INK, **style: Any) -> None:
    x, y = place.tolist()
    ax.text(x, y, text, ha="center", va="center", color=color, **style)
