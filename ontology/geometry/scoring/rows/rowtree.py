"""RowTree finds the best rows of distances (beta = 2) by ruling out whole groups of rows.

For a group of rows, take the smallest distance in every column. Under any weights, the sum over these
smallest distances is at most the sum of each row of the group. So if it is above the sum of some other row,
neither the best row nor a row tied with it is in the group. Groups consist of rows that are near each other,
and larger groups consist of smaller groups. A search begins with the largest groups and opens those that it
cannot rule out.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.ranking import spans
from labelgrove.ontology.geometry.scoring.rows.rowgroups import RowGroups
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["MOST_PAIRS", "Pairs", "RowTree"]

MOST_PAIRS = 1 << 22
_MOST_IN_PRODUCT = 512
_CHUNK_ENTRIES = 1 << 18
_LARGEST = 1e15
_MOST_COLUMNS = 1 << 20

_WORTHWHILE = 3  # a single value takes about three times as long as a value in a matrix product

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sample and row of each finalist."""


class RowTree:
    """The search for the best rows of distances in nested groups of rows.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_observed)
        Rows of distances, C-contiguous.
    groups : RowGroups
        The groups of these rows. Neither array is copied: both may be views of a memory map.

    Attributes
    ----------
    distances, groups
        As given.
    largest : float
        The largest of all distances.
    relative, absolute : float
        The error of a weighted sum in float32 is at most `relative` times the sum plus `absolute`.
    tolerance : float
        Factor by which the plain sums of tied rows may differ: the factor of the tie rule, plus the rounding
        error of the two plain sums that the rule compares.

    Notes
    -----
    Let u be the rounding unit. A sum of n non-negative float32 products, each with a few roundings, lies
    within a factor of ``1 +- (n + 8) u`` of the true value, except for products too small for the
    floating-point format.
    """

    def __init__(self, distances: NDArray[Any], groups: RowGroups) -> None:
        n_observed = distances.shape[1]
        self.distances, self.groups = distances, groups
        self.largest = float(groups.largest[0])
        self.relative = 1.25 * (n_observed + 8) * 2.0**-24
        self.absolute = n_observed * 2.0**-125 * (1 + min(self.largest, _LARGEST) ** 2)
        self.tolerance = 1 + TIE_RELATIVE + 8 * (n_observed + 8) * 2.0**-53

    @property
    def fits(self) -> bool:
        """Whether float32 sums over these distances have a useful error bound."""
        return self.distances.shape[1] <= _MOST_COLUMNS and self.largest <= _LARGEST

    @property
    def n_items(self) -> int:
        """Number of groups of all sizes and of distinct rows."""
        return self.groups.n_groups + self.groups.n_classes

    @property
    def shape(self) -> tuple[int, int]:
        """Number of distinct rows and of columns; with indexing, the interface of a matrix of these rows."""
        return self.groups.n_classes, self.distances.shape[1]

    def __getitem__(self, classes: slice | NDArray[np.int64], /) -> NDArray[Any]:
        """Return the rows of the classes `classes`."""
        groups = self.groups
        return self.distances[groups.label[groups.first[:-1][classes]]]

    def most_values(self, n_samples: int) -> int:
        """Return how many weighted sums can be computed one by one in the time of one matrix product.

        The matrix product computes the sums of all items under the weights of `n_samples` samples.
        """
        return n_samples * self.n_items // _WORTHWHILE

    def shares(self, weights: NDArray[Any], total: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return each row of weights divided by its sum in `total`, as float32; the weights must be valid.

        The shape is (n_samples, n_observed).
        """
        share: NDArray[np.float32] = np.multiply(weights, 1 / total[:, None], dtype=np.float64).astype(
            np.float32
        )
        # shares below the normal range slow every product down; `absolute` allows for dropping them
        share[share < np.finfo(np.float32).tiny] = 0
        return share

    def find(self, share: NDArray[np.float32]) -> Pairs | None:
        """Return the finalists as (sample, row) pairs, sorted by sample.

        The finalists include the best row of each sample and all rows tied with it.

        Parameters
        ----------
        share : ndarray of shape (n_samples, n_observed)
            The result of `shares`.

        Returns
        -------
        pairs : tuple of ndarray, or None
            None if the groups rule out too few rows, or there are too many pairs for memory.

        Notes
        -----
        A matrix product with the largest groups comes first. Then each sample descends, level by level, into
        the group with the smallest sum. The sum of the row at the end of this descent is an upper bound of
        the smallest sum. A second descent opens every group that this bound does not rule out.
        """
        start, squares = self._first_product
        product = squares @ share.T
        n_groups = self.groups.n_groups
        every, least, lowest = np.arange(len(share)), product.min(axis=0), product.argmin(axis=0) + start
        while lowest[0] < n_groups:
            sample, item = self._inside(every, lowest)
            value = self._values(share, sample, item)
            least = np.minimum.reduceat(value, np.searchsorted(sample, every))
            at = np.flatnonzero(value == least[sample])
            lowest = item[at[np.searchsorted(sample[at], every)]]
        limit = self._limit(least)
        sample, item = np.nonzero(limit[:, None] >= product.T)
        item += start
        while item[0] < n_groups:
            sample, item = self._inside(sample, item)
            if len(item) > min(MOST_PAIRS, self.most_values(len(share))):
                return None
            value = self._values(share, sample, item)
            if item[0] >= n_groups:
                limit = self._limit(np.minimum.reduceat(value, np.searchsorted(sample, every)))
            open_ = value <= limit[sample]
            sample, item = sample[open_], item[open_]
        return sample, item - n_groups

    @cached_property
    def _first_product(self) -> tuple[int, NDArray[np.float32]]:
        """The first of the groups with which a search begins, and the squares of their bounds."""
        begin, n_groups = self.groups.begin, self.groups.n_groups
        start, stop = 0, int(begin[0])
        while stop < n_groups and begin[stop] - stop <= _MOST_IN_PRODUCT:
            start, stop = stop, int(begin[stop])
        return start, np.square(self.groups.bounds[start:stop], dtype=np.float32)

    def _limit(self, value: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return, for each of the float32 sums `value`, an upper limit of the float32 sums of tied rows.

        A row that is tied with a row whose float32 sum is `value` cannot have a float32 sum above the limit.
        """
        above = (value.astype(np.float64) + self.absolute) / (1 - self.relative)
        return np.asarray(above * self.tolerance * (1 + self.relative) + self.absolute)

    def _inside(self, sample: NDArray[np.int64], group: NDArray[np.int64]) -> Pairs:
        begin = self.groups.begin
        count = begin[group + 1] - begin[group]
        return np.repeat(sample, count), spans(begin[group], count)

    def _items(self, item: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances of the given items, which are either all groups or all classes."""
        n_groups = self.groups.n_groups
        return self.groups.bounds[item] if item[0] < n_groups else self[item - n_groups]

    def _values(
        self, share: NDArray[np.float32], sample: NDArray[np.int64], item: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        value = np.empty(len(item), dtype=np.float32)
        step = max(1, _CHUNK_ENTRIES // share.shape[1])
        for start in range(0, len(item), step):
            part = slice(start, start + step)
            square = np.square(self._items(item[part]), dtype=np.float32)
            np.einsum("ij,ij->i", share[sample[part]], square, out=value[part])
        return value
