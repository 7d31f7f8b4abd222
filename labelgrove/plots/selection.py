"""Draw how fast the locus grows if labels are selected actively, and how fast if they are drawn at random."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from labelgrove.ontology.errors import InputError
from labelgrove.plots.backend import Figure, MaxNLocator
from labelgrove.plots.figure import PALETTE, panels

__all__ = ["selection_curves"]

_STYLES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D")
_MOST_MARKERS = 12


def selection_curves(
    sizes: Mapping[str, ArrayLike],
    *,
    n_start: int,
    n_labels: int,
) -> Figure:
    """Draw the size of the locus after each round: the mean over seeds, and the range over seeds.

    Parameters
    ----------
    sizes : mapping of method to array_like of shape (n_seeds, n_rounds + 1)
        The number of labels in the locus before the first round, after the first round, and so on, for one to
        four methods. The methods may differ in the number of rounds.
    n_start : int
        The number of labels observed before the first round; each round adds one.
    n_labels : int
        The number of labels that may be answers, drawn as a line that no curve can exceed.

    Returns
    -------
    figure : Figure
        For each method, a line (the mean over seeds) in a band from the smallest to the largest size.

    Raises
    ------
    InputError
        If there is no method or more than four, an array is empty or does not have two dimensions, or a size
        is outside 0 to `n_labels`.
    """
    if not 1 <= len(sizes) <= len(_STYLES):
        raise InputError(f"sizes: {len(sizes)} methods given; draw one to {len(_STYLES)}")
    curves = {method: np.asarray(given, dtype=np.float64) for method, given in sizes.items()}
    for method, curve in curves.items():
        if curve.ndim != 2 or not curve.size:
            raise InputError(f"sizes: {method!r} has shape {curve.shape}; give (n_seeds, n_rounds + 1)")
        if not ((curve >= 0) & (curve <= n_labels)).all():
            raise InputError(f"sizes: {method!r} has values outside 0..{n_labels}, the number of labels")
    figure, (ax,) = panels(1, width=7.6, height=4.8, title="Labels that can be answered, round by round")
    ax.axhline(n_labels, color="#bbbbbb", linewidth=1, zorder=1)
    ax.text(
        1.0,
        n_labels,
        f"all {n_labels} labels ",
        ha="right",
        va="bottom",
        fontsize=9,
        color="#666666",
        transform=ax.get_yaxis_transform(),
    )
    for i, (method, curve) in enumerate(curves.items()):
        observed = n_start + np.arange(curve.shape[1])
        color = PALETTE[(1, 0, 2, 3)[i]]
        ax.fill_between(observed, curve.min(axis=0), curve.max(axis=0), color=color, alpha=0.18, linewidth=0)
        ax.plot(
            observed,
            curve.mean(axis=0),
            color=color,
            linestyle=_STYLES[i],
            linewidth=2,
            marker=_MARKERS[i],
            markersize=4.5,
            markevery=max(1, -(-len(observed) // _MOST_MARKERS)),
            label=f"{method} (mean of {len(curve)} seeds; band: smallest to largest)",
        )
    ax.set_xlabel("observed labels (count)")
    ax.set_ylabel("labels in the locus (count)")
    ax.set_ylim(0, n_labels * 1.09)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    return figure
