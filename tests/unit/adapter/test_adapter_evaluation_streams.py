"""Outputs that come in pieces give the figures of one piece, and a verdict says what they mean."""

import tracemalloc

import numpy as np
import pytest

from labelgrove.adapter import Adapter, SparseOutputs, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.evaluation.evidence import bootstrap as bootstrap_module
from labelgrove.adapter.evaluation.evidence.bootstrap import PairedBootstrap
from labelgrove.adapter.evaluation.evidence.verdict import Verdict
from labelgrove.ontology.errors import InputError, WeightError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

GRID = LabelGraph.grid((9, 9))
TREE = LabelGraph.from_edges([(f"v{i}", f"v{(i - 1) // 3}") for i in range(1, 80)])
WEIGHTED = LabelGraph.from_edges(
    [(f"v{i}", f"v{(i - 1) // 3}") for i in range(1, 80)], weights=[0.1 + i / 7 for i in range(1, 80)]
)


def case(graph, n=900, k=7, seed=0):
    rng = np.random.default_rng(seed)
    observed = [graph.keys[i] for i in rng.choice(graph.n_labels, k, replace=False)]
    truth = [graph.keys[i] for i in rng.integers(0, graph.n_labels, n)]
    return observed, rng.dirichlet(np.full(k, 0.5), n), truth


def pieces(P, *sizes):
    start = 0
    for size in (*sizes, len(P)):
        yield P[start : start + size]
        start += size


@pytest.mark.parametrize("graph", [GRID, TREE, WEIGHTED], ids=["grid", "tree", "weighted"])
def test_pieces_of_any_size_give_the_very_same_report(graph):
    observed, P, truth = case(graph)
    space = metric_space(graph)
    whole = evaluate(space, P, truth, observed=observed)
    for sizes in ([1, 2, 3], [400], [0, 899, 0], [100] * 8):
        assert evaluate(space, pieces(P, *sizes), truth, observed=observed) == whole
    listed = SparseOutputs(np.tile(np.arange(P.shape[1]), (len(P), 1)), P)
    assert evaluate(space, listed, truth, observed=observed) == whole
    assert evaluate(space, iter([listed]), truth, observed=observed) == whole


def test_blocks_of_another_size_change_rounding_at_most(monkeypatch):
    from labelgrove.adapter.outputs import gate

    observed, P, truth = case(WEIGHTED)
    whole = evaluate(metric_space(WEIGHTED), P, truth, observed=observed)
    monkeypatch.setattr(gate, "_ROWS_AT_ONCE", 13)
    cut = evaluate(metric_space(WEIGHTED), P, truth, observed=observed)
    for one, other in zip(whole.rules, cut.rules, strict=True):
        assert other.severity == one.severity
        assert other.all.mean_squared_distance == pytest.approx(one.all.mean_squared_distance, rel=1e-13)
        assert other.difference.low == pytest.approx(one.difference.low, rel=1e-9)


def test_memory_does_not_grow_with_the_rows_of_a_stream(compiled_scoring):
    observed, P, truth = case(TREE, n=15_000, k=40)
    adapter = Adapter.from_graph(TREE, observed)
    blocks = np.split(P, 15)
    evaluate(adapter, iter(blocks[:5]), truth[:5000], resamples=1)
    peaks = []
    for n in (9, 15):
        tracemalloc.start()
        found = evaluate(adapter, iter(blocks[:n]), truth[: 1000 * n], resamples=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.n_samples == 1000 * n
    assert peaks[1] - peaks[0] < 64 * 6_000  # a few numbers for each truth; a row of P takes 320 bytes


def test_rows_are_counted_over_all_pieces():
    observed, P, truth = case(TREE)
    P[777, 3] = np.nan
    with pytest.raises(WeightError, match=rf"row 777, column 3 \('{observed[3]}'\) holds nan"):
        evaluate(metric_space(TREE), pieces(P, 500), truth, observed=observed)
    narrow = iter([P[:500], P[500:, :6]])
    with pytest.raises(WeightError, match=r"6 columns given.*block that begins with row 500"):
        evaluate(metric_space(TREE), narrow, truth, observed=observed)
    P[777, 3] = 0.5
    for given in (P[:700], P):
        with pytest.raises(InputError, match=r"truth: 800 labels for (700|900) rows"):
            evaluate(metric_space(TREE), pieces(given, 600), truth[:800], observed=observed)


# ---- bootstrap -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [400, 1500])
def test_intervals_cover_the_mean_as_often_as_they_say(n, monkeypatch):
    """Skewed values in sorted order, one by one and in groups: 90 % of 250, within three standard errors."""
    monkeypatch.setattr(bootstrap_module, "_MOST_GROUPS", 500)
    rng = np.random.default_rng(14)
    hit = 0
    for seed in range(250):
        values = np.sort(rng.gamma(2.0, 1.0, n))
        bootstrap = PairedBootstrap(n, 1, seed=seed)
        for start in range(0, n, 256):
            bootstrap.add(start, values[start : start + 256, None])
        (interval,) = bootstrap.intervals(np.ones((1, 1)), np.array([[0.0, 12.0]]), 200, 0.9)
        assert interval.mean == pytest.approx(values.mean(), rel=1e-12)
        hit += interval.low <= 2.0 <= interval.high
    assert 210 <= hit <= 240


def test_pairing_narrows_the_interval_of_a_difference():
    rng = np.random.default_rng(13)
    shared = rng.gamma(1.0, 10.0, 2000)
    values = np.column_stack([shared, shared + rng.normal(0.1, 1.0, 2000)])
    bootstrap = PairedBootstrap(2000, 2, seed=0)
    bootstrap.add(0, values)
    contrasts, extremes = (
        np.array([[1.0, 0], [0, 1.0], [-1.0, 1.0]]),
        np.array([[0, 120], [-5, 120], [-5, 5]]),
    )
    own, other, difference = bootstrap.intervals(contrasts, extremes, 1000, 0.95)
    assert difference.mean == pytest.approx((values[:, 1] - values[:, 0]).mean())
    assert difference.high - difference.low < (own.high - own.low) / 5
    normal = 2 * 1.96 * (values[:, 1] - values[:, 0]).std() / np.sqrt(2000)
    assert difference.high - difference.low == pytest.approx(normal, rel=0.1)
    assert other.low > 0


def test_the_seed_alone_decides_the_draws():
    observed, P, truth = case(TREE)
    runs = [evaluate(metric_space(TREE), P, truth, observed=observed, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0]["frechet_mean"].interval != runs[2]["frechet_mean"].interval
    assert runs[0]["frechet_mean"].all == runs[2]["frechet_mean"].all
    narrow = evaluate(metric_space(TREE), P, truth, observed=observed, level=0.5)["frechet_mean"].interval
    assert (
        narrow.high - narrow.low
        < (runs[0]["frechet_mean"].interval.high - runs[0]["frechet_mean"].interval.low) / 2
    )


# ---- verdict -------------------------------------------------------------------------------------------

LINE = metric_space(LabelGraph.grid((1, 15)))
ENDS = ["0,0", "0,7", "0,14"]


def positions(n, seed=0):
    """Truths on a line, and for each observed position the logit of a model that sees it with noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 15, n)
    seen = truth + rng.normal(0, 1.0, n)
    logits = -np.abs(seen[:, None] - np.array([0, 7, 14])) / 3.5
    return logits, [LINE.keys[i] for i in truth]


def test_use_it_where_it_beats_argmax_and_the_constant():
    logits, truth = positions(2000)
    result = evaluate(LINE, np.exp(logits), truth, observed=ENDS)
    assert result.verdict.answer == "use it"
    assert result["argmax"].difference.low > 0
    assert result["constant"].difference.low > 0
    argmax, constant = (result[rule].difference.mean for rule in ("argmax", "constant"))
    assert f"{argmax:.4g} smaller than that of argmax (interval " in result.verdict.reason
    assert f"{constant:.4g} smaller than that of a constant answer (interval " in result.verdict.reason


@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
def test_calibrate_first_where_another_temperature_mends_it(outputs):
    """Flattened by 20, the outputs answer with the middle of the line nearly always."""
    logits, truth = positions(2000)
    adapter = Adapter(build_bundle(LINE, ENDS), outputs=outputs, temperature=20 if outputs == "logits" else 1)
    given = logits if outputs == "logits" else np.exp(logits / 20)
    result = evaluate(adapter, given, truth, space=LINE)
    assert result["argmax"].difference.high < 0
    assert result.verdict.answer == "calibrate first"
    assert 0.5 < result.verdict.temperature * (1 if outputs == "logits" else 20) < 3
    better = Adapter(adapter.bundle, outputs="logits", temperature=result.verdict.temperature)
    again = evaluate(better, logits if outputs == "logits" else logits / 20, truth, space=LINE)
    assert again.verdict.answer == "use it"
    assert (
        again["frechet_mean"].all.mean_squared_distance < result["frechet_mean"].all.mean_squared_distance / 2
    )


def test_a_model_that_is_not_calibrated_is_called_so():
    logits, truth = positions(4000)
    kept = [i for i, key in enumerate(truth) if key in ENDS]
    result = evaluate(LINE, np.exp(logits[kept] / 20), [truth[i] for i in kept], observed=ENDS)
    assert result.calibration.mean_confidence < 0.4 < 0.9 < result.calibration.mean_accuracy
    assert "under-confident" in result.verdict.reason


def test_a_gain_by_chance_is_no_reason_to_calibrate():
    """Argmax is right 15 times of 16 and else at the far end: one step inwards costs just as much."""
    line = metric_space(LabelGraph.grid((9,)))
    ends, answers = line.keys.take([0, 8]), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        said, wrong = rng.integers(0, 2, 1600), rng.permutation(1600) < 100
        sure = rng.uniform(0.55, 0.65, 1600)
        P = np.where(np.arange(2) == said[:, None], sure[:, None], 1 - sure[:, None])
        truth = [ends[i] for i in np.where(wrong, 1 - said, said)]
        answers.append(evaluate(line, P, truth, observed=ends, resamples=100).verdict.answer)
    assert answers.count("do not use it here") >= 27  # two standard errors: one of 40 by chance


def test_do_not_use_it_where_no_temperature_mends_it():
    rng = np.random.default_rng(4)
    truth = ["0,7", *["0,8"] * 499]  # a constant answer is nearly always right, and the outputs say nothing
    result = evaluate(LINE, rng.dirichlet(np.ones(3), 500), truth, observed=ENDS)
    assert result.verdict.answer == "do not use it here"
    assert "a constant answer" in result.verdict.reason
    assert result.verdict.temperature is None


def test_no_difference_is_called_so():
    same = evaluate(LINE, np.eye(3)[[0, 1, 2] * 100], ENDS * 100, observed=ENDS)
    assert same["frechet_mean"].all == same["argmax"].all
    assert same.verdict == Verdict(
        "no difference shown", "for every sample it gives the same answer as argmax"
    )
    # between 0,0 and 0,14 the mean answers 0,6: of as much use where the truth is 0,6 as harm where it is 0,0
    half = evaluate(LINE, [[0.6, 0.0, 0.4]] * 100, ["0,0", "0,6"] * 50, observed=ENDS, train_truth=["0,14"])
    assert half["argmax"].difference.mean == 0
    assert half.verdict.answer == "no difference shown"
    assert half.verdict.reason.startswith("its E[d²] is equal to that of argmax (interval ")
    assert "which may be due to chance" in half.verdict.reason
