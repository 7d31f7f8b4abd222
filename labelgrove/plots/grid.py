"""Draw answers of decision rules, with their mean squared errors, on a two-dimensional grid of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.plots.backend import Figure, Normalize, ScalarMappable
from labelgrove.plots.figure import INK, PALETTE, panels

__all__ = ["grid_errors"]

_BUBBLE = 1500.0
"""The area in square points of the disc of an answer that is given to every sample."""
_LEGEND_SHARES = (0.01, 0.05, 0.25)
_COLORS = "Blues"
_DISC: dict[str, Any] = {"color": PALETTE[0], "edgecolors": "white", "linewidths": 0.4}
_SQUARE: dict[str, Any] = {"s": 560, "marker": "s", "facecolors": "none", "edgecolors": INK, "linewidths": 2}


def grid_errors(
    shape: tuple[int, int],
    observed: NDArray[np.integer],
    truth: NDArray[np.integer],
    predictions: Mapping[str, NDArray[np.integer]],
) -> Figure:
    """Draw, for each rule, the mean squared error at every true position and the share of every answer.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the grid; labels are numbered row by row.
    observed : ndarray of shape (n_observed,)
        The labels that the classifier was trained on.
    truth : ndarray of shape (n_samples,)
        The true label of each sample.
    predictions : mapping of rule to ndarray of shape (n_samples,)
        The predicted label of each sample; one panel for each rule, in the order of the mapping.

    Returns
    -------
    figure : Figure
        The color of a cell is E[d²] in hops² over the samples with this true label; a cell without samples is
        blank. The area of the disc in a cell is proportional to the share of all samples that are answered
        with this label.

    Raises
    ------
    InputError
        If `predictions` is empty or its arrays do not match `truth`.
    """
    if not predictions:
        raise InputError("predictions: empty; give at least one rule")
    rows, columns = shape
    errors = {}
    for rule, predicted in predictions.items():
        if predicted.shape != truth.shape:
            raise InputError(
                f"predictions: {rule!r} has shape {predicted.shape}, truth has {truth.shape}; give one label "
                "for each sample"
            )
        across, down = (
            np.abs(p - t) for p, t in zip(_place(predicted, columns), _place(truth, columns), strict=True)
        )
        errors[rule] = _mean_by(truth, (across + down).astype(np.float64) ** 2, rows * columns)
    figure, axes = panels(
        len(errors),
        width=5.3 * len(errors) + 0.6,
        height=5.7,
        title=f"{len(observed)} observed labels, {rows * columns} possible answers",
    )
    scale = Normalize(0, max(float(np.nanmax(error)) for error in errors.values()))
    for ax, (rule, error) in zip(axes, errors.items(), strict=True):
        ax.imshow(error.reshape(shape), cmap=_COLORS, norm=scale)
        share = np.bincount(predictions[rule], minlength=rows * columns) / len(truth)
        given = np.flatnonzero(share)
        ax.scatter(*_place(given, columns), s=_BUBBLE * share[given], zorder=3, **_DISC)
        ax.scatter(*_place(observed, columns), label="observed label (trained on)", zorder=4, **_SQUARE)
        ax.set_title(f"{rule}: E[d²] = {error[truth].mean():.1f} hops²", fontsize=11)
        ax.set_xlabel("column (hops)")
        ax.set_ylabel("row (hops)")
        ax.set_xticks(range(columns))
        ax.set_yticks(range(rows))
        ax.spines[:].set_visible(False)
    bar = figure.colorbar(ScalarMappable(scale, _COLORS), ax=list(axes), shrink=0.82, pad=0.02)
    bar.set_label("mean squared distance to the true position (hops²)")
    for spine in bar.ax.spines.values():
        spine.set_visible(False)
    for legend_share in _LEGEND_SHARES:  # these discs appear only in the legend
        axes[0].scatter([], [], s=_BUBBLE * legend_share, label=f"{legend_share:.0%} of the answers", **_DISC)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9.5)
    return figure


def _mean_by(group: NDArray[np.integer], value: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the mean of `value` in each of `n` groups, NaN for an empty group."""
    count = np.bincount(group, minlength=n)
    total = np.bincount(group, weights=value, minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _place(label: NDArray[np.integer], columns: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the column and the row of each label, which are the x and the y of its drawing."""
    row, column = np.divmod(label, columns)
    return column, row
