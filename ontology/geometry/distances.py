"""Shortest paths and exact diameters on graphs that are not trees.

scipy is loaded when the first path is measured, not before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.errors import MissingExtraError
from ontology.geometry.rootedtree import check_lengths, exact_dtype

__all__ = ["ShortestPaths", "exact_diameter"]

_BLOCK_ENTRIES = 1 << 22


class ShortestPaths:
    """Shortest paths on a connected undirected graph with positive edge lengths.

    Parameters
    ----------
    n_points : int
        Number of vertices.
    ends, others : ndarray of shape (n_edges,), dtype=int
        The two ends of each edge; each edge stands once.
    length : ndarray of shape (n_edges,), dtype=float64
        Edge lengths, as `check_lengths` asks for.
    """

    def __init__(
        self,
        n_points: int,
        ends: NDArray[np.integer],
        others: NDArray[np.integer],
        length: NDArray[np.float64],
    ) -> None:
        check_lengths(length)
        self.n_points = n_points
        self._ends, self._others, self._length = ends, others, length

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Smallest dtype that holds every distance exactly; float64 where lengths are not whole numbers.

        The eccentricity e of any point bounds the diameter by e from below and 2e from above; the diameter
        itself is computed only where the two call for different types.
        """
        eccentricity = float(self._measure(np.zeros(1, dtype=np.int64)).max())
        least = exact_dtype(self._length, eccentricity)
        if least == exact_dtype(self._length, 2 * eccentricity):
            return least
        return exact_dtype(self._length, exact_diameter(self.from_point, np.arange(self.n_points)))

    def from_point(self, source: int) -> NDArray[np.float64]:
        """Return the distances from one point to all; shape (n_points,)."""
        return np.asarray(self._measure(np.array([source]))[0])

    def distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances between two lists of points; shape (n_rows, n_cols), dtype `dtype`.

        Notes
        -----
        One Dijkstra (breadth-first where every length is 1) from each point of the shorter list; from the
        columns where lengths are not whole numbers, so that a column never depends on what else was asked.
        """
        out = np.empty((len(rows), len(cols)), dtype=self.dtype)
        if len(rows) < len(cols) and self.dtype != np.float64:
            sources, targets, view = rows, cols, out
        else:
            sources, targets, view = cols, rows, out.T
        step = max(1, _BLOCK_ENTRIES // self.n_points)
        for start in range(0, len(sources), step):
            view[start : start + step] = self._measure(sources[start : start + step])[:, targets]
        return out

    def _measure(self, sources: NDArray[np.int64]) -> NDArray[np.float64]:
        try:
            from scipy.sparse.csgraph import dijkstra
        except ImportError:
            raise MissingExtraError.of(
                "scipy", "service", "measuring paths on a graph that is no tree"
            ) from None
        found: NDArray[np.float64] = dijkstra(
            self._matrix, directed=True, indices=sources, unweighted=bool((self._length == 1.0).all())
        )
        return found

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        row = np.concatenate([self._ends, self._others])
        col = np.concatenate([self._others, self._ends])
        length = np.concatenate([self._length, self._length])
        return csr_array((length, (row, col)), shape=(self.n_points, self.n_points))


def exact_diameter(from_point: Callable[[int], NDArray[np.float64]], among: NDArray[np.int64]) -> float:
    """Return the largest distance between two of the points `among`.

    Parameters
    ----------
    from_point : callable
        Point index -> distances to all points.
    among : ndarray of shape (n,), dtype=int64
        The points that count; paths may run over others.

    Notes
    -----
    After F. W. Takes and W. A. Kosters (2011), *Determining the diameter of small world networks*: one
    measured point with eccentricity e bounds every other's by ``d + e`` from above and ``max(d, e - d)``
    from below; a point whose upper bound is no more than the largest eccentricity seen needs no
    measurement. Sources alternate between large upper bounds (ends of long paths) and small lower bounds
    (central points). Typically a few dozen measurements, at worst one for each point.
    """
    lower = np.zeros(len(among))
    upper = np.full(len(among), np.inf)
    largest, seek_end = 0.0, True
    open_ = np.arange(len(among))
    while len(open_):
        chosen = open_[np.argmax(upper[open_]) if seek_end else np.argmin(lower[open_])]
        seek_end = not seek_end
        distance = from_point(int(among[chosen]))[among]
        eccentricity = float(distance.max())
        largest = max(largest, eccentricity)
        np.minimum(upper, distance + eccentricity, out=upper)
        np.maximum(lower, np.maximum(distance, eccentricity - distance), out=lower)
        upper[chosen] = eccentricity
        open_ = np.flatnonzero(upper > largest)
    return largest
