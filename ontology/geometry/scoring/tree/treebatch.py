"""Find the best vertex for each row of weights in a batch, on a tree with every label allowed."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.scoring.observedtree.skeleton import RunningMoments
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, plain_sums, powers, refuse_bad_rows

__all__ = ["Lowest", "NumpyTreeBatch", "TreeBatch", "tie_slack"]

Lowest = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]
"""The best vertex of each row, a rival that may be tied with it (-1: none), and whether the row is crowded.

Vertices are given as indices in ``Skeleton.chain``. A row is crowded if a neighbor of the best vertex or of
its rival is so near that rounding cannot tell the two apart: more vertices may then be tied.
"""


class TreeBatch(Protocol):
    """A batch of rows of weights; it finds the best vertex of each row on a tree with every label allowed."""

    def lowest(self) -> Lowest | None:
        """Return the best vertices and their rivals, as in `Lowest`.

        Returns None if `NumpyTreeBatch` has to search these rows instead.
        """
        ...

    def sums(self, place: NDArray[np.int64], sample: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return, for each i, the plain sum of sample ``sample[i]`` at vertex ``place[i]``.

        By default ``sample[i]`` is i.
        """
        ...


def tie_slack(observed: Observed) -> float:
    """Return the largest difference in F / W between two tied vertices, where F comes from running sums.

    F is the Fréchet variance of a vertex, W the total weight, n the number of observed labels, and the reach
    is `Skeleton.reach`. Rounding changes a moment (a sum of weights times depths) by at most n rounding units
    of ``W * reach``. It changes F, and the plain sums that decide about ties, by at most n rounding units of
    ``W * reach^2``.
    """
    return (2 * TIE_RELATIVE + 32 * (len(observed.at) + 8) * 2.0**-53) * observed.skeleton.reach**2


class NumpyTreeBatch:
    """A `TreeBatch` that needs only numpy.

    Parameters
    ----------
    observed : Observed
    nearest : ndarray of shape (n_chain,)
        Length of the shortest edge at each vertex of ``Skeleton.chain``.
    given : ndarray of shape (n_samples, n_observed)
        Weights in any real dtype.
    first : int
        The number that error messages give to row 0.

    Raises
    ------
    WeightError
        For rows that break the rule of `check_weights`.
    """

    def __init__(
        self, observed: Observed, nearest: NDArray[np.float64], given: NDArray[Any], first: int
    ) -> None:
        self._observed, self._nearest = observed, nearest
        self._columns = given.T.astype(np.float64, order="C")
        moved = observed.columns_moved
        self._running = RunningMoments(
            self._columns[observed.by_preorder] if moved else self._columns, observed.factors
        )
        refuse_bad_rows(given, self._running.total.real, first)

    def lowest(self) -> Lowest:
        """Return the best vertex of each row, and the vertex that may be tied with it; see `Lowest`."""
        place, other, gain, _ = self._observed.skeleton.descend(self._running)
        slack = tie_slack(self._observed)
        rival = np.where(gain <= slack, other, -1)
        near = self._nearest[place]
        near = np.minimum(near, np.where(rival >= 0, self._nearest[rival], near))
        return place, rival, near * near <= slack

    def sums(self, place: NDArray[np.int64], sample: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return, for each i, the plain sum of sample ``sample[i]`` at vertex ``place[i]``.

        By default ``sample[i]`` is i.
        """
        observed = self._observed
        distinct, which = np.unique(place, return_inverse=True)
        powered = powers(observed.tree.distances(observed.at, observed.skeleton.chain[distinct]), 2)
        columns = self._columns if sample is None else self._columns[:, sample]
        return plain_sums(columns, powered, which)
