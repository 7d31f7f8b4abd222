"""Wrong uses of evaluation and calibration: each gives a typed error that says where, what and what next."""

import math

import numpy as np
import pytest

from labelgrove.adapter import Adapter, SparseOutputs, build_bundle, evaluate
from labelgrove.adapter.calibration import fit_temperature, fit_vector_scaling
from labelgrove.adapter.calibration.tradeoff import beta_table, trade_off
from labelgrove.adapter.evaluation.evidence.verdict import no_better_than_chance
from labelgrove.adapter.evaluation.measures.calibrationerror import Reliability, expected_calibration_error
from labelgrove.adapter.evaluation.spaces import compare_spaces
from labelgrove.adapter.outputs.outputfiles import OutputFile
from labelgrove.ontology.errors import (
    BindingError,
    GroveError,
    InputError,
    NotFoundError,
    SpaceError,
    UnknownLabelError,
    WeightError,
)
from labelgrove.ontology.geometry import CompleteSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

GRAPH = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("d", "a")])
TREE = metric_space(GRAPH)
OBSERVED = ["c", "d", "b"]
P = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
TRUTH = ["a", "d", "b"]


def model(**options):
    return Adapter.from_graph(GRAPH, OBSERVED, **options)


def cell(value, row=1, column=2):
    given = P.copy()
    given[row, column] = value
    return given


def run(given, truth=TRUTH, **options):
    return evaluate(model(), given, truth, **options)


LOGS = np.log(P + 0.01)

WRONG = {
    "fewer truths than rows": (lambda: run(P, TRUTH[:2]), InputError, r"2 labels for 3 rows"),
    "more truths than rows": (lambda: run(P, [*TRUTH, "a"]), InputError, r"4 labels for 3 rows"),
    "no samples": (lambda: run(np.empty((0, 3)), []), InputError, r"at least one"),
    "no truth": (lambda: run(P, []), InputError, r"0 labels for 3 rows"),
    "truth that is unknown": (
        lambda: run(P, ["a", "x", "b"]),
        UnknownLabelError,
        r"1 label cannot be found .by key.:\n  row 1 'x' is unknown",
    ),
    "truth that is no answer": (
        lambda: evaluate(model(labels="leaves"), P, TRUTH),
        UnknownLabelError,
        r"1 of 3 rows has a known label that is not among the 3 allowed labels: row 0 'a'",
    ),
    "no truth at all": (lambda: run(P, None), InputError, r"truth: None given; give the key"),
    "truth as a number": (lambda: run(P, 3), InputError, r"truth: 3 given; give the key"),
    "no model": (lambda: evaluate(5, P, TRUTH), InputError, r"source: int given; .*metric_space"),
    "no space": (lambda: run(P, space=5), InputError, r"space: int given; .*metric_space"),
    "a graph as hierarchy": (lambda: run(P, hierarchy=GRAPH), SpaceError, r"LabelGraph given; give a tree"),
    "a negative seed": (
        lambda: run(P, seed=-1),
        InputError,
        r"seed: -1 given; it must be a whole number of 0",
    ),
    "a seed that is no number": (lambda: run(P, seed=None), InputError, r"seed: None given"),
    "a level that is no number": (lambda: run(P, level="0.9"), InputError, r"level: '0.9' given"),
    "endless resamples": (
        lambda: run(P, resamples=10**12),
        InputError,
        r"at most 1000000, and 1000 are usually",
    ),
    "endless bins": (lambda: Reliability.of([0.5], [True], bins=10**12), InputError, r"at most 1000000"),
    "confidences of text": (lambda: Reliability.of(["a"], [True]), InputError, r"cannot be read as numbers"),
    "truth as one text": (lambda: run(P, "adb"), InputError, r"'adb' is a single string"),
    "truth as numbers": (lambda: run(P, [0, 1, 2]), InputError, r"row 0 is 0 of type int"),
    "truth that is missing": (
        lambda: run(P, ["a", None, "b"]),
        InputError,
        r"row 1 is None of type NoneType",
    ),
    "truth that is NaN": (lambda: run(P, ["a", "d", np.nan]), InputError, r"row 2 is nan of type float"),
    "NaN": (lambda: run(cell(np.nan)), WeightError, r"row 1, column 2 \('b'\) holds nan"),
    "infinity": (lambda: run(cell(np.inf)), WeightError, r"row 1, column 2 \('b'\) holds inf.*finite"),
    "minus infinity": (lambda: run(cell(-np.inf)), WeightError, r"row 1, column 2 \('b'\) holds -inf"),
    "a negative weight": (lambda: run(cell(-0.1)), WeightError, r"row 1, column 2 \('b'\) holds -0.1"),
    "logits as probabilities": (lambda: run(LOGS), WeightError, r"row 0, column 0.*outputs='logits'"),
    "a row of zeros": (lambda: run(P * [[1], [0], [1]]), WeightError, r"row 1 sums to 0"),
    "a row that sums to too much": (
        lambda: run(P * [[1], [1], [1e300]]),
        WeightError,
        r"row 2 sums to 1e\+300; the weights of a row must sum to at most 1e\+150; scale them",
    ),
    "a row whose sum is no number": (
        lambda: run(P * [[1], [1], [0]] + [[0], [0], [1e308]]),
        WeightError,
        r"row 2 sums to inf; .*scale them",
    ),
    "a NaN among logits": (
        lambda: evaluate(model(outputs="logits"), cell(np.nan), TRUTH),
        WeightError,
        r"row 1, column 2 \('b'\) holds nan",
    ),
    "infinity among logits": (
        lambda: evaluate(model(outputs="logits"), cell(np.inf), TRUTH),
        WeightError,
        r"row 1, column 2 \('b'\) holds inf.*minus infinity where",
    ),
    "logits as log-probabilities": (
        lambda: evaluate(model(outputs="log_probabilities"), P + 1, TRUTH),
        WeightError,
        r"row 0, column 0 \('c'\) holds 1.5.*outputs='logits'",
    ),
    "a row of minus infinity": (
        lambda: evaluate(model(outputs="logits"), np.where([[0], [1], [0]], -np.inf, LOGS), TRUTH),
        WeightError,
        r"row 1 has the maximum -inf",
    ),
    "too few columns": (lambda: run(P[:, :2]), WeightError, "2 columns given, expected 3"),
    "too many axes": (lambda: run(P[None]), WeightError, r"shape \(1, 3, 3\)"),
    "rows of different lengths": (lambda: run([[1, 0, 0], [1]]), WeightError, r"different lengths"),
    "text for numbers": (lambda: run([["1", "0", "0"]] * 3), WeightError, r"dtype <U1"),
    "yes and no for numbers": (lambda: run(P > 0), WeightError, r"dtype bool"),
    "a masked array": (lambda: run(np.ma.array(P, mask=P > 0.6)), WeightError, r"masked"),
    "a column listed twice": (
        lambda: run(SparseOutputs([[0, 0]] * 3, [[0.5, 0.5]] * 3)),
        WeightError,
        r"row 0 lists a column twice",
    ),
    "columns of another model": (
        lambda: Adapter(model().bundle, ["c", "d", "elm"]),
        BindingError,
        r"elm",
    ),
    "blocks of different widths": (
        lambda: run(iter([P[:1], P[1:, :2]])),
        WeightError,
        r"block that begins with row 1",
    ),
    "a stream that is too short": (lambda: run(iter([P[:2]])), InputError, r"3 labels for 2 rows"),
    "a stream that is too long": (lambda: run(iter([P, P])), InputError, r"3 labels for 6 rows"),
    "an empty stream": (lambda: run(iter([])), InputError, r"3 labels for 0 rows"),
    "a space without observed labels": (lambda: evaluate(TREE, P, TRUTH), InputError, r"observed=\["),
    "observed labels given twice": (lambda: run(P, observed=OBSERVED), InputError, r"leave out observed"),
    "observed labels that are unknown": (
        lambda: evaluate(TREE, P, TRUTH, observed=["c", "d", "x"]),
        UnknownLabelError,
        r"'x'",
    ),
    "a block without its space": (
        lambda: evaluate(Adapter(model(metric="graph").bundle), P, TRUTH),
        SpaceError,
        r"space=metric_space\(graph",
    ),
    "a block with another space": (
        lambda: evaluate(model(metric="graph"), P, TRUTH, space=TREE),
        SpaceError,
        r"does not have the labels",
    ),
    "no training label": (lambda: run(P, train_truth=[]), InputError, r"train_truth: no label"),
    "a training label that is unknown": (lambda: run(P, train_truth=["x"]), UnknownLabelError, r"'x'"),
    "a level that no label has": (lambda: run(P, branch_level=3), InputError, r"levels 0 .* to 2"),
    "no answer among the first": (lambda: run(P, top_k=0), InputError, r"top_k: 0"),
    "no draw": (lambda: run(P, resamples=0), InputError, r"resamples: 0"),
    "a share that is none": (lambda: run(P, level=95), InputError, r"level: 95 .* 0.95"),
    "a measure that is unknown": (
        lambda: fit_temperature(LOGS, [0, 1, 2], by="brier"),
        InputError,
        r"by: 'brier'.*'nll', 'ece'",
    ),
    "distances without an adapter": (
        lambda: fit_temperature(LOGS, [0, 1, 2], by="squared_distance"),
        InputError,
        r"give the adapter",
    ),
    "calibration on a stream": (
        lambda: fit_temperature(iter([LOGS]), [0, 1, 2]),
        InputError,
        r"an iterator can be read once",
    ),
    "a column number that is none": (
        lambda: fit_temperature(LOGS, [0, 1, 3]),
        UnknownLabelError,
        r"row 2 is '3'",
    ),
    "no observed truth to fit on": (
        lambda: fit_temperature(P, ["a", "r", "a"], adapter=model()),
        InputError,
        r"none of 3 samples has an observed label.*squared_distance",
    ),
    "a truth of probability 0": (
        lambda: (
            fit_temperature(P, ["c", "b", "b"], adapter=model(), by="nll").to_dict()
            and fit_temperature(P, ["b", "b", "b"], adapter=model())
        ),
        InputError,
        r"row 0 gives its truth 'b' the probability 0",
    ),
    "columns beside an adapter": (
        lambda: fit_temperature(P, OBSERVED, adapter=model(), columns=OBSERVED),
        InputError,
        r"leave them out",
    ),
    "a row for several samples": (lambda: fit_temperature(LOGS[0], [0]), WeightError, r"shape \(3,\)"),
    "minus infinity in vector scaling": (
        lambda: fit_vector_scaling(P, ["c", "d", "d"], adapter=model()),
        InputError,
        r"row 0, column 'b' is minus infinity",
    ),
    "a penalty of nothing": (
        lambda: fit_vector_scaling(LOGS, [0, 1, 2], penalty=0),
        InputError,
        r"penalty: 0",
    ),
    "logits of another model": (
        lambda: fit_vector_scaling(LOGS, [0, 1, 2]).apply(LOGS[:, :2]),
        InputError,
        r"shape \(3, 2\)",
    ),
    "a temperature of 0": (
        lambda: trade_off(model(), P, OBSERVED, temperatures=[0.0]),
        InputError,
        r"temperatures: 0.0",
    ),
    "no temperature": (lambda: beta_table(model(), P, OBSERVED, temperatures=[]), InputError, r"none given"),
    "no exponent": (lambda: beta_table(model(), P, OBSERVED, betas=[]), InputError, r"betas: none"),
    "a negative exponent": (lambda: beta_table(model(), P, OBSERVED, betas=[-1]), InputError, r"beta: -1"),
    "a confidence above 1": (lambda: Reliability.of([0.5, 1.5], [1, 0]), InputError, r"row 1 is 1.5"),
    "a confidence without its outcome": (lambda: Reliability.of([0.5], [1, 0]), InputError, r"shapes"),
    "no bin": (lambda: Reliability.of([0.5], [1], bins=0), InputError, r"bins: 0"),
    "bins of another kind": (lambda: Reliability.of([0.5], [1], scheme="log"), InputError, r"scheme: 'log'"),
    "the error of no sample": (lambda: expected_calibration_error([], []), InputError, r"no sample"),
    "no space to compare": (lambda: compare_spaces({}, P, TRUTH, observed=OBSERVED), InputError, r"none"),
    "spaces over different labels": (
        lambda: compare_spaces(
            {"tree": TREE, "flat": CompleteSpace(OBSERVED)}, P, OBSERVED, observed=OBSERVED
        ),
        InputError,
        r"'flat' and 'tree' allow different labels",
    ),
    "a stream for several spaces": (
        lambda: compare_spaces({"tree": TREE}, iter([P]), TRUTH, observed=OBSERVED),
        InputError,
        r"read once",
    ),
    "a file that is not there": (lambda: OutputFile("nothing.npy"), NotFoundError, r"no such file"),
    "a file of another format": (lambda: OutputFile("p.pickle"), InputError, r"'.pickle'.*\.npy"),
    "an array of a file without any": (lambda: OutputFile("p.csv", array="x"), InputError, r"array: 'x'"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_use_is_refused_and_says_why(name):
    call, error, said = WRONG[name]
    with pytest.raises(GroveError, match=said) as refused:
        call()
    assert type(refused.value) is error


def test_rows_that_do_not_sum_to_one_are_taken_with_a_note():
    plain, scaled = run(P), run(P * [[2], [1], [0.5]])
    assert plain.notes == ()
    assert scaled.rules == plain.rules
    assert scaled.notes[0].startswith(
        "2 of 3 rows do not sum to 1 (0.5 to 2); they are used as weights: no answer changes, but variances "
        "are multiplied by the row's sum. For logits"
    )
    assert (model().top_k(2 * P, 1).values == 2 * model().top_k(P, 1).values).all()
    assert run(P.astype(np.float16)).notes == ()
    assert evaluate(model(outputs="logits"), P * 7, TRUTH).notes == ()


def test_logits_that_look_like_probabilities_are_noted_once_where_all_rows_do():
    said = (
        "every row lies in 0..1 and sums to 1: these look like probabilities; leave out outputs='logits' "
        "(grove: --outputs logits)",
    )
    logits = model(outputs="logits")
    for kind in (np.float16, np.float32, np.float64):
        assert evaluate(logits, P.astype(kind), TRUTH).notes == said
    assert evaluate(logits, iter([P[:1], P[1:]]), TRUTH).notes == said
    for other in (cell(0.701), cell(1.5), cell(-np.inf), cell(1e308), [[-0.1, 0.6, 0.5], *P[1:]]):
        assert evaluate(logits, other, TRUTH).notes == (said if other[1][2] == 0.701 else ())


def test_columns_or_rows_in_another_order_are_suspected():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    given = rng.dirichlet(np.ones(3), 300) + 2 * np.eye(3)[truth]
    keys = [OBSERVED[i] for i in truth]
    assert not any("chance" in note for note in run(given, keys).notes)
    for mixed in (given[:, [1, 2, 0]], np.roll(given, 1, axis=1)):
        assert any("in the same order?" in note for note in run(mixed, keys).notes)
    assert any("of 50 samples" in note for note in run(given[:50, [1, 2, 0]], keys[:50]).notes)
    assert not any("chance" in note for note in run(given[:4, [1, 2, 0]], keys[:4]).notes)


def within(k, n, p):
    """Return the chance of at most k right answers of n: the binomial distribution itself."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize("n_observed", [2, 3, 8, 50])
def test_no_better_than_chance_is_said_where_a_useful_model_is_hardly_ever_as_bad(n_observed):
    chance, said = 1 / n_observed, 0
    better = {2: 3 / 4}.get(n_observed, 2 * chance)
    for n in (1, 3, 10, 27, 100, 600):
        for k in range(n + 1):
            sure = Reliability.of([0.9] * n, [True] * k + [False] * (n - k))
            guessed = 1 - within(k - 1, n, chance) > 0.05
            assert no_better_than_chance(sure, n_observed) == (guessed and within(k, n, better) < 0.01)
            said += guessed and k / n > chance and no_better_than_chance(sure, n_observed)
    assert said, "guesses are right more often than their mean, too"
    assert no_better_than_chance(Reliability.of([0.9] * 20_000, [False] * 20_000), n_observed)
    assert not no_better_than_chance(Reliability.of([], []), n_observed)
    assert not no_better_than_chance(Reliability.of([1.0] * 500, [False] * 500), 1)


def test_a_verdict_against_it_says_to_check_the_columns_where_argmax_only_guesses():
    truth = np.arange(300) % 3
    given = np.full((300, 3), 0.1) + 0.7 * np.eye(3)[truth]
    given += np.random.default_rng(0).uniform(0, 1e-3, given.shape)
    keys = [OBSERVED[i] for i in truth]
    swapped = run(given[:, [1, 2, 0]], keys).verdict
    assert swapped.answer == "do not use it here"
    assert swapped.reason.endswith("check the order of rows and columns first (grove: --columns)")
    assert "--columns" not in run(given, keys).verdict.reason


def test_no_temperature_is_advised_where_argmax_only_guesses():
    """Outputs that say nothing come near the middle of the space as they get flat: surely less."""
    line = LabelGraph.from_edges([(str(i + 1), str(i)) for i in range(14)])
    model = Adapter.from_graph(line, ["0", "7", "14"], outputs="logits")
    rng = np.random.default_rng(1)
    position = rng.integers(0, 15, 600)
    logits = -np.abs(position[:, None] + rng.normal(0, 1, (600, 1)) - [0, 7, 14]) / 3.5
    truth = [str(i) for i in position]
    far = ["0"] * 5 + ["14"]
    found = evaluate(model, logits[:, [1, 2, 0]], truth, train_truth=far, resamples=200)
    assert found.verdict.answer == "do not use it here"
    assert found.verdict.temperature is None
    assert "check the order of rows and columns first" in found.verdict.reason
    assert "in the same order?" in "".join(found.notes)


def test_truths_in_another_order_are_suspected_as_often_as_they_are_met():
    rng, suspected = np.random.default_rng(2), 0
    for _ in range(40):
        truth = rng.integers(0, 3, 300)
        given = rng.dirichlet(np.ones(3), 300) + 2 * np.eye(3)[truth]
        shuffled = [OBSERVED[i] for i in rng.permutation(truth)]
        suspected += any("in the same order?" in note for note in run(given, shuffled, resamples=50).notes)
    assert suspected >= 34, "nineteen of twenty"


ONE = LabelGraph.from_edges([("a", "r")])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: run(P, TRUTH[:1]), "truth: 1 label for 3 rows of"),
        (lambda: run(P[:1], TRUTH), "3 labels for 1 row of"),
        (lambda: Adapter(build_bundle(TREE, OBSERVED), ["c"]), "1 column cannot be bound to 3 labels"),
        (
            lambda: Adapter(build_bundle(metric_space(ONE), ["a"]), ["x", "y"]),
            "2 columns cannot be bound to 1 label (",
        ),
        (lambda: Adapter.from_graph(ONE, ["a", "a"]), "observed: 1 label given more than once"),
        (lambda: model().predict(P[:1], candidates=[["a"], None]), "2 sets for 1 row;"),
    ],
)
def test_one_of_a_thing_is_not_called_several(call, said):
    with pytest.raises(GroveError) as refused:
        call()
    assert said in str(refused.value)


def test_a_report_of_one_sample_does_not_call_it_several():
    text = str(run(P[:1], TRUTH[2:]))
    assert text.startswith("1 sample (")
    assert "over 1 sample with an observed truth" in text
    assert "1 sample is too few; 30 or more are needed" in text
