"""The Fréchet variances of all labels under one row of weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.state import CandidateSet, State

__all__ = ["every_variance"]


def every_variance(state: State, among: CandidateSet, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of each allowed label, NaN if it is not a candidate.

    `weights` is one checked row, of shape (1, n_observed).
    """
    chosen = slice(None) if among.labels is None else among.labels
    found = np.full(state.bundle.n_labels, np.nan)
    if state.everywhere is not None and state.tree is not None:
        at = state.tree.tree.positions(state.bundle.allowed[chosen])
        found[chosen] = state.everywhere.variance(weights[0])[at]
    else:
        scorer = state.scorer if among.labels is None else state.rows_scorer(among.labels)
        found[chosen] = scorer.variance(weights)[0]
    return found
