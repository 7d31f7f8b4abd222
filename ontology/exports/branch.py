"""Cut the branch below a label out of a graph, with its annotations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Branch", "branch_below"]


@dataclass(frozen=True)
class Branch:
    """A label and all labels below it.

    Attributes
    ----------
    graph : LabelGraph
        All edges between labels of the branch are kept, so a label may have several parents.
    annotations : Annotations or None
        Those of its labels, and of the retired keys that one of its labels replaces or may replace.
    left_out : tuple of str
        What the branch lacks of its labels, as texts for people: parents outside it.
    """

    graph: LabelGraph
    annotations: Annotations | None
    left_out: tuple[str, ...]


def branch_below(graph: LabelGraph, annotations: Annotations | None, key: str) -> Branch:
    """Return the branch of the label `key`.

    Raises
    ------
    InputError
        For an undirected graph, which has no branches.
    UnknownLabelError
        For a key that is not a label.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("dog", "canine"), ("dog", "pet"), ("canine", "animal")])
    >>> branch = branch_below(graph, None, "canine")
    >>> list(branch.graph.keys), branch.left_out
    (['canine', 'dog'], ("parents outside the branch: 1 (the first at 'dog')",))
    """
    if not graph.directed:
        raise InputError(f"under {key!r}: this graph is undirected and has no branches; export all of it")
    part = graph.subgraph(graph.descendants(key))
    inside = np.zeros(graph.n_labels, dtype=bool)
    inside[graph.keys.indices(part.keys)] = True
    inside_child, inside_parent = inside[graph.edge_child], inside[graph.edge_parent]
    cut = np.flatnonzero(inside_child & ~inside_parent & (graph.edge_child != graph.keys.index(key)))
    left_out: tuple[str, ...] = ()
    if len(cut):
        first = graph.keys[int(graph.edge_child[cut[0]])]
        left_out = (f"parents outside the branch: {len(cut):,} (the first at {first!r:.80})",)
    if annotations is None:
        return Branch(part, None, left_out)
    moved = annotations.moved(graph, part)
    described = {
        gone: found
        for gone, found in moved.descriptions(part)
        if gone in part.keys or any(new in part.keys for new in (*found.replaced_by, *found.consider))
    }
    return Branch(part, Annotations.of(part, described), left_out)
