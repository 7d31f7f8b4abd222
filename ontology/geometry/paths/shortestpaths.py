"""Shortest paths and exact diameters of graphs that are not trees.

There are three ways to measure paths. If every edge has length 1 and numba is installed, compiled
breadth-first searches are used. Otherwise, if floats represent all sums of lengths exactly, scipy's Dijkstra
is used. So edges of length 1 can be measured without numba too, with the same results. If floats would round
sums of the lengths (as with 0.1), the lengths are added as whole numbers of any size
(`ontology.geometry.paths.exactpaths`). Numba and scipy are loaded when the first path is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.paths.exactpaths import ExactPaths
from labelgrove.ontology.geometry.paths.exactsums import are_exact
from labelgrove.ontology.geometry.paths.rootedtree import check_lengths, exact_dtype
from labelgrove.ontology.geometry.paths.wholenumbers import are_short

__all__ = ["ShortestPaths", "exact_diameter"]

_BLOCK_ENTRIES = 1 << 22
_SOURCES = 512


class ShortestPaths:
    """Shortest paths on a connected, undirected graph with positive edge lengths.

    Parameters
    ----------
    n_points : int
        Number of vertices.
    ends, others : ndarray of shape (n_edges,), dtype=int
        The two ends of each edge; each edge is listed once.
    length : ndarray of shape (n_edges,), dtype=float64
        Edge lengths that pass `check_lengths`.
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
        """Smallest dtype that represents every distance exactly; float64 if lengths are not whole numbers.

        The diameter is between e and 2e, where e is the eccentricity of any point. The diameter is computed
        only if distances up to e and distances up to 2e need different dtypes.
        """
        if (self._length != np.floor(self._length)).any():
            return np.dtype(np.float64)
        near, far = exact_dtype(self._length, self._reach), exact_dtype(self._length, 2 * self._reach)
        if near == far:
            return near
        return exact_dtype(self._length, exact_diameter(self.from_point, np.arange(self.n_points)))

    @cached_property
    def has_short_distances(self) -> bool:
        """Whether `ontology.geometry.paths.wholenumbers.are_short` proves that no distance is rounded.

        The largest distance is not measured: an upper bound is tested in its place. So the value may be False
        although `are_short` is True for the distances.
        """
        return self.dtype != np.float64 or are_short(np.append(self._length, 2 * self._reach))

    def from_point(self, source: int) -> NDArray[Any]:
        """Return the distances from one point to all points; int32 or float64, shape (n_points,)."""
        kernels = self._kernels
        if kernels is not None:
            found: NDArray[Any] = kernels.distances_from(*self._adjacency, np.array([source]))
            return found
        if self._exact is not None:
            return np.asarray(self._exact.distances(np.array([source]), np.arange(self.n_points))[0])
        return np.asarray(self._dijkstra(np.array([source]))[0])

    def distances(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[Any]:
        """Return the distances between two lists of points; shape (n_rows, n_cols), dtype `dtype`.

        Notes
        -----
        Every sum of lengths is exact and rounded once, so a distance is the same in both directions. Searches
        start from the points in the shorter list. One breadth-first search starts from 512 of these points
        together. Let t be the largest distance that this search finds. Then it takes at most
        t * (n_points + n_edges) operations on 512 bits, and its working memory is 64 bytes for each point and
        binary digit of t.
        """
        out = np.empty((len(rows), len(cols)), dtype=self.dtype)
        self.fill(rows, cols, out, new=True)
        return out

    def fill(
        self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any], *, new: bool = False
    ) -> None:
        """Write the result of `distances` into `out`, an array of the same shape and dtype.

        Set `new` if nothing has been written to `out` since its memory was allocated; this only affects
        speed.
        """
        if len(rows) < len(cols):
            sources, targets, view = rows, cols, out.T
        else:
            sources, targets, view = cols, rows, out
        if not view.size:
            return
        kernels = self._kernels
        if kernels is None:
            step = max(1, _BLOCK_ENTRIES // self.n_points)
            for first in range(0, len(sources), step):
                some = sources[first : first + step]
                if self._exact is not None:
                    found = self._exact.distances(some, targets)
                else:
                    found = self._dijkstra(some)[:, targets]
                view[:, first : first + step] = found.T
        else:
            bound = int(2 * self._reach)
            if self.dtype.kind == "u":
                bound = min(bound, np.iinfo(self.dtype).max)
            if view.flags.c_contiguous:
                kernels.fill_distances(*self._adjacency, targets, sources, bound, view, not new)
            else:
                for first in range(0, len(sources), _SOURCES):
                    some = sources[first : first + _SOURCES]
                    block = np.empty((len(targets), len(some)), dtype=self.dtype)
                    kernels.fill_distances(*self._adjacency, targets, some, bound, block, False)
                    view[:, first : first + _SOURCES] = block

    @cached_property
    def _exact(self) -> ExactPaths | None:
        """The object that adds lengths exactly; None if floats represent all sums of lengths exactly."""
        if are_exact(self._length, self.n_points * float(self._length.max(initial=0))):
            return None
        return ExactPaths(self.n_points, self._ends, self._others, self._length)

    @cached_property
    def _kernels(self) -> ModuleType | None:
        """The module of compiled searches; None if an edge is not of length 1 or numba is not installed."""
        if not (self._length == 1.0).all():
            return None
        try:
            from labelgrove.ontology.geometry.kernels.graphs import breadthfirst
        except ImportError:
            return None
        return breadthfirst

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the module of compiled searches: it cannot be pickled, and is imported when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_kernels"}

    @cached_property
    def _adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        from labelgrove.ontology.geometry.kernels.graphs.adjacency import adjacency

        return adjacency(self.n_points, self._ends, self._others)

    @cached_property
    def _reach(self) -> float:
        """The largest distance from the first point."""
        return float(self.from_point(0).max())

    def _dijkstra(self, sources: NDArray[np.int64]) -> NDArray[np.float64]:
        try:
            from scipy.sparse.csgraph import dijkstra
        except ImportError:
            raise MissingExtraError.of(
                "scipy", "science", "measuring paths on a graph that is not a tree"
            ) from None
        unweighted = bool((self._length == 1.0).all())
        found: NDArray[np.float64] = dijkstra(
            self._matrix, directed=True, indices=sources, unweighted=unweighted
        )
        return found

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        row = np.concatenate([self._ends, self._others])
        col = np.concatenate([self._others, self._ends])
        length = np.concatenate([self._length, self._length])
        return csr_array((length, (row, col)), shape=(self.n_points, self.n_points))


class _Bounds:
    """Lower and upper bounds on the eccentricities of the points `among`.

    To measure a point is to compute its distances to all points. Each measured point improves the bounds of
    the others, after F. W. Takes and W. A. Kosters (2011), *Determining the diameter of small world
    networks*: if a measured point has eccentricity e, the eccentricity of a point at distance d from it is at
    most ``d + e`` and at least ``max(d, e - d)``. The choice of the next point to measure alternates: first
    the point with the largest upper bound (an end of long paths), then the point with the smallest lower
    bound (a central point).
    """

    def __init__(self, from_point: Callable[[int], NDArray[Any]], among: NDArray[np.int64]) -> None:
        self._from_point, self._among = from_point, among
        self.lower = np.zeros(len(among))
        self.upper = np.full(len(among), np.inf)
        self.largest = 0.0  # measured eccentricity
        self._seek_end = True

    def measure_one_of(self, open_: NDArray[np.int64]) -> None:
        """Choose one of the points `open_`, measure its eccentricity and improve all bounds.

        `open_` contains indices into `among`.
        """
        chosen = open_[np.argmax(self.upper[open_]) if self._seek_end else np.argmin(self.lower[open_])]
        self._seek_end = not self._seek_end
        distance = self._from_point(int(self._among[chosen]))[self._among]
        eccentricity = float(distance.max())
        self.largest = max(self.largest, eccentricity)
        np.minimum(self.upper, distance + eccentricity, out=self.upper)
        np.maximum(self.lower, np.maximum(distance, eccentricity - distance), out=self.lower)
        self.lower[chosen] = self.upper[chosen] = eccentricity


def exact_diameter(from_point: Callable[[int], NDArray[Any]], among: NDArray[np.int64]) -> float:
    """Return the largest distance between two of the points `among`.

    Parameters
    ----------
    from_point : callable
        Function that takes a point index and returns the distances from this point to all points.
    among : ndarray of shape (n,), dtype=int64
        The points whose distances count, all in one connected component; paths may use other points.

    Notes
    -----
    The eccentricities of points are measured one after the other. The search ends when no point can have an
    eccentricity above the largest measured eccentricity, according to the upper bounds of `_Bounds`.
    Typically a few dozen points are measured, at worst all of them.
    """
    bounds = _Bounds(from_point, among)
    open_ = np.arange(len(among))
    while len(open_):
        bounds.measure_one_of(open_)
        open_ = np.flatnonzero(bounds.upper > bounds.largest)
    return bounds.largest
