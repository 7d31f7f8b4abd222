"""Labeled: samples with features and labels, in a space that may hold more labels than have samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import MetricSpace

__all__ = ["Labeled", "spread"]


@dataclass(frozen=True)
class Labeled:
    """Samples to train on and samples to test on.

    Attributes
    ----------
    space : MetricSpace
        Its allowed labels are the answers.
    trainable : MetricSpace
        The same metric; its allowed labels are those that have samples, of which the observed ones are drawn.
    train_features, test_features : ndarray or scipy.sparse matrix, a row for each sample
    train_labels, test_labels : ndarray of str, shape (n_train,), (n_test,)
        Key of each sample's label.
    """

    space: MetricSpace
    trainable: MetricSpace
    train_features: Any
    train_labels: NDArray[np.str_]
    test_features: Any
    test_labels: NDArray[np.str_]


def spread(n: int, wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `wanted` of the numbers below `n` (all of them where there are no more), shuffled."""
    return rng.permutation(n)[: min(n, wanted)]
