"""List what there is to export: each label with its edges and annotations, and then each retired key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from labelgrove.ontology.annotations import Annotations, Description
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["Content", "Edge", "Subject"]


class Edge(NamedTuple):
    """An edge from a label to one of its parents; without direction, to a label later in canonical order."""

    parent: str
    weight: float
    rank: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A label or retired key, with everything that is known about it.

    Attributes
    ----------
    key : str
    name : str
        The name that the graph has; empty for a retired key.
    edges : tuple of Edge
        In the order of the graph: by rank, then by parent.
    described : Description
        The annotations.
    retired : bool
        Whether the key is retired, so that it is not a label.
    """

    key: str
    name: str
    edges: tuple[Edge, ...]
    described: Description
    retired: bool = False


def _whole(subject: Subject) -> Subject:
    """Return `subject`: the format can hold all of it."""
    return subject


@dataclass(frozen=True)
class Content:
    """What an export writes; it can be iterated any number of times, and holds one subject at a time.

    Attributes
    ----------
    name : str
        Name of the ontology.
    graph : LabelGraph
    annotations : Annotations or None
        Those of the graph; None if there are none.
    fit : callable
        Takes a subject; returns what the format can hold of it, None for nothing at all.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree")])
    >>> [(subject.key, subject.edges) for subject in Content("", graph, None)]
    [('tree', ()), ('oak', (Edge(parent='tree', weight=1.0, rank=0),))]
    """

    name: str
    graph: LabelGraph
    annotations: Annotations | None
    fit: Callable[[Subject], Subject | None] = _whole

    def __iter__(self) -> Iterator[Subject]:
        return (held for subject in self._subjects() if (held := self.fit(subject)) is not None)

    def _subjects(self) -> Iterator[Subject]:
        graph, nothing = self.graph, Description()
        described: Iterator[tuple[str, Description]] = ((key, nothing) for key in graph.keys)
        if self.annotations is not None:
            described = self.annotations.descriptions(graph)
        keys = list(graph.keys)
        columns = (graph.edge_parent, graph.edge_weight, graph.edge_rank)
        parents, weights, ranks = (column.tolist() for column in columns)
        edges = map(Edge, map(keys.__getitem__, parents), weights, ranks)
        n_edges = np.bincount(graph.edge_child, minlength=graph.n_labels).tolist()
        labels = zip(islice(described, graph.n_labels), graph.names, n_edges, strict=True)
        for (key, found), name, number in labels:
            yield Subject(key, name, tuple(islice(edges, number)), found)
        for key, found in described:
            yield Subject(key, "", (), found, retired=True)
