"""Lengths of the paths with the fewest edges between members of a set; paths may leave the set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["two_farthest"]


@compiled
def two_farthest(
    begin: NDArray[np.int32],
    neighbors: NDArray[np.int32],
    length: NDArray[np.float64],
    assignment: NDArray[np.int32],
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return, for each start, the sum of the two largest path lengths to other members of its set.

    `starts` are vertices. The neighbors of vertex v are ``neighbors[begin[v]:begin[v + 1]]``, and
    ``length[begin[v]:begin[v + 1]]`` are the lengths of the edges to them. `assignment` contains the index of
    the set of each vertex, and `sizes` the number of members of each set. Each path has the fewest possible
    edges. The sum is infinite if there is no path to some member.
    """
    # Breadth first, stopped at the last member: O(edges within that radius) for each start.
    n = len(assignment)
    seen_from = np.full(n, -1, dtype=np.int64)
    far = np.zeros(n)
    queue = np.empty(n, dtype=np.int64)
    found = np.full(len(starts), np.inf)
    for i in range(len(starts)):
        wanted = assignment[starts[i]]
        queue[0] = starts[i]
        seen_from[starts[i]] = i
        far[starts[i]] = 0.0
        read, written, missing = 0, 1, sizes[wanted] - 1
        largest, second = 0.0, 0.0
        while read < written and missing > 0:
            v = queue[read]
            read += 1
            for e in range(begin[v], begin[v + 1]):
                x = neighbors[e]
                if seen_from[x] == i:
                    continue
                seen_from[x] = i
                far[x] = far[v] + length[e]
                queue[written] = x
                written += 1
                if assignment[x] == wanted:
                    missing -= 1
                    if far[x] > largest:
                        largest, second = far[x], largest
                    elif far[x] > second:
                        second = far[x]
        if missing == 0:
            found[i] = largest + second
    return found
