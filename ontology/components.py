"""Connected and strongly connected components of numbered labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["connected", "strongly_connected"]

_FEW_PEELED = 63 / 64  # if a level leaves more of the edges than this, Tarjan's algorithm is faster


def connected(n: int, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int32]:
    """Return, for each label, the index of its connected component; the directions of edges do not matter.

    Components are numbered from 0, in the order of their smallest labels.

    Parameters
    ----------
    n : int
        Number of labels.
    a, b : ndarray of shape (n_edges,), dtype=int
        Ends of each edge.

    Notes
    -----
    O(n_edges log n) at most.

    Examples
    --------
    >>> connected(5, np.array([4, 1]), np.array([0, 2])).tolist()
    [0, 1, 1, 2, 0]
    """
    root = np.arange(n, dtype=np.int32)
    while True:  # hook the larger root under the smaller, then halve the paths: O(log n) rounds
        ra, rb = root[a], root[b]
        low, high = np.minimum(ra, rb), np.maximum(ra, rb)
        if np.array_equal(low, high):
            break
        np.minimum.at(root, high, low)
        while not np.array_equal(root, root[root]):
            root = root[root]
    return np.unique(root, return_inverse=True)[1].astype(np.int32)


def strongly_connected(n: int, tail: NDArray[Any], head: NDArray[Any]) -> NDArray[np.int32]:
    """Return, for each label, the index of its strongly connected component.

    Components are numbered from 0, in the order of their smallest labels.

    Parameters
    ----------
    n : int
        Number of labels.
    tail, head : ndarray of shape (n_edges,), dtype=int
        The labels where each edge begins (`tail`) and ends (`head`).

    Notes
    -----
    O(n + n_edges). A label that no edge leaves, or that no edge enters, is a component by itself, because it
    is on no cycle. Such labels are removed with their edges, and this step is repeated as long as it removes
    many edges. Tarjan's algorithm then searches the remaining labels, which are few or none in a hierarchy.

    References
    ----------
    .. [1] R. Tarjan (1972), SIAM J. Comput. 1(2), 146-160.

    Examples
    --------
    >>> strongly_connected(4, np.array([0, 1, 2, 2]), np.array([1, 2, 1, 3])).tolist()
    [0, 1, 1, 2]
    """
    tail, head = _peeled(n, tail, head)
    head, tail = _peeled(n, head, tail)
    first = np.arange(n, dtype=np.int32)  # the first label of each label's component
    for members in _knots(n, tail, head):
        first[members] = min(members)
    return np.unique(first, return_inverse=True)[1].astype(np.int32)


def _peeled(n: int, tail: NDArray[Any], head: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Remove, in rounds, the edges that lead into dead ends; return the remaining edges.

    A dead end is a label that no remaining edge leaves. The function stops after a round that removes at most
    1/64 of the edges, because Tarjan's algorithm handles the rest faster.
    """
    while True:
        goes_on = np.zeros(n, dtype=bool)
        goes_on[tail] = True
        kept = goes_on[head]
        before = len(tail)
        tail, head = tail[kept], head[kept]
        if len(tail) >= before * _FEW_PEELED:
            return tail, head


def _knots(n: int, tail: NDArray[Any], head: NDArray[Any]) -> list[list[int]]:
    """Return the strongly connected components that have two or more labels, each as a list of labels."""
    by = np.argsort(tail, kind="stable")
    begin = np.searchsorted(tail[by], np.arange(n + 1)).tolist()
    to = head[by].tolist()
    found: list[list[int]] = []
    place = [0] * n  # the step at which a label was first met, from 1; n + 1 once its component is known
    lowest = [0] * n  # the earliest label of the walk known to be reachable
    met = 0
    for start in np.unique(tail).tolist():
        if place[start]:
            continue
        waiting: list[int] = []  # labels that were met and whose component is not yet known
        walk, ahead = [start], [begin[start]]
        while walk:
            v = walk[-1]
            if not place[v]:
                met += 1
                place[v] = lowest[v] = met
                waiting.append(v)
            i = ahead[-1]
            if i < begin[v + 1]:
                ahead[-1] += 1
                w = to[i]
                if not place[w]:
                    walk.append(w)
                    ahead.append(begin[w])
                elif place[w] < lowest[v]:
                    lowest[v] = place[w]
                continue
            walk.pop()
            ahead.pop()
            if walk and lowest[v] < lowest[walk[-1]]:
                lowest[walk[-1]] = lowest[v]
            if lowest[v] == place[v]:
                members = [waiting.pop()]
                while members[-1] != v:
                    members.append(waiting.pop())
                for w in members:
                    place[w] = n + 1
                if len(members) > 1:
                    found.append(members)
    return found
