"""BallScorer: finds the best rows of distances by scoring the centres of balls first.

The root of the Fréchet variance per unit of weight is a norm of a row of distances, so between two rows it
differs by no more than their largest difference in any column. Rows within a radius of a centre are a ball,
and a ball whose centre is too high by more than its radius holds no winner: it stays closed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ontology.geometry.scoring.densescorer import DenseScorer, Sieve
from ontology.geometry.ties import powers

__all__ = ["BallScorer"]

_BLOCK_ROWS = 1 << 11
_FIRST_COLUMNS = 32


class BallScorer(DenseScorer):
    """A `DenseScorer` (beta = 2) of rows many of which are near one another.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_observed)
        Rows of distances.

    Notes
    -----
    Preparation compares each row with the centres of balls until one holds it: O(n_rows * n_balls) at worst,
    in the first columns mostly.
    """

    def __init__(self, distances: NDArray[Any]) -> None:
        super().__init__(distances)
        ball = _balls(distances)
        self._member = np.argsort(ball, kind="stable")  # centres come first, being the lowest of each ball
        self._centre, self._begin = np.unique(ball[self._member], return_index=True)
        self._size = np.diff(np.append(self._begin, len(ball)))
        self._radius = np.zeros(len(self._begin))
        for b in np.flatnonzero(self._size > 1).tolist():
            away = _signed(distances[self._others(b)]) - _signed(distances[self._centre[b]])
            self._radius[b] = float(np.abs(away).max())

    @property
    def n_balls(self) -> int:
        """Number of balls."""
        return len(self._centre)

    def sifted(
        self, weights: NDArray[np.float64], rows: NDArray[np.int64] | None, top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the (sample, row) pairs that may be among the `top` or tied, sorted; None: too many."""
        if rows is not None or top != 1:
            return super().sifted(weights, rows, top)
        sieve = Sieve(weights, 1)
        measured = []
        for start in range(0, len(self._centre), _BLOCK_ROWS):
            centre = self._centre[start : start + _BLOCK_ROWS]
            measured.append((start, sieve.add(centre, powers(self._distances[centre], 2))))
            if sieve.overflows():
                return None
        root = np.sqrt(sieve.bound())
        for start, (value, relative, absolute) in measured:
            radius = self._radius[start : start + _BLOCK_ROWS]
            within = (radius[:, None] + root).astype(value.dtype)
            within *= 1 + relative + 1e-6  # of the value, and of the numbers here
            within += np.sqrt(absolute)
            open_ = np.sqrt(value) <= within
            open_[self._size[start : start + _BLOCK_ROWS] == 1] = False
            for b in np.flatnonzero(open_.any(axis=1)).tolist():
                others = self._others(start + b)
                sieve.add(others, powers(self._distances[others], 2), np.flatnonzero(open_[b]))
                if sieve.overflows():
                    return None
        return sieve.pairs()

    def _others(self, ball: int) -> NDArray[np.int64]:
        """Return the rows of a ball but its centre."""
        return self._member[self._begin[ball] + 1 : self._begin[ball] + self._size[ball]]


def _balls(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the centre of the ball that holds each row; a centre is the lowest row of its ball.

    The radius is what half of the rows are at most away from the next of the same kind: the one with the same
    nearest label and the next larger sum.
    """
    signed = _signed(rows)
    alike = np.lexsort((rows.sum(axis=1, dtype=np.float64), rows.argmin(axis=1)))
    steps = np.zeros(max(len(rows) - 1, 1))
    for at in range(0, len(rows) - 1, _BLOCK_ROWS):
        block = signed[alike[at : at + _BLOCK_ROWS + 1]]
        steps[at : at + len(block) - 1] = np.abs(np.diff(block, axis=0)).max(axis=1)
    radius = float(np.percentile(steps, 50))
    head = np.ascontiguousarray(signed[:, :_FIRST_COLUMNS])
    ball = np.empty(len(rows), dtype=np.int64)
    left = np.arange(len(rows))
    while len(left):
        centre = left[0]
        may = np.flatnonzero((np.abs(head[left] - head[centre]) <= radius).all(axis=1))
        held = may[(np.abs(signed[left[may]] - signed[centre]) <= radius).all(axis=1)]
        ball[left[held]] = centre
        left = np.delete(left, held)
    return ball


def _signed(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows in a dtype that holds their differences."""
    return rows.astype({1: np.int16, 2: np.int32}[rows.itemsize] if rows.dtype.kind == "u" else np.float64)
