"""The search over all labels of a tree, compiled; importing this module loads numba."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.kernels.trees.lowestvertex import (
    CLEAR,
    CROWDED,
    REFUSED,
    find_lowest,
)
from labelgrove.ontology.geometry.scoring.decision import Decision, Found
from labelgrove.ontology.geometry.scoring.observedtree.compileddescent import compiled_descent
from labelgrove.ontology.geometry.scoring.observedtree.compiledsums import GroupSums
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
        self._observed, self._reach = observed, observed.skeleton.reach
        self._tables = (
            *compiled_descent(observed, order),
            nearest,
            tie_slack(observed),
            SURE_TOTALS,
        )

    @cached_property
    def sums(self) -> GroupSums:
        """The plain sums at the vertices of ``Skeleton.chain``, each of which is a group."""
        chain = self._observed.skeleton.chain
        return GroupSums(self._observed, chain, np.arange(len(chain)), chain)

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
        sample = np.arange(len(place)) if sample is None else sample
        return self._search.sums.at(self._rows, sample, place)
