"""Merge the labels of a graph into supernodes, which are sets of labels, with a union-find forest.

A set is identified by one of its members, its root. The members whose neighbors have not been read yet are in
a linked list, the chain of the set. When two sets are merged, their chains are joined in O(1). A label leaves
its chain when its neighbors are read, so every adjacency entry is read at most once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.jit import compiled

__all__ = ["contract_subtrees", "draw", "merge_neighborhoods", "number_sets", "pack_sets"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
_FIRST_SHIFT, _SECOND_SHIFT, _THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def draw(state: NDArray[np.uint64], n: int) -> int:
    """Return a random number from 0 to n - 1, all equally likely; `state` (1,) is the generator's state."""
    # SplitMix64 (Steele, Lea, Flood 2014): the same numbers under every version of numpy and numba.
    bound = np.uint64(n)
    rejected = (np.uint64(0) - bound) % bound  # 2^64 mod n: below it, some remainders would be more likely
    while True:
        state[0] += _GOLDEN
        mixed = state[0]
        mixed = (mixed ^ (mixed >> _FIRST_SHIFT)) * _FIRST_MULTIPLIER
        mixed = (mixed ^ (mixed >> _SECOND_SHIFT)) * _SECOND_MULTIPLIER
        mixed = mixed ^ (mixed >> _THIRD_SHIFT)
        if mixed >= rejected:
            return int(mixed % bound)


@compiled
def _root(above: NDArray[np.int32], v: int) -> int:
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@compiled
def _leave(drawable: NDArray[np.int32], place: NDArray[np.int32], n_drawable: int, r: int) -> int:
    """Remove the set with the root `r` from the list of sets that may be drawn; return the list's new length.

    The list contains the roots of the sets: the first `n_drawable` entries of `drawable`. ``place[r]`` is the
    index of `r` in the list, or -1 if `r` has been removed already; then the list is not changed.
    """
    if place[r] < 0:
        return n_drawable
    last = drawable[n_drawable - 1]
    drawable[place[r]] = last
    place[last] = place[r]
    place[r] = -1
    return n_drawable - 1


@compiled
def merge_neighborhoods(
    begin: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    target: int,
    cap: int,
    whole: bool,
    seed: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], int, NDArray[np.int32], int]:
    """Draw a set and merge its neighbors into it, repeatedly, until at most `target` sets are left.

    Parameters
    ----------
    begin, neighbors
        The result of `ontology.geometry.kernels.graphs.adjacency`.
    target : int
        The merging ends when at most this number of sets is left.
    cap : int
        The largest number of labels that a set may have. A neighboring set is skipped if the merged set would
        have more. For no cap, give the number of labels.
    whole : bool
        True: always merge all neighbors of the drawn set, even if fewer than `target` sets are left
        afterwards. False: stop as soon as `target` sets are left.
    seed : int
        Seed of the generator.

    Returns
    -------
    above : ndarray of shape (n,), dtype=int32
        The union-find forest: for each label, the next label towards the root of its set; for a root, the
        root itself.
    size : ndarray of shape (n,), dtype=int32
        At the index of each root, the number of labels in its set.
    n_sets : int
        Number of sets left.
    picks : ndarray of shape (n_picks,), dtype=int32
        The root of each drawn set, in the order of the draws. A drawn set is left out if the neighbors of all
        its members had been read already.
    scanned : int
        Number of adjacency entries read, at most ``len(neighbors)``.
    """
    # Each entry is read once and costs one look-up, O(log n) amortized. A union only grows, so a neighbor
    # that is too large once is always too large, and its entry need not be kept. A set with an empty chain
    # can merge nothing, so it leaves the list of drawable sets; this only saves idle rounds.
    n = len(begin) - 1
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed)
    above = np.arange(n).astype(np.int32)
    size = np.ones(n, dtype=np.int32)
    head = np.arange(n).astype(np.int32)
    tail = np.arange(n).astype(np.int32)
    behind = np.full(n, -1, dtype=np.int32)
    drawable = np.arange(n).astype(np.int32)
    place = np.arange(n).astype(np.int32)
    picks = np.empty(n, dtype=np.int32)
    n_sets, n_drawable, n_picks, scanned = n, n, 0, 0
    while n_sets > target and n_drawable > 0:
        r = drawable[draw(state, n_drawable)]
        v = head[r]
        if v < 0:
            n_drawable = _leave(drawable, place, n_drawable, r)
            continue
        picks[n_picks] = r
        n_picks += 1
        head[r], tail[r] = -1, -1
        while v >= 0:
            for e in range(begin[v], begin[v + 1]):
                if n_sets == target and not whole:
                    break
                scanned += 1
                x = _root(above, neighbors[e])
                if x == r or size[x] + size[r] > cap:
                    continue
                above[x] = r
                size[r] += size[x]
                n_sets -= 1
                n_drawable = _leave(drawable, place, n_drawable, x)
                if head[x] >= 0:
                    if head[r] < 0:
                        head[r] = head[x]
                    else:
                        behind[tail[r]] = head[x]
                    tail[r] = tail[x]
            v = behind[v]
    return above, size, n_sets, picks[:n_picks].copy(), scanned


@compiled
def pack_sets(
    begin: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    above: NDArray[np.int32],
    size: NDArray[np.int32],
    n_sets: int,
    target: int,
    cap: int,
) -> int:
    """Merge sets that are adjacent or have a common neighbor, within `cap`; return the number of sets left.

    `above` and `size` are as `merge_neighborhoods` returns them, and are changed in place; no set gets more
    than `cap` labels. The sets are merged in rounds, each of which goes through the whole graph. In the first
    round, sets have a common neighbor if they are adjacent to the same label; in later rounds, if they are
    adjacent to the same set. Merging ends when `target` sets are left, or after a round that merges nothing,
    unless that is the first round.
    """
    # O(n + n_edges) look-ups per round. Within the closed neighborhood of a hub, `spare` is the smallest set
    # seen. If two sets do not fit together, the larger exceeds cap / 2, so at most one seen set does not
    # exceed it.
    n = len(begin) - 1
    hub = np.arange(n).astype(np.int32)
    members = np.empty(n, dtype=np.int32)
    by_labels = True
    while n_sets > target:
        before = n_sets
        first = np.zeros(n + 1, dtype=np.int32)
        for v in range(n):
            first[hub[v] + 1] += 1
        for h in range(n):
            first[h + 1] += first[h]
        filled = first.copy()
        for v in range(n):
            members[filled[hub[v]]] = v
            filled[hub[v]] += 1
        for h in range(n):
            if first[h] == first[h + 1]:
                continue
            spare = _root(above, members[first[h]])
            for m in range(first[h], first[h + 1]):
                v = members[m]
                for e in range(begin[v], begin[v + 1]):
                    x = _root(above, neighbors[e])
                    if x == spare:
                        continue
                    if size[x] + size[spare] <= cap:
                        above[x] = spare
                        size[spare] += size[x]
                        n_sets -= 1
                        if n_sets == target:
                            return n_sets
                    elif size[x] < size[spare]:
                        spare = x
        if n_sets == before and not by_labels:
            return n_sets
        by_labels = False
        for v in range(n):
            hub[v] = _root(above, v)
    return n_sets


@compiled
def contract_subtrees(parent: NDArray[np.int32], most: int) -> tuple[NDArray[np.int32], int]:
    """Cut a forest into pieces of at most `most` labels; return the pieces and their number.

    The pieces are returned as a union-find forest, like `above` of `merge_neighborhoods`.

    Labels are in preorder; `parent` is -1 for roots. The labels are handled from the bottom up, so the
    children of a label are in pieces already. At each label, one piece is open: at first the piece that
    consists of the label itself. The pieces of the children are merged into the open piece, one child after
    another. If a child's piece would make the open piece larger than `most` labels, the two pieces remain
    separate, and the child's piece becomes the open one.
    """
    # O(n). Two pieces in a row at one parent hold more than `most` labels together.
    n = len(parent)
    above = np.arange(n).astype(np.int32)
    left = np.ones(n, dtype=np.int32)
    first_child = np.full(n, -1, dtype=np.int32)
    next_sibling = np.full(n, -1, dtype=np.int32)
    n_sets = n
    for v in range(n - 1, -1, -1):
        piece, filled = v, 1
        c = first_child[v]
        while c >= 0:
            if filled + left[c] <= most:
                above[c] = piece
                filled += left[c]
                n_sets -= 1
            else:
                if piece == v:
                    left[v] = filled
                piece, filled = c, left[c]
            c = next_sibling[c]
        if piece == v:
            left[v] = filled
        if parent[v] >= 0:
            next_sibling[v] = first_child[parent[v]]
            first_child[parent[v]] = v
    return above, n_sets


@compiled
def number_sets(above: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return two arrays: the index of each label's set, and the size of each set.

    Sets are numbered from 0, in the order of their lowest members.
    """
    # n look-ups.
    n = len(above)
    number = np.full(n, -1, dtype=np.int32)
    assignment = np.empty(n, dtype=np.int32)
    size = np.zeros(n, dtype=np.int64)
    n_sets = 0
    for v in range(n):
        r = _root(above, v)
        if number[r] < 0:
            number[r] = n_sets
            n_sets += 1
        assignment[v] = number[r]
        size[assignment[v]] += 1
    return assignment, size[:n_sets].copy()
