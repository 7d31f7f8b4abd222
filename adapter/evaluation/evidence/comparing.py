"""Intervals of each rule's mean squared error, and of its difference from the Fréchet mean's error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.evaluation.evidence.bootstrap import Interval, PairedBootstrap
from labelgrove.adapter.evaluation.evidence.extremes import Extremes
from labelgrove.adapter.evaluation.evidence.repeats import Repeats
from labelgrove.adapter.evaluation.evidence.verdict import Evidence, Gain
from labelgrove.adapter.evaluation.truths import LabelDistances
from labelgrove.adapter.scorer import Adapter

__all__ = ["Compared", "Comparison"]


@dataclass(frozen=True)
class Compared:
    """The intervals of the rules, and the evidence on which they are based.

    Attributes
    ----------
    intervals : mapping of str to Interval
        Interval of each rule's mean squared error E[d^2].
    gains : mapping of str to Gain
        Gain of the Fréchet mean over each rule; over itself it is 0.
    evidence : Evidence
        The samples on which the intervals are based.
    repeats : float
        Number of samples that give as much evidence as one independent sample (the design effect).
    """

    intervals: Mapping[str, Interval]
    gains: Mapping[str, Gain]
    evidence: Evidence
    repeats: float


class Comparison:
    """Compares rules by the squared distances from their answers to the truth; samples are added in blocks.

    Parameters
    ----------
    adapter : Adapter
    distance : LabelDistances
        Distances in the adapter's space.
    truths : ndarray of shape (n_samples,), dtype=int64
        Allowed label of each sample.
    rules : sequence of str
        Names of the rules, including ``"frechet_mean"``.
    seed : int
        Seed of the bootstrap draws.
    """

    def __init__(
        self,
        adapter: Adapter,
        distance: LabelDistances,
        truths: NDArray[np.int64],
        rules: Sequence[str],
        seed: int,
    ) -> None:
        self._adapter, self._truths, self._rules = adapter, truths, rules
        self._own = rules.index("frechet_mean")
        self._bootstrap = PairedBootstrap(len(truths), len(rules), seed)
        self._repeats = Repeats(len(truths))
        self._largest = np.full(len(rules), adapter.bundle.diameter**2)
        self._extremes = [Extremes(distance, adapter.bundle.diameter) for _ in rules]
        self._n_differing = np.zeros(len(rules), dtype=np.int64)

    def add(
        self,
        start: int,
        weights: NDArray[np.float64],
        answers: Sequence[NDArray[np.int64]],
        squared: NDArray[np.float64],
    ) -> None:
        """Add the rules' answers for the samples at indices ``start, start + 1, ...``.

        Parameters
        ----------
        start : int
        weights : ndarray of shape (m, n_observed)
        answers : sequence of ndarray of shape (m,)
            Answers of each rule, as indices of points of the bundle.
        squared : ndarray of shape (m, n_rules)
            Squared distances from the answers to the truth.
        """
        self._bootstrap.add(start, squared)
        self._repeats.add(start, weights)
        self._largest = np.maximum(self._largest, squared.max(axis=0))
        differences = squared - squared[:, [self._own]]
        self._n_differing += np.count_nonzero(differences, axis=0)
        for points, met in zip(answers, self._extremes, strict=True):
            met.add(answers[self._own], points)

    def compared(self, resamples: int, level: float) -> Compared:
        """Return the intervals and their evidence.

        The parameters are those of `PairedBootstrap.intervals` with the same names.
        """
        n, rules = len(self._truths), self._rules
        repeats = self._repeats.design_effect(self._truths)
        each = np.eye(len(rules))
        contrasts = np.concatenate([each, each - each[self._own]])
        own = np.column_stack([np.zeros(len(rules)), self._largest])
        ends = np.concatenate([own, [met.found() for met in self._extremes]])
        found = self._bootstrap.intervals(contrasts, ends, resamples, level, repeats=repeats)
        deviations = self._bootstrap.deviations(contrasts).tolist()
        kinds = self._adapter.keys.take(np.unique(self._truths)[:2])
        return Compared(
            dict(zip(rules, found, strict=False)),
            {
                rule: Gain(found[i], int(self._n_differing[i - len(rules)]), deviations[i], tuple(ends[i]))
                for i, rule in enumerate(rules, len(rules))
            },
            Evidence(n, int(n / repeats), kinds, level, resamples),
            repeats,
        )
