"""Calibration against closed forms, scikit-learn, second formulas and models whose temperature is known."""

import json

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import labelgrove
from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.calibration import fit_temperature, fit_vector_scaling
from labelgrove.adapter.calibration.report import calibrate
from labelgrove.adapter.calibration.temperatures import CAVEAT
from labelgrove.adapter.calibration.tradeoff import beta_table, trade_off
from labelgrove.adapter.evaluation.measures.calibrationerror import (
    Reliability,
    WidthBins,
    expected_calibration_error,
)
from labelgrove.adapter.evaluation.spaces import compare_spaces
from labelgrove.ontology.errors import UnknownLabelError
from labelgrove.ontology.geometry import CompleteSpace, frechet_mean, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([(f"v{i}", f"v{(i - 1) // 2}") for i in range(1, 31)])
SPACE = metric_space(TREE)
OBSERVED = [f"v{i}" for i in (15, 18, 21, 24, 29, 5)]


def sampled(n=1500, k=6, temperature=3.0, seed=0):
    """Logits whose softmax at `temperature` is the very distribution that the truths are drawn from."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2 * temperature, (n, k))
    chance = np.exp(log_softmax(logits / temperature, axis=1)).cumsum(axis=1)
    return logits, (rng.random((n, 1)) > chance).sum(axis=1).clip(max=k - 1)


def ece_row_by_row(confidence, correct, bins):
    """The definition: a weighted mean of gaps, one bin after the other, edges in whole numbers."""
    total = 0.0
    for b in range(bins):
        inside = [
            (c, r)
            for c, r in zip(confidence, correct, strict=True)
            if b < c * bins <= b + 1 or (b == 0 and c == 0)
        ]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            accuracy = sum(r for _, r in inside) / len(inside)
            total += len(inside) / len(confidence) * abs(mean - accuracy)
    return total


# ---- calibration error ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", [1, 2, 10, 15, 16])
def test_the_error_equals_its_definition(bins):
    rng = np.random.default_rng(1)
    confidence = np.concatenate([rng.random(300), np.arange(17) / 16, [0.1, 0.2, 0.3]])
    correct = rng.random(len(confidence)) < confidence
    expected = ece_row_by_row(confidence.tolist(), correct.tolist(), bins)
    assert expected_calibration_error(confidence, correct, bins=bins) == pytest.approx(expected, rel=1e-12)
    parts = WidthBins(bins)
    for start in range(0, len(confidence), 37):
        parts.add(confidence[start : start + 37], correct[start : start + 37])
    assert parts.reliability().ece == pytest.approx(expected, rel=1e-12)


def test_a_confidence_on_an_edge_is_in_the_bin_below():
    for bins in range(1, 101):  # (7 / 25) * 25 is more than 7
        found = Reliability.of(np.arange(1, bins + 1) / bins, np.ones(bins, dtype=bool), bins=bins)
        assert found.counts == (1,) * bins
        assert found.confidence == found.edges[1:]


def test_bins_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    confidence = rng.random(500)
    correct = rng.random(500) < confidence
    for scheme, strategy in (("width", "uniform"), ("mass", "quantile")):
        found = Reliability.of(confidence, correct, bins=5, scheme=scheme)
        accuracy, mean = calibration_curve(correct, confidence, n_bins=5, strategy=strategy)
        assert found.accuracy == pytest.approx(accuracy)
        assert found.confidence == pytest.approx(mean)


def test_bins_of_equal_mass_keep_equal_confidences_together():
    confidence = np.array([0.2] * 7 + [0.5, 0.6, 0.7, 0.8, 0.9])
    found = Reliability.of(confidence, confidence > 0.5, bins=4, scheme="mass")
    assert sum(found.counts) == 12
    assert found.counts == (7, 2, 3)
    expected = sum(
        abs(sum(c - r for c, r in zip(part, part > 0.5, strict=True))) / 12
        for part in (confidence[:7], confidence[7:9], confidence[9:])
    )
    assert found.ece == pytest.approx(expected)
    assert Reliability.of([], [], scheme="mass").ece is None


# ---- temperature ---------------------------------------------------------------------------------------


def test_the_temperature_of_a_model_that_has_one_is_found():
    logits, truth = sampled(5000)
    fit = fit_temperature(logits, truth)
    assert fit.temperature == pytest.approx(3.0, rel=0.05)
    assert fit.value == pytest.approx(log_loss(truth, np.exp(log_softmax(logits / fit.temperature, axis=1))))
    assert fit.value_before == pytest.approx(log_loss(truth, np.exp(log_softmax(logits, axis=1))))
    near = [fit_nll(logits, truth, fit.temperature * factor) for factor in (1 - 1e-4, 1, 1 + 1e-4)]
    assert near[1] <= min(near[0], near[2])
    by_ece = fit_temperature(logits, truth, by="ece")
    assert by_ece.temperature == pytest.approx(3.0, rel=0.15)
    assert by_ece.value < by_ece.value_before / 5


def fit_nll(logits, truth, temperature):
    return -log_softmax(logits / temperature, axis=1)[np.arange(len(truth)), truth].mean()


def test_what_is_given_does_not_matter_logits_or_logarithms():
    logits, truth = sampled(500)
    logs = log_softmax(logits, axis=1)
    fits = [
        fit_temperature(logits, truth),
        fit_temperature(logs, truth, outputs="log_probabilities"),
        fit_temperature(np.exp(logs), truth, outputs="probabilities"),
        fit_temperature(logits, [OBSERVED[i] for i in truth], columns=OBSERVED),
        fit_temperature(
            logits[:, ::-1],
            [OBSERVED[i] for i in truth],
            adapter=Adapter(build_bundle(SPACE, OBSERVED), OBSERVED[::-1], outputs="logits", temperature=1),
        ),
    ]
    for fit in fits:
        assert fit.temperature == pytest.approx(fits[0].temperature, rel=1e-6)
        assert fit.notes == (CAVEAT,)


@pytest.mark.parametrize("by", ["squared_distance", "error"])
def test_by_distance_no_temperature_of_a_fine_grid_is_better(by):
    logits, truth = sampled(150, temperature=0.3)
    adapter = Adapter(build_bundle(SPACE, OBSERVED), outputs="logits")
    keys = [OBSERVED[i] if i % 2 else TREE.keys[i * 3] for i in truth]
    fit = fit_temperature(logits, keys, by=by, adapter=adapter)
    powers = np.linspace(-7, 7, 57)
    values = []
    for temperature in 2.0**powers:
        answers = frechet_mean(SPACE, OBSERVED, np.exp(log_softmax(logits / temperature, axis=1))).index
        far = SPACE.distances()[SPACE.index(keys), answers].astype(float)
        values.append((far**2).mean() if by == "squared_distance" else (far > 0).mean())
    assert fit.value <= min(values) * 1.02
    assert 0 < fit.n_unobserved < 150
    assert CAVEAT not in fit.notes


@pytest.mark.parametrize(
    ("n", "temperature", "seed"), [(60, 0.3, 0), (150, 0.3, 9), (400, 1.0, 10), (60, 3.0, 8)]
)
def test_by_calibration_error_no_temperature_of_a_fine_grid_is_much_better(n, temperature, seed):
    """The error of few samples has many valleys, each a sample wide."""
    logits, truth = sampled(n, temperature=temperature, seed=seed)
    fit = fit_temperature(logits, truth, by="ece")
    values = []
    for t in 2.0 ** np.linspace(-7, 7, 2801):
        P = np.exp(log_softmax(logits / t, axis=1))
        values.append(expected_calibration_error(P.max(axis=1), P.argmax(axis=1) == truth))
    assert fit.value <= min(values) * 1.03
    assert fit.value <= fit.value_before


def test_samples_with_an_unobserved_truth_do_not_count_for_the_likelihood():
    logits, truth = sampled(600)
    adapter = Adapter(build_bundle(SPACE, OBSERVED), outputs="logits")
    keys = [OBSERVED[i] for i in truth]
    mixed = fit_temperature(
        np.repeat(logits, 2, axis=0), [k for key in keys for k in (key, "v0")], adapter=adapter
    )
    assert mixed.temperature == pytest.approx(fit_temperature(logits, truth).temperature, rel=1e-6)
    assert mixed.value == pytest.approx(fit_temperature(logits, truth).value, rel=1e-9)
    assert mixed.n_unobserved == 600
    assert mixed.notes == ("600 of 1200 samples have an unobserved truth and are not used for the fit",)


def test_truths_that_are_keys_need_to_know_the_columns():
    with pytest.raises(UnknownLabelError, match=r"truth: row 1 is 'oak'.*\(0 to 1\).*give columns=.*adapter"):
        fit_temperature([[1.0, 0.0], [0.0, 1.0]], [0, "oak"])


def test_separable_samples_drive_the_temperature_to_the_bound_and_that_is_said():
    fit = fit_temperature(np.eye(3)[[0, 1, 2] * 20], [0, 1, 2] * 20)
    assert fit.at_bound
    assert fit.temperature == 1 / 128
    assert any("separable" in note for note in fit.notes)
    useless = fit_temperature(np.eye(3)[[0, 1, 2] * 20], [1, 2, 0] * 20)
    assert useless.temperature == 128
    assert "few" in fit_temperature([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [0, 0, 1]).notes[-1]


# ---- vector scaling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["nll", "ece"])
@pytest.mark.parametrize(
    "row", [[0.0, 0.0, 0.0], [7.0, 7.0, 7.0], [0.0, -np.inf, -np.inf]], ids=["zeros", "alike", "sure"]
)
def test_where_every_temperature_is_as_good_nothing_changes(row, by):
    fit = fit_temperature([row] * 60, [0] * 60, by=by)
    assert (fit.temperature, fit.at_bound, fit.value) == (1.0, False, fit.value_before)


def test_vector_scaling_undoes_a_scale_and_a_bias():
    logits, truth = sampled(6000, k=3, temperature=1.0)
    scale, bias = np.array([2.0, 0.5, 1.5]), np.array([1.0, -1.0, 0.0])
    fit = fit_vector_scaling((logits - bias) / scale, truth, penalty=1e-9)
    assert np.array(fit.scale) == pytest.approx(scale, rel=0.15)
    assert np.diff(fit.bias) == pytest.approx(np.diff(bias), abs=0.15)
    scaled = fit.apply((logits - bias) / scale)
    assert fit.nll == pytest.approx(log_loss(truth, np.exp(log_softmax(scaled, axis=1))))
    assert fit.nll < min(fit.nll_before, fit_temperature((logits - bias) / scale, truth).value)
    json.dumps(fit.to_dict())


def test_vector_scaling_of_two_columns_is_logistic_regression_on_them():
    """With two columns, scale and bias are free weights and a free intercept of a logistic regression."""
    logits, truth = sampled(800, k=2, temperature=1.5)
    fit = fit_vector_scaling(logits, truth, penalty=1e-10)
    model = LogisticRegression(C=1e10, max_iter=1000, tol=1e-10).fit(logits, truth)
    assert fit.nll == pytest.approx(log_loss(truth, model.predict_proba(logits)), rel=1e-6)


def test_vector_scaling_keeps_the_order_of_the_models_columns():
    logits, truth = sampled(400)
    keys = [OBSERVED[i] for i in truth]
    plain = Adapter(build_bundle(SPACE, OBSERVED), outputs="logits")
    turned = Adapter(plain.bundle, OBSERVED[::-1], outputs="logits")
    one = fit_vector_scaling(logits, keys, adapter=plain)
    other = fit_vector_scaling(logits[:, ::-1], keys, adapter=turned)
    assert other.apply(logits[:, ::-1]) == pytest.approx(one.apply(logits)[:, ::-1], abs=1e-3)
    absent = fit_vector_scaling(logits[:, [0, 1, 2]], [0, 1] * 200)
    assert "1 of 3 columns have no sample" in absent.notes[-1]


# ---- trade-off, exponents, spaces ----------------------------------------------------------------------


def test_each_point_of_the_curves_is_an_evaluation_at_that_temperature():
    logits, truth = sampled(300)
    keys = [OBSERVED[i] if n % 3 else TREE.keys[n % 31] for n, i in enumerate(truth)]
    adapter = Adapter(build_bundle(SPACE, OBSERVED), OBSERVED, outputs="logits", temperature=2)
    found = trade_off(adapter, logits, keys, temperatures=[0.5, 4.0, 8.0])
    assert found.temperatures == (0.5, 2.0, 4.0, 8.0)
    assert found.default == 1
    for i, temperature in enumerate(found.temperatures):
        at = Adapter(adapter.bundle, outputs="logits", temperature=temperature)
        result = evaluate(at, logits, keys)
        assert found.squared_distance[i] == result["frechet_mean"].all.mean_squared_distance
        assert found.accuracy[i] == pytest.approx(result["frechet_mean"].all.accuracy)
        assert found.ece[i] == pytest.approx(result.calibration.ece)
    assert found.squared_distance[found.distance_best] == min(found.squared_distance)
    assert found.ece[found.ece_best] == min(found.ece)
    assert found.notes == ()
    unseen = trade_off(adapter, logits, ["v0"] * 300)
    assert unseen.ece_best is None
    assert set(unseen.ece) == {None}
    marks = [row[0] for row in found.table().rows]
    assert "default" in marks[1]
    assert sum("best" in mark for mark in marks) >= 1


def test_exponents_and_temperatures_equal_their_definition():
    logits, truth = sampled(60)
    keys = [TREE.keys[5 * i] for i in truth]
    adapter = Adapter(build_bundle(SPACE, OBSERVED), outputs="logits")
    found = beta_table(adapter, logits, keys, betas=[1, 2, 4], temperatures=[1.0, 3.0])
    for i, beta in enumerate((1, 2, 4)):
        for j, temperature in enumerate((1.0, 3.0)):
            weights = np.exp(log_softmax(logits / temperature, axis=1))
            answers = frechet_mean(SPACE, OBSERVED, weights, beta=beta).index
            far = SPACE.distances()[SPACE.index(keys), answers].astype(float)
            assert found.squared_distance[i][j] == (far**2).mean()
    assert found.squared_distance[found.best[0]][found.best[1]] == min(map(min, found.squared_distance))
    i, j = found.best
    named = f"least at beta {found.betas[i]:g} and temperature {found.temperatures[j]:g}"
    assert found.table().title.endswith(named)


def test_spaces_are_compared_by_their_error_as_a_part_of_the_diameter():
    logits, truth = sampled(200)
    spaces = {"tree": SPACE, "flat": CompleteSpace(SPACE.keys)}
    keys = [OBSERVED[i] for i in truth]
    found = compare_spaces(spaces, logits, keys, observed=OBSERVED, outputs="logits", temperature=3.0)
    document = found.to_dict()
    for name, space in spaces.items():
        loki = document["spaces"][name]["frechet_mean"]
        assert loki["normalized"] == loki["mean_squared_distance"] / space.diameter() ** 2
    flat = document["spaces"]["flat"]
    assert flat["frechet_mean"]["mean_squared_distance"] == pytest.approx(1 - flat["argmax"]["accuracy"])
    assert found.best == min(spaces, key=lambda name: document["spaces"][name]["frechet_mean"]["normalized"])
    assert [row[0] for row in found.table().rows] == ["tree", "flat"]


def test_the_report_holds_all_of_it_and_the_caveat():
    logits, truth = sampled(300)
    adapter = Adapter(build_bundle(SPACE, OBSERVED), outputs="logits")
    report = calibrate(adapter, logits, [OBSERVED[i] for i in truth])
    assert report.fit.temperature in report.trade_off.temperatures
    assert report.fitted.ece < report.trade_off.reliability.ece
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(document) == {"fit", "trade_off", "betas", "equal_mass", "fitted", "notes"}
    assert document["notes"][0] == CAVEAT
    text = str(report)
    assert CAVEAT in text
    assert all(mark in text for mark in ("default", "E[d²]-best", "ECE-best", "equal mass"))


@pytest.mark.parametrize("by", ["nll", "squared_distance"])
def test_the_report_says_what_the_fitted_temperature_does_to_the_mean_and_what_to_do_next(by):
    """Sharper outputs fit the observed labels at the ends, and turn the answers in the middle to the ends."""
    line = LabelGraph.from_edges([("middle", "left"), ("right", "middle")])
    adapter = Adapter.from_graph(line, ["left", "right"])
    logits = np.array([[2.0, 0.0], [0.0, 2.0], [0.1, 0.0]] * 20)
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    report = calibrate(adapter, P, ["left", "right", "middle"] * 20, by=by)
    text = report.render()
    if by == "nll":
        assert "over the 40 of 60 samples with an observed truth" in report.summary()
        assert report.change == (0.0, pytest.approx(1 / 3))
        assert "rises from 0 to 0.3333: stay at 1, or fit E[d²] itself" in text
        (marked,) = (r[0] for r in report.temperature_table().rows if r[1] == report.fit.temperature)
        assert marked.startswith("fitted")
    else:
        assert "over 60 samples, 20 of them with an unobserved truth" in report.summary()
        assert "np.log of the probabilities with outputs='log_probabilities', temperature=1 (grove: " in text


def test_the_names_are_handed_out_at_the_front_door():
    assert labelgrove.fit_temperature is fit_temperature
    assert labelgrove.evaluate is evaluate
