"""RowTree finds the best rows of distances (beta = 2) by ruling out whole groups of rows.

For a group of rows, take the smallest distance in every column. Under any weights, the sum over these
smallest distances is at most the sum of each row of the group. So if it is above the sum of some other row,
neither the best row nor a row tied with it is in the group. Groups consist of rows that are near each other,
and larger groups consist of smaller groups. A search begins with the largest groups and opens those that it
cannot rule out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.ranking import spans
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["MOST_PAIRS", "Pairs", "RowTree"]

MOST_PAIRS = 1 << 22
_FANOUT = 8
_MOST_ROOTS = 256
_MOST_IN_PRODUCT = 512
_SPLIT_COLUMNS = 64
_SPLIT_ROUNDS = 2
_CHUNK_ENTRIES = 1 << 18
_LARGEST = 1e15
_MOST_COLUMNS = 1 << 20

_WORTHWHILE = 3  # a single value takes about three times as long as a value in a matrix product

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sample and row of each finalist."""


class RowTree:
    """Rows of distances in nested groups.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_observed)
        Distinct rows of distances.

    Attributes
    ----------
    order : ndarray of shape (n_rows,), dtype=int64
        Indices of the given rows, in the order that makes the rows of each group adjacent. All other
        attributes and methods number the rows in this order.
    items : ndarray of shape (n_groups + n_rows, n_observed)
        One item for each group, with the largest groups first, and then the rows. The item of a group
        contains, for each column, the smallest distance in the group. The dtype is that of `distances`.
    begin : ndarray of shape (n_groups + 1,), dtype=int64
        The items of group g (smaller groups, or rows) are ``begin[g], ..., begin[g + 1] - 1``. The items
        before ``begin[0]`` are the largest groups.
    relative, absolute : float
        The error of a weighted sum in float32 is at most `relative` times the sum plus `absolute`.
    tolerance : float
        Factor by which the plain sums of tied rows may differ: the factor of the tie rule, plus the rounding
        error of the two plain sums that the rule compares.

    Notes
    -----
    Preparation takes O(n_rows log n_rows) time on a sample of columns, and a few passes over `distances`. It
    needs memory for a copy of the rows, and an eighth to a third of that for the groups.

    Let u be the rounding unit. A sum of n non-negative float32 products, each with a few roundings, lies
    within a factor of ``1 +- (n + 8) u`` of the true value, except for products too small for the
    floating-point format.
    """

    def __init__(self, distances: NDArray[Any]) -> None:
        n_rows, n_observed = distances.shape
        self.order, starts = _grouped(distances)
        levels = [distances[self.order]]
        begins: list[NDArray[np.int64]] = []
        for start in starts:
            below = np.arange(n_rows) if not begins else begins[-1]
            levels.append(np.minimum.reduceat(levels[-1], np.searchsorted(below, start), axis=0))
            begins.append(start)
        self.items = np.concatenate(levels[::-1])
        self.begin = _children(begins, n_rows)
        largest = float(self.items.max(initial=0)) ** 2
        self.relative = 1.25 * (n_observed + 8) * 2.0**-24
        self.absolute = n_observed * 2.0**-125 * (1 + largest)
        self.tolerance = 1 + TIE_RELATIVE + 8 * (n_observed + 8) * 2.0**-53

    @staticmethod
    def fits(distances: NDArray[Any]) -> bool:
        """Return whether float32 sums over these distances have a useful error bound."""
        return distances.shape[1] <= _MOST_COLUMNS and float(distances.max(initial=0)) <= _LARGEST

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def n_groups(self) -> int:
        """Number of groups of all sizes."""
        return len(self.begin) - 1

    @property
    def rows(self) -> NDArray[Any]:
        """The rows in the order of the groups; shape (n_rows, n_observed)."""
        return self.items[self.n_groups :]

    def most_values(self, n_samples: int) -> int:
        """Return how many weighted sums can be computed one by one in the time of one matrix product.

        The matrix product computes the sums of all items under the weights of `n_samples` samples.
        """
        return n_samples * len(self.items) // _WORTHWHILE

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
        start, stop = 0, int(self.begin[0])
        while stop < self.n_groups and self.begin[stop] - stop <= _MOST_IN_PRODUCT:
            start, stop = stop, int(self.begin[stop])
        product = np.square(self.items[start:stop], dtype=np.float32) @ share.T
        every, least, lowest = np.arange(len(share)), product.min(axis=0), product.argmin(axis=0) + start
        while lowest[0] < self.n_groups:
            sample, item = self._inside(every, lowest)
            value = self._values(share, sample, item)
            least = np.minimum.reduceat(value, np.searchsorted(sample, every))
            at = np.flatnonzero(value == least[sample])
            lowest = item[at[np.searchsorted(sample[at], every)]]
        limit = self._limit(least)
        sample, item = np.nonzero(limit[:, None] >= product.T)
        item += start
        while item[0] < self.n_groups:
            sample, item = self._inside(sample, item)
            if len(item) > min(MOST_PAIRS, self.most_values(len(share))):
                return None
            value = self._values(share, sample, item)
            if item[0] >= self.n_groups:
                limit = self._limit(np.minimum.reduceat(value, np.searchsorted(sample, every)))
            open_ = value <= limit[sample]
            sample, item = sample[open_], item[open_]
        return sample, item - self.n_groups

    def _limit(self, value: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return, for each of the float32 sums `value`, an upper limit of the float32 sums of tied rows.

        A row that is tied with a row whose float32 sum is `value` cannot have a float32 sum above the limit.
        """
        above = (value.astype(np.float64) + self.absolute) / (1 - self.relative)
        return np.asarray(above * self.tolerance * (1 + self.relative) + self.absolute)

    def _inside(self, sample: NDArray[np.int64], group: NDArray[np.int64]) -> Pairs:
        count = self.begin[group + 1] - self.begin[group]
        return np.repeat(sample, count), spans(self.begin[group], count)

    def _values(
        self, share: NDArray[np.float32], sample: NDArray[np.int64], item: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        value = np.empty(len(item), dtype=np.float32)
        step = max(1, _CHUNK_ENTRIES // share.shape[1])
        for start in range(0, len(item), step):
            part = slice(start, start + step)
            square = np.square(self.items[item[part]], dtype=np.float32)
            np.einsum("ij,ij->i", share[sample[part]], square, out=value[part])
        return value


def _grouped(distances: NDArray[Any]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return an order that makes the rows of each group adjacent, and where in this order the groups begin.

    There are several levels of groups. The first level has the smallest groups; a group of any other level
    consists of groups of the level before it. For each level, one array contains the indices, in the new
    order, at which the groups of the level begin.

    The groups are found by splitting: all rows are one group at first, and each group is split in two until
    the groups are small. The two sides of a split gather around two centers, which are far from each other at
    first and then become the means of their sides.
    """
    n_rows, n_observed = distances.shape
    columns = np.unique(np.linspace(0, n_observed - 1, min(n_observed, _SPLIT_COLUMNS)).astype(np.int64))
    points = distances[:, columns].astype(np.float32)
    order = np.arange(n_rows)
    n_levels = 1
    while n_rows > _MOST_ROOTS * _FANOUT**n_levels // 2:
        n_levels += 1
    starts: list[list[int]] = [[] for _ in range(n_levels)]
    waiting = [(0, n_rows, _FANOUT**n_levels + 1)]
    while waiting:
        start, stop, above = waiting.pop()
        size = stop - start
        for level in range(n_levels):
            if size <= _FANOUT ** (level + 1) < above:
                starts[level].append(start)
        if size <= _FANOUT:
            continue
        part = order[start:stop]
        far = _sides(points[part])
        order[start:stop] = np.concatenate([part[~far], part[far]])
        middle = stop - int(far.sum())
        waiting += [(middle, stop, size), (start, middle, size)]
    return order, [np.array(level) for level in starts]


def _sides(points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Split the rows of `points` into two sides, neither empty; return which rows are on the second side.

    Each row of `points` contains the distances from one label to some of the observed labels.
    """
    one = points[np.square(points - points[0]).sum(axis=1).argmax()]
    other = points[np.square(points - one).sum(axis=1).argmax()]
    far = np.arange(len(points)) >= len(points) // 2
    for _ in range(_SPLIT_ROUNDS + 1):
        across = other - one
        side = points @ across > (other @ other - one @ one) / 2
        if not 0 < side.sum() < len(side):
            break
        far = side
        one, other = points[~far].mean(axis=0), points[far].mean(axis=0)
    return far


def _children(starts: list[NDArray[np.int64]], n_rows: int) -> NDArray[np.int64]:
    """Return `RowTree.begin`: the index of the first item in each group, followed by the number of all items.

    Items are groups and rows. Their index is their position in `RowTree.items`, which lists all groups, the
    largest first, and after them the rows.
    """
    below = [np.arange(n_rows), *starts[:-1]]
    first = np.cumsum([len(level) for level in starts[::-1]])
    parts = [
        at + np.searchsorted(lower, level)
        for at, level, lower in zip(first, starts[::-1], below[::-1], strict=True)
    ]
    return np.append(np.concatenate(parts), first[-1] + n_rows)
