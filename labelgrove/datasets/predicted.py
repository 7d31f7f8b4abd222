"""The outputs of a classifier: probabilities with named columns, and the true labels to compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Predicted"]


@dataclass(frozen=True)
class Predicted:
    """The outputs of one trained classifier for its test samples.

    Attributes
    ----------
    columns : tuple of str, length n_observed
        Label key of each column of `probabilities`.
    probabilities : ndarray of shape (n_samples, n_observed), dtype=float64
        Rows sum to one.
    truth : tuple of str, length n_samples
        The true label key of each sample; most of these labels have no column.
    train_labels : tuple of str, length n_train
        The label key of each training sample; all of these labels are observed.
    """

    columns: tuple[str, ...]
    probabilities: NDArray[np.float64]
    truth: tuple[str, ...]
    train_labels: tuple[str, ...]
