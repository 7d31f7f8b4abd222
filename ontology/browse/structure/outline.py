"""Which labels a drawn tree contains, and where a label with several parents shows its own children."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from labelgrove.ontology.browse.structure.walk import Walk

__all__ = ["Outline"]


@dataclass(frozen=True)
class Outline:
    """The tops of some drawn trees, and what is drawn below them.

    A label is drawn below each parent whose children are drawn. It shows its own children below only one of
    them, so that nothing is drawn twice: below its primary parent or, if the children of that are not drawn,
    below the next of its parents in the order of their ranks. Every label that is drawn can therefore be seen
    with its children, unless a limit cuts them off.

    Attributes
    ----------
    children : dict of int to list of int
        The children drawn below each label whose children are drawn.
    opened_below : dict of int to int
        For each label that is drawn below another, the parent below which it shows its own children.

    Examples
    --------
    >>> from labelgrove.ontology.browse.structure.adjacency import Adjacency
    >>> from labelgrove.ontology.browse.structure.order import Order
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> graph = LabelGraph.from_edges([("dog", "canine"), ("dog", "pet"), ("puppy", "dog")])
    >>> graph.keys.take([0, 1, 2, 3])
    ('canine', 'dog', 'puppy', 'pet')
    >>> walk = Walk(Order.of(graph), Adjacency.of(graph))
    >>> Outline.of(walk, [0, 3], levels=2, most=20).opened_below
    {1: 0, 2: 1}
    >>> Outline.of(walk, [3], levels=2, most=20).opened_below
    {1: 3, 2: 1}
    """

    children: Mapping[int, Sequence[int]]
    opened_below: Mapping[int, int]

    @classmethod
    def of(cls, walk: Walk, tops: Sequence[int], *, levels: int, most: int) -> Self:
        """Return the outline of the trees of `tops`, none of which is below another.

        Parameters
        ----------
        walk : Walk
        tops : sequence of int
        levels : int
            Levels below the tops.
        most : int
            Most children of one label.

        Notes
        -----
        O(edges from the labels fewer than `levels` edges below the tops), without the children that `most`
        leaves out.
        """
        listed = _listed(walk, tops, levels, most)
        n_waiting = Counter(child for children in listed.values() for child in children)
        level = dict.fromkeys(tops, 0)  # of each label that is drawn, where it shows its children
        shown_by = defaultdict[int, set[int]](set)
        children: dict[int, Sequence[int]] = {}
        opened_below: dict[int, int] = {}
        ready = list(tops)
        while ready:
            label = ready.pop()
            if level.get(label, levels) < levels:
                children[label] = listed[label]
                for child in listed[label]:
                    shown_by[child].add(label)
            for child in listed.get(label, ()):
                n_waiting[child] -= 1
                if n_waiting[child]:
                    continue
                ready.append(child)  # it is known now which of its parents show it
                parent = next((p for p in walk.parents(child).tolist() if p in shown_by[child]), None)
                if parent is not None:
                    opened_below[child], level[child] = parent, level[parent] + 1
        return cls(children, opened_below)


def _listed(walk: Walk, tops: Sequence[int], levels: int, most: int) -> dict[int, list[int]]:
    """Return the first children of all labels that are fewer than `levels` edges below the tops."""
    listed: dict[int, list[int]] = {}
    level = list(tops)
    for _ in range(levels):
        for label in level:
            listed[label] = walk.children(label)[:most].tolist()
        below = dict.fromkeys(child for label in level for child in listed[label])
        level = [child for child in below if child not in listed]
    return listed
