"""Relations of an answer to its truth in a tree: lowest common ancestor, its height, shared ancestors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.geometry.paths.exactsums import rounded
from labelgrove.ontology.keys import Keys

__all__ = ["Ancestry"]


class Ancestry:
    """The vertices of a tree in preorder, with their levels, common ancestors and distances.

    Parameters
    ----------
    space : TreeSpace
        The tree.
    keys : Keys
        Labels that may be answers or truths; each must be a point of the tree.

    Attributes
    ----------
    space : TreeSpace
    position : ndarray of shape (n_keys,), dtype=int64
        Preorder position of each of `keys`.
    level : ndarray of shape (n_points,), dtype=int64
        For each position, the number of edges up to the root. This is also the number of ancestors of a
        vertex, including the vertex and excluding the root.
    height : ndarray of shape (n_points,), dtype=int64
        For each position, the number of edges down to the deepest vertex below it.

    Raises
    ------
    SpaceError
        For a label that is not in the tree.

    Notes
    -----
    Takes O(n_points log n_points) memory: four bytes for each vertex and each power of two up to n_points.

    Examples
    --------
    >>> from labelgrove.ontology.geometry import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> space = metric_space(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")]))
    >>> tree = Ancestry(space, space.keys)
    >>> oak, elm = space.index(["oak", "elm"])
    >>> meet = tree.meet(tree.position[[oak]], tree.position[[elm]])
    >>> space.keys[space.tree.points(int(meet[0]))], tree.level[meet].tolist(), tree.height[meet].tolist()
    ('tree', [1], [1])
    """

    def __init__(self, space: TreeSpace, keys: Keys) -> None:
        if not isinstance(space, TreeSpace):
            raise SpaceError(
                f"hierarchy: {type(space).__name__} given; give a tree: hierarchy=metric_space(graph, 'tree')"
            )
        try:
            point = np.arange(len(keys)) if keys == space.points else space.points.indices(keys)
        except UnknownLabelError as error:
            raise SpaceError(
                f"hierarchy: the tree lacks labels of the bundle ({error}); give a tree with all of them: "
                "hierarchy=metric_space(graph, 'tree')"
            ) from None
        tree = space.tree
        self.space, self._tree = space, tree
        self.position = tree.positions(point)
        n = len(tree)
        levels, heights, parents = [0] * n, [0] * n, tree.parent.tolist()
        for v in range(1, n):
            levels[v] = levels[parents[v]] + 1
        for v in range(n - 1, 0, -1):
            heights[parents[v]] = max(heights[parents[v]], heights[v] + 1)
        self.level, self.height = np.array(levels), np.array(heights)
        # row k holds the smallest parent among 2^k neighbors: range minima are common ancestors
        least = [tree.parent.astype(np.int32)]
        while 2 ** len(least) <= n:
            last, half = least[-1], 2 ** (len(least) - 1)
            doubled = last.copy()
            np.minimum(last[:-half], last[half:], out=doubled[:-half])
            least.append(doubled)
        self._least = np.array(least)

    def meet(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of the lowest common ancestor of each pair of positions; O(1) for a pair."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        apart = high - low
        power = np.frexp(np.maximum(apart, 1))[1] - 1
        first = np.minimum(low + 1, len(self.level) - 1)
        between = np.minimum(self._least[power, first], self._least[power, high - (1 << power) + 1])
        return np.where(apart == 0, low, between)

    def distance(
        self, a: NDArray[np.int64], b: NDArray[np.int64], meet: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the distance from the vertex at position ``a[i]`` to the vertex at ``b[i]``, for every i.

        ``meet[i]`` is the position of their lowest common ancestor. The distance is the same as in the space.
        """
        return rounded(self._tree.way(a, b, meet))

    def branch(self, level: int) -> NDArray[np.int64]:
        """Return each vertex's branch: its ancestor at `level`, or itself if it is above that level.

        Raises
        ------
        InputError
            For a level that no label has.
        """
        deepest = int(self.level.max())
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= deepest:
            raise InputError(
                f"branch_level: {level!r} given; the tree has levels 0 (the root) to {deepest}, and level "
                "1 has the children of the root"
            )
        starts = np.flatnonzero(self.level == level)
        position = np.arange(len(self.level))
        inside = np.searchsorted(starts, position, side="right") - 1
        above = starts[np.maximum(inside, 0)]
        return np.where((inside >= 0) & (position < self._tree.end[above]), above, position)

    def parting(self, positions: NDArray[np.int64]) -> int:
        """Return the first level, from 1 on, at which no branch contains more than half of `positions`.

        If there is no such level, return the level whose largest branch contains the fewest of `positions`;
        of tied levels the first.
        """
        deepest = int(self.level.max())
        largest = {}
        for level in range(min(1, deepest), deepest + 1):
            largest[level] = int(np.unique(self.branch(level)[positions], return_counts=True)[1].max())
            if 2 * largest[level] <= len(positions):
                return level
        return min(largest, key=largest.__getitem__)

    def key(self, position: int) -> str:
        """Return the key of the label at a position in preorder."""
        return self.space.points[self._tree.points(position)]
