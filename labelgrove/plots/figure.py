"""What all pictures share: the canvas, the colors and the one way to write a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labelgrove.plots.backend import Axes, ConstrainedLayoutEngine, Figure, FigureCanvasAgg, Text

__all__ = ["INK", "PALETTE", "QUIET", "panels", "save", "shorten_to_fit", "shortened"]

INK = "#222222"
"""Color of text and outlines."""

QUIET = "#8a8a8a"
"""Color of spines, ticks and everything that only supports the data."""

PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
"""Okabe and Ito's colors, which readers of every kind of color vision tell apart."""

_DPI = 160
_MOST_CHARACTERS = 28
_LEAST_CHARACTERS = 6
"""Of a name that is cut to fit, the end mark among them."""


def panels(
    n: int, *, width: float, height: float, title: str, rows: int = 1
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of `width` by `height` inches with `n` panels, in equal rows, under one title."""
    layout = ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.09, wspace=0.04)
    figure = Figure(figsize=(width, height), dpi=_DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)  # keeps its renderer: without a canvas each measured text makes one of 10 MB
    figure.suptitle(title, fontsize=13, fontweight="bold", color=INK)
    axes = figure.subplots(rows, n // rows, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.tick_params(colors=INK, labelsize=9, color=QUIET)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(QUIET)
    return figure, axes


def shortened(name: str) -> str:
    """Return a name as pictures show it: cut after 28 characters."""
    return name if len(name) <= _MOST_CHARACTERS else name[: _MOST_CHARACTERS - 1].rstrip() + "…"


def shorten_to_fit(text: Text, room: float) -> bool:
    """Cut a text until it is at most `room` pixels wide; return whether it is.

    Its first characters stay, whether they fit or not.
    """
    full = text.get_text()
    for n in range(len(full), min(len(full), _LEAST_CHARACTERS) - 1, -1):
        text.set_text(full if n == len(full) else full[: n - 1].rstrip() + "…")
        if text.get_window_extent().width <= room:
            return True
    return not full


def save(figure: Figure, path: Path) -> Path:
    """Write `figure` as PNG; the same figure gives the same bytes under one version of matplotlib."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", dpi=_DPI, metadata={"Software": None})
    return path
