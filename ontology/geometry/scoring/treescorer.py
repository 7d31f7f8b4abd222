"""TreeScorer: exact Fréchet means (beta = 2, every label allowed) on a tree, without a distance matrix.

Write F for the Fréchet variance, W for a sample's total weight and S for its first moment about a vertex v,
the weighted sum of distances to the observed labels. Let B be the part of S that lies below a child c. Then
moving t from v towards c changes F by ``2t(S - 2B) + W t^2``, as long as no observed label and no branching
is passed: on such a stretch F is a parabola with its lowest point ``(2B - S) / W`` beyond v. Hence:

* only observed labels and the vertices where their paths meet matter: the *skeleton*, at most
  ``2 * n_observed - 1`` nodes;
* in preorder, what lies below a node is an interval, so W and B of a child are differences of running sums;
* only the child that holds the half-moment can pull the mean towards it; bisection finds it;
* the descent stops at a node or within one skeleton edge, and the best vertex is then the node, or the vertex
  of that edge nearest to the lowest point.

Rounding can leave two candidates, or more where edges are extremely short; both are noticed against a proven
bound, and decided by the plain sum (see `ontology.geometry.ties`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ontology.errors import InputError
from ontology.geometry.arguments import index_array, refuse_other_than
from ontology.geometry.scoring.densescorer import DenseScorer, RowsOnDemand
from ontology.geometry.scoring.ranking import check_choice, check_one_row
from ontology.geometry.scoring.restrictedscorer import RestrictedTreeScorer
from ontology.geometry.scoring.skeleton import Factors, RunningMoments, Skeleton
from ontology.geometry.spaces import TreeSpace
from ontology.geometry.ties import (
    TIE_RELATIVE,
    FrechetResult,
    plain_sums,
    powers,
    refuse_bad_rows,
    shaped_weights,
    tied,
)

__all__ = ["TreeScorer"]

_BATCH_ENTRIES = 1 << 20


class TreeScorer:
    """Scores every label of a tree in O(n_observed) for each sample.

    Parameters
    ----------
    space : TreeSpace
        A tree with every label allowed.
    observed : array_like of shape (n_observed,), dtype=int
        Point indices of the observed labels, in the order of the columns of the weights. One that stands
        twice counts twice.

    Notes
    -----
    Preparation is O(n_points + n_observed log n_observed) time and O(n_points) memory, numpy alone.

    Examples
    --------
    >>> from ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    >>> TreeScorer(line, [0, 4]).score([[1, 1], [3, 1], [1, 3]]).index
    array([2, 1, 3])
    """

    def __init__(self, space: TreeSpace, observed: ArrayLike) -> None:
        refuse_other_than(TreeSpace, "space", space, "make_scorer picks the scorer for any other")
        if space.allowed is not None:
            raise InputError("space: some labels are not allowed; make_scorer picks the scorer for that")
        self._space = space
        self._points = index_array("observed", observed, space.n_points)
        if not len(self._points):
            raise InputError("observed: empty; name at least one observed label")
        self._tree = space.tree
        self._at = self._tree.position[self._points]
        moved = bool((np.diff(self._at) < 0).any())
        self._by_preorder = np.argsort(self._at, kind="stable") if moved else None
        self._skeleton = Skeleton.of(self._tree, np.sort(self._at))
        self._factors = Factors.of(self._skeleton.label_depth)
        tree = self._tree
        nearest = tree.depth - tree.depth[tree.parent]  # as distances have it: far from the root, perhaps 0
        nearest[0] = np.inf
        np.minimum.at(nearest, tree.parent[1:], nearest[1:].copy())
        self._nearest = nearest  # length of the shortest edge at each vertex

    @property
    def n_observed(self) -> int:
        """Number of columns of the weights."""
        return len(self._points)

    def score(
        self, weights: ArrayLike, top: int = 1, candidates: NDArray[np.int64] | None = None
    ) -> FrechetResult:
        """Return the best labels of each sample.

        Parameters
        ----------
        weights : array_like of shape (n_samples, n_observed) or (n_observed,)
            Non-negative; rows need not sum to one.
        top : int, default=1
            Number of labels, best first; more than one is answered by a `RestrictedTreeScorer`.
        candidates : ndarray of int64, optional
            Labels that take part; a restriction is answered by a `RestrictedTreeScorer`.

        Raises
        ------
        WeightError, InputError
            As for `DenseScorer.score`.
        """
        check_choice(top, None, self._space.n_labels)
        if top != 1 or candidates is not None:
            return self._restricted.score(weights, top, candidates)
        given = shaped_weights(weights, self.n_observed)
        result = FrechetResult(
            np.empty(len(given), dtype=np.int64),
            np.empty(len(given)),
            np.ones(len(given), dtype=np.int64),
        )
        step = max(1, _BATCH_ENTRIES // self.n_observed)
        for start in range(0, len(given), step):
            of = slice(start, start + step)
            self._score_batch(given, of, result)
        return result

    def tied(self, weights: ArrayLike) -> NDArray[np.int64]:
        """Return all labels tied with the best one, ascending; `weights` is one row."""
        given = shaped_weights(weights, self.n_observed)
        check_one_row(len(given))
        column, vertex, rival, crowded = self._lowest(given, slice(0, 1))
        if crowded[0]:
            found, total = self._neighbourhood(column, int(vertex[0]))
        else:
            found = np.concatenate([vertex, rival[rival >= 0]])
            total = self._totals(column, found)
        return np.sort(self._tree.order[found[tied(total)]])

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label, from distance rows made on the fly."""
        return DenseScorer(RowsOnDemand(self._space, self._points)).variance(weights)

    @cached_property
    def _restricted(self) -> RestrictedTreeScorer:
        return RestrictedTreeScorer(self._space, self._points)

    def _score_batch(self, given: NDArray[Any], of: slice, result: FrechetResult) -> None:
        order = self._tree.order
        columns, vertex, rival, crowded = self._lowest(given, of)
        value = self._totals(columns, vertex)
        index, n_tied = order[vertex], np.ones(len(vertex), dtype=np.int64)
        pair = np.flatnonzero(rival >= 0)
        if len(pair):
            other = self._totals(columns[:, pair], rival[pair])
            limit = np.minimum(value[pair], other) * (1 + TIE_RELATIVE)
            both = (value[pair] <= limit) & (other <= limit)
            first = np.where(both, order[rival[pair]] < index[pair], other < value[pair])
            n_tied[pair] += both
            take = pair[first]
            index[take], value[take] = order[rival[take]], other[first]
        for s in np.flatnonzero(crowded).tolist():
            found, total = self._neighbourhood(columns[:, s : s + 1], int(vertex[s]))
            among = tied(total)
            best = among[np.argmin(order[found[among]])]
            index[s], value[s], n_tied[s] = order[found[best]], total[best], len(among)
        result.index[of], result.value[of], result.n_tied[of] = index, value, n_tied

    def _lowest(
        self, given: NDArray[Any], of: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return columns of weights, best vertices, rivals that may be tied (-1: none), and who is crowded.

        A sample is crowded where a neighbour of the best vertex or of its rival is so near that rounding
        cannot tell them apart.
        """
        skeleton = self._skeleton
        columns = given[of].T.astype(np.float64, order="C")
        running = RunningMoments(
            columns if self._by_preorder is None else columns[self._by_preorder], self._factors
        )
        refuse_bad_rows(given[of], running.total.real, of.start)
        vertex, other, gain, _ = skeleton.descend(running)
        # moments carry an error of n * 2^-53 of W * reach, F one of W * reach^2, and so does a tie
        slack = (2 * TIE_RELATIVE + 32 * (self.n_observed + 8) * 2.0**-53) * skeleton.reach**2
        rival = np.where(gain <= slack, other, -1)
        near = np.minimum(self._nearest[vertex], np.where(rival >= 0, self._nearest[rival], np.inf))
        return columns, vertex, rival, near * near <= slack

    def _totals(self, columns: NDArray[np.float64], vertex: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the plain sum of each sample at its vertex; one sample serves any number of vertices."""
        distinct, which = np.unique(vertex, return_inverse=True)
        powered = powers(self._tree.distances(self._at, distinct), 2)
        return plain_sums(columns, powered, which)

    def _neighbourhood(
        self, column: NDArray[np.float64], vertex: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return vertices among which all tied ones are, and their plain sums.

        F is convex along paths, so the vertices below any level hang together: walk from `vertex` over
        neighbours for as long as they are within the tolerance of the best seen.
        """
        slack = (1 + TIE_RELATIVE) * (1 + 8 * (self.n_observed + 8) * 2.0**-53)
        found = np.array([vertex])
        total = self._totals(column, found)
        frontier = found
        while len(frontier):
            around = np.setdiff1d(self._neighbours(frontier), found)
            sums = np.empty(len(around))
            step = max(1, _BATCH_ENTRIES // self.n_observed)
            for start in range(0, len(around), step):
                sums[start : start + step] = self._totals(column, around[start : start + step])
            found, total = np.concatenate([found, around]), np.concatenate([total, sums])
            frontier = around[sums <= total.min() * slack]
        return found, total

    def _neighbours(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        begin, children = self._children
        below = [children[begin[v] : begin[v + 1]] for v in vertices.tolist()]
        return np.concatenate([self._tree.parent[vertices], *below])

    @cached_property
    def _children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        parent = self._tree.parent
        by_parent = np.argsort(parent[1:], kind="stable") + 1
        return np.searchsorted(parent[by_parent], np.arange(len(parent) + 1)), by_parent
