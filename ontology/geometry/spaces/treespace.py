"""TreeSpace: path lengths on a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import SpaceError
from labelgrove.ontology.geometry.arguments import given_array, key_table, refuse_other_than
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.keys import Keys

__all__ = ["TreeSpace"]


class TreeSpace(MetricSpace):
    """Path lengths on a tree, in O(n_points) memory; each is the exact sum of edge lengths, rounded once.

    Build it with `ontology.geometry.metric_space` or, from stored arrays, with `from_arrays`.

    Parameters
    ----------
    points : Keys
        All labels in canonical order.
    tree : RootedTree
        The tree over all labels.
    allowed : array_like of int or bool, optional
        Labels that may be an answer, as for `MetricSpace`; all by default.
    is_hierarchy : bool, default=True
        Whether the parents in `tree` are those of a hierarchy. False if the graph from which `tree` was made
        is undirected or has several roots: then `tree` was rooted at its first label, and its parents serve
        only to measure distances.

    Examples
    --------
    >>> space = TreeSpace.from_arrays(Keys.from_strings(["root", "a", "b"]), [-1, 0, 0])
    >>> space.distances().tolist(), space.diameter()
    ([[0, 1, 1], [1, 0, 2], [1, 2, 0]], 2.0)
    """

    kind = "tree"

    def __init__(
        self,
        points: Keys,
        tree: RootedTree,
        allowed: ArrayLike | None = None,
        *,
        is_hierarchy: bool = True,
    ) -> None:
        super().__init__(key_table("points", points), allowed)
        refuse_other_than(RootedTree, "tree", tree, "or call TreeSpace.from_arrays")
        if len(tree) != len(self.points):
            raise SpaceError(f"parent: {len(tree)} entries for {len(self.points)} labels; give one for each")
        self.tree = tree
        self.is_hierarchy = is_hierarchy

    @classmethod
    def from_arrays(
        cls,
        keys: Keys,
        parent: ArrayLike,
        length: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        *,
        is_hierarchy: bool = True,
    ) -> TreeSpace:
        """Build a space from arrays in canonical order.

        Parameters
        ----------
        keys : Keys, length n_points
            All labels.
        parent : array_like of int, shape (n_points,)
            Index of each label's parent, -1 for the single root.
        length : array_like of float, shape (n_points,), optional
            Length of the edge to the parent; 1 by default. The root's entry is ignored.
        allowed : array_like of int or bool, optional
            Labels that may be an answer, as for `MetricSpace`; all by default.
        is_hierarchy : bool, default=True
            As for `TreeSpace`.

        Raises
        ------
        SpaceError
            If the arrays do not describe a single tree over all labels, or an edge does not have a positive
            length.
        """
        lengths = None if length is None else given_array("length", length)
        tree = RootedTree(given_array("parent", parent), lengths)
        return cls(keys, tree, allowed, is_hierarchy=is_hierarchy)

    @property
    def parent(self) -> NDArray[np.int32]:
        """Canonical index of each point's parent, -1 for the root, as for `from_arrays`; read-only."""
        return self.tree.by_point()[0]

    @property
    def length(self) -> NDArray[np.float64] | None:
        """Length of the edge to each point's parent (0 for the root); None if every edge has length 1."""
        return self.tree.by_point()[1]

    @property
    def distance_dtype(self) -> np.dtype[Any]:
        """The dtype of the result of `distances`."""
        return self.tree.dtype

    @property
    def has_short_distances(self) -> bool:
        """Whether all distances are free of rounding (`ontology.geometry.paths.wholenumbers.are_short`)."""
        return self.tree.has_short_distances

    def diameter(self) -> float:
        """Return the largest distance between two allowed labels, exactly; O(n_points)."""
        allowed = self.allowed
        return self.tree.diameter(None if allowed is None else self.tree.positions(allowed))

    def _distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        return self.tree.distances(self.tree.positions(rows), self.tree.positions(cols))

    def _fill(self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any]) -> None:
        self.tree.fill(self.tree.positions(rows), self.tree.positions(cols), out)
