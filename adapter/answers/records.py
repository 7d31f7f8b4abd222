"""The records that an adapter returns: rankings and back-off answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BackedOff", "Ranking"]


@dataclass(frozen=True)
class Ranking:
    """The best labels of each sample, best first.

    Attributes
    ----------
    keys : tuple of n_samples tuples of k keys
    indices : ndarray of shape (n_samples, k), dtype=int64
        The same labels as indices into `Adapter.keys`.
    values : ndarray of shape (n_samples, k), dtype=float64
        Fréchet variance of each label, in edge-weight units to the power of beta, the exponent of the
        distances. If all weights of a row are multiplied by a factor, so are the variances of the row. If the
        row sums to one and beta is 2, they are expected squared distances.
    n_tied : ndarray of shape (n_samples,), dtype=int64
        Number of labels tied with the best, including the best.
    """

    keys: tuple[tuple[str, ...], ...]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    n_tied: NDArray[np.int64]


@dataclass(frozen=True)
class BackedOff:
    """For each sample, one label above all labels that are nearly as good as its best label.

    Attributes
    ----------
    keys : tuple of n_samples keys
        For each sample, the lowest label of the tree such that the best label and all labels within the
        margin are at or below it. `Adapter.back_off` takes the margin as a parameter and says which labels
        are within it.
    points : ndarray of shape (n_samples,), dtype=int64
        The same labels as indices into ``bundle.points``, because such a label need not be an allowed label.
    best : ndarray of shape (n_samples,), dtype=int64
        The best label of each sample, as from `Adapter.predict_indices`.
    n_within : ndarray of shape (n_samples,), dtype=int64
        Number of labels within the margin, including the best.
    """

    keys: tuple[str, ...]
    points: NDArray[np.int64]
    best: NDArray[np.int64]
    n_within: NDArray[np.int64]
