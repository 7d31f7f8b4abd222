"""The verdict: one sentence on whether to use the Fréchet mean for a model on a label space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from labelgrove.adapter.evaluation.evidence.bootstrap import Interval
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.ontology.errors import counted

__all__ = [
    "ANSWERS",
    "CALIBRATE",
    "FEWEST_DIFFERING",
    "REFUSE",
    "THIN",
    "UNDECIDED",
    "USE",
    "Evidence",
    "Gain",
    "Mended",
    "Verdict",
    "applied",
    "judged",
    "no_better_than_chance",
]

USE, CALIBRATE, REFUSE, UNDECIDED, THIN = (
    "use it",
    "calibrate first",
    "do not use it here",
    "no difference shown",
    "too little to tell",
)
ANSWERS = (USE, CALIBRATE, REFUSE, UNDECIDED, THIN)

FEWEST_DIFFERING = 10
"""Two rules are compared only if their errors differ in at least this many samples."""

_FEWEST = 30  # samples
_RARE = 0.01  # how often a model that is better than chance may look no better
_SURE = 0.05  # how often a model that only guesses may look better than chance
_OFF = 0.1  # difference between confidence and accuracy that is worth a remark
_NAMES = {"argmax": "argmax", "constant": "a constant answer"}


@dataclass(frozen=True)
class Verdict:
    """The recommended action and its reason.

    Attributes
    ----------
    answer : str
        ``"use it"``: the Fréchet mean beats argmax and the constant; the intervals of both gains are above 0.
        ``"calibrate first"``: argmax or the constant has the smaller mean error, but at another temperature
        the Fréchet mean is significantly better than both.
        ``"do not use it here"``: argmax or the constant is significantly better at the current temperature,
        and no temperature tried makes the Fréchet mean significantly better than both; or one of them has the
        smaller mean error, and argmax is no better than chance (this happens to any model if its rows or
        columns are in a wrong order).
        ``"no difference shown"``: there are enough samples, and the interval of a gain contains 0.
        ``"too little to tell"``: the samples are too few or too much alike, the resamples are too few, or one
        more sample could change the verdict.
    reason : str
    temperature : float or None
        With ``"calibrate first"``: the number by which to divide the logits; if the outputs are
        probabilities, their logarithms are divided by it.
    enough : int or None
        With ``"too little to tell"``: about how many samples like these would be enough; None if more of them
        would not help.
    """

    answer: str
    reason: str
    temperature: float | None = None
    enough: int | None = None

    def __str__(self) -> str:
        return f"{self.answer}: {self.reason}"


@dataclass(frozen=True)
class Gain:
    """The gain of the Fréchet mean over one rule.

    Attributes
    ----------
    interval : Interval
        The rule's E[d^2] minus the Fréchet mean's E[d^2]; positive if the Fréchet mean is better. E[d^2] is
        the mean squared distance from the answers to the truth.
    n_differing : int
        Number of samples in which the rule and the Fréchet mean are not equally far from the truth.
    deviation : float
        Standard deviation over samples of the difference in d^2.
    extremes : tuple of two floats
        The least and the largest possible difference in d^2 for one sample.
    """

    interval: Interval
    n_differing: int
    deviation: float
    extremes: tuple[float, float]


@dataclass(frozen=True)
class Evidence:
    """The samples on which all intervals are based.

    Attributes
    ----------
    n_samples : int
    n_effective : int
        Number of samples that count as evidence, with copies of a sample counted as one.
    truths : tuple of str
        Keys of two labels among the truths, or of one if all truths are the same.
    level : float
        Level of the intervals.
    resamples : int
    """

    n_samples: int
    n_effective: int
    truths: tuple[str, ...]
    level: float
    resamples: int


@dataclass(frozen=True)
class Mended:
    """A better temperature, with the mean squared error E[d^2] before and after the change.

    Both are errors of the Fréchet mean: `before` at the current temperature, `after` at the better one. They
    are measured on samples that were not used to choose the temperature.
    """

    temperature: float
    before: float
    after: float


def judged(
    gains: Mapping[str, Gain],
    evidence: Evidence,
    sure: Reliability,
    mended: Callable[[], Mended | None],
    *,
    guesses: bool = False,
) -> Verdict:
    """Return the verdict on the Fréchet mean, from its gains over argmax and over the constant.

    Parameters
    ----------
    gains : mapping of {"argmax", "constant"} to Gain
    evidence : Evidence
    sure : Reliability
        Reliability of the model's argmax, over the samples whose truth is observed.
    mended : callable
        Function that returns a `Mended` record with a temperature at which the Fréchet mean is significantly
        better, or None. It is called only if the mean error of argmax or of the constant is smaller than that
        of the Fréchet mean, and if `guesses` is False.
    guesses : bool, default=False
        The result of `no_better_than_chance` for argmax.
    """
    thin = _too_thin(evidence)
    if thin is not None:
        return thin
    for rule, gain in gains.items():
        if 0 < gain.n_differing < FEWEST_DIFFERING:
            return _thin(
                f"only {gain.n_differing} of {evidence.n_samples} samples distinguish it from "
                f"{_NAMES[rule]}, but {FEWEST_DIFFERING} or more are needed",
                _enough(gain, evidence),
            )
    lost = [rule for rule, gain in gains.items() if gain.interval.high < 0]
    behind = [rule for rule, gain in gains.items() if gain.interval.mean < 0]
    doubt = _confidence(sure)
    if behind:
        found = None if guesses else mended()
        loses = " and ".join(_beside(rule, gains[rule].interval) for rule in lost or behind)
        if found is not None:
            return Verdict(
                CALIBRATE,
                f"its E[d²] is {loses}{doubt}; at temperature {found.temperature:.4g} it falls from "
                f"{found.before:.4g} to {found.after:.4g} on samples that were not used to choose this "
                "temperature, and is then significantly smaller than the E[d²] of argmax and of a constant "
                "answer",
                found.temperature,
            )
        if guesses:  # no temperature is tried: it would be fitted to rows or columns in a wrong order
            return Verdict(
                REFUSE,
                f"its E[d²] is {loses}{doubt}; argmax is no better than chance where the truth is observed: "
                "check the order of rows and columns first (grove: --columns)",
            )
        if lost:
            return Verdict(
                REFUSE,
                f"its E[d²] is {loses}{doubt}, and no temperature tried makes it significantly smaller",
            )
    unsure = [rule for rule, gain in gains.items() if not gain.interval.low > 0]
    if not unsure:
        saves = " and ".join(_beside(rule, gain.interval) for rule, gain in gains.items())
        return Verdict(USE, f"its E[d²] is {saves}{doubt}")
    for rule in unsure:
        interval = gains[rule].interval
        if interval.low == interval.high == 0:
            return Verdict(UNDECIDED, f"for every sample it gives the same answer as {_NAMES[rule]}")
        if _within_chance(gains[rule], evidence):
            said = f"its E[d²] is {_beside(rule, interval)}, which may be due to chance{doubt}"
            return Verdict(UNDECIDED, f"{said}; more samples may show a difference")
    stands = " and ".join(_beside(rule, gains[rule].interval) for rule in unsure)
    needed = [_enough(gains[rule], evidence) for rule in unsure]
    return _thin(
        f"its E[d²] is {stands}, which one more sample could undo{doubt}", max(n for n in needed if n)
    )


def no_better_than_chance(sure: Reliability, n_observed: int) -> bool:
    """Return whether argmax is no better than a random guess among `n_observed` labels, and not just unlucky.

    Two conditions must be met. First, with probability above 5 %, guesses would be right at least as often on
    these samples as argmax was. Second, with probability below 1 %, a useful model would be right at most as
    often as argmax was. A useful model is one that is right twice as often as a guess (with two labels: three
    times out of four). The second condition excludes sets of samples that are too small to distinguish a
    useful model from a guess. Both probabilities are tails of the binomial distribution.

    Parameters
    ----------
    sure : Reliability
        Reliability of the model's argmax, over the samples whose truth is observed.
    n_observed : int

    Examples
    --------
    >>> no_better_than_chance(Reliability.of([0.9] * 27, [False] * 27), 8)
    True
    >>> no_better_than_chance(Reliability.of([0.9] * 9, [False] * 9), 8)
    False
    """
    accuracy, chance = sure.mean_accuracy, 1 / n_observed
    if accuracy is None or n_observed < 2:
        return False
    n, right = sure.n, round(accuracy * sure.n)
    useful = min(2 * chance, (1 + chance) / 2)
    return _at_least(right, n, chance) > _SURE and _at_least(n - right, n, 1 - useful) < _RARE


def _at_least(k: int, n: int, p: float) -> float:
    """Return the probability of `k` or more successes in `n` trials of probability `p`; 1 if ``k <= n p``.

    If ``k <= n p``, this probability is at least 1/2, and 1 is returned in its place. For a larger k the
    probabilities of k, k + 1, ... successes are added. Each of them is smaller than the one before, and the
    sum ends where they become negligible.

    >>> round(_at_least(15, 20, 0.5), 6), _at_least(10, 20, 0.5)
    (0.020695, 1.0)
    """
    if k <= n * p:
        return 1.0
    term = math.exp(
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
    )
    total, least = 0.0, 1e-12 * term
    while term > least:
        total += term
        term *= (n - k) / (k + 1) * p / (1 - p)
        k += 1
    return total


def _thin(reason: str, enough: int | None) -> Verdict:
    more = (
        "more samples may show a difference"
        if enough is None
        else f"about {enough:,} samples like these would be enough"
    )
    return Verdict(THIN, f"{reason}; {more}", enough=enough)


def _too_thin(evidence: Evidence) -> Verdict | None:
    """Return the verdict ``"too little to tell"`` if there are too few samples or resamples, otherwise None.

    A sample and its copies count as one sample. Samples that all have the same truth are also too few.
    """
    n, effective = evidence.n_samples, evidence.n_effective
    if n < _FEWEST:
        return Verdict(
            THIN,
            f"{counted(n, 'sample')} {'is' if n == 1 else 'are'} too few; {_FEWEST} or more are needed",
            enough=_FEWEST,
        )
    if len(evidence.truths) < 2:
        return Verdict(
            THIN,
            f"all {n} truths are {evidence.truths[0]!r}, and one label says nothing about others; samples of "
            "two or more labels are needed",
        )
    if effective < _FEWEST:
        return Verdict(
            THIN,
            f"some of the {n} samples are copies of others, with the same outputs and truth: all "
            f"samples together count as {effective}, but {_FEWEST} or more are needed",
            enough=_FEWEST,
        )
    least = math.ceil(2 / (1 - evidence.level) - 1 - 1e-9)
    if evidence.resamples < least:
        return Verdict(
            THIN,
            f"{evidence.resamples} resamples are too few for intervals of {100 * evidence.level:g} %; "
            f"{least} or more are needed",
        )
    return None


def _within_chance(gain: Gain, evidence: Evidence) -> bool:
    """Return whether a gain may be due to chance.

    This is so if the absolute value of the mean gain is at most q times its standard error. The number q is
    such that a share ``evidence.level`` of the standard normal distribution lies between -q and q.
    """
    normal = NormalDist().inv_cdf((1 + evidence.level) / 2)
    return abs(gain.interval.mean) <= normal * gain.deviation / math.sqrt(evidence.n_effective)


def _enough(gain: Gain, evidence: Evidence) -> int | None:
    """Estimate how many samples like these would be enough for an interval that excludes zero.

    The result is rounded up to two significant digits. It is None if the mean gain is 0, because no number of
    samples would be enough. Otherwise n samples are enough if n times the mean gain is at least the sum of
    two terms. The first term is the margin of error of the sum of n gains, if this sum has a normal
    distribution. The second term is ``log(2 / (1 - level))`` times the worst possible loss, where `level` is
    ``evidence.level``. The worst possible loss is the mean gain minus the least possible gain of one sample.
    The second term is needed because n samples may miss a rare loss: if it occurs at a rate of
    ``log(2 / (1 - level)) / n``, they miss it with a probability of about ``(1 - level) / 2``. If the mean
    gain is negative, the sign of all gains is reversed first.

    The result is at least `_FEWEST`. It is also large enough that, in about `FEWEST_DIFFERING` of the
    samples, one rule would be nearer to the truth than the other.
    """
    mean, (low, high) = gain.interval.mean, gain.extremes
    if not mean:
        return None
    spread = NormalDist().inv_cdf((1 + evidence.level) / 2) * gain.deviation
    worst = math.log(2 / (1 - evidence.level)) * (mean - low if mean > 0 else high - mean)
    root = (spread + math.sqrt(spread**2 + 4 * abs(mean) * worst)) / (2 * abs(mean))
    n = max(root**2, _FEWEST, evidence.n_effective * FEWEST_DIFFERING / gain.n_differing)
    step: int = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return math.ceil(n / step) * step


def _beside(rule: str, interval: Interval) -> str:
    """Return a phrase that compares the mean squared errors E[d^2] of the Fréchet mean and of a rule.

    It also states the interval of their difference.
    """

    def side(value: float) -> str:
        return f"{abs(value):.4g} {'smaller' if value > 0 else 'larger'}"

    if not interval.mean:
        stands = "equal to"
    else:
        stands = f"{side(interval.mean)} than"
    near, far = sorted((interval.low, interval.high), key=abs)
    ends = (
        f"{abs(near):.4g} to {abs(far):.4g}"
        if interval.excludes_zero()
        else f"{side(interval.low)} to {side(interval.high)}"
    )
    return f"{stands} that of {_NAMES[rule]} (interval {ends})"


def applied(outputs: str, temperature: float) -> str:
    """Return a phrase that says how to answer at a temperature, with the arguments and the options to use.

    For probabilities it says to give their logarithms instead.

    >>> applied("logits", 2.0)
    "to answer at temperature 2: outputs='logits', temperature=2 (grove: --outputs logits --temperature 2)"
    """
    given, kind = "", outputs
    if outputs == "probabilities":
        given, kind = "np.log of the probabilities with ", "log_probabilities"
    return (
        f"to answer at temperature {temperature:.4g}: {given}outputs={kind!r}, temperature={temperature:.6g} "
        f"(grove: --outputs {kind} --temperature {temperature:.6g})"
    )


def _confidence(sure: Reliability) -> str:
    """Return a remark if the model is over- or under-confident where the truth is observed, otherwise ""."""
    if sure.n < _FEWEST or sure.mean_confidence is None or sure.mean_accuracy is None:
        return ""
    gap = sure.mean_confidence - sure.mean_accuracy
    if abs(gap) < _OFF:
        return ""
    word = "over-confident" if gap > 0 else "under-confident"
    return (
        f" (the model is {word}: mean confidence {sure.mean_confidence:.2f}, accuracy "
        f"{sure.mean_accuracy:.2f} where the truth is observed)"
    )
