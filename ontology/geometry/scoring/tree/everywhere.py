"""The Fréchet variance of every vertex of a tree at once, for squared distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.rootedtree import RootedTree

__all__ = ["Everywhere"]


class Everywhere:
    """Computes the sum of weights times squared distances at every vertex of a tree.

    Parameters
    ----------
    tree : RootedTree
    at : ndarray of shape (n_observed,), dtype=int64
        Positions of the observed labels in preorder.

    Notes
    -----
    With depths D, the squared distance of v and i is ``(D[v] + D[i] - 2 D[m])**2``, where m is their lowest
    common ancestor. What depends on m adds up along the way from the root to v, and changes only at vertices
    with observed labels below them. So two running sums over preorder give it for all vertices:
    O(n + n_observed * depth) for each row.

    Examples
    --------
    >>> tree = RootedTree(np.array([-1, 0, 0]))
    >>> Everywhere(tree, np.array([1, 2])).variance(np.array([0.75, 0.25])).tolist()
    [1.0, 1.0, 3.0]
    """

    def __init__(self, tree: RootedTree, at: NDArray[np.int64]) -> None:
        self._column = np.argsort(at, kind="stable")
        self._n = len(tree)
        end, at = tree.end, at[self._column]
        before = np.zeros(self._n + 1, dtype=np.int32)
        np.cumsum(np.bincount(at, minlength=self._n), out=before[1:])
        way = np.flatnonzero(
            before[end] > before[:-1]
        )  # at or above an observed label; the root is the first
        self._way, self._end = way, end[way]
        self._low, self._high = before[way], before[self._end]
        top = way[self._high - self._low == len(at)].max()
        self._depth = tree.below(top, np.arange(self._n))  # a long stem above them all costs no precision
        self._at_depth = self._depth[at]
        self._here = self._depth[way]
        self._above = self._depth[tree.parent[way]]
        self._above[0] = 0.0  # the sums begin with the depth of the root itself

    def variance(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance at every vertex, by position in preorder.

        Rounding errors are those of sums as large as the largest variance.

        Parameters
        ----------
        weights : ndarray of shape (n_observed,), dtype=float64
            Checked weights of one row.
        """
        weights = weights[self._column]
        moments = [weights * self._at_depth**k for k in (0, 1, 2)]
        total, first, second = (float(moment.sum()) for moment in moments)
        running = [np.concatenate([[0.0], np.cumsum(moment)]) for moment in moments[:2]]
        below, moment = (sums[self._high] - sums[self._low] for sums in running)
        here, above = self._here, self._above
        once = (here - above) * below
        variance = self._along((here**2 - above**2) * below - (here - above) * moment)
        variance *= 4.0
        factor = self._along(once)
        factor *= -4.0
        factor += 2.0 * first
        factor += total * self._depth
        factor *= self._depth
        variance += factor
        variance += second
        return np.maximum(variance, 0.0, out=variance)

    def _along(self, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for every vertex, the sum of the changes on its way from the root."""
        steps = np.zeros(self._n + 1)
        steps[self._way] = change
        np.subtract.at(steps, self._end, change)
        return np.cumsum(steps[:-1])
