"""Back-off: answer with the common ancestor of the best label and all labels that are nearly as good."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.answers.records import BackedOff
from labelgrove.adapter.state import CandidateSet, State
from labelgrove.ontology.geometry.arguments import nonnegative_number
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["back_off", "common_ancestors"]

_ENTRIES_AT_ONCE = 1 << 20


def back_off(state: State, among: CandidateSet, weights: NDArray[np.float64], margin: float) -> BackedOff:
    """Answer each row of checked weights with the lowest common ancestor of all labels within the margin.

    A label is within the margin if its Fréchet variance is at most a limit: the smallest variance of the row
    plus `margin` times the sum of the row's weights. A variance tied with the limit is within it.

    Notes
    -----
    At first the 4 best labels of each row are ranked. If all of them are within the margin, further labels
    may be within it too. Then twice as many labels of the row are ranked, and so on, until one of them is
    outside the margin or all labels are ranked: O(n_labels) for that row.
    """
    tree = state.hierarchy("back_off").tree
    margin = nonnegative_number("margin", margin)
    n_rows, n_labels = len(weights), among.n_labels
    at = tree.positions(state.bundle.allowed)
    low, high = np.full(n_rows, len(tree)), np.full(n_rows, -1)
    best, n_within = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    waiting, k = np.arange(n_rows), min(4, n_labels)
    while len(waiting):
        beyond = []
        step = max(1, _ENTRIES_AT_ONCE // k)
        for start in range(0, len(waiting), step):
            rows = waiting[start : start + step]
            found = among.score(weights[rows], k)
            smallest = found.value.min(axis=1, keepdims=True)
            room = margin * weights[rows].sum(axis=1, keepdims=True)
            within = found.value <= (smallest + room) * (1 + TIE_RELATIVE)
            low[rows] = np.where(within, at[found.index], len(tree)).min(axis=1)
            high[rows] = np.where(within, at[found.index], -1).max(axis=1)
            best[rows], n_within[rows] = found.index[:, 0], within.sum(axis=1)
            beyond.append(rows[within.all(axis=1)])
        if k == n_labels:
            break
        waiting, k = np.concatenate(beyond), min(2 * k, n_labels)
    points = tree.points(common_ancestors(tree, low, high))
    return BackedOff(state.bundle.points.take(points), points, best, n_within)


def common_ancestors(tree: RootedTree, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lowest common ancestor of the vertices ``low[i]`` and ``high[i]`` for each i.

    All vertices are given by their positions in preorder, with ``low <= high``.

    The lowest common ancestor of a set of vertices is that of the first and the last of them in preorder. So
    the caller needs only these two for each set. O(depth) time for each i.
    """
    parent, end = tree.parent, tree.end
    ancestor = low.copy()
    outside = np.flatnonzero(end[ancestor] <= high)
    while len(outside):
        ancestor[outside] = parent[ancestor[outside]]
        outside = outside[end[ancestor[outside]] <= high[outside]]
    return ancestor
