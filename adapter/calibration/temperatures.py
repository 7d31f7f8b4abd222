"""Compute measures of a model's outputs at several temperatures in one pass over the outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.evaluation.measures.calibrationerror import (
    BINS,
    BinScheme,
    Reliability,
    WidthBins,
    check_bins,
)
from labelgrove.adapter.evaluation.truths import (
    LabelDistances,
    listed_keys,
    resolved,
    truth_indices,
)
from labelgrove.adapter.outputs.gate import wrong_axes, wrong_length
from labelgrove.adapter.outputs.outputkinds import KindSeen, OutputKind
from labelgrove.adapter.outputs.rowblocks import BlockSource, OutputStream
from labelgrove.adapter.outputs.weights import softmax
from labelgrove.adapter.scorer import Adapter
from labelgrove.ontology.errors import InputError, UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, MetricSpace

__all__ = ["CAVEAT", "LabeledOutputs", "check_temperatures"]

CAVEAT = (
    "no sample has an unobserved truth: calibration on observed classes is not calibration for unobserved "
    "ones, and can make them worse where the observed classes are easy to tell apart"
)
"""Warning of a report if every sample has an observed truth."""

Blocks = Iterator[tuple[slice, NDArray[np.float64]]]


@dataclass(frozen=True)
class Measured:
    """The values of the measures, one for each temperature.

    Attributes
    ----------
    squared_distance, distance_error : ndarray of shape (n_temperatures,)
        The mean squared distance from the Fréchet mean to the truth, and the share of samples for which the
        Fréchet mean is not the truth.
    nll, ece : ndarray of shape (n_temperatures,)
        Mean negative log-likelihood and expected calibration error of the model's probabilities, over samples
        whose truth is observed; NaN without such samples.
    """

    squared_distance: NDArray[np.float64]
    distance_error: NDArray[np.float64]
    nll: NDArray[np.float64]
    ece: NDArray[np.float64]


class LabeledOutputs:
    """Outputs of a model with the true label of each sample; every measurement reads the outputs again.

    Parameters
    ----------
    P : array_like, sparse outputs or OutputFile
        The outputs. An iterator is refused, because it can be read only once.
    truth : iterable of str or int
        Key of each sample's label; for integers see `columns`.
    adapter : Adapter, optional
        Adapter for these outputs; the truths are keys of its labels.
    columns : iterable of str, optional
        Without an adapter: the key of each column; every truth must be one of these keys. By default the keys
        are ``"0"``, ``"1"``, ..., and a truth may also be an integer, the index of its column.
    outputs : str
        Without an adapter: kind of the outputs.
    space : MetricSpace, optional
        Space from which the adapter's bundle was built, if the bundle is a block and distances are requested.
    distances : bool
        Whether distances are requested.

    Attributes
    ----------
    adapter : Adapter
    n : int
        Number of samples.
    column : ndarray of shape (n,), dtype=int64
        For each sample, the index of its truth among the bundle's observed labels; -1 if the truth is not
        observed.
    kind_note : str or None
        A note for the user if the outputs do not look like the stated kind; None before they were read once.
    """

    def __init__(
        self,
        P: OutputStream,
        truth: Iterable[str | int],
        *,
        adapter: Adapter | None = None,
        columns: Iterable[str] | None = None,
        outputs: OutputKind = "logits",
        space: MetricSpace | None = None,
        distances: bool = False,
    ) -> None:
        if isinstance(P, Iterator):
            raise InputError(
                "P: an iterator can be read once, and calibration reads rows several times; give an array "
                "or an OutputFile"
            )
        if adapter is None:
            adapter, truth = _flat(P, list(truth), columns, outputs)
        elif columns is not None:
            raise InputError("columns: the adapter already has its columns; leave them out")
        self.adapter = adapter = adapter.pinned()
        self._blocks = adapter.blocks(P)
        listed = listed_keys("truth", truth)
        if not listed or self._blocks.n_rows not in (None, len(listed)):
            raise wrong_length(len(listed), self._blocks.n_rows)
        whole = resolved(adapter, None, space)[1] if distances else None
        points = adapter.bundle.points if whole is None else whole.points
        self.kind_note: str | None = None
        self._truths = truth_indices(adapter, points, listed)
        self._distance = None if whole is None else LabelDistances(adapter, whole)
        self.n = len(listed)
        of_label = np.full(adapter.n_labels + 1, -1)
        bundle = adapter.bundle
        allowed = np.searchsorted(bundle.allowed, bundle.observed).clip(max=bundle.n_labels - 1)
        inside = bundle.allowed[allowed] == bundle.observed
        of_label[allowed[inside]] = np.flatnonzero(inside)
        self.column = of_label[self._truths]

    @property
    def n_observed(self) -> int:
        """Number of samples whose truth is observed."""
        return int(np.count_nonzero(self.column >= 0))

    def logits(self) -> Blocks:
        """Yield pairs: a slice of samples, and their logits with the columns in the order of the bundle."""
        stop, kind = 0, KindSeen(self.adapter.outputs)
        for rows in self._blocks:
            stop = rows.first + len(rows)
            if stop > self.n:
                raise wrong_length(self.n, stop, more=True)
            for _, logits in self.adapter.logits(rows):
                yield slice(rows.first, stop), logits
            kind.add(rows.values)
        if stop != self.n:
            raise wrong_length(self.n, stop)
        self.kind_note = kind.note()

    def squared(
        self, of: slice, weights: NDArray[np.float64], adapter: Adapter | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the squared distance from each truth to the Fréchet mean, and whether the two are equal.

        `of` is a slice of the samples, and `weights` has one row for each of them. If `adapter` is given, it
        answers in place of `self.adapter`.
        """
        truths = self._truths[of]
        answers = (adapter or self.adapter).rank(weights).index[:, 0]
        if self._distance is None:
            raise InputError("P: distances were not requested; give distances=True")
        return self._distance(truths, answers) ** 2, answers == truths

    def measure(
        self,
        temperatures: Sequence[float],
        what: Collection[str] = ("squared_distance", "nll", "ece"),
        *,
        bins: int = BINS,
    ) -> Measured:
        """Return the measures in `what` at each temperature, and NaN for other measures.

        Notes
        -----
        Reads the outputs once.
        """
        check_bins(bins)
        n = len(temperatures)
        squared, wrong, nll = np.zeros((3, n))
        spread = [WidthBins(bins) for _ in temperatures]
        n_observed = self.n_observed
        for of, logits in self.logits():
            column = self.column[of]
            seen = np.flatnonzero(column >= 0)
            if "nll" in what:
                self._refuse_impossible(of, logits, seen, column)
            for i, temperature in enumerate(temperatures):
                weights = softmax(logits, temperature)
                if "squared_distance" in what or "distance_error" in what:
                    distance, right = self.squared(of, weights)
                    squared[i] += distance.sum()
                    wrong[i] += np.count_nonzero(~right)
                if "nll" in what:
                    nll[i] += _negative_log_likelihood(logits[seen], column[seen], temperature)
                if "ece" in what:
                    confidence, correct = top_of(weights[seen], column[seen], self._first)
                    spread[i].add(confidence, correct)
        missing = np.full(n, np.nan)
        with_distances = "squared_distance" in what or "distance_error" in what
        ece = [b.reliability().ece for b in spread] if "ece" in what and n_observed else missing
        return Measured(
            squared / self.n if with_distances else missing,
            wrong / self.n if with_distances else missing,
            nll / n_observed if "nll" in what and n_observed else missing,
            np.array(ece, dtype=np.float64),
        )

    def reliability(
        self, temperature: float, *, bins: int = BINS, scheme: BinScheme = "width"
    ) -> Reliability:
        """Return the reliability diagram at one temperature, over samples whose truth is observed."""
        check_bins(bins, scheme)
        spread = _Bins(bins, scheme)
        for of, logits in self.logits():
            column = self.column[of]
            seen = column >= 0
            spread.add(*top_of(softmax(logits[seen], temperature), column[seen], self._first))
        return spread.reliability()

    @property
    def _first(self) -> NDArray[np.int64]:
        """The bundle's columns in the canonical order of their labels.

        If several outputs of a row share the largest value, the first of them in this order is the argmax.
        """
        return np.argsort(self.adapter.bundle.observed)

    def _refuse_impossible(
        self, of: slice, logits: NDArray[np.float64], seen: NDArray[np.int64], column: NDArray[np.int64]
    ) -> None:
        bad = seen[np.isneginf(logits[seen, column[seen]])]
        if len(bad):
            row = int(bad[0])
            key = self.adapter.bundle.observed_keys[int(column[row])]
            raise InputError(
                f"P: row {of.start + row} gives its truth {key!r} the probability 0 (as do {len(bad) - 1} "
                f"more of rows {of.start} to {of.stop - 1}): the log-likelihood is minus infinity at every "
                "temperature; give logits, or fit by='squared_distance' (grove: --measure squared_distance) "
                "or by='ece' (grove: --measure ece)"
            )


class _Bins:
    """The bins of a reliability diagram, of equal width or equal mass, to which samples are added."""

    def __init__(self, bins: int, scheme: BinScheme) -> None:
        self._width = WidthBins(bins) if scheme == "width" else None
        self._bins = bins
        self._kept: list[tuple[NDArray[np.float64], NDArray[np.bool_]]] = []

    def add(self, confidence: NDArray[np.float64], correct: NDArray[np.bool_]) -> None:
        if self._width is not None:
            self._width.add(confidence, correct)
        else:
            self._kept.append((confidence, correct))

    def reliability(self) -> Reliability:
        if self._width is not None:
            return self._width.reliability()
        confidence, correct = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return Reliability.of(confidence, correct, bins=self._bins, scheme="mass")


def top_of(
    weights: NDArray[np.float64], column: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the largest probability of each row, and whether it is the probability of the row's truth.

    `column` gives the column of each truth.

    `first` lists the columns in the order that decides between equal probabilities.
    """
    best = first[weights[:, first].argmax(axis=1)]
    return np.minimum(weights[np.arange(len(best)), best], 1.0), best == column


def check_temperatures(temperatures: Iterable[float]) -> list[float]:
    """Return temperatures as a list of floats, or raise `InputError`."""
    listed = list(temperatures)
    for value in listed:
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not (number and 0 < value < np.inf):
            raise InputError(f"temperatures: {value!r} given; a temperature must be a positive finite number")
    if not listed:
        raise InputError("temperatures: none given; give one or more, or leave them out")
    return [float(value) for value in listed]


def _negative_log_likelihood(
    logits: NDArray[np.float64], column: NDArray[np.int64], temperature: float
) -> float:
    rows = (logits - logits.max(axis=1, keepdims=True)) / temperature
    own = rows[np.arange(len(rows)), column]
    return float((np.log(np.exp(rows).sum(axis=1)) - own).sum())


def _flat(
    P: Any, truth: list[Any], columns: Iterable[str] | None, outputs: OutputKind
) -> tuple[Adapter, list[Any]]:
    """Return a pair: an adapter whose labels are the columns, and the truths as keys of these labels.

    The distance between any two labels of this adapter is 1.
    """
    if columns is not None:
        keys = listed_keys("columns", columns)
        return Adapter(build_bundle(CompleteSpace(keys), keys), outputs=outputs), truth
    if not isinstance(P, BlockSource) and np.ndim(P) != 2:
        raise wrong_axes("P", np.shape(P))
    keys = [str(i) for i in range(P.n_columns if isinstance(P, BlockSource) else np.shape(P)[1])]
    numbers = [
        str(key) if isinstance(key, int | np.integer) and not isinstance(key, bool) else key for key in truth
    ]
    known = set(keys)
    outside = [(i, key) for i, key in enumerate(numbers) if isinstance(key, str) and key not in known]
    if outside:
        row, key = outside[0]
        raise UnknownLabelError(
            f"truth: row {row} is {key!r}, which is not the number of a column (0 to {len(keys) - 1}); "
            "for truths that are keys, give columns=[key of each column], or the adapter"
        )
    return Adapter(build_bundle(CompleteSpace(keys), keys), outputs=outputs), numbers
