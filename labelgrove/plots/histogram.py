"""Draw how far the answers of several decision rules are from the truth.

The picture shows the share of samples at each distance.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from labelgrove.ontology.errors import InputError
from labelgrove.plots.backend import Figure
from labelgrove.plots.figure import PALETTE, panels

__all__ = ["error_histogram"]

_BARS_WIDTH = 0.84


def error_histogram(settings: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Draw the distribution of distances to the true label, in one panel for each setting.

    Parameters
    ----------
    settings : mapping of title to (mapping of rule to array_like of shape (n_distances,))
        For each rule, the number of samples whose answer is at distance 0, 1, 2, ... from the true label. The
        first setting decides which color each rule has.

    Returns
    -------
    figure : Figure
        The bars are shares in percent, and add up to 100 for each rule.

    Raises
    ------
    InputError
        If there is nothing to draw, or a rule has no samples.
    """
    if not settings:
        raise InputError("settings: empty; give at least one setting with at least one rule")
    colors = dict(zip(next(iter(settings.values())), PALETTE, strict=False))
    figure, axes = panels(
        len(settings),
        width=6.4 * len(settings),
        height=4.4,
        title="How far the answers are from the true label",
    )
    for ax, (title, rules) in zip(axes, settings.items(), strict=True):
        counts = {rule: np.trim_zeros(np.asarray(c, dtype=np.int64), "b") for rule, c in rules.items()}
        longest = max((len(c) - 1 for c in counts.values()), default=0)
        places = np.arange(longest + 1)
        width = _BARS_WIDTH / max(len(rules), 1)
        for i, (rule, count) in enumerate(counts.items()):
            if not len(count):
                raise InputError(f"settings: {title!r} has no sample for the rule {rule!r}")
            share = np.zeros(longest + 1)
            share[: len(count)] = count / count.sum()
            ax.bar(
                places + (i - (len(rules) - 1) / 2) * width,
                100 * share,
                width,
                color=colors.get(rule, PALETTE[-1]),
                label=f"{rule}: E[d²] = {share @ places**2:.1f} hops²",
            )
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("distance to the true label (hops)")
        ax.set_ylabel("share of test samples (%)")
        ax.set_xticks(places if longest <= 16 else places[::2])
        ax.set_xlim(-0.6, longest + 0.6)
        ax.margins(y=0.12)
        ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, fontsize=9, loc="upper right")
    return figure
