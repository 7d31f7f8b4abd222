"""Verdicts on figures that are made up, so that the right answer is known."""

import numpy as np
import pytest
from scipy.special import stdtrit

from labelgrove.experiments.contrast import Contrast, Verdict, holm, judge, mean, standard_error
from labelgrove.ontology.errors import InputError

BETTER = Contrast("better", (5.0, 6.0, 5.5, 5.8), (4.0, 5.1, 4.4, 4.9))
WORSE = Contrast("worse", BETTER.after, BETTER.before)
UNDECIDED = Contrast("undecided", (5.0, 6.0, 5.5, 5.8), (5.2, 5.7, 5.9, 5.5))
EQUAL = Contrast("equal", (5.0, 6.0), (5.0, 6.0))
SAME = Contrast("same", (5.0, 6.0), (5.0, 6.0), testable=False)


def told(p, *, worse=False):
    """Five trials whose paired t-test gives about this p."""
    differences = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    error = differences.std(ddof=1) / np.sqrt(5)
    saved = differences + error * float(stdtrit(4, 1 - p / 2))
    before = np.full(5, 10.0)
    after = before + saved if worse else before - saved
    return Contrast(f"p = {p}", tuple(before.tolist()), tuple(after.tolist()))


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
        ((SAME,), Verdict.UNTESTABLE),
        ((SAME, SAME), Verdict.UNTESTABLE),
        ((BETTER, SAME), Verdict.IN_PART),
        ((WORSE, SAME), Verdict.REVERSES),
        ((UNDECIDED, SAME), Verdict.FAILS),
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


def test_p_is_that_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(1)
    for n in (2, 3, 7, 16):
        before, after = rng.normal(2, 1, n), rng.normal(1, 1, n)
        contrast = Contrast("some", tuple(before), tuple(after))
        assert contrast.p_value == pytest.approx(stats.ttest_rel(before, after).pvalue, rel=1e-9)
        assert (contrast.p_value < 0.05) == (abs(mean(contrast.differences)) > contrast.half_width)
    assert Contrast("always the same", (2.0, 3.0), (1.0, 2.0)).p_value == 0
    assert EQUAL.p_value == 1


def test_the_correction_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005, 0.2]) == pytest.approx((0.04, 0.09, 0.09, 0.025, 0.2))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert holm([]) == ()
    assert holm([0.03]) == (0.03,)


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ((told(0.03), told(0.04)), Verdict.HOLDS),  # that all are better needs no correction
        ((told(0.03), told(0.04), told(0.2)), Verdict.FAILS),  # that some are does
        ((told(0.01), told(0.04), told(0.2)), Verdict.IN_PART),
        ((told(0.02), told(0.04), told(0.2)), Verdict.FAILS),
        ((told(0.03, worse=True), told(0.04, worse=True)), Verdict.REVERSES),
        ((told(0.03, worse=True), told(0.2)), Verdict.FAILS),
        ((told(0.02, worse=True), told(0.2)), Verdict.REVERSES),
        ((told(0.02), told(0.2), SAME, SAME), Verdict.IN_PART),  # two are tested, not four
        ((told(0.02), told(0.2), EQUAL, EQUAL), Verdict.FAILS),
        ((told(0.03), told(0.04), SAME), Verdict.IN_PART),
    ],
    ids=lambda value: str(value) if isinstance(value, Verdict) else "+".join(c.setting for c in value),
)
def test_some_settings_of_many_are_told_after_a_correction(settings, verdict):
    assert judge("a claim", settings, before="a", after="b").verdict is verdict


def test_twenty_settings_of_noise_rarely_tell():
    """At most 5 % of the claims about nothing, and not the 64 % that single intervals would give."""
    rng = np.random.default_rng(2)
    found = [
        judge(
            "nothing",
            [Contrast(f"{i}", tuple(rng.normal(10, 1, 5)), tuple(rng.normal(10, 1, 5))) for i in range(20)],
            before="a",
            after="b",
        )
        for _ in range(400)
    ]
    assert sum(f.verdict is not Verdict.FAILS for f in found) <= 400 * 0.05 + 2 * 4.4
    assert sum(any(c.sign for c in f.contrasts) for f in found) > 400 * 0.5


def test_a_setting_that_cannot_be_tested_is_counted_and_explained():
    finding = judge("a claim", (BETTER, SAME, UNDECIDED), before="a", after="b")
    assert finding.because.startswith(
        "better in 1 of 3 settings, worse in 0; not testable in 1: no rule answers differently from "
        "one constant there; best better"
    )
    assert "same" not in finding.because
    rows = finding.to_dict()["contrasts"]
    assert [row["testable"] for row in rows] == [True, False, True]
    assert [row["corrected_p"] for row in rows] == [
        pytest.approx(2 * BETTER.p_value),
        None,
        pytest.approx(UNDECIDED.p_value),
    ]


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
    with pytest.raises(InputError, match="2 errors of the first rule and 1 of the second"):
        Contrast("some", (1.0, 2.0), (1.0,))
    with pytest.raises(InputError, match="no setting was measured"):
        judge("a claim", (), before="a", after="b")


def test_a_trial_is_called_what_it_is():
    languages = Contrast("all", (5.0, 6.0, 5.5), (4.0, 5.1, 4.4), trial="languages")
    assert judge("b beats a", [languages], before="a", after="b").because.endswith("3 of 3 languages)")
    assert "trial" not in languages.to_dict()
