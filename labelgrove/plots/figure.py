"""Provide the canvas, the colors, the shortening of text and the file format that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labelgrove.plots.backend import Axes, ConstrainedLayoutEngine, Figure, FigureCanvasAgg, Text

__all__ = ["INK", "PALETTE", "QUIET", "panels", "save", "shorten_to_fit", "shortened"]

INK = "#222222"
"""The color of text and outlines."""

QUIET = "#8a8a8a"
"""The color of axes, ticks and everything else that only supports the data."""

PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""The colors of Okabe and Ito, which readers with any kind of color vision can tell apart."""

_DPI = 160
_MOST_CHARACTERS = 28
_LEAST_CHARACTERS = 6
"""The least number of characters of a name that is cut to fit, including the ellipsis."""


def panels(
    n: int, *, width: float, height: float, title: str, rows: int = 1
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of `width` by `height` inches with `n` panels, in equal rows, under one title."""
    layout = ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.09, wspace=0.04)
    figure = Figure(figsize=(width, height), dpi=_DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)  # keeps its renderer; without a canvas, measuring a text creates one of 10 MB
    figure.suptitle(title, fontsize=13, fontweight="bold", color=INK)
    axes = figure.subplots(rows, n // rows, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.tick_params(colors=INK, labelsize=9, color=QUIET)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(QUIET)
    return figure, axes


def shortened(name: str) -> str:
    """Return a name as pictures show it: cut to at most 28 characters."""
    return name if len(name) <= _MOST_CHARACTERS else name[: _MOST_CHARACTERS - 1].rstrip() + "…"


def shorten_to_fit(text: Text, room: float) -> bool:
    """Cut a text until it is at most `room` pixels wide, and return whether it fits.

    At least 6 characters remain, even if they do not fit.
    """
    full = text.get_text()
    for n in range(len(full), min(len(full), _LEAST_CHARACTERS) - 1, -1):
        text.set_text(full if n == len(full) else full[: n - 1].rstrip() + "…")
        if text.get_window_extent().width <= room:
            return True
    return not full


def save(figure: Figure, path: Path) -> Path:
    """Write `figure` as a PNG file; equal figures give equal bytes under one version of matplotlib."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", dpi=_DPI, metadata={"Software": None})
    return path
