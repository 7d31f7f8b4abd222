"""Compiled ranking of finalists: the best labels of each sample, by their plain sums and the tie rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["rank_groups"]


@compiled
def rank_groups(
    sample: NDArray[np.int64],
    group: NDArray[np.int64],
    total: NDArray[np.float64],
    first: NDArray[np.integer],
    label: NDArray[np.integer],
    tolerance: float,
    index: NDArray[np.int64],
    value: NDArray[np.float64],
    n_tied: NDArray[np.int64],
) -> None:
    """Write the best labels of each sample, their plain sums, and the number of labels tied for best.

    Parameters
    ----------
    sample, group : ndarray of shape (n_finalists,), dtype=int64
        Finalists, sorted by sample: groups of labels with the same plain sum. The groups of each sample have
        at least as many labels together as are requested.
    total : ndarray of shape (n_finalists,), dtype=float64
        Plain sum of each finalist; it is overwritten.
    first, label : ndarray of int32 or int64
        The labels of group g are ``label[first[g]:first[g + 1]]``, ascending.
    tolerance : float
        Sums up to this multiple of the smallest are tied.
    index : ndarray of shape (n_samples, top), dtype=int64
    value : ndarray of shape (n_samples, top), dtype=float64
    n_tied : ndarray of shape (n_samples,), dtype=int64
    """
    n_samples, top = index.shape
    taken = np.zeros(len(sample), np.int64)  # of the labels of each finalist, ascending
    begin = 0
    for s in range(n_samples):
        end = begin
        while end < len(sample) and sample[end] == s:
            end += 1
        for rank in range(top):
            limit = np.inf
            for i in range(begin, end):
                limit = min(limit, total[i] * tolerance)
            best = -1
            lowest = np.int64(0)
            tied = 0
            for i in range(begin, end):
                if total[i] <= limit and total[i] < np.inf:
                    here = np.int64(label[first[group[i]] + taken[i]])
                    tied += first[group[i] + 1] - first[group[i]]
                    if best < 0 or here < lowest:
                        best = i
                        lowest = here
            if rank == 0:
                n_tied[s] = tied
            index[s, rank] = lowest
            value[s, rank] = total[best]
            taken[best] += 1
            if first[group[best]] + taken[best] == first[group[best] + 1]:
                total[best] = np.inf
        begin = end
