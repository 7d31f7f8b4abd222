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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ontology.errors import InputError, WeightError
from ontology.geometry.densescorer import DenseScorer, RowsOnDemand
from ontology.geometry.rootedtree import RootedTree
from ontology.geometry.spaces import TreeSpace
from ontology.geometry.ties import TIE_RELATIVE, FrechetResult, plain_sums, powers, read_weights, tied

__all__ = ["TreeScorer"]

_BATCH_ENTRIES = 1 << 20
_BLOCK = 8
_WITHIN = np.arange(_BLOCK)[:, None]


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
        if space.allowed is not None:
            raise InputError("space: some labels are not allowed; make_scorer picks the scorer for that")
        self._space = space
        self._points = np.asarray(observed, dtype=np.int64)
        self._tree = space.tree
        self._at = self._tree.position[self._points]
        moved = bool((np.diff(self._at) < 0).any())
        self._by_preorder = np.argsort(self._at, kind="stable") if moved else None
        self._skeleton = _Skeleton.of(self._tree, np.sort(self._at))
        tree = self._tree
        nearest = tree.length.copy()
        nearest[0] = np.inf
        np.minimum.at(nearest, tree.parent[1:], tree.length[1:])
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
            Number of labels; more than one is answered from distance rows made on the fly.
        candidates : ndarray of int64, optional
            Labels that take part; a restriction is answered from distance rows made on the fly.

        Raises
        ------
        WeightError, InputError
            As for `DenseScorer.score`.
        """
        if top != 1 or candidates is not None:
            return self._dense.score(weights, top, candidates)
        given = read_weights(weights, self.n_observed)
        result = FrechetResult(
            np.empty(len(given), dtype=np.int64),
            np.empty(len(given)),
            np.ones(len(given), dtype=np.int64),
        )
        step = max(1, _BATCH_ENTRIES // self.n_observed)
        for start in range(0, len(given), step):
            of = slice(start, start + step)
            self._score_batch(given[of].T.astype(np.float64, order="C"), of, result)
        return result

    def tied(self, weights: ArrayLike) -> NDArray[np.int64]:
        """Return all labels tied with the best one, ascending; `weights` is one row."""
        given = read_weights(weights, self.n_observed)
        if len(given) != 1:
            raise WeightError(f"weights: {len(given)} rows given; a mean set is of one row")
        column = given.T.astype(np.float64)
        vertex, rival, crowded = self._lowest(column)
        if crowded[0]:
            found, total = self._neighbourhood(column, int(vertex[0]))
        else:
            found = np.concatenate([vertex, rival[rival >= 0]])
            total = self._totals(column, found)
        return np.sort(self._tree.order[found[tied(total)]])

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label, from distance rows made on the fly."""
        return self._dense.variance(weights)

    @cached_property
    def _dense(self) -> DenseScorer:
        return DenseScorer(RowsOnDemand(self._space, self._points))

    def _score_batch(self, columns: NDArray[np.float64], of: slice, result: FrechetResult) -> None:
        order = self._tree.order
        vertex, rival, crowded = self._lowest(columns)
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
        self, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the best vertex of each sample, a rival that may be tied (-1: none), and who is crowded.

        A sample is crowded where a neighbour of the best vertex or of its rival is so near that rounding
        cannot tell them apart.
        """
        skeleton = self._skeleton
        running = _RunningMoments(
            columns if self._by_preorder is None else columns[self._by_preorder], skeleton.label_depth
        )
        vertex, other, gain = skeleton.descend(running)
        # moments carry an error of n * 2^-53 of W * reach, F one of W * reach^2, and so does a tie
        slack = (2 * TIE_RELATIVE + 32 * (self.n_observed + 8) * 2.0**-53) * skeleton.reach**2
        rival = np.where(gain <= slack, other, -1)
        near = np.minimum(self._nearest[vertex], np.where(rival >= 0, self._nearest[rival], np.inf))
        return vertex, rival, near * near <= slack

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


class _RunningMoments:
    """Weight and first moment of the first k observed labels in preorder, for any k.

    Two levels: running sums over blocks, and the few columns within a block added up when asked for. That
    reads each weight once, where running sums over single columns would cost more than all the rest.

    Parameters
    ----------
    columns : ndarray of shape (n_observed, n_samples)
        Weights, observed labels in preorder.
    depth : ndarray of shape (n_observed,)
        Depth of each label.

    Attributes
    ----------
    total : ndarray of shape (n_samples,), dtype=complex128
        Weight (real) and moment (imaginary) of all labels.
    """

    def __init__(self, columns: NDArray[np.float64], depth: NDArray[np.float64]) -> None:
        n_observed, self._n_samples = columns.shape
        n_full = n_observed // _BLOCK
        n_even = n_full * _BLOCK
        padded = np.zeros((n_full + 1) * _BLOCK)
        padded[:n_observed] = depth
        self._depth = padded
        self._flat = columns.reshape(-1)
        full = columns[:n_even].reshape(n_full, _BLOCK, self._n_samples)
        rest = columns[n_even:]
        self._blocks = np.zeros((self._n_samples, n_full + 1), dtype=np.complex128)
        self._blocks.real[:, 1:] = full.sum(axis=1).T
        self._blocks.imag[:, 1:] = np.einsum(
            "gjs,gj->gs", full, depth[: n_full * _BLOCK].reshape(n_full, _BLOCK)
        ).T
        np.add.accumulate(self._blocks, axis=1, out=self._blocks)
        self.total = self._blocks[:, -1] + rest.sum(axis=0) + 1j * (depth[n_even:] @ rest)

    def before(self, position: NDArray[np.int64], sample: NDArray[np.int64]) -> NDArray[np.complex128]:
        """Return weight and moment of the labels before `position`, each for one sample."""
        block = position // _BLOCK
        column = block * _BLOCK + _WITHIN
        weight = self._flat.take(column * self._n_samples + sample, mode="clip")
        weight *= column < position
        found = self._blocks[sample, block]
        found.real += weight.sum(axis=0)
        found.imag += np.multiply(weight, self._depth[column], out=weight).sum(axis=0)
        return found


@dataclass(frozen=True)
class _Skeleton:
    """Observed labels and the vertices where their paths meet, as a tree of its own, in preorder.

    Attributes
    ----------
    depth : ndarray of shape (n_nodes,)
        Distance from the first node, the meeting point of all.
    length : ndarray of shape (n_nodes,)
        Distance from the parent node.
    low, high : ndarray of shape (n_nodes,), dtype=int64
        The observed labels below a node, itself included: an interval of their preorder.
    begin, child : ndarray, dtype=int64
        Children of node v: ``child[begin[v]:begin[v + 1]]``.
    chain : ndarray of shape (n_hull,), dtype=int64
        Every vertex on a path between observed labels, as a position in the tree, ascending.
    chain_first, chain_last : ndarray of shape (n_nodes,), dtype=int64
        The vertices from the parent node (exclusive) to the node itself stand there in `chain`.
    chain_depth : ndarray of shape (n_hull,)
        Distance from the first node.
    label_depth : ndarray of shape (n_observed,)
        Distance of each observed label from the first node, in preorder.
    reach : float
        No two vertices of the hull are farther apart.
    """

    depth: NDArray[np.float64]
    length: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    begin: NDArray[np.int64]
    child: NDArray[np.int64]
    chain: NDArray[np.int64]
    chain_first: NDArray[np.int64]
    chain_last: NDArray[np.int64]
    chain_depth: NDArray[np.float64]
    label_depth: NDArray[np.float64]
    reach: float

    @classmethod
    def of(cls, tree: RootedTree, labels: NDArray[np.int64]) -> _Skeleton:
        """Build the skeleton of `labels`, ascending positions."""
        nodes = np.unique(labels)
        nodes = np.unique(np.concatenate([nodes, _meeting(tree, nodes)]))
        parent = np.searchsorted(nodes, _meeting(tree, nodes))  # of every node but the first
        n_nodes = len(nodes)
        depth = tree.depth[nodes] - tree.depth[nodes[0]]
        length = np.zeros(n_nodes)
        length[1:] = tree.depth[nodes[1:]] - tree.depth[nodes[parent]]
        by_parent = np.argsort(parent, kind="stable")

        n_before = np.zeros(len(tree) + 1, dtype=np.int64)
        np.cumsum(np.bincount(labels, minlength=len(tree)), out=n_before[1:])
        top, end = int(nodes[0]), int(tree.end[nodes[0]])
        inside = n_before[tree.end[top:end]] > n_before[top:end]
        chain = np.flatnonzero(inside) + top
        chain_last = np.searchsorted(chain, nodes)
        # what lies between a node and its parent node stands before it without a gap: the way down is the
        # only one to observed labels, and its first vertex hangs on the parent node
        is_node = np.zeros(len(tree), dtype=bool)
        is_node[nodes] = True
        hangs_on_node = is_node[tree.parent[chain]]
        hangs_on_node[0] = True
        starts = np.flatnonzero(hangs_on_node)
        return cls(
            depth=depth,
            length=length,
            low=n_before[nodes],
            high=n_before[tree.end[nodes]],
            begin=np.searchsorted(parent[by_parent], np.arange(n_nodes + 1)),
            child=by_parent + 1,
            chain=chain,
            chain_first=starts[np.searchsorted(starts, chain_last, side="right") - 1],
            chain_last=chain_last,
            chain_depth=tree.depth[chain] - tree.depth[top],
            label_depth=tree.depth[labels] - tree.depth[top],
            reach=2 * float(depth.max()),
        )

    def descend(
        self, running: _RunningMoments
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the best vertex of each sample, the next best on its edge, and by how much F / W differs.

        Returns
        -------
        vertex, other : ndarray of shape (n_samples,), dtype=int64
            Positions in the tree; `other` repeats `vertex` where the descent ended at a node.
        gain : ndarray of shape (n_samples,)
            How much larger F / W is at `other`; infinite where the descent ended at a node.
        """
        total = running.total.real.copy()
        moment = running.total.imag.copy()  # about the node reached
        n_samples = len(total)
        node = np.zeros(n_samples, dtype=np.int64)
        edge = np.full(n_samples, -1, dtype=np.int64)  # the edge above this node holds the lowest point
        offset = np.zeros(n_samples)  # of the lowest point from the upper end of that edge
        start, end = (
            np.zeros(n_samples, dtype=np.complex128),
            running.total,
        )  # what lies before and to its end
        active = np.arange(n_samples) if len(self.child) else np.zeros(0, dtype=np.int64)
        while len(active):
            v, weight = node[active], total[active]
            c, start = self._pulling_child(running, active, v, start, end)
            end = running.before(self.high[c], active)
            below = end - start
            pull = below.imag - self.depth[v] * below.real
            t = (2 * pull - moment[active]) / weight
            onwards = t >= self.length[c]
            within = (t > 0) & ~onwards
            edge[active[within]] = c[within]
            offset[active[within]] = t[within]
            moment[active] += self.length[c] * (weight - 2 * below.real)
            node[active[onwards]] = c[onwards]
            onwards &= self.begin[c] < self.begin[c + 1]
            active, start, end = active[onwards], start[onwards], end[onwards]

        vertex = self.chain[self.chain_last[node]]
        other, gain = vertex.copy(), np.full(n_samples, np.inf)
        held = np.flatnonzero(edge >= 0)
        if len(held):
            vertex[held], other[held], gain[held] = self._on_edge(edge[held], offset[held], node[held])
        return vertex, other, gain

    def _pulling_child(
        self,
        running: _RunningMoments,
        sample: NDArray[np.int64],
        v: NDArray[np.int64],
        start: NDArray[np.complex128],
        end: NDArray[np.complex128],
    ) -> tuple[NDArray[np.int64], NDArray[np.complex128]]:
        """Return the child that holds the half-moment of what lies below each node, and what lies before it.

        Observed labels at the node itself stand first and have no moment about it.
        """
        z = self.depth[v]
        half = 0.5 * ((end - start).imag - z * (end - start).real)
        first, last = self.begin[v], self.begin[v + 1] - 1
        while len(wide := np.flatnonzero(first < last)):
            middle = (first[wide] + last[wide] + 1) >> 1
            before = running.before(self.low[self.child[middle]], sample[wide]) - start[wide]
            beyond = before.imag - z[wide] * before.real > half[wide]
            last[wide] = np.where(beyond, middle - 1, last[wide])
            first[wide] = np.where(beyond, first[wide], middle)
        c = self.child[first]
        return c, running.before(self.low[c], sample)

    def _on_edge(
        self, edge: NDArray[np.int64], offset: NDArray[np.float64], upper: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the vertex of each edge nearest to the lowest point, the one beyond it, and their gap."""
        wanted = self.depth[upper] + offset
        low, high = self.chain_first[edge], self.chain_last[edge]
        while (low < high).any():  # the first vertex of the chain at or below the lowest point
            middle = (low + high) >> 1
            deep = self.chain_depth[middle] >= wanted
            high = np.where(deep, middle, high)
            low = np.where(deep, low, np.minimum(middle + 1, high))
        start = low == self.chain_first[edge]
        above = np.where(start, self.chain_last[upper], low - 1)
        to_above = wanted - self.chain_depth[above]
        to_below = self.chain_depth[low] - wanted
        down = to_below < to_above
        gain = np.abs(to_below * to_below - to_above * to_above)
        vertex, other = np.where(down, low, above), np.where(down, above, low)
        return self.chain[vertex], self.chain[other], gain


def _meeting(tree: RootedTree, ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lowest common ancestor of each position and the next one."""
    if len(ascending) < 2:
        return ascending[:0]
    first, last = int(ascending[0]), int(ascending[-1])
    lowest: NDArray[np.int64] = np.minimum.reduceat(tree.parent[first : last + 1], ascending[:-1] + 1 - first)
    return lowest
