"""Put labels into canonical order: check the edges, remove repeated ones and traverse the rest.

The functions work on numbers instead of keys: labels are numbered in the byte order of their keys, so sorting
by number sorts by key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError

__all__ = [
    "LENGTHS",
    "LENGTH_RULE",
    "breadth_first",
    "check_keys",
    "check_weights",
    "column",
    "deduplicate",
    "length_fault",
    "preorder",
    "sorted_unique",
]

_BULK_ROUNDS = 64
_SHOWN = 8  # labels of a loop in a message

LENGTHS = 1e-75, 1e75
"""Smallest and largest edge length. Between them, squares and sums of squares keep full precision."""

LENGTH_RULE = (
    "an edge length must be positive and finite, within 1e-75..1e75, and all lengths must add up to at most "
    "1e78: choose another unit"
)
"""The rule of edge lengths and the next step, with which messages about a bad edge length end."""

_LONGEST_WAY = 1e78  # its square leaves room for weights that sum to 1e150


def sorted_unique(ends: list[str], labels: Iterable[str]) -> list[str]:
    """Return the distinct keys in byte order; raise `InputError` if a value cannot be a key."""
    unique = set(ends)
    unique.update(labels)
    check_keys(unique)
    return sorted(unique)


def check_keys(keys: Collection[str]) -> None:
    """Raise `InputError` if a value cannot be a key."""
    if set(map(type, keys)) - {str}:
        key = next(k for k in keys if type(k) is not str)
        raise InputError(f"label {key!r} is of type {type(key).__name__}; label keys are strings")
    if "" in keys or "\0" in "\n".join(keys):
        key = next(k for k in keys if not k or "\0" in k)
        raise InputError(f"label key {key!r}: a key has at least one character and no NUL")


def column(name: str, given: Iterable[Any] | None, n: int, default: float, dtype: type) -> NDArray[Any]:
    """Return the numbers in `given`, one for each of `n` edges, as an array of dtype `dtype`.

    If `given` is None, every edge gets `default`. Values that do not fit `dtype`, too few values and too many
    raise `InputError`. `name` is the name of the argument in the message.
    """
    if given is None:
        return np.full(n, default, dtype=dtype)
    try:
        values: NDArray[Any] = np.array(given if isinstance(given, np.ndarray) else list(given), dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: must be numbers that fit the type {np.dtype(dtype)} ({error})") from None
    if values.shape != (n,):
        raise InputError(f"{name}: values of shape {values.shape} for {n} pairs; give one number for each")
    return values


def length_fault(weight: NDArray[Any]) -> tuple[int, str] | None:
    """Return the index of an edge length that breaks a rule, and this length as text; None if none does.

    Each length must be within `LENGTHS`. The sum of all lengths must be at most 1e78, so that no path is
    longer than 1e78. If the sum is larger, the index is that of the longest edge, and the text shows the sum
    too.
    """
    least, most = LENGTHS
    bad = np.flatnonzero(~((weight >= least) & (weight <= most)))
    if len(bad):
        return int(bad[0]), f"{weight[bad[0]]}"
    total = float(weight.sum())
    if total <= _LONGEST_WAY:
        return None
    return int(weight.argmax()), f"{weight.max()} (all together: {total:g})"


def check_weights(weight: NDArray[np.float64], pair: Callable[[int], tuple[str, str]]) -> None:
    """Raise `InputError` if edge lengths break the rules of `length_fault`.

    The message names the edge: `pair` returns the keys of the ends of an edge, given its index.
    """
    fault = length_fault(weight)
    if fault is not None:
        i, what = fault
        raise InputError(f"weights: {what} at pair {i} {pair(i)!r}; {LENGTH_RULE}")


def deduplicate(
    child: NDArray[np.int32],
    parent: NDArray[np.int32],
    weight: NDArray[np.float64],
    rank: NDArray[np.int32],
    ordered: list[str],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Remove repeated edges; return the remaining edges, sorted by (child, parent).

    Edges with the same child and parent become one edge, with the smallest of their ranks. If their lengths
    differ, `InputError` is raised. Labels are given as numbers; `ordered` contains their keys, for the error
    message.
    """
    by = np.lexsort((rank, child * np.int64(len(ordered)) + parent))
    child, parent, weight, rank = child[by], parent[by], weight[by], rank[by]
    again = (child[1:] == child[:-1]) & (parent[1:] == parent[:-1])
    clash = np.flatnonzero(again & (weight[1:] != weight[:-1]))
    if len(clash):
        i = int(clash[0])
        pair = (ordered[int(child[i])], ordered[int(parent[i])])
        raise InputError(
            f"weights: {pair!r} has the lengths {weight[i]} and {weight[i + 1]}; give each pair one length"
        )
    keep = np.concatenate([[True], ~again]) if len(child) else np.zeros(0, dtype=bool)
    return child[keep], parent[keep], weight[keep], rank[keep]


def preorder(
    n: int, child: NDArray[np.int32], parent: NDArray[np.int32], rank: NDArray[np.int32], ordered: list[str]
) -> NDArray[np.int32]:
    """Return the labels in canonical order; raise `InputError` if the edges contain a cycle.

    The order is the preorder of the tree of primary parents, with siblings sorted by key. Labels are numbered
    in the order of their keys; `ordered` contains the keys, for the error message. The edges must be sorted
    by (child, parent), as `deduplicate` returns them.
    """
    _refuse_cycles(n, child, parent, ordered)
    primary = np.full(n, -1, dtype=np.int64)
    by = np.lexsort((rank, child))[::-1]  # last write wins: the smallest (rank, parent)
    primary[child[by]] = parent[by]
    members = np.flatnonzero(primary >= 0)
    members = members[np.argsort(primary[members], kind="stable")]
    begin = np.searchsorted(primary[members], np.arange(n + 1))
    levels = _levels(np.flatnonzero(primary < 0), members, begin)
    if levels is None:  # deep: one label at a time
        return _walked(primary, begin.tolist())
    size = np.ones(n, dtype=np.int64)  # of the subtree of each label
    for level in reversed(levels[1:]):
        np.add.at(size, primary[level], size[level])
    before = np.cumsum(size[members]) - size[members]
    first = begin[primary[members]]
    place = np.empty(n, dtype=np.int64)
    place[members] = before - before[first] + 1  # behind its parent
    place[levels[0]] = np.cumsum(size[levels[0]]) - size[levels[0]]
    for level in levels[1:]:
        place[level] += place[primary[level]]
    order = np.empty(n, dtype=np.int32)
    order[place] = np.arange(n, dtype=np.int32)
    return order


def _levels(
    roots: NDArray[np.int64], members: NDArray[np.int64], begin: NDArray[np.int64]
) -> list[NDArray[np.int64]] | None:
    """Return the labels at each depth, roots first; None if there are more than `_BULK_ROUNDS` depths.

    The children of label ``v`` are ``members[begin[v]:begin[v + 1]]``.
    """
    levels: list[NDArray[np.int64]] = []
    level = roots
    while len(level):
        if len(levels) == _BULK_ROUNDS:
            return None
        levels.append(level)
        low, n_children = begin[level], begin[level + 1] - begin[level]
        ends = np.cumsum(n_children)
        level = members[np.arange(int(ends[-1])) + np.repeat(low - ends + n_children, n_children)]
    return levels


def _walked(primary: NDArray[np.int64], begin: list[int]) -> NDArray[np.int32]:
    """Return the labels in preorder, one by one."""
    members = np.flatnonzero(primary >= 0)[::-1]  # last key first: the stack reverses it
    listed = members[np.argsort(primary[members], kind="stable")].tolist()
    order: list[int] = []
    stack = np.flatnonzero(primary < 0)[::-1].tolist()
    while stack:
        v = stack.pop()
        order.append(v)
        if begin[v] < begin[v + 1]:  # most labels are leaves
            stack.extend(listed[begin[v] : begin[v + 1]])
    return np.array(order, dtype=np.int32)


def _refuse_cycles(n: int, child: NDArray[np.int32], parent: NDArray[np.int32], ordered: list[str]) -> None:
    """Raise `InputError` if the edges contain a cycle; the message shows the keys of one cycle.

    Labels without children are removed until every remaining label has a child (Kahn's algorithm). If any
    labels remain, they contain a cycle.
    """
    waiting = np.bincount(parent, minlength=n)  # children not yet peeled
    alive = np.ones(n, dtype=bool)
    for _ in range(_BULK_ROUNDS):  # whole levels at a time: enough for a real hierarchy
        peeled = alive & (waiting == 0)
        if not peeled.any():
            break
        alive &= ~peeled
        gone = peeled[child]
        waiting -= np.bincount(parent[gone], minlength=n)
        child, parent = child[~gone], parent[~gone]
    if not alive.any():
        return
    begin = np.searchsorted(child, np.arange(n + 1)).tolist()
    parents, left = parent.tolist(), waiting.tolist()
    stack = np.flatnonzero(alive & (waiting == 0)).tolist()
    remaining = int(alive.sum())
    while stack:
        v = stack.pop()
        remaining -= 1
        for p in parents[begin[v] : begin[v + 1]]:
            left[p] -= 1
            if left[p] == 0:
                stack.append(p)
    if remaining == 0:
        return
    v = next(i for i in range(n) if left[i] > 0)
    step: dict[int, int] = {}
    below: dict[int, int] = {}
    for c, p in zip(child.tolist(), parents, strict=True):  # every remaining label has a remaining child
        if left[c] > 0 and left[p] > 0:
            below.setdefault(p, c)
    while v not in step:
        step[v] = below[v]
        v = below[v]
    loop, u = [v], step[v]
    while u != v:
        loop.append(u)
        u = step[u]
    last = ordered[loop[-1]] if len(loop) <= _SHOWN else "..."
    shown = " -> ".join([*(ordered[i] for i in reversed(loop[:_SHOWN])), last])
    raise InputError(
        f"pairs: {len(loop)} labels in a loop, but a hierarchy has no loop; remove one of the pairs "
        f"child -> parent: {shown}"
    )


def breadth_first(n: int, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the labels in breadth-first order.

    The search of each connected component begins at its smallest key; it visits neighbors in the order of
    their keys.
    """
    ends = np.concatenate([low, high])
    others = np.concatenate([high, low])
    by = np.lexsort((others, ends))
    begin = np.searchsorted(ends[by], np.arange(n + 1)).tolist()
    neighbors = others[by].tolist()
    seen = bytearray(n)
    order: list[int] = []
    for start in range(n):
        if seen[start]:
            continue
        seen[start] = 1
        head = len(order)
        order.append(start)
        while head < len(order):
            v = order[head]
            head += 1
            for u in neighbors[begin[v] : begin[v + 1]]:
                if not seen[u]:
                    seen[u] = 1
                    order.append(u)
    return np.array(order, dtype=np.int32)
