"""summarize: a large label graph as a small one, whose vertices (supernodes) are sets of labels.

Four ways to choose the sets. The published process draws a vertex and merges its neighbors into it, again
and again; its text merges whole neighborhoods (``"neighbourhood"``), its code stops in the middle of one
when the target is reached (``"node"``). On a graph with hubs both end with nearly all labels in one
supernode, hence ``"capped"``, in which no supernode outgrows a cap, and ``"subtree"``, which cuts a hierarchy
into subtrees.

How far the small graph departs from the large one: `ontology.geometry.summaries.distortion`. From labels to
supernodes and back: `ontology.geometry.summaries.expand`.
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
    """One supernode holds more than half of all labels, although there are more than two supernodes.

    Distances between supernodes then say little about labels, and an error measured on them is small by
    itself.
    """


@dataclass(frozen=True, eq=False)
class Summary:
    """A partition of labels into supernodes, and the graph between them.

    Supernodes are numbered by their lowest member in canonical order. Two are joined where any of their
    labels are; the edge is as long as the shortest of those it stands for.

    Attributes
    ----------
    source : LabelGraph
        The graph that was summarized.
    method : {"capped", "neighbourhood", "node", "subtree"}
        How the sets were chosen; see `summarize`.
    target : int
        Number of supernodes asked for, at most.
    cap : int or None
        Largest number of labels a supernode may hold; None where there was no such rule.
    seed : int or None
        What started the draws; None where nothing was drawn.
    assignment : ndarray of shape (n_labels,), dtype=int32
        Supernode of each label.
    sizes : ndarray of shape (n_supernodes,), dtype=int64
        Number of labels of each supernode.
    edges : ndarray of shape (n_edges, 2), dtype=int32
        Joined supernodes, the smaller number first, in ascending order.
    weights : ndarray of shape (n_edges,), dtype=float64
        Least length of the edges of the source between the two.
    counts : ndarray of shape (n_edges,), dtype=int64
        Number of edges of the source between the two.
    picks : ndarray of shape (n_rounds,), dtype=int32
        For drawn methods, a member of the supernode that was drawn in each round.
    entries_scanned : int
        For drawn methods, how many of the ``2 * source.n_edges`` adjacency entries the rounds read.
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
        """Share of all labels that the largest supernode holds."""
        return float(self.sizes.max() / len(self.assignment))

    @property
    def doubt(self) -> str | None:
        """Why distances between supernodes say little about labels, and what to do; None if they do not."""
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
        """Index of the lowest member of each supernode, ascending."""
        return np.unique(self.assignment, return_index=True)[1]

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Key of each supernode: that of its lowest member."""
        return self.source.keys.take(self.representatives)

    def members(self, supernode: int) -> NDArray[np.int64]:
        """Return the indices of the labels of a supernode, ascending; the first call sorts all labels."""
        supernode = whole_number("supernode", supernode, 0, self.n_supernodes - 1)
        order, begin = self._by_supernode
        return order[begin[supernode] : begin[supernode + 1]]

    def graph(self) -> LabelGraph:
        """Return the graph between supernodes as an undirected `LabelGraph`, keyed by `keys`.

        Its canonical order is its own: ``graph().keys.index(summary.keys[s])`` finds supernode ``s``.
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
        """Return what the summary proves about distances between labels of supernodes.

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
            Without scipy.

        Notes
        -----
        Two Dijkstra runs over the edges between supernodes for each of `supernodes`.

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
        Edges are taken both ways, whatever their length.
    target : int
        Positive. From the number of labels on, every label stays a supernode of its own.
    method : {"capped", "neighbourhood", "node", "subtree"}, default="capped"
        ``"neighbourhood"``: draw a supernode, each equally likely, and merge all its neighbors into it; ends
        once at most `target` are left. ``"node"``: the same, but stops at exactly `target`, in the middle of
        a neighbourhood. ``"capped"``: as ``"node"``, but a neighbor is passed over where the union would
        exceed `cap`; if the draws run dry before `target`, supernodes that are neighbors or share one
        (siblings under a hub) are packed together within the cap. ``"subtree"``: the smallest size for which
        the tree of primary parents falls into at most `target` pieces, each a subtree without what was cut
        off below, or a run of such siblings; draws nothing.
    cap : int or float, optional
        For ``"capped"``: the most labels in a supernode, or, as a float between 0 and 1, their share of all.
        By default the first of 1.5, 2 and 4 times ``n / (target - c + 1)``, for n labels in c components,
        under which `target` is reached; under the last it always is.
    seed : int, default=0
        From 0 to 2^63 - 1. The draws are SplitMix64's, the same on every platform and version.

    Returns
    -------
    summary : Summary

    Raises
    ------
    InputError
        If `target` is below 1 or below the number of components (of roots, for ``"subtree"``), which no
        merging joins; if `cap` leaves too few labels a supernode, or the packing ends above `target`; if
        ``"subtree"`` is asked of an undirected graph, or `cap` given to another method than ``"capped"``.
    MissingExtraError
        Without numba.

    Warns
    -----
    DegenerateSummaryWarning
        If one of more than two supernodes holds more than half of all labels; the share is named.

    Notes
    -----
    Drawing reads each adjacency entry at most once. Packing takes O(log n) rounds over them: after each,
    around every old supernode at most one is not larger than half the cap, so that those above the target,
    once ``cap >= 4 n / target``, halve from round to round. ``"subtree"`` takes O(n log n).

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
    """Return what `summarize` does, without a warning: `Summary.doubt` says the same."""
    refuse_other_than(LabelGraph, "graph", graph, "of LabelGraph.from_edges, or read(path).graph")
    n = graph.n_labels
    target = min(whole_number("target", target, 1), n)
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    if not isinstance(method, str) or method not in _METHODS:
        raise InputError(f"method: {method!r} given; choose one of {', '.join(map(repr, _METHODS))}")
    if method != "capped" and cap is not None:
        raise InputError(f"cap: only method='capped' has one, method={method!r} was given; leave it out")
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
    """What a method found: the union-find forest, and how."""

    above: NDArray[np.int32]
    cap: int | None = None
    picks: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    scanned: int = 0


def _drawn(graph: LabelGraph, target: int, method: str, cap: int | float | None, seed: int) -> _Forest:
    """Merge neighborhoods at random; under a cap, pack what is left, or try the next cap."""
    if target < graph.n_components:
        raise InputError(
            f"target: {target} supernodes asked of a graph in {graph.n_components} parts, which merging "
            f"never joins; ask for {graph.n_components} or more, or summarize one part"
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
            n_sets = kernels.pack_branches(begin, neighbors, above, size, n_sets, target, limit)
        if n_sets <= target:
            return _Forest(above, limit if method == "capped" else None, picks, scanned)
    enough = _limits(graph, target, None)[-1]
    raise InputError(
        f"cap: with at most {limits[-1]} labels in a supernode, merging ends at {n_sets} supernodes, above "
        f"the target of {target}; leave the cap out, raise it ({enough} always serves), or raise the target"
    )


def _limits(graph: LabelGraph, target: int, cap: int | float | None) -> tuple[int, ...]:
    """Return the caps to try, ascending: the one given, or multiples of the mean size."""
    n = graph.n_labels
    if cap is None:
        mean = n / max(target - graph.n_components + 1, 1)
        return tuple(min(n, math.ceil(factor * mean)) for factor in _CAP_FACTORS)
    if isinstance(cap, float | np.floating):
        if not 0 < cap < 1:
            raise InputError(f"cap: {cap} given; as a share of all labels it is between 0 and 1")
        most = math.floor(cap * n)
    else:
        most = min(whole_number("cap", cap, 1), n)
    if most * target < n:
        raise InputError(
            f"cap: {target} supernodes of at most {most} labels hold {most * target} of {n}; "
            f"the cap is at least {math.ceil(n / target)} here"
        )
    return (most,)


def _subtrees(graph: LabelGraph, target: int) -> NDArray[np.int32]:
    """Return the forest of the smallest pieces, by their largest, that are at most `target` in number."""
    if not graph.directed:
        raise InputError("method: 'subtree' needs a hierarchy, this graph is undirected; use 'capped'")
    contract = _kernels().contract_subtrees
    parent = graph.primary_parent
    n_roots = int(np.count_nonzero(parent < 0))
    if target < n_roots:
        raise InputError(
            f"target: {target} supernodes asked of a hierarchy with {n_roots} roots, and subtrees of "
            f"different roots are never joined; ask for {n_roots} or more, or use method='capped'"
        )
    low, high = 1, graph.n_labels  # the pieces of `high` are few enough: whole trees
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
    """Return edges, least weights and counts between supernodes."""
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
