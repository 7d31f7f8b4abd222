"""Whether one rule beats another over repeated trials, and what that says about a claim.

A claim is judged setting by setting: the trials of a setting are paired (the same data, two rules), and a
setting counts as better or worse only where the 95 % interval of the mean difference leaves out zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scipy.special import stdtrit

from ontology.errors import InputError

__all__ = ["Contrast", "Finding", "Verdict", "judge", "mean", "standard_error"]


class Verdict(StrEnum):
    """What an experiment says about a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    REVERSES = "reverses"


@dataclass(frozen=True)
class Contrast:
    """Two rules in one setting, trial by trial; less is better.

    Attributes
    ----------
    setting : str
        What was varied, such as ``"K = 100"``.
    before, after : tuple of float, length n_trials
        Error of the rule that is to be beaten, and of the one that should beat it.
    """

    setting: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.before or len(self.before) != len(self.after):
            raise InputError(
                f"contrast {self.setting!r}: {len(self.before)} errors before and {len(self.after)} after; "
                "trials are paired, and there is at least one"
            )

    @property
    def differences(self) -> tuple[float, ...]:
        """What the second rule saves in each trial."""
        return tuple(b - a for b, a in zip(self.before, self.after, strict=True))

    @property
    def wins(self) -> int:
        """Number of trials in which the second rule has the smaller error."""
        return sum(d > 0 for d in self.differences)

    @property
    def relative(self) -> float:
        """Share of the first rule's mean error that the second saves; 0 where that error is 0."""
        before = mean(self.before)
        return 0.0 if before == 0 else mean(self.differences) / before

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval of the mean difference; None for a single trial."""
        error = standard_error(self.differences)
        if error is None:
            return None
        return error * float(stdtrit(len(self.differences) - 1, 0.975))  # Student's t

    @property
    def sign(self) -> int:
        """1 where the second rule is better, -1 where it is worse, 0 where trials do not tell.

        A single trial has no interval: its difference counts as it is.
        """
        difference, width = mean(self.differences), self.half_width
        if difference == 0 or (width is not None and abs(difference) <= width):
            return 0
        return 1 if difference > 0 else -1

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
            "sign": self.sign,
        }


@dataclass(frozen=True)
class Finding:
    """A claim, what was found, and the figures it rests on.

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
        """Return plain values for JSON."""
        return {
            "claim": self.claim,
            "verdict": str(self.verdict),
            "because": self.because,
            "contrasts": [contrast.to_dict() for contrast in self.contrasts],
        }


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
        What the two rules are called in the sentence.
    worse : Verdict, default=Verdict.REVERSES
        What it is called where no setting is better and at least one is worse; a bound that is missed does
        not hold, and nothing is reversed.

    Returns
    -------
    finding : Finding
        ``holds`` where all settings are better; ``holds in part`` where some are; ``reverses`` where none is
        and at least one is worse; ``does not hold`` where the trials of no setting tell.

    Examples
    --------
    >>> trials = Contrast("K = 3", (5.0, 6.0, 5.5), (4.0, 5.1, 4.4))
    >>> judge("b beats a", [trials], before="a", after="b").because
    'K = 3: a 5.5, b 4.5 (saves 18.2 %, 3 of 3 trials)'
    """
    signs = [contrast.sign for contrast in contrasts]
    if not signs:
        raise InputError(f"claim {claim!r}: no setting was measured; give at least one")
    if all(sign > 0 for sign in signs):
        verdict = Verdict.HOLDS
    elif any(sign > 0 for sign in signs):
        verdict = Verdict.IN_PART
    else:
        verdict = worse if any(sign < 0 for sign in signs) else Verdict.FAILS
    best = max(contrasts, key=lambda c: c.relative)
    worst = min(contrasts, key=lambda c: c.relative)
    shown = [_sentence(best, before, after)]
    if len(contrasts) > 1:
        shown = [
            f"better in {signs.count(1)} of {len(signs)} settings, worse in {signs.count(-1)}",
            f"best {_sentence(best, before, after)}",
            f"worst {_sentence(worst, before, after)}",
        ]
    return Finding(claim, verdict, "; ".join(shown), tuple(contrasts))


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, summed without rounding on the way."""
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
        f"({change} {abs(contrast.relative):.1%}, {contrast.wins} of {len(contrast.before)} trials)"
    ).replace("%,", " %,")
