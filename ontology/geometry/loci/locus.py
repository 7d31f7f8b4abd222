"""locus: every label that some weights over the observed labels can reach, each with the weights that do.

The locus of observed labels l_1, ..., l_K is the set of allowed labels y that minimise
``sum_i w_i d(y, l_i)^2`` for some non-negative weights that are not all zero. A member is *uniquely
reachable* where some weights make it the only minimiser. What each kind of space calls for:

* a tree with every label allowed: the hull of the observed labels (`ontology.geometry.loci.hull`), and what
  the tie rule changes about it where edges are very short (`ontology.geometry.loci.shortedges`);
* a tree with some labels allowed, its leaves for instance: `ontology.geometry.loci.restricted`;
* a complete graph: the observed labels, see `locus_index`;
* anything else: the exact general algorithm over a matrix of distances (`ontology.geometry.loci.general`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.loci.hull import HullWitnesses, hull
from labelgrove.ontology.geometry.spaces.kinds import CompleteSpace, MetricSpace, TreeSpace
from labelgrove.ontology.geometry.spaces.observed import observed_points
from labelgrove.ontology.geometry.status import Status
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = ["Locus", "PairWitnesses", "hull_locus", "locus", "locus_index"]


@dataclass(frozen=True, eq=False)
class Locus:
    """The labels that weights over the observed labels reach.

    Attributes
    ----------
    space : MetricSpace
        Where the labels are.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, in the order of the weights.
    index : ndarray of shape (n_members,), dtype=int64
        The members: ascending indices among the allowed labels.
    unique_index : ndarray of int64
        Those of them that some weights make the only best label, ascending.
    status : {"exact", "lower_bound"}
        Whether these are all, or what was found of them.
    witnesses : sequence of tuple of int, length n_members
        Weights over the observed labels for each of `index`, whole numbers, none negative, not all zero,
        that make it a best label, and the only one where it is uniquely reachable. Made on use where that is
        cheap.
    tolerance : float
        0 where equal means equal, or where the tie rule changes nothing. Where distances have been rounded,
        labels tie within this relative difference of the Fréchet variance, as they do in scoring
        (`ontology.geometry.ties.TIE_RELATIVE`).
    """

    space: MetricSpace = field(repr=False)
    points: NDArray[np.int64] = field(repr=False)
    index: NDArray[np.int64] = field(repr=False)
    unique_index: NDArray[np.int64] = field(repr=False)
    status: Status
    witnesses: Sequence[tuple[int, ...]] = field(repr=False)
    tolerance: float = 0.0

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return (
            f"Locus({len(self)} of {self.space.n_labels} labels, {len(self.unique_index)} uniquely, "
            f"from {len(self.points)} observed; {self.status})"
        )

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """Keys of the observed labels, in the order of the weights."""
        return self.space.points.take(self.points)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Keys of the members, in canonical order."""
        return self.space.keys.take(self.index)

    @cached_property
    def unique(self) -> tuple[str, ...]:
        """Keys of the uniquely reachable members, in canonical order."""
        return self.space.keys.take(self.unique_index)

    def witness(self, key: str) -> tuple[int, ...]:
        """Return weights over the observed labels that reach `key`.

        Raises
        ------
        UnknownLabelError
            If `key` is not an allowed label.
        InputError
            If it is not a member.
        """
        label = int(self.space.index([key])[0])
        at = int(np.searchsorted(self.index, label))
        if at == len(self.index) or self.index[at] != label:
            known = "no weights reach it" if self.status == "exact" else "no weights that reach it are known"
            raise InputError(
                f"key: {key!r} is not among the {len(self)} members of this locus ({self.status}): {known}; "
                "ask for one of .members"
            )
        return self.witnesses[at]


class PairWitnesses(Sequence[tuple[int, ...]]):
    """Witnesses with weight on one or two observed labels, kept as two columns and two weights.

    Parameters
    ----------
    n_observed : int
        Length of each witness.
    columns : ndarray of shape (n_members, 2), dtype=int64
        Which observed labels carry weight.
    weights : ndarray of shape (n_members, 2), dtype=int64 or float64
        How much, none where 0; given out as coprime whole numbers in the very same ratio (a float is a
        fraction).
    """

    def __init__(self, n_observed: int, columns: NDArray[np.int64], weights: NDArray[Any]) -> None:
        self._n_observed, self._columns, self._weights = n_observed, columns, weights

    @classmethod
    def single(cls, n_observed: int, columns: NDArray[np.int64]) -> PairWitnesses:
        """Return witnesses with all weight on one observed label each."""
        weights = np.tile(np.array([1, 0]), (len(columns), 1))
        return cls(n_observed, np.column_stack([columns, columns]), weights)

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, i: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[tuple[int, ...], ...]: ...
    def __getitem__(self, i: int | slice) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        weights = [0] * self._n_observed
        for column, weight in self.entries(i):
            weights[column] = weight
        return tuple(weights)

    def entries(self, i: int) -> tuple[tuple[int, int], ...]:
        """Return the columns that carry weight in witness `i`, ascending, each with its weight."""
        (first, second), (of_first, of_second) = self._columns[i].tolist(), self._weights[i].tolist()
        if of_second == 0:
            return ((first, 1),)
        ratio = Fraction(of_first) / Fraction(of_second)
        if not ratio:
            return ((second, 1),)
        return (first, ratio.numerator), (second, ratio.denominator)


def locus(space: MetricSpace, observed: Iterable[str]) -> Locus:
    """Return every allowed label that some weights over `observed` reach.

    Parameters
    ----------
    space : MetricSpace
        Where the labels are.
    observed : iterable of str
        Keys of points, each once, at least one; they need not be allowed labels.

    Returns
    -------
    found : Locus
        Exact on every space; where distances have been rounded, within the `tolerance` that it states.

    Raises
    ------
    InputError
        If `observed` is empty or names a label twice.
    UnknownLabelError
        If it names a label that is not a point of the space.

    Notes
    -----
    O(n_points) on a tree with every label allowed and no edges below 1e-6 of the largest distance between
    observed labels; no keys are made before they are asked for.

    Examples
    --------
    >>> from labelgrove.ontology.keys import Keys
    >>> line = TreeSpace.from_arrays(Keys.from_strings("abcde"), [-1, 0, 1, 2, 3])
    >>> found = locus(line, ["a", "d"])
    >>> found.members, found.witness("b"), found.status
    (('a', 'b', 'c', 'd'), (2, 1), 'exact')
    """
    return locus_index(space, observed_points(space, observed))


def locus_index(space: MetricSpace, points: NDArray[np.int64]) -> Locus:
    """Return the locus of observed labels given as distinct point indices; see `locus`.

    Notes
    -----
    On a complete graph an allowed observed label is the only best one with all weight on itself. An
    unobserved label is at distance 1 from every observed one: it ties for best only where no allowed label
    carries weight, that is, where some observed label is not allowed, and then every allowed label does.
    """
    if isinstance(space, TreeSpace) and space.allowed is None:
        return _tree_locus(space, points)
    if isinstance(space, CompleteSpace):
        return _complete_locus(space, points)
    if isinstance(space, TreeSpace):
        from labelgrove.ontology.geometry.loci.restricted import restricted_tree_locus

        found = restricted_tree_locus(space, points)
    else:
        from labelgrove.ontology.geometry.loci.general import general_locus, is_tolerant, measured_rows

        found = general_locus(measured_rows(space, points), tolerant=is_tolerant(space))
    return Locus(
        space, points, found.index, found.unique_index, found.status, found.witnesses, found.tolerance
    )


def hull_locus(space: TreeSpace, points: NDArray[np.int64]) -> Locus:
    """Return the hull of observed labels, all of it reached uniquely; every label is allowed."""
    tree = space.tree
    index = tree.points(hull(tree, tree.positions(points)))
    if (index[1:] < index[:-1]).any():  # canonical order is a preorder of most trees, and then this one
        index.sort()
    return Locus(space, points, index, index, "exact", HullWitnesses(tree, points, index))


def _tree_locus(space: TreeSpace, points: NDArray[np.int64]) -> Locus:
    reached = hull_locus(space, points)
    if space.distance_dtype != np.float64:
        return reached
    from labelgrove.ontology.geometry.loci.shortedges import blurred

    changed = blurred(space, points, reached.index)
    if changed is None:
        return reached
    index = np.union1d(reached.index, changed.outside)
    unique = np.setdiff1d(reached.index, changed.not_alone, assume_unique=True)
    witnesses = HullWitnesses(space.tree, points, index, changed.witness)
    return Locus(space, points, index, unique, "exact", witnesses, TIE_RELATIVE)


def _complete_locus(space: CompleteSpace, points: NDArray[np.int64]) -> Locus:
    column = np.full(space.n_points, -1)
    column[points] = np.arange(len(points))
    if space.allowed is not None:
        outside = np.setdiff1d(points, space.allowed, assume_unique=True)
        spare = column[outside[:1]]
        column = column[space.allowed]
        if len(outside):
            own = np.flatnonzero(column >= 0) if space.n_labels > 1 else np.zeros(1, dtype=np.int64)
            witnesses = PairWitnesses.single(len(points), np.where(column >= 0, column, spare))
            return Locus(space, points, np.arange(space.n_labels), own, "exact", witnesses)
    index = np.flatnonzero(column >= 0)
    return Locus(space, points, index, index, "exact", PairWitnesses.single(len(points), column[index]))
