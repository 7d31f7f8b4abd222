"""HullScorer: exact minimizers of F(y) = sum_i w_i d(y, l_i)^beta on a tree, for any exponent beta.

The hull of the observed labels is every vertex on a path between two of them. A vertex y outside the hull
hangs on some hull vertex x at a height h: the distance of y to every observed label is that of x plus h. Let
R be the largest distance between a hull vertex and an observed label. For each distance d from x to an
observed label, ``(d + h)^beta >= d^beta (1 + h / R)^beta``, and so ``F(y) >= F(x) (1 + h / R)^beta``. So y is
worse than x and does not tie with it, and only the labels of the hull have to be scored. There are two
exceptions: rounding may hide this factor (because edges are very short or beta is very small), or powers may
underflow. In both cases, every label is scored. Every label is also scored if more than one label is
requested. If candidates are given, exactly these are scored.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.geometry.arguments import index_array, refuse_other_than
from labelgrove.ontology.geometry.loci.hull import hull
from labelgrove.ontology.geometry.scoring.dense.densescorer import DenseScorer, RowsOnDemand
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, FrechetResult

__all__ = ["HullScorer"]

_STORED_ENTRIES = 1 << 24
_SMALLEST_LOG = -230.0  # log of a power: 1e-100 times a weight of 1e-150 is still a normal number


class HullScorer(DenseScorer):
    """Scores the allowed labels of a tree for any exponent, faster if every label is allowed.

    Parameters
    ----------
    space : TreeSpace
        The tree. If every label is allowed, usually only the hull is scored; the explanation at the top of
        this module lists the exceptions. Otherwise all allowed labels are scored.
    observed : array_like of shape (n_observed,), dtype=int
        Point indices of the observed labels, in the order of the columns of the weights.
    beta : float
        Exponent of the distances, positive.

    Notes
    -----
    If only the hull is scored, finding the best label takes O(n_hull * n_observed) time for each sample.
    Ranking several labels, ranking candidates and computing variances take longer: the distances of all
    labels are measured again for each batch of about a thousand samples.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    >>> HullScorer(line, [1, 3], beta=3).score([[1, 1], [9, 1]]).index
    array([2, 1])
    """

    def __init__(self, space: TreeSpace, observed: ArrayLike, *, beta: float) -> None:
        refuse_other_than(TreeSpace, "space", space, "or let make_scorer pick the scorer")
        points = index_array("observed", observed, space.n_points)
        super().__init__(RowsOnDemand(space, points), beta=beta)
        self._space, self._points = space, points

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights."""
        if top != 1 or candidates is not None or self._inside is None:
            return super().score_rows(given, top, candidates)
        labels, scorer = self._inside
        found = scorer.score_rows(given, top, None)
        return FrechetResult(labels[found.index], found.value, found.n_tied)

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        if self._inside is None:
            return super().tied_row(given)
        labels, scorer = self._inside
        return labels[scorer.tied_row(given)]

    @cached_property
    def _inside(self) -> tuple[NDArray[np.int64], DenseScorer] | None:
        """The labels of the hull and their scorer; None if labels outside the hull may be best or tied."""
        if self._space.allowed is not None:
            return None
        tree = self._space.tree
        positions = hull(tree, tree.positions(self._points))
        if len(positions) == len(tree):
            return None
        # R is at most the diameter of the hull, twice the greatest depth below its first vertex
        reach = 2 * float(tree.below(positions[0], positions).max())
        shortest = float(tree.length[1:].min())
        if self.beta * np.log(shortest) < _SMALLEST_LOG:
            return None
        factor = self.beta * np.log1p(shortest / 2 / reach) if reach else np.inf
        if factor <= 4 * TIE_RELATIVE + 16 * (self.n_observed + 64) * 2.0**-53:
            return None
        labels = np.sort(tree.points(positions))
        rows = RowsOnDemand(TreeSpace(self._space.points, tree, labels), self._points)
        stored = len(labels) * self.n_observed <= _STORED_ENTRIES
        return labels, DenseScorer(rows[slice(None)] if stored else rows, beta=self.beta)
