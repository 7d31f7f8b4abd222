"""The skeleton of observed labels in a tree, and the descent over it to the Fréchet mean.

`ontology.geometry.scoring.tree.treescorer` explains the algorithm. This module contains its two parts:
running sums over the observed labels in preorder, and the skeleton, a smaller tree that all samples descend
together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.paths.rootedtree import RootedTree

__all__ = ["Factors", "RunningMoments", "Skeleton"]

_BLOCK_BITS = 3
_BLOCK = 1 << _BLOCK_BITS
_WITHIN = np.arange(_BLOCK)[:, None]
_BEFORE = (np.arange(_BLOCK) > _WITHIN).astype(np.float64)
"""A row for each label of a block; column k contains 1 for the first k labels and 0 for the others."""


@dataclass(frozen=True)
class Factors:
    """Factors by which weights are multiplied before `RunningMoments` adds them.

    The factors depend only on the observed labels, which are listed in preorder.

    Attributes
    ----------
    block : ndarray of shape (n_blocks, 2, _BLOCK)
        Two factors for the weight of each label: 1, because a running weight is a sum of weights; and the
        depth of the label, because a running moment is a sum of weights times depths. Each block has the
        factors of `_BLOCK` labels; the last block is padded.
    depth : ndarray of shape (n_blocks * _BLOCK,)
        Depth of each label, padded with zeros.
    """

    block: NDArray[np.float64]
    depth: NDArray[np.float64]

    @classmethod
    def of(cls, depth: NDArray[np.float64]) -> Factors:
        """Build the factors from the depths of the observed labels, which are listed in preorder."""
        block = np.ones((len(depth) // _BLOCK + 1, 2, _BLOCK))
        padded = np.zeros(len(block) * _BLOCK)
        padded[: len(depth)] = depth
        block[:, 1] = padded.reshape(-1, _BLOCK)
        return cls(block, padded)


class RunningMoments:
    """Running weight and running moment of the observed labels, for every sample of a batch.

    The labels are in preorder. For any k, the running weight is the sum of the weights of the first k labels,
    and the running moment is the sum of their weights times their depths. The sums up to the end of each
    block of labels are stored; the few labels within a block are added when needed. Computing the stored sums
    reads each weight once. Storing a running sum after every label would take longer than the rest of the
    search.

    Parameters
    ----------
    columns : ndarray of shape (n_observed, n_samples)
        Weights, with the observed labels in preorder; not yet checked for NaN and infinity.
    factors : Factors
        Factors of the same labels.

    Attributes
    ----------
    total : ndarray of shape (n_samples,), dtype=complex128
        Weight (real) and moment (imaginary) of all labels.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, columns: NDArray[np.float64], factors: Factors) -> None:
        n_observed, n_samples = columns.shape
        n_full, n_rest = divmod(n_observed, _BLOCK)
        full = columns[: n_observed - n_rest].reshape(n_full, _BLOCK, n_samples)
        sums = factors.block[:-1] @ full
        blocks = np.zeros((n_samples, n_full + 1), dtype=np.complex128)
        blocks.real[:, 1:] = sums[:, 0].T
        blocks.imag[:, 1:] = sums[:, 1].T
        np.add.accumulate(blocks, axis=1, out=blocks)
        weight, moment = factors.block[-1, :, :n_rest] @ columns[n_observed - n_rest :]
        self.total = blocks[:, -1] + weight + 1j * moment
        self._blocks, self._n_blocks = blocks.reshape(-1), n_full + 1
        self._columns, self._n_samples = columns.reshape(-1), n_samples
        self._within = _WITHIN * n_samples
        self._factors = factors

    def before(self, position: NDArray[np.int64], sample: NDArray[np.int64]) -> NDArray[np.complex128]:
        """Return sums over the first ``position[i]`` labels in preorder, for each i.

        Each sum is a complex number: its real part is the total weight of these labels in sample
        ``sample[i]``, and its imaginary part their moment, the total of weight times depth. `position` and
        `sample` have the same shape.
        """
        block = position >> _BLOCK_BITS
        found: NDArray[np.complex128] = self._blocks.take(sample * self._n_blocks + block)
        start = block << _BLOCK_BITS
        first = start * self._n_samples + sample
        weight = self._columns.take(first + self._within, mode="clip")  # past the last label: factor 0
        weight *= _BEFORE.take(position - start, axis=1)
        moment = self._factors.depth.take(start + _WITHIN)
        moment *= weight
        found.real += weight.sum(axis=0)
        found.imag += moment.sum(axis=0)
        return found


@dataclass(frozen=True)
class Skeleton:
    """A small tree of the observed labels and their lowest common ancestors, with nodes in preorder.

    Attributes
    ----------
    depth : ndarray of shape (n_nodes,)
        Distance from the first node, the lowest common ancestor of all observed labels.
    length : ndarray of shape (n_nodes,)
        Distance from the parent node.
    low, high : ndarray of shape (n_nodes,), dtype=int64
        Observed labels are numbered in preorder. Those at or below node v are ``low[v], ..., high[v] - 1``.
    begin, child : ndarray, dtype=int64
        Children of node v: ``child[begin[v]:begin[v + 1]]``.
    chain : ndarray of shape (n_hull,), dtype=int64
        Every vertex on a path between observed labels, as a position in the tree, ascending.
    chain_first, chain_last : ndarray of shape (n_nodes,), dtype=int64
        Index in `chain` of the first and of the last vertex on the path from the parent node to the node; the
        path does not include the parent node.
    chain_depth : ndarray of shape (n_hull,)
        Distance of each vertex of `chain` from the first node.
    label_depth : ndarray of shape (n_observed,)
        Distance of each observed label from the first node, in preorder.
    reach : float
        Upper bound of the distance between two vertices of the hull.
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
    def of(cls, tree: RootedTree, labels: NDArray[np.int64]) -> Skeleton:
        """Build the skeleton of the observed `labels`, given as ascending positions in `tree`."""
        nodes = np.unique(labels)
        nodes = np.unique(np.concatenate([nodes, _meeting(tree, nodes)]))
        parent = np.searchsorted(nodes, _meeting(tree, nodes))  # of every node except the first
        n_nodes = len(nodes)
        top, tree_end = int(nodes[0]), tree.end
        length = np.zeros(n_nodes)
        length[1:] = tree.below(nodes[parent], nodes[1:])
        depth = tree.below(top, nodes)
        by_parent = np.argsort(parent, kind="stable")

        n_before = np.zeros(len(tree) + 1, dtype=np.int64)
        np.cumsum(np.bincount(labels, minlength=len(tree)), out=n_before[1:])
        end = int(tree_end[top])
        inside = n_before[tree_end[top:end]] > n_before[top:end]
        chain = np.flatnonzero(inside) + top
        chain_last = np.searchsorted(chain, nodes)
        # the vertices between a node and its parent node come directly before the node: only this path leads
        # down to observed labels, and its first vertex is a child of the parent node
        is_node = np.zeros(len(tree), dtype=bool)
        is_node[nodes] = True
        hangs_on_node = is_node[tree.parent[chain]]
        hangs_on_node[0] = True
        starts = np.flatnonzero(hangs_on_node)
        return cls(
            depth=depth,
            length=length,
            low=n_before[nodes],
            high=n_before[tree_end[nodes]],
            begin=np.searchsorted(parent[by_parent], np.arange(n_nodes + 1)),
            child=by_parent + 1,
            chain=chain,
            chain_first=starts[np.searchsorted(starts, chain_last, side="right") - 1],
            chain_last=chain_last,
            chain_depth=tree.below(top, chain),
            label_depth=tree.below(top, labels),
            reach=2 * float(depth.max()),
        )

    def descend(
        self, running: RunningMoments
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Find, for each sample, the best vertex and the next best vertex on the same skeleton edge.

        The best vertex is the one with the smallest Fréchet variance F; W is the total weight of the sample.
        The search descends the skeleton: it starts at the first node of the skeleton and ends at a node or
        within an edge. Only a search that ends within an edge finds a next best vertex.

        Returns
        -------
        place, other : ndarray of shape (n_samples,), dtype=int64
            The best and the next best vertex, as indices in `chain`. `other` equals `place` if the search
            ended at a node instead of within an edge.
        gain : ndarray of shape (n_samples,)
            F / W at `other` minus F / W at `place`; infinite if the search ended at a node.
        moment : ndarray of shape (n_samples,)
            First moment about the vertex `place`: the weighted sum of its distances to the observed labels.
        """
        total = running.total.real.copy()
        moment = running.total.imag.copy()  # about the current node
        n_samples = len(total)
        node = np.zeros(n_samples, dtype=np.int64)
        edge = np.full(n_samples, -1, dtype=np.int64)  # the edge above this node holds the lowest point
        offset = np.zeros(n_samples)  # from the upper end of that edge to the lowest point
        growth = np.zeros(n_samples)  # growth of the moment along that edge
        start, end = (
            np.zeros(n_samples, dtype=np.complex128),
            running.total,
        )  # the sums before the node and up to its end
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
            growth[active[within]] = (weight - 2 * below.real)[within]
            moment[active] += np.where(onwards, self.length[c] * (weight - 2 * below.real), 0.0)
            node[active[onwards]] = c[onwards]
            onwards &= self.begin[c] < self.begin[c + 1]
            active, start, end = active[onwards], start[onwards], end[onwards]

        place = self.chain_last[node]
        other, gain = place.copy(), np.full(n_samples, np.inf)
        held = np.flatnonzero(edge >= 0)
        if len(held):
            place[held], other[held], gain[held] = self._on_edge(edge[held], offset[held], node[held])
        moment += growth * (self.chain_depth[place] - self.depth[node])
        return place, other, gain, moment

    def _pulling_child(
        self,
        running: RunningMoments,
        sample: NDArray[np.int64],
        v: NDArray[np.int64],
        start: NDArray[np.complex128],
        end: NDArray[np.complex128],
    ) -> tuple[NDArray[np.int64], NDArray[np.complex128]]:
        """Return, for each node in `v`, the child to which `descend` may go on, and two running sums.

        The Fréchet variance can fall only towards this child: it rises towards every other child. To find the
        child, consider the observed labels at or below the node. Multiply the weight of each label by its
        distance from the node, and add up these products in preorder. At some label, the sum passes half of
        its final value. The child has this label in its subtree. (Observed labels at the node itself come
        first, and their products are 0.)

        The two running sums are stored as one complex number. They are the weight and the moment (weight
        times depth) of all observed labels before the first one in the child's subtree.
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
        """Return, for each sample, the best and the next best vertex of one skeleton edge.

        Also return by how much F / W differs between the two, where F is the Fréchet variance and W the total
        weight of the sample. The edge of sample i joins the node ``upper[i]`` to its child ``edge[i]``. F
        has its lowest point on the edge at the distance ``offset[i]`` from the upper end. The two
        vertices are the neighbors of this point, and the best is the nearer one. Vertices are returned as
        indices in `chain`.
        """
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
        return vertex, other, gain


def _meeting(tree: RootedTree, ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lowest common ancestor of each position in `ascending` and the next position in it."""
    if len(ascending) < 2:
        return ascending[:0]
    first, last = int(ascending[0]), int(ascending[-1])
    lowest: NDArray[np.int64] = np.minimum.reduceat(tree.parent[first : last + 1], ascending[:-1] + 1 - first)
    return lowest
