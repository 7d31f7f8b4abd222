"""A verdict needs evidence: intervals that hold under skew, samples that differ, truths of several labels."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.stats import beta

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.evaluation.evidence import bootstrap as bootstrap_module
from labelgrove.adapter.evaluation.evidence import extremes as extremes_module
from labelgrove.adapter.evaluation.evidence.bootstrap import Interval, PairedBootstrap
from labelgrove.adapter.evaluation.evidence.extremes import Extremes
from labelgrove.adapter.evaluation.evidence.repeats import Repeats
from labelgrove.adapter.evaluation.evidence.trial import Trial
from labelgrove.adapter.evaluation.evidence.verdict import Evidence, Gain, judged
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability
from labelgrove.adapter.evaluation.truths import LabelDistances
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from tests.benchmarks.bench_intervals import DISTRIBUTIONS, LINE, SHARES, WORLDS, chances, missed

TREE = LabelGraph.from_edges([(f"v{i:02d}", f"v{(i - 1) // 3:02d}") for i in range(1, 40)])
DAG = LabelGraph.from_edges([*((f"v{i:02d}", f"v{(i - 1) // 3:02d}") for i in range(1, 40)), ("v39", "v05")])
LONG = LabelGraph.from_edges(
    [(f"v{i:02d}", f"v{(i - 1) // 3:02d}") for i in range(1, 40)], weights=[0.5 + i % 7 for i in range(39)]
)


def interval(values, extremes, *, resamples=1000, level=0.95, seed=0, repeats=1.0):
    bootstrap = PairedBootstrap(len(values), 1, seed)
    bootstrap.add(0, np.asarray(values, dtype=np.float64)[:, None])
    (found,) = bootstrap.intervals(
        np.ones((1, 1)), np.array([extremes], dtype=np.float64), resamples, level, repeats=repeats
    )
    return found


# ---- intervals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n"), [(0, 20), (1, 30), (3, 30), (25, 60), (60, 60)])
def test_the_interval_of_a_share_is_the_exact_one(k, n):
    """Values of two kinds, the ends among them: Clopper and Pearson (1934), which holds for every share."""
    found = interval([1] * k + [0] * (n - k), (0, 1), resamples=40_000)
    low = beta.ppf(0.025, k, n - k + 1) if k else 0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1
    assert (found.low, found.high) == (pytest.approx(low, abs=3e-3), pytest.approx(high, abs=3e-3))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [20, 60])
def test_intervals_miss_no_more_often_than_they_say(name, n):
    """2.5 % of 300 on each side, and three standard errors."""
    found = missed(DISTRIBUTIONS[name], n, 300, ["one more sample"])["one more sample"]
    most = 0.025 + 3 * math.sqrt(0.025 * 0.975 / 300)
    assert found["low"] <= most
    assert found["high"] <= most


def test_in_groups_rare_losses_are_missed_no_more_often(monkeypatch):
    monkeypatch.setattr(bootstrap_module, "_MOST_GROUPS", 60)
    found = missed(DISTRIBUTIONS["gain of 25, loss of 625 in 4.5 %"], 240, 300, ["one more sample"])
    assert found["one more sample"]["high"] <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 300)


def test_values_that_are_all_alike_are_no_certainty():
    found = interval([25.0] * 40, (-625, 2325))
    assert found.low < 0 < 25 < found.high
    same = interval([0.0] * 40, (0, 0))
    assert (same.low, same.high) == (0, 0)


def test_many_samples_are_as_sure_as_their_standard_error():
    values = np.random.default_rng(0).gamma(2.0, 1.0, 20_000)
    found = interval(values, (0, 30), resamples=4000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(20_000), rel=0.12)


def test_too_few_draws_for_a_level_leave_the_extremes():
    values = np.random.default_rng(0).normal(5, 1, 50)
    assert interval(values, (-9, 9), resamples=38) == Interval(values.mean(), -9, 9)
    assert interval(values, (-9, 9), resamples=39).low > 3


# ---- extremes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [TREE, DAG, LONG], ids=["tree", "graph", "weights"])
@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_extremes_are_those_of_any_truth_for_the_answers_that_were_met(graph, labels, monkeypatch):
    rng = np.random.default_rng(3)
    space = metric_space(graph, labels=labels)
    adapter = Adapter(build_bundle(space, list(rng.choice(list(graph.keys), 6, replace=False))))
    bundle, distance = adapter.bundle, LabelDistances(adapter, space)
    d = space.distances(None, space.point_index([*bundle.points])).astype(float)
    means = rng.integers(0, adapter.n_labels, 30)
    for points in (
        bundle.observed[rng.integers(0, 6, 30)],
        bundle.allowed[rng.integers(0, adapter.n_labels, 30)],
    ):
        assert distance.to_points(bundle.allowed[means], points).tolist() == d[means, points].tolist()
        assert distance.from_points(points).tolist() == d[:, points].tolist()
        differences = d[:, points] ** 2 - d[:, bundle.allowed[means]] ** 2
        least, largest = differences.min(), differences.max()
        for entries in (1 << 20, 1, 5 * adapter.n_labels):
            monkeypatch.setattr(extremes_module, "_ENTRIES", entries)
            met = Extremes(distance, bundle.diameter)
            for start in range(0, 30, 7):
                met.add(bundle.allowed[means[start : start + 7]], points[start : start + 7])
            low, high = met.found()
            assert low <= least
            assert high >= largest
            if entries == 1 << 20:
                assert (low, high) == (least, largest)
            once = Extremes(distance, bundle.diameter)
            once.add(bundle.allowed[means], points)
            assert once.found() == (low, high)


def test_an_answer_that_is_not_allowed_may_be_farther_than_the_diameter(monkeypatch):
    """Of two pairs the farther one is measured, and the bound of the other still holds: 144 - 9 at 12."""
    space = metric_space(LINE, labels=["09", "10", "11", "12"])
    adapter = Adapter(build_bundle(space, ["00", "19"]))
    distance = LabelDistances(adapter, space)
    (mean, far), near = adapter.bundle.points.indices(["09", "19"]), adapter.bundle.points.find("00")
    monkeypatch.setattr(extremes_module, "_ENTRIES", 1)
    met = Extremes(distance, adapter.bundle.diameter)
    met.add(np.array([mean]), np.array([far]))
    assert met.found() == (0, 10**2)
    met.add(np.array([mean]), np.array([near]))
    assert met.found()[1] >= 12**2 - 3**2


def test_one_more_sample_could_have_any_truth():
    """On the line the mean answers 25 and argmax 00: at 00 the mean would lose 625, unseen as that is."""
    truths = ["12", "13", "14"] * 20
    found = evaluate(
        Adapter.from_graph(LINE, ["00", "50"]),
        [[0.501, 0.499]] * 60,
        truths,
        train_truth=["59"],
        resamples=38,
    )
    difference = found["argmax"].difference
    assert (difference.mean, difference.low, difference.high) == (25, -625, 59**2 - 34**2)
    own = found["frechet_mean"].interval
    assert (own.low, own.high) == (0, 59**2)


# ---- copies --------------------------------------------------------------------------------------------


def test_copies_are_no_evidence_whatever_the_blocks():
    rng = np.random.default_rng(0)
    rows, truth = rng.dirichlet(np.ones(3), 50), rng.integers(0, 9, 50)
    for copies in (1, 2, 7):
        repeats = Repeats(50 * copies)
        order = rng.permutation(50 * copies) % 50
        for start in range(0, len(order), 31):
            repeats.add(start, rows[order[start : start + 31]])
        assert repeats.design_effect(truth[order]) == copies


def test_samples_that_are_sure_are_no_copies():
    repeats = Repeats(90)
    repeats.add(0, np.tile([0.0, 1.0, 0.0], (90, 1)))
    assert repeats.design_effect(np.full(90, 4)) == 1


def test_an_interval_of_copies_is_as_wide_as_that_of_what_they_copy():
    values = np.random.default_rng(2).gamma(2.0, 1.0, 60)
    once = interval(values, (0, 20), resamples=8000)
    copied = interval(np.tile(values, 9), (0, 20), resamples=8000, repeats=9.0)
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.08)
    assert interval(np.tile(values, 9), (0, 20)).high < 0.6 * (once.high - once.mean) + once.mean


# ---- verdict -------------------------------------------------------------------------------------------


def noisy(n, seed=0):
    """Return outputs of a model on the line that is right but for noise, and the truths: a clear gain."""
    rng = np.random.default_rng(seed)
    position = rng.integers(0, 51, n)
    seen = np.clip(position + rng.normal(0, 3, n), 1e-3, 50 - 1e-3) / 50
    seen += rng.uniform(-1e-5, 1e-5, n)  # no two outputs are the same
    return np.column_stack([1 - seen, seen]), [f"{i:02d}" for i in position]


@pytest.mark.parametrize("truths", WORLDS)
def test_a_gain_that_is_none_is_hardly_ever_taken_for_one_and_a_gain_is_found(truths):
    """The very chances, summed over every number of truths that are 00; see `bench_intervals`."""
    power = {}
    for n in (20, 30, 45, 60, 120, 250):
        wrong, *power[n] = chances(n, SHARES, WORLDS[truths], resamples=400)
        assert wrong <= 0.03, n
    assert power[20] == power[30] == [0, 0, 0]
    assert power[250][1] > 0.5
    assert power[250][1] > power[120][1]


def test_four_samples_that_differ_among_thirty_tell_nothing():
    P, truth = noisy(30)
    P[4:] = np.eye(2)[[0, 1] * 13]
    truth[4:] = ["00", "50"] * 13
    found = evaluate(Adapter.from_graph(LINE, ["00", "50"]), P, truth)
    assert found["argmax"].n_differing == 4
    assert found["argmax"].difference.mean > 0
    assert found.verdict.answer == "too little to tell"
    assert (
        "only 4 of 30 samples distinguish it from argmax, but 10 or more are needed" in found.verdict.reason
    )
    assert found.verdict.enough >= 75


def test_copies_of_samples_are_not_counted():
    P, truth = noisy(12)
    adapter = Adapter.from_graph(LINE, ["00", "50"])
    found = evaluate(adapter, np.tile(P, (50, 1)), truth * 50)
    assert (found.n_samples, found.n_effective) == (600, 12)
    assert found.verdict.answer == "too little to tell"
    assert "count as 12, but 30 or more are needed" in found.verdict.reason
    assert any("intervals are as wide as for 12 samples" in note for note in found.notes)
    whole = evaluate(adapter, *noisy(600))
    assert (whole.n_effective, whole.verdict.answer) == (600, "use it")
    assert not any("copies" in note for note in whole.notes)
    twice = evaluate(adapter, np.tile(noisy(300)[0], (2, 1)), noisy(300)[1] * 2)
    once = evaluate(adapter, *noisy(300))
    ratio = [d.high - d.low for d in (twice["argmax"].difference, once["argmax"].difference)]
    assert ratio[0] == pytest.approx(ratio[1], rel=0.15)


def test_equal_outputs_with_several_truths_are_samples_of_their_own():
    found = evaluate(
        Adapter.from_graph(LINE, ["00", "50"]), [[0.501, 0.499]] * 400, ["13", "14"] * 200, train_truth=["59"]
    )
    assert (found.n_effective, found.verdict.answer) == (400, "use it")


def test_truths_of_one_label_tell_nothing_of_others():
    P, _ = noisy(200)
    found = evaluate(Adapter.from_graph(LINE, ["00", "50"]), P, ["25"] * 200, train_truth=["40"])
    assert found["argmax"].difference.low > 0
    assert found.verdict.answer == "too little to tell"
    assert found.verdict.reason.startswith(
        "all 200 truths are '25', and one label says nothing about others; "
    )
    assert found["argmax"].interval.high > found["argmax"].interval.low


@pytest.mark.parametrize(("n", "resamples", "said"), [(29, 1000, "29 samples"), (200, 30, "30 resamples")])
def test_few_samples_and_few_draws_tell_nothing(n, resamples, said):
    found = evaluate(Adapter.from_graph(LINE, ["00", "50"]), *noisy(n), resamples=resamples)
    assert found.verdict.answer == "too little to tell"
    assert found.verdict.reason.startswith(f"{said} are too few")


def test_what_would_be_enough_is_enough_and_half_of_it_is_not():
    """Samples of which the next could undo the gain: the number that is named tells, half of it does not."""
    adapter = Adapter.from_graph(LINE, ["00", "50"])

    def verdict(n):
        truths = ["00", *(f"{12 + i % 3}" for i in range(n - 1))]
        return evaluate(adapter, [[0.501, 0.499]] * n, truths, train_truth=["59"]).verdict

    thin = verdict(110)
    assert thin.answer == "too little to tell"
    assert re.search(
        rf"which one more sample could undo; about {thin.enough} samples like these", thin.reason
    )
    many = [t for t in range(thin.enough) if t % 110 == 0]
    truths = ["00" if i in many else f"{12 + i % 3}" for i in range(thin.enough)]
    P = [[0.501, 0.499]] * thin.enough
    assert evaluate(adapter, P, truths, train_truth=["59"]).verdict.answer == "use it"
    assert verdict(thin.enough // 2).answer != "use it"


def test_a_loss_on_thin_evidence_is_no_verdict_either():
    P, truth = noisy(30)
    P[4:], truth[4:] = np.eye(2)[[0, 1] * 13], ["00", "50"] * 13
    P[:4], truth[:4] = [[0.6, 0.4]], ["00", "05", "00", "00"]
    found = evaluate(Adapter.from_graph(LINE, ["00", "50"]), P, truth)
    assert found["argmax"].difference.mean < 0
    assert found.verdict.answer == "too little to tell"


def mended(n, truths):
    """Return the verdict on `n` outputs that are right at temperature 1, flattened by 20, and 200 sure ones.

    What is flattened answers 7; at temperature 1 it is nearer to the truth than argmax, too.
    """
    adapter = Adapter.from_graph(
        LabelGraph.grid((1, 15)), ["0,0", "0,7", "0,14"], outputs="logits", temperature=20
    )
    position = np.array([truths[i % len(truths)] for i in range(n)])
    flat = -np.abs(position[:, None] + np.linspace(0, 0.01, n)[:, None] - [0, 7, 14]) / 3.5
    at = np.arange(200) % 3
    sure = np.where(np.eye(3)[at] > 0, 0, -np.inf)
    keys = [f"0,{i}" for i in [*position, *(7 * at)]]
    found = evaluate(adapter, np.concatenate([flat, sure]), keys, train_truth=["0,14"])
    assert found["argmax"].n_differing == n
    assert found["argmax"].difference.mean < 0
    return found.verdict.answer


def test_another_temperature_needs_evidence_too():
    """Half of the samples tell: of sixteen that differ only eight, and of two labels in turn only one."""
    assert mended(200, [3, 11]) == "calibrate first"
    assert mended(40, [3, 3, 11, 11]) == "calibrate first"
    assert mended(16, [3, 3, 11, 11]) != "calibrate first"


@pytest.mark.parametrize(("n", "told"), [(18, False), (20, True)])
def test_a_temperature_is_told_by_as_many_samples_as_a_verdict(n, told):
    """Half of the samples tell, and no less than ten of them have to differ, however clear their gain is.

    At temperature 20 the mean of what is unsure answers 4, at 1 it answers 2, which is right.
    """
    adapter = Adapter.from_graph(
        LabelGraph.grid((1, 9)),
        ["0,0", "0,8"],
        labels=[f"0,{i}" for i in range(5)],
        outputs="logits",
        temperature=20,
    )
    unsure = np.arange(200) < n
    logits = np.where(unsure[:, None], np.log([0.8, 0.2]), [0, -np.inf])
    answers, at = adapter.bundle.allowed, np.where(unsure, 2, 0)
    trial = Trial(
        adapter,
        LabelDistances(adapter, adapter.whole_space()),
        logits,
        at,
        {"argmax": np.where(unsure, answers[0], answers[4]), "constant": np.full(200, answers[4])},
        {"argmax": np.where(unsure, 4.0, 16.0), "constant": (4.0 - at) ** 2},
        seed=0,
        resamples=1000,
        level=0.95,
        repeats=1.0,
    )
    assert (trial.mended() is not None) == told


def test_a_temperature_is_not_told_by_truths_of_one_label():
    adapter = Adapter.from_graph(
        LabelGraph.grid((1, 15)), ["0,0", "0,7", "0,14"], outputs="logits", temperature=20
    )
    answers = []
    for truths in ([3, 11], [3, 3, 11, 11]):  # every second sample tells
        position = np.array([truths[i % len(truths)] for i in range(200)])
        flat = -np.abs(position[:, None] + np.linspace(0, 0.01, 200)[:, None] - [0, 7, 14]) / 3.5
        keys = [f"0,{i}" for i in position]
        answers.append(evaluate(adapter, flat, keys, train_truth=["0,14"]).verdict.answer)
    assert answers == ["do not use it here", "calibrate first"]


# ---- what is said --------------------------------------------------------------------------------------

NOTHING = Reliability.of([], [])
ENOUGH = Evidence(500, 500, ("oak", "elm"), 0.95, 1000)


def gain(mean, low, high, *, n=400, deviation=1.0, extremes=(-9.0, 9.0)):
    return Gain(Interval(mean, low, high), n, deviation, extremes)


def test_an_unsure_verdict_says_on_which_side_each_end_lies():
    lost = {"argmax": gain(-0.3668, -1.166, 0.4323, deviation=9.0), "constant": gain(4.0, 3.0, 5.0)}
    verdict = judged(lost, ENOUGH, NOTHING, lambda: None)
    assert verdict.answer == "no difference shown"
    assert (
        "its E[d²] is 0.3668 larger than that of argmax (interval 1.166 larger to 0.4323 smaller)"
        in verdict.reason
    )
    ahead = {"argmax": gain(0.3668, -0.4323, 1.166, deviation=9.0), "constant": gain(4.0, 3.0, 5.0)}
    verdict = judged(ahead, ENOUGH, NOTHING, lambda: None)
    assert "0.3668 smaller than that of argmax (interval 0.4323 larger to 1.166 smaller)" in verdict.reason
    sure = {"argmax": gain(-2.0, -3.0, -1.0), "constant": gain(-4.0, -5.0, -3.5)}
    verdict = judged(sure, ENOUGH, NOTHING, lambda: None)
    assert verdict.answer == "do not use it here"
    assert verdict.reason.startswith(
        "its E[d²] is 2 larger than that of argmax (interval 1 to 3) and 4 larger than that of a constant "
        "answer (interval 3.5 to 5)"
    )


def test_a_handful_of_samples_says_nothing_of_the_confidence():
    gains = {"argmax": gain(2.0, 1.0, 3.0), "constant": gain(4.0, 3.0, 5.0)}
    for n, said in ((29, False), (30, True)):
        sure = Reliability.of([0.5] * n, [True] * n)
        reason = judged(gains, ENOUGH, sure, lambda: None).reason
        assert ("under-confident" in reason) == said
