"""The exact locus on a tree with only some labels allowed, such as its leaves.

Let y be a label outside the hull of the observed labels. All paths from y to observed labels pass through one
hull vertex x, at distance h from y. So y is farther from every observed label than x is, by h. If another
allowed label is at a distance below h from x, it is strictly nearer than y to every observed label (by the
triangle inequality), and y is never best. So a label y can be a member only if no other allowed label is
nearer to its hull vertex x. The general algorithm decides about these few labels
(`ontology.geometry.loci.general`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.general import GeneralLocus, general_locus, is_tolerant, measured_rows
from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["nearest_at_hull", "restricted_tree_locus"]

_CLEARLY = 1e-10  # of the largest distance that a label and an observed label can have


def restricted_tree_locus(space: TreeSpace, points: NDArray[np.int64], *, seed: int = 0) -> GeneralLocus:
    """Find the allowed labels of a tree that are best under some weights on observed labels.

    Parameters
    ----------
    space : TreeSpace
        A tree; any labels may be allowed.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, each listed once, allowed or not.
    seed : int, default=0
        As for `general_locus`.

    Returns
    -------
    found : GeneralLocus
        The result; its indices refer to the allowed labels.

    Notes
    -----
    O(n_points), plus `general_locus` on the labels that `nearest_at_hull` keeps.

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
    """Return the allowed labels that may be best: no other allowed label is nearer to their hull vertex.

    The hull vertex of a label is the vertex of the hull of `points` that is nearest to the label.

    Returns
    -------
    kept : ndarray of int64
        Ascending indices among the allowed labels. Every omitted label is strictly farther from every
        observed label than some kept label.

    Notes
    -----
    O(n_points). If lengths are not whole numbers, a label is omitted only if another label is nearer by more
    than the rounding errors and the tolerance of the tie rule together.
    """
    try:
        from labelgrove.ontology.geometry.kernels.trees.hangingheights import hanging_heights, nearest_marked
    except ImportError:
        raise MissingExtraError.of(
            "numba", "science", "computing the locus on a tree with only some labels allowed"
        ) from None
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
