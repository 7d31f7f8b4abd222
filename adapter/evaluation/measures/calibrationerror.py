"""Calibration measures: expected calibration error and the bins of a reliability diagram.

The confidence of a row is its largest probability, and a row is right if the model's argmax is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError

__all__ = ["BINS", "BinScheme", "Reliability", "WidthBins", "check_bins", "expected_calibration_error"]

BINS = 15
"""Default number of bins."""

_MOST_BINS = 10**6

BinScheme = Literal["width", "mass"]
"""Bins of equal width over 0..1, or of (nearly) equal numbers of samples."""


@dataclass(frozen=True)
class Reliability:
    """The bins of a reliability diagram.

    Attributes
    ----------
    scheme : {"width", "mass"}
    n : int
        Number of samples.
    edges : tuple of float
        Ends of the bins; a bin excludes its lower end and includes its upper end.
    counts : tuple of int
        Number of samples in each bin.
    confidence, accuracy : tuple of float or None
        Mean confidence and share of right answers in each bin; None in an empty bin.
    mean_confidence, mean_accuracy : float or None
        Means over all samples.
    ece : float or None
        Expected calibration error: the mean, over samples, of ``|accuracy - confidence|`` of the sample's
        bin.
    largest_gap : float or None
        The largest difference ``|accuracy - confidence|`` of a bin.
    """

    scheme: str
    n: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    confidence: tuple[float | None, ...]
    accuracy: tuple[float | None, ...]
    mean_confidence: float | None
    mean_accuracy: float | None
    ece: float | None
    largest_gap: float | None

    @classmethod
    def of(
        cls, confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS, scheme: BinScheme = "width"
    ) -> Reliability:
        """Return the bins of a reliability diagram for some samples.

        Parameters
        ----------
        confidence : array_like of shape (n,)
            Confidence of each sample, between 0 and 1.
        correct : array_like of shape (n,), dtype=bool
        bins : int, default=15
        scheme : {"width", "mass"}, default="width"
            ``"width"``: bins of equal width. ``"mass"``: bins with nearly equal numbers of samples; but
            samples of equal confidence are never separated, so there may be fewer bins than `bins`.

        Raises
        ------
        InputError
            For arrays of different lengths, a confidence outside 0..1, and an unknown scheme.

        Examples
        --------
        >>> found = Reliability.of([0.9, 0.8, 0.6, 0.55], [True, False, True, True], bins=2)
        >>> found.counts, round(found.ece, 4)
        ((0, 4), 0.0375)
        """
        try:
            sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"confidence, correct: cannot be read as numbers and booleans ({error})"
            ) from None
        if sure.ndim != 1 or sure.shape != right.shape:
            raise InputError(
                f"confidence, correct: shapes {sure.shape} and {right.shape}; give one of each per sample"
            )
        outside = np.flatnonzero(~((sure >= 0) & (sure <= 1)))
        if len(outside):
            raise InputError(
                f"confidence: row {outside[0]} is {sure[outside[0]]}; it must be a probability from 0 to 1"
            )
        check_bins(bins, scheme)
        if scheme == "width":
            found = WidthBins(bins)
            found.add(sure, right)
            return found.reliability()
        order = np.sort(sure)
        ends = order[[part[-1] for part in np.array_split(np.arange(len(sure)), bins) if len(part)]]
        edges = np.concatenate([[0.0], np.unique(ends)])
        at = np.maximum(np.searchsorted(edges, sure, side="left") - 1, 0)
        return _summed("mass", edges, at, sure, right)


class WidthBins:
    """Bins of equal width that count samples; samples are added in blocks."""

    def __init__(self, bins: int = BINS) -> None:
        self._counts, self._confidence, self._correct = np.zeros((3, bins))
        self._edges = np.arange(bins + 1) / bins

    def add(self, confidence: NDArray[np.float64], correct: NDArray[np.bool_]) -> None:
        """Add samples; a confidence on an edge belongs to the bin below."""
        bins = len(self._counts)
        at = np.clip(np.searchsorted(self._edges, confidence, side="left") - 1, 0, bins - 1)
        self._counts += np.bincount(at, minlength=bins)
        self._confidence += np.bincount(at, confidence, minlength=bins)
        self._correct += np.bincount(at, correct, minlength=bins)

    def reliability(self) -> Reliability:
        """Return the bins of all samples added so far."""
        return _reliability("width", self._edges, self._counts, self._confidence, self._correct)


def expected_calibration_error(
    confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS, scheme: BinScheme = "width"
) -> float:
    """Return the expected calibration error; see `Reliability`.

    Examples
    --------
    >>> round(expected_calibration_error([0.9, 0.8, 0.6, 0.55], [1, 0, 1, 1], bins=2), 4)
    0.0375
    """
    ece = Reliability.of(confidence, correct, bins=bins, scheme=scheme).ece
    if ece is None:
        raise InputError("confidence: no sample given; give at least one")
    return ece


def check_bins(bins: int, scheme: str = "width") -> None:
    """Raise `InputError` if the number of bins or the scheme is invalid."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise InputError(f"bins: {bins!r} given; it must be a positive whole number (15 by default)")
    if bins > _MOST_BINS:
        raise InputError(f"bins: {bins} given; it must be at most {_MOST_BINS} (15 by default)")
    if scheme not in ("width", "mass"):
        raise InputError(f"scheme: {scheme!r} given; choose 'width' or 'mass'")


def _summed(
    scheme: str,
    edges: NDArray[np.float64],
    at: NDArray[np.int64],
    confidence: NDArray[np.float64],
    correct: NDArray[np.bool_],
) -> Reliability:
    n_bins = max(len(edges) - 1, 0)
    if not len(at):
        return _reliability(scheme, edges, *np.zeros((3, n_bins)))
    sums = (np.bincount(at, w, minlength=n_bins) for w in (None, confidence, correct))
    return _reliability(scheme, edges, *sums)


def _reliability(
    scheme: str,
    edges: NDArray[np.float64],
    counts: NDArray[Any],
    confidence: NDArray[Any],
    correct: NDArray[Any],
) -> Reliability:
    n, full = int(counts.sum()), counts > 0
    gaps = np.abs(confidence - correct)
    means = [
        tuple(float(total[i] / counts[i]) if full[i] else None for i in range(len(counts)))
        for total in (confidence, correct)
    ]
    return Reliability(
        scheme=scheme,
        n=n,
        edges=tuple(edges.tolist()),
        counts=tuple(int(c) for c in counts),
        confidence=means[0],
        accuracy=means[1],
        mean_confidence=float(confidence.sum()) / n if n else None,
        mean_accuracy=float(correct.sum()) / n if n else None,
        ece=float(gaps.sum()) / n if n else None,
        largest_gap=float((gaps[full] / counts[full]).max()) if n else None,
    )
