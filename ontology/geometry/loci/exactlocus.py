"""The exact locus: every label that some weights on the observed labels reach, each with a witness.

The locus of observed labels l_1, ..., l_K is the set of allowed labels y that minimize
``sum_i w_i d(y, l_i)^2`` for some non-negative weights that are not all zero. A member is *uniquely
reachable* if some weights make it the only minimizer. The algorithm depends on the space:

* a tree with every label allowed: the hull of the observed labels (`ontology.geometry.loci.hull`). If some
  edges are very short, the tie rule (`ontology.geometry.ties`) may add labels outside the hull, and some
  members may no longer be uniquely reachable (`ontology.geometry.loci.shortedges`);
* a tree with only some labels allowed, such as its leaves: `ontology.geometry.loci.restrictedtree`;
* a complete graph: the observed labels, see `locus_index`;
* any other space: the exact general algorithm over a matrix of distances (`ontology.geometry.loci.general`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.hull import HullWitnesses, hull
from labelgrove.ontology.geometry.loci.members import Locus
from labelgrove.ontology.geometry.loci.witnesses import PairWitnesses
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["hull_locus", "locus_index"]


def locus_index(space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    """Return the exact locus of observed labels, which are given as distinct point indices; see `locus`.

    Notes
    -----
    On a complete graph, an observed label that is allowed is the only best label if all weight is on it. An
    unobserved label is at distance 1 from every observed label. So it is best only if all weight is on
    observed labels that are not allowed, and then all allowed labels tie. Such weights exist only if some
    observed label is not allowed.
    """
    if isinstance(space, TreeSpace) and space.allowed is None:
        return _tree_locus(space, points)
    if isinstance(space, CompleteSpace):
        return _complete_locus(space, points)
    if isinstance(space, TreeSpace):
        from labelgrove.ontology.geometry.loci.restrictedtree import restricted_tree_locus

        found = restricted_tree_locus(space, points)
    else:
        from labelgrove.ontology.geometry.loci.general import general_locus, is_tolerant, measured_rows

        found = general_locus(measured_rows(space, points), tolerant=is_tolerant(space))
    return Locus(
        space, points, found.index, found.unique_index, found.status, found.witnesses, found.tolerance
    )


def hull_locus(space: TreeSpace, points: NDArray[np.int64]) -> Locus:
    """Return the hull of observed labels as their locus; every label of the tree must be allowed.

    Every member is uniquely reachable. The tolerance for ties (`ontology.geometry.ties`) is not applied: it
    might add labels to the locus, and some members might no longer be uniquely reachable.
    """
    tree = space.tree
    index = tree.points(hull(tree, tree.positions(points)))
    if (index[1:] < index[:-1]).any():  # on most trees canonical order is this preorder
        index.sort()
    return Locus(space, points, index, index, "exact", HullWitnesses(tree, points, index))


def _tree_locus(space: TreeSpace, points: NDArray[np.int64]) -> Locus:
    reached = hull_locus(space, points)
    if space.distance_dtype != np.float64:
        return reached
    from labelgrove.ontology.geometry.loci.shortedges import blurred

    changed = blurred(space, points, reached.index)
    if changed is None:
        return reached
    index = np.union1d(reached.index, changed.outside)
    unique = np.setdiff1d(reached.index, changed.not_alone, assume_unique=True)
    witnesses = HullWitnesses(space.tree, points, index, changed.witness)
    return Locus(space, points, index, unique, "exact", witnesses, TIE_RELATIVE)


def _complete_locus(space: CompleteSpace, points: NDArray[np.int64]) -> Locus:
    column = np.full(space.n_points, -1)
    column[points] = np.arange(len(points))
    if space.allowed is not None:
        outside = np.setdiff1d(points, space.allowed, assume_unique=True)
        spare = column[outside[:1]]
        column = column[space.allowed]
        if len(outside):
            own = np.flatnonzero(column >= 0) if space.n_labels > 1 else np.zeros(1, dtype=np.int64)
            witnesses = PairWitnesses.single(len(points), np.where(column >= 0, column, spare))
            return Locus(space, points, np.arange(space.n_labels), own, "exact", witnesses)
    index = np.flatnonzero(column >= 0)
    return Locus(space, points, index, index, "exact", PairWitnesses.single(len(points), column[index]))
