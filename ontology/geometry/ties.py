"""How every scorer decides: weights are converted to float64, and plain sums are compared by one tie rule.

The **plain sum** of a label y under weights w_i on the observed labels l_i is ``sum_i w_i d(y, l_i)^beta``,
with the exponent beta (2 by default). The terms are added one after another in the order of the observed
labels, and each product and each addition is rounded to float64. Every scorer decides by the plain sum, no
matter how it finds its finalists, so all scorers give the same answer to the last bit. If weights, distances
and beta are integers, a plain sum below 2^53 is exact.

Labels are **tied** if their plain sums are at most ``minimum * (1 + TIE_RELATIVE)``, where the minimum is the
smallest plain sum of all labels. Among tied labels the one with the lowest canonical index wins. If the
minimum is below 1e12, sums that are whole numbers tie only if they are equal.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry.arguments import given_array
from labelgrove.ontology.geometry.weightfaults import (
    exact_near_limits,
    refuse_cells,
    refuse_totals,
    weight_faults,
)

__all__ = [
    "SURE_TOTALS",
    "TIE_RELATIVE",
    "TOTALS",
    "FrechetResult",
    "are_weights",
    "check_beta",
    "check_weights",
    "largest_power",
    "plain_sums",
    "powers",
    "refuse_bad_rows",
    "shaped_weights",
    "sound_weights",
    "tied",
]

TIE_RELATIVE = 1e-12
"""Labels tie if their plain sums are within this relative difference of the smallest sum, for every dtype."""

TOTALS = 1e-150, 1e150
"""Limits of the sum of a sample's weights; if the sum is within them, its Fréchet variances lose no bits.

The exact sum decides, rounded once.
"""

SURE_TOTALS = 2 * TOTALS[0], TOTALS[1] / 2
"""A sum within these limits, added in any order, is within `TOTALS` too, however it was rounded."""

_CACHED_ENTRIES = 1 << 15
_LARGEST_POWER = 1e157  # leaves room for weights whose rows sum to at most 1e150


@dataclass(frozen=True)
class FrechetResult:
    """Fréchet means of a batch of samples.

    Attributes
    ----------
    index : ndarray of int64
        The best allowed label of each sample, as an index into ``space.keys``; shape (n_samples,). If the
        caller requested the best `top` labels of each sample, and `top` is more than 1: these labels, best
        first; shape (n_samples, top).
    value : ndarray of float64
        Fréchet variance (the plain sum) of each label in `index`; same shape as `index`.
    n_tied : ndarray of int64, shape (n_samples,)
        Number of labels tied with the best label, including the best label.
    """

    index: NDArray[np.int64]
    value: NDArray[np.float64]
    n_tied: NDArray[np.int64]


def check_weights(weights: ArrayLike, n_observed: int) -> NDArray[np.float64]:
    """Return `weights` in float64 with one row for each sample, or raise `WeightError`.

    Parameters
    ----------
    weights : array_like of shape (n_samples, n_observed) or (n_observed,)
        Probabilities, votes or any other non-negative numbers; rows need not sum to one.
    n_observed : int
        Number of columns expected.

    Raises
    ------
    WeightError
        If the shape is wrong, if values are not real numbers, or if a row breaks a rule: it must not contain
        NaN, infinity or a negative value, must not be all zero, and must have a sum within 1e-150..1e150. The
        message names the first cell or row that breaks a rule.

    Examples
    --------
    >>> check_weights([1, 3], 2)
    array([[1., 3.]])
    """
    return sound_weights(shaped_weights(weights, n_observed))


def sound_weights(given: NDArray[Any]) -> NDArray[np.float64]:
    """Return the result of `check_weights` for weights whose shape and dtype are already checked."""
    rows = given.astype(np.float64, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum(axis=1)
    refuse_bad_rows(given, total)
    return rows


def shaped_weights(weights: ArrayLike, n_observed: int) -> NDArray[Any]:
    """Return `weights` as an array with one row for each sample, in their dtype; do not check the values."""
    given = given_array("weights", weights, WeightError)
    if given.dtype.kind not in "buif":
        raise WeightError(f"weights: dtype {given.dtype} given; weights must be real numbers")
    if given.ndim not in (1, 2) or given.shape[-1] != n_observed:
        raise WeightError(
            f"weights: shape {given.shape} given; expected ({n_observed},) or (n_samples, {n_observed}), "
            "one column for each observed label"
        )
    return np.atleast_2d(given)


def refuse_bad_rows(rows: NDArray[Any], total: NDArray[np.float64], first: int = 0) -> None:
    """Raise `WeightError` if rows break a rule of `check_weights`.

    `total` contains the sums of the rows, added in any order. `first` is the index that messages give to the
    first row.
    """
    if are_weights(rows, total):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        held = rows.astype(np.float64, order="C")
    refuse_cells("weights", rows, weight_faults(held), first)
    refuse_totals("weights", held, TOTALS, first)


def are_weights(rows: NDArray[Any], total: NDArray[np.float64]) -> bool:
    """Return whether all rows obey the rules of `check_weights`.

    `total` contains the sums of the rows, added in any order. If the sum of a row is within the limits, the
    row contains neither NaN nor infinity. So only negative values have to be looked for.
    """
    if not rows.min(initial=0) >= 0:
        return False
    if not ((total >= SURE_TOTALS[0]) & (total <= SURE_TOTALS[1])).all():
        total = exact_near_limits(rows, total, TOTALS)
    return bool(((total >= TOTALS[0]) & (total <= TOTALS[1])).all())


def check_beta(beta: float) -> float:
    """Return `beta`; if it is not a positive finite number, raise `InputError`."""
    if isinstance(beta, bool) or not isinstance(beta, (int, float, np.integer, np.floating)):
        raise InputError(
            f"beta: {beta!r} of type {type(beta).__name__}; the exponent must be a number (2 by default)"
        )
    if not 0 < beta <= sys.float_info.max:
        raise InputError(f"beta: {beta} given; the exponent must be positive and finite (2 by default)")
    return float(beta)


@np.errstate(over="ignore")
def powers(distances: NDArray[Any], beta: float) -> NDArray[np.float64]:
    """Return ``distances ** beta`` in float64.

    If the distances and `beta` are whole numbers, powers below 2^53 are exact. Powers of unsigned distances
    of one or two bytes are looked up in a table, unless `beta` is 1 or 2. Whole exponents are computed by
    multiplication, because a library's power function is slow and may get the last bit of a whole number
    wrong. Powers too large for float64 are infinite.
    """
    if distances.dtype.kind == "u" and distances.dtype.itemsize <= 2 and beta not in (1, 2):
        table = powers(np.arange(int(distances.max(initial=0)) + 1, dtype=np.float64), beta)
        return np.asarray(table[distances])
    base = distances.astype(np.float64)
    if not float(beta).is_integer():
        return np.power(base, beta, out=base)
    exponent = int(beta)
    while not exponent & 1:
        np.multiply(base, base, out=base)
        exponent >>= 1
    result = base if exponent == 1 else base.copy()
    while exponent := exponent >> 1:
        np.multiply(base, base, out=base)
        if exponent & 1:
            np.multiply(result, base, out=result)
    return result


def largest_power(distances: NDArray[Any], beta: float) -> float:
    """Return the largest of ``distances ** beta``; if sums of these powers may overflow, raise `InputError`.

    Call it before anything is summed, because a weight of 0 times an infinite power would be NaN.
    """
    largest = float(powers(np.array([distances.max()], dtype=np.float64), beta)[0])
    if not largest <= _LARGEST_POWER:
        raise InputError(
            f"beta: a distance to the power of {beta} exceeds {_LARGEST_POWER}; use a smaller exponent"
        )
    return largest


def plain_sums(
    weights: NDArray[np.float64], powered: NDArray[np.float64], which: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the plain sums of many (sample, label) pairs.

    Parameters
    ----------
    weights : ndarray of shape (n_observed, n_pairs) or (n_observed, 1)
        Weights of each pair's sample; with one column, all pairs have the same sample.
    powered : ndarray of shape (n_observed, n_distinct)
        One column for each distinct label: its distances to the observed labels, raised to the exponent.
    which : ndarray of shape (n_pairs,), dtype=int64
        For each pair, the column of `powered` that belongs to its label.

    Returns
    -------
    sums : ndarray of shape (n_pairs,)

    Notes
    -----
    A numpy reduction over the first axis adds whole rows one after the other, in the order given. For a
    single column, numpy would use pairwise summation; the array of terms therefore has at least two columns,
    and with one pair the second column is unused. The rows are added a few at a time, so that these fit in
    the cache.
    """
    n_observed, n_pairs = len(powered), len(which)
    step = min(n_observed, max(8, _CACHED_ENTRIES // max(n_pairs, 1)))
    terms = np.zeros((step + 1, max(n_pairs, 2)))
    for start in range(0, n_observed, step):
        stop = min(start + step, n_observed)
        block = terms[1 : stop - start + 1, :n_pairs]
        powered[start:stop].take(which, axis=1, out=block, mode="clip")  # the other modes make one more copy
        np.multiply(block, weights[start:stop], out=block)
        terms[0] = np.add.reduce(terms[: stop - start + 1], axis=0)
    return terms[0, :n_pairs].copy()


def tied(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of all `values` that are tied with the smallest one, ascending.

    >>> tied(np.array([3.0, 1.0, 2.0, 1.0])).tolist()
    [1, 3]
    """
    return np.flatnonzero(values <= values.min() * (1 + TIE_RELATIVE))
