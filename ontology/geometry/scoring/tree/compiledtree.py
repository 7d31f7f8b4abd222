"""The search over all labels of a tree, compiled; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.rows.plainsums import sums_of_groups
from labelgrove.ontology.geometry.kernels.trees.lowestvertex import (
    CLEAR,
    CROWDED,
    REFUSED,
    STRIDE,
    find_lowest,
)
from labelgrove.ontology.geometry.scoring.decision import Decision, Found
from labelgrove.ontology.geometry.scoring.observedtree.compiledsums import sums_of_positions
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.scoring.tree.treebatch import Lowest, tie_slack
from labelgrove.ontology.geometry.ties import SURE_TOTALS

__all__ = ["CompiledTree", "CompiledTreeBatch", "TreeDecision"]


class CompiledTree:
    """The compiled search for the best vertices, with the tables that it reads.

    Parameters
    ----------
    observed : Observed
    nearest : ndarray of shape (n_chain,)
        Length of the shortest edge at each vertex of ``Skeleton.chain``.
    order : ndarray of shape (n_observed,), dtype=int64, optional
        For each observed label, its column in the rows; by default the columns are in the order of the
        observed labels.
    """

    def __init__(
        self, observed: Observed, nearest: NDArray[np.float64], order: NDArray[np.int64] | None = None
    ) -> None:
        skeleton, n_observed = observed.skeleton, len(observed.at)
        columns = observed.by_preorder if order is None else order[observed.by_preorder]
        if (columns == np.arange(n_observed)).all():
            columns = columns[:0]
        depth = np.zeros((n_observed // STRIDE + 1) * STRIDE)
        depth[:n_observed] = skeleton.label_depth
        by = np.concatenate([[0], skeleton.child])  # the root, then children, with siblings adjacent
        node = np.empty((len(by), 6), dtype=np.int32)
        node[:, 0], node[:, 1] = skeleton.low[by], skeleton.high[by]
        node[:, 2], node[:, 3] = skeleton.begin[by] + 1, skeleton.begin[by + 1] + 1
        node[:, 4], node[:, 5] = skeleton.chain_first[by], skeleton.chain_last[by]
        self._reach = skeleton.reach
        self._tables = (
            columns.astype(np.uint32),
            depth,
            node,
            skeleton.depth[by],
            skeleton.chain_depth,
            nearest,
            tie_slack(observed),
            SURE_TOTALS,
        )

    def lowest(
        self, rows: NDArray[Any], error: float = 0.0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the best vertex of each row, its rival, and the number of rows whose rival is not `CLEAR`.

        Vertices are given as indices in ``Skeleton.chain``. The rival is a vertex that may be tied with the
        best vertex, or one of three marks: `CLEAR` if there is no such vertex, `CROWDED` if there may be
        several, and `REFUSED` if the row may be invalid as weights. The best vertex of a refused row is
        undefined.

        `rows` must be float32 or float64, C-contiguous, aligned and writable. For any other kind of array,
        numba would compile the loops again. `error` is explained in `Decision.find`. Let l be the distance
        between two vertices. No weight changes the difference of their F / W by more than ``2 l reach`` times
        its own change, where F, W and the reach are those of `tie_slack`.
        """
        place, rival = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        return place, rival, find_lowest(rows, *self._tables, 2 * error * self._reach, place, rival)


class TreeDecision(Decision):
    """A `Decision` for trees with every label allowed, fast for single rows as well as large batches.

    Parameters
    ----------
    search : CompiledTree
        The search, built for the order of the columns of the rows.
    label : ndarray of shape (n_chain,), dtype=int64
        Index of the label at each vertex of ``Skeleton.chain``.
    """

    def __init__(self, search: CompiledTree, label: NDArray[np.int64]) -> None:
        self._search, self._label = search, label

    def find(self, rows: NDArray[Any], error: float) -> Found | None:
        """Return the labels that the weights decide, and the rows left open; see `Decision.find`."""
        place, rival, n_marked = self._search.lowest(rows, error)
        if n_marked and (rival == REFUSED).any():
            return None
        return self._label.take(place), np.flatnonzero(rival != CLEAR) if n_marked else None


class CompiledTreeBatch:
    """A `TreeBatch` whose inner loops are compiled.

    Parameters
    ----------
    observed : Observed
    search : CompiledTree
        The search for columns in the order of the observed labels.
    given : ndarray of shape (n_samples, n_observed)
        Weights in any real dtype; float32 and float64 are read as they are, float16 as float32.
    """

    def __init__(self, observed: Observed, search: CompiledTree, given: NDArray[Any]) -> None:
        self._observed, self._search = observed, search
        dtype = np.float32 if given.dtype in (np.float16, np.float32) else np.float64
        self._rows = np.require(given, dtype, ["C", "A", "W"])

    def lowest(self) -> Lowest | None:
        """Return the result of `TreeBatch.lowest`, or None if any row may be invalid as weights.

        If the result is None, the caller lets `NumpyTreeBatch` check and search the rows.
        """
        place, rival, n_marked = self._search.lowest(self._rows)
        if not n_marked:
            return place, rival, np.zeros(len(place), dtype=np.bool_)
        return None if (rival == REFUSED).any() else (place, np.maximum(rival, CLEAR), rival == CROWDED)

    def sums(self, place: NDArray[np.int64], sample: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return, for each i, the plain sum of sample ``sample[i]`` at vertex ``place[i]``.

        By default ``sample[i]`` is i.
        """
        observed, total = self._observed, np.empty(len(place))
        sample = np.arange(len(place)) if sample is None else sample
        by = np.argsort(place, kind="stable")
        if observed.tree.n_parts > 1:
            sums_of_positions(observed, self._rows, sample, observed.skeleton.chain[place], by, total)
            return total
        depth = observed.tree.depth_at(observed.skeleton.chain)  # where the paths to all labels turn
        sums_of_groups(
            self._rows,
            sample,
            place,
            by,
            depth,
            depth,
            observed.hull.low.astype(np.int32),
            observed.hull.high.astype(np.int32),
            observed.label_depth,
            observed.gap,
            observed.by_preorder.astype(np.uint32),
            total,
        )
        return total
