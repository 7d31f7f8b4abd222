"""Choose the answers among the finalists: the last step of every scorer, once the plain sums are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.ties import TIE_RELATIVE, FrechetResult

__all__ = [
    "Finalists",
    "Ranked",
    "gathered",
    "in_halves",
    "ranked",
    "ranked_groups",
    "spans",
]

Found = TypeVar("Found")

Finalists = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Sample, row (or group of equal rows) and plain sum of each finalist."""

Ranked = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]
"""Best rows of each sample and their plain sums, both (n_samples, top); number of labels tied for best."""


def gathered(n_samples: int, top: int, batches: Iterable[tuple[slice, Ranked]]) -> FrechetResult:
    """Return the answers of all batches as one result.

    `batches` yields, for each batch, the slice of its samples and their answers.
    """
    index = np.empty((n_samples, top), dtype=np.int64)
    value = np.empty((n_samples, top))
    n_tied = np.empty(n_samples, dtype=np.int64)
    for of, answers in batches:
        index[of], value[of], n_tied[of] = answers
    if top == 1:
        return FrechetResult(index[:, 0], value[:, 0], n_tied)
    return FrechetResult(index, value, n_tied)


def in_halves(
    n_samples: int, step: int, find: Callable[[slice], Found | None]
) -> Iterator[tuple[slice, Found]]:
    """Call `find` on batches of `step` samples; yield the slice of each batch and its result.

    If `find` returns None, the batch is split in half and each half is tried again.
    """
    waiting = [slice(i, min(i + step, n_samples)) for i in range(0, n_samples, step)][::-1]
    while waiting:
        of = waiting.pop()
        found = find(of)
        if found is None:
            middle = (of.start + of.stop) // 2
            waiting += [slice(middle, of.stop), slice(of.start, middle)]
        else:
            yield of, found


def ranked(
    sample: NDArray[np.int64],
    row: NDArray[np.int64],
    total: NDArray[np.float64],
    top: int,
    count: NDArray[np.int64] | None = None,
) -> Ranked:
    """Return, for each sample, its best rows, their plain sums and the number of labels tied for best.

    Each row of distances is given by its index; several labels may have the same row. Finalist i is the row
    ``row[i]``, a finalist for the sample ``sample[i]``, where its plain sum is ``total[i]``. The finalists
    are sorted by sample and row, and every sample has at least `top` of them. If finalist i is tied for best,
    it adds ``count[i]`` (1 by default) to the number of labels tied for best.
    """
    every = np.arange(sample[-1] + 1)
    begin = np.searchsorted(sample, every)
    index = np.empty((len(every), top), dtype=np.int64)
    value = np.empty((len(every), top))
    n_tied = np.empty(len(every), dtype=np.int64)
    left = total.copy()
    for rank in range(top):
        limit = np.minimum.reduceat(left, begin) * (1 + TIE_RELATIVE)
        among = left <= limit[sample]
        if rank == 0:
            n_tied = np.add.reduceat(among * (1 if count is None else count), begin)
        at = np.flatnonzero(among)
        first = at[np.searchsorted(sample[at], every)]
        index[:, rank], value[:, rank] = row[first], total[first]
        left[first] = np.inf
    return index, value, n_tied


def ranked_groups(
    first: NDArray[np.integer], label: NDArray[np.integer], finalists: Finalists, top: int
) -> Ranked:
    """Return the result of `ranked` for finalists that are groups of labels with equal plain sums.

    Parameters
    ----------
    first : ndarray of shape (n_groups + 1,), dtype=int32 or int64
        The labels of group g are ``label[first[g]:first[g + 1]]``, ascending.
    label : ndarray of int32 or int64
        All labels, group after group.
    finalists : Finalists
        Groups, in any order, with at least `top` labels for every sample.
    top : int
        Number of labels requested for each sample.
    """
    sample, group, total = finalists
    count = first[group + 1] - first[group]
    if top == 1 and (sample == np.arange(len(sample))).all():  # one finalist each: nothing to compare
        return label[first[group]].astype(np.int64)[:, None], total[:, None], count
    shown = np.minimum(count, top)  # labels of a group have the same value, so they rank one after the other
    listed = label[spans(first[group], shown)].astype(np.int64)
    counted = np.zeros(len(listed), dtype=np.int64)
    counted[np.cumsum(shown) - shown] = count
    sample, total = np.repeat(sample, shown), np.repeat(total, shown)
    by = np.lexsort((listed, sample))
    return ranked(sample[by], listed[by], total[by], top, counted[by])


def spans(begin: NDArray[np.integer], count: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return ``begin[0], ..., begin[0] + count[0] - 1, begin[1], ...``, one span after the other.

    >>> spans(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    skipped = np.cumsum(count) - count
    return np.repeat(begin - skipped, count) + np.arange(int(count.sum()))
