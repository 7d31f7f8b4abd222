"""The exact locus for any matrix of distances.

Each label is a row of the matrix. A label y is a member if, for some weights that are not negative and add up
to 1, no other label has a smaller weighted sum of squared distances. The members are found among the distinct
rows of the matrix, in three steps:

1. A row is ruled out if another row is smaller in every column. If another row is smaller in some columns and
   equal in the others, the row can be best only if all weight is on the columns where the two are equal: its
   **face**. The remaining rows are the rivals. Every row that is not ruled out is compared only with them
   (`ontology.geometry.kernels.rows.rowdominance`).
2. The rows that are best under random weights are members, and so are those for which a fast search
   finds weights (`ontology.geometry.loci.proofs.learnedweights`).
3. For each row that is not decided yet, a linear program finds the weights that put it as far below its
   rivals as possible (`ontology.geometry.loci.proofs.marginprogram`).

Floating-point results are only proposals. Every verdict of steps 2 and 3 has a proof in whole numbers
(`ontology.geometry.loci.proofs.certificates`): weights, or multipliers from the dual of the linear program,
rounded to whole numbers. If these prove nothing, for instance because the row only ties, exact arithmetic
decides (`ontology.geometry.loci.proofs.exactgame`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, MissingExtraError, SpaceError
from labelgrove.ontology.geometry.arguments import given_array, index_array, whole_number
from labelgrove.ontology.geometry.loci.proofs.certificates import Competition, rounded
from labelgrove.ontology.geometry.loci.proofs.exactgame import decide, exact_product
from labelgrove.ontology.geometry.loci.proofs.learnedweights import learned_weights
from labelgrove.ontology.geometry.loci.proofs.marginprogram import Margin, MarginProgram
from labelgrove.ontology.geometry.loci.witnesses import SharedWitnesses, Weights
from labelgrove.ontology.geometry.paths.wholenumbers import are_short
from labelgrove.ontology.geometry.spaces.metricspace import MetricSpace
from labelgrove.ontology.geometry.status import Status
from labelgrove.ontology.geometry.ties import TIE_RELATIVE

__all__ = [
    "LIFT",
    "N_SAMPLES",
    "GeneralLocus",
    "distinct_rows",
    "general_locus",
    "is_tolerant",
    "measured_rows",
]

LIFT = 1.0 + 1e-11
"""Two sums that differ by this factor differ after any rounding and beyond the tie rule."""

N_SAMPLES = 1024
"""Number of random weights that `general_locus` tries by default, for each of three ways to draw them."""


_LARGEST = 1e150  # the sums of squares of such numbers are finite
_MOST_ENTRIES = 1 << 32
_SAMPLE_SCALE = 1 << 16
_NEARLY = 1.0 - 1e-9
_PROOFS = ("dominance", "sampled weights", "learned weights", "weights", "multipliers", "exact")
_UNPROVED = "the proof of an exactly solved program fails its check; please report the distances"


@dataclass(frozen=True, eq=False)
class GeneralLocus:
    """The rows of a matrix of distances that some weights make best.

    Attributes
    ----------
    index : ndarray of shape (n_members,), dtype=int64
        Row indices, in the matrix, of the members; ascending. If `general_locus` was given `candidates`, only
        members among them are listed.
    unique_index : ndarray of int64
        Row indices, in the matrix, of the members that some weights make the only best row; ascending. A row
        that equals another row is never one of them.
    witnesses : sequence of tuple of int, length n_members
        For each member in `index`, weights that make it a best row, and the only best row if it is in
        `unique_index`. They are whole numbers, none negative, not all zero.
    tolerance : float
        0 if only equal sums tie; `ontology.geometry.ties.TIE_RELATIVE` if distances have been rounded.
    proofs : dict of str to int
        For each kind of proof, such as ``"weights"`` or ``"multipliers"``, the number of distinct rows that
        it decided.
    status : {"exact"}
        Always ``"exact"``: a row that cannot be decided raises an error.
    """

    index: NDArray[np.int64]
    unique_index: NDArray[np.int64]
    witnesses: Sequence[Weights] = field(repr=False)
    tolerance: float
    proofs: dict[str, int] = field(repr=False)
    status: Status = "exact"


def general_locus(
    distances: NDArray[Any],
    candidates: ArrayLike | None = None,
    *,
    seed: int = 0,
    tolerant: bool | None = None,
    n_samples: int = N_SAMPLES,
) -> GeneralLocus:
    """Find the rows of a matrix of distances that are best under some weights on its columns.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_observed), integer or float dtype
        Finite and not negative; one row for each allowed label, one column for each observed label.
    candidates : array_like of int, optional
        Rows to decide about; all by default. All rows compete in any case.
    seed : int, default=0
        Seed of the random weights. They change how a verdict is proved, never the verdict.
    tolerant : bool, optional
        Whether sums tie by the tie rule (`ontology.geometry.ties`); if not, only equal sums tie. For
        distances of a space, pass the result of `is_tolerant`. By default the tie rule applies unless all
        `distances` are short numbers (see Notes).
    n_samples : int, default=N_SAMPLES
        Number of random weights to try, for each of three ways to draw them. They settle many rows at once;
        to decide about a few rows, 0 is faster. Like `seed`, it never changes a verdict.

    Returns
    -------
    found : GeneralLocus

    Raises
    ------
    InputError
        If `distances` is not a matrix of valid distances, or a candidate is not one of its rows.
    MissingExtraError
        If numba or highspy is not installed.

    Notes
    -----
    Distances are short numbers if they are whole numbers, quarters and the like
    (`ontology.geometry.paths.wholenumbers`). Sums of these are compared exactly. Other distances are assumed
    to be rounded. They are used with all their bits, but sums tie by the tie rule of
    `ontology.geometry.ties`. So the members are the labels that scoring can return.

    O(n_rows * n_observed) to find the distinct rows; then one linear program of n_observed + 1 variables for
    each row that could be best and that the random weights do not reach.

    Examples
    --------
    Four leaves are at distances 2, 2, 2 and 1 from the center of a star; the first three are observed.
    Weights on two of them do not reach the fourth leaf, but weights on all three do:

    >>> found = general_locus(np.array([[0, 4, 4], [4, 0, 4], [4, 4, 0], [3, 3, 3]], dtype=np.uint8))
    >>> found.index.tolist(), found.unique_index.tolist()
    ([0, 1, 2, 3], [0, 1, 2, 3])
    """
    seed = whole_number("seed", seed, 0)
    n_samples = whole_number("n_samples", n_samples, 0)
    matrix = _checked_distances(distances)
    wanted = _wanted(candidates, len(matrix))
    first, group, size = distinct_rows(matrix)
    asked = np.bincount(group[wanted], minlength=len(first)) > 0
    tolerant = not are_short(matrix) if tolerant is None else tolerant
    decision = _Decision(matrix[first], asked, size == 1, tolerant, seed, n_samples)
    rows = wanted[decision.member[group[wanted]]]
    place = np.cumsum(decision.member) - 1
    return GeneralLocus(
        index=rows,
        unique_index=rows[decision.unique[group[rows]]],
        witnesses=SharedWitnesses(
            [decision.witness[row] for row in np.flatnonzero(decision.member).tolist()], place[group[rows]]
        ),
        tolerance=decision.tolerance,
        proofs=decision.proofs,
    )


def is_tolerant(space: MetricSpace) -> bool | None:
    """Return the argument `tolerant` of `general_locus` for the distances of a space.

    It is False if all distances are short numbers, True if they are not, and None if that is unknown.
    """
    return None if space.has_short_distances is None else not space.has_short_distances


def measured_rows(
    space: MetricSpace, points: NDArray[np.int64], rows: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """Return the distances from `rows` to observed points; raise `SpaceError` if the distances are too many.

    `rows` are indices among the allowed labels; by default all of them.
    """
    n_rows = space.n_labels if rows is None else len(rows)
    if n_rows * len(points) > _MOST_ENTRIES:
        raise SpaceError(
            f"observed: {n_rows} labels and {len(points)} observed labels have {n_rows * len(points)} "
            f"distances; at most {_MOST_ENTRIES} can be compared; observe or allow fewer labels"
        )
    return space.distances(rows, points)


def _checked_distances(distances: NDArray[Any]) -> NDArray[Any]:
    matrix = given_array("distances", distances)
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "iuf" or matrix.dtype.itemsize > 8:
        raise InputError(
            f"distances: {matrix.dtype} of shape {matrix.shape} given; give numbers of at most 64 bits, at "
            "least one row (a label) and one column (an observed label)"
        )
    if matrix.dtype == np.float16 or not matrix.dtype.isnative:
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("="))
    sound = matrix >= 0
    if matrix.dtype.kind == "f":
        sound &= np.isfinite(matrix) if matrix.dtype == np.float32 else matrix <= _LARGEST
    bad = np.argwhere(~sound)
    if len(bad):
        r, c = map(int, bad[0])
        raise InputError(
            f"distances: {matrix[r, c]} in row {r}, column {c}; a distance must be from 0 to {_LARGEST:g}"
        )
    # rows are compared as bytes: -0.0 is 0.0
    return np.ascontiguousarray(matrix + 0.0 if matrix.dtype.kind == "f" else matrix)


def _wanted(candidates: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    if candidates is None:
        return np.arange(n_rows)
    return np.unique(index_array("candidates", candidates, n_rows))


def distinct_rows(matrix: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group equal rows into sets; return one row index per set, the set index of each row, and the set sizes.

    Sets are numbered in ascending order of the sum of the entries of a row, which is the same for all rows of
    a set.
    """
    whole_row = np.dtype((np.void, matrix.dtype.itemsize * matrix.shape[1]))
    _, first, group, size = np.unique(
        matrix.view(whole_row).ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(matrix[first].sum(axis=1, dtype=np.float64), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[group], size[order]


def _reduced(
    rows: NDArray[Any], lifted: NDArray[Any], wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return three arrays: the rivals, the rows that can be best only in a tie with a rival, and their faces.

    A rival is a row for which no other row is smaller or equal in every column. The second array contains
    only rows that `wanted` marks. The face of such a row is the set of columns that may have weight if the
    row is to be best; rows whose face is empty are left out. Rivals get no face.
    """
    try:
        from labelgrove.ontology.geometry.kernels.rows.rowdominance import (
            RIVAL,
            TIED_ONLY,
            dominance,
            tying_faces,
        )
    except ImportError:
        raise MissingExtraError.of("numba", "science", "computing the locus on this space") from None
    state = dominance(rows, lifted)
    rivals, tied_only = np.flatnonzero(state == RIVAL), np.flatnonzero((state == TIED_ONLY) & wanted)
    faces = tying_faces(rows[tied_only], lifted[rivals])
    reached = faces.any(axis=1)
    return rivals, tied_only[reached], faces[reached]


class _Decision:
    """Decides, when it is created, which of the `wanted` rows are members, and keeps the verdicts.

    The rows are distinct and given in ascending order of the sums of their entries. In this class `row` is
    the index of a row among all distinct rows, and `at` is its index among the rows that could be best, where
    rivals come first.
    """

    def __init__(
        self,
        rows: NDArray[Any],
        wanted: NDArray[np.bool_],
        single: NDArray[np.bool_],
        tolerant: bool,
        seed: int,
        n_samples: int,
    ) -> None:
        self.member = np.zeros(len(rows), dtype=bool)
        self.unique = np.zeros(len(rows), dtype=bool)
        self.witness: dict[int, Weights] = {}
        self.proofs = dict.fromkeys(_PROOFS, 0)
        self.tolerance = TIE_RELATIVE if tolerant else 0.0
        self._single = single
        rows = rows.astype(np.float64) if tolerant else rows
        rivals, tied_only, faces = _reduced(rows, rows * LIFT if tolerant else rows, wanted)
        self._kept = np.concatenate([rivals, tied_only])
        self._n_rivals = len(rivals)
        self._rows = rows[self._kept]
        self._competition = Competition(self._rows, len(rivals), tolerant=tolerant)
        self._scaled = np.square(self._rows / (self._rows.max() or 1))
        self.proofs["dominance"] = int(wanted.sum()) - int(wanted[self._kept].sum())
        if n_samples:
            self._sample(seed, n_samples, wanted)
        faces = np.concatenate([np.ones((len(rivals), rows.shape[1]), dtype=bool), faces])
        self._learn(self._undecided(wanted), faces)
        for at in self._undecided(wanted).tolist():
            self._decide(at, faces[at])

    def _undecided(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.flatnonzero(wanted[self._kept] & ~self.member[self._kept])

    def _learn(self, asked: NDArray[np.int64], faces: NDArray[np.bool_]) -> None:
        for at, weights in learned_weights(self._scaled, self._n_rivals, asked, faces[asked]):
            self._admit_rounded(at, faces[at], weights, "learned weights")

    @cached_property
    def _program(self) -> MarginProgram:
        return MarginProgram(self._scaled[: self._n_rivals])

    def _sample(self, seed: int, n_samples: int, wanted: NDArray[np.bool_]) -> None:
        rivals = self._scaled[: self._n_rivals]
        n_observed = rivals.shape[1]
        draw = np.random.default_rng(seed)
        for concentration in (1.0, 0.1, 1.0 / n_observed):
            mixture = draw.dirichlet(np.full(n_observed, concentration), n_samples)
            weights = np.floor(mixture * _SAMPLE_SCALE).astype(np.int64) + 1
            winners, sample = np.unique((weights @ rivals.T).argmin(axis=1), return_index=True)
            for at, s in zip(winners.tolist(), sample.tolist(), strict=True):
                if wanted[self._kept[at]] and not self.member[self._kept[at]]:
                    self._admit(at, weights[s], "sampled weights", alone=True)

    def _decide(self, at: int, face: NDArray[np.bool_]) -> None:
        """Decide whether one row is a member; `face` marks the columns that may have weight if it is best.

        If the row is a rival, rounded weights are accepted as a proof only if they make the row the only best
        one. If they make it tie with another row, `_settle` decides.
        """
        columns = np.flatnonzero(face)
        idle = (self._rows[: self._n_rivals, columns] == self._rows[at, columns]).all(axis=1)
        if idle.all():
            self._admit(at, face.astype(np.int64), "weights", alone=at < self._n_rivals)
            return
        margin = self._program.solve(self._scaled[at], face, idle)
        if self._admit_rounded(at, face, margin.weights, "weights"):
            return
        for multipliers in rounded(margin.multipliers, positive=False):
            if self._competition.is_beaten(at, columns, margin.rivals, multipliers):
                self.proofs["multipliers"] += 1
                return
        self._settle(at, columns, np.flatnonzero(~idle), margin)

    def _admit_rounded(
        self, at: int, face: NDArray[np.bool_], proposed: NDArray[np.float64], how: str
    ) -> bool:
        """Record a row as a member if weights prove it that are whole numbers close to those proposed.

        Returns whether the row was recorded.
        """
        for weights in rounded(proposed, positive=True):
            weights[~face] = 0
            if self._promising(at, weights) and self._admit(at, weights, how, alone=at < self._n_rivals):
                return True
        return False

    def _promising(self, at: int, weights: NDArray[np.int64]) -> bool:
        """Return whether `weights` may make a row best: no rival has a much smaller sum in floating point."""
        sums = self._scaled[: self._n_rivals] @ weights
        return bool(sums.min() >= (self._scaled[at] @ weights) * _NEARLY)

    def _admit(self, at: int, weights: NDArray[Any], how: str, *, alone: bool) -> bool:
        """Record a row as a member if `weights` make it best or, with `alone`, the only best row.

        Returns whether the row was recorded.
        """
        if alone:
            proved = bool((weights > 0).all()) and self._competition.is_only_best(at, weights)
        else:
            proved = self._competition.is_best(at, weights)
        if proved:
            row = int(self._kept[at])
            self.member[row] = True
            self.unique[row] = alone and self._single[row]
            self.witness[row] = tuple((weights // np.gcd.reduce(weights)).tolist())
            self.proofs[how] += 1
        return proved

    def _settle(self, at: int, columns: NDArray[np.int64], others: NDArray[np.int64], margin: Margin) -> None:
        """Decide by exact arithmetic whether a row is a member; called if rounded numbers prove nothing."""
        competition = self._competition
        first_rows = np.searchsorted(others, margin.rivals)
        first_columns = np.flatnonzero(margin.weights[columns] > 0)
        payoff = competition.payoff(at, columns, others)
        found = decide(payoff, first_rows, first_columns)
        carried = np.flatnonzero(found.multipliers)
        if found.sign < 0:
            proved = competition.is_beaten(at, columns, others[carried], found.multipliers[carried])
            self.proofs["exact"] += proved
        else:
            weights = np.zeros(competition.squares.shape[1], dtype=object)
            weights[columns] = found.weights
            alone = False
            if at < self._n_rivals:
                if competition.tolerant:
                    payoff = competition.payoff(at, columns, others, alone=True)
                    found = decide(payoff, first_rows, first_columns)
                    carried = np.flatnonzero(found.multipliers)
                alone = found.sign > 0
                if alone:
                    # weights on every column, still above zero on every row
                    short = -min(int(exact_product(payoff, np.ones(len(columns), dtype=np.int64)).min()), 0)
                    weights[columns] = found.weights * (short + 1) + 1
                elif not competition.is_matched(at, others[carried], found.multipliers[carried]):
                    raise ArithmeticError(_UNPROVED)
            proved = self._admit(at, weights, "exact", alone=alone)
        if not proved:
            raise ArithmeticError(_UNPROVED)
