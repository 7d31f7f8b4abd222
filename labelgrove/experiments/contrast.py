"""Decide whether one rule beats another over repeated trials, and what that says about a claim.

A claim is judged in each setting separately. The trials of a setting are paired: each trial applies both
rules to the same data. A setting counts as better or worse only if the 95 % interval of the mean difference
does not contain zero. Among many settings, some interval excludes zero by chance. Therefore a verdict that
*some* settings are better or worse uses p values adjusted for the number of settings (`holm`). A verdict that
*all* settings are better, or all are worse, needs no adjustment, because each of them has to pass its own
test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from labelgrove.ontology.errors import InputError, MissingExtraError

try:
    from scipy.special import stdtr, stdtrit
except ImportError as error:
    raise MissingExtraError.of("scipy", "science", "judging a claim") from error

__all__ = ["Contrast", "Finding", "Verdict", "holm", "judge", "mean", "standard_error"]

_LEVEL = 0.05


class Verdict(StrEnum):
    """What an experiment says about its claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    REVERSES = "reverses"
    UNTESTABLE = "not testable"


@dataclass(frozen=True)
class Contrast:
    """Two rules in one setting, trial by trial; a smaller error is better.

    Attributes
    ----------
    setting : str
        The condition that was varied, such as ``"K = 100"``.
    before, after : tuple of float, length n_trials
        Errors of the rule to beat, and of the rule that should beat it.
    testable : bool, default=True
        False if argmax, the Fréchet mean and one constant gave the same answer to every sample of every
        trial: rules cannot be told apart there, however good they are.
    trial : str, default="trials"
        The plural name of a trial in sentences, such as ``"languages"`` if each trial is a true class.
    """

    setting: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    testable: bool = True
    trial: str = "trials"

    def __post_init__(self) -> None:
        if not self.before or len(self.before) != len(self.after):
            raise InputError(
                f"contrast {self.setting!r}: {len(self.before)} errors of the first rule and "
                f"{len(self.after)} of the second; give at least one trial, and one error of each rule for "
                "every trial"
            )

    @property
    def differences(self) -> tuple[float, ...]:
        """The error of the first rule minus that of the second, in each trial."""
        return tuple(b - a for b, a in zip(self.before, self.after, strict=True))

    @property
    def wins(self) -> int:
        """Number of trials in which the second rule has the smaller error."""
        return sum(d > 0 for d in self.differences)

    @property
    def relative(self) -> float:
        """Share of the first rule's mean error that the second rule saves; 0 if that error is zero."""
        before = mean(self.before)
        return 0.0 if before == 0 else mean(self.differences) / before

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval of the mean difference; None for a single trial."""
        error = standard_error(self.differences)
        if error is None:
            return None
        return error * float(stdtrit(len(self.differences) - 1, 1 - _LEVEL / 2))  # Student's t

    @property
    def p_value(self) -> float:
        """Two-sided p value of the mean difference, by Student's t; below .05 if the interval excludes zero.

        A single trial has no interval: p is 0 if the errors differ, and 1 if they are equal.
        """
        difference, error = mean(self.differences), standard_error(self.differences)
        if not difference or not error:
            return 0.0 if difference else 1.0
        return 2 * float(stdtr(len(self.differences) - 1, -abs(difference) / error))

    @property
    def sign(self) -> int:
        """1 if the second rule is better, -1 if it is worse, 0 if the trials do not decide."""
        return _sign(self, self.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "setting": self.setting,
            "before": mean(self.before),
            "after": mean(self.after),
            "difference": mean(self.differences),
            "half_width": self.half_width,
            "relative": self.relative,
            "wins": self.wins,
            "trials": len(self.before),
            "testable": self.testable,
            "p_value": self.p_value,
        }


@dataclass(frozen=True)
class Finding:
    """A claim, the verdict on it, and the figures behind the verdict.

    Attributes
    ----------
    claim : str
    verdict : Verdict
    because : str
        One sentence with figures.
    contrasts : tuple of Contrast
    """

    claim: str
    verdict: Verdict
    because: str
    contrasts: tuple[Contrast, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; each contrast also gets its p value adjusted by `holm`."""
        corrected = iter(holm([contrast.p_value for contrast in self.contrasts if contrast.testable]))
        return {
            "claim": self.claim,
            "verdict": str(self.verdict),
            "because": self.because,
            "contrasts": [
                contrast.to_dict() | {"corrected_p": next(corrected) if contrast.testable else None}
                for contrast in self.contrasts
            ],
        }


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values adjusted for multiple testing.

    If the adjusted values below .05 are called significant, the risk of even one false positive is at most
    5 %.

    References
    ----------
    .. [1] S. Holm (1979), Scand. J. Statist. 6(2), 65-70.

    Examples
    --------
    >>> holm([0.5, 0.01, 0.02])
    (0.5, 0.03, 0.04)
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return tuple(corrected)


def judge(
    claim: str,
    contrasts: Sequence[Contrast],
    *,
    before: str,
    after: str,
    worse: Verdict = Verdict.REVERSES,
) -> Finding:
    """Return the finding on the claim that rule `after` has a smaller error than rule `before`.

    Parameters
    ----------
    claim : str
    contrasts : sequence of Contrast
        One for each setting.
    before, after : str
        The names of the two rules, as the sentence `Finding.because` writes them.
    worse : Verdict, default=Verdict.REVERSES
        The verdict if no setting is better and at least one is worse. If `before` is not a rule but a bound
        on the errors of `after`, give `Verdict.FAILS`: errors above a bound refute a claim, but do not show
        its reverse.

    Returns
    -------
    finding : Finding
        The verdict is ``holds`` if `after` is better in all settings, ``holds in part`` if it is better in
        some, and `worse` if it is better in none and worse in at least one. It is ``does not hold`` if no
        setting is decided, and ``not testable`` if no setting can be tested. An untestable setting is neither
        better nor worse. If the intervals of all testable settings give the same answer (better, worse or
        undecided), this answer counts. Otherwise, p values adjusted for the number of testable settings
        decide which settings are better or worse.

    Examples
    --------
    >>> trials = Contrast("K = 3", (5.0, 6.0, 5.5), (4.0, 5.1, 4.4))
    >>> judge("b beats a", [trials], before="a", after="b").because
    'K = 3: a 5.5, b 4.5 (saves 18.2 %, 3 of 3 trials)'
    """
    if not contrasts:
        raise InputError(f"claim {claim!r}: no setting was measured; give at least one")
    tested = [contrast for contrast in contrasts if contrast.testable]
    signs = _signs(tested)
    if not tested:
        verdict = Verdict.UNTESTABLE
    elif signs.count(1) == len(contrasts):
        verdict = Verdict.HOLDS
    elif 1 in signs:
        verdict = Verdict.IN_PART
    else:
        verdict = worse if -1 in signs else Verdict.FAILS
    best = max(tested or contrasts, key=lambda c: c.relative)
    worst = min(tested or contrasts, key=lambda c: c.relative)
    shown = [_sentence(best, before, after)]
    if len(contrasts) > 1:
        shown = [
            f"better in {signs.count(1)} of {len(contrasts)} settings, worse in {signs.count(-1)}",
            f"best {_sentence(best, before, after)}",
            f"worst {_sentence(worst, before, after)}",
        ]
    if len(tested) < len(contrasts):
        untold = "no rule answers differently from one constant there"
        shown.insert(1, f"not testable in {len(contrasts) - len(tested)}: {untold}")
    return Finding(claim, verdict, "; ".join(shown), tuple(contrasts))


def _signs(contrasts: Sequence[Contrast]) -> list[int]:
    """Return for each setting 1 if the second rule is better, -1 if it is worse, and 0 if undecided.

    If the unadjusted p values give all settings the same sign, return these signs. Otherwise, return the
    signs that the p values adjusted by `holm` give.
    """
    own = [contrast.sign for contrast in contrasts]
    if len(set(own)) == 1:
        return own
    corrected = holm([contrast.p_value for contrast in contrasts])
    return [_sign(contrast, p) for contrast, p in zip(contrasts, corrected, strict=True)]


def _sign(contrast: Contrast, p: float) -> int:
    if not p < _LEVEL:
        return 0
    return 1 if mean(contrast.differences) > 0 else -1


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, with exact summation before the division."""
    return math.fsum(values) / len(values)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean; None for a single value."""
    if len(values) < 2:
        return None
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1) / len(values))


def _sentence(contrast: Contrast, before: str, after: str) -> str:
    change = "saves" if contrast.relative >= 0 else "costs"
    return (
        f"{contrast.setting}: {before} {mean(contrast.before):.4g}, {after} {mean(contrast.after):.4g} "
        f"({change} {abs(contrast.relative):.1%}, {contrast.wins} of {len(contrast.before)} {contrast.trial})"
    ).replace("%,", " %,")
