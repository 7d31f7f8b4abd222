"""Answers about the labels of a version as plain documents: the same for the command line and for programs.

A list of labels is a dictionary with ``version`` (the digest), ``items``, ``total`` and ``next``, the cursor
of the next page or None. Each item has ``idx``, ``key``, ``name``, ``depth`` and ``leaf``, and what the
question adds. In an undirected graph, ``depth`` is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.namerows import KINDS
from labelgrove.ontology.browse.outline import Outline
from labelgrove.ontology.browse.pages import cut
from labelgrove.ontology.browse.search import Found

__all__ = ["Answers", "Document"]

Document = dict[str, Any]


class Answers:
    """Answers questions about the labels of one version; labels are given as indices.

    Parameters
    ----------
    index : LabelIndex
    definition : callable, optional
        Returns the definition of a label, given its index; an empty text if it has none.

    Examples
    --------
    >>> index = LabelIndex.of(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    >>> [item["key"] for item in Answers(index).children(0)["items"]]
    ['elm', 'oak']
    """

    def __init__(self, index: LabelIndex, definition: Callable[[int], str] = lambda _: "") -> None:
        self.index, self._definition = index, definition
        self._graph, self._walk = index.graph, index.walk

    def item(self, label: int, **more: Any) -> Document:
        """Return the document of one label, with further entries."""
        leaf = (
            not len(self.index.adjacency.edges_down(label))
            if self._graph.directed
            else bool(self._graph.leaf_mask[label])
        )
        return {
            "idx": label,
            "key": self._graph.keys[label],
            "name": self._graph.names[label],
            "depth": int(self.index.order.depth[label]) if self._graph.directed else None,
            "leaf": leaf,
            **more,
        }

    # ---- one label ---------------------------------------------------------------------------------

    def show(self, label: int) -> Document:
        """Return everything about one label.

        Beside the entries of an item: ``version``; ``definition``, None if it has none; ``names`` beside key
        and preferred name, each with ``text``, ``kind``, ``language`` and ``use``; ``parents``, the primary
        one first, with ``weight`` and ``rank``; ``path``, the labels from the root down along primary
        parents; ``n_children``, ``n_siblings`` and ``n_below``.
        """
        found = {"version": self._graph.digest} | self.item(
            label, definition=self._definition(label) or None, names=self._other_names(label)
        )
        if not self._graph.directed:
            return found
        up, primary = self.index.adjacency.edges_up(label), int(self.index.order.parent[label])
        edges = sorted(range(up.start, up.stop), key=lambda edge: self._graph.edge_parent[edge] != primary)
        parents = [self._at_edge(int(self._graph.edge_parent[edge]), edge) for edge in edges]
        return found | {
            "parents": parents,
            "path": [self.item(i) for i in self.index.order.chain(label)[::-1]],
            "n_children": len(self.index.adjacency.edges_down(label)),
            "n_siblings": len(self._walk.siblings(label)),
            "n_below": len(self._walk.descendants(label)),
        }

    def _other_names(self, label: int) -> list[Document]:
        names = self.index.names
        rows = np.flatnonzero((names.label == label) & (names.text >= 0))
        rows = rows[np.argsort(names.place[rows])]
        return [
            {
                "text": names.texts[int(names.text[row])],
                "kind": KINDS[int(names.kind[row])],
                "language": names.languages[int(names.language[row])] or None,
                "use": int(names.use[row]),
            }
            for row in rows.tolist()
        ]

    # ---- lists -------------------------------------------------------------------------------------

    def search(self, text: str, **options: Any) -> Document:
        """Return the labels that `text` finds, as `ontology.browse.search.Search.find` with its options.

        Each item has ``match``, and ``matched`` with the ``text``, ``kind`` and ``language`` of the name that
        matched. ``facets`` has ``leaves``, ``depths`` and ``branches``, each branch an item with ``count``;
        it is left out unless requested.
        """
        found: Found = self.index.search.find(text, **options)
        items = [
            self.item(
                hit.label,
                match=hit.match,
                matched={"text": hit.text, "kind": hit.kind, "language": hit.language or None},
            )
            for hit in found.items
        ]
        document = self._listed(items, found.total, found.next)
        if found.facets is not None:
            document["facets"] = {
                "leaves": found.facets.leaves,
                "depths": {str(depth): n for depth, n in found.facets.depths.items()},
                "branches": [self.item(label, count=n) for label, n in found.facets.branches],
            }
        return document

    def children(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return the children of a label, each with ``weight`` and ``rank`` of its edge."""
        self._walk.children(label)  # refuses an undirected graph
        edges = self.index.adjacency.edges_down(label)
        page = cut(
            cast("Sequence[int]", edges), (self._graph.digest, "children", label), limit=limit, after=after
        )
        items = [self._at_edge(int(self._graph.edge_child[edge]), edge) for edge in page.items]
        return self._listed(items, page.total, page.next)

    def siblings(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return the other children of all parents of a label; of a root, the other roots."""
        return self._cut(self._walk.siblings(label), "siblings", label, limit, after)

    def descendants(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return all labels below a label."""
        return self._cut(self._walk.descendants(label), "descendants", label, limit, after)

    def ancestors(self, label: int) -> Document:
        """Return all labels above a label, each with ``hops``, the fewest edges up to it."""
        labels, hops = self._walk.ancestors(label)
        return self._whole(
            [self.item(i, hops=h) for i, h in zip(labels.tolist(), hops.tolist(), strict=True)]
        )

    def path(self, a: int, b: int) -> Document:
        """Return the labels on a shortest path, each with ``distance``, the length of the path up to it."""
        return self._whole([self.item(label, distance=distance) for label, distance in self._walk.path(a, b)])

    def lowest_common_ancestors(self, a: int, b: int) -> Document:
        """Return the common ancestors of two labels that are not above another common ancestor."""
        return self._whole([self.item(label) for label in self._walk.lowest_common_ancestors(a, b)])

    # ---- trees -------------------------------------------------------------------------------------

    def trees(self, labels: Sequence[int], *, levels: int, most: int) -> list[Document]:
        """Return labels with the labels below them, down to some levels.

        Parameters
        ----------
        labels : sequence of int
            The label at the top of each tree; none is below another.
        levels : int
            Levels below them.
        most : int
            Most children of one label.

        Returns
        -------
        list of dict
            Items with ``n_children``, ``children`` (a list of the same kind of documents) and ``more``, the
            number of children that are left out. A label with several parents is below each of them, but its
            children are listed only below one, as `ontology.browse.outline.Outline` says. Below the others it
            has ``below``, the item of that one.
        """
        outline = Outline.of(self._walk, labels, levels=levels, most=most)
        return [self._tree(label, outline) for label in labels]

    def _tree(self, label: int, outline: Outline) -> Document:
        n_children = len(self._walk.children(label))
        children = outline.children.get(label)
        if children is None:  # below the last level
            return self.item(label, n_children=n_children, children=[], more=0)
        listed = [
            self._tree(child, outline)
            if outline.opened_below[child] == label
            else self.item(child, below=self.item(outline.opened_below[child]))
            | {"n_children": len(self._walk.children(child)), "children": [], "more": 0}
            for child in children
        ]
        return self.item(label, n_children=n_children, children=listed, more=n_children - len(children))

    # ---- building blocks ---------------------------------------------------------------------------

    def _at_edge(self, label: int, edge: int) -> Document:
        graph = self._graph
        return self.item(label, weight=float(graph.edge_weight[edge]), rank=int(graph.edge_rank[edge]))

    def _cut(
        self, labels: NDArray[np.int32], question: str, label: int, limit: int, after: str | None
    ) -> Document:
        page = cut(
            cast("Sequence[int]", labels), (self._graph.digest, question, label), limit=limit, after=after
        )
        return self._listed([self.item(int(i)) for i in page.items], page.total, page.next)

    def _whole(self, items: Sequence[Document]) -> Document:
        return self._listed(items, len(items), None)

    def _listed(self, items: Sequence[Document], total: int, next_: str | None) -> Document:
        return {"version": self._graph.digest, "items": list(items), "total": total, "next": next_}
