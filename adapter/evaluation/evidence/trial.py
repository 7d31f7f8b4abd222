"""Test whether another temperature makes the Fréchet mean better than the baselines.

One half of the samples is used to choose the temperature, the other half to test it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.evaluation.evidence.bootstrap import PairedBootstrap
from labelgrove.adapter.evaluation.evidence.extremes import Extremes
from labelgrove.adapter.evaluation.evidence.verdict import FEWEST_DIFFERING, Mended
from labelgrove.adapter.evaluation.truths import LabelDistances
from labelgrove.adapter.outputs.weights import softmax
from labelgrove.adapter.scorer import Adapter

__all__ = ["Trial"]

_TIMES = 2.0 ** np.arange(-6.0, 4.5, 0.5)


@dataclass(frozen=True)
class Trial:
    """Some of the samples, on which temperatures other than the adapter's are tried.

    Attributes
    ----------
    adapter : Adapter
    distance : LabelDistances
        Distances in the adapter's space.
    logits : ndarray of shape (m, n_observed), dtype=float64
        Logits of the samples; their columns are in the order of the bundle.
    truths : ndarray of shape (m,), dtype=int64
        Allowed label of each sample.
    answers, squared : mapping of str to ndarray of shape (m,)
        For each rule that the Fréchet mean is compared with: its answers, as indices of points of the bundle,
        and their squared distances to the truth.
    seed, resamples, level, repeats
        Settings of the intervals: `seed` as for `adapter.evaluation.evidence.bootstrap.PairedBootstrap`, the
        others as for its method `intervals`.
    """

    adapter: Adapter
    distance: LabelDistances
    logits: NDArray[np.float64]
    truths: NDArray[np.int64]
    answers: Mapping[str, NDArray[np.int64]]
    squared: Mapping[str, NDArray[np.float64]]
    seed: int
    resamples: int
    level: float
    repeats: float

    def mended(self) -> Mended | None:
        """Return a `Mended` record with a temperature at which the Fréchet mean is significantly better.

        If no such temperature is found, return None.

        Every second sample is used to choose the temperature, and the others are used to test it. The Fréchet
        mean at the chosen temperature must have a smaller mean squared error E[d^2] than each rule in
        `answers`, and than the Fréchet mean at the current temperature: the intervals of these differences
        must be above 0. It is not enough that the Fréchet mean is better than at the current temperature: a
        low temperature may only turn it into argmax. The samples that test the temperature must have at
        least two different truths. In each comparison, at least `FEWEST_DIFFERING` of these samples must have
        different squared distances.
        """
        own = self.adapter.temperature
        labels = {
            times: self.adapter.rank(softmax(self.logits, times * own)).index[:, 0]
            for times in _TIMES.tolist()
        }
        squared = {times: self.distance(self.truths, found) ** 2 for times, found in labels.items()}
        best = min(squared, key=lambda times: (float(squared[times][::2].mean()), abs(np.log(times))))
        told = slice(1, None, 2)
        truths, after = self.truths[told], squared[best][told]
        if best == 1 or not len(truths) or (truths == truths[0]).all():
            return None
        allowed = self.adapter.bundle.allowed
        others = {rule: values[told] for rule, values in self.squared.items()} | {
            "before": squared[1.0][told]
        }
        answers = {rule: points[told] for rule, points in self.answers.items()}
        answers["before"] = allowed[labels[1.0][told]]
        values = np.column_stack([after, *others.values()])
        if not all(np.count_nonzero(other != after) >= FEWEST_DIFFERING for other in others.values()):
            return None
        bootstrap = PairedBootstrap(len(after), values.shape[1], self.seed)
        bootstrap.add(0, values)
        ends = []
        for rule in others:
            met = Extremes(self.distance, self.adapter.bundle.diameter)
            met.add(allowed[labels[best][told]], answers[rule])
            ends.append(met.found())
        contrasts = np.column_stack([np.full(len(others), -1.0), np.eye(len(others))])
        intervals = bootstrap.intervals(
            contrasts, np.array(ends), self.resamples, self.level, repeats=self.repeats
        )
        if not all(interval.low > 0 for interval in intervals):
            return None
        return Mended(best * own, float(others["before"].mean()), float(after.mean()))
