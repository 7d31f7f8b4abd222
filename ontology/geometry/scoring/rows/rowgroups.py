"""RowGroups: rows of distances in nested groups, made once from the distances and stored with them.

For a group of rows, take the smallest distance in every column. Under any weights, the sum over these
smallest distances is at most the sum of each row of the group, so that all rows of the group can be ruled out
together. Groups consist of rows that are near each other, and larger groups consist of smaller groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.rows.rowclasses import Classes

__all__ = ["RowGroups", "group_rows"]

_FANOUT = 8
_MOST_ROOTS = 16
_COLUMNS = 64
_STEPS = 360  # with 64 columns, all sums of products stay below 2^24
_EXACT_ROWS = 1 << 15  # so many numbers up to 360 have a sum below 2^24
_ROUNDS = 2
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The groups of the rows of one matrix of distances.

    Labels with equal rows form a *class*, and only one row of each class is searched. *Items* are the groups,
    the largest first, followed by the classes.

    Attributes
    ----------
    bounds : ndarray of shape (n_groups, n_observed)
        For each group, the smallest distance in every column; the dtype is that of the distances.
    begin : ndarray of shape (n_groups + 1,), dtype=int32
        The items of group g (smaller groups, or classes) are ``begin[g], ..., begin[g + 1] - 1``. The items
        before ``begin[0]`` are the largest groups. All groups of one size are adjacent.
    first : ndarray of shape (n_classes + 1,), dtype=int32
        The labels of class c are ``label[first[c]:first[c + 1]]``, ascending.
    label : ndarray of shape (n_labels,), dtype=int32
        All labels, class after class.
    largest : ndarray of shape (1,)
        The largest of all distances, in their dtype.
    """

    bounds: NDArray[Any]
    begin: NDArray[np.int32]
    first: NDArray[np.int32]
    label: NDArray[np.int32]
    largest: NDArray[Any]

    @property
    def n_groups(self) -> int:
        """Number of groups of all sizes."""
        return len(self.bounds)

    @property
    def n_classes(self) -> int:
        """Number of distinct rows."""
        return len(self.first) - 1

    def shape_fault(self) -> str | None:
        """Return what makes a search read beyond an array or never end; None if nothing does.

        O(n_groups + n_labels) time. `bounds` is not read.
        """
        begin, first, label = self.begin, self.first, self.label
        if len(begin) < 2 or not 0 < begin[0] <= self.n_groups or (begin[1:] <= begin[:-1]).any():
            return "begin must start within 1..n_groups and rise"
        if len(first) < 2 or first[0] != 0 or first[-1] != len(label) or (first[1:] <= first[:-1]).any():
            return f"first must rise from 0 to the number of labels, {len(label)}"
        if int(begin[-1]) != self.n_groups + self.n_classes:
            return f"begin must end with {self.n_groups + self.n_classes}, the number of groups and classes"
        end = int(begin[0])
        while end < self.n_groups:
            end = int(begin[end])
        if end != self.n_groups:
            return "begin must not join groups and classes in one group"
        if int(label.min()) < 0 or int(label.max()) >= len(label):
            return f"label must be within 0..{len(label) - 1}"
        return None

    def content_fault(self, distances: NDArray[Any]) -> str | None:
        """Return what would make a search of `distances` find a wrong answer; None if nothing would.

        The groups must have no `shape_fault`. O(n_labels * n_observed) time, a few passes over `distances`.
        """
        first, label = self.first, self.label
        if np.bincount(label, minlength=len(label)).max() > 1:
            return "label must contain each label once"
        is_first = np.zeros(len(label), dtype=np.bool_)
        is_first[first[:-1]] = True
        if (label[1:] <= label[:-1])[~is_first[1:]].any():
            return "label must rise within each class"
        if distances.max() != self.largest[0]:
            return "largest is not the largest of the distances"
        if float(self.bounds.min()) < 0:
            return "bounds must not be negative"
        step = max(1, _BLOCK_ENTRIES // distances.shape[1])
        further = np.flatnonzero(~is_first)
        leader = label[first[np.searchsorted(first, further, side="right") - 1]]
        for start in range(0, len(further), step):
            of = slice(start, start + step)
            if (distances[label[further[of]]] != distances[leader[of]]).any():
                return "first joins labels whose distances differ"
        parent = np.repeat(np.arange(self.n_groups), np.diff(self.begin))
        items = np.arange(int(self.begin[0]), int(self.begin[-1]))
        n_inner = self.n_groups - int(self.begin[0])
        for rows, group, among in (
            (self.bounds, parent[:n_inner], items[:n_inner]),
            (distances, parent[n_inner:], label[first[:-1]]),
        ):
            for start in range(0, len(group), step):
                of = slice(start, start + step)
                if not (self.bounds[group[of]] <= rows[among[of]]).all():
                    return "bounds must not be above the distances of their groups"
        return None


def group_rows(distances: NDArray[Any]) -> RowGroups:
    """Group the rows of `distances`, of shape (n_labels, n_observed).

    Notes
    -----
    O(n_labels * n_observed + n_labels * log(n_labels)) time, and memory for 64 columns in float32 and a
    seventh of the distinct rows. The result depends on the distances alone, not on the processor or the
    library of linear algebra: the order of the rows is found by sums of whole numbers that float32 can
    represent.

    Examples
    --------
    >>> groups = group_rows(np.array([[0, 2], [1, 1], [2, 0], [1, 1]], dtype=np.uint8))
    >>> groups.bounds.tolist(), groups.first.tolist(), groups.label.tolist()
    ([[0, 0]], [0, 1, 3, 4], [0, 1, 3, 2])
    """
    largest = distances.max(keepdims=True).reshape(1)
    classes = Classes.of(distances)
    classes = classes.taken(_ordered(_points(distances, classes.row, float(largest[0]))))
    levels = [_least(distances, classes.row)]
    while len(levels[-1]) > _MOST_ROOTS:
        levels.append(_least(levels[-1], np.arange(len(levels[-1]))))
    levels.reverse()
    ends = np.cumsum([len(level) for level in levels])
    begin = [end + _FANOUT * np.arange(len(level)) for end, level in zip(ends, levels, strict=True)]
    return RowGroups(
        np.concatenate(levels),
        np.append(np.concatenate(begin), ends[-1] + len(classes.row)).astype(np.int32),
        classes.first.astype(np.int32),
        classes.label.astype(np.int32),
        largest,
    )


def _least(rows: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """Return the smallest distances of every eight of the rows at `index`, one after the other."""
    n_groups, n_columns = -(-len(index) // _FANOUT), rows.shape[1]
    out = np.empty((n_groups, n_columns), dtype=rows.dtype)
    step = max(1, _BLOCK_ENTRIES // (n_columns * _FANOUT))
    for start in range(0, n_groups, step):
        stop = min(start + step, n_groups)
        at = np.minimum(np.arange(start * _FANOUT, stop * _FANOUT), len(index) - 1)
        rows[index[at]].reshape(stop - start, _FANOUT, n_columns).min(axis=1, out=out[start:stop])
    return out


def _points(distances: NDArray[Any], rows: NDArray[np.int64], largest: float) -> NDArray[np.float32]:
    """Return some columns of `rows`, scaled to whole numbers from 0 to `_STEPS`."""
    n_observed = distances.shape[1]
    columns = np.unique(np.linspace(0, n_observed - 1, min(n_observed, _COLUMNS)).astype(np.int64))
    points = np.empty((len(rows), len(columns)), dtype=np.float32)
    step = max(1, _BLOCK_ENTRIES // n_observed)
    for start in range(0, len(rows), step):
        block = distances[rows[start : start + step]][:, columns]
        points[start : start + step] = np.floor(np.divide(block, largest or 1.0, dtype=np.float64) * _STEPS)
    return points


def _ordered(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return an order of `points` in which every eight, and every eight of these, are near each other.

    All points are one part at first, and each part is split in two until the parts have eight points. The two
    sides of a split gather around two centers, which are far from each other at first and then become the
    means of their sides. All sums are of whole numbers below 2^24, so that they are exact in float32.
    """
    order = np.arange(len(points))
    square = np.einsum("ij,ij->i", points, points)
    waiting = [(0, len(points))]
    while waiting:
        start, stop = waiting.pop()
        if stop - start <= _FANOUT:
            continue
        part = order[start:stop]
        along, n_near = _along(points[part], square[part])
        order[start:stop] = part[np.argsort(along, kind="stable")]
        middle = start + _rounded(n_near, stop - start)
        waiting += [(middle, stop), (start, middle)]
    return order


def _along(points: NDArray[np.float32], square: NDArray[np.float32]) -> tuple[NDArray[np.float32], int]:
    """Return where each point lies between two centers, and how many points are nearer to the first.

    `square` contains the sums of squares of the points.
    """
    one = points[(square - 2 * (points @ points[0])).argmax()]
    other = points[(square - 2 * (points @ one)).argmax()]
    total = None
    for turn in range(_ROUNDS + 1):
        along = points @ (other - one)
        far = along > (float(other @ other) - float(one @ one)) / 2
        n_far = int(np.count_nonzero(far))
        if turn == _ROUNDS or not 0 < n_far < len(far):
            break
        of_far = _sum(points, far)
        total = _sum(points, np.ones(len(far), dtype=np.bool_)) if total is None else total
        other = np.rint(of_far / n_far).astype(np.float32)
        one = np.rint((total - of_far) / (len(far) - n_far)).astype(np.float32)
    return along, len(far) - n_far


def _sum(points: NDArray[np.float32], among: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the sum of the points that `among` marks."""
    total = np.zeros(points.shape[1])
    for start in range(0, len(points), _EXACT_ROWS):
        stop = start + _EXACT_ROWS
        total += among[start:stop].astype(np.float32) @ points[start:stop]
    return total


def _rounded(n_near: int, size: int) -> int:
    """Return the multiple of a whole group that is nearest to `n_near`, such that both sides have points.

    The group is the largest one of which the part has several, so that few groups lie on both sides.
    """
    unit = _FANOUT
    while unit * _FANOUT * 2 <= size:
        unit *= _FANOUT
    last = (size - 1) // unit
    return unit * min(max(round(n_near / unit), 1), last)
