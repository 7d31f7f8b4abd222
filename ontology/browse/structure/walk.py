"""Ways through a hierarchy from a label: up, down, sideways, and to another label.

All edges count, not only those to primary parents, so that a label with several parents is below each of
them. Labels are indices in canonical order.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.adjacency import Adjacency
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.browse.structure.ranges import distinct
from labelgrove.ontology.browse.structure.shortest import shortest_path
from labelgrove.ontology.errors import InputError

__all__ = ["Walk"]


class Walk:
    """Parents, children, siblings, ancestors, descendants, paths and lowest common ancestors.

    Parameters
    ----------
    order : Order
    adjacency : Adjacency
        Both of the same graph.

    Notes
    -----
    Everything but `path` raises `InputError` for an undirected graph, which has no parents.

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> walk = Walk(Order.of(graph), Adjacency.of(graph))
    >>> graph.keys.take(walk.siblings(graph.keys.index("oak")))
    ('elm',)
    >>> graph.keys.take(walk.descendants(graph.keys.index("tree")))
    ('elm', 'oak')
    """

    def __init__(self, order: Order, adjacency: Adjacency) -> None:
        self.order, self.adjacency, self.graph = order, adjacency, adjacency.graph

    @cached_property
    def is_forest(self) -> bool:
        """Whether every label has at most one parent."""
        return self.graph.directed and bool((np.diff(self.adjacency.up) <= 1).all())

    # ---- one step ----------------------------------------------------------------------------------

    def children(self, label: int) -> NDArray[np.int32]:
        """Return the children of `label`, in canonical order; O(answer)."""
        self._require_parents("children")
        return self.adjacency.children(label)

    def parents(self, label: int) -> NDArray[np.int32]:
        """Return the parents of `label`: the primary parent, then the others in the order of their ranks."""
        self._require_parents("parents")
        found = self.adjacency.parents(label)
        primary = found == self.order.parent[label]
        ordered: NDArray[np.int32] = np.concatenate([found[primary], found[~primary]])
        return ordered

    def siblings(self, label: int) -> NDArray[np.int32]:
        """Return the other children of all parents of `label`, in canonical order.

        The siblings of a root are the other roots.
        """
        self._require_parents("siblings")
        parents = self.adjacency.parents(label)
        near = self.adjacency.all_children(parents) if len(parents) else self.roots
        near = near[near != label]
        return near if len(parents) <= 1 else distinct(near, len(self.order)).astype(np.int32)

    @cached_property
    def roots(self) -> NDArray[np.int32]:
        """The labels without a parent, in canonical order."""
        return np.flatnonzero(self.order.parent < 0).astype(np.int32)

    # ---- all the way -------------------------------------------------------------------------------

    def ancestors(self, label: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return all labels above `label` in canonical order, and the fewest edges up to each of them."""
        self._require_parents("ancestors")
        hops = self._climb(label)
        del hops[label]
        labels = np.array(sorted(hops), dtype=np.int32)
        return labels, np.array([hops[i] for i in labels.tolist()], dtype=np.int32)

    def descendants(self, label: int) -> NDArray[np.int32]:
        """Return all labels below `label`, in canonical order; O(edges below it)."""
        self._require_parents("descendants")
        end = int(self.order.end[label])
        if self.is_forest:
            return np.arange(label + 1, end, dtype=np.int32)
        found = np.zeros(len(self.order), dtype=bool)
        found[label + 1 : end] = True
        below = self.adjacency.children_between(label, end)
        while len(below := below[~found[below]]):
            found[below] = True
            below = self.adjacency.all_children(distinct(below, len(found)))
        return np.flatnonzero(found).astype(np.int32)

    # ---- to another label --------------------------------------------------------------------------

    def lowest_common_ancestors(self, a: int, b: int) -> list[int]:
        """Return the common ancestors of `a` and `b` that are not above another common ancestor, ascending.

        Here a label is also its own ancestor. In a tree there is one such ancestor; if labels have several
        parents, there may be more. Labels without a common ancestor give an empty list.
        """
        self._require_parents("ancestors")
        common = self._climb(a).keys() & self._climb(b).keys()
        return sorted(common.difference(*(self.adjacency.parents(label).tolist() for label in common)))

    def path(self, a: int, b: int) -> list[tuple[int, float]]:
        """Return the labels on a shortest path from `a` to `b`, each as (label, distance from `a`).

        The directions of edges do not matter. The list is empty if there is no path; ties are broken as by
        `shortest_path`.

        Notes
        -----
        O(depth) if no label has several parents.
        """
        if not self.is_forest:
            return shortest_path(self.adjacency, a, b)
        up, down = self.order.chain(a), self.order.chain(b)
        if up[-1] != down[-1]:
            return []
        while up and down and up[-1] == down[-1]:
            meeting = up.pop()
            down.pop()
        steps, distance = [(a, 0.0)], 0.0
        for below, label in pairwise([*up, meeting]):
            distance += self._length_up(below)
            steps.append((label, distance))
        for label in reversed(down):
            distance += self._length_up(label)
            steps.append((label, distance))
        return steps

    # ---- building blocks ---------------------------------------------------------------------------

    def _length_up(self, label: int) -> float:
        """Return the length of the edge from `label` to its only parent."""
        return float(self.graph.edge_weight[self.adjacency.up[label]])

    def _climb(self, label: int) -> dict[int, int]:
        """Return `label` and all labels above it, each with the fewest edges up to it."""
        if self.is_forest:
            return {above: i for i, above in enumerate(self.order.chain(label))}
        hops: dict[int, int] = {}
        level, n_up = [label], 0
        while level:
            hops |= dict.fromkeys(level, n_up)
            n_up += 1
            above = self.adjacency.all_parents(np.array(level)).tolist()
            level = [i for i in dict.fromkeys(above) if i not in hops]
        return hops

    def _require_parents(self, what: str) -> None:
        if not self.graph.directed:
            raise InputError(f"{what}: this graph is undirected, so its labels have no parents or children")
