"""The exact locus on a tree whose answers are restricted, to its leaves for instance.

A label that hangs off the hull of the observed labels at the hull vertex x, at height h, is h farther from
every observed label than x is. If some allowed label is nearer to x than h, then by the triangle inequality
it is strictly nearer to every observed label, and the first is never best. What remains is, for each hull
vertex, the allowed labels nearest to it where one of them hangs there; on those few the general algorithm
decides (`ontology.geometry.loci.general`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus, is_tolerant, measured_rows
from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["nearest_at_hull", "restricted_tree_locus"]

_CLEARLY = 1e-10  # of all that a label and the observed ones can be apart


def restricted_tree_locus(space: TreeSpace, points: NDArray[np.int64], *, seed: int = 0) -> GeneralLocus:
    """Decide which allowed labels of a tree some weights over observed ones make best.

    Parameters
    ----------
    space : TreeSpace
        A tree; any labels may be allowed.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, each once, allowed or not.
    seed : int, default=0
        As for `general_locus`.

    Returns
    -------
    found : GeneralLocus
        Indices are those of allowed labels.

    Notes
    -----
    O(n_points), and `general_locus` on what the filter leaves.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> keys = Keys.from_strings(["root", "a", "b", "c", "d"])
    >>> space = TreeSpace.from_arrays(keys, [-1, 0, 0, 0, 1], allowed=[2, 3, 4])
    >>> space.keys.take(restricted_tree_locus(space, np.array([2, 4])).index)
    ('b', 'd')
    """
    kept = nearest_at_hull(space, points)
    distances = measured_rows(space, points, kept)
    found = general_locus(distances, seed=seed, tolerant=is_tolerant(space))
    return GeneralLocus(
        index=kept[found.index],
        unique_index=kept[found.unique_index],
        witnesses=found.witnesses,
        tolerance=found.tolerance,
        proofs=found.proofs,
    )


def nearest_at_hull(space: TreeSpace, points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the allowed labels that no other is nearer than to the hull vertex they hang at.

    Returns
    -------
    kept : ndarray of int64
        Ascending indices among the allowed labels. Every label left out is strictly farther from every
        observed label than one that is kept.

    Notes
    -----
    O(n_points). Where lengths are not whole numbers a label is left out only for a difference that exceeds
    any rounding and the tie rule.
    """
    try:
        from labelgrove.ontology.geometry.kernels.trees.hangingheights import hanging_heights, nearest_marked
    except ImportError:
        raise MissingExtraError.of("numba", "science", "the locus on a tree with restricted labels") from None
    tree = space.tree
    allowed = np.arange(len(tree)) if space.allowed is None else space.allowed
    at = tree.positions(allowed)
    marked = np.zeros(len(tree), dtype=bool)
    marked[at] = True
    inside = hull(tree, tree.positions(points))
    foot, height = hanging_heights(tree.parent, tree.length, inside)
    height, nearest = height[at], nearest_marked(tree.parent, tree.length, marked)[foot[at]]
    if tree.dtype == np.float64:
        reach = 2 * float(tree.below(inside[0], inside).max())
        nearest = nearest + _CLEARLY * (reach + nearest)
    return np.flatnonzero(height <= nearest)
