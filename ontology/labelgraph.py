"""LabelGraph: immutable labels and weighted edges in canonical order, named by the digest of their content.

In directed graphs, canonical order is a preorder over primary parents; children are sorted by key. In
undirected graphs, it is the order of a breadth-first search from the smallest key of each component;
neighbors are sorted by key. Grids are in row-major order. The primary parent of a label is its parent with
the smallest (rank, key). Keys compare as UTF-8 bytes. Neither the canonical order nor the digest depends on
the order or the encoding of the input, or on repeated edges.
"""

from __future__ import annotations

import hashlib
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.canonical import (
    breadth_first,
    check_keys,
    check_weights,
    column,
    deduplicate,
    preorder,
    sorted_unique,
)
from labelgrove.ontology.components import connected
from labelgrove.ontology.errors import ArtifactError, InputError, counted
from labelgrove.ontology.keys import Keys, Texts
from labelgrove.ontology.snapshotchecks import SnapshotChecker

if TYPE_CHECKING:
    import networkx

__all__ = ["FORMAT_TAG", "MAX_COMPLETE", "LabelGraph"]

FORMAT_TAG = "labelgrove/labelgraph/1"
"""Name of the format of digests and snapshots.

The number at its end is increased when a rule that affects the digest changes; stored versions keep their
digest.
"""

MAX_COMPLETE = 4000
"""Number of labels in the largest complete graph that `LabelGraph.complete` builds."""


class LabelGraph:
    """Labels and weighted edges, immutable, in canonical order.

    Build one with `from_edges`, `from_networkx`, `grid` or `complete`. The constructor is meant for
    snapshots: its arrays must already be as described under Attributes, and are not checked.

    Attributes
    ----------
    keys : Keys, length n_labels
        Label keys in canonical order; use ``keys[i]`` and ``keys.index(key)``.
    names : Texts, length n_labels
        Display names; if a label was not given a name, its key serves as the name.
    directed : bool
        Whether the edges point from child to parent; such edges do not form a cycle. If False, `edge_child`
        is the smaller index of the two ends of each edge.
    layout : str
        ``"hierarchy"``, ``"undirected"``, ``"grid:9,9"`` or ``"complete"``.
    edge_child, edge_parent : ndarray of shape (n_edges,), dtype=int32
        Ends of each edge, sorted by (child, rank, parent).
    edge_weight : ndarray of shape (n_edges,), dtype=float64
        Positive lengths.
    edge_rank : ndarray of shape (n_edges,), dtype=int32
        Rank of each edge: the place of its parent in the order that the source format gives to the parents of
        one label; 0 by default.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> list(graph.keys), graph.leaves, graph.roots, graph.is_tree
    (['plant', 'tree', 'elm', 'oak'], ('elm', 'oak'), ('plant',), True)
    """

    def __init__(
        self,
        keys: Keys,
        names: Texts,
        edge_child: NDArray[np.int32],
        edge_parent: NDArray[np.int32],
        edge_weight: NDArray[np.float64],
        edge_rank: NDArray[np.int32],
        *,
        directed: bool,
        layout: str,
        digest: str | None = None,
    ) -> None:
        self.keys = keys
        self.names = names
        self.edge_child = _frozen(edge_child)
        self.edge_parent = _frozen(edge_parent)
        self.edge_weight = _frozen(edge_weight)
        self.edge_rank = _frozen(edge_rank)
        self.directed = directed
        self.layout = layout
        if digest is not None:
            self.__dict__["digest"] = digest

    # ---- constructors ------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        pairs: Iterable[tuple[str, str]],
        *,
        weights: Iterable[float] | None = None,
        names: Mapping[str, str] | None = None,
        ranks: Iterable[int] | None = None,
        directed: bool = True,
        labels: Iterable[str] = (),
    ) -> LabelGraph:
        """Build a graph from (child, parent) pairs.

        Parameters
        ----------
        pairs : iterable of (str, str)
            Child and parent of each edge; its two ends if `directed` is False. Repeated pairs count once.
        weights : iterable of float, optional
            Length of each edge; 1 by default. Each must be within 1e-75..1e75 and their sum at most 1e78, so
            that squared distances keep full precision.
        names : mapping of key to name, optional
            Names of some or all labels.
        ranks : iterable of int, optional
            Rank of each edge; 0 by default. Of the parents of a label, the one with the smallest
            (rank, parent key) is the primary parent.
        directed : bool, default=True
            Whether edges point from child to parent.
        labels : iterable of str, optional
            Further labels, needed only for labels without an edge.

        Raises
        ------
        InputError
            For an empty graph, a self-loop, a cycle (the message shows it), a bad key, weight or rank, a pair
            with two weights, or a name given to an unknown label.

        Notes
        -----
        O(m log m) time, where m is ``n_labels + n_edges``. If the result is connected, it meets all
        requirements of `GraphSpace`, and of the metric space that `ontology.geometry.metric_space` builds by
        default. Callers need not check these requirements again.
        """
        pair_list = pairs if isinstance(pairs, list) else list(pairs)
        n_pairs = len(pair_list)
        try:
            ends = list(itertools.chain.from_iterable(pair_list))
        except TypeError:
            raise InputError("pairs: every entry must be a (child, parent) pair of strings") from None
        if len(ends) != 2 * n_pairs:
            bad = next(p for p in pair_list if len(p) != 2)
            raise InputError(
                f"pairs: {bad!r} has {counted(len(bad), 'entry', 'entries')}; give (child, parent)"
            )
        ordered = sorted_unique(ends, labels)
        if not ordered:
            raise InputError("pairs and labels are empty; a label graph needs at least one label")
        position = {k: i for i, k in enumerate(ordered)}  # position by key: the order of UTF-8 bytes
        flat = np.fromiter(map(position.__getitem__, ends), dtype=np.int32, count=2 * n_pairs)
        return cls._numbered(ordered, flat[0::2].copy(), flat[1::2].copy(), weights, names, ranks, directed)

    @classmethod
    def from_numbered(
        cls,
        keys: list[str],
        child: NDArray[np.integer],
        parent: NDArray[np.integer],
        *,
        weights: Iterable[float] | None = None,
        names: Mapping[str, str] | None = None,
        ranks: Iterable[int] | None = None,
        directed: bool = True,
    ) -> LabelGraph:
        """Build the graph that `from_edges` builds, from sorted keys and edges between their positions.

        Parameters
        ----------
        keys : list of str
            The keys of all labels, each once, in ascending order.
        child, parent : ndarray of shape (n_pairs,), dtype=int
            Positions in `keys` of the ends of each edge.
        weights, names, ranks, directed
            As for `from_edges`.

        Raises
        ------
        InputError
            If `keys` is not sorted, if an edge ends outside it, and for everything that `from_edges` refuses.

        Examples
        --------
        >>> graph = LabelGraph.from_numbered(["elm", "oak", "tree"], np.array([0, 1]), np.array([2, 2]))
        >>> graph == LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
        True
        """
        if not keys:
            raise InputError("keys is empty; a label graph needs at least one label")
        check_keys(keys)
        if not all(map(operator.lt, keys, itertools.islice(keys, 1, None))):
            before, key = next(pair for pair in itertools.pairwise(keys) if pair[0] >= pair[1])
            raise InputError(f"keys: {key!r} after {before!r}; give each key once, in ascending order")
        for name, ends in (("child", child), ("parent", parent)):
            outside = np.flatnonzero((ends < 0) | (ends >= len(keys)))
            if len(outside):
                raise InputError(
                    f"{name}: {int(ends[outside[0]])} at pair {int(outside[0])} is outside "
                    f"0..{len(keys) - 1}; give positions in keys"
                )
        if len(child) != len(parent):
            raise InputError(f"parent: {len(parent)} entries for {len(child)} children; give one for each")
        return cls._numbered(
            keys, child.astype(np.int32), parent.astype(np.int32), weights, names, ranks, directed
        )

    @classmethod
    def _numbered(
        cls,
        ordered: list[str],
        child: NDArray[np.int32],
        parent: NDArray[np.int32],
        weights: Iterable[float] | None,
        names: Mapping[str, str] | None,
        ranks: Iterable[int] | None,
        directed: bool,
    ) -> LabelGraph:
        """Build a graph from edges whose ends are positions in `ordered`, the keys in byte order."""
        weight = column("weights", weights, len(child), 1.0, np.float64)
        rank = column("ranks", ranks, len(child), 0, np.int32)
        check_weights(weight, lambda i: (ordered[int(child[i])], ordered[int(parent[i])]))
        loops = np.flatnonzero(child == parent)
        if len(loops):
            raise InputError(
                f"pairs: {ordered[int(child[loops[0]])]!r} is its own parent; remove the self-loop"
            )
        if not directed:
            child, parent = np.minimum(child, parent), np.maximum(child, parent)
        child, parent, weight, rank = deduplicate(child, parent, weight, rank, ordered)
        order = (
            preorder(len(ordered), child, parent, rank, ordered)
            if directed
            else breadth_first(len(ordered), child, parent)
        )
        return cls._assemble(
            ordered,
            order,
            child,
            parent,
            weight,
            rank,
            names,
            directed,
            "hierarchy" if directed else "undirected",
        )

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], *, weight: str | None = "weight") -> LabelGraph:
        """Build a label graph from a networkx graph; arcs of a `DiGraph` must point from child to parent.

        The node attribute ``name`` becomes the name of the label, and the edge attribute ``rank`` becomes the
        rank of the edge. `weight` is the name of the edge attribute that gives the lengths; if None, all
        lengths are 1. Nodes that are not strings are refused, because the caller has to choose their text.
        """
        for node in graph.nodes:
            if not isinstance(node, str):
                raise InputError(
                    f"node {node!r} is of type {type(node).__name__}; relabel nodes to strings first"
                )
        data = list(graph.edges(data=True))
        return cls.from_edges(
            [(u, v) for u, v, _ in data],
            weights=[d.get(weight, 1.0) if weight else 1.0 for _, _, d in data],
            ranks=[d.get("rank", 0) for _, _, d in data],
            names={n: d["name"] for n, d in graph.nodes(data=True) if "name" in d},
            directed=graph.is_directed(),
            labels=list(graph.nodes),
        )

    @classmethod
    def grid(cls, shape: Sequence[int]) -> LabelGraph:
        """Build the grid graph of `shape`; keys are coordinates such as ``"0,3"``, in row-major order.

        >>> list(LabelGraph.grid((2, 2)).keys)
        ['0,0', '0,1', '1,0', '1,1']
        """
        shape = tuple(int(s) for s in shape)
        if not shape or min(shape) < 1:
            raise InputError(f"shape: {shape} must name at least one axis, each of length 1 or more")
        index = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
        low = [index[(slice(None),) * a + (slice(0, -1),)].ravel() for a in range(len(shape))]
        high = [index[(slice(None),) * a + (slice(1, None),)].ravel() for a in range(len(shape))]
        keys = [",".join(map(str, c)) for c in np.ndindex(*shape)]
        return cls._undirected(
            keys, np.concatenate(low), np.concatenate(high), f"grid:{','.join(map(str, shape))}"
        )

    @classmethod
    def complete(cls, n: int) -> LabelGraph:
        """Build the complete graph on `n` labels with keys ``"0"`` to ``"n-1"`` and unit edges.

        For more than 4,000 labels the edges would take too much memory: use
        `ontology.geometry.CompleteSpace`, which does not store edges.
        """
        if not 1 <= n <= MAX_COMPLETE:
            raise InputError(f"n: {n} is outside 1..{MAX_COMPLETE}; for more labels use CompleteSpace(keys)")
        low, high = np.triu_indices(n, 1)
        return cls._undirected([str(i) for i in range(n)], low, high, "complete")

    @classmethod
    def _undirected(cls, keys: list[str], low: NDArray[Any], high: NDArray[Any], layout: str) -> LabelGraph:
        order = np.lexsort((high, low))
        low, high = low[order].astype(np.int32), high[order].astype(np.int32)
        table = Keys.from_strings(keys)
        return cls(
            table,
            table,
            low,
            high,
            np.ones(len(low)),
            np.zeros(len(low), dtype=np.int32),
            directed=False,
            layout=layout,
        )

    @classmethod
    def _assemble(
        cls,
        ordered: list[str],
        order: NDArray[np.int32],
        child: NDArray[np.int32],
        parent: NDArray[np.int32],
        weight: NDArray[np.float64],
        rank: NDArray[np.int32],
        names: Mapping[str, str] | None,
        directed: bool,
        layout: str,
    ) -> LabelGraph:
        """Build a graph from edges whose ends are positions in `ordered`, and put it in canonical order.

        `ordered` contains the keys in byte order. `order` contains the same positions, sorted by the
        canonical order of their labels.
        """
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        child, parent = place[child], place[parent]
        if not directed:
            child, parent = np.minimum(child, parent), np.maximum(child, parent)
        by = np.argsort(child * np.int64(len(order)) + parent)  # each pair of labels occurs once
        by = by[np.lexsort((rank[by], child[by]))]
        table = Texts.from_strings(ordered).subset(order)
        keys = Keys(table.blob, table.offsets, place)
        if names:
            n_given = sum(map(names.__contains__, ordered))
            if n_given < len(names):
                stray = names.keys() - set(ordered)
                raise InputError(
                    f"names: {sorted(stray)[:5]!r} are not keys of this graph; give names only to its labels"
                )
            table = Texts.from_strings(map(names.get, ordered, ordered)).subset(order)
        else:
            table = keys
        return cls(keys, table, child[by], parent[by], weight[by], rank[by], directed=directed, layout=layout)

    # ---- content -----------------------------------------------------------------------------------

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.keys)

    @property
    def n_edges(self) -> int:
        """Number of distinct edges."""
        return len(self.edge_child)

    @cached_property
    def digest(self) -> str:
        """Return the sha256 over format tag and layout, and over keys, names and edges in canonical order."""
        h = hashlib.sha256(f"{FORMAT_TAG}\n{self.layout}\n{self.n_labels} {self.n_edges}\n".encode())
        tables = (self.keys, self.names)
        arrays = [a for t in tables for a in (t.offsets.astype("<i8"), t.blob)]
        arrays += [self.edge_child.astype("<i4"), self.edge_parent.astype("<i4")]
        arrays += [self.edge_weight.astype("<f8"), self.edge_rank.astype("<i4")]
        for array in arrays:
            h.update(np.ascontiguousarray(array).data)
        return h.hexdigest()

    @cached_property
    def primary_edge(self) -> NDArray[np.int64]:
        """Index of the edge from each label to its primary parent, -1 for roots; shape (n_labels,)."""
        if not self.directed:
            raise InputError("this graph is undirected and has no parents; build it with directed=True")
        first, child = np.full(self.n_labels, -1, dtype=np.int64), self.edge_child
        first[child] = np.arange(self.n_edges)
        several = np.flatnonzero(np.bincount(child)[child] > 1)  # the edges of labels with several parents
        if len(several):
            place = self._key_position[self.edge_parent[several]]
            order = self.edge_rank[several] * np.int64(self.n_labels) + place  # sorts by (rank, key)
            begin = np.flatnonzero(np.diff(child[several], prepend=-1))  # edges of a label are neighbors
            least = np.repeat(np.minimum.reduceat(order, begin), np.diff(begin, append=len(order)))
            primary = several[order == least]
            first[child[primary]] = primary
        return _frozen(first)

    @cached_property
    def primary_parent(self) -> NDArray[np.int32]:
        """Index of each label's primary parent, -1 for roots; shape (n_labels,)."""
        if not self.n_edges:
            return _frozen(np.full(self.n_labels, -1, dtype=np.int32))
        edge = self.primary_edge
        return _frozen(np.where(edge < 0, -1, self.edge_parent[edge]).astype(np.int32))

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Number of primary edges from each label up to its root; shape (n_labels,)."""
        depth = [0] * self.n_labels
        for i, p in enumerate(self.primary_parent.tolist()):  # preorder: parents come first
            if p >= 0:
                depth[i] = depth[p] + 1
        return _frozen(np.array(depth, dtype=np.int32))

    @cached_property
    def leaf_mask(self) -> NDArray[np.bool_]:
        """For each label, whether it has no child (undirected: degree one or less); shape (n_labels,)."""
        mask = np.ones(self.n_labels, dtype=bool)
        if self.directed:
            mask[self.edge_parent] = False
        else:
            ends = np.concatenate([self.edge_child, self.edge_parent])
            mask = np.bincount(ends, minlength=self.n_labels) <= 1
        return _frozen(mask)

    @property
    def leaves(self) -> tuple[str, ...]:
        """Keys of the childless labels (undirected graphs: of degree one or less), in canonical order."""
        return self.keys.take(np.flatnonzero(self.leaf_mask))

    @property
    def roots(self) -> tuple[str, ...]:
        """Keys of the labels without a parent (directed graphs), in canonical order."""
        return self.keys.take(np.flatnonzero(self.primary_parent < 0))

    @cached_property
    def is_tree(self) -> bool:
        """Whether the graph is connected and has one edge fewer than labels."""
        return self.n_edges == self.n_labels - 1 and self.n_components == 1

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """For each label, the index (from 0) of the connected component that contains it; shape (n_labels,).

        Directions of edges are ignored.
        """
        return _frozen(connected(self.n_labels, self.edge_child, self.edge_parent))

    @property
    def n_components(self) -> int:
        """Number of connected components, ignoring the directions of edges."""
        return int(self.components.max()) + 1

    @property
    def is_weighted(self) -> bool:
        """Whether any edge has a length other than 1."""
        return bool((self.edge_weight != 1.0).any())

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of a grid, None for any other graph."""
        kind, _, rest = self.layout.partition(":")
        return tuple(map(int, rest.split(","))) if kind == "grid" else None

    def descendants(self, key: str) -> tuple[str, ...]:
        """Return `key` and the keys of all labels below it, in canonical order; O(n_edges).

        All edges are followed, not only those to primary parents.
        """
        if not self.directed:
            raise InputError("descendants: this graph is undirected; build it with directed=True")
        start = self.keys.index(key)
        order = np.argsort(self.edge_parent, kind="stable")
        begin = np.searchsorted(self.edge_parent[order], np.arange(self.n_labels + 1))
        inside = np.zeros(self.n_labels, dtype=bool)
        inside[start] = True
        frontier = [start]
        while frontier:
            v = frontier.pop()
            for c in self.edge_child[order[begin[v] : begin[v + 1]]].tolist():
                if not inside[c]:
                    inside[c] = True
                    frontier.append(c)
        return self.keys.take(np.flatnonzero(inside))

    def subgraph(self, keys: Iterable[str]) -> LabelGraph:
        """Return the graph on `keys` with all edges between them; names, weights and ranks are kept."""
        index = np.unique(self.keys.indices(keys, lambda: self.names))
        mask = np.zeros(self.n_labels, dtype=bool)
        mask[index] = True
        edges = np.flatnonzero(mask[self.edge_child] & mask[self.edge_parent])
        kept = self.keys.take(index)
        return LabelGraph.from_edges(
            list(
                zip(
                    self.keys.take(self.edge_child[edges]),
                    self.keys.take(self.edge_parent[edges]),
                    strict=True,
                )
            ),
            weights=self.edge_weight[edges],
            ranks=self.edge_rank[edges],
            names=dict(zip(kept, self.names.take(index), strict=True)),
            directed=self.directed,
            labels=kept,
        )

    def edges(self) -> Iterator[tuple[str, str, float, int]]:
        """Yield (child key, parent key, weight, rank) of each edge, in the order of the edge arrays."""
        keys = list(self.keys)
        columns = (self.edge_child, self.edge_parent, self.edge_weight, self.edge_rank)
        for c, p, w, r in zip(*(a.tolist() for a in columns), strict=True):
            yield keys[c], keys[p], w, r

    # ---- snapshot ----------------------------------------------------------------------------------

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the named arrays and the metadata of a snapshot (docs/artifact-format.md)."""
        arrays: dict[str, NDArray[Any]] = {
            "keys.blob": self.keys.blob,
            "keys.offsets": self.keys.offsets,
            "keys.order": self.keys.order,
            "edges.child": self.edge_child,
            "edges.parent": self.edge_parent,
            "edges.weight": self.edge_weight,
            "edges.rank": self.edge_rank,
        }
        if self.names != self.keys:
            arrays |= {"names.blob": self.names.blob, "names.offsets": self.names.offsets}
        return arrays, {"format": FORMAT_TAG, "layout": self.layout, "digest": self.digest}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> LabelGraph:
        """Open a snapshot made by `to_arrays`; the arrays are not copied, so they may be memory maps.

        Raises
        ------
        ArtifactError
            If the metadata name a format other than `FORMAT_TAG`, or the arrays are not a label graph.

        Notes
        -----
        Two things are not checked: whether the edges form a cycle, and whether the digest fits the arrays.
        Instead, callers that read the bytes of a snapshot check their sha256.
        """
        if metadata.get("format") != FORMAT_TAG:
            raise ArtifactError(
                f"snapshot format is {metadata.get('format')!r}, this version reads {FORMAT_TAG!r}; "
                "open it with the labelgrove that wrote it, or ingest the source again"
            )
        given = SnapshotChecker(arrays, metadata)
        keys = given.keys()
        directed = metadata.get("layout") == "hierarchy"
        edges = given.edges(len(keys), directed=directed)
        layout = given.layout(len(keys), len(edges[0]))
        return cls(keys, given.names(keys), *edges, directed=directed, layout=layout, digest=given.digest())

    @cached_property
    def _key_position(self) -> NDArray[np.int32]:
        """Position of each label when keys are sorted by their bytes; the inverse of ``keys.order``."""
        position = np.empty(self.n_labels, dtype=np.int32)
        position[self.keys.order] = np.arange(self.n_labels, dtype=np.int32)
        return position

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, LabelGraph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __len__(self) -> int:
        return self.n_labels

    def __repr__(self) -> str:
        sizes = f"n_labels={self.n_labels}, n_edges={self.n_edges}"
        return f"LabelGraph({self.layout}, {sizes}, digest={self.digest[:12]})"


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
