"""SelectionRun: a selection that can stop after any pick and continue in another process.

A selection takes long if the loci of many candidates have to be computed for every pick. So its state between
two picks can be stored as a `Standing`: the picks so far, their locus, the rest of the budget, and the state
of the random generator. A run that continues from a `Standing` makes the same picks as a run that never
stopped. On trees with every label allowed, on complete graphs, and for the baselines, which pick at random,
all picks are found at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.shortedges import hull_decides
from labelgrove.ontology.geometry.selections.growing import GrowingLocus, Limits, Picks, drawn
from labelgrove.ontology.geometry.selections.growinghull import GrowingHull
from labelgrove.ontology.geometry.selections.growingmeasured import DistinctLocus, MeasuredLocus
from labelgrove.ontology.geometry.selections.request import SelectionRequest
from labelgrove.ontology.geometry.spaces.completespace import CompleteSpace
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.spaces.treespace import TreeSpace

__all__ = ["SelectionRun", "Standing"]


@dataclass(frozen=True, eq=False)
class Standing:
    """The state of a selection between two picks.

    Attributes
    ----------
    index, gains : ndarray of shape (n_picks,), dtype=int64
        Point index and gain of each pick so far, the required labels first.
    members : ndarray of int64
        The locus after these picks, as indices among the allowed labels. Empty on trees with every label
        allowed and on complete graphs, where the locus follows from the picks.
    size_before : int
        Number of labels in the locus of the observed labels, without the picks.
    left : float
        The part of the budget that is left after paying for the required labels and for the other picks so
        far. If all picks are found at once, the costs of the other picks are not subtracted.
    draw : mapping
        The state of the random generator.
    upper_bound : int or None
        Upper bound of the total gain of any selection within the limits; None while picks may follow.
    """

    index: NDArray[np.int64]
    gains: NDArray[np.int64]
    members: NDArray[np.int64]
    size_before: int
    left: float
    draw: Mapping[str, Any]
    upper_bound: int | None = None


class SelectionRun:
    """A selection in progress.

    Parameters
    ----------
    request : SelectionRequest
        The request. The state of its generator changes when labels are drawn.
    standing : Standing, optional
        The state of another run of the same request; by default the run starts at the beginning.

    Examples
    --------
    >>> from labelgrove.ontology.geometry.spaces.choosing import metric_space
    >>> from labelgrove.ontology.geometry.selections.request import checked_request
    >>> from labelgrove.ontology.labelgraph import LabelGraph
    >>> grid = metric_space(LabelGraph.grid((3, 4)))
    >>> first = SelectionRun(checked_request(grid, ["0,0"], 3))
    >>> first.go_on(1)
    >>> second = SelectionRun(checked_request(grid, ["0,0"], 3), first.standing)
    >>> second.go_on()
    >>> grid.points.take(second.standing.index), second.ended
    (('2,3', '0,1', '0,2'), True)
    """

    def __init__(self, request: SelectionRequest, standing: Standing | None = None) -> None:
        self.request = request
        self._growing: GrowingLocus
        if standing is None:
            self._index: list[int] = []
            self._gains: list[int] = []
            self._growing = _growing(request.space, request.points)
            self._size_before, self._left = self._growing.size, request.left
            self._upper_bound: int | None = None
        else:
            self._index, self._gains = standing.index.tolist(), standing.gains.tolist()
            observed = np.concatenate([request.points, standing.index])
            self._growing = _growing(request.space, observed, standing.members)
            self._size_before, self._left = standing.size_before, standing.left
            self._upper_bound = standing.upper_bound
            request.rng.bit_generator.state = standing.draw

    @property
    def n_picks(self) -> int:
        """Number of picks so far."""
        return len(self._index)

    @property
    def ended(self) -> bool:
        """Whether the selection is complete.

        The value may be False although no pick can follow. The next call of `go_on` then picks nothing
        and makes the value True.
        """
        return self._upper_bound is not None

    @property
    def standing(self) -> Standing:
        """The state of the selection."""
        growing = self._growing
        return Standing(
            index=np.array(self._index, dtype=np.int64),
            gains=np.array(self._gains, dtype=np.int64),
            members=growing.members if isinstance(growing, MeasuredLocus) else np.empty(0, dtype=np.int64),
            size_before=self._size_before,
            left=self._left,
            draw=self.request.rng.bit_generator.state,
            upper_bound=self._upper_bound,
        )

    def go_on(self, most: int | None = None) -> None:
        """Make up to `most` more picks (None: all picks that are left).

        On trees with every label allowed, on complete graphs, and with the baseline methods, `most` is
        ignored because all picks are found at once.
        """
        if self.ended:
            return
        if self.request.method == "active" and isinstance(self._growing, MeasuredLocus):
            self._pick_some(self._growing, most)
        else:
            self._pick_all(self._growing)

    def _pick_some(self, growing: MeasuredLocus, most: int | None) -> None:
        request, n_must = self.request, len(self.request.must)
        last = None if most is None else self.n_picks + most
        if self.n_picks < n_must:
            waiting = np.setdiff1d(request.must, self._index)
            self._take(*growing.pick_some(waiting, Limits(len(waiting)), most)[:2])
        if self.n_picks < n_must:
            return
        waiting = np.setdiff1d(request.pool, self._index)
        room = None if last is None else last - self.n_picks
        index, gains, ended = growing.pick_some(waiting, self._limits(self.n_picks), room)
        self._take(index, gains)
        for price in [] if request.cost is None else request.cost[index].tolist():
            self._left -= price
        if ended:
            free = self._gains[n_must:]
            from_nothing = not len(request.points) + n_must
            bound = growing.upper_bound(request.pool, self._limits(n_must), free, from_nothing=from_nothing)
            self._upper_bound = sum(self._gains[:n_must]) + bound

    def _pick_all(self, growing: GrowingLocus) -> None:
        request = self.request
        forced = growing.pick(request.must, Limits(len(request.must)))
        self._take(forced.index.tolist(), forced.gains.tolist())
        limits = self._limits(self.n_picks)
        if request.method == "active":
            free = growing.pick(request.pool, limits)
        else:
            outside = request.method == "outside"
            index, gains = drawn(growing, request.pool, limits, request.rng, outside=outside)
            free = Picks.of(index, gains, request.space.n_labels - (growing.size - sum(gains)))
        self._take(free.index.tolist(), free.gains.tolist())
        self._upper_bound = int(forced.gains.sum()) + free.upper_bound

    def _limits(self, n_picks: int) -> Limits:
        """Return the limits for further picks.

        They are the number of picks that is left after `n_picks` picks, and the current rest of the budget.
        """
        request = self.request
        n = None if request.n is None else request.n - n_picks
        return Limits(n, request.cost, self._left, request.rng if request.drawn else None)

    def _take(self, index: list[int], gains: list[int]) -> None:
        self._index += index
        self._gains += gains


def _growing(
    space: MetricSpace, points: NDArray[np.int64], members: NDArray[np.int64] | None = None
) -> GrowingLocus:
    if space.allowed is None and isinstance(space, TreeSpace) and hull_decides(space):
        return GrowingHull(space, points)
    if space.allowed is None and isinstance(space, CompleteSpace):
        return DistinctLocus(points)
    return MeasuredLocus(space, points, members)
