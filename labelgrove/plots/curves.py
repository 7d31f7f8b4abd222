"""Curves with bands: any figure of an experiment over the number that was varied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labelgrove.plots.backend import Figure
from labelgrove.plots.figure import PALETTE, panels
from ontology.errors import InputError

if TYPE_CHECKING:
    from labelgrove.experiments.experiment import Panel

__all__ = ["curve_panels"]

_STYLES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def curve_panels(given: Sequence[Panel], *, title: str) -> Figure:
    """Draw each panel: its lines, each in a band from the least to the largest of the trials.

    Parameters
    ----------
    given : sequence of Panel
        At least one, drawn in rows of two where there is an even number of them.
    title : str
        Of the figure.

    Returns
    -------
    figure : Figure

    Raises
    ------
    InputError
        If there is no panel, or one has no line or more lines than there are colours.
    """
    if not given:
        raise InputError("given: no panel to draw; give one at least")
    rows = len(given) // 2 if len(given) % 2 == 0 else 1
    figure, axes = panels(
        len(given), width=6.4 * (len(given) // rows), height=4.4 * rows, title=title, rows=rows
    )
    for ax, panel in zip(axes, given, strict=True):
        if not 1 <= len(panel.lines) <= len(PALETTE):
            raise InputError(
                f"given: {panel.title!r} has {len(panel.lines)} lines; 1 to {len(PALETTE)} are drawn"
            )
        for i, line in enumerate(panel.lines):
            colour = PALETTE[i]
            ax.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0)
            style, marker = _STYLES[i % len(_STYLES)], _MARKERS[i]
            ax.plot(
                line.x, line.y, color=colour, linestyle=style, marker=marker, markersize=5, label=line.name
            )
        if panel.log_x:
            ax.set_xscale("log")
        if panel.log_y:
            ax.set_yscale("log")
        ax.set_title(panel.title, fontsize=11)
        ax.set_xlabel(panel.x_label)
        ax.set_ylabel(panel.y_label)
        ax.grid(color="#e6e6e6", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, fontsize=9)
    return figure
