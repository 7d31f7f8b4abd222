"""summarize: turn a large label graph into a small graph whose vertices (supernodes) are sets of labels.

There are four methods of choosing the sets. Two are published by the source paper: they repeatedly draw a
vertex and merge its neighbors into it. The method in the text of the paper always merges whole neighborhoods
(``"neighbourhood"``). The method in the code of the paper stops when the target, a number of supernodes, is
reached, possibly in the middle of a neighborhood (``"node"``). On a graph with hubs both methods end with
nearly all labels in one supernode. So there are two other methods: ``"capped"``, in which no supernode
exceeds a cap, and ``"subtree"``, which cuts a hierarchy into subtrees.

`ontology.geometry.summaries.distortion` bounds the error of distances in the small graph.
`ontology.geometry.summaries.expand` goes from labels to supernodes and back.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, MissingExtraError
from labelgrove.ontology.geometry.arguments import index_array, refuse_other_than, whole_number
from labelgrove.ontology.geometry.summaries.distortion import Distortion, path_bounds, supernode_diameters
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["DegenerateSummaryWarning", "Method", "Summary", "merged", "summarize"]

Method = Literal["capped", "neighbourhood", "node", "subtree"]

_METHODS = get_args(Method)
_DEGENERATE_SHARE = 0.5
_CAP_FACTORS = (1.5, 2.0, 4.0)


class DegenerateSummaryWarning(UserWarning):
    """Warns that one supernode contains more than half of all labels, although there are three or more.

    Then distances between supernodes say little about distances between labels, and errors measured on
    supernodes are small even for bad predictions.
    """


@dataclass(frozen=True, eq=False)
class Summary:
    """A partition of labels into supernodes, and the graph between them.

    Supernodes are numbered from 0, in the order of their first labels. The first label of a supernode is the
    one with the smallest index. Two supernodes are joined by an edge if the source has an edge between a
    label of one and a label of the other. The length of the new edge is that of the shortest such edge.

    Attributes
    ----------
    source : LabelGraph
        The graph that was summarized.
    method : {"capped", "neighbourhood", "node", "subtree"}
        The method of choosing the sets; see `summarize`.
    target : int
        The requested largest number of supernodes.
    cap : int or None
        Largest number of labels that a supernode may have; None if there was no limit.
    seed : int or None
        Seed of the draws; None if nothing was drawn.
    assignment : ndarray of shape (n_labels,), dtype=int32
        Supernode of each label.
    sizes : ndarray of shape (n_supernodes,), dtype=int64
        Number of labels of each supernode.
    edges : ndarray of shape (n_edges, 2), dtype=int32
        Pairs of joined supernodes, the smaller number first, in ascending order.
    weights : ndarray of shape (n_edges,), dtype=float64
        Smallest length of an edge of the source between the labels of the two supernodes.
    counts : ndarray of shape (n_edges,), dtype=int64
        Number of edges of the source between the labels of the two supernodes.
    picks : ndarray of shape (n_rounds,), dtype=int32
        For methods that draw, a member of the supernode that was drawn in each round.
    entries_scanned : int
        For methods that draw, the number of adjacency entries that were read in all rounds, at most
        ``2 * source.n_edges``.
    """

    source: LabelGraph
    method: Method
    target: int
    cap: int | None
    seed: int | None
    assignment: NDArray[np.int32]
    sizes: NDArray[np.int64]
    edges: NDArray[np.int32]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    picks: NDArray[np.int32] = field(repr=False)
    entries_scanned: int = 0

    @property
    def n_supernodes(self) -> int:
        """Number of supernodes."""
        return len(self.sizes)

    @property
    def largest_share(self) -> float:
        """Share of all labels that are in the largest supernode."""
        return float(self.sizes.max() / len(self.assignment))

    @property
    def doubt(self) -> str | None:
        """Text on why distances between supernodes say little about labels, and what to do about it.

        It is None if these distances are usable.
        """
        n_supernodes, share = self.n_supernodes, self.largest_share
        if n_supernodes <= 2 or share <= _DEGENERATE_SHARE:
            return None
        return (
            f"one supernode of {n_supernodes} holds {share:.1%} of all {len(self.assignment)} labels; "
            "distances between supernodes say little about labels. Use method='capped' or 'subtree', a "
            "smaller cap or a larger target"
        )

    @cached_property
    def representatives(self) -> NDArray[np.int64]:
        """Index of the first label of each supernode, ascending."""
        return np.unique(self.assignment, return_index=True)[1]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Key of each supernode: the key of its first label."""
        return self.source.keys.take(self.representatives)

    def members(self, supernode: int) -> NDArray[np.int64]:
        """Return the indices of the labels of a supernode, ascending; the first call sorts all labels."""
        supernode = whole_number("supernode", supernode, 0, self.n_supernodes - 1)
        order, begin = self._by_supernode
        return order[begin[supernode] : begin[supernode + 1]]

    def graph(self) -> LabelGraph:
        """Return the graph between supernodes as an undirected `LabelGraph`, keyed by `keys`.

        The canonical order of this graph may differ from the order of the supernodes. Find supernode ``s`` by
        ``graph().keys.index(summary.keys[s])``.
        """
        names = self.source.names.take(self.representatives)
        keys = self.keys
        return LabelGraph.from_edges(
            [(keys[a], keys[b]) for a, b in self.edges.tolist()],
            weights=self.weights,
            names=dict(zip(keys, names, strict=True)),
            directed=False,
            labels=keys,
        )

    @cached_property
    def diameters(self) -> NDArray[np.float64]:
        """Upper bound of the largest distance, in the source, between two labels of each supernode."""
        return supernode_diameters(self.source, self.assignment, self.sizes)

    def distortion(self, supernodes: ArrayLike) -> Distortion:
        """Return the proved bounds on distances between labels of supernodes.

        Parameters
        ----------
        supernodes : array_like of int, shape (n,)
            Supernodes to measure from.

        Returns
        -------
        distortion : Distortion
            ``lower`` and ``upper``, both of shape (n, n_supernodes): any label of ``supernodes[i]`` and any
            label of supernode ``j`` are at least ``lower[i, j]`` and at most ``upper[i, j]`` apart in the
            source.

        Raises
        ------
        InputError
            For a number that is not a supernode.
        MissingExtraError
            If scipy is not installed.

        Notes
        -----
        This takes two Dijkstra runs over the edges between supernodes for each entry of `supernodes`.

        Examples
        --------
        >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
        >>> bounds = summarize(graph, 2, method="subtree").distortion([0])
        >>> bounds.lower.tolist(), bounds.upper.tolist()
        ([[0.0, 1.0]], [[0.0, 3.0]])
        """
        sources = index_array("supernodes", supernodes, self.n_supernodes)
        return path_bounds(self.edges, self.weights, self.diameters, sources)

    @cached_property
    def _by_supernode(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.assignment, kind="stable")
        return order, np.concatenate([[0], np.cumsum(self.sizes)])


def summarize(
    graph: LabelGraph,
    target: int,
    *,
    method: Method = "capped",
    cap: int | float | None = None,
    seed: int = 0,
) -> Summary:
    """Merge labels until at most `target` supernodes are left.

    Parameters
    ----------
    graph : LabelGraph
        A graph; edges count in both directions, and their lengths are ignored.
    target : int
        Largest number of supernodes, positive. If it is at least the number of labels, every label is a
        separate supernode.
    method : {"capped", "neighbourhood", "node", "subtree"}, default="capped"
        ``"neighbourhood"``: draw a supernode, each equally likely, and merge all its neighbors into it;
        repeat until at most `target` supernodes are left. ``"node"``: the same, but stop at exactly `target`
        supernodes, possibly in the middle of a neighborhood. ``"capped"``: like ``"node"``, but skip a
        neighbor if merging it would exceed `cap`. When no supernode can be merged with a neighbor any more
        and `target` is not reached, merge supernodes that share a neighbor (such as siblings under a hub), up
        to the cap; this is called packing. ``"subtree"``: cut the tree of primary parents into at most
        `target` pieces, so that the largest piece is as small as possible. A piece is a subtree without the
        parts cut off below it, or several such subtrees of adjacent siblings. This method is not random.
    cap : int or float, optional
        For ``"capped"``: the largest number of labels in a supernode or, if it is a float between 0 and 1,
        the largest share of all labels. By default 1.5, 2 and 4 times ``n / (target - c + 1)`` are tried in
        this order, for n labels in c components, until `target` is reached. The last of these caps always
        reaches it.
    seed : int, default=0
        From 0 to 2^63 - 1. The draws come from the generator SplitMix64, and are the same on every platform
        and under every version of numpy and numba.

    Returns
    -------
    summary : Summary

    Raises
    ------
    InputError
        If `target` is below 1, or below the number of components (for ``"subtree"``, of roots), because
        different components are never merged; if `cap` is too small for `target`, or if more than `target`
        supernodes are left after packing; if ``"subtree"`` is requested for an undirected graph; or if `cap`
        is given with a method other than ``"capped"``.
    MissingExtraError
        If numba is not installed.

    Warns
    -----
    DegenerateSummaryWarning
        If there are at least three supernodes, and one of them has more than half of all labels. The message
        states its share.

    Notes
    -----
    Drawing reads each adjacency entry at most once. Packing takes O(log n) rounds, and each round reads all
    entries. Consider a supernode and its neighbors before a round. The round puts the labels of all of these
    into one or more supernodes. At most one of the new supernodes has half the cap or less, because the round
    would have merged two such supernodes. So if ``cap >= 4 n / target``, each round halves the number of
    supernodes in excess of the target. ``"subtree"`` takes O(n log n) time.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> summary = summarize(graph, 2, method="subtree")
    >>> summary.keys, summary.assignment.tolist(), summary.counts.tolist()
    (('plant', 'tree'), [0, 1, 1, 1], [1])
    """
    summary = merged(graph, target, method=method, seed=seed, cap=cap)
    if summary.doubt is not None:
        warnings.warn(summary.doubt, DegenerateSummaryWarning, stacklevel=2)
    return summary


def merged(
    graph: LabelGraph,
    target: int,
    *,
    method: Method = "capped",
    seed: int = 0,
    cap: int | float | None = None,
) -> Summary:
    """Return the result of `summarize`, but do not warn; `Summary.doubt` has the text of the warning."""
    refuse_other_than(LabelGraph, "graph", graph, "from LabelGraph.from_edges or read(path).graph")
    n = graph.n_labels
    target = min(whole_number("target", target, 1), n)
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    if not isinstance(method, str) or method not in _METHODS:
        raise InputError(f"method: {method!r} given; choose one of {', '.join(map(repr, _METHODS))}")
    if method != "capped" and cap is not None:
        raise InputError(f"cap: works only with method='capped', not with {method!r}; leave it out")
    if method == "subtree":
        forest = _Forest(_subtrees(graph, target))
    else:
        forest = _drawn(graph, target, method, cap, seed)
    assignment, sizes = _kernels().number_sets(forest.above)
    return Summary(
        graph,
        method,
        target,
        forest.cap,
        None if method == "subtree" else seed,
        assignment,
        sizes,
        *_quotient(graph, assignment, len(sizes)),
        forest.picks,
        forest.scanned,
    )


def _kernels() -> Any:
    try:
        from labelgrove.ontology.geometry.kernels.graphs import unionfind
    except ImportError:
        raise MissingExtraError.of("numba", "science", "summarizing a graph") from None
    return unionfind


@dataclass(frozen=True)
class _Forest:
    """The result of a method of `summarize`: sets of labels, and how the method found them.

    `above` is a union-find forest of the sets. `cap`, `picks` and `scanned` become the attributes `cap`,
    `picks` and `entries_scanned` of the `Summary`.
    """

    above: NDArray[np.int32]
    cap: int | None = None
    picks: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scanned: int = 0


def _drawn(graph: LabelGraph, target: int, method: str, cap: int | float | None, seed: int) -> _Forest:
    """Merge neighborhoods at random, and pack the resulting sets if there are more than `target`.

    If there are more than `target` sets even after packing, begin again with the next larger cap; if there
    is no larger cap, raise `InputError`.
    """
    if target < graph.n_components:
        raise InputError(
            f"target: {target} supernodes requested for a graph with {graph.n_components} parts, which are "
            f"never joined; request {graph.n_components} or more, or summarize one part"
        )
    kernels = _kernels()
    from labelgrove.ontology.geometry.kernels.graphs.adjacency import adjacency

    begin, neighbors = adjacency(graph.n_labels, graph.edge_child, graph.edge_parent)
    limits = _limits(graph, target, cap) if method == "capped" else (graph.n_labels,)
    for limit in limits:
        above, size, n_sets, picks, scanned = kernels.merge_neighborhoods(
            begin, neighbors, target, limit, method == "neighbourhood", seed
        )
        if n_sets > target:
            n_sets = kernels.pack_sets(begin, neighbors, above, size, n_sets, target, limit)
        if n_sets <= target:
            return _Forest(above, limit if method == "capped" else None, picks, scanned)
    enough = _limits(graph, target, None)[-1]
    raise InputError(
        f"cap: with at most {limits[-1]} labels in a supernode, merging ends at {n_sets} supernodes, above "
        f"the target of {target}; leave the cap out, raise it ({enough} is always enough), or "
        "raise the target"
    )


def _limits(graph: LabelGraph, target: int, cap: int | float | None) -> tuple[int, ...]:
    """Return the caps to try, ascending: the given cap, or the default caps that `summarize` describes."""
    n = graph.n_labels
    if cap is None:
        mean = n / max(target - graph.n_components + 1, 1)
        return tuple(min(n, math.ceil(factor * mean)) for factor in _CAP_FACTORS)
    if isinstance(cap, float | np.floating):
        if not 0 < cap < 1:
            raise InputError(f"cap: {cap} given; as a share of all labels it must be between 0 and 1")
        most = math.floor(cap * n)
    else:
        most = min(whole_number("cap", cap, 1), n)
    if most * target < n:
        raise InputError(
            f"cap: {target} supernodes of at most {most} labels hold only {most * target} of "
            f"{n} labels; give a cap of at least {math.ceil(n / target)}"
        )
    return (most,)


def _subtrees(graph: LabelGraph, target: int) -> NDArray[np.int32]:
    """Cut the tree of primary parents into at most `target` pieces, the largest as small as possible.

    The pieces are returned as a union-find forest, like `_Forest.above`.
    """
    if not graph.directed:
        raise InputError("method: 'subtree' needs a hierarchy, but this graph is undirected; use 'capped'")
    contract = _kernels().contract_subtrees
    parent = graph.primary_parent
    n_roots = int(np.count_nonzero(parent < 0))
    if target < n_roots:
        raise InputError(
            f"target: {target} supernodes requested for a hierarchy with {n_roots} roots, but subtrees of "
            f"different roots are never joined; request {n_roots} or more, or use method='capped'"
        )
    low, high = 1, graph.n_labels  # with `high` there are few enough pieces: whole trees
    above, _ = contract(parent, high)
    while low < high:
        middle = (low + high) // 2
        found, n_sets = contract(parent, middle)
        if n_sets <= target:
            above, high = found, middle
        else:
            low = middle + 1
    return np.asarray(above)


def _quotient(
    graph: LabelGraph, assignment: NDArray[np.int32], n_supernodes: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the edges between supernodes, and two numbers for each: its length and a count.

    Such an edge replaces all edges of the graph between labels of the two supernodes. Its length is the
    smallest of their lengths, and its count is their number.
    """
    ends = assignment[graph.edge_child], assignment[graph.edge_parent]
    between = np.flatnonzero(ends[0] != ends[1])
    first, second = ends[0][between], ends[1][between]
    code = np.minimum(first, second) * np.int64(n_supernodes) + np.maximum(first, second)
    order = np.argsort(code)
    code = code[order]
    begin = np.flatnonzero(np.diff(code, prepend=-1))
    least = np.minimum.reduceat(graph.edge_weight[between[order]], begin) if len(begin) else np.empty(0)
    edges = np.stack(np.divmod(code[begin], n_supernodes), axis=1).astype(np.int32)
    return edges, least, np.diff(begin, append=len(code))
