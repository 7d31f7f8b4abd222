"""Paired bootstrap intervals of means, from one pass over the samples, in constant memory.

A mean may look certain only because a rare sample is missing. For example, a rule may gain a little on nearly
every sample and lose much on a few, and no loss is seen until one of these few occurs. So each draw weights
the samples at random and adds one more sample. For the lower end of the interval, the added sample has the
least possible value; for the upper end, it has the largest possible value [1]_ [2]_. If every sample has one
of these two values, the result is the exact interval of a proportion by Clopper and Pearson [3]_. Samples may
also have other values between these two. Nobody knows a distribution of such values, however skewed, whose
mean lies outside the interval more often than stated. With many samples the added one matters little, and the
method is nearly the Bayesian bootstrap.

References
----------
.. [1] N. Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a
   nonnegative variable, Math. Methods Statist. 14(4), 451-467.
.. [2] E. Learned-Miller, P. S. Thomas (2019), A new confidence interval for the mean of a bounded random
   variable, arXiv:1905.06208.
.. [3] C. J. Clopper, E. S. Pearson (1934), Biometrika 26(4), 404-413.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError

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
        """Return whether zero is outside the interval."""
        return self.low > 0 or self.high < 0


class PairedBootstrap:
    """Bootstrap intervals from random weights of samples; all values of one sample get the same weight.

    So differences between the values are computed sample by sample, as for paired data. Up to 8,192 samples
    get one weight each. If there are more, each sample is assigned to one of 8,192 groups by a hash of its
    index, and each group gets one weight. A mean is then a ratio of two weighted sums over groups, and its
    spread is the same as with one weight for each sample.

    Parameters
    ----------
    n_samples : int
        Number of samples to be added.
    n_values : int
        Number of values of each sample.
    seed : int
        Seed of the groups and the draws.

    Notes
    -----
    For more than 8,192 samples, it keeps 8,192 * (n_values + 1) numbers and draws 8,192 weights for each
    resample.

    Examples
    --------
    >>> bootstrap = PairedBootstrap(4, 2, seed=0)
    >>> bootstrap.add(0, np.array([[1.0, 3.0], [2.0, 4.0], [3.0, 5.0], [6.0, 8.0]]))
    >>> contrasts, extremes = np.array([[1.0, 0.0], [-1.0, 1.0]]), np.array([[0.0, 10.0], [2.0, 2.0]])
    >>> mean, difference = bootstrap.intervals(contrasts, extremes, 200, 0.95)
    >>> mean.mean, 0 < mean.low < 3 < mean.high < 10, difference
    (3.0, True, Interval(mean=2.0, low=2.0, high=2.0))
    """

    def __init__(self, n_samples: int, n_values: int, seed: int) -> None:
        self._n_groups = min(n_samples, _MOST_GROUPS)
        self._alone = n_samples <= _MOST_GROUPS
        self._sums = np.zeros((self._n_groups, n_values + 1))
        self._seed = seed

    def add(self, start: int, values: NDArray[np.float64]) -> None:
        """Add the values, shape (m, n_values), of the samples at indices ``start, start + 1, ...``."""
        counted = np.column_stack([values, np.ones(len(values))])
        if self._alone:
            self._sums[start : start + len(values)] += counted
            return
        hashed = _hashed(np.arange(start, start + len(values)), self._seed)
        group = (hashed % self._n_groups).astype(np.int64)  # NumPy 2.0 and 2.1 cannot count unsigned ones
        for j, column in enumerate(counted.T):
            self._sums[:, j] += np.bincount(group, column, minlength=self._n_groups)

    def intervals(
        self,
        contrasts: NDArray[np.float64],
        extremes: NDArray[np.float64],
        resamples: int,
        level: float,
        *,
        repeats: float = 1.0,
    ) -> list[Interval]:
        """Return the interval of each contrast, a weighted sum of the means of the values.

        Parameters
        ----------
        contrasts : ndarray of shape (n_contrasts, n_values)
            Weights of the means; ``[0, 1, -1]`` is a difference.
        extremes : ndarray of shape (n_contrasts, 2)
            The least and the largest possible value of each weighted sum for one sample.
        resamples : int
            Number of draws. With 1000, another seed moves the ends by a few hundredths of the width. If there
            are fewer than ``2 / (1 - level) - 1`` draws, the ends are the extremes, because so few draws are
            not enough for the level.
        level : float
            Share of draws between the ends, such as 0.95; half of the other draws lie beyond each end.
        repeats : float, default=1
            Number of samples that give as much evidence as one independent sample (the design effect).
        """
        if not isinstance(level, float) or not 0 < level < 1:
            raise InputError(f"level: {level!r} given; it must be a float between 0 and 1, such as 0.95")
        rng = np.random.default_rng([self._seed, 1])
        mean, sums, counts = self._centered(contrasts)
        ends = extremes.T - mean
        low, high = np.empty((2, resamples, len(contrasts)))
        step = max(1, _DRAWS_AT_ONCE // self._n_groups)
        for first in range(0, resamples, step):
            drawn = slice(first, min(first + step, resamples))
            shape = drawn.stop - first, self._n_groups + 1
            weights = rng.standard_exponential(shape)
            if repeats > 1:  # the total weight of as many samples as are independent
                weights[:, 1:] = rng.standard_gamma(1 / repeats, (shape[0], self._n_groups))
            total, more = weights[:, 1:] @ sums, weights[:, :1]
            weight = (weights[:, 1:] @ counts)[:, None] + more
            low[drawn] = (total + more * ends[0]) / weight
            high[drawn] = (total + more * ends[1]) / weight
        beyond = int((1 - level) / 2 * (resamples + 1) + 1e-9)
        if beyond:
            lowest = np.partition(low, beyond - 1, axis=0)[beyond - 1]
            highest = np.partition(high, resamples - beyond, axis=0)[resamples - beyond]
        else:
            lowest, highest = ends
        lowest, highest = mean + np.minimum(lowest, 0), mean + np.maximum(highest, 0)
        return [Interval(*map(float, each)) for each in zip(mean, lowest, highest, strict=True)]

    def deviations(self, contrasts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of each contrast over the samples.

        The contrast of one sample is a weighted sum of the values of this sample. `contrasts` contains the
        weights, as for the method `intervals`.
        """
        _, sums, counts = self._centered(contrasts)
        return np.asarray(np.sqrt((sums * sums).sum(axis=0) / counts.sum()))

    def _centered(
        self, contrasts: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return a tuple: the mean for each contrast, the deviations, and the sizes of the groups.

        A contrast gives each sample a number: the weighted sum of the sample's values. The mean is that of
        these numbers. For each group and contrast there is one deviation: the total, over the samples of the
        group, of the sample's number minus the mean.
        """
        sums, counts = self._sums[:, :-1] @ contrasts.T, self._sums[:, -1]
        mean = sums.sum(axis=0) / counts.sum()
        return mean, sums - counts[:, None] * mean, counts


def _hashed(number: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each number (splitmix64); it depends only on the number and the seed."""
    offset = np.uint64((seed + 1) * 0xD1342543DE82EF95 % 2**64)
    mixed = (number.astype(np.uint64) + offset) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
