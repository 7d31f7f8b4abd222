"""The baselines: rules that the Fréchet mean is compared with.

====================  =====================================================================================
``argmax``            the observed label with the largest probability, that is, with the least expected 0-1
                      loss; of labels tied in that loss, the first in canonical order. It is the Fréchet mean
                      in a space where all distances are equal
``constant``          one label for every sample: the Fréchet mean of the training labels
``observed_only``     the observed label with the smallest Fréchet variance; the exponent is the adapter's
``crm``               the observed label with the smallest expected distance (not squared)
``nearest_observed``  an oracle: the observed label nearest to the truth; no rule that answers only with
                      observed labels can do better
====================  =====================================================================================

``observed_only`` and ``crm`` choose among the observed labels that are allowed answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError
from labelgrove.ontology.geometry import MetricSpace, frechet_mean, frechet_variance
from labelgrove.ontology.geometry.ties import TIE_RELATIVE, tied

__all__ = ["Baselines", "constant_label", "least_loss"]

_SOURCES_AT_ONCE = 256
_CRM_ENTRIES = 1 << 28


class Baselines:
    """The baselines that answer with an observed label: they choose one of the model's columns for each row.

    Parameters
    ----------
    adapter : Adapter
        Adapter with the observed labels to choose from.

    Attributes
    ----------
    label : ndarray of shape (n_observed,), dtype=int64
        For each observed label, in the order of the bundle: its index among the allowed labels; -1 if it is
        not allowed.
    notes : tuple of str
        Remarks for the user on rules that are left out, or that choose among only some of the observed
        labels.
    """

    def __init__(self, adapter: Adapter) -> None:
        bundle = adapter.bundle
        at = np.searchsorted(bundle.allowed, bundle.observed)
        at[at == bundle.n_labels] = 0
        self.label = np.where(bundle.allowed[at] == bundle.observed, at, -1)
        self._canonical = np.argsort(bundle.observed)
        self._by_label = np.argsort(self.label[self._canonical], kind="stable")
        self._sorted_labels = self.label[self._canonical][self._by_label]
        self._n_inside = n_inside = int(np.count_nonzero(self.label >= 0))
        notes = []
        self._adapters: dict[str, Adapter] = {}
        if n_inside < bundle.n_observed:
            fate = "choose among the others" if n_inside else "are left out"
            notes.append(
                f"{bundle.n_observed - n_inside} of {bundle.n_observed} observed labels are not allowed "
                f"answers: observed_only and crm {fate}"
            )
        if n_inside:
            self._adapters = {"observed_only": adapter}
            if n_inside * bundle.n_observed <= _CRM_ENTRIES:
                self._adapters["crm"] = Adapter(bundle, beta=1)
            else:
                notes.append(
                    f"crm is left out: it would measure {n_inside:,} x {bundle.n_observed:,} distances for "
                    f"every few rows, more than the limit of {_CRM_ENTRIES:,}"
                )
        self.notes = tuple(notes)

    def applies(self, rule: str) -> bool:
        """Return whether a rule can be applied to this adapter.

        ``observed_only`` and ``crm`` need an observed label that is allowed. ``crm`` also measures
        the distances from the allowed observed labels to all observed labels. It cannot be applied if the
        number of these distances is above a limit. All other rules can always be applied.
        """
        return rule not in ("observed_only", "crm") or rule in self._adapters

    def columns(
        self, weights: NDArray[np.float64], ranking: NDArray[np.int64]
    ) -> dict[str, NDArray[np.int64]]:
        """Return the best k columns of each row by ``observed_only``, and the best k by ``crm``.

        The result is a dictionary from the name of the rule to an array of shape (n_rows, k). The best column
        of a row comes first. A rule that cannot be applied is left out. If fewer than k observed labels are
        allowed, the columns of all of them are returned. `ranking`, of shape (n_rows, k), contains the k best
        allowed labels of each row by Fréchet variance.
        """
        chosen = {}
        top = min(ranking.shape[1], self._n_inside)
        for rule, adapter in self._adapters.items():
            if rule == "observed_only" and self._n_inside == adapter.n_labels:  # all labels are observed
                labels = ranking
            else:
                labels = adapter.rank(weights, top, candidates="observed").index
            chosen[rule] = self._canonical[self._by_label[np.searchsorted(self._sorted_labels, labels)]]
        return chosen

    def argmax(
        self, weights: NDArray[np.float64], labels: NDArray[np.int64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return two arrays: each row's argmax column, and whether a given label is among the row's `k` best.

        `labels` contains the given label of each row, an allowed label such as the truth. The best columns of
        a row are those with the largest weights. The argmax column always comes first; other columns tied in
        weight are in canonical order. The given label is among the `k` best if its column is one of the `k`
        best columns.
        """
        ordered = weights[:, self._canonical]
        by_label = self.label[self._canonical]
        at = np.minimum(np.searchsorted(self._sorted_labels, labels), len(by_label) - 1)
        place = self._by_label[at]
        rows, first = np.arange(len(labels)), least_loss(ordered)
        own = ordered[rows, place][:, None]
        ahead = ordered > own * (1 + TIE_RELATIVE)
        tied = (ordered >= own * (1 - TIE_RELATIVE)) & ~ahead
        ahead |= tied & (np.arange(len(by_label)) < place[:, None])
        ahead[rows, first] = True
        within: NDArray[np.bool_] = (place == first) | (np.count_nonzero(ahead, axis=1) < k)
        within &= by_label[place] == labels
        return self._canonical[first], within


def least_loss(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, for each row, the column with the least expected 0-1 loss; of tied columns, the first.

    >>> least_loss(np.array([[0.2, 0.4, 0.4], [0.5, 0.3, 0.2]])).tolist()
    [1, 0]
    """
    loss = weights.sum(axis=1, keepdims=True) - weights
    least = loss <= loss.min(axis=1, keepdims=True) * (1 + TIE_RELATIVE)
    return np.asarray(least.argmax(axis=1))


def constant_label(space: MetricSpace, training: Mapping[str, int]) -> int:
    """Return the Fréchet mean of the training labels, weighted by their counts.

    Notes
    -----
    On trees with all labels allowed, the time is O(n_points). In other spaces the distances from each
    distinct training label to all allowed labels are measured, for 256 training labels at a time.
    """
    if not training:
        raise InputError("train_truth: no labels given; leave out train_truth to use the labels in truth")
    keys = sorted(training)
    weights = np.array([training[key] for key in keys], dtype=np.float64)
    if space.kind == "tree":
        return int(frechet_mean(space, keys, weights).index)
    total = np.zeros(space.n_labels)
    for start in range(0, len(keys), _SOURCES_AT_ONCE):
        part = slice(start, start + _SOURCES_AT_ONCE)
        total += frechet_variance(space, keys[part], weights[part])
    return int(tied(total)[0])
