"""How the tie rule changes the locus on a tree where edges are very short.

On a tree whose labels are all allowed the locus is the hull of the observed labels, and each member is
uniquely reachable (`ontology.geometry.loci.hull`). If distances are not short numbers
(`ontology.geometry.paths.wholenumbers.are_short`), sums tie if they differ by at most a relative
t = `TIE_RELATIVE`. Then both statements may be wrong at very short edges. Let R be the largest distance
between observed labels, W the sum of the weights and S the weighted sum of the distances from a vertex x of
the hull to the observed labels:

* A label outside the hull whose nearest hull vertex is x, at distance h, has the Fréchet variance
  ``F(x) + 2 h S + h^2 W``, where ``F(x) <= R S``. It can tie with x only if ``2 h <= t R``.
* For a vertex x of the hull there are weights that make it best, with ``F(x) / W`` at most ``R^2 / 4``. Under
  these weights a neighbor at distance q has the Fréchet variance ``F(x) + q^2 W``. So x is the only best
  label unless ``4 q^2 <= t R^2`` for some neighbor.

The general algorithm decides about the labels that these two rules leave in doubt. It compares a vertex of
the hull only with its neighbors. That is enough because F is convex along every path: if F is larger at a
neighbor than at x, it is even larger beyond the neighbor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.general import general_locus, measured_rows
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["Blurred", "blurred", "hull_decides", "largest_tied_difference"]

_ROOM = 4.0  # factor that covers the rounding of distances


@dataclass(frozen=True)
class Blurred:
    """The labels that the tie rule adds to the locus, or that it prevents from being uniquely reachable.

    Attributes
    ----------
    outside : ndarray of int64
        Point indices of labels outside the hull that tie for best under some weights, ascending.
    not_alone : ndarray of int64
        Point indices of labels of the hull that are never the only best label, ascending.
    witness : dict of int to tuple of int
        Witnesses, by point index: for the labels `outside`, and for the labels of the hull that were in doubt
        and turned out to be the only best label under some weights.
    """

    outside: NDArray[np.int64]
    not_alone: NDArray[np.int64]
    witness: dict[int, tuple[int, ...]]


def hull_decides(space: TreeSpace) -> bool:
    """Return whether, for every set of observed labels, the locus is their hull; all labels must be allowed.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> keys = Keys.from_strings(["root", "a", "b"])
    >>> near, far = [0.0, 1.0, 1e-13], [0.0, 1.0, 1e-11]
    >>> [hull_decides(TreeSpace.from_arrays(keys, [-1, 0, 0], length)) for length in (None, far, near)]
    [True, True, False]
    """
    blur = largest_tied_difference(space)
    return not blur or bool(space.tree.length[1:].min() > blur)


def largest_tied_difference(space: TreeSpace) -> float:
    """Return the largest difference in height at which two labels at the same hull vertex may be tied.

    The height of a label is its distance from its nearest hull vertex. If two labels have the same nearest
    hull vertex x and their heights differ by more than the result, no weights make the higher label best.
    With F and S as in the docstring of the module, their Fréchet variances differ by at least ``2 S`` times
    the difference in height, and F(x) is at most S times the diameter. The result is 0 if labels at different
    heights are never tied.
    """
    return 0.0 if space.tree.has_short_distances else _ROOM * TIE_RELATIVE * space.tree.diameter()


def blurred(space: TreeSpace, points: NDArray[np.int64], reached: NDArray[np.int64]) -> Blurred | None:
    """Return how the tie rule makes the locus differ from the observed labels' hull; None if it does not.

    Parameters
    ----------
    space : TreeSpace
        A tree with every label allowed.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels.
    reached : ndarray of int64
        Point indices of their hull.

    Notes
    -----
    O(n_points) if no edge is short. Otherwise it also takes one `general_locus` over the labels in doubt and
    their competitors: their neighbors and, for labels outside the hull, the whole hull.
    """
    tree = space.tree
    if tree.has_short_distances:
        return None
    inside = np.sort(tree.positions(reached))
    reach = 2 * float(tree.below(inside[0], inside).max())
    parent, length = tree.parent, tree.length
    short = length <= np.sqrt(TIE_RELATIVE * _ROOM) / 2 * reach
    short[0] = False
    if not short.any():
        return None
    is_inside = np.zeros(len(tree), dtype=bool)
    is_inside[inside] = True
    beside = np.zeros(len(tree), dtype=bool)  # has a short edge
    beside[short] = beside[parent[short]] = True
    beside[tree.positions(points)] = False  # only an observed label has F = 0
    doubtful = np.flatnonzero(beside & is_inside)
    near = _hanging_near(tree, inside, TIE_RELATIVE * _ROOM / 2 * reach)
    if not len(doubtful) + len(near):
        return None
    is_doubtful = np.zeros(len(tree), dtype=bool)
    is_doubtful[doubtful] = True
    competing = is_doubtful | is_doubtful[parent]
    competing[parent[doubtful]] = competing[near] = True
    competing[inside] |= len(near) > 0
    rows = np.sort(tree.points(np.flatnonzero(competing)))
    doubtful, near = np.sort(tree.points(doubtful)), np.sort(tree.points(near))
    asked = np.union1d(doubtful, near)
    distances = measured_rows(space, points, rows)
    found = general_locus(distances, np.searchsorted(rows, asked), tolerant=True)
    members, alone = rows[found.index], rows[found.unique_index]
    outside = np.intersect1d(members, near, assume_unique=True)
    wanted = set(np.union1d(outside, alone).tolist())
    return Blurred(
        outside,
        np.setdiff1d(doubtful, alone, assume_unique=True),
        {y: w for y, w in zip(members.tolist(), found.witnesses, strict=True) if y in wanted},
    )


def _hanging_near(tree: RootedTree, inside: NDArray[np.int64], limit: float) -> NDArray[np.int64]:
    """Return the positions outside the hull whose distance from the hull is at most `limit`."""
    try:
        from labelgrove.ontology.geometry.kernels.trees.hangingheights import hanging_heights
    except ImportError:
        raise MissingExtraError.of(
            "numba", "science", "computing the locus on a tree with very short edges"
        ) from None
    _, height = hanging_heights(tree.parent, tree.length, inside)
    height[inside] = np.inf
    return np.flatnonzero(height <= limit)
