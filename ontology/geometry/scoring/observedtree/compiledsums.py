"""Plain sums at vertices of a tree, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import plain_sums, sums_of_groups
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.ties import powers

__all__ = ["GroupSums", "sums_of_positions"]

_BLOCK_ENTRIES = 1 << 20


class GroupSums:
    """Plain sums at groups of labels that have the same distances to all observed labels.

    Parameters
    ----------
    observed : Observed
    position : ndarray of shape (n_groups,)
        Position in the tree of one label of each group.
    on : ndarray of shape (n_groups,)
        The vertex of the hull that the group hangs on, as an index in the hull.
    turn : ndarray of shape (n_groups,)
        Position of the vertex where the path from the label to the hull turns downwards.
    """

    def __init__(
        self,
        observed: Observed,
        position: NDArray[np.integer],
        on: NDArray[np.integer],
        turn: NDArray[np.integer],
    ) -> None:
        self._observed, self._position = observed, position
        hull, tree = observed.hull, observed.tree
        self._tables = (
            tree.depth_at(position),
            tree.depth_at(turn),
            on.astype(np.int32),
            hull.parent.astype(np.int32),
            hull.low.astype(np.int32),
            hull.high.astype(np.int32),
            tree.depth_at(hull.vertex),
            hull.steps,
            observed.label_depth,
            observed.by_preorder[: len(observed.at) * observed.columns_moved].astype(np.uint32),
        )

    def at(
        self, weights: NDArray[Any], sample: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the plain sum of each pair of a row of `weights` and a group; measure each group once."""
        total, by = np.empty(len(group)), np.argsort(group, kind="stable")
        if self._observed.tree.n_parts > 1:
            sums_of_positions(self._observed, weights, sample, self._position[group], by, total)
        else:
            sums_of_groups(weights, sample, group, by, *self._tables, total)
        return total


def sums_of_positions(
    observed: Observed,
    weights: NDArray[Any],
    sample: NDArray[np.int64],
    position: NDArray[np.integer],
    by: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write to `out`, for each i, the plain sum of sample ``sample[i]`` at the vertex ``position[i]``.

    Vertices are given as positions in the tree. `by` lists every i, in an order that makes equal positions
    adjacent.
    """
    step = max(1, _BLOCK_ENTRIES // len(observed.at))
    for start in range(0, len(by), step):
        part = by[start : start + step]
        distinct, which = np.unique(position[part], return_inverse=True)
        sums = np.empty(len(part))
        powered = powers(observed.tree.distances(distinct.astype(np.int64), observed.at), 2)
        plain_sums(weights, powered, sample[part], which, sums)
        out[part] = sums
