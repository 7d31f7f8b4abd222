"""Entrants: the labels that enter the locus if one more label is observed.

Most labels outside a locus stay outside, and most labels compete for nothing, whichever label is observed
next. This is found out once for each set of observed labels. Then each candidate costs one comparison for
each label, and an exact locus of the few labels that are left.

The *gate* of a label y is a label z that is at least as near as y to every observed label. A label without a
gate is its own. Suppose that a label c is observed next.

*Who competes.* If z is also at least as near as y to c, the weighted sum of z is at most that of y under any
weights. So y may be left out when other labels are compared with all competitors: z takes its place, or the
gate of z does.

*Who may enter.* Let y be outside the locus. If z is nearer to c than y is, y stays outside: with weight on c,
y is worse than z; without weight on c, nothing has changed. Now let z be nearer than y to every observed
label, and as near to c. Then y can be best only if all weight is on c. So y stays outside unless no allowed
label is nearer to c.

If the gate is as near as y to some observed labels and to c, and nearer to the others, weight on the others
makes y worse than the gate. Further labels may be as near as y to c and to all observed labels that are left,
and nearer to some of them, until none is left: a *chain*. Then y can be best only if all weight is on c. If a
label of the chain is nearer to c, c is removed too, and y stays outside.

A label without a gate may be outside the locus too. Then no weights make it best, so there is a *mixture* of
other labels with a smaller squared distance to every observed label; a linear program finds one. The squared
distance of a mixture is the mean of the squared distances of its labels, with fixed multipliers as weights.
If the mixture also has a smaller squared distance to c, the label stays outside. A mixture is kept for the
next rounds as long as this is so.

If distances are rounded, "nearer" and "at least as near" mean nearer by more than the tie rule can bridge
(`ontology.geometry.loci.general.LIFT`) where it is said who may enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.errors import MissingExtraError
from labelgrove.ontology.geometry.loci.general import LIFT, distinct_rows, general_locus, is_tolerant
from labelgrove.ontology.geometry.loci.proofs.marginprogram import MarginProgram
from labelgrove.ontology.geometry.paths.wholenumbers import are_short
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace

__all__ = ["Entrants"]

_BLOCK_ENTRIES = 1 << 22
_MOST_LINKS = 8
_CLEARLY = 1 - 1e-9  # rounding of a sum of squares never makes such a difference


@dataclass(frozen=True)
class _Mixture:
    """Labels with `multipliers` of sum 1 for their squared distances; it stands in for a single label."""

    labels: NDArray[np.int64]
    multipliers: NDArray[np.float64]

    def is_below(self, own: NDArray[Any], distances: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where the mixture is nearer than `own`; `distances` has a row for each of its labels."""
        mixed = self.multipliers @ np.square(distances, dtype=np.float64)
        return np.asarray(mixed < np.square(own, dtype=np.float64) * _CLEARLY)


class Entrants:
    """The labels that one more observed label brings into the locus of the labels observed so far.

    Labels are indices among the allowed labels of the space.

    Parameters
    ----------
    space : MetricSpace
        Any space.
    points, index : ndarray of int64
        `points`: point indices of the observed labels, at least one. `index`: their locus, as indices among
        the allowed labels.

    Notes
    -----
    O(n_labels * n_observed) time and memory, and comparisons of the distinct rows of distances with those
    that no other row bounds (`ontology.geometry.kernels.rows.rowdominance`).
    """

    def __init__(self, space: MetricSpace, points: NDArray[np.int64], index: NDArray[np.int64]) -> None:
        self._space = space
        self._tolerant = is_tolerant(space)
        self._mixtures: dict[int, _Mixture] = {}
        self._prepare(space.distances(cols=points), index)

    def observe(self, point: int, index: NDArray[np.int64]) -> None:
        """Go on to the next round: `point` is now observed too, and `index` is the new locus."""
        column = self._space.distances(cols=[point])
        self._mixtures = {
            label: mixture
            for label, mixture in self._mixtures.items()
            if mixture.is_below(column[label], column[mixture.labels]).all()
        }
        self._prepare(np.hstack([self._distances, column]), index)

    def _prepare(self, distances: NDArray[Any], index: NDArray[np.int64]) -> None:
        self._distances = distances
        self._outside = np.ones(len(distances), dtype=bool)
        self._outside[index] = False
        first, group, _ = distinct_rows(np.ascontiguousarray(distances))
        rows = distances[first]
        kernels = _kernels()
        lifted = self._lifted(rows)
        rivals = np.flatnonzero(kernels.dominance(rows, lifted) == kernels.RIVAL)
        gate, strict = kernels.gates(rows, lifted, rivals)
        self._gate, self._is_behind = first[gate][group], strict[group]
        slack = np.flatnonzero(self._outside[first] & ~strict & (gate != np.arange(len(rows))))
        chains = kernels.chains(rows[slack], lifted[rivals], _MOST_LINKS)
        self._chains = first[rivals][chains]
        chain = np.full(len(rows), -1)
        chain[slack] = np.where(chains[:, 0] >= 0, np.arange(len(slack)), -1)
        self._chain = chain[group]
        lost = rivals[self._outside[first[rivals]]]
        self._find_mixtures(first[rivals], np.searchsorted(rivals, lost))
        self._alike = [
            (np.flatnonzero(group == row), mixture)
            for row in lost.tolist()
            if (mixture := self._mixtures.get(int(first[row]))) is not None
        ]

    def _find_mixtures(self, rivals: NDArray[np.int64], lost: NDArray[np.int64]) -> None:
        """Find mixtures of `rivals` (labels) for those of them that are outside, at the places `lost`."""
        new = [place for place in lost.tolist() if int(rivals[place]) not in self._mixtures]
        if not new:
            return
        squares = np.square(self._distances[rivals], dtype=np.float64)
        squares /= squares.max()
        program = MarginProgram(squares)
        face = np.ones(squares.shape[1], dtype=bool)
        for place in new:
            margin = program.solve(squares[place], face, np.arange(len(rivals)) == place)
            if margin.multipliers.sum() > 0:
                label = int(rivals[place])
                mixture = _Mixture(rivals[margin.rivals], margin.multipliers / margin.multipliers.sum())
                if mixture.is_below(self._distances[label], self._distances[mixture.labels]).all():
                    self._mixtures[label] = mixture

    def _lifted(self, distances: NDArray[Any]) -> NDArray[Any]:
        return distances if self._tolerant is False else distances.astype(np.float64) * LIFT

    def bounds(self, pool: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each point of `pool`, an upper bound of the number of labels that enter."""
        bounds = np.empty(len(pool), dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // self._space.n_labels)
        for start in range(0, len(pool), step):
            block = self._space.distances(cols=pool[start : start + step]).T
            for i, column in enumerate(np.ascontiguousarray(block), start=start):
                bounds[i] = np.count_nonzero(self._may_enter(column, column[self._gate]))
        return bounds

    def of(self, point: int) -> NDArray[np.int64]:
        """Return the labels that enter the locus if `point` is observed, ascending."""
        column = self._space.distances(cols=[point])[:, 0]
        at_gate = column[self._gate]
        may_enter = self._may_enter(column, at_gate)
        own_gate = self._gate == np.arange(len(column))
        labels = np.flatnonzero(may_enter | own_gate | (column < at_gate))
        asked = may_enter[labels]
        if not asked.any():
            return labels[:0]
        rows = np.column_stack([self._distances[labels], column[labels]])
        tolerant = self._tolerant
        if tolerant is None:
            tolerant = not are_short(np.append(self._distances.ravel(), column))
        found = general_locus(rows, np.flatnonzero(asked), tolerant=tolerant, n_samples=0)
        return labels[found.index]

    def _may_enter(self, column: NDArray[Any], at_gate: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which labels may enter; given are the distances of all labels and gates to the new one."""
        nearest = self._lifted(column.min())
        may_enter = self._outside & ~(self._lifted(at_gate) < column)
        may_enter &= ~(self._is_behind & (self._lifted(at_gate) <= column) & (nearest < column))
        chained = np.flatnonzero(may_enter & (self._chain >= 0))
        own = column[chained][:, None]
        links = self._lifted(column[self._chains[self._chain[chained]]])
        # whether weight on the new label is ruled out
        removed = np.logical_or.accumulate(links < own, axis=1)
        holds = (removed | (links <= own)).all(axis=1)
        may_enter[chained] = ~(holds & (removed[:, -1] | (nearest < own[:, 0])))
        for labels, mixture in self._alike:
            may_enter[labels] &= ~mixture.is_below(column[labels], column[mixture.labels])
        return may_enter


def _kernels() -> Any:
    try:
        from labelgrove.ontology.geometry.kernels.rows import rowdominance
    except ImportError:
        raise MissingExtraError.of("numba", "science", "selecting classes on this space") from None
    return rowdominance
