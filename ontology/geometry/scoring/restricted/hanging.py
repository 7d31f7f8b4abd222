"""Hanging: the allowed labels of a tree, in groups that a scorer scores once.

All paths from an allowed label to the observed labels pass through one vertex of the observed labels' hull.
The label *hangs* on this vertex, and its distance to the vertex is its *height*. Labels that hang on the same
vertex at the same height have the same distances to every observed label, to the last bit. They form a
*group*. However many labels a group has, it is scored once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.exactsums import expansion, rounded
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.observedtree.hulltree import Hull

__all__ = ["Hanging"]


@dataclass(frozen=True, eq=False)
class Hanging:
    """The allowed labels, grouped by the hull vertex that they hang on and by their height.

    Two instances are equal only if they are the same object.

    Attributes
    ----------
    begin : ndarray of shape (n_hull + 1,), dtype=int64
        The groups on vertex v are ``begin[v], ..., begin[v + 1] - 1``, in ascending height.
    height : ndarray of shape (n_groups,)
        Distance of each group's labels from the hull.
    position : ndarray of shape (n_groups,), dtype=int32
        Position in the tree of one label of each group.
    turn : ndarray of shape (n_groups,), dtype=int32
        Position in the tree of the vertex where the path from the label at `position` to the hull turns
        downwards.
    first : ndarray of shape (n_groups + 1,), dtype=int32
        The labels of group g are ``label[first[g]:first[g + 1]]``, ascending.
    label : ndarray of shape (n_labels,), dtype=int32
        Index of each label among the allowed labels of the space, group after group.
    nearest, below, above : ndarray of shape (n_hull,)
        Distances for each vertex of the hull. `nearest`: from the vertex to the nearest allowed label.
        `below`: from the vertex to the nearest label that hangs on this vertex or on a hull vertex below it.
        `above`: from the parent of the vertex to the nearest label that is not counted for `below`. A
        distance is infinite if there is no such label.
    prepared : dict
        Tables that a compiled search builds from this object, once.
    """

    begin: NDArray[np.int64]
    height: NDArray[np.float64]
    position: NDArray[np.int32]
    turn: NDArray[np.int32]
    first: NDArray[np.int32]
    label: NDArray[np.int32]
    nearest: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    prepared: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, tree: RootedTree, hull: Hull, positions: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Hanging:
        """Group the labels at `positions` by the hull vertex that they hang on and by their height.

        `numbers` contains the index of each of these labels among the allowed labels of the space.

        Notes
        -----
        O(n_points + n_labels log n_labels) time.
        """
        on, turn = _projection(tree, hull)
        on, turn = on[positions], turn[positions]
        exact = expansion(tree.way(positions, hull.vertex[on], turn))
        by = np.lexsort((numbers, *exact[::-1], on))
        on, exact = on[by], exact[:, by]
        new = np.ones(len(by), dtype=bool)
        new[1:] = (np.diff(on) != 0) | (np.diff(exact) != 0).any(axis=0)
        leads = np.flatnonzero(new)
        begin = np.searchsorted(on[leads], np.arange(len(hull.vertex) + 1))
        height = rounded(exact[:, leads])
        return cls(
            begin,
            height,
            positions[by][leads].astype(np.int32),
            turn[by][leads].astype(np.int32),
            np.append(leads, len(by)).astype(np.int32),
            numbers[by].astype(np.int32),
            *_nearest(hull, begin, height),
        )

    @property
    def count(self) -> NDArray[np.int32]:
        """Number of labels of each group."""
        return np.diff(self.first)


def _projection(tree: RootedTree, hull: Hull) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two arrays: for each position in `tree`, the hull vertex on which it hangs, and a turning point.

    The turning point is a position on the path from the given position to the hull vertex: the path goes up
    to the turning point, and down from there. (A path that only goes up ends at its turning point.)

    Consider a position outside the hull and below the top of the hull. Let v be the hull vertex on which the
    position hangs. The path from v to the position begins with a child c of v. In preorder the position is at
    or after c, and between the two there is neither a hull vertex nor a child of a hull vertex. So this
    function sets marks: a hull vertex is marked with itself; a vertex outside the hull whose parent is a hull
    vertex is marked with this parent. A position without a mark then takes over the mark of the last marked
    position before it. Each position hangs on the vertex that is its mark. Positions that are not at or below
    the top of the hull hang on the top, which is hull vertex 0.
    """
    parent, top = tree.parent, int(hull.vertex[0])
    end = int(tree.end[top])
    on_hull = np.full(len(tree), -1, dtype=np.int64)
    on_hull[hull.vertex] = np.arange(len(hull.vertex))
    on = np.where(on_hull >= 0, on_hull, on_hull[parent])  # known for the marks, -1 for the others
    last = np.maximum.accumulate(np.where(on[top:end] >= 0, np.arange(top, end), -1))
    on[top:end] = on[last]
    on[:top] = on[end:] = 0
    turn = hull.vertex[on]
    # outside, the path turns where it meets the path of vertex 0: the smallest parent on the path
    turn[:top] = np.minimum.accumulate(parent[1 : top + 1][::-1])[::-1]
    if end < len(tree):
        turn[end:] = np.minimum.accumulate(parent[top + 1 :])[end - top - 1 :]
    return on, turn


def _nearest(
    hull: Hull, begin: NDArray[np.int64], height: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return `nearest`, `below` and `above` of `Hanging`, by one pass up the hull and one pass down."""
    n_hull = len(hull.vertex)
    hanging = np.full(n_hull, np.inf)
    some = begin[1:] > begin[:-1]
    hanging[some] = height[begin[:-1][some]]
    parent = hull.parent.tolist()
    length = (hull.depth - hull.depth[hull.parent]).tolist()
    below: list[float] = hanging.tolist()
    rival: list[float] = [np.inf] * n_hull  # distance to the nearest label through another child than `below`
    for v in range(n_hull - 1, 0, -1):
        up, through = parent[v], below[v] + length[v]
        if through < below[up]:
            below[up], rival[up] = through, below[up]
        elif through < rival[up]:
            rival[up] = through
    nearest, above = below.copy(), [np.inf] * n_hull
    for v in range(1, n_hull):
        up = parent[v]
        # the label nearest to the parent may be below v itself; then the next nearest counts
        inside = rival[up] if below[v] + length[v] == below[up] else below[up]
        outside = above[up] + length[up]
        above[v] = min(inside, outside)
        nearest[v] = min(below[v], above[v] + length[v])
    return np.array(nearest), np.array(below), np.array(above)
