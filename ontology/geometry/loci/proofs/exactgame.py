"""Matrix games decided in whole numbers, where floating point is not exact enough.

The question is whether some mixture of the columns of a payoff matrix is at least zero in every row. The
sign of the value of the matrix game answers this: yes if the sign is 0 or 1, no if it is -1. A proof of "yes"
is such a mixture of columns. A proof of "no" is a mixture of rows that is negative in every column.

`settle` finds the sign and its proof. It solves a small part of the game exactly and adds rows and columns
that refute the answer, until none do. `decide` is faster. It first tries mixtures that floating point
proposes (`ontology.geometry.loci.proofs.gameproposal`). Then it tries the *corner*, the part of the game that
consists of the rows and columns with positive weight in the best mixtures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.ontology.geometry.loci.proofs.gameproposal import Balanced, balanced, propose
from labelgrove.ontology.geometry.loci.proofs.linearsystem import LinearSystem
from labelgrove.ontology.geometry.loci.proofs.longfloats import corner_of_game

__all__ = ["Settled", "decide", "exact_product", "settle", "solve_corner", "solve_game"]

Answer = tuple[int, NDArray[Any], NDArray[Any]]

_LARGEST = 1 << 62
_ADDED_AT_ONCE = 4
_FEW = 8
_LENGTHS = (256, 1024, 4096)


@dataclass(frozen=True)
class Settled:
    """The sign of the value of a matrix game, and its proof.

    Attributes
    ----------
    sign : {-1, 0, 1}
        Sign of the value. The value is the largest amount that some mixture of columns reaches in every row.
    weights : ndarray of shape (n_columns,), dtype=object
        Whole numbers, none negative. If `sign` is 1, every entry of ``payoff @ weights`` is positive. If
        `sign` is 0, none is negative.
    multipliers : ndarray of shape (n_rows,), dtype=object
        Whole numbers, none negative. If `sign` is -1, every entry of ``multipliers @ payoff`` is negative. If
        `sign` is 0, none is positive.
    """

    sign: int
    weights: NDArray[Any]
    multipliers: NDArray[Any]


def exact_product(matrix: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Return ``matrix @ vector`` in whole numbers of any size.

    Parameters
    ----------
    matrix : ndarray of shape (n, m), dtype=int64 or object
    vector : ndarray of shape (m,), dtype=int64 or object
        Whole numbers.

    Returns
    -------
    product : ndarray of shape (n,)
        int64 if no intermediate sum can leave the range of int64, object otherwise.

    Examples
    --------
    >>> exact_product(np.array([[2**62, 2**62]]), np.array([2, 2]))
    array([18446744073709551616], dtype=object)
    """
    carried = np.flatnonzero(vector)
    part, factor = matrix[:, carried], vector[carried]
    if matrix.dtype != object:
        largest = max(abs(int(part.max(initial=0))), abs(int(part.min(initial=0))))
        if largest * sum(map(abs, factor.tolist())) < _LARGEST:
            return np.asarray(part @ factor.astype(np.int64))
    product = np.zeros(len(matrix), dtype=object)
    for column, weight in zip(part.T, factor.tolist(), strict=True):
        product += column.astype(object) * weight
    return product


def solve_game(payoff: NDArray[Any]) -> Answer:
    """Solve a matrix game exactly; one player mixes columns to maximize, the other mixes rows to minimize.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns)
        Whole numbers; at least one row and one column.

    Returns
    -------
    sign : int
        -1, 0 or 1: the sign of the value.
    weights : ndarray of shape (n_columns,), dtype=object
        A best mixture of columns, as coprime whole numbers in the right ratios.
    multipliers : ndarray of shape (n_rows,), dtype=object
        A best mixture of rows, in the same form.

    Notes
    -----
    A constant is added to all payoffs to make them positive. Then the simplex method maximizes ``sum(u)``
    under ``payoff.T @ u <= 1`` and ``u >= 0``, starting from the feasible point u = 0. Its table consists of
    whole numbers with a common denominator, the previous pivot; each step divides by this pivot without
    remainder. The variable with the most negative cost enters the basis. But after a step that does not
    improve the objective, the first variable with a negative cost enters (Bland's rule), until a step
    improves the objective again. So the method cannot cycle.

    Examples
    --------
    >>> solve_game(np.array([[3, -1], [-1, 1]]))
    (1, array([1, 2], dtype=object), array([1, 2], dtype=object))
    """
    n_rows, n_columns = payoff.shape
    shift = 1 - int(payoff.min())
    # a table row for each column of the game; right-hand side in the last column, objective in the last row
    table = np.empty((n_columns + 1, n_rows + 1), dtype=object)
    table[:-1, :-1] = payoff.T.astype(object) + shift
    table[:-1, -1] = 1
    table[-1, :-1] = -1
    table[-1, -1] = 0
    basic = np.arange(n_rows, n_rows + n_columns)  # below n_rows: rows of the game; then slacks
    outside = np.arange(n_rows)
    denominator, careful = 1, False
    while True:
        promising = np.flatnonzero(table[-1, :-1] < 0)
        if not len(promising):
            break
        if careful:
            enter = int(promising[np.argmin(outside[promising])])
        else:
            enter = int(promising[np.argmin(table[-1, promising])])
        leave = _leaving(table, basic, enter)
        careful = table[leave, -1] == 0
        denominator = _pivot(table, leave, enter, denominator)
        basic[leave], outside[enter] = outside[enter], basic[leave]
    weights = np.zeros(n_columns, dtype=object)
    multipliers = np.zeros(n_rows, dtype=object)
    for variable, cost in zip(outside.tolist(), table[-1, :-1], strict=True):
        if variable >= n_rows:
            weights[variable - n_rows] = cost
    for variable, amount in zip(basic.tolist(), table[:-1, -1], strict=True):
        if variable < n_rows:
            multipliers[variable] = amount
    # the value is denominator / objective - shift
    value = denominator - shift * int(table[-1, -1])
    return (value > 0) - (value < 0), _reduced(weights), _reduced(multipliers)


def _leaving(table: NDArray[Any], basic: NDArray[np.int64], enter: int) -> int:
    best = -1
    for r in range(len(table) - 1):
        if table[r, enter] > 0:
            if best < 0:
                best = r
                continue
            ahead = table[r, -1] * table[best, enter] - table[best, -1] * table[r, enter]
            if ahead < 0 or (ahead == 0 and basic[r] < basic[best]):
                best = r
    return best


def _pivot(table: NDArray[Any], r: int, c: int, denominator: int) -> int:
    pivot, row, column = table[r, c], table[r].copy(), table[:, c].copy()
    table *= pivot
    table -= np.multiply.outer(column, row)
    table //= denominator
    table[r], table[:, c] = row, -column
    table[r, c] = denominator
    return int(pivot)


def _reduced(whole: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(whole // np.gcd.reduce(whole))


def solve_corner(payoff: NDArray[Any]) -> Answer | None:
    """Solve a matrix game whose best mixtures use every row and every column; return None for other games.

    The arguments and the result are those of `solve_game`. The function solves two systems of linear
    equations: if the best mixtures w of columns and u of rows use every column and row, then all entries of
    ``payoff @ w`` and ``u @ payoff`` equal the value of the game.

    Examples
    --------
    >>> solve_corner(np.array([[3, -1], [-1, 1]]))
    (1, array([1, 2], dtype=object), array([1, 2], dtype=object))
    >>> solve_corner(np.array([[3, 2], [-1, 1]])) is None
    True
    """
    if payoff.shape[0] != payoff.shape[1]:
        return None
    shift = 1 - int(payoff.min())
    system, ones = LinearSystem(payoff.astype(object) + shift), np.ones(len(payoff), dtype=object)
    found, other = system.solve(ones), system.solve(ones, transposed=True)
    if found is None or other is None or (found[0] < 0).any() or (other[0] < 0).any():
        return None
    value = found[1] - shift * int(found[0].sum())
    return (value > 0) - (value < 0), _reduced(found[0]), _reduced(other[0])


def decide(payoff: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Settled:
    """Find the sign of a matrix game's value and prove it exactly, with the help of floating point.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns), dtype=int64 or object
        Whole numbers.
    rows, columns : ndarray of int64
        Rows and columns that may be enough to decide the sign; neither array may be empty.

    Raises
    ------
    MissingExtraError
        If highspy is not installed.

    Notes
    -----
    There are four attempts, in this order:

    1. If few rows or few columns are given, the part of the game that they form is solved exactly, and grows
       as in `settle`.
    2. Floating point proposes mixtures, each more exact than the one before. The function multiplies
       the payoffs by the proposed mixtures, in whole numbers. If the products prove the sign, the proposal is
       the result. If the sign is not 0, this nearly always succeeds.
    3. When two consecutive proposals use the same rows and columns, the part of the game that these form is
       assumed to be its *corner*: the rows and columns that the best mixtures use. It is solved exactly.
    4. `settle` is called with the rows and columns of the last proposal. To solve a part of the game,
       `settle` first looks for the corner of this part with the simplex method, in fractions of more and
       more bits.

    A corner of k rows and k columns with payoffs of b bits costs O(k^3 (b + log k)). As for every simplex
    method, no better bound on the number of steps is known than the number of corners; `docs/benchmarks.md`
    reports the slowest of many games that were designed to be hard.

    Examples
    --------
    >>> found = decide(np.array([[3, -1], [-1, 1]]), np.array([0]), np.array([0]))
    >>> found.sign, found.weights.tolist()
    (1, [1, 2])
    """
    while min(len(rows), len(columns)) <= _FEW:
        answer = solve_game(payoff[np.ix_(rows, columns)])
        found, more_rows, more_columns = _extended(payoff, rows, columns, answer)
        if found is not None:
            return found
        rows, columns = np.append(rows, more_rows), np.append(columns, more_columns)
    n_alike = 0
    for proposal in propose(payoff):
        if (exact_product(payoff, proposal.weights) > 0).all():
            return Settled(1, _reduced(proposal.weights), proposal.multipliers)
        if (exact_product(payoff.T, proposal.multipliers) < 0).all():
            return Settled(-1, proposal.weights, _reduced(proposal.multipliers))
        same = np.array_equal(rows, proposal.rows) and np.array_equal(columns, proposal.columns)
        rows, columns, n_alike = proposal.rows, proposal.columns, n_alike + 1 if same else 0
        if n_alike == 1:
            found = _at_corner(payoff, proposal.game, rows, columns)
            if found is not None:
                return found
    return settle(payoff, rows, columns, solve=_solve_long)


def _at_corner(
    payoff: NDArray[Any], game: Balanced, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Settled | None:
    """Solve a game on the assumption that its best mixtures use exactly the given rows and columns.

    Return the sign of the game and its proof, or None if the solution for these rows and columns proves no
    sign for the whole game. `game` is the balanced form of `payoff`.
    """
    answer = solve_corner(game.exactly(payoff, rows, columns))
    if answer is None:
        return None
    sign, weights, multipliers = answer
    weights = _reduced(weights << game.column_shift[columns].astype(object))
    multipliers = _reduced(multipliers << game.row_shift[rows].astype(object))
    return _extended(payoff, rows, columns, (sign, weights, multipliers))[0]


def _solve_long(payoff: NDArray[Any]) -> Answer:
    """Solve a matrix game like `solve_game`, but faster if its numbers are long.

    The simplex method finds the rows and columns that the best mixtures of the balanced game use (its
    corner), in fractions of a fixed number of bits. The corner is then solved exactly. If this does not solve
    the whole game, the number of bits is raised. If no number of bits is enough, `solve_game` itself is
    called.
    """
    game = balanced(payoff)
    whole = game.exactly(payoff, np.arange(payoff.shape[0]), np.arange(payoff.shape[1]))
    for n_bits in _LENGTHS:
        corner = corner_of_game(whole, game.unit, n_bits)
        found = corner and _at_corner(payoff, game, *corner)
        if found is not None:
            return found.sign, found.weights, found.multipliers
    return solve_game(payoff)


def settle(
    payoff: NDArray[Any],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    *,
    solve: Callable[[NDArray[Any]], Answer] = solve_game,
) -> Settled:
    """Find the sign of a matrix game's value and prove it, using whole numbers only.

    Parameters
    ----------
    payoff : ndarray of shape (n_rows, n_columns), dtype=int64 or object
        Whole numbers.
    rows, columns : ndarray of int64
        The part of the game to begin with, such as the rows and columns that have weight in an approximate
        solution; neither array may be empty.
    solve : callable, default=solve_game
        Function that solves a part, with the arguments and the result of `solve_game`.

    Notes
    -----
    Each round solves the part exactly. If rows or columns of the whole game refute the answer, the round adds
    those that refute it most, and the next round follows. A round adds at most as many rows and columns as
    the part has, but may always add four of each. Typically the part grows by a few rows and columns, at
    worst to the whole game.
    """
    while True:
        answer = solve(payoff[np.ix_(rows, columns)])
        found, more_rows, more_columns = _extended(payoff, rows, columns, answer)
        if found is not None:
            return found
        rows, columns = np.append(rows, more_rows), np.append(columns, more_columns)


def _extended(
    payoff: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64], answer: Answer
) -> tuple[Settled | None, NDArray[np.int64], NDArray[np.int64]]:
    """Extend the answer for a part to the whole game, with weight 0 outside the part, and check it.

    Returns the settled game, or None if the answer is wrong for the whole game. Also returns the rows and the
    columns that refute it; both are empty if the answer is right.
    """
    sign, some_weights, some_multipliers = answer
    weights = np.zeros(payoff.shape[1], dtype=object)
    weights[columns] = some_weights
    multipliers = np.zeros(payoff.shape[0], dtype=object)
    multipliers[rows] = some_multipliers
    low = exact_product(payoff, weights) if sign >= 0 else np.ones(1, dtype=np.int64)
    high = exact_product(payoff.T, multipliers) if sign <= 0 else -np.ones(1, dtype=np.int64)
    more_rows = _smallest(low, np.flatnonzero(low < (1 if sign > 0 else 0)), len(rows))
    more_columns = _smallest(-high, np.flatnonzero(high > (-1 if sign < 0 else 0)), len(columns))
    settled = not len(more_rows) and not len(more_columns)
    return Settled(sign, weights, multipliers) if settled else None, more_rows, more_columns


def _smallest(values: NDArray[Any], among: NDArray[np.int64], n_had: int) -> NDArray[np.int64]:
    return among[np.argsort(values[among], kind="stable")[: max(n_had, _ADDED_AT_ONCE)]]
