"""Find the labels above a label of a hierarchy, level by level.

The time grows with the number of labels above, not with the size of the ontology: a tree of millions of
labels has only a few dozen levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Climb", "climb", "lowest_common", "tree_path"]

Label = dict[str, Any]
"""The properties ``idx, key, name, depth, leaf`` of a label."""

ParentsOf = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
"""Takes uids of labels; returns the edges to their parents.

Each edge has ``below`` (uid of the label), ``uid`` (of the parent), ``weight``, and the properties of the
parent.
"""


@dataclass
class Climb:
    """One label, called the start of the climb, and all labels above it.

    A label is identified by its uid, which is unique across versions (`ontology.graph.labeltables.uid`).

    Attributes
    ----------
    labels : dict of uid to label
        The start, then the labels above it, in ascending order of `hops`.
    hops : dict of uid to int
        Fewest edges from the start up to each label.
    up : dict of uid to list of (uid, float)
        For each label with parents, its parents and the lengths of the edges to them.
    """

    labels: dict[str, Label] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)
    up: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    @property
    def is_chain(self) -> bool:
        """Whether each label of the climb has at most one parent."""
        return all(len(parents) == 1 for parents in self.up.values())


def climb(uid: str, label: Label, parents_of: ParentsOf) -> Climb:
    """Return `label`, whose identifier is `uid`, and all labels above it.

    The labels are found level by level, beginning with `label`. For each level, `parents_of` is called once,
    with the identifiers of those labels of this level that no earlier level contains.
    """
    found = Climb({uid: label}, {uid: 0})
    level = [uid]
    while level:
        above: list[str] = []
        for edge in parents_of(level):
            row = dict(edge)
            below, parent, weight = row.pop("below"), row.pop("uid"), float(row.pop("weight"))
            found.up.setdefault(below, []).append((parent, weight))
            if parent not in found.labels:
                found.labels[parent], found.hops[parent] = row, found.hops[below] + 1
                above.append(parent)
        level = above
    return found


def lowest_common(one: Climb, other: Climb) -> list[Label]:
    """Return the labels common to both climbs, without those that are above another common label."""
    common = one.labels.keys() & other.labels.keys()
    higher = {parent for uid in common for parent, _ in one.up.get(uid, ())}
    return [one.labels[uid] for uid in common - higher]


def tree_path(start: Climb, end: Climb) -> list[Label]:
    """Return the labels on the path from the start of one climb to the start of another.

    Both climbs must be chains: each of their labels has at most one parent. Each label gets one more
    property: ``distance``, its distance from the beginning of the path. The path is empty if the climbs have
    no common label.
    """
    meeting = next((uid for uid in start.labels if uid in end.labels), None)
    if meeting is None:
        return []
    rising, falling = ([*c.labels][: c.hops[meeting]] for c in (start, end))
    lengths = [start.up[uid][0][1] for uid in rising] + [end.up[uid][0][1] for uid in reversed(falling)]
    path = [start.labels[uid] for uid in (*rising, meeting)] + [end.labels[uid] for uid in reversed(falling)]
    distance, steps = 0.0, [path[0] | {"distance": 0.0}]
    for label, length in zip(path[1:], lengths, strict=True):
        distance += length
        steps.append(label | {"distance": distance})
    return steps
