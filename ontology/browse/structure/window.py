"""Windows of a drawn tree: the rows from some position on, without drawing the rows before them.

In the tree, each opened label is followed by its children. A label with several parents is a row below each
of them, but only the row below its primary parent can be opened; the others are references to it. The rows
below a label are counted with sums over its branch, so that a window costs the same anywhere in the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.walk import Walk
from labelgrove.ontology.errors import InputError

__all__ = ["LARGEST_WINDOW", "DrawnTree", "TreeRow"]

LARGEST_WINDOW = 1_000
"""Most rows of a window."""


@dataclass(frozen=True)
class TreeRow:
    """A row of the tree.

    Attributes
    ----------
    label : int
    level : int
        Number of rows above it that it is indented by; 0 for a root.
    reference : bool
        Whether the label is shown with its children elsewhere, below its primary parent.
    opened : bool
        Whether the rows of its children follow.
    """

    label: int
    level: int
    reference: bool
    opened: bool


class DrawnTree:
    """The tree of a version, in which some labels are opened.

    Parameters
    ----------
    walk : Walk
    opened : collection of int
        The labels whose children are shown, if they are seen themselves.
    inverted : bool, default=False
        Whether `opened` are instead the labels that are closed, while all others are opened.

    Raises
    ------
    InputError
        For an index that is not a label, and for an undirected graph.

    Notes
    -----
    Preparation takes O(opened * log opened) or, if `inverted` is set, O(n_labels) in vector operations. A
    window takes O(its rows), and O(children) for each label that is open above its first row.

    Examples
    --------
    >>> from labelgrove.ontology.browse.labelindex import LabelIndex
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("tree", "plant"), ("fern", "plant")])
    >>> tree = DrawnTree(LabelIndex.of(graph).walk, [graph.keys.index("plant")])
    >>> [(graph.keys[row.label], row.level) for row in tree.rows(1, 10)], len(tree)
    ([('fern', 1), ('tree', 1)], 3)
    """

    def __init__(self, walk: Walk, opened: Collection[int], *, inverted: bool = False) -> None:
        self._walk, self._order = walk, walk.order
        self._roots = walk.roots if walk.graph.directed else walk.children(0)  # the latter refuses
        n = len(self._order)
        given = np.unique(np.fromiter(opened, dtype=np.int64, count=len(opened)))
        if len(given) and not (given[0] >= 0 and given[-1] < n):
            bad = given[0] if given[0] < 0 else given[-1]
            raise InputError(f"opened: {int(bad)} is not the index of a label; give 0 to {n - 1}")
        seen = self._outside(given) if inverted else self._reached(given)
        self._open = seen[walk.adjacency.n_children(seen) > 0]
        counts = walk.adjacency.n_children(self._open)
        self._before = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def _outside(self, closed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the labels outside the branches of the closed labels."""
        # +1 where a closed branch begins, -1 at its end
        steps = np.zeros(len(self._order) + 1, dtype=np.int32)
        np.add.at(steps, closed, 1)
        np.add.at(steps, self._order.end[closed], -1)
        return np.flatnonzero(np.cumsum(steps[:-1]) == 0)

    def _reached(self, opened: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those opened labels of which all primary ancestors are opened too."""
        seen = {-1}  # the parent of a root
        for label, above in zip(opened.tolist(), self._order.parent[opened].tolist(), strict=True):
            if above in seen:  # a parent comes before its children
                seen.add(label)
        return np.array(sorted(seen)[1:], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._roots) + int(self._before[-1])

    def rows(self, at: int, n: int) -> list[TreeRow]:
        """Return `n` rows from position `at` on; fewer at the end of the tree.

        Raises
        ------
        InputError
            For a negative position and for another number of rows than 1 to `LARGEST_WINDOW`.
        """
        if at < 0 or not 1 <= n <= LARGEST_WINDOW:
            raise InputError(
                f"rows: {n} from {at} requested; give 1 to {LARGEST_WINDOW:,} rows from 0 or more"
            )
        return list(islice(self._rows_from(at), n))

    def position(self, label: int) -> int:
        """Return the position of the row of `label` below its primary parent.

        If one of its primary ancestors is closed, return the position of the topmost closed one.
        """
        chain = self._order.chain(label)[::-1]
        position, siblings, above = 0, self._roots, -1
        for i, one in enumerate(chain):
            place = int(np.searchsorted(siblings, one))
            position += int(self._heights(above, siblings[:place]).sum())
            if i + 1 == len(chain) or not self._is_open(one):
                break
            position += 1
            siblings, above = self._walk.children(one), one
        return position

    # ---- building blocks ---------------------------------------------------------------------------

    def _is_open(self, label: int) -> bool:
        place = int(np.searchsorted(self._open, label))
        return place < len(self._open) and int(self._open[place]) == label

    def _heights(self, above: int, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the number of rows of each of the children `labels` of `above`, with the rows below it."""
        below = self._before[np.searchsorted(self._open, self._order.end[labels])]
        below = below - self._before[np.searchsorted(self._open, labels)]
        below[self._order.parent[labels] != above] = 0
        heights: NDArray[np.int64] = below + 1
        return heights

    def _rows_from(self, at: int) -> Iterator[TreeRow]:
        """Yield the rows from position `at` on.

        The levels are a list, because a hierarchy can be deeper than functions can call each other. Each
        level has a label, -1 above the roots, and those of its children that are still to be drawn.
        """
        levels: list[tuple[int, Iterator[int]]] = []
        above, children = -1, self._roots
        while True:  # down to the row at the position
            ends = np.cumsum(self._heights(above, children))
            first = int(np.searchsorted(ends, at, side="right"))
            left = iter(children[first:].tolist())
            levels.append((above, left))
            at -= int(ends[first - 1]) if first else 0
            if at == 0 or first == len(children):
                break
            above = next(left)  # its own row is before the position, some rows below it are not
            children = self._walk.children(above)
            at -= 1
        while levels:
            above, left = levels[-1]
            label = next(left, None)
            if label is None:
                levels.pop()
                continue
            reference = int(self._order.parent[label]) != above
            opened = not reference and self._is_open(label)
            yield TreeRow(label, len(levels) - 1, reference, opened)
            if opened:
                levels.append((label, iter(self._walk.children(label).tolist())))
