"""Whether the Fréchet mean should be used for a model on a label space: the figures in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adapter.evaluation.bootstrap import Interval
from adapter.evaluation.calibrationerror import Reliability

__all__ = ["Trial", "Verdict", "applied", "judged", "softmax", "tempered"]

USE, CALIBRATE, REFUSE, UNDECIDED = (
    "use it",
    "calibrate first",
    "do not use it here",
    "no difference shown",
)
_FEWEST = 30  # samples below which an interval means little
_OFF = 0.1  # difference between confidence and accuracy that is worth a word
_SURE = 2.0  # standard errors
_TIMES = 2.0 ** np.arange(-6.0, 4.5, 0.5)
_NAMES = {"argmax": "argmax", "constant": "a constant answer"}


@dataclass(frozen=True)
class Verdict:
    """What to do, and why.

    Attributes
    ----------
    answer : {"use it", "calibrate first", "do not use it here", "no difference shown"}
        ``"use it"``: the Fréchet mean beats argmax and the constant, with intervals above 0.
        ``"calibrate first"``: it is behind one of them, and surely ahead of both at another temperature.
        ``"do not use it here"``: it loses to one of them, and no temperature tried puts it surely ahead.
        ``"no difference shown"``: an interval holds 0, or there are too few samples.
    reason : str
    temperature : float or None
        With ``"calibrate first"``: what logits, or the logarithms of probabilities, may be divided by.
    """

    answer: str
    reason: str
    temperature: float | None = None

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}"


@dataclass(frozen=True)
class Trial:
    """Other temperatures, tried on some of the samples.

    Attributes
    ----------
    logits : ndarray of shape (m, n_observed), dtype=float64
        Of the samples, columns in the order of the bundle.
    temperature : float
        What logits were divided by when they were evaluated.
    others : mapping of str to ndarray of shape (m,)
        Squared distances of the rules that the Fréchet mean is compared with.
    squared : callable of (weights) to ndarray of shape (m,)
        Squared distances of the Fréchet mean of each sample.
    """

    logits: NDArray[np.float64]
    temperature: float
    others: Mapping[str, NDArray[np.float64]]
    squared: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def judged(differences: Mapping[str, Interval], n: int, sure: Reliability, trial: Trial) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    differences : mapping of {"argmax", "constant"} to Interval
        E[d^2] of the rule minus that of the Fréchet mean: positive where the mean is better.
    n : int
        Number of samples.
    sure : Reliability
        Of samples whose truth is observed.
    trial : Trial
        Asked only where the Fréchet mean is behind.
    """
    if n < _FEWEST:
        return Verdict(UNDECIDED, f"{n} samples are too few to tell; {_FEWEST} or more are needed")
    lost = [rule for rule, interval in differences.items() if interval.high < 0]
    behind = [rule for rule, interval in differences.items() if interval.mean < 0]
    doubt = _confidence(sure)
    if behind:
        mended = tempered(trial)
        against = " and ".join(
            f"{_NAMES[rule]} by {-differences[rule].mean:.4g} ({_ends(differences[rule])})"
            for rule in lost or behind
        )
        loses = f"its E[d²] is {'' if lost else 'not surely '}larger than that of {against}"
        if mended is not None:
            temperature, before, after = mended
            return Verdict(
                CALIBRATE,
                f"{loses}{doubt}; at temperature {temperature:.4g} it falls from {before:.4g} to {after:.4g} "
                "on samples that did not choose it, surely less than either",
                temperature,
            )
        if lost:
            return Verdict(REFUSE, f"{loses}{doubt}, and no temperature tried makes it surely smaller")
    least = min(differences, key=lambda rule: differences[rule].mean)
    if not all(interval.low > 0 for interval in differences.values()):
        unsure = next(rule for rule, interval in differences.items() if not interval.low > 0)
        return Verdict(
            UNDECIDED,
            f"{_NAMES[unsure]} has an E[d²] that differs from its own by {differences[unsure].mean:.4g} "
            f"({_ends(differences[unsure])}){doubt}; more samples may tell",
        )
    return Verdict(
        USE,
        f"its E[d²] is smaller than that of argmax and of a constant answer, by "
        f"{differences[least].mean:.4g} ({_ends(differences[least])}) than that of {_NAMES[least]}{doubt}",
    )


def tempered(trial: Trial) -> tuple[float, float, float] | None:
    """Return a temperature at which the Fréchet mean is surely ahead, with E[d^2] without and with it.

    One half of the samples chooses the temperature and the other half tells whether it helps: the mean of the
    differences to each rival, and to the temperature as it is, is above 0 by two of its standard errors. None
    where it is not. A low temperature alone makes the Fréchet mean argmax, which is no gain.
    """
    squared = {
        times: trial.squared(softmax(trial.logits, times * trial.temperature)) for times in _TIMES.tolist()
    }
    best = min(squared, key=lambda times: (float(squared[times][::2].mean()), abs(np.log(times))))
    after = squared[best][1::2]
    before = squared[1.0][1::2]
    gains = [before - after, *(other[1::2] - after for other in trial.others.values())]
    if not all(gain.mean() > _SURE * gain.std() / np.sqrt(len(gain)) for gain in gains):
        return None
    return best * trial.temperature, float(before.mean()), float(after.mean())


def applied(outputs: str, temperature: float) -> str:
    """Return how a model's outputs are answered at a temperature; probabilities go by their logarithm.

    >>> applied("logits", 2.0)
    "to answer at temperature 2: outputs='logits', temperature=2 (grove: --emits logits --temperature 2)"
    """
    given, kind = "", outputs
    if outputs == "probabilities":
        given, kind = "np.log of the probabilities with ", "log_probabilities"
    return (
        f"to answer at temperature {temperature:.4g}: {given}outputs={kind!r}, temperature={temperature:.6g} "
        f"(grove: --emits {kind} --temperature {temperature:.6g})"
    )


def softmax(logits: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return the softmax of each row divided by `temperature`; minus infinity is a probability of 0."""
    with np.errstate(over="ignore"):
        rows: NDArray[np.float64] = (logits - logits.max(axis=1, keepdims=True)) / temperature
    np.exp(rows, out=rows)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def _confidence(sure: Reliability) -> str:
    """Say that the model is not calibrated where its truth is observed."""
    if sure.mean_confidence is None or sure.mean_accuracy is None:
        return ""
    gap = sure.mean_confidence - sure.mean_accuracy
    if abs(gap) < _OFF:
        return ""
    word = "over-confident" if gap > 0 else "under-confident"
    return (
        f" (the model is {word}: mean confidence {sure.mean_confidence:.2f}, accuracy "
        f"{sure.mean_accuracy:.2f} where the truth is observed)"
    )


def _ends(interval: Interval) -> str:
    low, high = sorted((interval.low, interval.high), key=abs)
    return (
        f"interval {abs(low):.4g} to {abs(high):.4g}"
        if interval.excludes_zero()
        else (f"interval {interval.low:.4g} to {interval.high:.4g}, which holds 0")
    )
