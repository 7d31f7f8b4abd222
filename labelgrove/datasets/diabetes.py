"""Diabetes progression on a path.

Each label is a range of the measured progression, called a bin; distances are counted in bins.
"""

from __future__ import annotations

import numpy as np

from labelgrove.datasets.labeled import Labeled
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["diabetes_on_path"]

_BINS = 33


def diabetes_on_path(seed: int) -> Labeled:
    """Return scikit-learn's 442 patients, half of them for training.

    The labels are 33 bins of equal width on a path.
    """
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import StandardScaler

    features, progression = load_diabetes(return_X_y=True)
    low, high = float(progression.min()), float(progression.max())
    bins = np.minimum(((progression - low) / (high - low) * _BINS).astype(np.int64), _BINS - 1)
    space = metric_space(LabelGraph.grid((_BINS,)))
    keys = np.array([f"{i}" for i in range(_BINS)])
    shuffled = np.random.default_rng(seed).permutation(len(bins))
    train, test = shuffled[: len(bins) // 2], shuffled[len(bins) // 2 :]
    scaled = StandardScaler().fit(features[train]).transform(features)
    with_samples = np.unique(keys[bins[train]]).tolist()
    return Labeled(
        space=space,
        trainable=metric_space(LabelGraph.grid((_BINS,)), labels=with_samples),
        train_features=scaled[train],
        train_labels=keys[bins[train]],
        test_features=scaled[test],
        test_labels=keys[bins[test]],
    )
