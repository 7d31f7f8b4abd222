"""Paired bootstrap intervals of means, from samples that pass by once, in memory that does not grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ontology.errors import InputError

__all__ = ["Interval", "PairedBootstrap"]

_MOST_GROUPS = 8192
_DRAWS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Interval:
    """A mean and its bootstrap interval."""

    mean: float
    low: float
    high: float

    def excludes_zero(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


class PairedBootstrap:
    """Resamples samples, each with all its values at once, so that differences keep their pairing.

    Up to 8,192 samples are drawn one by one. More are thrown into 8,192 groups at random, whichever order
    they come in, and groups are drawn: a mean is then a ratio of sums, with the spread of drawing samples.

    Parameters
    ----------
    n_samples : int
        How many will be added.
    n_values : int
        Values of each sample.
    seed : int
        Of the groups and the draws.

    Notes
    -----
    8,192 * (n_values + 1) numbers, and 8,192 draws for each resample, whatever the number of samples.

    Examples
    --------
    >>> bootstrap = PairedBootstrap(4, 2, seed=0)
    >>> bootstrap.add(0, np.array([[1.0, 3.0], [2.0, 4.0], [3.0, 5.0], [6.0, 8.0]]))
    >>> mean, difference = bootstrap.intervals(np.array([[1.0, 0.0], [-1.0, 1.0]]), 200, 0.95)
    >>> mean.mean, mean.low < 3 < mean.high, difference
    (3.0, True, Interval(mean=2.0, low=2.0, high=2.0))
    """

    def __init__(self, n_samples: int, n_values: int, seed: int) -> None:
        self._n_groups = min(n_samples, _MOST_GROUPS)
        self._alone = n_samples <= _MOST_GROUPS
        self._sums = np.zeros((self._n_groups, n_values + 1))
        self._seed = seed

    def add(self, start: int, values: NDArray[np.float64]) -> None:
        """Add the values, shape (m, n_values), of samples number ``start, start + 1, ...``."""
        counted = np.column_stack([values, np.ones(len(values))])
        if self._alone:
            self._sums[start : start + len(values)] += counted
            return
        group = _hashed(np.arange(start, start + len(values)), self._seed) % self._n_groups
        for j, column in enumerate(counted.T):
            self._sums[:, j] += np.bincount(group, column, minlength=self._n_groups)

    def intervals(self, contrasts: NDArray[np.float64], resamples: int, level: float) -> list[Interval]:
        """Return the interval of each weighted sum of the means.

        Parameters
        ----------
        contrasts : ndarray of shape (n_contrasts, n_values)
            Weights of the means; ``[0, 1, -1]`` is a difference.
        resamples : int
            Draws; 1000 give ends that a second seed moves by a few hundredths of the width.
        level : float
            Share of draws between the ends, such as 0.95: its percentiles.
        """
        if not isinstance(level, float) or not 0 < level < 1:
            raise InputError(f"level: {level!r} given; a share between 0 and 1, such as 0.95")
        rng = np.random.default_rng([self._seed, 1])
        sums, counts = self._sums[:, :-1] @ contrasts.T, self._sums[:, -1]
        drawn = np.empty((resamples, len(contrasts)))
        step = max(1, _DRAWS_AT_ONCE // self._n_groups)
        for first in range(0, resamples, step):
            n = min(step, resamples - first)
            pick = rng.integers(0, self._n_groups, (n, self._n_groups))
            pick += np.arange(n)[:, None] * self._n_groups
            times = np.bincount(pick.ravel(), minlength=n * self._n_groups).reshape(n, -1).astype(np.float64)
            drawn[first : first + n] = (times @ sums) / (times @ counts)[:, None]
        mean = sums.sum(axis=0) / counts.sum()
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return [Interval(*map(float, each)) for each in zip(mean, low, high, strict=True)]


def _hashed(number: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return 64 mixed bits for each number (splitmix64): the same wherever a block of samples begins."""
    offset = np.uint64((seed + 1) * 0xD1342543DE82EF95 % 2**64)
    mixed = (number.astype(np.uint64) + offset) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
