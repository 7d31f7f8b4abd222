"""Find the labels above a label of a hierarchy, level by level.

The work grows with the number of labels above, not with the ontology: a tree of millions of labels has a few
dozen levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Climb", "climb", "lowest_common", "tree_path"]

Label = dict[str, Any]
"""``idx, key, name, depth, leaf``."""

ParentsOf = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
"""Returns the edges from labels to their parents: ends ``below`` and ``uid``, ``weight``, and the parent."""


@dataclass
class Climb:
    """A label and all labels above it by uid, nearest (fewest edges) first.

    Attributes
    ----------
    labels : dict of uid to label
        The labels; the climb begins at the first one.
    hops : dict of uid to int
        Fewest edges up to each label.
    up : dict of uid to list of (uid, float)
        Parents of each label that has any, with the lengths of the edges.
    """

    labels: dict[str, Label] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)
    up: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    @property
    def is_chain(self) -> bool:
        """Whether each label of the climb has at most one parent."""
        return all(len(parents) == 1 for parents in self.up.values())


def climb(uid: str, label: Label, parents_of: ParentsOf) -> Climb:
    """Return `label` and all labels above it; takes one call of `parents_of` for each level."""
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
    """Return the labels in both climbs that are not above another label in both climbs."""
    common = one.labels.keys() & other.labels.keys()
    higher = {parent for uid in common for parent, _ in one.up.get(uid, ())}
    return [one.labels[uid] for uid in common - higher]


def tree_path(start: Climb, end: Climb) -> list[Label]:
    """Return the path between the first labels of two climbs that are chains; ``distance`` is from the start.

    Empty if no label is above both.
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
