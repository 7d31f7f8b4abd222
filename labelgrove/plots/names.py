"""Write names next to the marks of a picture, each at the nearest place that is free."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.plots.backend import Axes, LineCollection, withStroke
from labelgrove.plots.figure import QUIET, shortened

if TYPE_CHECKING:
    from labelgrove.plots.backend import Figure

__all__ = ["Names"]

_CELL = 0.02
"""The side in inches of the squares of a grid, each of which is taken or free."""
_PAD = 1
"""The number of squares that stay free around a mark."""
_GAP = np.array([3, 0])
"""Two numbers of squares that stay free: to the left and right of a name, and above and below it."""
_NEAR = 0.06
"""The largest distance in inches between a mark and its name without a line that joins them."""
_CROSSING = 0.03
"""A name is written up to this many inches farther from its mark for each square of a line left uncovered."""


class Names:
    """Names next to marks; a name covers no other name and no mark, and covers a line only if it must.

    Create it after everything else in the figure is drawn, because it relies on the position of the axes.

    Parameters
    ----------
    ax : Axes
        The axes, with their final limits.
    marks : array_like of shape (n, 2)
        The places of all marks, in data coordinates.
    areas : array_like of shape (n,)
        The areas of the marks in square points, as for `Axes.scatter`.
    lines : iterable of array_like of shape (m, 2)
        The corners of lines with horizontal and vertical parts, in data coordinates.
    """

    def __init__(self, ax: Axes, marks: ArrayLike, areas: ArrayLike, lines: Iterable[ArrayLike]) -> None:
        self._ax = ax
        cast("Figure", ax.get_figure(root=True)).draw_without_rendering()  # the layout engine places the axes
        self._cell = _CELL * ax.figure.dpi
        shape = (np.array(ax.bbox.size)[::-1] / self._cell).astype(int)
        self._taken, self._lined = (np.zeros(shape, dtype=bool) for _ in range(2))
        self._leaders: list[Any] = []
        radius = np.sqrt(np.asarray(areas, dtype=float)) / 2 / 72 / _CELL
        for place, r in zip(self._cells(marks), radius, strict=True):
            self._fill(self._taken, place - r - _PAD, place + r + _PAD)
        for line in lines:
            points = self._cells(line)
            for a, b in pairwise(points):
                self._fill(self._lined, np.minimum(a, b), np.maximum(a, b))

    def write(
        self, place: tuple[float, float], area: float, name: str, *, far: bool = False, **style: Any
    ) -> bool:
        """Write a name next to the mark at a place; return whether there was room.

        Parameters
        ----------
        place : (float, float)
            The place of the mark, in data coordinates.
        area : float
            The area of the mark, in square points.
        name : str
            The name; it is written as `shortened` returns it.
        far : bool, default=False
            Whether a name that does not fit next to its mark may be written elsewhere, with a line to the
            mark.
        **style
            Properties of the text.
        """
        halo = [withStroke(linewidth=2, foreground="white")]
        text = self._ax.text(*place, shortened(name), parse_math=False, path_effects=halo, zorder=7, **style)
        text.set(ha="center", va="center", in_layout=False)
        extent = np.array(text.get_window_extent().size) / self._cell
        (mark,) = self._cells([place])
        radius = area**0.5 / 2 / 72 / _CELL
        size, reach = np.ceil(extent).astype(int), radius + _PAD + _NEAR / _CELL
        low, distance = self._nearest(mark, size, reach)
        if low is None and far:
            low, distance = self._nearest(mark, size, float(max(self._taken.shape)))
        if low is None:
            text.remove()
            return False
        high = low + size
        self._fill(self._taken, low - _GAP, high - 1 + _GAP)
        middle, end = self._data([(low + high) / 2, np.clip(mark, low, high)])
        text.set_position(middle)
        if distance > reach:
            self._leaders.append([place, end])
        return True

    def finish(self) -> None:
        """Draw the lines to names that are far from their marks."""
        self._ax.add_collection(LineCollection(self._leaders, colors=QUIET, linewidths=0.6, zorder=2))

    def _nearest(
        self, mark: NDArray[np.float64], size: NDArray[np.int64], reach: float
    ) -> tuple[NDArray[np.int64] | None, float]:
        """Return a pair: the lower left square of the best free box for a name, and its distance to the mark.

        The best box is near the mark, about centered on it, and covers few lines. Boxes consist of squares
        of a grid over the axes. The distance from the box to the mark is counted in squares. The pair is
        (None, 0.0) if no box within `reach` squares of the mark is free.
        """
        start = np.maximum(0, np.floor(mark - size - reach)).astype(int)
        stop = np.ceil(mark + size + reach).astype(int) + 1
        window = slice(start[1], stop[1]), slice(start[0], stop[0])
        taken, lined = (_within_boxes(grid[window], size) for grid in (self._taken, self._lined))
        if not taken.size:
            return None, 0.0
        low = [s + np.arange(n, dtype=float) for s, n in zip(start, taken.shape[::-1], strict=True)]
        gap = [np.maximum(0, np.maximum(a - m, m - a - s)) for a, m, s in zip(low, mark, size, strict=True)]
        off = [np.abs(a + s / 2 - m) for a, m, s in zip(low, mark, size, strict=True)]
        distance = np.hypot(gap[0][None, :], gap[1][:, None])
        cost = distance + 0.1 * off[0][None, :] + 0.3 * off[1][:, None] + _CROSSING / _CELL * lined
        cost[(taken > 0) | (distance > reach)] = np.inf
        y, x = np.unravel_index(np.argmin(cost), cost.shape)
        return (start + np.array([x, y]), float(distance[y, x])) if np.isfinite(cost[y, x]) else (None, 0.0)

    def _cells(self, places: ArrayLike) -> NDArray[np.float64]:
        """Return the column and the row of each place in the grid of squares over the axes."""
        points = self._ax.transData.transform(np.asarray(places, dtype=float))
        return np.asarray((points - self._ax.bbox.min) / self._cell)

    def _data(self, cells: ArrayLike) -> NDArray[np.float64]:
        points = np.asarray(cells, dtype=float) * self._cell + self._ax.bbox.min
        return np.asarray(self._ax.transData.inverted().transform(points))

    def _fill(self, grid: NDArray[np.bool_], low: ArrayLike, high: ArrayLike) -> None:
        """Set squares of `grid` to True: those of the rectangle from corner `low` to corner `high`."""
        corners = np.asarray([low, high], dtype=float)
        (left, bottom), (right, top) = np.maximum(np.floor(corners), -1).astype(int)
        grid[max(bottom, 0) : top + 1, max(left, 0) : right + 1] = True


def _within_boxes(grid: NDArray[np.bool_], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the squares that are True in each box of a grid.

    A box is a rectangle of squares of `grid`; `size` is its number of columns and its number of rows. The
    entry of the result at a row and a column is the count for the box whose lower left square is there.
    """
    columns, rows = size
    if rows > grid.shape[0] or columns > grid.shape[1]:
        return np.zeros((0, 0), dtype=np.int64)
    sums = np.zeros((grid.shape[0] + 1, grid.shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = grid.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
    return np.asarray(
        sums[rows:, columns:] - sums[:-rows, columns:] - sums[rows:, :-columns] + sums[:-rows, :-columns]
    )
