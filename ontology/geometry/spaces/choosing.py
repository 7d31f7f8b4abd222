"""metric_space: build the metric space that fits a label graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError, SpaceError
from labelgrove.ontology.geometry.arguments import listed, refuse_other_than
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.graphspace import GraphSpace, refuse_parts
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["metric_space", "space_kind"]

Labels = Literal["all", "leaves"] | Iterable[str]


def metric_space(
    graph: LabelGraph,
    metric: Literal["auto", "tree", "graph"] = "auto",
    labels: Labels = "all",
) -> MetricSpace:
    """Build the metric space of a label graph.

    Parameters
    ----------
    graph : LabelGraph
        A connected graph; paths use its edges in both directions.
    metric : {"auto", "tree", "graph"}, default="auto"
        ``"auto"``: a complete graph gives `CompleteSpace`, a tree `TreeSpace`, any other graph `GraphSpace`.
        ``"tree"``: if the graph is a tree, paths on it; if it is a hierarchy whose labels have several
        parents, paths on its tree of primary parents. ``"graph"``: shortest paths over all edges.
    labels : {"all", "leaves"} or iterable of str, default="all"
        The labels that may be an answer; any label of the graph may be observed.

    Returns
    -------
    space : TreeSpace, GraphSpace or CompleteSpace

    Raises
    ------
    SpaceError
        If the graph is in several parts; if ``metric="tree"`` is requested for a graph that is neither a
        tree nor a hierarchy with a single root; or if no label is allowed.
    UnknownLabelError
        If `labels` names a label that is not in the graph.

    Examples
    --------
    >>> graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant")])
    >>> metric_space(graph, labels="leaves")
    TreeSpace(n_labels=2, n_points=4)
    """
    refuse_other_than(LabelGraph, "graph", graph, "from LabelGraph.from_edges or read(path).graph")
    if not isinstance(metric, str) or metric not in ("auto", "tree", "graph"):
        raise InputError(f"metric: {metric!r} given; choose 'auto', 'tree' or 'graph'")
    allowed = _allowed(graph, labels)
    kind = space_kind(graph, metric)
    if kind == "complete":
        return CompleteSpace(graph.keys, allowed)
    if kind == "graph":
        return GraphSpace(graph, allowed)
    parent, length, is_hierarchy = _parents(graph)
    return TreeSpace(graph.keys, RootedTree(parent, length), allowed, is_hierarchy=is_hierarchy)


def space_kind(
    graph: LabelGraph, metric: Literal["auto", "tree", "graph"]
) -> Literal["complete", "tree", "graph"]:
    """Return the kind of space that `metric_space` builds, without building it.

    >>> space_kind(LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]), "auto")
    'tree'
    """
    if metric != "auto":
        return metric
    if graph.layout == "complete":
        return "complete"
    return "tree" if graph.is_tree else "graph"


def _allowed(graph: LabelGraph, labels: Labels) -> NDArray[np.int64] | None:
    if isinstance(labels, str):
        if labels == "all":
            return None
        if labels == "leaves":
            return np.flatnonzero(graph.leaf_mask)
        raise InputError(f"labels: {labels!r} given; choose 'all', 'leaves' or a list of keys")
    return graph.keys.indices(listed("labels", labels), lambda: graph.names)


def _parents(graph: LabelGraph) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
    """Return three values for ``metric="tree"``: parents, edge lengths, and whether the tree is a hierarchy.

    The tree is called a hierarchy if its parents are the primary parents of `graph`. Otherwise `graph` is an
    undirected tree or has several roots, and it was rooted at its first label.
    """
    if graph.directed:
        parent = graph.primary_parent.astype(np.int64)
        n_roots = int(np.count_nonzero(parent < 0))
        if n_roots == 1:
            length = np.ones(len(parent))
            below = parent >= 0
            length[below] = graph.edge_weight[graph.primary_edge[below]]
            return parent, length, True
        if not graph.is_tree:
            raise SpaceError(
                f"metric='tree': the tree of primary parents needs one root, but this hierarchy has "
                f"{n_roots}; ingest it with the policy roots=virtual or roots=largest, or, if it is "
                "connected, use metric='graph'"
            )
    refuse_parts(graph)
    if not graph.is_tree:
        raise SpaceError(
            f"metric='tree': an undirected graph with {graph.n_labels} labels and {graph.n_edges} edges "
            "has a cycle; use metric='graph'"
        )
    return *_hang_from_first(graph), False


def _hang_from_first(graph: LabelGraph) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Root a tree at its first label, because the tree is undirected or has several roots."""
    n = graph.n_labels
    ends = np.concatenate([graph.edge_child, graph.edge_parent])
    others = np.concatenate([graph.edge_parent, graph.edge_child]).astype(np.int64)
    by = np.argsort(ends, kind="stable")
    begin = np.searchsorted(ends[by], np.arange(n + 1)).tolist()
    neighbors = others[by].tolist()
    lengths = np.concatenate([graph.edge_weight, graph.edge_weight])[by].tolist()
    parent, length = [-1] * n, [1.0] * n
    stack = [0]
    while stack:
        v = stack.pop()
        for i in range(begin[v], begin[v + 1]):
            u = neighbors[i]
            if u != parent[v]:
                parent[u], length[u] = v, lengths[i]
                stack.append(u)
    return np.array(parent), np.array(length)
