"""GraphScorer: exact Fréchet means (beta = 2) from rows of distances, with most rows left out.

On a graph with far more labels than observed ones, most rows are equal to another row, or nowhere smaller
than another row (`ontology.geometry.scoring.rowreduction`). The smallest value is found among the rest by a
`BallScorer`; labels left out that are tied with it are then added, so that answers equal those of every other
scorer to the last bit, ties and their number included.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ontology.geometry.scoring.ballscorer import BallScorer
from ontology.geometry.scoring.densescorer import DenseScorer
from ontology.geometry.scoring.ranking import (
    Finalists,
    Ranked,
    check_choice,
    check_one_row,
    gathered,
    ranked_groups,
    spans,
)
from ontology.geometry.scoring.rowreduction import Classes, Dominance
from ontology.geometry.ties import TIE_RELATIVE, FrechetResult, check_weights, tied

__all__ = ["GraphScorer"]

_WORTH_REDUCING = 256
_HEAVY_COLUMNS = 8


class GraphScorer:
    """Scores the allowed labels of any space from their distances to the observed ones, equal rows once.

    Parameters
    ----------
    distances : ndarray of shape (n_labels, n_observed)
        Distances from each allowed label, in canonical order, to each observed label, in the order of the
        columns of the weights.

    Notes
    -----
    The first few hundred rows of weights are scored as they come, by a `DenseScorer`; then the rows of
    distances are reduced, once: O(n_labels * n_observed) time, and as much memory as the distinct rows take.
    More than one label for a sample leaves out equal rows alone, and a choice of candidates nothing.

    Examples
    --------
    >>> GraphScorer(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.uint8)).score([[1.0, 1.0]]).index
    array([1])
    """

    def __init__(self, distances: NDArray[Any]) -> None:
        self._distances = distances
        self._dense = DenseScorer(distances)
        self._n_rows = 0

    @property
    def n_observed(self) -> int:
        """Number of columns of the weights."""
        return self._dense.n_observed

    def score(
        self, weights: ArrayLike, top: int = 1, candidates: NDArray[np.int64] | None = None
    ) -> FrechetResult:
        """Return the best labels of each sample.

        Parameters
        ----------
        weights : array_like of shape (n_samples, n_observed) or (n_observed,)
            Non-negative; rows need not sum to one.
        top : int, default=1
            Number of labels to return, best first: each is the winner by the tie rule among those that the
            ones before it leave.
        candidates : ndarray of int64, optional
            Indices of the labels that take part; all by default.

        Raises
        ------
        WeightError, InputError
            As for `DenseScorer.score`.
        """
        checked = check_weights(weights, self.n_observed)
        self._n_rows += len(checked)
        if candidates is not None or self._n_rows < _WORTH_REDUCING:
            return self._dense.score(checked, top, candidates)
        check_choice(top, None, len(self._distances))
        return gathered(len(checked), top, self._ranked(checked, top))

    def _ranked(self, weights: NDArray[np.float64], top: int) -> Iterator[tuple[slice, Ranked]]:
        scorer, classes = self._kept if top == 1 else self._distinct, self._classes
        for of, (sample, row, total) in scorer.decided(weights, None, min(top, scorer.n_labels)):
            finalists = (sample, row, total)
            if top == 1:
                finalists = self._completed(weights[of], (sample, self._dominance.kept[row], total))
            yield of, ranked_groups(classes.first, classes.label, finalists, top)

    def tied(self, weights: ArrayLike) -> NDArray[np.int64]:
        """Return all labels tied with the best one, ascending; `weights` is one row."""
        checked = check_weights(weights, self.n_observed)
        check_one_row(len(checked))
        self._n_rows += 1
        if self._n_rows < _WORTH_REDUCING:
            return self._dense.tied(checked)
        ((_, (sample, row, total)),) = self._kept.decided(checked, None, 1)
        _, found, total = self._completed(checked, (sample, self._dominance.kept[row], total))
        among, first = found[tied(total)], self._classes.first
        return np.sort(self._classes.label[spans(first[among], first[among + 1] - first[among])])

    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label; shape (n_samples, n_labels), dtype=float64."""
        return self._dense.variance(weights)

    def reduce(self) -> tuple[int, int, int, int]:
        """Reduce the rows now; return the number of rows, of distinct ones, of those kept and of balls."""
        self._n_rows += _WORTH_REDUCING
        return len(self._distances), len(self._rows), self._kept.n_labels, self._kept.n_balls

    @cached_property
    def _classes(self) -> Classes:
        return Classes.of(self._distances)

    @cached_property
    def _rows(self) -> NDArray[Any]:
        return self._distances[self._classes.row]

    @cached_property
    def _dominance(self) -> Dominance:
        return Dominance.of(self._rows)

    @cached_property
    def _distinct(self) -> DenseScorer:
        return DenseScorer(self._rows)

    @cached_property
    def _kept(self) -> BallScorer:
        return BallScorer(self._rows[self._dominance.kept])

    def _completed(self, weights: NDArray[np.float64], finalists: Finalists) -> Finalists:
        """Add the dropped classes that are tied with the best, round by round below those that are.

        Where a class is tied, the terms in which it is farther than the class that bounds it add up to no
        more than the tolerance, so each of them is within it.
        """
        sample, found, total = finalists
        dominance, n_observed = self._dominance, self.n_observed
        begin = np.searchsorted(sample, np.arange(len(weights)))
        limit = np.minimum.reduceat(total, begin) * (1 + TIE_RELATIVE)
        # of a sum of terms that ties: the rule itself, the rounding of two plain sums, and underflow
        room = limit * (TIE_RELATIVE + 4 * (n_observed + 8) * 2.0**-53) + n_observed * 2.0**-1073
        n_light = (weights <= (room / dominance.least_gap)[:, None]).sum(axis=1)
        heavy: NDArray[np.int64] | None = None
        parts = [finalists]
        fresh = total <= limit[sample]
        sample, found = sample[fresh], found[fresh]
        while len(sample):
            n_below = _counts_up_to(dominance, found, n_light[sample])
            bound_by, sample = np.repeat(found, n_below), np.repeat(sample, n_below)
            found = dominance.below[spans(dominance.begin[found], n_below)]
            if not len(sample):
                break
            if heavy is None:
                n_heavy = min(_HEAVY_COLUMNS, n_observed)
                heavy = np.argpartition(-weights, n_heavy - 1, axis=1)[:, :n_heavy]
            for columns in heavy.T:  # the heaviest terms alone rule almost everything out
                column = columns[sample]
                near = self._rows[bound_by, column].astype(np.float64)
                far = self._rows[found, column].astype(np.float64)
                may = weights[sample, column] * (far * far - near * near) <= room[sample]
                sample, found, bound_by = sample[may], found[may], bound_by[may]
            by = np.lexsort((found, sample))
            sample, found = sample[by], found[by]
            total = self._distinct.totals(weights, sample, found)
            ties = total <= limit[sample]
            sample, found, total = sample[ties], found[ties], total[ties]
            parts.append((sample, found, total))
        sample, found, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        return sample, found, total


def _counts_up_to(
    dominance: Dominance, rows: NDArray[np.int64], most: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many of the rows that each row bounds are farther in at most `most` columns."""
    low, high = dominance.begin[rows].copy(), dominance.begin[rows + 1].copy()
    while len(wide := np.flatnonzero(low < high)):
        middle = (low[wide] + high[wide]) >> 1
        within = dominance.n_farther[middle] <= most[wide]
        low[wide] = np.where(within, middle + 1, low[wide])
        high[wide] = np.where(within, high[wide], middle)
    return low - dominance.begin[rows]
