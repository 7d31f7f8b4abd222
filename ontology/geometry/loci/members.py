"""Locus: the labels that weights on observed labels reach, each with a witness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.status import Status

__all__ = ["Locus"]


@dataclass(frozen=True, eq=False)
class Locus:
    """The labels that weights over the observed labels reach.

    Attributes
    ----------
    space : MetricSpace
        The space of the labels.
    points : ndarray of shape (n_observed,), dtype=int64
        Point indices of the observed labels, in the order of the weights.
    index : ndarray of shape (n_members,), dtype=int64
        The members, as indices among the allowed labels, ascending.
    unique_index : ndarray of int64
        The members that some weights make the only best label, as indices among the allowed labels,
        ascending.
    status : {"exact", "lower_bound"}
        ``"exact"``: these are all members. ``"lower_bound"``: there may be more.
    witnesses : sequence of tuple of int, length n_members
        For each member, weights over the observed labels: whole numbers, none negative, not all zero. They
        make the member a best label, and the only best label if it is in `unique_index`. Some are computed
        only when they are read.
    tolerance : float
        Relative difference within which Fréchet variances tie. It is 0 if only equal variances tie. It is
        also 0 if, on a tree with every label allowed, the exact method finds that the tie rule does not
        change the locus. Otherwise it is `ontology.geometry.ties.TIE_RELATIVE`, as in scoring.
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
            If `key` is an allowed label but not a member.
        """
        label = int(self.space.index([key])[0])
        at = int(np.searchsorted(self.index, label))
        if at == len(self.index) or self.index[at] != label:
            known = "no weights reach it" if self.status == "exact" else "no weights that reach it are known"
            raise InputError(
                f"key: {key!r} is not among the {len(self)} members of this locus (status {self.status!r}): "
                f"{known}; choose one of .members"
            )
        return self.witnesses[at]
