"""Find shortest paths in a label graph; the directions of its edges do not matter."""

from __future__ import annotations

import numpy as np

from labelgrove.ontology.labelgraph import LabelGraph

__all__ = ["shortest_path"]


def shortest_path(graph: LabelGraph, start: int, end: int) -> list[tuple[int, float]]:
    """Return the labels on a shortest path from `start` to `end`, each as (index, distance from `start`).

    The list is empty if there is no path. If several labels can follow a label on a shortest path, the one
    with the smallest index is taken.
    O(n_edges log n_labels) time.

    >>> shortest_path(LabelGraph.grid((2, 2)), 0, 3)
    [(0, 0.0), (1, 1.0), (3, 2.0)]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    ends = np.concatenate([graph.edge_child, graph.edge_parent])
    others = np.concatenate([graph.edge_parent, graph.edge_child])
    lengths = np.concatenate([graph.edge_weight, graph.edge_weight])
    links = csr_array((lengths, (ends, others)), shape=(graph.n_labels, graph.n_labels))
    left = dijkstra(links, indices=end)  # distances to `end`, so that each step can be chosen greedily
    if not np.isfinite(left[start]):
        return []
    at, steps = start, [(start, 0.0)]
    while at != end:
        row = slice(links.indptr[at], links.indptr[at + 1])
        near, length = links.indices[row], links.data[row]
        closer = np.flatnonzero(left[near] + length == left[at])
        choice = closer[np.argmin(near[closer])]
        at = int(near[choice])
        steps.append((at, steps[-1][1] + float(length[choice])))
    return steps
