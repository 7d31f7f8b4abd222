"""The outputs of a pretrained model, and the predictions of a trial in which it knows fewer classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.datasets.predicted import Predicted
from labelgrove.ontology.errors import InputError, UnknownLabelError, first_few
from labelgrove.ontology.geometry import MetricSpace

__all__ = ["PretrainedModel"]

_STREAM = 29
_CALIBRATION_SHARE = 1 / 3
_EXCLUDED = np.log(1e-12)
"""How far the logit of an excluded class lies below the largest: no temperature mends a likelihood of 0."""


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """The outputs of a model that others trained, for samples whose true labels are known.

    Attributes
    ----------
    space : MetricSpace
        The space in which the answers are judged.
    columns : tuple of str, length n_columns
        The label key of each class of the model.
    logits : ndarray of shape (n_samples, n_columns), dtype=float64
        Logarithms of probabilities, up to a constant for each row; minus infinity for classes that the model
        excludes. If it excludes all classes that a trial keeps, it has no answer.
    truth : ndarray of str, shape (n_samples,)
        The true label key of each sample; some of these labels have no column.
    """

    space: MetricSpace
    columns: tuple[str, ...]
    logits: NDArray[np.float64]
    truth: NDArray[np.str_]

    @classmethod
    def of_columns(
        cls, space: MetricSpace, columns: Sequence[str], logits: NDArray[np.float64], truth: Sequence[str]
    ) -> PretrainedModel:
        """Bind the outputs to the labels of a space, without the columns that stand for none of its labels.

        Raises
        ------
        InputError
            If two columns stand for the same label.
        UnknownLabelError
            If a true label is not a label of the space.
        """
        repeated = sorted({key for key in columns if list(columns).count(key) > 1})
        if repeated:
            raise InputError(f"columns: {first_few(repeated)} given twice; give each label one column")
        unknown = sorted({key for key in truth if space.keys.find(key) < 0})
        if unknown:
            raise UnknownLabelError(
                f"truth: {first_few(unknown)} not in the hierarchy; leave out the samples of these labels"
            )
        kept = [i for i, key in enumerate(columns) if space.keys.find(key) >= 0]
        return cls(space, tuple(columns[i] for i in kept), logits[:, kept], np.array(truth))

    def known(self, withheld: float, seed: int) -> NDArray[np.int64]:
        """Draw the columns that a trial keeps, as ascending indices; `withheld` is the share of the others.

        At least two columns are kept.
        """
        n = len(self.columns)
        n_kept = max(2, n - round(withheld * n))
        return np.sort(np.random.default_rng((seed, _STREAM)).permutation(n)[:n_kept])

    def calibration(self, seed: int) -> NDArray[np.bool_]:
        """Draw the samples that fit a temperature; the others are for testing.

        They are a third of the samples of each true label, rounded down. Classes of equal size have as many
        test samples each, whether the model knows them or not.
        """
        rng = np.random.default_rng((seed, _STREAM, 1))
        chosen = np.zeros(len(self.truth), dtype=bool)
        for label in np.unique(self.truth):
            rows = np.flatnonzero(self.truth == label)
            chosen[rng.permutation(rows)[: int(len(rows) * _CALIBRATION_SHARE)]] = True
        return chosen

    def answers(self, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each sample whether the model has an answer among these columns."""
        return np.asarray(np.isfinite(self.logits[:, columns]).any(axis=1))

    def kept(self, columns: NDArray[np.int64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the logits in some columns and rows, which must have an answer; all of them are finite."""
        logits = self.logits[np.ix_(rows, columns)]
        least = logits.max(axis=1, keepdims=True) + _EXCLUDED
        return np.where(np.isneginf(logits), least, logits)

    def predicted(
        self, columns: NDArray[np.int64], rows: NDArray[np.bool_], temperature: float = 1.0
    ) -> Predicted:
        """Return the softmax of the logits in some columns and rows, divided by `temperature`.

        A model cannot be trained again without the other classes; what it learned about them stays in
        the columns that are kept. Nothing was trained on labels of the space, so the training labels are the
        true labels of these rows.
        """
        logits = self.kept(columns, rows) / temperature
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        truth = tuple(self.truth[rows].tolist())
        return Predicted(
            tuple(self.columns[i] for i in columns.tolist()),
            weights / weights.sum(axis=1, keepdims=True),
            truth,
            truth,
        )
