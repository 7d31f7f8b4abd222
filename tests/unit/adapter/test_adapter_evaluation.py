"""Evaluation against a case worked out by hand, and against the definitions on random graphs."""

import json
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import Adapter, evaluate
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.calibration import fit_temperature
from labelgrove.adapter.evaluation import RULES
from labelgrove.adapter.evaluation import baselines as baselines_module
from labelgrove.adapter.evaluation.measures import pairdistances
from labelgrove.adapter.outputs import gate
from labelgrove.ontology.errors import InputError, SpaceError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import CompleteSpace, MatrixSpace, metric_space
from labelgrove.ontology.labelgraph import LabelGraph

# A root r with children a and b; a has children c and d. Canonical order: r, a, c, d, b. Distances:
#
#        r  a  c  d  b
#    r   0  1  2  2  1
#    a   1  0  1  1  2        diameter 3
#    c   2  1  0  2  3
#    d   2  1  2  0  3
#    b   1  2  3  3  0
#
# Observed c, d, b. Each sample below: weights, truth, and F(y) = sum w d(y, .)^2 or G(y) = sum w d(y, .).
HAND = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("d", "a")])
OBSERVED = ["c", "d", "b"]
P = [
    # truth a: F = r 400, a 100, c 200, d 200, b 900 -> a at 0. argmax: c and d tie -> c at 1.
    #          Among observed F(c) = F(d) = 200 -> c at 1; G(c) = G(d) = 100 -> c at 1. Nearest: c at 1.
    [50, 50, 0],
    # truth d: F = r 220, a 280, c 700, d 540, b 360 -> r at 2. argmax b at 3. Observed F: b at 3.
    #          G = c 260, d 180, b 120 -> b at 3. Nearest: d at 0.
    [0, 40, 60],
    # truth b: F = r 274, a 226, c 490, d 498, b 522 -> a at 2. argmax b at 0. Observed F: c at 3.
    #          G = c 182, d 186, b 174 -> b at 0. Nearest: b at 0.
    [30, 28, 42],
    # truth r: all of it on c -> c at 2 by every rule. Nearest: b at 1.
    [2, 0, 0],
    # truth c: F = r 283, a 217, c 475, d 471, b 549 -> a at 1. argmax b at 3. Observed F: d at 2.
    #          G = c 179, d 177, b 183 -> d at 2. Nearest: c at 0.
    [30, 31, 39],
]
TRUTH = ["a", "d", "b", "r", "c"]
# Training labels c, c, d, b: F = r 13, a 7, c 13, d 17, b 27 -> the constant a, at 0, 1, 2, 1, 1.
TRAIN = ["c", "b", "c", "d"]
DISTANCES = {
    "frechet_mean": [0, 2, 2, 2, 1],
    "argmax": [1, 3, 0, 2, 3],
    "constant": [0, 1, 2, 1, 1],
    "observed_only": [1, 3, 3, 2, 2],
    "crm": [1, 3, 0, 2, 2],
    "nearest_observed": [1, 0, 0, 1, 0],
}


def sources():
    tree = Adapter.from_graph(HAND, OBSERVED)
    block = Adapter.from_graph(HAND, OBSERVED, metric="graph")
    full = metric_space(HAND).distances()
    return {
        "tree bundle": (tree, {}),
        "block with its graph": (block, {}),
        "block with its space": (Adapter(block.bundle), {"space": metric_space(HAND, metric="graph")}),
        "tree space": (metric_space(HAND), {"observed": OBSERVED}),
        "graph space": (metric_space(HAND, metric="graph"), {"observed": OBSERVED}),
        "matrix space": (MatrixSpace(full, HAND.keys), {"observed": OBSERVED}),
    }


@pytest.mark.parametrize("name", list(sources()))
def test_the_case_worked_out_by_hand(name):
    source, more = sources()[name]
    result = evaluate(source, P, TRUTH, train_truth=TRAIN, **more)
    assert [r.rule for r in result.rules] == list(RULES) == list(DISTANCES)
    assert (result.n_samples, result.n_labels, result.n_observed, result.diameter) == (5, 5, 3, 3.0)
    assert (result.constant, result.constant_from) == ("a", "the training labels")
    assert result.severity_edges == (0, 1, 2, 3, 4)
    for rule, distance in DISTANCES.items():
        found = result[rule]
        assert found.all.n == 5
        assert found.all.mean_squared_distance == sum(d * d for d in distance) / 5, rule
        assert found.all.mean_distance == sum(distance) / 5
        assert found.all.normalized == pytest.approx(sum(d * d for d in distance) / 5 / 9, rel=1e-15)
        assert found.all.accuracy == distance.count(0) / 5
        assert found.severity == tuple(distance.count(d) for d in range(4))
        observed = [distance[i] for i in (1, 2, 4)]
        unobserved = [distance[i] for i in (0, 3)]
        for part, expected in ((found.observed, observed), (found.unobserved, unobserved)):
            assert part.n == len(expected)
            assert part.mean_squared_distance == sum(d * d for d in expected) / len(expected)
            assert part.accuracy == expected.count(0) / len(expected)
    assert [note.partition(";")[0] for note in result.notes] == ["5 of 5 rows do not sum to 1 (2 to 100)"]


def test_the_constant_of_the_truth_itself_is_called_so():
    # Truth a, d, b, r, c: F = r 10, a 7, ... -> a.
    result = evaluate(Adapter.from_graph(HAND, OBSERVED), P, TRUTH)
    assert (result.constant, result.constant_from) == ("a", "the truth itself")
    # Truth a, d, b, r: F = r 1+4+1+0 = 6, a 0+1+4+1 = 6: tied, r comes first.
    assert evaluate(Adapter.from_graph(HAND, OBSERVED), P[:4], TRUTH[:4]).constant == "r"


def test_columns_bound_in_another_order_give_the_same_report():
    plain = Adapter.from_graph(HAND, OBSERVED)
    bound = Adapter(plain.bundle, ["b", "c", "d"])
    assert evaluate(bound, np.array(P)[:, [2, 0, 1]], TRUTH) == evaluate(plain, P, TRUTH)


@pytest.mark.parametrize("metric", ["tree", "graph"])
def test_working_in_small_pieces_changes_nothing(metric, monkeypatch):
    rng = np.random.default_rng(7)
    graph = LabelGraph.from_edges([(f"v{i}", f"v{int(rng.integers(0, i))}") for i in range(1, 40)])
    space = metric_space(graph, metric)
    weights = rng.integers(0, 5, (60, 6)) + 1
    truth = [graph.keys[i] for i in rng.integers(0, 40, 60)]
    observed = [graph.keys[i] for i in (3, 30, 11, 8, 25, 39)]
    whole = evaluate(space, weights, truth, observed=observed)
    monkeypatch.setattr(pairdistances, "_SOURCES_AT_ONCE", 2)
    monkeypatch.setattr(gate, "_ROWS_AT_ONCE", 11)
    monkeypatch.setattr(baselines_module, "_SOURCES_AT_ONCE", 3)
    monkeypatch.setattr(gate, "_ROWS_AT_ONCE", 7)
    assert evaluate(space, weights, truth, observed=observed) == whole


@pytest.mark.parametrize(("gap", "distance"), [(1e-13, 1.0), (1e-9, 0.0)])
def test_argmax_ties_within_the_constant_of_the_tie_rule(gap, distance):
    """c stands before d: it wins while its share is less by no more than a relative 1e-12."""
    graph = LabelGraph.from_edges([("c", "r"), ("d", "c")])
    result = evaluate(metric_space(graph), [[1.0, 1.0 - gap]], ["d"], observed=["d", "c"])
    assert result["argmax"].all.mean_distance == distance


def test_report_as_json_and_as_text():
    result = evaluate(Adapter.from_graph(HAND, OBSERVED), P, TRUTH, train_truth=TRAIN)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["rules"]["frechet_mean"]["all"]["mean_squared_distance"] == 2.6
    assert document["unit"] == "edge-weight units"
    lines = result.render().splitlines()
    assert lines[0].startswith(
        "5 samples (3 with an observed truth, 2 without), 5 labels, 3 observed, diameter 3"
    )
    assert lines[1] == "Errors:"
    assert lines[3].split() == ["frechet_mean", "2.6", "0.2889", "1.4", "0.2", "3", "2"]
    assert [line.split()[0] for line in lines[3:9]] == list(RULES)
    assert "constant: 'a', the Fréchet mean of the training labels" in lines
    assert str(result) == result.render()
    assert repr(result).startswith("Evaluation('too little to tell', n_samples=5, frechet_mean=2.6, argmax=")
    with pytest.raises(InputError, match="rule: 'best' given; choose one of frechet_mean"):
        result["best"]


@pytest.mark.parametrize("labels", ["all", "leaves", ["d", "b", "c", "r"]])
def test_an_adapter_of_a_graph_knows_its_space(labels):
    """On a graph that is no tree: as with the space that it was made of, in evaluation and in calibration."""
    graph = LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "a"), ("d", "a"), ("d", "b")])
    adapter = Adapter.from_graph(graph, OBSERVED, labels=labels, outputs="logits")
    assert adapter.space is None
    truth = ["d", "c", "c", "d"]
    given = Adapter(adapter.bundle, outputs="logits")
    space = metric_space(graph, "graph", labels)
    assert evaluate(adapter, P[:4], truth) == evaluate(given, P[:4], truth, space=space)
    found = fit_temperature(P[:4], truth, by="squared_distance", adapter=adapter)
    assert found == fit_temperature(P[:4], truth, by="squared_distance", adapter=given, space=space)
    with pytest.raises(SpaceError, match="give the space that it was built from"):
        evaluate(pickle.loads(pickle.dumps(adapter)), P[:4], truth)


def test_what_a_smaller_error_was_paid_with_is_said():
    """Sure where the truth is left or right, wrongly so once; unsure where it is between them."""
    line = LabelGraph.from_edges([("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")])
    adapter = Adapter.from_graph(line, ["a", "e"])
    weights = np.array([[1.0, 0.0], [0.7, 0.3], [0.5, 0.5]] * 20)
    said = evaluate(adapter, weights, ["a", "a", "c"] * 20).render()
    assert "accuracy falls" not in said
    assert (
        "the price, compared with argmax: where the truth is observed, in 66.7 % of the samples, E[d²] rises "
        "from 0 to 0.5 squared edge-weight units; the gain comes from the other samples"
    ) in said
    said = evaluate(adapter, weights, ["a", "a", "d"] * 20).render()
    assert (
        "the price, compared with argmax: accuracy falls from 66.7 % to 33.3 %, because the mean hedges"
        in said
    )
    assert "the price" not in evaluate(adapter, weights, ["a", "a", "b"] * 20).render()
    shift = np.linspace(0, 0.02, 60)[:, None] * [1, -1]  # no sample is a copy of another
    first = evaluate(
        adapter, np.array([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]] * 20) + shift, ["a", "e", "c"] * 20
    )
    assert first.verdict.answer == "calibrate first"
    assert "--outputs log_probabilities --temperature" in first.render()


def test_parts_without_samples_have_no_means():
    result = evaluate(Adapter.from_graph(HAND, OBSERVED), P[:1], TRUTH[:1])
    assert result["frechet_mean"].observed.n == 0
    assert result["frechet_mean"].observed.mean_squared_distance is None
    assert " –" in result.render()
    json.dumps(result.to_dict(), allow_nan=False)


def test_on_the_complete_graph_the_mean_is_argmax_and_its_error_the_zero_one_loss():
    rng = np.random.default_rng(0)
    keys = [f"k{i}" for i in range(6)]
    weights = rng.integers(0, 4, (300, 6)) + np.eye(6, dtype=int)[rng.integers(0, 6, 300)]
    truth = [keys[i] for i in rng.integers(0, 6, 300)]
    result = evaluate(CompleteSpace(keys), weights, truth, observed=keys[::-1])
    assert result["frechet_mean"] == type(result["frechet_mean"])(
        **{**vars(result["argmax"]), "rule": "frechet_mean"}
    )
    assert result["frechet_mean"].all.mean_squared_distance == pytest.approx(
        1 - result["frechet_mean"].all.accuracy
    )


@given(
    seed=st.integers(0, 100_000),
    n=st.integers(2, 20),
    extra=st.integers(0, 4),
    metric=st.sampled_from(["tree", "graph"]),
    leaves=st.booleans(),
)
def test_every_rule_equals_its_definition(seed, n, extra, metric, leaves):
    draw = random.Random(seed)
    pairs = [(f"v{i}", f"v{draw.randrange(i)}") for i in range(1, n)]
    pairs += [tuple(f"v{i}" for i in sorted(draw.sample(range(n), 2), reverse=True)) for _ in range(extra)]
    graph = LabelGraph.from_edges(pairs)
    space = metric_space(graph, metric, "leaves" if leaves else "all")
    whole = metric_space(graph, metric)
    d = {
        (a, b): int(x)
        for a, row in zip(whole.keys, whole.distances(), strict=True)
        for b, x in zip(whole.keys, row, strict=True)
    }
    allowed = list(space.keys)
    observed = draw.sample(list(graph.keys), draw.randint(1, min(5, n)))
    rows = [[draw.randint(0, 5) for _ in observed] for _ in range(draw.randint(1, 6))]
    rows = [row if any(row) else [1] * len(row) for row in rows]
    truth = [draw.choice(allowed) for _ in rows]
    train = [draw.choice(list(graph.keys)) for _ in range(draw.randint(1, 9))]

    def best(candidates, row, power):
        return min(
            candidates, key=lambda y: sum(w * d[y, o] ** power for w, o in zip(row, observed, strict=True))
        )

    canonical = [k for k in graph.keys if k in observed]
    inside = [k for k in allowed if k in observed]
    expected = {
        "frechet_mean": [best(allowed, row, 2) for row in rows],
        "argmax": [max(canonical, key=lambda o: row[observed.index(o)]) for row in rows],
        "constant": [min(allowed, key=lambda y: sum(d[y, t] ** 2 for t in train))] * len(rows),
        "nearest_observed": [min(observed, key=lambda o: d[t, o]) for t in truth],
    }
    if inside:
        expected["observed_only"] = [best(inside, row, 2) for row in rows]
        expected["crm"] = [best(inside, row, 1) for row in rows]
    result = evaluate(space, rows, truth, observed=observed, train_truth=train)
    assert {r.rule for r in result.rules} == expected.keys()
    assert any("not allowed" in note for note in result.notes) == (len(inside) < len(observed))
    for rule, answers in expected.items():
        far = [d[t, y] for t, y in zip(truth, answers, strict=True)]
        assert result[rule].all.mean_squared_distance == pytest.approx(
            sum(x * x for x in far) / len(far), rel=1e-15
        )
        assert result[rule].all.accuracy == pytest.approx(far.count(0) / len(far), rel=1e-15)
        assert sum(result[rule].severity) == len(far)
        assert sum(result[rule].severity[x] for x in set(far)) == len(far)


def test_expected_distances_over_too_many_labels_are_left_out_and_said_so(monkeypatch):
    monkeypatch.setattr(baselines_module, "_CRM_ENTRIES", 8)
    result = evaluate(Adapter.from_graph(HAND, OBSERVED), P, TRUTH)
    assert "crm" not in {rule.rule for rule in result.rules}
    assert any("crm is left out: it would measure 3 x 3 distances" in note for note in result.notes)
    monkeypatch.setattr(baselines_module, "_CRM_ENTRIES", 9)
    assert "crm" in {rule.rule for rule in evaluate(Adapter.from_graph(HAND, OBSERVED), P, TRUTH).rules}


def test_weighted_distances_fall_into_equal_bins():
    graph = LabelGraph.from_edges([("a", "r"), ("b", "r")], weights=[0.3, 1.0])
    result = evaluate(Adapter.from_graph(graph, ["a", "b"]), [[1, 0], [0, 1]], ["b", "b"])
    assert len(result.severity_edges) == 21
    assert result.severity_edges[-1] == result.diameter == 1.3
    assert result["argmax"].severity == (1, *[0] * 18, 1)


def test_one_label_has_no_normalized_error():
    graph = LabelGraph.from_edges([("a", "r")])
    result = evaluate(metric_space(graph, labels=["a"]), [[1.0]], ["a"], observed=["r"])
    assert result["frechet_mean"].all.normalized is None
    assert result["argmax"].all.mean_squared_distance == 1.0
    assert [r.rule for r in result.rules] == ["frechet_mean", "argmax", "constant", "nearest_observed"]
    assert "left out" in result.notes[0]


def test_truth_outside_the_allowed_labels_is_named_by_row():
    adapter = Adapter.from_graph(HAND, OBSERVED, labels="leaves")
    with pytest.raises(
        UnknownLabelError,
        match=r"2 of 5 rows have a known label that is not among .*: row 0 'a', row 3 'a'; leave",
    ):
        evaluate(adapter, P, ["a", "d", "b", "a", "c"])


def test_truth_that_is_unknown_is_told_from_labels_that_are_not_allowed():
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    adapter = Adapter.from_graph(graph, ["oak", "elm"], labels="leaves")
    rows = [[1, 0]] * 4
    with pytest.raises(UnknownLabelError) as said:
        evaluate(adapter, rows, ["tree", "elmm", "elmm", "shrub"])
    assert str(said.value).splitlines() == [
        "truth: 2 labels cannot be found (by key):",
        "  row 1 'elmm' is unknown; close to it: 'elm'",
        "  row 3 'shrub' is unknown; nothing is close to it",
        "name labels by key, or leave these samples out",
    ]
    with pytest.raises(UnknownLabelError, match=r"class indices: \[classes\[i\] for i in truth\]"):
        evaluate(adapter, rows, ["0", "1", "1", "0"])


def test_numbers_for_truths_are_told_what_they_may_be():
    with pytest.raises(
        InputError, match=r"class indices: \[classes\[i\] for i in truth\].*str\(key\) for key"
    ):
        evaluate(Adapter.from_graph(HAND, OBSERVED), P, [0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a: evaluate(a, P, TRUTH[:3]), InputError, "3 labels for 5 rows"),
        (lambda a: evaluate(a, np.empty((0, 3)), []), InputError, "at least one"),
        (lambda a: evaluate(a, P, "adbrc"), InputError, "single string"),
        (lambda a: evaluate(a, P, [0, 1, 2, 3, 4]), InputError, "row 0 is 0 of type int"),
        (lambda a: evaluate(a, P, TRUTH, observed=OBSERVED), InputError, "leave out observed"),
        (lambda a: evaluate(a, P, TRUTH, train_truth=[]), InputError, "train_truth"),
        (lambda a: evaluate(a, P, TRUTH, train_truth=["x"]), UnknownLabelError, "'x'"),
        (lambda a: evaluate(a, np.array(P) - 10, TRUTH), WeightError, "softmax"),
        (lambda a: evaluate(a, np.array(P)[:, :2], TRUTH), WeightError, "2 columns given"),
        (lambda a: evaluate(a, [[1, 2, 3], [4]], TRUTH), WeightError, "different lengths"),
        (lambda a: evaluate(metric_space(HAND), P, TRUTH), InputError, "observed"),
        (
            lambda a: evaluate(a, P, TRUTH, space=metric_space(HAND, labels="leaves")),
            SpaceError,
            "does not have",
        ),
        (
            lambda a: evaluate(a, P, TRUTH, space=metric_space(HAND, metric="graph")),
            SpaceError,
            "kind 'graph'",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(Adapter.from_graph(HAND, OBSERVED))


def test_a_block_asks_for_its_space():
    adapter = Adapter(build_bundle(HAND, OBSERVED, metric="graph"))
    with pytest.raises(SpaceError, match=r"space=metric_space\(graph, metric='graph', labels='all'\)"):
        evaluate(adapter, P, TRUTH)
    narrow = MatrixSpace(metric_space(HAND).distances(None, [2, 3, 4]), HAND.keys, OBSERVED)
    adapter = Adapter(build_bundle(narrow, OBSERVED, diameter=3))
    with pytest.raises(SpaceError, match="no column for some answers"):
        evaluate(adapter, P, TRUTH, space=narrow, train_truth=TRAIN)
