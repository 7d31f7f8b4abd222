"""Shortest paths and exact eccentricities on graphs that are not trees.

Where every edge is 1 long and numba is installed, compiled breadth-first searches measure; otherwise, where
floats hold all sums of lengths, scipy's Dijkstra does, and the numbers are the same. Lengths whose sums
floats would round (0.1 for one) are added up as whole numbers of any size
(`ontology.geometry.paths.exactpaths`). All of it is loaded when the first path is measured, not before.
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
from labelgrove.ontology.geometry.paths.wholenumbers import is_short

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
        The two ends of each edge; each edge stands once.
    length : ndarray of shape (n_edges,), dtype=float64
        Edge lengths, as `check_lengths` asks for.
    part : ndarray of shape (n_points,), dtype=int, optional
        Number of each vertex's connected component, where there may be several: pairs that no path joins
        then hold the marker. A connected graph by default.

    Attributes
    ----------
    marker : float or None
        What stands for "no path": the largest number of `dtype`, infinity where that is a float. `dtype` is
        then wide enough for every distance to stay below it. None for a connected graph.
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
        """Smallest dtype that holds every distance exactly; float64 where lengths are not whole numbers.

        The eccentricity e of any point bounds the diameter of its part by e from below and 2e from above; the
        diameter itself is computed only where the two call for different types.
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
    def is_short(self) -> bool:
        """Whether distances are short numbers (`ontology.geometry.paths.wholenumbers`), free of rounding."""
        return self.dtype != np.float64 or is_short(np.append(self._length, 2 * self._reach))

    @cached_property
    def marker(self) -> float | None:
        """What stands for "no path"; None for a connected graph."""
        if self._part is None:
            return None
        return float(np.iinfo(self.dtype).max) if self.dtype.kind == "u" else np.inf

    def from_point(self, source: int) -> NDArray[Any]:
        """Return the distances from one point to all, int32 or float64; shape (n_points,).

        Points that no path joins to it get -1 or infinity.
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
        Every sum of lengths is exact and rounded once, so that a distance is the same both ways. Searches
        start from the shorter list. Breadth-first search takes 512 sources at a time, in at most (number of
        levels) * (n_points + n_edges) steps of 512 bits, and 64 bytes for each point and binary digit of the
        largest distance as working memory.
        """
        out = np.empty((len(rows), len(cols)), dtype=self.dtype)
        self.fill(rows, cols, out, new=True)
        return out

    def fill(
        self, rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[Any], *, new: bool = False
    ) -> None:
        """Write what `distances` returns into `out`, of that shape and dtype; `new` where never written."""
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
        """What adds up lengths whose sums floats may round; None where floats hold them all."""
        if are_exact(self._length, self.n_points * float(self._length.max(initial=0))):
            return None
        return ExactPaths(self.n_points, self._ends, self._others, self._length)

    @cached_property
    def _kernels(self) -> ModuleType | None:
        """Compiled searches for edges of length 1; None where lengths differ or numba is not installed."""
        if not (self._length == 1.0).all():
            return None
        try:
            from labelgrove.ontology.geometry.kernels.graphs import breadthfirst
        except ImportError:
            return None
        return breadthfirst

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled searches out: a module is not copied, and is found again where it is."""
        return {name: value for name, value in self.__dict__.items() if name != "_kernels"}

    @cached_property
    def _adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        from labelgrove.ontology.geometry.kernels.graphs.adjacency import adjacency

        return adjacency(self.n_points, self._ends, self._others)

    @cached_property
    def _reach(self) -> float:
        """The largest eccentricity among the first points of all parts."""
        if self._part is None:
            return float(self.from_point(0).max())
        first = np.unique(self._part, return_index=True)[1]
        if self._kernels is not None:
            return float(self._kernels.distances_from(*self._adjacency, first).max())
        return float(self._dijkstra(first, min_only=True).max())

    def _exact_dtype(self, largest: float) -> np.dtype[Any]:
        """Return the smallest dtype for distances up to `largest`, and for the marker above them."""
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
    """What measured points tell about the eccentricities of all, within the points `among`.

    After F. W. Takes and W. A. Kosters (2011), *Determining the diameter of small world networks*: a measured
    point with eccentricity e bounds that of a point at distance d by ``d + e`` from above and by
    ``max(d, e - d)`` from below. Sources alternate between large upper bounds (ends of long paths) and small
    lower bounds (central points).
    """

    def __init__(self, from_point: Callable[[int], NDArray[Any]], among: NDArray[np.int64]) -> None:
        self._from_point, self._among = from_point, among
        self.lower = np.zeros(len(among))
        self.upper = np.full(len(among), np.inf)
        self.largest = 0.0  # measured eccentricity
        self._seek_end = True

    def measure_one_of(self, open_: NDArray[np.int64]) -> None:
        """Measure from the most telling of the places `open_`."""
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
        Point index -> distances to all points.
    among : ndarray of shape (n,), dtype=int64
        The points that count, all in one part; paths may run over others.

    Notes
    -----
    Points are measured until no upper bound on an eccentricity is above the largest measured: typically a few
    dozen measurements, at worst one for each point.
    """
    bounds = _Bounds(from_point, among)
    open_ = np.arange(len(among))
    while len(open_):
        bounds.measure_one_of(open_)
        open_ = np.flatnonzero(bounds.upper > bounds.largest)
    return bounds.largest


def exact_eccentricities(paths: ShortestPaths, among: NDArray[np.int64]) -> NDArray[Any]:
    """Return the distance of each of the points `among` from the farthest of them; shape (n,).

    Parameters
    ----------
    paths : ShortestPaths
        Of a connected graph.
    among : ndarray of shape (n,), dtype=int64
        The points that count; paths may run over others.

    Notes
    -----
    A few measurements settle most points by their bounds; the others are measured, 512 at a time.
    """
    if paths.dtype == np.float64:
        # Bounds of sums of rounded lengths need not meet: every point is measured.
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
