"""RootedTree: a tree whose vertices are numbered in preorder, for fast distances.

In preorder, the vertices of a subtree have consecutive numbers. Let u and v be vertices with ``u < v``. Their
lowest common ancestor is the smallest parent of the vertices u+1, ..., v. All of these vertices are below the
ancestor, so no parent is smaller. One of them is a child of the ancestor: the first vertex on the path from
the ancestor down to v. Distances, the diameter and the tree scorer use only this fact, so their cost does not
depend on the depth of the tree.

A tree stays in memory while a model server runs, so it is stored in few bytes. Code that loops over the
vertices requests the arrays as int64 or float64, and keeps these copies only during the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelgrove.ontology.canonical import LENGTH_RULE, length_fault
from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.paths.exactsums import are_exact, expansion, parts_of, rounded
from labelgrove.ontology.geometry.paths.wholenumbers import are_short

__all__ = ["RootedTree", "check_lengths", "exact_dtype", "kept"]

_BLOCK_ENTRIES = 1 << 22
_FEW = 16  # vertices for each point; with more of them, points are sorted instead of counted in all
_MOST_LEVELS = 1000

Index = TypeVar("Index", int, NDArray[np.int64])


def exact_dtype(lengths: NDArray[Any], largest: float) -> np.dtype[Any]:
    """Return the smallest dtype that represents every sum of `lengths` up to `largest`.

    For whole numbers this is uint8, uint16, float32 (up to 2^24) or float64; for other lengths it is float64.
    """
    if (lengths == np.floor(lengths)).all():
        if largest <= np.iinfo(np.uint8).max:
            return np.dtype(np.uint8)
        if largest <= np.iinfo(np.uint16).max:
            return np.dtype(np.uint16)
        if largest <= 1 << 24:
            return np.dtype(np.float32)
    return np.dtype(np.float64)


def check_lengths(lengths: NDArray[Any]) -> None:
    """Raise `SpaceError` unless every edge length is within 1e-75..1e75 and their sum is at most 1e78."""
    fault = length_fault(lengths)
    if fault is not None:
        at, what = fault
        raise SpaceError(f"length: {what} at edge {at} of {len(lengths)}; {LENGTH_RULE}")


def kept(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return the array itself if it is read-only and has the given dtype, otherwise a read-only copy."""
    if array.dtype == dtype and not array.flags.writeable:
        return array
    copy = array.astype(dtype)
    copy.flags.writeable = False
    return copy


class RootedTree:
    """A tree with positive edge lengths, stored in preorder; siblings are in the order of canonical indices.

    Parameters
    ----------
    parent : ndarray of shape (n,), dtype=int
        Canonical index of each vertex's parent, -1 for the root.
    length : ndarray of shape (n,), optional
        Length of the edge to the parent (the root's entry is ignored); 1 by default.

    Attributes
    ----------
    in_preorder : bool
        Whether canonical indices are preorder positions, as in a `LabelGraph` that is a tree.
    dtype : dtype
        Smallest dtype that represents every distance exactly; float64 if lengths are not whole numbers.

    Raises
    ------
    SpaceError
        If there is not exactly one root, a vertex is not below the root, a length is not within 1e-75..1e75,
        or all lengths add up to more than 1e78.

    Notes
    -----
    O(n) time; 2 ms for 100,000 vertices in preorder, 0.1 s in any other numbering. The tree stores for each
    vertex: the end of its subtree (4 bytes); its depth and the depth of its parent, each in `dtype`; its
    parent (4 bytes); the length of the edge to the parent, unless all lengths are 1 (8 bytes); and, if
    canonical indices are not in preorder, two numbers that convert indices to positions and back (8 bytes).
    Parents and lengths are not copied if they are given read-only, in preorder, as int32 and float64. The
    properties `parent`, `end`, `depth` and `length` are computed from this data whenever they are read, O(n)
    each.

    A distance is the exact sum of the lengths on the path, rounded once. If floats cannot represent the sums
    of lengths exactly (for instance of 0.1), depths are stored in several exact parts
    (`ontology.geometry.paths.exactsums`); the depth of the parent is not stored then. Decimal lengths of
    similar size need two parts of 8 bytes. Whenever the ratio of the longest path to the shortest edge grows
    by a factor of about 10^11, one more part is needed.
    """

    def __init__(self, parent: NDArray[Any], length: NDArray[Any] | None = None) -> None:
        if parent.ndim != 1 or (parent.dtype.kind not in "iu" and parent.size):
            raise SpaceError(
                f"parent: {parent.dtype} of shape {parent.shape} given; give the index of each label's parent"
            )
        n = len(parent)
        if n and not (int(parent.min()) >= -1 and int(parent.max()) < n):
            outside = parent[(parent < -1) | (parent >= n)][0]
            raise SpaceError(f"parent: {outside} is outside 0..{n - 1}; only the root has -1")
        given = parent.astype(np.int64)
        roots = np.flatnonzero(given < 0)
        if len(roots) != 1:
            raise SpaceError(
                f"parent: {len(roots)} roots among {n} labels; a tree has exactly one, marked -1"
            )
        ascending = np.arange(n)
        found = _Preorder.of(given, ascending)
        order = ascending if found else _preorder(given, int(roots[0]))
        if len(order) != n:
            lost = n - len(order)
            raise SpaceError(f"parent: {lost} of {n} labels are not connected to the root; remove the cycle")
        self.in_preorder = bool((order == ascending).all())
        if not self.in_preorder:
            self._order = order.astype(np.int32)
            self._position = np.empty(n, dtype=np.int32)
            self._position[order] = ascending
            given = self._position[given[order]].astype(np.int64)
            given[0] = -1
        self._parent = kept(parent if self.in_preorder else given, np.int32)
        given[0] = 0
        self._length: NDArray[np.float64] | None = None
        if length is not None:
            if length.shape != (n,) or length.dtype.kind not in "iuf":
                raise SpaceError(
                    f"length: {length.dtype} of shape {length.shape} for {n} labels; give one number for each"
                )
            lengths = self._ordered(length).astype(np.float64, copy=False)
            check_lengths(lengths[1:])
            if lengths[0] != 0:
                lengths = np.concatenate([np.zeros(1), lengths[1:]])
            self._length = None if (lengths[1:] == 1.0).all() else kept(lengths, np.float64)
        if found is None:
            depth, end = _depths_and_ends(given, self.length)
        else:
            depth, end = found.depths(self._length), found.end
        self._end = end.astype(np.int32)
        lengths = np.ones(1) if self._length is None else self._length[1:]
        deepest = float(depth.max())
        self._depths, self._depth_above = depth[None], depth[:0]
        if self._length is not None and not are_exact(lengths, 2 * deepest):
            self.dtype = np.dtype(np.float64)
            self._depths = _depths_in_parts(given, self._length, found)
            return
        self.dtype = exact_dtype(lengths, deepest)
        if self.dtype != exact_dtype(lengths, 2 * deepest):  # else the diameter, in between, has this dtype
            self.dtype = np.dtype(np.float64)
            self._depth_above = depth[given]
            self.dtype = exact_dtype(lengths, self.diameter())  # the diameter is measured in float64
        self._depths = depth.astype(self.dtype)[None]
        self._depth_above = self._depths[0, given]

    def _ordered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder values from canonical order to the order of preorder positions."""
        return values if self.in_preorder else values[self._order]

    def positions(self, points: Index) -> Index:
        """Convert an array of canonical indices, or a single one, to preorder positions."""
        return points if self.in_preorder else _entries_at(self._position, points)

    def points(self, positions: Index) -> Index:
        """Convert an array of preorder positions, or a single one, to canonical indices."""
        return positions if self.in_preorder else _entries_at(self._order, positions)

    @property
    def parent(self) -> NDArray[np.int64]:
        """The position of each vertex's parent, shape (n,); the root, at position 0, is its own parent."""
        parent = self._parent.astype(np.int64)
        parent[0] = 0
        return parent

    @property
    def end(self) -> NDArray[np.int64]:
        """The position after each subtree, shape (n,): the subtree of v is ``v, ..., end[v] - 1``."""
        return self._end.astype(np.int64)

    @property
    def depth(self) -> NDArray[np.float64]:
        """The distance of each vertex from the root, shape (n,), rounded; `below` gives exact differences."""
        return rounded(self.depth_parts)

    @property
    def depth_parts(self) -> NDArray[np.float64]:
        """The depths in parts, shape (n_parts, n); within a part, differences and sums are exact."""
        return self._depths.astype(np.float64)

    @property
    def length(self) -> NDArray[np.float64]:
        """Length of the edge to the parent, shape (n,); 0 for the root."""
        length = np.ones(len(self)) if self._length is None else self._length.copy()
        length[0] = 0.0
        return length

    def by_point(self) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        """Return `parent` and `length` in canonical order, as the constructor takes them; read-only.

        The root has the parent -1. The result for `length` is None if every edge has length 1.
        """
        if self.in_preorder:
            return self._parent, self._length
        parent = np.append(self._order, np.int32(-1))[self._parent][self._position]
        length = None if self._length is None else self._length[self._position]
        return kept(parent, np.int32), None if length is None else kept(length, np.float64)

    def depth_at(self, positions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return ``depth[positions]`` without computing the depths of all vertices."""
        return rounded(self._depths.take(positions, axis=1).astype(np.float64))

    @property
    def n_parts(self) -> int:
        """Number of parts in which depths are stored; 1 if `depth` is exact."""
        return len(self._depths)

    @cached_property
    def has_short_distances(self) -> bool:
        """Whether `ontology.geometry.paths.wholenumbers.are_short` proves that no distance is rounded.

        The largest distance is not measured: twice the largest depth is tested in its place. So the value may
        be False although `are_short` is True for the distances.
        """
        return self.dtype != np.float64 or are_short(np.append(self.length[1:], 2 * self.depth.max()))

    def below(self, top: Any, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances between `positions` and `top`; each top must be at or above its position."""
        above = self._depths.take(top, axis=1).astype(np.float64).reshape(self.n_parts, -1)
        return rounded(self._depths.take(positions, axis=1) - above)

    def way(
        self, first: NDArray[np.int64], second: NDArray[np.int64], meet: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the distances between the positions `first` and `second`, in exact parts.

        The arrays `first` and `second` are broadcast to the shape of `meet`. For each distance, `meet`
        contains the position of the lowest common ancestor of the two positions. The result has the shape
        ``(n_parts, *meet.shape)``.
        """
        depths, turn = self._depths, self._depths.take(meet, axis=1).astype(np.float64)
        return np.asarray((depths.take(first, axis=1) - turn) + (depths.take(second, axis=1) - turn))

    def __len__(self) -> int:
        return len(self._parent)

    def meeting(self, first: int, last: int) -> int:
        """Return the position of the lowest common ancestor of two positions, with ``first <= last``."""
        return first if first == last else max(0, int(self._parent[first + 1 : last + 1].min()))

    def distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances between two lists of positions; shape (n_rows, n_cols), dtype `dtype`.

        Notes
        -----
        O(n + n_rows * n_cols) time, in blocks whose working memory is a few megabytes. A distance is
        ``(depth(row) - meet) + (depth(col) - meet)``, where ``meet`` is the depth of the lowest common
        ancestor. The sum is exact and rounded once at the end, so distances are symmetric to the last bit. If
        numba is installed, large matrices of whole numbers are computed row by row, each vertex's row from
        the row of the vertex's parent. The results are the same.
        """
        out = np.empty((len(rows), len(cols)), dtype=self.dtype)
        self.fill(rows, cols, out)
        return out

    def fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the result of `distances` into `out`, an array of the same shape and dtype."""
        sources, targets, view = (rows, cols, out) if len(rows) <= len(cols) else (cols, rows, out.T)
        if out.size and not self._fill_by_parents(sources, targets, view):
            self._fill_by_meetings(sources, targets, view)

    def _fill_by_parents(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], view: NDArray[Any]
    ) -> bool:
        """Write the distances to `view`, computing each vertex's row from the row of the vertex's parent.

        Nothing is written if this is impossible or slower than `_fill_by_meetings`. Returns whether the
        distances were written. `view` has the shape (n_sources, n_targets).
        """
        if self.dtype == np.float64 or view.size < _BLOCK_ENTRIES or len(targets) * 4 < len(self):
            return False
        try:
            from labelgrove.ontology.geometry.kernels.trees.treerows import fill_rows
        except ImportError:
            return False
        tree = self.parent, self.end, self._depths[0], self.length.astype(self.dtype)
        place = np.full(len(self), -1)
        place[targets] = np.arange(len(targets))
        if len(targets) == len(self) and place.min() >= 0 and view.T.flags.c_contiguous:
            fill_rows(*tree, place, sources, view.T)
            return True
        step = max(1, _BLOCK_ENTRIES // len(self))
        for start in range(0, len(sources), step):
            some = sources[start : start + step]
            block = np.empty((len(self), len(some)), dtype=self.dtype)
            fill_rows(*tree, np.arange(len(self)), some, block)
            view[start : start + step] = block[targets].T
        return True

    def _fill_by_meetings(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], view: NDArray[Any]
    ) -> None:
        """Write the distances to `view`, computed from lowest common ancestors in blocks of sources."""
        for of, turn in self._turns(sources, targets):
            some = sources[of]
            if self.n_parts == 1:
                (depth,) = self._depths
                beyond = depth[targets] - turn
                np.subtract(depth[some][:, None], turn, out=turn)  # the result takes the memory of the depths
                view[of] = np.add(turn, beyond, out=turn)
            else:
                view[of] = rounded(self.way(some[:, None], targets[None], turn))

    def _turns(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the lowest common ancestors of sources and targets, for one batch of sources at a time.

        Yields pairs: the slice of the sources in the batch, and an array of shape (n_batch, n_targets) that
        describes the lowest common ancestor of each source and target. If a depth is stored as one float, the
        array contains the depths of these ancestors. If a depth is stored as a sum of several floats, the
        array contains their positions.
        """
        if (len(sources) + len(targets)) * _FEW < len(
            self
        ):  # for one row, passes over all vertices would decide
            points = np.unique(np.concatenate([sources, targets]))
            source_at, target_at = np.searchsorted(points, sources), np.searchsorted(points, targets)
        else:
            wanted = np.zeros(len(self), dtype=bool)
            wanted[sources] = wanted[targets] = True
            points = np.flatnonzero(wanted)
            place = np.cumsum(wanted) - 1
            source_at, target_at = place[sources], place[targets]
        if self.n_parts == 1:
            own, above = self._depths[0, points], self._depth_above[points[0] : points[-1] + 1]
        else:
            own, above = points.astype(np.int32), np.maximum(self._parent[points[0] : points[-1] + 1], 0)
        # where neighbors in `points` meet; any two points meet at the minimum between them
        gap = np.minimum.reduceat(above, points[:-1] + 1 - points[0]) if len(points) > 1 else above[:0]
        step = max(1, _BLOCK_ENTRIES // (len(points) * self.n_parts))
        for start in range(0, len(sources), step):
            of = slice(start, start + step)
            meet = np.empty((len(sources[of]), len(points)), dtype=own.dtype)
            for row, at in zip(meet, source_at[of].tolist(), strict=True):
                row[at] = own[at]
                np.minimum.accumulate(gap[at:], out=row[at + 1 :])
                np.minimum.accumulate(gap[:at][::-1], out=row[:at][::-1])
            yield of, meet.take(target_at, axis=1)

    def diameter(self, among: NDArray[np.int64] | None = None) -> float:
        """Return the largest distance between two of the positions `among` (all by default).

        Notes
        -----
        The distances from two vertices are enough. In a tree, the vertex farthest from any given vertex is an
        end of a longest path, so the largest distance from this end is the diameter. This is also true if
        only the vertices of a subset count.
        """
        positions = np.arange(len(self)) if among is None else among
        away = self.distances(positions, positions[:1])[:, 0]
        ends = positions[away == away.max()]
        if self.n_parts > 1 and len(ends) > 1:  # perhaps equal only by rounding
            ((_, turn),) = self._turns(positions[:1], ends)
            terms = expansion(self.way(ends, np.broadcast_to(positions[:1], len(ends)), turn[0]))
            ends = ends[np.lexsort(terms[::-1])[-1:]]
        return float(self.distances(positions, ends[:1]).max())


@dataclass(frozen=True)
class _Preorder:
    """The levels and subtrees of a tree in preorder, computed by a few operations on whole arrays.

    Trees that are loaded from bundles are in canonical order, which is a preorder. A loop over the vertices
    would take ten times as long.

    Attributes
    ----------
    parent, level, end : ndarray of shape (n,)
        Parent of each vertex, its level (the number of edges to the root), and the vertex after its subtree.
    members : list of ndarray
        The vertices of each level except the root level, ascending.
    """

    parent: NDArray[np.int64]
    level: NDArray[np.int32]
    end: NDArray[np.int64]
    members: list[NDArray[np.int64]]

    @classmethod
    def of(cls, parent: NDArray[np.int64], ascending: NDArray[np.int64]) -> _Preorder | None:
        """Return the levels and subtrees; None if the tree is not in preorder or has too many levels.

        With many levels, a loop over the vertices is faster. `ascending` is ``arange(n)``.
        """
        if (parent >= ascending).any():
            return None
        up = np.maximum(parent, 0)
        level = np.ones(len(parent), dtype=np.int32)
        level[0] = 0
        while up.any():  # level counts the edges to `up`, twice as many in each round
            level += level.take(up)
            up = up.take(up)
        deepest = int(level.max())
        if deepest > _MOST_LEVELS:
            return None
        by_level = np.argsort(level.astype(np.uint8 if deepest < 256 else np.int16), kind="stable")
        members = np.split(by_level, np.cumsum(np.bincount(level))[:-1])[1:]
        end = np.ones(len(parent), dtype=np.int64)
        for some in reversed(members):  # the number of vertices in each subtree
            np.add.at(end, parent[some], end[some])
        end += ascending
        # if each subtree is within the subtree of its parent, the counts prove that it is the claimed
        # interval
        return cls(parent, level, end, members) if (end[1:] <= end.take(parent[1:])).all() else None

    def depths(self, length: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the distance of each vertex from the root.

        A loop over the vertices would give the same result, to the last bit.
        """
        depth = self.level.astype(np.float64)
        if length is not None:
            for some in self.members:
                depth[some] = depth[self.parent[some]] + length[some]
        return depth


def _depths_and_ends(
    parent: NDArray[np.int64], length: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the depth of each vertex, and the vertex that follows its subtree, for a tree in preorder."""
    n = len(parent)
    depths, ends = [0.0] * n, list(range(1, n + 1))
    parents, lengths = parent.tolist(), length.tolist()
    for v in range(1, n):
        depths[v] = depths[parents[v]] + lengths[v]
    for v in range(n - 1, 0, -1):
        ends[parents[v]] = max(ends[parents[v]], ends[v])
    return np.array(depths), np.array(ends)


def _depths_in_parts(
    parent: NDArray[np.int64], length: NDArray[np.float64], found: _Preorder | None
) -> NDArray[np.float64]:
    """Return the depths of all vertices in parts, such that the sum of any two depths is exact.

    `found` is the result of `_Preorder.of` for the tree. The sum of two depths is a sum of edge lengths, at
    most two for each level of the tree.
    """
    if found is None:
        height = int(_depths_and_ends(parent, np.ones(len(parent)))[0].max())
        return np.array([_depths_and_ends(parent, part)[0] for part in parts_of(length, 2 * height)])
    return np.array([found.depths(part) for part in parts_of(length, 2 * int(found.level.max()))])


def _entries_at(table: NDArray[np.int32], at: Any) -> Any:
    return int(table[at]) if isinstance(at, int) else table[at].astype(np.int64)


def _preorder(parent: NDArray[np.int64], root: int) -> NDArray[np.int64]:
    by_parent = np.argsort(parent, kind="stable")
    begin = np.searchsorted(parent[by_parent], np.arange(len(parent) + 1)).tolist()
    children: Sequence[int] = by_parent.tolist()
    order: list[int] = []
    stack = [root]
    while stack:
        v = stack.pop()
        order.append(v)
        if begin[v] < begin[v + 1]:
            stack.extend(reversed(children[begin[v] : begin[v + 1]]))
    return np.array(order, dtype=np.int64)
