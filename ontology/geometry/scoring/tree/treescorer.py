"""TreeScorer: exact Fréchet means (beta = 2, every label allowed) on a tree, without a distance matrix.

For a sample, let F be the Fréchet variance, W the total weight, and S the first moment about a vertex v: the
weighted sum of distances from v to the observed labels. Let B be the part of S that comes from the observed
labels at or below a child c of v. Then moving by t from v towards c changes F by ``2t(S - 2B) + W t^2``,
until the move passes an observed label or a branching of the paths to observed labels. Up to there F is a
parabola in t with its lowest point at ``t = (2B - S) / W``. This has four consequences:

* only observed labels and their lowest common ancestors matter: they form the *skeleton*, with at most
  ``2 * n_observed - 1`` nodes;
* in preorder, the labels at or below a child are an interval, so their weight and their B are differences
  of running sums;
* at most one child has ``B > S / 2`` and pulls the mean towards it; bisection finds this child;
* the descent stops at a node or within one skeleton edge; the best vertex is then this node, or the vertex of
  this edge nearest to the lowest point.

Rounding can leave two candidates, or more where edges are extremely short. A proven bound detects both cases,
and the plain sum decides (see `ontology.geometry.ties`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.scoring.observedtree.treebase import OnTree
from labelgrove.ontology.geometry.scoring.restricted.restrictedscorer import RestrictedTreeScorer
from labelgrove.ontology.geometry.scoring.tree.treebatch import Lowest, NumpyTreeBatch, TreeBatch, tie_slack
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace
from labelgrove.ontology.geometry.ties import (
    TIE_RELATIVE,
    FrechetResult,
    plain_sums,
    powers,
    tied,
)

__all__ = ["TreeScorer"]

_BATCH_ENTRIES = 1 << 20


class TreeScorer(OnTree):
    """Scores every label of a tree in O(n_observed) for each sample.

    The parameters are those of `OnTree`; every label of the tree is allowed. A `RestrictedTreeScorer` answers
    requests for more than one label or with candidates.

    Notes
    -----
    Preparation takes O(n_points + n_observed log n_observed) time and O(n_points) memory. It needs only
    numpy.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    >>> TreeScorer(line, [0, 4]).score([[1, 1], [3, 1], [1, 3]]).index
    array([2, 1, 3])
    """

    compiled_module = "labelgrove.ontology.geometry.scoring.tree.compiledtree"
    rehearsal = "tree_search"

    def __init__(self, space: TreeSpace, observed: ArrayLike, *, compiled: bool | None = None) -> None:
        super().__init__(space, observed, compiled=compiled)
        if space.allowed is not None:
            raise InputError(
                "space: some labels are not allowed; call make_scorer, which picks a scorer for such a space"
            )
        self._label = space.tree.points(self._observed.skeleton.chain)
        self._search: Any = None

    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score`; the caller has checked everything but the values of the weights."""
        if top != 1 or candidates is not None:
            return self._restricted.score_rows(given, top, candidates)
        result = FrechetResult(
            np.empty(len(given), dtype=np.int64),
            np.empty(len(given)),
            np.ones(len(given), dtype=np.int64),
        )
        step = max(1, _BATCH_ENTRIES // self.n_observed)
        for start in range(0, len(given), step):
            with self._compilation.timed():
                self._score_batch(given, slice(start, start + step), result)
        return result

    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row; the caller has checked all but the values of the row."""
        with self._compilation.timed():
            batch, (place, rival, crowded) = self._searched(given, 0)
        if crowded[0]:
            found, total = self._neighborhood(given[0], int(place[0]))
            return np.sort(self._space.tree.points(found[tied(total)]))
        found = np.concatenate([place, rival[rival >= 0]])
        total = batch.sums(found, np.zeros(len(found), dtype=np.int64))
        return np.sort(self._label[found[tied(total)]])

    def warm(self, top: int = 1) -> None:
        """Prepare all that requests for `top` labels need; see `Scorer.warm`."""
        super().warm(top) if top == 1 else self._restricted.warm(top)

    def _decision(self, module: Any, order: NDArray[np.int64] | None) -> Decision:
        search = module.CompiledTree(self._observed, self._nearest, order)
        decision: Decision = module.TreeDecision(search, self._label)
        return decision

    @cached_property
    def _restricted(self) -> RestrictedTreeScorer:
        return RestrictedTreeScorer(self._space, self._points)

    def _score_batch(self, given: NDArray[Any], of: slice, result: FrechetResult) -> None:
        batch, (place, rival, crowded) = self._searched(given[of], of.start)
        value = batch.sums(place)
        index, n_tied = self._label[place], np.ones(len(place), dtype=np.int64)
        pair = np.flatnonzero(rival >= 0)
        if len(pair):
            other, label = batch.sums(rival[pair], pair), self._label[rival[pair]]
            limit = np.minimum(value[pair], other) * (1 + TIE_RELATIVE)
            both = (value[pair] <= limit) & (other <= limit)
            first = np.where(both, label < index[pair], other < value[pair])
            n_tied[pair] += both
            index[pair[first]], value[pair[first]] = label[first], other[first]
        for s in np.flatnonzero(crowded).tolist():
            found, total = self._neighborhood(given[of.start + s], int(place[s]))
            among = tied(total)
            label = self._space.tree.points(found[among])
            best = np.argmin(label)
            index[s], value[s], n_tied[s] = label[best], total[among[best]], len(among)
        result.index[of], result.value[of], result.n_tied[of] = index, value, n_tied

    def _searched(self, given: NDArray[Any], first: int) -> tuple[TreeBatch, Lowest]:
        """Return the rows as a batch, and their best vertices; messages number the rows from `first`."""
        module = self._compilation.module()
        if module is not None:
            if self._search is None:
                self._search = module.CompiledTree(self._observed, self._nearest)
            batch: TreeBatch = module.CompiledTreeBatch(self._observed, self._search, given)
            found = batch.lowest()
            if found is not None:
                return batch, found
        plain = NumpyTreeBatch(self._observed, self._nearest, given, first)
        return plain, plain.lowest()

    @cached_property
    def _nearest(self) -> NDArray[np.float64]:
        """Length of the shortest edge at each vertex of `Skeleton.chain`, or a lower bound of this length.

        If all edges of the tree are so long that no row can be crowded (see `Lowest`), the length of the
        shortest edge of the tree is the bound for all vertices.
        """
        chain, parent = self._observed.skeleton.chain, self._space.tree.parent
        length = self._space.tree.length
        length[0] = np.inf
        least = float(length.min())
        if least * least > tie_slack(self._observed):
            return np.full(len(chain), least)
        nearest = length.copy()
        np.minimum.at(nearest, parent[1:], length[1:])
        return nearest[chain]

    def _neighborhood(self, row: NDArray[Any], place: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return a pair: vertices that include all tied vertices, and the plain sum at each of them.

        The vertices are returned as positions in the tree. The Fréchet variance F is convex along paths, so
        the vertices whose F is below a limit are connected. The search begins at the vertex with the index
        `place` in `Skeleton.chain`, and continues to the neighbors of every vertex whose sum is within the
        tolerance of the best sum so far.
        """
        column = row.astype(np.float64)[:, None]
        tree, at = self._space.tree, self._observed.at
        step = max(1, _BATCH_ENTRIES // self.n_observed)

        def sums(vertices: NDArray[np.int64]) -> NDArray[np.float64]:
            parts = [vertices[i : i + step] for i in range(0, len(vertices), step)]
            found = [plain_sums(column, powers(tree.distances(at, v), 2), np.arange(len(v))) for v in parts]
            return np.concatenate([np.zeros(0), *found])

        slack = (1 + TIE_RELATIVE) * (1 + 8 * (self.n_observed + 8) * 2.0**-53)
        found = frontier = self._observed.skeleton.chain[[place]]
        total = sums(found)
        while len(frontier):
            around = np.setdiff1d(self._neighbors(frontier), found)
            more = sums(around)
            found, total = np.concatenate([found, around]), np.concatenate([total, more])
            frontier = around[more <= total.min() * slack]
        return found, total

    def _neighbors(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        parent, begin, children = self._links
        below = [children[begin[v] : begin[v + 1]] for v in vertices.tolist()]
        return np.concatenate([parent[vertices], *below])

    @cached_property
    def _links(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The parent of each vertex, the index of its first child in the list of all children, and this list.

        The list contains the children of all vertices, vertex after vertex. The three arrays are built when a
        row is crowded (see `Lowest`) for the first time.
        """
        parent = self._space.tree.parent
        by_parent = np.argsort(parent[1:], kind="stable") + 1
        return parent, np.searchsorted(parent[by_parent], np.arange(len(parent) + 1)), by_parent
