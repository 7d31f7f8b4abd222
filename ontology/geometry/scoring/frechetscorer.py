"""Scorer: the base class of all scorers, which defines their arguments and checks them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry.arguments import index_array, whole_number
from labelgrove.ontology.geometry.scoring.decision import Decision
from labelgrove.ontology.geometry.ties import FrechetResult, shaped_weights

__all__ = ["Scorer"]


class Scorer(ABC):
    """Finds Fréchet means on one space, for one list of observed labels that is prepared once.

    `ontology.geometry.make_scorer` picks the scorer that fits a space.

    Attributes
    ----------
    n_observed : int
        Number of columns of the weights.
    n_labels : int
        Number of labels that may be an answer.
    """

    n_observed: int
    n_labels: int

    def score(
        self, weights: ArrayLike, top: int = 1, candidates: NDArray[np.int64] | None = None
    ) -> FrechetResult:
        """Return the best labels of each sample.

        Parameters
        ----------
        weights : array_like of shape (n_samples, n_observed) or (n_observed,)
            Non-negative weights, one row for each sample; rows need not sum to one.
        top : int, default=1
            Number of labels to return, best first. Each next label is the best of the labels that are not
            listed yet; ties between these labels are decided by the tie rule of `ontology.geometry.ties`.
        candidates : ndarray of int64, optional
            Indices of the labels that may be returned; all by default.

        Raises
        ------
        WeightError
            For weights that break a rule (see `check_weights`).
        InputError
            If `top` is not between 1 and the number of candidates, a candidate is not the index of an allowed
            label, or a distance to the power of the exponent exceeds 1e157.
        """
        given = shaped_weights(weights, self.n_observed)
        return self.score_rows(given, top, self._distinct_candidates(top, candidates))

    def tied(self, weights: ArrayLike) -> NDArray[np.int64]:
        """Return the indices of all labels tied with the best label, ascending, for one row of `weights`."""
        given = shaped_weights(weights, self.n_observed)
        if len(given) != 1:
            raise WeightError(f"weights: {len(given)} rows given; give one row to list its tied labels")
        return self.tied_row(given)

    def decision(self, order: NDArray[np.int64] | None = None) -> Decision | None:
        """Return a search that finds the same labels as `score` and takes rows of unchecked weights.

        Parameters
        ----------
        order : ndarray of shape (n_observed,), dtype=int64, optional
            For each observed label, its column in the rows of weights; by default the columns are in the
            order of the observed labels, as for `score`.

        Returns
        -------
        decision : Decision, or None
            None if this scorer has no compiled search, or has not loaded it yet.
        """
        return None

    def warm(self, top: int = 1) -> None:
        """Prepare all that requests for `top` labels need; load the compiled search, if there is one.

        If the code of the search is in no folder, it is compiled. Without numba, only the rest is prepared.

        Raises
        ------
        InputError
            If `top` is not between 1 and the number of labels.
        """
        self.score(np.ones(self.n_observed), top)

    @abstractmethod
    def variance(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the Fréchet variance of every label; shape (n_samples, n_labels), dtype=float64."""

    @abstractmethod
    def score_rows(
        self, given: NDArray[Any], top: int, candidates: NDArray[np.int64] | None
    ) -> FrechetResult:
        """Return the result of `score` for rows of the right shape, a valid `top` and sorted candidates.

        Implementations check the values of the rows.
        """

    @abstractmethod
    def tied_row(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Return the result of `tied` for one row of the right shape, and check the values of the row."""

    def _distinct_candidates(self, top: int, candidates: ArrayLike | None) -> NDArray[np.int64] | None:
        """Return the distinct candidates in ascending order, or None if `candidates` is None.

        None stands for all labels. `InputError` is raised if `top` is not between 1 and the number of labels
        that may be returned, if there are no candidates, or if one is not the index of an allowed label.
        """
        rows = None
        if candidates is not None:
            rows = np.unique(index_array("candidates", candidates, self.n_labels))
            if not len(rows):
                last = self.n_labels - 1
                raise InputError(f"candidates: empty; give at least one index, each within 0..{last}")
        whole_number("top", top, 1, self.n_labels if rows is None else len(rows))
        return rows
