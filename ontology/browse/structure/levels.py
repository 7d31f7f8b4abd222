"""Levels of detail of a map: which branches are wide enough to draw, and which are merged into one pixel.

The map is an icicle: a row for each depth, in which the branch of a label is as wide as its number of labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.errors import InputError

__all__ = ["Levels", "Row"]


@dataclass(frozen=True)
class Row:
    """A row of the map: the branches of one depth.

    Attributes
    ----------
    depth : int
    labels : ndarray of int
        The labels whose branches are at least one pixel wide, in canonical order.
    left, width : ndarray of float64
        Where the branch of each of these labels begins, and its width, in pixels.
    crowded : ndarray of int
        Pixels, ascending, in which the narrower branches begin.
    """

    depth: int
    labels: NDArray[np.int32]
    left: NDArray[np.float64]
    width: NDArray[np.float64]
    crowded: NDArray[np.int32]


class Levels:
    """The labels of each depth, from which any part of a map is cut.

    Parameters
    ----------
    order : Order

    Examples
    --------
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> rows = Levels(Order.of(graph)).rows(0, width=8, n_levels=2)
    >>> [(graph.keys.take(row.labels), row.width.tolist()) for row in rows]
    [(('plant',), [8.0]), (('tree',), [6.0])]
    """

    def __init__(self, order: Order) -> None:
        self._order = order

    @cached_property
    def _by_depth(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """All labels by (depth, index), and where each depth begins."""
        depth = self._order.depth
        begin = np.concatenate([[0], np.cumsum(np.bincount(depth))])
        return np.argsort(depth, kind="stable").astype(np.int32), begin

    def at(self, label: int, depth: int) -> int | None:
        """Return the label of a depth whose branch contains `label`, or the next one; None after the last.

        >>> from labelgrove.ontology.labelgraph import LabelGraph
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
        >>> levels = Levels(Order.of(graph))  # plant, tree, elm, oak
        >>> levels.at(3, 1), levels.at(0, 1), levels.at(3, 2), levels.at(0, 9)
        (1, 1, 3, None)
        """
        by_depth, begin = self._by_depth
        if depth + 1 >= len(begin):
            return None
        level = by_depth[begin[depth] : begin[depth + 1]]
        place = int(np.searchsorted(level, label, side="right")) - 1
        if place >= 0 and self._order.end[level[place]] > label:
            return int(level[place])
        return int(level[place + 1]) if place + 1 < len(level) else None

    def rows(self, focus: int, *, width: int, n_levels: int = 12) -> Iterator[Row]:
        """Yield the rows of the map of the branch of `focus`, from its own row down.

        Parameters
        ----------
        focus : int
            The label whose branch is as wide as the map.
        width : int
            Width of the map in pixels.
        n_levels : int, default=12
            Most rows.

        Notes
        -----
        O(log n_labels) and the number of labels of each row inside the branch.
        """
        return self.rows_between(focus, int(self._order.end[focus]), width=width, n_levels=n_levels)

    def rows_between(self, first: int, end: int, *, width: int, n_levels: int = 12) -> Iterator[Row]:
        """Yield the rows of the map of the branches of `first` and of the siblings after it, up to `end`.

        With all roots between `first` and `end`, this is the map of a whole forest. Other arguments, and
        cost, are those of `rows`.
        """
        if width < 1 or n_levels < 1:
            raise InputError(f"width: {width} pixels and {n_levels} levels given; give 1 or more of each")
        order = self._order
        by_depth, begin = self._by_depth
        scale = width / (end - first)
        top = int(order.depth[first])
        for depth in range(top, min(top + n_levels, len(begin) - 1)):
            level = by_depth[begin[depth] : begin[depth + 1]]
            inside = level[slice(*np.searchsorted(level, (first, end)))]
            if not len(inside):
                return
            wide = np.multiply(order.end[inside] - inside, scale, dtype=np.float64)
            left = np.multiply(inside - first, scale, dtype=np.float64)
            drawn = wide >= 1.0
            pixels = left[~drawn].astype(np.int32)  # ascending, so that repeated ones are neighbors
            crowded = pixels[np.diff(pixels, prepend=-1) > 0]
            yield Row(depth, inside[drawn], left[drawn], wide[drawn], crowded)
