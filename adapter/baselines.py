"""The rules that the Fréchet mean is compared with, and what each answers.

====================  =====================================================================================
``argmax``            the observed label with the largest probability; the first of them in canonical order
``constant``          one label for every sample: the Fréchet mean of the training labels
``observed_only``     the Fréchet mean among the observed labels, with the exponent of the adapter
``crm``               the observed label with the smallest expected distance (not squared)
``nearest_observed``  an oracle: the observed label nearest to the truth; no rule that answers with observed
                      labels only can do better
====================  =====================================================================================

``observed_only`` and ``crm`` choose among the observed labels that are allowed answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adapter.outputs import OutputRows
from adapter.scorer import Adapter
from ontology.errors import InputError
from ontology.geometry import TIE_RELATIVE, DenseScorer, MetricSpace, frechet_mean, frechet_variance
from ontology.geometry.ties import tied

__all__ = ["Baselines", "answers_and_distances", "constant_label"]

_SOURCES_AT_ONCE = 256


class Baselines:
    """The rules that answer with an observed label: they choose a column of the weights.

    Parameters
    ----------
    adapter : Adapter
        Whose observed labels they choose among.

    Attributes
    ----------
    label : ndarray of shape (n_observed,), dtype=int64
        Allowed label of each column in the order of the bundle; -1 for an observed label that is no allowed
        answer.
    notes : tuple of str
        What a reader must know of rules that could not be applied in full.
    """

    def __init__(self, adapter: Adapter) -> None:
        bundle = adapter.bundle
        at = np.searchsorted(bundle.allowed, bundle.observed)
        at[at == bundle.n_labels] = 0
        self.label = np.where(bundle.allowed[at] == bundle.observed, at, -1)
        self._canonical = np.argsort(bundle.observed)
        inside = self._canonical[self.label[self._canonical] >= 0]
        self._inside = inside
        self.notes: tuple[str, ...] = ()
        self._scorers: dict[str, DenseScorer] = {}
        if len(inside) < bundle.n_observed:
            fate = "choose among the others" if len(inside) else "are left out"
            self.notes = (
                f"{bundle.n_observed - len(inside)} of {bundle.n_observed} observed labels are no allowed "
                f"answers: observed_only and crm {fate}",
            )
        if len(inside):
            rows = adapter.distances(self.label[inside])
            self._scorers = {
                "observed_only": DenseScorer(rows, beta=adapter.beta),
                "crm": DenseScorer(rows, beta=1),
            }

    def columns(self, weights: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
        """Return the column that each rule chooses for each row of weights."""
        ordered = weights[:, self._canonical]
        best = ordered >= ordered.max(axis=1, keepdims=True) * (1 - TIE_RELATIVE)
        chosen = {"argmax": self._canonical[best.argmax(axis=1)]}
        return chosen | {rule: self._inside[s.score(weights).index] for rule, s in self._scorers.items()}


def answers_and_distances(
    adapter: Adapter, baselines: Baselines, P: OutputRows, truths: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.float64]]]:
    """Return what each rule answers, and how far it is from the truth where that is an observed label.

    Parameters
    ----------
    adapter, baselines
        What answers.
    P : OutputRows
        What ``adapter.rows`` returned.
    truths : ndarray of shape (n_samples,), dtype=int64
        Allowed label of each sample.

    Returns
    -------
    answers : dict of rule to ndarray of shape (n_samples,), dtype=int64
        Allowed labels, -1 for an answer that is none; also of ``"loki"``, the adapter itself.
    distances : dict of rule to ndarray of shape (n_samples,), dtype=float64
        In edge-weight units; not of ``"loki"``, whose answers need not be observed.
    """
    answers: dict[str, list[NDArray[np.int64]]] = {}
    distances: dict[str, list[NDArray[np.float64]]] = {}
    for start, weights in adapter.chunks(P):
        answers.setdefault("loki", []).append(adapter.score(weights).index[:, 0])
        distinct, at = np.unique(truths[start : start + len(weights)], return_inverse=True)
        to_observed = adapter.distances(distinct)[at]
        columns = baselines.columns(weights) | {"nearest_observed": to_observed.argmin(axis=1)}
        for rule, column in columns.items():
            answers.setdefault(rule, []).append(baselines.label[column])
            distances.setdefault(rule, []).append(
                to_observed[np.arange(len(column)), column].astype(np.float64)
            )
    return (
        {rule: np.concatenate(parts) for rule, parts in answers.items()},
        {rule: np.concatenate(parts) for rule, parts in distances.items()},
    )


def constant_label(space: MetricSpace, training: list[str]) -> int:
    """Return the Fréchet mean of the training labels, each counted as often as it stands.

    Notes
    -----
    Trees with all labels allowed: O(n_points). Elsewhere the distances from each distinct training label to
    all allowed ones, 256 of them at a time.
    """
    if not training:
        raise InputError("train_truth: no label given; leave it out to take the truth itself")
    distinct, counts = np.unique(np.array(training, dtype=object), return_counts=True)
    keys, weights = list(distinct), counts.astype(np.float64)
    if space.kind == "tree":
        return int(frechet_mean(space, keys, weights).index)
    total = np.zeros(space.n_labels)
    for start in range(0, len(keys), _SOURCES_AT_ONCE):
        part = slice(start, start + _SOURCES_AT_ONCE)
        total += frechet_variance(space, keys[part], weights[part])
    return int(tied(total)[0])
