"""Shortest paths and exact eccentricities on graphs that are not trees.

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

__all__ = ["ShortestPaths", "exact_diameter", "exact_eccentricities"]

_BLOCK_ENTRIES = 1 << 22
_SOURCES = 512
_SINGLE_MEASUREMENTS = 64


class ShortestPaths:
    """Shortest paths on an undirected graph with positive edge lengths.

    Parameters
    ----------
    n_points : int
        Number of vertices.
    ends, others : ndarray of shape (n_edges,), dtype=int
        The two ends of each edge; each edge is listed once.
    length : ndarray of shape (n_edges,), dtype=float64
        Edge lengths that pass `check_lengths`.
    part : ndarray of shape (n_points,), dtype=int, optional
        Number of each vertex's connected component, if there may be several. Two vertices without a path
        between them then have the distance `marker`. By default the graph is connected.

    Attributes
    ----------
    marker : float or None
        The distance that means "no path": the largest number of `dtype` if `dtype` is an integer type,
        otherwise infinity. `dtype` is chosen so that every real distance is smaller. None if the graph is
        connected.
    """

    def __init__(
        self,
        n_points: int,
        ends: NDArray[np.integer],
        others: NDArray[np.integer],
        length: NDArray[np.float64],
        part: NDArray[np.integer] | None = None,
    ) -> None:
        check_lengths(length)
        self.n_points = n_points
        self._ends, self._others, self._length = ends, others, length
        self._part = part

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Smallest dtype that represents every distance exactly; float64 if lengths are not whole numbers.

        The diameter of a connected component is between e and 2e, where e is the eccentricity of any of its
        points. The diameter itself is computed only if distances up to e and up to 2e need different types.
        """
        if (self._length != np.floor(self._length)).any():
            return np.dtype(np.float64)
        near, far = self._exact_dtype(self._reach), self._exact_dtype(2 * self._reach)
        if near == far:
            return near
        if self._part is None:
            return self._exact_dtype(exact_diameter(self.from_point, np.arange(self.n_points)))
        by_part = np.argsort(self._part, kind="stable")
        parts = np.split(by_part, np.flatnonzero(np.diff(self._part[by_part])) + 1)
        return self._exact_dtype(max(exact_diameter(self.from_point, points) for points in parts))

    @cached_property
    def has_short_distances(self) -> bool:
        """Whether `ontology.geometry.paths.wholenumbers.are_short` proves that no distance is rounded.

        The largest distance is not measured: an upper bound is tested in its place. So the value may be False
        although `are_short` is True for the distances.
        """
        return self.dtype != np.float64 or are_short(np.append(self._length, 2 * self._reach))

    @cached_property
    def marker(self) -> float | None:
        """The distance that means "no path"; None if the graph is connected."""
        if self._part is None:
            return None
        return float(np.iinfo(self.dtype).max) if self.dtype.kind == "u" else np.inf

    def from_point(self, source: int) -> NDArray[Any]:
        """Return the distances from one point to all points; int32 or float64, shape (n_points,).

        Points without a path to `source` get -1 (int32) or infinity (float64).
        """
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
        start from the points in the shorter list. A breadth-first search starts from 512 of them at a time.
        Let t be the largest distance that the search finds. Then the search takes at most
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
                if self._part is not None:
                    found[np.isinf(found)] = 0
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
        if self._part is not None:
            here, there = self._part[targets], self._part[sources]
            step = max(1, _BLOCK_ENTRIES // len(sources))
            for first in range(0, len(targets), step):
                apart = here[first : first + step, None] != there
                view[first : first + step][apart] = self.marker

    @cached_property
    def _exact(self) -> ExactPaths | None:
        """Paths in exact arithmetic; None if floats represent all sums of lengths exactly."""
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
        """The largest distance from the first point of a connected component to a point of this component."""
        if self._part is None:
            return float(self.from_point(0).max())
        first = np.unique(self._part, return_index=True)[1]
        if self._kernels is not None:
            return float(self._kernels.distances_from(*self._adjacency, first).max())
        return float(self._dijkstra(first, min_only=True).max())

    def _exact_dtype(self, largest: float) -> np.dtype[Any]:
        """Return the smallest dtype for distances up to `largest`, and for `marker` if there is one."""
        return exact_dtype(self._length, largest if self._part is None else largest + 1)

    def _dijkstra(self, sources: NDArray[np.int64], **options: Any) -> NDArray[np.float64]:
        try:
            from scipy.sparse.csgraph import dijkstra
        except ImportError:
            raise MissingExtraError.of(
                "scipy", "science", "measuring paths on a graph that is not a tree"
            ) from None
        unweighted = bool((self._length == 1.0).all())
        found: NDArray[np.float64] = dijkstra(
            self._matrix, directed=True, indices=sources, unweighted=unweighted, **options
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
    """Lower and upper bounds on the eccentricities of the points `among`, improved by measuring some of them.

    After F. W. Takes and W. A. Kosters (2011), *Determining the diameter of small world networks*: if a
    measured point has eccentricity e, the eccentricity of a point at distance d is at most ``d + e`` and at
    least ``max(d, e - d)``. To measure a point is to compute its distances to all points. The choice of the
    next point alternates: first the point with the largest upper bound (an end of long paths), then the point
    with the smallest lower bound (a central point).
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


def exact_eccentricities(paths: ShortestPaths, among: NDArray[np.int64]) -> NDArray[Any]:
    """Return the distance of each point in `among` from the farthest of these points; shape (n,).

    Parameters
    ----------
    paths : ShortestPaths
        Paths of a connected graph.
    among : ndarray of shape (n,), dtype=int64
        The points whose distances count; paths may use other points.

    Notes
    -----
    If distances are whole numbers, bounds from a few measured points (see `_Bounds`) determine the
    eccentricities of most points. The other points are measured, 512 at a time. If `paths.dtype` is float64,
    every point is measured.
    """
    if paths.dtype == np.float64:
        # Bounds from sums of rounded lengths may never meet, so every point is measured.
        found, open_ = np.zeros(len(among)), np.arange(len(among))
    else:
        bounds = _Bounds(paths.from_point, among)
        open_ = np.arange(len(among))
        for _ in range(_SINGLE_MEASUREMENTS):
            if len(open_):
                bounds.measure_one_of(open_)
                open_ = np.flatnonzero(bounds.lower < bounds.upper)
        found = bounds.lower
    for first in range(0, len(open_), _SOURCES):
        some = open_[first : first + _SOURCES]
        found[some] = paths.distances(among, among[some]).max(axis=0)
    return found.astype(paths.dtype)
