"""Check a hierarchy: loops, several roots, unconnected parts, shortcuts, swapped parents and children."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.components import connected, strongly_connected
from labelgrove.ontology.errors import counted
from labelgrove.ontology.readers.defects import Recorder

__all__ = ["Edges", "break_loops", "check_direction", "drop_shortcuts", "settle_roots"]

_SEARCH_LIMIT = 1_000_000
_SHOWN = 8
_BULK_LEVELS = 64  # enough for a real hierarchy


@dataclass(frozen=True)
class Edges:
    """The edges of a source; labels are numbered in the byte order of their keys.

    Attributes
    ----------
    file : str
        Path of the file with the edges.
    keys : list of str
        Every label, sorted.
    first_line : ndarray of shape (n_labels,), dtype=int64
        The line that declares each label, or else the first line that names it.
    child, parent, line, rank : ndarray of shape (n_edges,), dtype=int64
        Ends, line and rank of each edge.
    weight : ndarray of shape (n_edges,), dtype=float64
        Length of each edge.
    directed : bool
        Whether edges point from child to parent.
    """

    file: str
    keys: list[str]
    first_line: NDArray[np.int64]
    child: NDArray[np.int64]
    parent: NDArray[np.int64]
    line: NDArray[np.int64]
    rank: NDArray[np.int64]
    weight: NDArray[np.float64]
    directed: bool

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.keys)

    def pair(self, i: int) -> str:
        """Return edge `i` as text, such as ``oak under tree``."""
        arrow = " under " if self.directed else " - "
        return f"{self.keys[int(self.child[i])]}{arrow}{self.keys[int(self.parent[i])]}"

    def take(self, which: NDArray[Any]) -> Edges:
        """Return the edges that `which`, a mask or indices, selects; all labels are kept."""
        return replace(
            self,
            child=self.child[which],
            parent=self.parent[which],
            line=self.line[which],
            rank=self.rank[which],
            weight=self.weight[which],
        )

    def restrict(self, labels: NDArray[np.bool_]) -> Edges:
        """Return the labels that a mask selects, and all edges between them."""
        if labels.all():
            return self
        number = np.cumsum(labels) - 1
        kept = self.take(labels[self.child] & labels[self.parent])
        return replace(
            kept,
            keys=[k for k, inside in zip(self.keys, labels.tolist(), strict=True) if inside],
            first_line=self.first_line[labels],
            child=number[kept.child],
            parent=number[kept.parent],
        )


def break_loops(edges: Edges, recorder: Recorder) -> Edges:
    """Report each edge that closes a loop, and return the other edges.

    Each strongly connected component that has several labels is walked depth first, from parents to children.
    The children of a label are visited in the order of their keys. The walk begins at the smallest key among
    the labels that have a parent outside the component; if there is no such label, it begins at the smallest
    key of the component. An edge to a label on the current path of the walk closes a loop. The result depends
    only on keys, never on the order of lines. O(n_labels + n_edges).
    """
    component = strongly_connected(edges.n_labels, edges.parent, edges.child)
    size = np.bincount(component)
    if size.max(initial=0) < 2:
        return edges
    inside = (component[edges.child] == component[edges.parent]) & (size[component[edges.child]] > 1)
    entered = np.zeros(edges.n_labels, dtype=bool)
    entered[edges.child[component[edges.child] != component[edges.parent]]] = True
    knotted = np.flatnonzero(size[component] > 1)
    by = np.lexsort((knotted, ~entered[knotted], component[knotted]))
    knotted = knotted[by]
    starts = knotted[np.flatnonzero(np.diff(component[knotted], prepend=-1))]

    edge = np.flatnonzero(inside)
    edge = edge[np.lexsort((edges.child[edge], edges.parent[edge]))]
    begin = np.searchsorted(edges.parent[edge], np.arange(edges.n_labels + 1))
    closing: list[int] = []
    for start in starts.tolist():
        for i, loop, length in _back_edges(start, edges.child[edge], begin):
            names = [edges.keys[v] for v in loop]
            shown = " > ".join([*names, *(["..."] if length > len(names) else []), names[0]])
            text = f"{shown} ({length} labels in the loop, {size[component[start]]} in its group of loops)"
            recorder.add("cycle", edges.file, int(edges.line[edge[i]]), text)
            closing.append(int(edge[i]))
    keep = np.ones(len(edges.child), dtype=bool)
    keep[closing] = False
    return edges.take(keep)


def _back_edges(
    start: int, child: NDArray[np.int64], begin: NDArray[np.int64]
) -> Iterator[tuple[int, list[int], int]]:
    """Yield (edge, first labels of its loop, length of the loop) for each edge that closes a loop.

    The depth-first walk begins at `start`. Of each loop, the labels that the walk reached first are given,
    at most eight, in the order of the walk.
    The children of a label ``v`` are ``child[begin[v]:begin[v + 1]]``.
    """
    place = {start: 0}  # label -> position on the walk, -1 once left
    walk = [start]
    ahead = [int(begin[start])]
    while walk:
        v = walk[-1]
        i = ahead[-1]
        if i == begin[v + 1]:
            place[v] = -1
            walk.pop()
            ahead.pop()
            continue
        ahead[-1] += 1
        c = int(child[i])
        if c not in place:
            place[c] = len(walk)
            walk.append(c)
            ahead.append(int(begin[c]))
        elif place[c] >= 0:
            yield i, walk[place[c] : place[c] + _SHOWN], len(walk) - place[c]


def settle_roots(edges: Edges, recorder: Recorder, root: str) -> Edges:
    """Report several roots or unconnected parts, and apply the policy of the defect ``roots``.

    ``virtual`` adds the label `root` as the parent of every root. ``largest`` keeps only the part with the
    most labels; among parts of equal size, the part that contains the smallest key.
    """
    component = connected(edges.n_labels, edges.child, edges.parent)
    _, first, size = np.unique(component, return_index=True, return_counts=True)
    if edges.directed:
        tops = np.flatnonzero(np.bincount(edges.child, minlength=edges.n_labels) == 0)
    else:
        tops = np.sort(first)
    if len(tops) < 2:
        return edges
    n_labels, n_parts = counted(edges.n_labels, "label"), counted(len(size), "part")
    for top in tops.tolist():
        part = int(size[component[top]])
        what = "is a root" if edges.directed else "is the first label of its part"
        whole = part == edges.n_labels
        held = (
            f"all {n_labels} are connected to it"
            if whole
            else f"its part has {part} of {n_labels} ({n_parts})"
        )
        text = f"{edges.keys[top]!r} {what}; {held}"
        recorder.add("roots", edges.file, int(edges.first_line[top]), text)
    policy = recorder.policy("roots")
    if policy == "largest":
        best = max(range(len(size)), key=lambda c: (int(size[c]), -int(first[c])))
        return edges.restrict(component == best)
    if policy == "virtual":
        return _with_root(edges, tops, recorder, root)
    return edges


def _with_root(edges: Edges, tops: NDArray[np.int64], recorder: Recorder, root: str) -> Edges:
    place = bisect_left(edges.keys, root)
    if place < edges.n_labels and edges.keys[place] == root:
        recorder.add("root-taken", edges.file, int(edges.first_line[place]), root)
        return edges
    n = len(tops)
    return replace(
        edges,
        keys=[*edges.keys[:place], root, *edges.keys[place:]],
        first_line=np.insert(edges.first_line, place, 0),
        child=np.concatenate([edges.child + (edges.child >= place), tops + (tops >= place)]),
        parent=np.concatenate([edges.parent + (edges.parent >= place), np.full(n, place)]),
        line=np.concatenate([edges.line, np.zeros(n, dtype=np.int64)]),
        rank=np.concatenate([edges.rank, np.zeros(n, dtype=np.int64)]),
        weight=np.concatenate([edges.weight, np.ones(n)]),
    )


def check_direction(edges: Edges, recorder: Recorder) -> None:
    """Report a defect if parents and children are probably swapped.

    They are taken for swapped if there are more roots than leaves, and more labels with several parents than
    labels with several children.
    """
    parents = np.bincount(edges.child, minlength=edges.n_labels)
    children = np.bincount(edges.parent, minlength=edges.n_labels)
    roots, leaves = int((parents == 0).sum()), int((children == 0).sum())
    if roots > leaves and (parents > 1).sum() > (children > 1).sum():
        recorder.add(
            "direction-swapped",
            edges.file,
            0,
            f"{counted(roots, 'root')}, {counted(leaves, 'leaf', 'leaves')}",
        )


def drop_shortcuts(edges: Edges, recorder: Recorder) -> Edges:
    """Report edges to an ancestor that a longer path also reaches; remove them if the policy is ``fix``.

    The search for longer paths starts only at labels with several parents. The search from a label goes up
    only to the level of the highest parent of that label. The level of a label is the length of its longest
    path up to a root.
    After more than 1,000,000 steps in total, the search does not start at further labels, which is reported
    as a defect.
    """
    n_parents = np.bincount(edges.child, minlength=edges.n_labels)
    shared = np.flatnonzero(n_parents > 1)
    if not len(shared):
        return edges
    order = np.argsort(edges.child, kind="stable")
    begin = np.searchsorted(edges.child[order], np.arange(edges.n_labels + 1)).tolist()
    parents = edges.parent[order].tolist()
    level = _levels(edges, n_parents)
    shortcuts: list[int] = []
    steps = 0
    for done, v in enumerate(shared.tolist()):
        if steps > _SEARCH_LIMIT:
            text = f"{done} of {counted(len(shared), 'label')} with several parents were searched"
            recorder.add("transitive-unchecked", edges.file, 0, text)
            break
        own = parents[begin[v] : begin[v + 1]]
        floor = min(level[p] for p in own)
        above: set[int] = set()
        stack = [p for p in own if level[p] > floor]
        while stack:
            u = stack.pop()
            higher = parents[begin[u] : begin[u + 1]]
            steps += len(higher)
            for p in higher:
                if p not in above and level[p] >= floor:
                    above.add(p)
                    stack.append(p)
        shortcuts += [int(order[begin[v] + j]) for j, p in enumerate(own) if p in above]
    for i in shortcuts:
        recorder.add("transitive-edge", edges.file, int(edges.line[i]), edges.pair(i))
    if recorder.policy("transitive-edge") != "fix":
        return edges
    keep = np.ones(len(edges.child), dtype=bool)
    keep[shortcuts] = False
    return edges.take(keep)


def _levels(edges: Edges, n_parents: NDArray[np.int64]) -> list[int]:
    """Return the number of edges on the longest path from each label up to a root; there must be no loop.

    A label is ready when the levels of all its parents are known. Labels that become ready together have the
    same level, so whole levels are taken at a time; what many of them leave over is taken label by label.
    """
    levels = np.zeros(edges.n_labels, dtype=np.int64)
    left = n_parents  # parents of each label that were not taken yet
    child, parent = edges.child, edges.parent
    first = np.flatnonzero(left == 0)
    for level in range(1, _BULK_LEVELS):
        taken = np.zeros(edges.n_labels, dtype=bool)
        taken[first] = True
        gone = taken[parent]
        less = np.bincount(child[gone], minlength=edges.n_labels)
        left = left - less
        first = np.flatnonzero((left == 0) & (less > 0))
        levels[first] = level
        child, parent = child[~gone], parent[~gone]
        if not len(child):
            found: list[int] = levels.tolist()
            return found
    order = np.argsort(parent, kind="stable")
    begin = np.searchsorted(parent[order], np.arange(edges.n_labels + 1)).tolist()
    children = child[order].tolist()
    waiting, level_of, ready = left.tolist(), levels.tolist(), first.tolist()
    while ready:
        v = ready.pop()
        below = level_of[v] + 1
        for c in children[begin[v] : begin[v + 1]]:
            level_of[c] = max(level_of[c], below)
            waiting[c] -= 1
            if waiting[c] == 0:
                ready.append(c)
    return level_of
