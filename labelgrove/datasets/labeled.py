"""Samples with features and labels, in a space that may have more labels than occur in the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry import MetricSpace

__all__ = ["Labeled", "spread"]


@dataclass(frozen=True)
class Labeled:
    """Samples for training and samples for testing.

    Attributes
    ----------
    space : MetricSpace
        The space whose allowed labels are the possible answers.
    trainable : MetricSpace
        The space with the same metric whose allowed labels are those with samples; observed labels are drawn
        from them.
    train_features, test_features : ndarray or scipy.sparse matrix, a row for each sample
    train_labels, test_labels : ndarray of str, shape (n_train,), (n_test,)
        The key of the label of each sample.
    """

    space: MetricSpace
    trainable: MetricSpace
    train_features: Any
    train_labels: NDArray[np.str_]
    test_features: Any
    test_labels: NDArray[np.str_]


def spread(n: int, wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `wanted` of the indices from 0 to `n` - 1 in random order; all of them if `wanted` exceeds `n`."""
    return rng.permutation(n)[: min(n, wanted)]
