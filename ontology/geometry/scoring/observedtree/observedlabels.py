"""Observed labels in a tree, with the tables that all searches on trees read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.observedtree.hulltree import Hull
from labelgrove.ontology.geometry.scoring.observedtree.skeleton import Factors, Skeleton

__all__ = ["Observed"]


@dataclass(frozen=True)
class Observed:
    """Observed labels in a tree, and the tables prepared for them; most tables are built on first use.

    Attributes
    ----------
    tree : RootedTree
    at : ndarray of shape (n_observed,), dtype=int64
        Position in `tree` of each observed label, in the order of the columns of the weights.
    by_preorder : ndarray of shape (n_observed,), dtype=int64
        The columns of the weights, sorted by the positions of their labels.
    ascending : ndarray of shape (n_observed,), dtype=int64
        The positions `at`, sorted.
    skeleton : Skeleton

    Examples
    --------
    >>> observed = Observed.of(RootedTree(np.array([-1, 0, 1, 1, 0])), np.array([3, 2]))
    >>> observed.ascending.tolist(), observed.by_preorder.tolist(), observed.hull.vertex.tolist()
    ([2, 3], [1, 0], [1, 2, 3])
    """

    tree: RootedTree
    at: NDArray[np.int64]
    by_preorder: NDArray[np.int64]
    ascending: NDArray[np.int64]
    skeleton: Skeleton

    @classmethod
    def of(cls, tree: RootedTree, at: NDArray[np.int64]) -> Observed:
        """Prepare the observed labels at the positions `at`; O(n_points)."""
        by_preorder = np.argsort(at, kind="stable")
        ascending = at[by_preorder]
        return cls(tree, at, by_preorder, ascending, Skeleton.of(tree, ascending))

    @cached_property
    def columns_moved(self) -> bool:
        """Whether the columns of the weights are in an order other than the preorder of their labels."""
        return bool((np.diff(self.by_preorder) < 0).any())

    @cached_property
    def hull(self) -> Hull:
        """Every vertex on a path between two observed labels, as a tree."""
        return Hull.of(self.tree, self.ascending, self.skeleton)

    @cached_property
    def factors(self) -> Factors:
        """The factors that turn weights into running weights and running moments (see `Factors`)."""
        return Factors.of(self.skeleton.label_depth)

    @cached_property
    def label_depth(self) -> NDArray[np.float64]:
        """Depth in the tree of each observed label, with the labels in preorder; shape (n_observed,)."""
        return self.tree.depth_at(self.ascending)

    @cached_property
    def turn(self) -> NDArray[np.int64]:
        """Position of the lowest common ancestor of each observed label and the next one in preorder.

        The shape is (n_observed - 1,).
        """
        turn = self.ascending[1:].copy()  # a label listed twice is its own ancestor here
        apart = np.flatnonzero(np.diff(self.ascending))
        if len(apart):
            above = self.tree.parent[: self.ascending[-1] + 1]
            turn[apart] = np.minimum.reduceat(above, self.ascending[apart] + 1)
        return turn
