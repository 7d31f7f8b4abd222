"""Verdicts on figures that are made up, so that the right answer is known."""

import numpy as np
import pytest

from labelgrove.experiments.contrast import Contrast, Verdict, judge, mean, standard_error
from ontology.errors import InputError

BETTER = Contrast("better", (5.0, 6.0, 5.5, 5.8), (4.0, 5.1, 4.4, 4.9))
WORSE = Contrast("worse", BETTER.after, BETTER.before)
UNDECIDED = Contrast("undecided", (5.0, 6.0, 5.5, 5.8), (5.2, 5.7, 5.9, 5.5))
EQUAL = Contrast("equal", (5.0, 6.0), (5.0, 6.0))


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ((BETTER,), Verdict.HOLDS),
        ((BETTER, BETTER), Verdict.HOLDS),
        ((BETTER, UNDECIDED), Verdict.IN_PART),
        ((BETTER, WORSE), Verdict.IN_PART),
        ((UNDECIDED,), Verdict.FAILS),
        ((EQUAL,), Verdict.FAILS),
        ((WORSE,), Verdict.REVERSES),
        ((WORSE, UNDECIDED), Verdict.REVERSES),
    ],
    ids=lambda value: str(value) if isinstance(value, Verdict) else "+".join(c.setting for c in value),
)
def test_a_verdict_follows_from_the_signs_of_all_settings(settings, verdict):
    assert judge("a claim", settings, before="a", after="b").verdict is verdict
    missed = judge("a bound", settings, before="a", after="b", worse=Verdict.FAILS).verdict
    assert missed is (Verdict.FAILS if verdict is Verdict.REVERSES else verdict)


def test_the_interval_is_that_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(0)
    for n in (2, 3, 7, 15, 16, 40):
        before, after = rng.normal(2, 1, n), rng.normal(1, 1, n)
        contrast = Contrast("some", tuple(before), tuple(after))
        low, high = stats.ttest_rel(before, after).confidence_interval(0.95)
        assert contrast.half_width == pytest.approx((high - low) / 2, rel=1e-9)
        assert standard_error(before) == pytest.approx(stats.sem(before))
        assert mean(before) == pytest.approx(before.mean())


def test_a_difference_within_its_interval_decides_nothing():
    assert UNDECIDED.sign == 0
    assert abs(mean(UNDECIDED.differences)) < UNDECIDED.half_width
    assert (BETTER.sign, WORSE.sign, EQUAL.sign) == (1, -1, 0)


def test_a_single_trial_counts_as_it_is():
    single = Contrast("single", (2.0,), (1.5,))
    assert (single.sign, single.half_width, single.relative) == (1, None, 0.25)


def test_the_sentence_names_the_best_and_the_worst_setting():
    finding = judge("a claim", (BETTER, UNDECIDED), before="a", after="b")
    assert finding.because.startswith(
        "better in 1 of 2 settings, worse in 0; best better: a 5.575, b 4.6 (saves"
    )
    assert "worst undecided" in finding.because
    assert [c["wins"] for c in finding.to_dict()["contrasts"]] == [4, 2]
    assert "costs 21.2 %, 0 of 4 trials" in judge("c", (WORSE,), before="a", after="b").because


def test_wrong_contrasts_are_refused():
    with pytest.raises(InputError, match="2 errors before and 1 after"):
        Contrast("some", (1.0, 2.0), (1.0,))
    with pytest.raises(InputError, match="no setting was measured"):
        judge("a claim", (), before="a", after="b")
