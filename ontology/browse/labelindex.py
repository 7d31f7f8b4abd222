"""LabelIndex: structure and names of one version, as the arrays of one file that opens in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import Annotations
from labelgrove.ontology.browse.names.nametable import NameTable
from labelgrove.ontology.browse.names.search import Search
from labelgrove.ontology.browse.structure.adjacency import Adjacency
from labelgrove.ontology.browse.structure.order import Order
from labelgrove.ontology.browse.structure.ranges import stored_indices, stored_offsets
from labelgrove.ontology.browse.structure.walk import Walk
from labelgrove.ontology.errors import ArtifactError, InputError
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.store.safetensors_file import stored_array

__all__ = ["INDEX_FORMAT", "LabelIndex"]

INDEX_FORMAT = "labelgrove/labelindex/2"
"""Name of the format of label indexes; its number is increased when the arrays or the folding change."""


class LabelIndex:
    """One version, open for browsing.

    Attributes
    ----------
    graph : LabelGraph
        The snapshot of the version.
    order, adjacency, names : Order, Adjacency, NameTable
        Its preorder, its edges and its names.

    Notes
    -----
    Arrays from a file stay in the memory map; opening it copies nothing. The snapshot and its index belong
    together, and the digest of the version in the file is compared with that of the graph.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> index = LabelIndex.from_arrays(*LabelIndex.to_arrays(graph), graph)
    >>> [graph.keys[hit.label] for hit in index.search.find("E").items], index.order.end.tolist()
    (['elm'], [4, 4, 3, 4])
    """

    def __init__(self, order: Order, adjacency: Adjacency, names: NameTable) -> None:
        self.graph, self.order, self.adjacency, self.names = adjacency.graph, order, adjacency, names

    @cached_property
    def walk(self) -> Walk:
        """Ways through the hierarchy."""
        return Walk(self.order, self.adjacency)

    @cached_property
    def search(self) -> Search:
        """The search of the names."""
        return Search(self.names, self.walk)

    @classmethod
    def of(cls, graph: LabelGraph, annotations: Annotations | None = None) -> Self:
        """Build the index of a graph in memory; `annotations` are those of the same version."""
        return cls.from_arrays(*cls.to_arrays(graph, annotations), graph)

    # ---- file --------------------------------------------------------------------------------------

    @staticmethod
    def to_arrays(
        graph: LabelGraph, annotations: Annotations | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the named arrays and the metadata of the index of a graph (docs/labels.md).

        Equal graphs and annotations give equal arrays.
        """
        order, adjacency = Order.of(graph), Adjacency.of(graph)
        arrays = {
            "order.parent": order.parent,
            "order.depth": order.depth,
            "order.end": order.end,
            "edges.up": adjacency.up,
            "edges.down": adjacency.down,
            "edges.by_parent": adjacency.by_parent,
        }
        return arrays | NameTable.build(graph, order, annotations), {
            "format": INDEX_FORMAT,
            "digest": graph.digest,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str], graph: LabelGraph
    ) -> Self:
        """Open an index made by `to_arrays` for the version `graph`.

        Raises
        ------
        ArtifactError
            For another format or version, and for arrays that are missing, of a wrong type or length, or
            that lead outside the graph.
        """
        if metadata.get("format") != INDEX_FORMAT or metadata.get("digest") != graph.digest:
            raise ArtifactError(
                f"label index: format is {metadata.get('format')!r} and version is "
                f"{metadata.get('digest')!r}, expected {INDEX_FORMAT!r} and {graph.digest!r}; "
                "build the index again"
            )
        try:
            return cls(
                _order(arrays, graph.n_labels), _adjacency(arrays, graph), NameTable(arrays, graph.n_labels)
            )
        except InputError as error:
            raise ArtifactError(f"label index: {error}; build the index again") from None


def _order(arrays: Mapping[str, NDArray[Any]], n: int) -> Order:
    parent, depth, end = (
        stored_array(arrays, f"order.{name}", np.int32, (n,)) for name in ("parent", "depth", "end")
    )
    labels = np.arange(n)
    if not ((parent >= -1) & (parent < labels)).all():
        raise InputError("order.parent: a parent does not come before its child")
    if not ((depth == 0) == (parent < 0)).all() or not (depth >= 0).all():
        raise InputError("order.depth: only roots have depth 0")
    if not ((end > labels) & (end <= n)).all():
        raise InputError(f"order.end: a branch ends before it begins, or after {n}")
    return Order(parent, depth, end)


def _adjacency(arrays: Mapping[str, NDArray[Any]], graph: LabelGraph) -> Adjacency:
    n, m = graph.n_labels, graph.n_edges
    up, down = (stored_offsets(arrays, f"edges.{name}", np.int32, n, m) for name in ("up", "down"))
    return Adjacency(graph, up, down, stored_indices(arrays, "edges.by_parent", m, m))
