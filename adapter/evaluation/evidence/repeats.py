"""Count samples that are copies of others: copies add no evidence."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["Repeats"]


class Repeats:
    """Finds samples that are copies of each other: they have exactly the same outputs and the same truth.

    If samples with the same outputs have different truths, none of them counts as a copy: a model that
    distinguishes few samples gives such outputs. Samples whose whole weight is on one class are not copies
    either, because different samples often have such outputs.

    Parameters
    ----------
    n_samples : int
        Number of samples to be added.

    Notes
    -----
    Takes 8 bytes for each sample.

    Examples
    --------
    >>> repeats = Repeats(6)
    >>> rows = np.array([[0.6, 0.4], [0.7, 0.3], [1.0, 0.0]])
    >>> repeats.add(0, np.concatenate([rows, rows]))
    >>> repeats.design_effect(np.array([5, 5, 5, 5, 5, 5]))  # two pairs of copies, and two certain samples
    1.6666666666666667
    >>> repeats.design_effect(np.array([5, 5, 5, 4, 4, 4]))
    1.0
    """

    def __init__(self, n_samples: int) -> None:
        self._digests = np.zeros(n_samples, dtype=np.uint64)

    def add(self, start: int, weights: NDArray[np.float64]) -> None:
        """Add the weights, shape (m, n_observed), of the samples at indices ``start, start + 1, ...``."""
        sure = weights.max(axis=1) == weights.sum(axis=1)
        for i in np.flatnonzero(~sure).tolist():
            digest = hashlib.blake2b(weights[i].tobytes(), digest_size=8).digest()
            self._digests[start + i] = int.from_bytes(digest, "little")

    def design_effect(self, truths: NDArray[np.int64]) -> float:
        """Return Kish's design effect: the mean, over samples, of the size of the sample's group of copies.

        A sample without copies is a group of size 1.

        Parameters
        ----------
        truths : ndarray of shape (n_samples,)
        """
        order = np.argsort(self._digests, kind="stable")
        digests, truth = self._digests[order], truths[order]
        starts = np.flatnonzero(np.r_[True, digests[1:] != digests[:-1]])
        counts = np.diff(np.r_[starts, len(digests)])
        alike = np.minimum.reduceat(truth, starts) == np.maximum.reduceat(truth, starts)
        copies = alike & (digests[starts] != 0)
        return float((counts * np.where(copies, counts, 1)).sum() / len(digests))
