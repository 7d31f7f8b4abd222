"""Answers on a two-dimensional grid of labels: which are given and what they cost, rule beside rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from labelgrove.plots.backend import Figure
from labelgrove.plots.figure import INK, PALETTE, panels
from ontology.errors import InputError

__all__ = ["grid_errors"]

_BUBBLE = 1500.0
"""Area of the disc of an answer that is always given, in square points."""
_LEGEND_SHARES = (0.01, 0.05, 0.25)


def grid_errors(
    shape: tuple[int, int],
    observed: NDArray[np.integer],
    truth: NDArray[np.integer],
    predictions: Mapping[str, NDArray[np.integer]],
) -> Figure:
    """Draw, for each rule, the mean squared error at every true position and how often each answer is given.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the grid; labels are numbered row by row.
    observed : ndarray of shape (n_observed,)
        Labels that the classifier was trained on.
    truth : ndarray of shape (n_samples,)
        True label of each sample.
    predictions : mapping of rule to ndarray of shape (n_samples,)
        Predicted label of each sample; one panel for each rule, in the order given.

    Returns
    -------
    figure : Figure
        Cells are coloured by E[d²] in hops² of the samples that truly lie there (blank: no sample); the area
        of a disc is the share of all samples that are answered with that label.

    Raises
    ------
    InputError
        If `predictions` is empty or its arrays do not match `truth`.
    """
    if not predictions:
        raise InputError("predictions: empty; give at least one rule")
    rows, columns = shape
    true_row, true_column = np.divmod(truth, columns)
    errors = {}
    for rule, predicted in predictions.items():
        if predicted.shape != truth.shape:
            raise InputError(f"predictions: {rule!r} has shape {predicted.shape}, truth has {truth.shape}")
        row, column = np.divmod(predicted, columns)
        distance = np.abs(row - true_row) + np.abs(column - true_column)
        errors[rule] = _mean_by(truth, distance.astype(np.float64) ** 2, rows * columns)
    top = max(float(np.nanmax(e)) for e in errors.values())
    figure, axes = panels(
        len(errors),
        width=5.3 * len(errors) + 0.6,
        height=5.7,
        title=f"{len(observed)} observed labels, {rows * columns} possible answers",
    )
    image = None
    for ax, (rule, error) in zip(axes, errors.items(), strict=True):
        image = ax.imshow(error.reshape(shape), cmap="Blues", vmin=0, vmax=top)
        share = np.bincount(predictions[rule], minlength=rows * columns) / len(truth)
        given = np.flatnonzero(share)
        ax.scatter(
            *_place(given, columns), s=_BUBBLE * share[given], color=PALETTE[0], edgecolors="white", linewidths=0.4,
            zorder=3,
        )  # fmt: skip
        ax.scatter(
            *_place(observed, columns), s=560, marker="s", facecolors="none", edgecolors=INK, linewidths=2,
            label="observed label (trained on)", zorder=4,
        )  # fmt: skip
        ax.set_title(f"{rule}: E[d²] = {_risk(error, truth):.1f} hops²", fontsize=11)
        ax.set_xlabel("column (hops)")
        ax.set_ylabel("row (hops)")
        ax.set_xticks(range(columns))
        ax.set_yticks(range(rows))
        ax.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=list(axes), shrink=0.82, pad=0.02)
    bar.set_label("mean squared distance to the true position (hops²)")
    bar.outline.set_visible(False)
    for share in _LEGEND_SHARES:
        axes[0].scatter(
            [],
            [],
            s=_BUBBLE * share,
            color=PALETTE[0],
            edgecolors="white",
            label=f"{share:.0%} of the answers",
        )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9.5)
    return figure


def _mean_by(group: NDArray[np.integer], value: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Mean of `value` in each of `n` groups; NaN for an empty one."""
    count = np.bincount(group, minlength=n)
    total = np.bincount(group, weights=value, minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _place(label: NDArray[np.integer], columns: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return column and row of `label`: the x and y to draw it at."""
    row, column = np.divmod(label, columns)
    return column, row


def _risk(error: NDArray[np.float64], truth: NDArray[np.integer]) -> float:
    """Mean over the samples of the mean error at their true position."""
    return float(error[truth].mean())
