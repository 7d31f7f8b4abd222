"""phylogenetic_cover: the source paper's Algorithm 1, without the list of all paths.

Algorithm 1 goes through all paths between two labels of a tree, longest first, and observes both ends of each
path until the locus contains every label. So each label is observed when the algorithm comes to the longest
path from it; the length of this path is the label's *eccentricity*. The order of the labels can be found
without a list of paths:

* Every longest path from a label leads through the middle of the tree to a *rim* label, which is an end of a
  longest path of the tree. Two rim labels are enough: the first rim label in canonical order, and the
  first one on the other side of the middle. From any label, some longest path ends at one of these two. If
  there are longest paths to both, the algorithm comes first to the path to the rim label that is earlier in
  canonical order.
* Observing another label never removes a label from the locus, so a binary search finds the path after
  which the algorithm stops. Every cover contains certain labels (`ontology.geometry.covers.required`), and
  the binary search starts at the first path after which all of these are observed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.covers.checks import Cover, covers
from labelgrove.ontology.geometry.covers.required import must_observe
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.points import allowed_points
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["entry_order", "phylogenetic_cover"]

_BLOCK_ENTRIES = 1 << 22


def phylogenetic_cover(space: MetricSpace) -> Cover:
    """Return the cover that the source paper's Algorithm 1 finds.

    Parameters
    ----------
    space : MetricSpace
        Any space. The algorithm is designed for trees on which only the leaves are labels. On every space it
        is only a heuristic: the cover need not be the smallest.

    Returns
    -------
    cover : Cover
        The labels in the order in which the algorithm observes them: by the length of the longest path to
        another label, longest first. Paths of equal length are ordered by their ends in canonical order, and
        the two ends of one path are in canonical order. The algorithm stops when the locus contains every
        label; it always observes both ends of a path. If the space has only one label, the cover is this
        label (the algorithm as printed returns no label, because there is no path).

    Raises
    ------
    SpaceError
        If an allowed label is not a point of the space (possible only in a `MatrixSpace`).

    Notes
    -----
    To order n labels takes O(n_points + n log n) on trees, and a pass over all distances on other spaces.
    Then about log2(n) exact loci are computed. The cover is often large: see `minimum_locus_cover`.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> pairs = [("a1", "a"), ("a2", "a1"), ("b1", "b"), ("b2", "b1"), ("a", "r"), ("b", "r"), ("c", "r")]
    >>> phylogenetic_cover(metric_space(LabelGraph.from_edges(pairs), labels="leaves"))
    Cover(keys=('a2', 'b2'), status='exact', lower_bound=2)
    """
    labels = allowed_points(space)
    if len(labels) == 1:
        return Cover.of(space, labels, 1)
    rows, path_ends = entry_order(space)
    required = space.point_index(must_observe(space).keys)
    last_required = np.flatnonzero(np.isin(labels[rows], required)).max(initial=0)
    low, high = int(np.searchsorted(path_ends, last_required + 1)), len(path_ends) - 1
    # the labels that every cover needs are often enough; after the last path all labels are observed
    middle = low
    while low < high:
        if covers(space, labels[rows[: path_ends[middle]]]):
            high = middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    # a single label reaches the labels at distance 0 from it, and the last in order is nearest to all others
    alone = not space.distances(cols=labels[rows[-1:]]).any()
    return Cover.of(space, labels[rows[: path_ends[low]]], max(len(required), 1 if alone else 2))


def entry_order(space: MetricSpace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order in which Algorithm 1 of the source paper observes the allowed labels.

    The algorithm takes the longest path from each allowed label, sorts these paths, the longest first, and
    observes both ends of one path after another. There must be at least two allowed labels.

    Returns
    -------
    rows : ndarray of shape (n_labels,), dtype=int64
        The labels in this order, as indices among the allowed labels.
    path_ends : ndarray of int64
        One entry for each path that adds an observed label, in the order of the paths: the number of labels
        that are observed once the algorithm has observed both ends of this path. Ascending.
    """
    labels = allowed_points(space)
    every = np.arange(len(labels))
    if isinstance(space, TreeSpace):
        eccentricity, partner = _farthest_on_tree(space, labels)
    else:
        eccentricity, partner = _farthest(space, labels)
    low, high = np.minimum(every, partner), np.maximum(every, partner)
    rows = np.lexsort((every, high, low, -eccentricity))
    path = np.column_stack([eccentricity, low, high])[rows]
    is_last = np.append((path[1:] != path[:-1]).any(axis=1), True)
    return rows, np.flatnonzero(is_last) + 1


def _farthest_on_tree(
    space: TreeSpace, labels: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return two arrays: the distance from each allowed label to the farthest one, and the index of that one.

    The index is among the allowed labels; if several are farthest, it is that of the first in canonical
    order. O(n_points).
    """

    def from_label(row: int) -> NDArray[np.float64]:
        return space.distances(cols=labels[[row]])[:, 0].astype(np.float64)

    from_end = from_label(int(from_label(0).argmax()))
    first_rim = int(np.maximum(from_end, from_label(int(from_end.argmax()))).argmax())
    from_first = from_label(first_rim)
    across = int(from_first.argmax())
    eccentricity = np.maximum(from_first, from_label(across))
    return eccentricity, np.where(from_first == eccentricity, first_rim, across)


def _farthest(space: MetricSpace, labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what `_farthest_on_tree` returns, for any space, by reading every distance."""
    eccentricity = np.zeros(len(labels))
    partner = np.zeros(len(labels), dtype=np.int64)
    step = max(1, _BLOCK_ENTRIES // len(labels))
    for start in range(0, len(labels), step):
        block = space.distances(cols=labels[start : start + step])
        eccentricity[start : start + step] = block.max(axis=0)
        partner[start : start + step] = block.argmax(axis=0)
    return eccentricity, partner
