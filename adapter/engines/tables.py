"""Find the Fréchet mean with a few array operations, for engines that cannot run our compiled kernels.

`adapter.engines.arrays`, `adapter.torch` and `adapter.onnx` share this module: the constants of an adapter
(`TreeTable`, `DenseTable`) and the arithmetic on them, written for the Python array API standard. The
arithmetic has no loops over samples or labels. Of the sizes of its arrays, only one depends on the values of
the weights: the number of finalists.

**Trees.** The skeleton is the tree of the observed labels and of the vertices where paths between them meet.
Its first node is its root. Let v be a node, D the depth of v below the root, Dp the depth of the parent of v,
and ``length`` the length of the edge between v and its parent. An observed label is itself at a node; if it
has weight w and that node has depth D, its moment is ``w D``. Let m0 be the sum of the weights, and m1 the
sum of the moments, of the observed labels at or below v; both are differences of running sums in preorder.
Let W, A1 and A2 be the sums of ``w``, ``w D`` and ``w D^2`` over all observed labels. Let P1 be the sum of
``length * m0``, and P2 the sum of ``(D^2 - Dp^2) m0 - length * m1``, over the edges of the path from the
first node down to v. Then::

    S(v) = W D + A1 - 2 P1                            first moment
    F(v) = W D^2 + 2 D A1 + A2 - 4 D P1 + 4 P2        Fréchet variance

The sums over such paths are running sums over the nodes in preorder: an edge is added at its lower node and
subtracted where the subtree of that node ends. Now let a label hang at height h on a vertex of the edge from
a node p to its child c, at a distance t below p. Its Fréchet variance is
``F(p) + 2 (t + h) S(p) + (t + h)^2 W - 4 t (B + h m0)``, where m0 is that of c, and B is the moment about p
of the weights at or below c. A complete space is a star whose edges have length one half and whose hub is not
an answer.

**Blocks.** The variances are the product of the weights and the squared distances.

Both computations only exclude labels that cannot win even if the rounding error is as large as its proven
bound. The plain sum and the tie rule of `ontology.geometry` decide among the finalists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.outputs.outputkinds import LARGEST_LOG, OutputKind
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import TreeSpace
from labelgrove.ontology.geometry.paths.exactsums import narrowed
from labelgrove.ontology.geometry.paths.rootedtree import RootedTree
from labelgrove.ontology.geometry.scoring.observedtree.observedlabels import Observed
from labelgrove.ontology.geometry.scoring.restricted.hanging import Hanging
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, TOTALS

__all__ = [
    "DecisionTable",
    "DenseTable",
    "TreeTable",
    "arrays_of",
    "blocks",
    "converted",
    "decide",
    "fair_limits",
    "fair_samples",
    "table_of",
    "weights_of",
]

_SAFETY = 10.0
_DIGITS = 53
_BLOCK_ENTRIES = 1 << 22
_LIMITS = {64: TOTALS, 32: (1e-20, 1e20)}


@dataclass(frozen=True)
class TreeTable:
    """Constant arrays from which the Fréchet mean on a tree is computed for any weights.

    They contain O(n_labels + n_observed log n_observed) numbers. Each field is an array of the engine; the
    parentheses give its shape.

    Attributes
    ----------
    columns : (n_observed,)
        The model's columns in preorder of their labels; the other arrays of observed labels have this order.
    label_depth : (n_observed,)
        Depth of each observed label below the first vertex of the hull.
    low, last : (n_nodes,)
        For each node of the skeleton, the first and the last of the observed labels at or below it, as
        indices into `columns`.
    parent, depth, length, squares : (n_nodes,)
        For each node: the parent node (the first node is its own parent), D, the length of the edge to the
        parent, and ``D^2 - Dp^2``.
    by_end, n_ended : (n_nodes,)
        Nodes in the order in which their subtrees end, and the number of subtrees that end before each node.
    group_on, group_offset, group_height : (n_groups,)
        For each group of labels that hang on the same vertex at the same height: the nearest node at or below
        that vertex, the distance of the vertex from the node's parent, and the height.
    group : (n_labels,)
        Group of each label.
    on, offset, height : (n_candidates,)
        The entries of `group_on`, `group_offset` and `group_height` for the candidates only. A candidate is a
        group that can win; candidates are ordered by their first label.
    spread : (n_candidates,)
        Factor of the rounding error of each candidate, ``(reach + height)^2``, where reach bounds the
        distance between any two vertices of the hull.
    label : (n_candidates,)
        First label of each candidate.
    turn : (n_candidates,)
        For each candidate, the highest vertex of its path to the hull (where the path turns downwards, if it
        does), as an index into `turn_depth`.
    point_depth, observed_depth, turn_depth : (n_parts * n_candidates,), (n_parts * n_observed,), ...
        Depths in the whole tree of the candidates, of the observed labels, and of all vertices where paths
        turn. The vertices where paths turn are in preorder. Each depth is stored as `n_parts` numbers whose
        sum is the depth (see `ontology.geometry.paths.exactsums`), so that the engine computes differences of
        depths exactly. An array contains the first number of every depth, then the second number of every
        depth, and so on.
    lowest : (n_levels * n_observed,)
        One row for each level, with an entry for each observed label: the lowest common ancestor of this
        label and of the next 2^level observed labels in preorder, as an index into `turn_depth`.
    power, level_start : (n_observed + 1,)
        The index into both arrays is the number of steps from one observed label to a later one in preorder,
        where each step goes to the next observed label. `power` contains the largest power of two that is at
        most this number (1 for no step). `level_start` contains the index in `lowest` where the row for that
        power begins.
    """

    columns: Any
    label_depth: Any
    low: Any
    last: Any
    parent: Any
    depth: Any
    length: Any
    squares: Any
    by_end: Any
    n_ended: Any
    group_on: Any
    group_offset: Any
    group_height: Any
    group: Any
    on: Any
    offset: Any
    height: Any
    spread: Any
    label: Any
    turn: Any
    point_depth: Any
    observed_depth: Any
    turn_depth: Any
    lowest: Any
    power: Any
    level_start: Any

    @classmethod
    def of(
        cls, tree: RootedTree, observed: NDArray[np.int64], allowed: NDArray[np.int64], digits: int
    ) -> TreeTable:
        """Build the table of a tree from the preorder positions of the `observed` and the `allowed` labels.

        ``allowed[i]`` is the position of the allowed label with index i.

        `digits` is the number of binary digits of the engine's floats.
        """
        known = Observed.of(tree, observed)
        hull, skeleton, reach = known.hull, known.skeleton, known.skeleton.reach
        hanging = Hanging.of(tree, hull, allowed, np.arange(len(allowed)))
        n_hull, n_observed, n_groups = len(hull.vertex), len(observed), len(hanging.height)
        on = np.repeat(np.arange(n_hull), np.diff(hanging.begin))
        group = np.empty(len(allowed), dtype=np.int64)
        group[hanging.label] = np.repeat(np.arange(n_groups), hanging.count)
        wins = np.flatnonzero(_can_win(hanging, on, reach))
        wins = wins[np.argsort(hanging.label[hanging.first[wins]])]
        n_nodes = len(skeleton.depth)
        parent = np.zeros(n_nodes, dtype=np.int64)
        parent[skeleton.child] = np.repeat(np.arange(n_nodes), np.diff(skeleton.begin))
        nodes = skeleton.chain[skeleton.chain_last]
        end = np.searchsorted(nodes, tree.end[nodes])
        by_end = np.argsort(end, kind="stable")
        node = np.searchsorted(skeleton.chain_last, on)  # the node whose edge holds the vertex
        offset = hull.depth[on] - skeleton.depth[parent[node]]
        at = hanging.position[wins].astype(np.int64)
        turns, turn = np.unique(np.concatenate([known.turn, hanging.turn[wins]]), return_inverse=True)
        lowest, power, level_start = _range_minima(turn[: n_observed - 1], n_observed)
        parts = tree.depth_parts if digits == _DIGITS else narrowed(tree.depth_parts, digits)
        return cls(
            columns=known.by_preorder,
            label_depth=known.skeleton.label_depth,
            low=skeleton.low,
            last=skeleton.high - 1,
            parent=parent,
            depth=skeleton.depth,
            length=skeleton.length,
            squares=skeleton.depth**2 - skeleton.depth[parent] ** 2,
            by_end=by_end,
            n_ended=np.searchsorted(end[by_end], np.arange(n_nodes), side="right"),
            group_on=node,
            group_offset=offset,
            group_height=hanging.height,
            group=group,
            on=node[wins],
            offset=offset[wins],
            height=hanging.height[wins],
            spread=(reach + hanging.height[wins]) ** 2,
            label=hanging.label[hanging.first[wins]].astype(np.int64),
            turn=turn[n_observed - 1 :],
            point_depth=parts[:, at].ravel(),
            observed_depth=parts[:, known.ascending].ravel(),
            turn_depth=parts[:, turns].ravel(),
            lowest=lowest,
            power=power,
            level_start=level_start,
        )

    @property
    def n_candidates(self) -> int:
        """Number of labels that can be an answer."""
        return int(self.label.shape[0])

    @property
    def width(self) -> int:
        """Number of temporary numbers that a decision needs for each row of weights."""
        return 4 * max(self.n_candidates, self.n_terms)

    @property
    def n_terms(self) -> int:
        """Number of additions in the computation of one variance, for the bound of its rounding error."""
        return int(self.columns.shape[0]) + int(self.low.shape[0])

    def variance(self, xp: Any, weights: Any) -> Any:
        """Return the Fréchet variance of every label; shape (n_labels, n_samples)."""
        value, _ = self._values(xp, weights, self.group_on, self.group_offset, self.group_height)
        return xp.take(value, self.group, axis=0)

    def near(self, xp: Any, weights: Any, unit: float) -> Any:
        """Return which candidates may be tied with the best of a sample; shape (n_candidates, n_samples).

        `unit` is the rounding unit of the dtype of `weights`.
        """
        value, total = self._values(xp, weights, self.on, self.offset, self.height)
        # running sums have errors of n_terms units of W or W * reach; 32 covers their growth in F and h
        error = total * xp.expand_dims(self.spread * (32 * (self.n_terms + 8) * unit), axis=1)
        limit = xp.min(value + error, axis=0, keepdims=True)
        return value - error <= limit * (1 + _SAFETY * TIE_RELATIVE)

    def totals(self, xp: Any, weights: Any, sample: Any, candidate: Any) -> Any:
        """Return the plain sum of each (sample, candidate) pair, from distances computed for these pairs."""
        on = xp.take(self.on, candidate, axis=0)
        low, last = xp.take(self.low, on, axis=0), xp.take(self.last, on, axis=0)
        every = xp.expand_dims(xp.cumulative_sum(xp.ones_like(self.columns), axis=0) - 1, axis=1)
        before = every < low
        below = (every >= low) & (every <= last)
        # unless one label hangs below the vertex, two labels meet at the least depth of the gaps between them
        first = xp.where(before, every, last)
        n_gaps = xp.where(before, low, every) - first
        n_gaps = xp.where(below, xp.ones_like(n_gaps), n_gaps)
        start = xp.where(below, xp.zeros_like(first), _lookup(xp, self.level_start, n_gaps) + first)
        apart = n_gaps - _lookup(xp, self.power, n_gaps)
        beyond = xp.minimum(_lookup(xp, self.lowest, start), _lookup(xp, self.lowest, start + apart))
        turn = xp.where(below, xp.take(self.turn, candidate, axis=0), beyond)
        distance = self._way(xp, candidate, every, turn, 0)
        for part in range(1, self.observed_depth.shape[0] // self.columns.shape[0]):
            distance = distance + self._way(xp, candidate, every, turn, part)
        return xp.sum(xp.take(weights, sample, axis=1) * (distance * distance), axis=0)

    def _way(self, xp: Any, candidate: Any, observed: Any, turn: Any, part: int) -> Any:
        """Return the part `part` of the distances from candidates to observed labels.

        A path leads up from the candidate to the vertex `turn` and down to the observed label, so its length
        follows from the depths of the three. Each depth is stored as a sum of several parts. A distance is
        the sum of what this method returns for each part.
        """
        n_turns = self.turn_depth.shape[0] * self.columns.shape[0] // self.observed_depth.shape[0]
        meet = _lookup(xp, self.turn_depth, turn + part * n_turns)
        depth = xp.take(self.point_depth, candidate + part * self.n_candidates, axis=0)
        column = _lookup(xp, self.observed_depth, observed + part * self.columns.shape[0])
        return (depth - meet) + (column - meet)

    def _values(self, xp: Any, weights: Any, on: Any, offset: Any, height: Any) -> tuple[Any, Any]:
        """Return the Fréchet variance F of some groups of labels, and W, the sum of the weights.

        `on`, `offset` and `height` say where each of these groups hangs, as the fields `group_on`,
        `group_offset` and `group_height` do for all groups.
        """
        depth, length = xp.expand_dims(self.depth, axis=1), xp.expand_dims(self.length, axis=1)
        moments = weights * xp.expand_dims(self.label_depth, axis=1)
        total = xp.sum(weights, axis=0, keepdims=True)
        first = xp.sum(moments, axis=0, keepdims=True)
        second = xp.sum(moments * xp.expand_dims(self.label_depth, axis=1), axis=0, keepdims=True)
        m0, m1 = self._below(xp, weights), self._below(xp, moments)
        p1 = self._down(xp, length * m0)
        p2 = self._down(xp, xp.expand_dims(self.squares, axis=1) * m0 - length * m1)
        s = depth * total + first - 2 * p1
        f = depth * (depth * total + 2 * first - 4 * p1) + second + 4 * p2
        # from the parent p of a node c: F + t (2 S - 4 B) + h (2 S - 4 t m0) + (t + h)^2 W, B about p
        s2, f = 2 * xp.take(s, self.parent, axis=0), xp.take(f, self.parent, axis=0)
        pull = s2 - 4 * (m1 - xp.take(depth, self.parent, axis=0) * m0)
        t, h = xp.expand_dims(offset, axis=1), xp.expand_dims(height, axis=1)
        value = xp.take(f, on, axis=0) + t * xp.take(pull, on, axis=0) + (t + h) * (t + h) * total
        return value + h * (xp.take(s2, on, axis=0) - 4 * t * xp.take(m0, on, axis=0)), total

    def _below(self, xp: Any, values: Any) -> Any:
        """Return the sum of `values` over the observed labels at or below each node."""
        running = xp.cumulative_sum(values, axis=0)
        return xp.take(running, self.last, axis=0) - xp.take(running - values, self.low, axis=0)

    def _down(self, xp: Any, values: Any) -> Any:
        """Return the sum of `values` over the path from the first node down to each node."""
        ending = xp.take(values, self.by_end, axis=0)
        ended = xp.cumulative_sum(ending, axis=0) - ending
        return xp.cumulative_sum(values, axis=0) - xp.take(ended, self.n_ended, axis=0)


@dataclass(frozen=True)
class DenseTable:
    """Constant arrays, among them stored distances, from which the Fréchet mean is computed for any weights.

    Attributes
    ----------
    columns : (n_observed,)
        For each column of `distances`, the index of the model's column for the same observed label.
    distances : (n_labels, n_observed)
        Distance from each allowed label to each observed one.
    """

    columns: Any
    distances: Any

    @property
    def n_candidates(self) -> int:
        """Number of labels that can be an answer: all of them."""
        return int(self.distances.shape[0])

    @property
    def width(self) -> int:
        """Number of temporary numbers that a decision needs for each row of weights."""
        return max(*map(int, self.distances.shape))

    @property
    def label(self) -> None:
        """None, because every label is a candidate."""
        return

    def variance(self, xp: Any, weights: Any) -> Any:
        """Return the Fréchet variance of every label; shape (n_labels, n_samples)."""
        n_labels, n_observed = self.distances.shape
        step = max(1, _BLOCK_ENTRIES // n_observed)
        if n_labels <= step:
            return xp.matmul(self._squared(xp, self.distances, weights), weights)
        squared = (self._squared(xp, self.distances[rows, :], weights) for rows in blocks(n_labels, step))
        return xp.concat([xp.matmul(block, weights) for block in squared], axis=0)

    def near(self, xp: Any, weights: Any, unit: float) -> Any:
        """Return which labels may be tied with the best of a sample; shape (n_labels, n_samples).

        `unit` is the rounding unit of the dtype of `weights`.
        """
        value = self.variance(xp, weights)
        relative = 4 * (self.distances.shape[1] + 8) * unit  # all terms are non-negative
        limit = xp.min(value, axis=0, keepdims=True)
        return value <= limit * (1 + relative + _SAFETY * TIE_RELATIVE)

    def totals(self, xp: Any, weights: Any, sample: Any, candidate: Any) -> Any:
        """Return the plain sum of each (sample, candidate) pair."""
        squared = self._squared(xp, xp.take(self.distances, candidate, axis=0), weights)
        return xp.sum(xp.take(weights, sample, axis=1) * xp.matrix_transpose(squared), axis=0)

    def _squared(self, xp: Any, distances: Any, weights: Any) -> Any:
        real = xp.astype(distances, weights.dtype)
        return real * real


DecisionTable = TreeTable | DenseTable


def table_of(adapter: Adapter, digits: int = _DIGITS) -> DecisionTable:
    """Return the table of constant numpy arrays from which an adapter's Fréchet mean is computed.

    Parameters
    ----------
    adapter : Adapter
    digits : int, default=53
        Binary digits of the floats in which the engine adds distances on a tree: 53 for float64, 24 for
        float32.

    Raises
    ------
    InputError
        For an exponent of the distances other than 2.

    Notes
    -----
    O(n_points) time for trees and complete spaces. A block uses the bundle's array of distances.
    """
    if adapter.beta != 2:
        raise InputError(
            f"beta: the adapter has {adapter.beta}; this engine squares distances, so make the adapter with "
            "beta=2, or score with the adapter itself"
        )
    bundle = adapter.bundle
    if bundle.distances is not None:
        columns = {key: i for i, key in enumerate(adapter.observed)}
        order = np.array([columns[key] for key in bundle.observed_keys], dtype=np.int64)
        return DenseTable(order, bundle.distances)
    observed = bundle.points.indices(adapter.observed)
    if isinstance(adapter.space, TreeSpace):
        tree = adapter.space.tree
        return TreeTable.of(tree, tree.positions(observed), tree.positions(bundle.allowed), digits)
    star = RootedTree(
        np.append(-1, np.zeros(bundle.n_points, dtype=np.int64)), np.full(bundle.n_points + 1, 0.5)
    )
    return TreeTable.of(star, star.positions(observed + 1), star.positions(bundle.allowed + 1), digits)


def arrays_of(table: DecisionTable) -> dict[str, Any]:
    """Return a dictionary from the name of each field of a table to the array in this field."""
    return {field.name: getattr(table, field.name) for field in fields(table)}


def converted(table: DecisionTable, convert: Callable[[Any], Any]) -> DecisionTable:
    """Return a copy of the table in which `convert` was applied to every array."""
    return type(table)(**{name: convert(array) for name, array in arrays_of(table).items()})


def blocks(count: int, step: int) -> list[slice]:
    """Return consecutive slices that cover ``range(count)``, each of at most `step` numbers.

    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def weights_of(xp: Any, rows: Any, outputs: OutputKind, temperature: float) -> Any:
    """Return the outputs of a model as weights.

    A row becomes NaN if its softmax is undefined, or if a log-probability exceeds `LARGEST_LOG`.

    Parameters
    ----------
    xp : namespace
        An array API namespace.
    rows : array of shape (n_samples, n_observed)
        The outputs, already in the dtype in which sums are computed.
    outputs, temperature
        As in `Adapter`.
    """
    if outputs == "probabilities":
        return rows
    largest = xp.max(rows, axis=1, keepdims=True)
    finite = (largest > float("-inf")) & (largest < float("inf"))
    readable = finite & (largest <= LARGEST_LOG) if outputs == "log_probabilities" else finite
    largest = xp.where(readable, largest, xp.full_like(largest, float("nan")))
    powers = xp.exp((rows - largest) / temperature)
    return powers / xp.sum(powers, axis=1, keepdims=True)


def fair_limits(xp: Any, weights: Any) -> tuple[float, float]:
    """Return the least and the largest allowed sum of a sample's weights, for the dtype of `weights`."""
    return _LIMITS[xp.finfo(weights.dtype).bits]


def fair_samples(xp: Any, weights: Any, slack: float = 1.0) -> Any:
    """Return which samples have valid weights: finite, not negative, and with a sum within `fair_limits`.

    Parameters
    ----------
    xp : namespace
        An array API namespace.
    weights : array of shape (n_observed, n_samples)
        One column for each sample, as in `decide`.
    slack : float, default=1
        Factor by which both limits are moved outwards, or inwards if it is below 1.

    Returns
    -------
    fair : boolean array of shape (n_samples,)
    """
    smallest, largest = fair_limits(xp, weights)
    total = xp.sum(weights, axis=0)  # NaN and infinity show in the sum
    within = (total >= smallest / slack) & (total <= largest * slack)
    return within & xp.all(weights >= 0, axis=0)


def decide(
    xp: Any, table: DecisionTable, weights: Any, unit: float, totals: Callable[..., Any] | None = None
) -> Any:
    """Return the index of the Fréchet mean of each sample.

    Parameters
    ----------
    xp : namespace
        An array API namespace.
    table : TreeTable or DenseTable
        Table whose arrays belong to `xp`.
    weights : array of shape (n_observed, n_samples)
        Checked weights; the rows are the observed labels in the table's order. Samples are columns, so that
        all operations move whole rows.
    unit : float
        Rounding unit of the weights' dtype.
    totals : callable, optional
        Function to call instead of ``table.totals``, to process the (sample, candidate) pairs in blocks.
    """
    near = table.near(xp, weights, unit)
    candidate, sample = xp.nonzero(near)
    total = (totals or table.totals)(xp, weights, sample, candidate)
    every = xp.reshape(near, (-1,))
    place = xp.cumulative_sum(xp.astype(every, candidate.dtype), axis=0) - 1
    exact = xp.take(total, xp.where(every, place, xp.zeros_like(place)), axis=0)
    exact = xp.where(every, exact, xp.full_like(exact, float("inf")))
    exact = xp.reshape(exact, near.shape)
    tied = exact <= xp.min(exact, axis=0, keepdims=True) * (1 + TIE_RELATIVE)
    best = xp.argmax(xp.astype(tied, xp.int32), axis=0)  # the first tied candidate
    return best if table.label is None else xp.take(table.label, best, axis=0)


def _lookup(xp: Any, values: Any, index: Any) -> Any:
    """Return ``values[index]`` for an index of any shape."""
    return xp.reshape(xp.take(values, xp.reshape(index, (-1,)), axis=0), index.shape)


def _can_win(hanging: Hanging, on: NDArray[np.int64], reach: float) -> NDArray[np.bool_]:
    """Return which groups may be the best, or tied with the best.

    Of two groups that hang on one vertex, the one with the larger height has the larger variance. So it
    cannot be better than the other, but the two may be tied. With heights a < b, the relative difference of
    the variances is at least the smaller of ``2 (b - a) / (reach + 2 a)`` and ``(b^2 - a^2) / a^2``, because
    at the vertex F is at most `reach` times S (F and S are those of the module's docstring). `reach` is an
    upper bound of the distance between any two vertices of the hull.
    """
    height = hanging.height
    least = height[hanging.begin[on]]
    gap = height - least
    by_moment = 2 * gap <= _SAFETY * TIE_RELATIVE * (reach + 2 * least)
    by_weight = gap * (height + least) <= _SAFETY * TIE_RELATIVE * least * least
    may: NDArray[np.bool_] = by_moment | by_weight
    return may


def _range_minima(
    turn: NDArray[np.int64], n_observed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the fields `lowest`, `power` and `level_start` of a `TreeTable`.

    `turn` contains one index for each two observed labels that follow each other in preorder: the index of
    the vertex where the path between the two turns. Vertices are indexed in preorder, so the lowest common
    ancestor of several consecutive observed labels has the least of the indices that `turn` contains for
    them. Each row of `lowest` therefore contains the minima of every 2^level consecutive entries of `turn`.
    """
    row = np.append(turn, turn.max(initial=0))
    rows, width = [row], 1
    while 2 * width < n_observed:
        row = rows[-1].copy()
        row[:-width] = np.minimum(row[:-width], rows[-1][width:])
        rows.append(row)
        width *= 2
    level = np.frexp(np.arange(n_observed + 1))[1].astype(np.int64) - 1
    level[0] = 0
    return np.concatenate(rows), 1 << level, np.minimum(level, len(rows) - 1) * n_observed
