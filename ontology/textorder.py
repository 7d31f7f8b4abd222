"""Sort tables of texts by their bytes, without a Python string for each entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.keys import Texts, Words

__all__ = ["sorted_within"]


def sorted_within(
    texts: Texts, group: NDArray[np.integer] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Sort entries by their group, and within a group by their bytes.

    Parameters
    ----------
    texts : Texts, length n
    group : ndarray of shape (n,), dtype=int, optional
        Group of each entry; by default, all entries are one group.

    Returns
    -------
    order : ndarray of shape (n,), dtype=int64
        The entries, sorted; equal ones stay in their order.
    first : ndarray of shape (n,), dtype=bool
        For each of them, whether it differs from the one before it in group or text.

    Notes
    -----
    Entries of one group are compared by their first eight bytes; those that are still equal by the next
    eight, and so on.

    Examples
    --------
    >>> order, first = sorted_within(Texts.from_strings(["oak", "elm", "oak", "ash"]), np.array([0, 0, 0, 1]))
    >>> order.tolist(), first.tolist()
    ([1, 0, 2, 3], [True, True, False, True])
    """
    n = len(texts)
    first = np.ones(n, dtype=bool)
    if group is None:
        order = np.arange(n)
        first[1:] = False
    else:
        order = np.argsort(group, kind="stable").astype(np.int64)
        first[1:] = group[order[1:]] != group[order[:-1]]
    words, done, active = Words(texts), 0, _undecided(first)
    while len(active):
        _split(order, first, active, words.of(order[active], done))
        done += 8
        active = _undecided(first)
        if len(active):
            part = np.cumsum(first[active]) - 1
            longer = words.length[order[active]] > done
            active = active[np.bincount(part, weights=longer)[part] > 0]
    rest = _undecided(first)  # equal, but for NUL characters at their ends
    _split(order, first, rest, words.length[order[rest]])
    return order, first


def _split(
    order: NDArray[np.int64], first: NDArray[np.bool_], active: NDArray[np.int64], by: NDArray[np.generic]
) -> None:
    """Sort entries within their runs of equal entries, and split the runs.

    `active` contains ascending positions in `order`, and runs as a whole; `by` is the value of the entry at
    each of them.
    """
    run = np.cumsum(first[active], dtype=np.int32)
    is_one_run = not first[active[1:]].any()
    sorted_ = np.argsort(by, kind="stable") if is_one_run else np.lexsort((by, run))
    order[active] = order[active[sorted_]]
    by = by[sorted_]
    first[active[1:]] |= (by[1:] != by[:-1]) & (run[1:] == run[:-1])


def _undecided(first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the positions of all runs that have more than one entry."""
    last = np.append(first[1:], True)
    return np.flatnonzero(~(first & last))
