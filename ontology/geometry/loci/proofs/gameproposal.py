"""Approximate solutions of a matrix game in floating point, for payoffs of any size.

If a row or column of payoffs is multiplied by a positive number, the sign of the game's value does not
change. (If a mixture of columns is positive in every row, it remains so when a column is multiplied by a
number and its share is divided by the same number.) So the game is first *balanced*: rows and columns are
multiplied by powers of two, so that the largest payoff in every row is about 1.

A row of payoffs belongs to a rival of a label. In the balanced game, a rival that nearly ties, within one
part in 10^12, has payoffs of the same size as any other rival. So a linear program in floating point can
detect differences that would be below its tolerance in the original payoffs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.proofs.linearsolver import new_solver

__all__ = ["Balanced", "Proposal", "balanced", "propose"]

_SMALLEST = 1e-12  # HiGHS treats smaller coefficients as zero
_FLOAT_BITS = 1000
_ROUNDS = 12
_ZOOM = 30
_FRACTION_BITS = 64
_FAR = 1e6  # a program need not tell apart magnified distances from a bound, or costs, beyond this


@dataclass(frozen=True)
class Balanced:
    """A matrix game in floating point, with rows and columns multiplied by powers of two.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_columns), dtype=float64
        ``payoff[r, c] * 2 ** (row_shift[r] + column_shift[c] - unit)``, rounded.
    row_shift, column_shift : ndarray of int64
        Exponents of the powers of two for each row and column, not negative.
    unit : int
        Exponent of the common power of two that `matrix` is divided by.
    """

    matrix: NDArray[np.float64]
    row_shift: NDArray[np.int64]
    column_shift: NDArray[np.int64]
    unit: int

    def exactly(
        self, payoff: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return the given part of `payoff`, multiplied by this game's powers of two, in whole numbers."""
        shift = self.row_shift[rows][:, None] + self.column_shift[columns]
        return np.asarray(payoff[np.ix_(rows, columns)].astype(object) << shift.astype(object))


@dataclass(frozen=True)
class Proposal:
    """Mixtures that may prove the sign of a game's value, and the rows and columns that probably decide it.

    Attributes
    ----------
    weights : ndarray of shape (n_columns,), dtype=object
        A mixture of columns, as whole numbers, none negative.
    multipliers : ndarray of shape (n_rows,), dtype=object
        A mixture of rows, in the same form.
    rows, columns : ndarray of int64
        The rows and the columns that the best mixtures use; nearly always equally many.
    game : Balanced
        The balanced game that was solved to find the mixtures.
    """

    weights: NDArray[Any]
    multipliers: NDArray[Any]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    game: Balanced


def balanced(payoff: NDArray[Any]) -> Balanced:
    """Multiply rows and columns of a matrix game by powers of two, so that its payoffs have similar sizes.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns), dtype=int64 or object
        Whole numbers of any size.

    Examples
    --------
    >>> game = balanced(np.array([[4, -8], [2**70, 2**71]], dtype=object))
    >>> game.matrix.tolist(), game.row_shift.tolist(), game.column_shift.tolist()
    ([[0.5, -0.5], [0.5, 0.5]], [68, 0], [1, 0])
    """
    bits = np.array([max(map(abs, row)).bit_length() for row in payoff.tolist()])
    drop = np.maximum(bits - _FLOAT_BITS, 0)
    matrix = (payoff >> drop[:, None]).astype(np.float64)
    row_shift, column_shift = -bits, np.zeros(payoff.shape[1], dtype=np.int64)
    matrix = np.ldexp(matrix, (drop - bits)[:, None])
    column_shift = -_exponents(matrix, axis=0)
    matrix = np.ldexp(matrix, column_shift)
    more = -_exponents(matrix, axis=1)
    matrix, row_shift = np.ldexp(matrix, more[:, None]), row_shift + more
    least = int(row_shift.min()), int(column_shift.min())
    return Balanced(matrix, row_shift - least[0], column_shift - least[1], -sum(least))


def propose(payoff: NDArray[Any]) -> Iterator[Proposal]:
    """Solve a matrix game in floating point, more and more accurately.

    One player mixes columns to maximize the payoff; the other mixes rows to minimize it.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns), dtype=int64 or object
        Whole numbers; at least one row and one column.

    Yields
    ------
    proposal : Proposal
        The mixtures of each proposal are about 2^30 times as exact as those of the one before. There are at
        most 12 proposals, and fewer if HiGHS gives up.

    Raises
    ------
    MissingExtraError
        If highspy is not installed.

    Notes
    -----
    This is iterative refinement of linear programs [1]_. The residual of the current mixtures is computed in
    whole numbers, multiplied by a power of two, and given to the same linear program as its right-hand sides,
    bounds and costs. Each solution starts from the previous basis.

    References
    ----------
    .. [1] A. M. Gleixner, D. E. Steffy, K. Wolter (2016), Iterative Refinement for Linear Programming,
           INFORMS J. Comput. 28(3), 449-464.
    """
    game = balanced(payoff)
    refinement = _Refinement(payoff, game)
    for _ in range(_ROUNDS):
        if not refinement.improve():
            return
        yield refinement.proposal()


class _Refinement:
    """Refines the best mixtures of a balanced game: w of its columns, and u of its rows.

    The linear program is: maximize t under ``A w - t - s = 0``, ``sum(w) = 1``, ``w >= 0`` and ``s >= 0``. A
    is the matrix of balanced payoffs, t the level that every row reaches, and s the amounts by which rows
    exceed it. The dual values of the equations ``A w - t - s = 0`` are u; that of ``sum(w) = 1`` is `level`.
    All of these are stored as whole numbers with the common denominator ``2**bits``.
    """

    def __init__(self, payoff: NDArray[Any], game: Balanced) -> None:
        n_rows, n_columns = payoff.shape
        self._game = game
        self._exact = game.exactly(payoff, np.arange(n_rows), np.arange(n_columns))
        self._unit = game.unit
        self._program = _Program(game.matrix)
        self._w, self._u = np.zeros(n_columns, dtype=object), np.zeros(n_rows, dtype=object)
        self._t = self._level = self._bits = 0
        self._zoom = self._dual_zoom = 0

    def improve(self) -> bool:
        """Refine the mixtures once; return False if HiGHS finds no solution."""
        one, unit = 1 << self._bits, self._unit
        over = self._exact @ self._w - (self._t << unit)
        under = self._u @ self._exact - (self._level << unit)
        short, dual_short = one - int(self._w.sum()), one - int(self._u.sum())
        worst = max(-int(over.min()), abs(short) << unit)
        dual_worst = max(int(under.max()), abs(dual_short) << unit)
        full = self._bits + unit
        if self._bits:
            self._zoom = min(self._zoom + _ZOOM, full - worst.bit_length())
            self._dual_zoom = min(self._dual_zoom + _ZOOM, full - dual_worst.bit_length())
        zoom, dual_zoom = self._zoom, self._dual_zoom
        found = self._program.solve(
            rhs=-_floats(np.minimum(over, 0), zoom - full),
            total=float(_floats(np.array([short], dtype=object), zoom - self._bits)[0]),
            lower=-np.append(_floats(self._w, zoom - self._bits), _floats(np.maximum(over, 0), zoom - full)),
            cost=np.append(_floats(under, dual_zoom - full), -_floats(self._u, dual_zoom - self._bits)),
            level_cost=float(_floats(np.array([dual_short], dtype=object), dual_zoom - self._bits)[0]),
        )
        if found is None:
            return False
        w, t, u, level = found
        bits = max(zoom, dual_zoom) + _FRACTION_BITS
        more = bits - self._bits
        self._w = np.maximum((self._w << more) + _whole(w, bits - zoom), 0)
        self._t = (self._t << more) + int(_whole(np.array([t]), bits - zoom)[0])
        self._u = np.maximum((self._u << more) + _whole(u, bits - dual_zoom), 0)
        self._level = (self._level << more) + int(_whole(np.array([level]), bits - dual_zoom)[0])
        self._bits = bits
        return True

    def proposal(self) -> Proposal:
        """Return the current mixtures, converted from the balanced game to the original game."""
        rows, columns = self._program.basis()
        return Proposal(
            self._w << self._game.column_shift.astype(object),
            self._u << self._game.row_shift.astype(object),
            rows,
            columns,
            self._game,
        )


class _Program:
    """The linear program of `_Refinement` in HiGHS; its variables are w, s and t."""

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        highspy, self._solver = new_solver(small_matrix_value=_SMALLEST)
        self._n_rows, self._n_columns = matrix.shape
        self._optimal, self._basic = highspy.HighsModelStatus.kOptimal, highspy.HighsBasisStatus.kBasic
        self._infinity = highspy.kHighsInf
        self._variables = np.arange(self._n_columns + self._n_rows + 1, dtype=np.int32)
        for _ in self._variables[:-1]:
            self._solver.addVar(0.0, self._infinity)
        self._solver.addVar(-self._infinity, self._infinity)
        shares = self._variables[: self._n_columns]
        for slack, row in enumerate(matrix, self._n_columns):
            which = np.concatenate([shares, [slack, self._variables[-1]]]).astype(np.int32)
            self._solver.addRow(0.0, 0.0, len(which), which, np.append(row, [-1.0, -1.0]))
        self._solver.addRow(1.0, 1.0, len(shares), shares, np.ones(len(shares)))
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def solve(
        self,
        rhs: NDArray[np.float64],
        total: float,
        lower: NDArray[np.float64],
        cost: NDArray[np.float64],
        level_cost: float,
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float] | None:
        """Solve the linear program; return None if HiGHS gives up.

        Otherwise return a tuple of four: the shares w of the columns; the level t that every row reaches; the
        dual value of each row's equation; and the dual value of the equation for the sum of w.
        """
        solver, constraints = self._solver, np.arange(self._n_rows + 1, dtype=np.int32)
        sides = np.append(rhs, total)
        for constraint, side in zip(constraints.tolist(), sides.tolist(), strict=True):
            solver.changeRowBounds(constraint, side, side)
        free = np.where(lower < -_FAR, -self._infinity, lower)
        for variable, bound in enumerate(free.tolist()):
            solver.changeColBounds(variable, bound, self._infinity)
        costs = np.append(np.clip(cost, -_FAR, _FAR), level_cost)
        solver.changeColsCost(len(costs), self._variables, costs)
        solver.run()
        if solver.getModelStatus() != self._optimal:
            return None
        solution = solver.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        return values[: self._n_columns], float(values[-1]), -duals[:-1], float(duals[-1])

    def basis(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows and the columns that the mixtures use, read from the current basis of HiGHS.

        These are the rows that do not exceed the level t (s = 0) and the columns with a share w > 0.
        """
        basis = self._solver.getBasis()
        basic = np.array([status == self._basic for status in basis.col_status[:-1]])
        redundant = np.array([status == self._basic for status in basis.row_status[:-1]])
        return (
            np.flatnonzero(~basic[self._n_columns :] & ~redundant),
            np.flatnonzero(basic[: self._n_columns]),
        )


def _exponents(matrix: NDArray[np.float64], axis: int) -> NDArray[np.int64]:
    return np.asarray(np.frexp(np.abs(matrix).max(axis=axis))[1], dtype=np.int64)


def _floats(whole: NDArray[Any], exponent: int) -> NDArray[np.float64]:
    """Return ``whole * 2**exponent`` as floats; numbers outside -1e300..1e300 are clipped to these limits."""
    bits = max(int(np.abs(whole).max(initial=0)).bit_length(), 1)
    drop = max(bits - _FLOAT_BITS, 0)
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp((whole >> drop).astype(np.float64), drop + exponent), -1e300, 1e300)


def _whole(amounts: NDArray[np.float64], exponent: int) -> NDArray[Any]:
    """Return ``amounts * 2**exponent``, rounded down to whole numbers of any size."""
    mantissa, power = np.frexp(amounts)
    digits, shift = (
        np.ldexp(mantissa, 53).astype(np.int64).astype(object),
        power.astype(np.int64) - 53 + exponent,
    )
    left, right = np.maximum(shift, 0).astype(object), np.maximum(-shift, 0).astype(object)
    return np.asarray((digits << left) >> right)
