"""ExactPaths: shortest paths on graphs where sums of edge lengths would be rounded in floats.

The edge lengths are floats, so all of them are whole multiples of some power of two. In this unit they are
whole numbers, with as many binary digits as needed. Their sums are exact in any order. Each sum is rounded
once, when it is returned. The search is faster if numba is installed; the results are the same.
"""

from __future__ import annotations

import heapq
import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.exactsums import rounded
from labelgrove.ontology.geometry.paths.wholenumbers import unit_exponent, whole_numbers

__all__ = ["ExactPaths"]

_BLOCK_ENTRIES = 1 << 21


class ExactPaths:
    """Shortest paths on an undirected graph with positive edge lengths of any size.

    Parameters
    ----------
    n_points : int
        Number of vertices.
    ends, others : ndarray of shape (n_edges,), dtype=int
        The two ends of each edge.
    length : ndarray of shape (n_edges,), dtype=float64
        Edge lengths, positive and finite.
    """

    def __init__(
        self,
        n_points: int,
        ends: NDArray[np.integer],
        others: NDArray[np.integer],
        length: NDArray[np.float64],
    ) -> None:
        sides = np.concatenate([ends, others])
        order = np.argsort(sides, kind="stable")
        self._n_points = n_points
        self._begin = np.searchsorted(sides[order], np.arange(n_points + 1))
        self._neighbor = np.concatenate([others, ends])[order].astype(np.int32)
        self._edge = (order % len(ends)).astype(np.int32)
        self._unit = unit_exponent(length)
        self._whole: list[int] = whole_numbers(length).tolist()

    def distances(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from sources to targets; infinity where there is no path.

        The shape is (n_sources, n_targets). Each distance is the exact sum of the lengths on its path,
        rounded to the nearest float.
        """
        try:
            from labelgrove.ontology.geometry.kernels.graphs.pathsums import sums_from
        except ImportError:
            return np.array([self._from(source)[targets] for source in sources.tolist()])
        exponent, digits = self._digits
        found = np.empty((len(sources), len(targets)))
        step = max(1, _BLOCK_ENTRIES // (len(targets) * len(exponent)))
        for start in range(0, len(sources), step):
            some = sources[start : start + step]
            sums = np.empty((len(some), len(targets), len(exponent)), dtype=np.int64)
            sums_from(self._begin, self._neighbor, self._edge, digits, some, targets, sums)
            parts = np.ldexp(np.moveaxis(sums, 2, 0).astype(np.float64), exponent[:, None, None])
            found[start : start + step] = np.where(sums[:, :, 0] < 0, np.inf, rounded(parts))
        return found

    @cached_property
    def _digits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A pair of arrays that represents the edge lengths in base ``2**DIGIT_BITS``.

        The first array, of shape (n_digits,), contains an exponent e for each digit of a length: the digit
        counts multiples of ``2**e``. The second array, of shape (n_edges, n_digits), contains the digits of
        every length. The most significant digit comes first.
        """
        from labelgrove.ontology.geometry.kernels.graphs.pathsums import DIGIT_BITS

        bits = (max(self._whole) * self._n_points).bit_length()
        exponent = np.arange(-(-bits // DIGIT_BITS))[::-1] * DIGIT_BITS
        lowest = (1 << DIGIT_BITS) - 1
        digits = [[whole >> shift & lowest for shift in exponent.tolist()] for whole in self._whole]
        return exponent + self._unit, np.array(digits)

    def _from(self, source: int) -> NDArray[np.float64]:
        """Return the distances of all points from `source`, computed in Python; infinity without a path."""
        begin, neighbor, edge = self._begin.tolist(), self._neighbor.tolist(), self._edge.tolist()
        length: dict[int, int] = {}
        heap: list[tuple[int, int]] = [(0, source)]
        while heap:
            so_far, v = heapq.heappop(heap)
            if v in length:
                continue
            length[v] = so_far
            for i in range(begin[v], begin[v + 1]):
                if neighbor[i] not in length:
                    heapq.heappush(heap, (so_far + self._whole[edge[i]], neighbor[i]))
        found = np.full(self._n_points, np.inf)
        for v, whole in length.items():
            found[v] = math.ldexp(float(whole), self._unit)
        return found
