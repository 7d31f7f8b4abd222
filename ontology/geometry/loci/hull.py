"""The locus on a tree whose labels are all allowed: the hull of the observed labels, in O(n_points).

The hull consists of the observed labels and every vertex on a path between two of them. For a vertex outside
it, all paths to observed labels pass through one hull vertex, which is nearer to every observed label; so no
weights reach the vertex outside. A vertex of the hull that is observed is the only best label if all weight
is on it. Any other vertex of the hull is between two observed labels, at distances p and q from them. With
weight q on the first and p on the second, the Fréchet variance falls towards the vertex from both sides. The
variance is strictly convex along paths, so the vertex is the only best label. So on these trees every member
is uniquely reachable. `ontology.geometry.loci.shortedges` explains how the tie rule changes the locus where
edges are very short.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.witnesses import Weights, Witnesses, spread
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree

__all__ = ["HullWitnesses", "hull"]


def hull(tree: RootedTree, observed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every vertex on a path between observed labels.

    Parameters
    ----------
    tree : RootedTree
        The tree.
    observed : ndarray of shape (n_observed,), dtype=int64
        Positions in the tree's preorder; at least one, in any order.

    Returns
    -------
    positions : ndarray of shape (n_hull,), dtype=int64
        Positions in the tree's preorder, ascending.

    Notes
    -----
    O(n_points). In preorder, the subtree of a vertex is the interval of positions that begins at the vertex
    and stops before `RootedTree.end` of the vertex. It contains an observed label if the first observed
    position at or after the vertex is inside this interval. The hull consists of all vertices whose subtree
    contains an observed label, from the lowest common ancestor of the observed labels downwards.

    Examples
    --------
    >>> tree = RootedTree(np.array([-1, 0, 1, 1, 0]))
    >>> hull(tree, np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    is_observed = np.zeros(len(tree), dtype=bool)
    is_observed[observed] = True
    ascending = np.flatnonzero(is_observed)
    first, last = int(ascending[0]), int(ascending[-1])
    top = tree.meeting(first, last)
    next_observed = np.repeat(ascending, np.diff(ascending, prepend=top - 1))
    return np.flatnonzero(next_observed < tree.end[top : last + 1]) + top


class HullWitnesses(Witnesses):
    """Weights that make each hull vertex the only best label, computed on demand.

    The witness of an observed label is weight 1 on itself. The witness of any other vertex has weight on two
    observed labels, one on each side of the vertex, in inverse proportion to their distances from it. The
    weights are coprime whole numbers. They are exact for any edge lengths, because a stored float is a
    fraction.

    Parameters
    ----------
    tree : RootedTree
        The tree.
    points : ndarray of shape (n_observed,), dtype=int64
        Canonical indices of the observed labels, in the order of the weights.
    members : ndarray of shape (n_members,), dtype=int64
        Canonical index of each member of the hull, in the order of the witnesses.
    known : mapping of int to tuple of int, optional
        Witnesses that replace the computed ones, by the canonical index of the member. They are needed for
        members outside the hull, and for hull vertices that the tie rule affects.

    Notes
    -----
    To compute one witness, the path between its two labels is followed once; the returned weights take
    O(n_observed).
    """

    def __init__(
        self,
        tree: RootedTree,
        points: NDArray[np.int64],
        members: NDArray[np.int64],
        known: Mapping[int, Weights] = MappingProxyType({}),
    ) -> None:
        self._tree, self._points, self._members, self._known = tree, points, members, known

    @cached_property
    def _ways_up(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self._tree.parent, self._tree.length

    @cached_property
    def _end(self) -> NDArray[np.int64]:
        return self._tree.end

    @cached_property
    def _column(self) -> NDArray[np.int64]:
        """The columns of the observed labels, in preorder of the labels."""
        return np.argsort(self._tree.positions(self._points))

    @cached_property
    def _ascending(self) -> NDArray[np.int64]:
        return self._tree.positions(self._points[self._column])

    def __len__(self) -> int:
        return len(self._members)

    def witness(self, i: int) -> Weights:
        """Return the witness of member `i`."""
        member = int(self._members[i])
        if member in self._known:
            return self._known[member]
        vertex = self._tree.positions(member)
        below, other = self._two_sides(vertex)
        columns = int(self._column[below]), int(self._column[other])
        if int(self._ascending[below]) == vertex:
            return spread(len(self._points), [(columns[0], 1)])
        ratio = self._distance(vertex, other) / self._distance(vertex, below)
        return spread(len(self._points), zip(columns, ratio.as_integer_ratio(), strict=True))

    def _two_sides(self, vertex: int) -> tuple[int, int]:
        """Return two observed labels with `vertex` on the path between them.

        They are returned as indices into the observed labels in preorder. The first of the two is the first
        observed label at or below `vertex`. The second is outside the subtree of `vertex`; if all observed
        labels are inside, it is on another branch below `vertex`.
        """
        below, beyond = np.searchsorted(self._ascending, [vertex, int(self._end[vertex])]).tolist()
        if below > 0:
            return below, below - 1
        # if no label is outside, all paths meet at this vertex, and the last label is on another branch
        return below, min(beyond, len(self._ascending) - 1)

    def _distance(self, vertex: int, observed: int) -> Fraction:
        """Return the exact distance from a vertex to an observed label.

        Of two vertices, the later one in preorder is never above the other. So the later one is repeatedly
        replaced by its parent, until both are the same.
        """
        parent, length = self._ways_up
        first, second = sorted((vertex, int(self._ascending[observed])))
        total = Fraction(0)
        while first != second:
            total += Fraction(float(length[second]))
            first, second = sorted((first, int(parent[second])))
        return total
