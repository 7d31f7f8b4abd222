"""The hull of observed labels in a tree: every vertex on a path between two of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.observedtree.skeleton import Skeleton

__all__ = ["Hull"]


@dataclass(frozen=True)
class Hull:
    """The hull as a separate tree, in preorder; vertex 0 is the observed labels' lowest common ancestor.

    Attributes
    ----------
    vertex : ndarray of shape (n_hull,), dtype=int64
        Position of each hull vertex in the preorder of the whole tree, ascending.
    depth : ndarray of shape (n_hull,)
        Distance of each vertex from vertex 0.
    parent : ndarray of shape (n_hull,), dtype=int64
        The parent of each vertex; vertex 0 is its own parent.
    low, high : ndarray of shape (n_hull,), dtype=int64
        Observed labels are numbered in preorder. Those at or below vertex v are ``low[v], ..., high[v] - 1``.
    begin, child : ndarray, dtype=int64
        Children of v: ``child[begin[v]:begin[v + 1]]``, ascending.
    steps : int
        Largest number of edges on a path from vertex 0 down to another vertex.
    """

    vertex: NDArray[np.int64]
    depth: NDArray[np.float64]
    parent: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    begin: NDArray[np.int64]
    child: NDArray[np.int64]
    steps: int

    @classmethod
    def of(cls, tree: RootedTree, labels: NDArray[np.int64], skeleton: Skeleton) -> Hull:
        """Build the hull of the observed `labels`; O(n_points) time.

        The labels are given as ascending positions in `tree`. `skeleton` is the `Skeleton` of these labels.
        """
        vertex = skeleton.chain
        parent = np.searchsorted(vertex, tree.parent[vertex])
        parent[0] = 0
        level = [0] * len(vertex)
        for v, above in enumerate(parent[1:].tolist(), start=1):
            level[v] = level[above] + 1
        by_parent = np.argsort(parent[1:], kind="stable") + 1
        return cls(
            vertex=vertex,
            depth=skeleton.chain_depth,
            parent=parent,
            low=np.searchsorted(labels, vertex),
            high=np.searchsorted(labels, tree.end[vertex]),
            begin=np.searchsorted(parent[by_parent], np.arange(len(vertex) + 1)),
            child=by_parent,
            steps=max(level),
        )
