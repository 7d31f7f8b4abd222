"""Answers about the labels of a version as plain documents: the same for the command line and for programs.

A list of labels is a dictionary with ``version`` (the digest), ``items``, ``total`` and ``next``, the cursor
of the next page or None. Each item has ``idx``, ``key``, ``name``, ``depth``, ``leaf`` and ``deprecated``,
and what the question adds. In an undirected graph, ``depth`` is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.annotations import NOTE_KINDS, Annotations, Description
from labelgrove.ontology.browse.labelindex import LabelIndex
from labelgrove.ontology.browse.names.search import Found
from labelgrove.ontology.browse.names.suggestions import did_you_mean
from labelgrove.ontology.browse.pages import cut
from labelgrove.ontology.browse.structure.outline import Outline

__all__ = ["Answers", "Document"]

Document = dict[str, Any]


class Answers:
    """Answers questions about the labels of one version; labels are given as indices.

    Parameters
    ----------
    index : LabelIndex
    annotations : callable, optional
        Returns the annotations of the version, or None; called only by `show` and `retired`.

    Examples
    --------
    >>> index = LabelIndex.of(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
    >>> [item["key"] for item in Answers(index).children(0)["items"]]
    ['elm', 'oak']
    """

    def __init__(
        self, index: LabelIndex, annotations: Callable[[], Annotations | None] = lambda: None
    ) -> None:
        self.index, self._annotations = index, annotations
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
            "deprecated": bool(self.index.names.deprecated[label]),
            **more,
        }

    def row(self, label: int, **more: Any) -> Document:
        """Return the document of one label in a drawn tree, with further entries.

        Beside the entries of an item: ``n_parents``, and ``n_below``, the labels below it along primary
        parents.
        """
        counts = {
            "n_parents": len(self.index.adjacency.parents(label)),
            "n_below": int(self.index.order.end[label]) - label - 1,
        }
        return self.item(label) | counts | more

    # ---- one label ---------------------------------------------------------------------------------

    def show(self, label: int) -> Document:
        """Return everything about one label.

        Beside the entries of an item: ``version``; ``definition``; ``line`` of the source; ``names`` beside
        key and name, each with ``text``, ``kind``, ``language`` and ``use``; a list of the notes of each of
        the `ontology.annotations.NOTE_KINDS`, where replacements have ``key`` and ``name``; ``parents``, the
        primary one first, with ``weight`` and ``rank``; ``path``, the labels from the root down along primary
        parents; ``n_children``, ``n_siblings`` and ``n_below``.
        """
        annotations = self._annotations()
        description = Description() if annotations is None else annotations.describe(label)
        found = {"version": self._graph.digest} | self.item(label)
        found |= self._described(description, self._graph.names[label])
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

    def retired(self, key: str) -> Document | None:
        """Return what is known about a key that the source retired, or None if `key` is not such a key.

        The document has ``version``, ``key``, and the entries about annotations of `show`.
        """
        annotations = self._annotations()
        place = -1 if annotations is None else annotations.retired.find(key)
        if annotations is None or place < 0:
            return None
        description = annotations.describe(annotations.n_labels + place)
        return {"version": self._graph.digest, "key": key} | self._described(description)

    def _described(self, description: Description, name: str | None = None) -> Document:
        """Return annotations as entries of a document; `name` is the name that is shown anyway."""
        names = [one for one in description.names if one.kind != "preferred" or one.text != name]
        document: Document = {
            "definition": description.definition or None,
            "line": description.line or None,
            "names": [asdict(one) | {"language": one.language or None} for one in names],
        }
        document |= {kind: list(getattr(description, kind)) for kind in NOTE_KINDS}
        return document | {kind: [*map(self._named, document[kind])] for kind in ("replaced_by", "consider")}

    def _named(self, key: str) -> Document:
        label = self._graph.keys.find(key)
        return {"key": key, "name": self._graph.names[label] if label >= 0 else None}

    # ---- lists -------------------------------------------------------------------------------------

    def search(self, text: str, **options: Any) -> Document:
        """Return the labels found by `text`; options as in `ontology.browse.names.search.Search.find`.

        Each item has ``match``, and ``matched`` with the ``text``, ``kind`` and ``language`` of the name that
        matched. ``facets`` has ``leaves``, ``depths``, ``deprecated``, ``languages`` and ``branches``, each
        branch an item with ``count``; it is left out unless requested.
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
                "deprecated": found.facets.deprecated,
                "languages": found.facets.languages,
                "branches": [self.item(label, count=n) for label, n in found.facets.branches],
            }
        return document

    def close_to(self, text: str) -> list[str]:
        """Return names that a misspelled `text` may mean."""
        return did_you_mean(self.index.search, self.index.names, text)

    def children(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return the children of a label, each with ``weight`` and ``rank`` of its edge."""
        self._walk.children(label)  # refuses an undirected graph
        edges, child = self.index.adjacency.edges_down(label), self._graph.edge_child

        def item(edge: int) -> Document:
            return self._at_edge(int(child[edge]), edge)

        return self._cut(edges, "children", label, limit, after, item)

    def siblings(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return the other children of all parents of a label; of a root, the other roots."""
        return self._cut(self._walk.siblings(label), "siblings", label, limit, after, self.item)

    def descendants(self, label: int, *, limit: int = 100, after: str | None = None) -> Document:
        """Return all labels below a label."""
        return self._cut(self._walk.descendants(label), "descendants", label, limit, after, self.item)

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
            children are listed only below one, as `ontology.browse.structure.outline.Outline` says. Below the
            others it has ``below``, the item of that one.
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
        self,
        entries: NDArray[np.int32],
        question: str,
        label: int,
        limit: int,
        after: str | None,
        item: Callable[[int], Document],
    ) -> Document:
        """Return a page of the labels or edges that answer a question about a label."""
        asked = (self._graph.digest, question, label)
        page = cut(cast("Sequence[int]", entries), asked, limit=limit, after=after)
        return self._listed([item(int(i)) for i in page.items], page.total, page.next)

    def _whole(self, items: Sequence[Document]) -> Document:
        return self._listed(items, len(items), None)

    def _listed(self, items: Sequence[Document], total: int, next_: str | None) -> Document:
        return {"version": self._graph.digest, "items": list(items), "total": total, "next": next_}
