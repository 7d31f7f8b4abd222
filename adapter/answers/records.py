"""What an adapter answers with: rankings, and the numbers of every label where somebody asks for them."""

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
        Fréchet variance at each, in edge-weight units to the power of beta times the sum of the row: for rows
        that sum to one and beta 2, the expected squared distance.
    n_tied : ndarray of shape (n_samples,), dtype=int64
        Number of labels tied with the best, itself included.
    """

    keys: tuple[tuple[str, ...], ...]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    n_tied: NDArray[np.int64]


@dataclass(frozen=True)
class BackedOff:
    """What is said of each sample when labels that are nearly as good count as one answer.

    Attributes
    ----------
    keys : tuple of n_samples keys
        The lowest label of the tree that has the best one and all labels within the margin at or below it.
    points : ndarray of shape (n_samples,), dtype=int64
        The same as indices into ``bundle.points``: an ancestor need not be an allowed label.
    best : ndarray of shape (n_samples,), dtype=int64
        The best label of each sample, as `Adapter.predict_indices` has it.
    n_within : ndarray of shape (n_samples,), dtype=int64
        Number of labels within the margin, the best included.
    """

    keys: tuple[str, ...]
    points: NDArray[np.int64]
    best: NDArray[np.int64]
    n_within: NDArray[np.int64]
