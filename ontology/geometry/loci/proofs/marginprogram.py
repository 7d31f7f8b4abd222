"""MarginProgram: a linear program for the largest margin by which some weights make a label best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.proofs.linearsolver import TOLERANCE, new_solver

__all__ = ["Margin", "MarginProgram"]

_CLEAR = 1e-7
_CUTS = 4
_MOST_CONSTRAINTS = 60


@dataclass(frozen=True)
class Margin:
    """The floating-point result of `MarginProgram` for one row; a proposal, not a proof.

    The margin of the row is the smallest weighted sum of a rival minus the weighted sum of the row. The
    program stops early if the largest margin is clearly positive or clearly negative. Then the row has been
    compared with only some of the rivals, and what follows is true for the margin over these rivals.

    Attributes
    ----------
    weights : ndarray of shape (n_observed,)
        The weights, with sum one, under which the margin is the largest.
    rivals : ndarray of int64
        Indices of the rivals that prevent a larger margin.
    multipliers : ndarray of float64, same shape as `rivals`
        The mixture of these rivals that shows that no weights give a larger margin.
    """

    weights: NDArray[np.float64]
    rivals: NDArray[np.int64]
    multipliers: NDArray[np.float64]


class MarginProgram:
    """Finds weights that maximize the margin ``min_z F(z) - F(y)`` of a row y over the rivals z.

    ``F(z)`` is the weighted sum of row z; weights are not negative and add up to 1. The variables of the
    linear program are the weights and a number s that is at most ``F(z)`` for every rival z. Only the
    objective ``s - F(y)`` depends on y, so the solution for one row starts from that for the previous row.
    The constraint of a rival z is added only when a solution breaks it. When many have been added, the next
    row starts without them: each row needs only a few, and all the others make every step slower.

    Parameters
    ----------
    rivals : ndarray of shape (n_rivals, n_observed), dtype=float64
        Squared distances, scaled to be at most 1.
    """

    def __init__(self, rivals: NDArray[np.float64]) -> None:
        highspy, self._solver = new_solver()
        self._rivals = rivals
        self._infinity = highspy.kHighsInf
        self._optimal = highspy.HighsModelStatus.kOptimal
        n_observed = rivals.shape[1]
        self._columns = np.arange(n_observed + 1, dtype=np.int32)
        for _ in range(n_observed):
            self._solver.addVar(0.0, self._infinity)
        self._solver.addVar(-self._infinity, self._infinity)
        self._solver.addRow(1.0, 1.0, n_observed, self._columns[:-1], np.ones(n_observed))
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._open = np.ones(n_observed, dtype=bool)
        self._constraint = np.full(len(rivals), -1)  # the place of each rival among the constraints

    def solve(self, own: NDArray[np.float64], face: NDArray[np.bool_], idle: NDArray[np.bool_]) -> Margin:
        """Return the weights under which a row has its largest margin, to floating-point accuracy.

        Parameters
        ----------
        own : ndarray of shape (n_observed,)
            The row, scaled like the rivals.
        face : ndarray of shape (n_observed,), dtype=bool
            The columns whose weights may be positive.
        idle : ndarray of shape (n_rivals,), dtype=bool
            Rivals to ignore: the row itself and rows equal to it. At least one rival must not be ignored.

        Returns
        -------
        margin : Margin
            The result. If HiGHS gives up, it consists of equal weights and the best rival under them.
        """
        self._open_columns(face)
        self._drop_constraints()
        self._solver.changeColsCost(len(self._columns), self._columns, np.append(-own, 1.0))
        even = face / face.sum()
        sums = self._rivals @ even
        sums[idle] = np.inf
        strongest = int(sums.argmin())
        self._enter(strongest)
        resting = [c for c in self._constraint[idle].tolist() if c >= 0]
        for constraint in resting:
            self._solver.changeRowBounds(constraint, -self._infinity, self._infinity)
        try:
            found = self._maximize(own, idle)
        finally:
            for constraint in resting:
                self._solver.changeRowBounds(constraint, 0.0, self._infinity)
        return found or Margin(even, np.array([strongest]), np.ones(1))

    def _maximize(self, own: NDArray[np.float64], idle: NDArray[np.bool_]) -> Margin | None:
        while True:
            self._solver.run()
            if self._solver.getModelStatus() != self._optimal:
                return None
            solution = self._solver.getSolution()
            values = np.array(solution.col_value)
            weights, level = np.maximum(values[:-1], 0.0), values[-1]
            sums = self._rivals @ weights
            sums[idle] = np.inf
            margin = sums.min() - own @ weights
            below = np.flatnonzero((sums < level - TOLERANCE) & (self._constraint < 0))
            if margin > _CLEAR or level - own @ weights < -_CLEAR or not len(below):
                entered = np.flatnonzero((self._constraint >= 0) & ~idle)
                duals = np.abs(np.array(solution.row_dual))[self._constraint[entered]]
                carried = duals > TOLERANCE
                return Margin(weights, entered[carried], duals[carried])
            for rival in below[np.argsort(sums[below])[:_CUTS]].tolist():
                self._enter(rival)

    def _enter(self, rival: int) -> None:
        if self._constraint[rival] < 0:
            self._constraint[rival] = self._solver.getNumRow()
            coefficients = np.append(self._rivals[rival], -1.0)
            self._solver.addRow(0.0, self._infinity, len(self._columns), self._columns, coefficients)

    def _drop_constraints(self) -> None:
        n_rows = self._solver.getNumRow()  # the first one says that the weights add up to 1
        if n_rows > _MOST_CONSTRAINTS:
            self._solver.deleteRows(n_rows - 1, np.arange(1, n_rows, dtype=np.int32))
            self._constraint[:] = -1

    def _open_columns(self, face: NDArray[np.bool_]) -> None:
        for column in np.flatnonzero(face != self._open).tolist():
            self._solver.changeColBounds(column, 0.0, self._infinity if face[column] else 0.0)
        self._open = face.copy()
