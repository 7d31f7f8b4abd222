"""Other exponents, scores of every label, back-off, sets of labels and explanations, by their definitions."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import Adapter, Subtree
from labelgrove.adapter import scorer as scorer_module
from labelgrove.adapter.answers import batches as batches_module
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.ontology.errors import InputError, SpaceError, WeightError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
KEYS = ["plant", "moss", "tree", "elm", "oak"]


def random_graph(seed, n, extra=0):
    draw = random.Random(seed)
    pairs = [(f"v{i}", f"v{draw.randrange(i)}") for i in range(1, n)]
    pairs += [tuple(f"v{i}" for i in sorted(draw.sample(range(n), 2), reverse=True)) for _ in range(extra)]
    return LabelGraph.from_edges(pairs)


def totals_of(adapter, graph, metric, labels, row, beta=2):
    """Exact integer Fréchet variances of all allowed labels."""
    space = metric_space(graph, metric, labels)
    distances = space.distances(None, space.point_index(adapter.observed)).astype(object)
    return [sum(int(w) * int(d) ** beta for w, d in zip(row, line, strict=True)) for line in distances]


@st.composite
def problems(draw, extra=0, least=2):
    n = draw(st.integers(least, 22))
    graph = random_graph(draw(st.integers(0, 10_000)), n, extra)
    observed = draw(st.lists(st.sampled_from(list(graph.keys)), min_size=1, max_size=4, unique=True))
    row = st.lists(st.integers(0, 5), min_size=len(observed), max_size=len(observed)).filter(any)
    return graph, observed, draw(st.lists(row, min_size=1, max_size=4))


@given(
    problem=problems(extra=2, least=3),
    metric=st.sampled_from(["tree", "graph"]),
    leaves=st.booleans(),
    beta=st.sampled_from([1, 2, 3, 4]),
)
def test_any_whole_exponent_equals_exact_integers(problem, metric, leaves, beta):
    graph, observed, rows = problem
    labels = "leaves" if leaves else "all"
    adapter = Adapter.from_graph(graph, observed, metric=metric, labels=labels, beta=beta)
    found = adapter.top_k(rows, adapter.n_labels)
    decision = adapter.decision_function(rows)
    for i, row in enumerate(rows):
        totals = totals_of(adapter, graph, metric, labels, row, beta)
        ranked = sorted(range(len(totals)), key=lambda label: (totals[label], label))
        assert found.indices[i].tolist() == ranked
        assert found.values[i].tolist() == [totals[label] for label in ranked]
        assert found.n_tied[i] == totals.count(min(totals))
        assert adapter.predict_indices(row)[0] == ranked[0]
        assert (-decision[i]).tolist() == totals


def test_an_exponent_between_the_whole_ones():
    graph = random_graph(3, 200)
    observed = [graph.keys[i] for i in range(0, 200, 17)]
    adapter = Adapter.from_graph(graph, observed, beta=0.5)
    assert adapter.beta == 0.5
    P = np.random.default_rng(0).random((40, len(observed)))
    space = adapter.space
    naive = P @ (space.distances(None, space.point_index(observed)).astype(np.float64) ** 0.5).T
    assert adapter.predict_indices(P).tolist() == naive.argmin(axis=1).tolist()
    np.testing.assert_allclose(-adapter.decision_function(P), naive, rtol=1e-12)


def test_beta_two_is_the_same_to_the_last_bit_however_it_is_spelled():
    P = np.random.default_rng(1).random((50, 3))
    for graph in (random_graph(4, 60), LabelGraph.grid((4, 4))):
        observed = [graph.keys[i] for i in (3, 9, 14)]
        plain, spelled = Adapter.from_graph(graph, observed), Adapter.from_graph(graph, observed, beta=2.0)
        assert type(plain._state.scorer) is type(spelled._state.scorer)
        assert plain.top_k(P, 4).values.tobytes() == spelled.top_k(P, 4).values.tobytes()


@pytest.mark.parametrize("metric", ["tree", "graph"])
@pytest.mark.parametrize("scale", [0.25, 1.0, 1e-6])
def test_probabilities_of_all_labels_are_the_softmax_of_variances(metric, scale):
    graph = random_graph(5, 40)
    adapter = Adapter.from_graph(graph, [graph.keys[i] for i in (3, 9, 14)], metric=metric)
    P = np.random.default_rng(2).random((25, 3))
    variance = -adapter.decision_function(P) / P.sum(axis=1, keepdims=True)
    gibbs = np.exp(-(variance - variance.min(axis=1, keepdims=True)) / scale)
    expected = gibbs / gibbs.sum(axis=1, keepdims=True)
    found = adapter.predict_proba(P, scale=scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found.argmax(axis=1).tolist() == adapter.predict_indices(P).tolist()
    np.testing.assert_allclose(adapter.predict_proba(P * 100, scale=scale), expected, rtol=1e-6)
    chosen = [graph.keys[7], graph.keys[3]]
    columns = adapter.keys.indices(chosen)
    part = adapter.predict_proba(P, candidates=chosen, scale=scale)
    pair = np.exp(-(variance[:, columns] - variance[:, columns].min(axis=1, keepdims=True)) / scale)
    np.testing.assert_allclose(part, pair / pair.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_scores_of_all_labels_beyond_the_limit_take_candidates_or_an_array(method, monkeypatch, tmp_path):
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    P = np.random.default_rng(3).random((9, 2))
    whole = getattr(adapter, method)(P)
    monkeypatch.setattr(scorer_module, "MAX_VALUES", 20)
    monkeypatch.setattr(batches_module, "_VALUES_AT_ONCE", 10)
    with pytest.raises(
        InputError, match=rf"{method}: 9 rows x 5 labels make more than 20 numbers.*at most 4 rows"
    ):
        getattr(adapter, method)(P)
    assert getattr(adapter, method)(P, candidates=["oak", "elm"]).shape == (9, 2)
    for dtype in (np.float64, np.float32):
        out = np.memmap(tmp_path / np.dtype(dtype).name, dtype=dtype, mode="w+", shape=(9, 5))
        assert getattr(adapter, method)(P, out=out) is out
        np.testing.assert_allclose(out, whole, rtol=1e-6 if dtype is np.float32 else 1e-12)
    frozen = np.empty((9, 5))
    frozen.flags.writeable = False
    for wrong in (np.empty((9, 4)), np.empty((9, 5), dtype=np.int64), [[0.0]], frozen):
        with pytest.raises(InputError, match=r"out: .*float64 or float32 array of shape \(9, 5\)"):
            getattr(adapter, method)(P, out=wrong)


@pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf, "1", True])
def test_a_scale_that_is_not_positive_is_refused(scale):
    with pytest.raises(InputError, match="scale"):
        Adapter.from_graph(TREE, ["oak"]).predict_proba([[1.0]], scale=scale)


@given(problem=problems(), leaves=st.booleans(), margin=st.integers(0, 8), data=st.data())
def test_back_off_covers_exactly_what_is_within_the_margin(problem, leaves, margin, data):
    graph, observed, rows = problem
    labels = "leaves" if leaves else "all"
    adapter = Adapter.from_graph(graph, observed, metric="tree", labels=labels)
    parent = adapter.space.parent.tolist()
    points = adapter.bundle.allowed.tolist()
    some = data.draw(st.none() | st.lists(st.sampled_from(list(adapter.keys)), min_size=1, unique=True))

    def line(point):
        return [point] if parent[point] < 0 else [*line(parent[point]), point]

    found = adapter.back_off(rows, margin, candidates=some)
    among = range(adapter.n_labels) if some is None else sorted(adapter.keys.indices(some).tolist())
    for i, row in enumerate(rows):
        totals = totals_of(adapter, graph, "tree", labels, row)
        least = min(totals[label] for label in among)
        within = [label for label in among if totals[label] <= least + margin * sum(row)]
        lines = [line(points[label]) for label in within]
        shared = [steps[0] for steps in zip(*lines, strict=False) if len(set(steps)) == 1]
        assert found.points[i] == shared[-1]
        assert found.keys[i] == graph.keys[shared[-1]]
        assert found.n_within[i] == len(within)
        assert found.best[i] == adapter.predict_indices(row, candidates=some)[0]


def test_back_off_without_rows_trees_or_sense():
    adapter = Adapter.from_graph(TREE, ["oak", "elm"])
    assert adapter.back_off(np.empty((0, 2)), 0.5).keys == ()
    assert adapter.back_off(np.empty((0, 2)), 0.5).best.shape == (0,)
    for margin in (-1, np.nan, "1"):
        with pytest.raises(InputError, match="margin"):
            adapter.back_off([[1, 1]], margin)
    block = Adapter.from_graph(LabelGraph.grid((2, 2)), ["0,0"])
    with pytest.raises(SpaceError, match="metric='tree'"):
        block.back_off([[1.0]], 0.5)


@given(problem=problems(), threshold=st.sampled_from([0.2, 0.4, 0.8]), within=st.integers(0, 5))
def test_sets_answer_each_group_of_near_labels_by_itself(problem, threshold, within):
    graph, observed, rows = problem
    P = np.array(rows) / 5
    trees = Adapter.from_graph(graph, observed, metric="tree")
    block = Adapter(build_bundle(graph, observed, metric="graph"))
    space = trees.space
    found = trees.predict_sets(P, threshold=threshold, within=within)
    assert found == block.predict_sets(P, threshold=threshold, within=within)
    points = space.point_index(observed)
    near = space.distances(points, points) <= within
    for row, answer in zip(P, found, strict=True):
        waiting = {i for i, p in enumerate(row) if p >= threshold}
        expected = set()
        while waiting:
            group, grown = set(), {min(waiting)}
            while group != grown:
                group = grown
                grown = group | {j for j in waiting for i in group if near[i, j]}
            waiting -= group
            expected.add(trees.predict([[p if i in group else 0 for i, p in enumerate(row)]])[0])
        assert list(answer) == sorted(expected, key=graph.keys.index)


def test_sets_link_labels_over_others():
    line = LabelGraph.from_edges([(f"v{i}", f"v{i - 1}") for i in range(1, 12)])
    adapter = Adapter.from_graph(line, ["v6", "v2", "v4", "v0", "v11"])
    assert adapter.predict_sets([[1, 1, 1, 1, 1]], within=2) == [("v3", "v11")]
    assert adapter.predict_sets([[1, 1, 0, 1, 1]], within=2) == [("v1", "v6", "v11")]


def test_sets_read_logits_by_the_logistic_function():
    P = np.random.default_rng(4).random((50, 3))
    plain = Adapter.from_graph(TREE, ["oak", "elm", "moss"])
    logits = Adapter.from_graph(TREE, ["oak", "elm", "moss"], outputs="logits", temperature=2.0)
    logs = Adapter.from_graph(TREE, ["oak", "elm", "moss"], outputs="log_probabilities")
    expected = plain.predict_sets(P)
    assert logits.predict_sets(2.0 * np.log(P / (1 - P))) == expected
    assert logs.predict_sets(np.log(P)) == expected
    assert logits.predict_sets([[-1e9, 1e9, -np.inf]]) == [("elm",)]
    assert plain.predict_sets([[0, 0, 0], [1, 0, 0]]) == [(), ("oak",)]
    leaf = plain.predict(P[:1], candidates="leaves")[0]
    assert plain.predict_sets(P[:1], threshold=1e-9, within=9, candidates="leaves") == [(leaf,)]


@pytest.mark.parametrize(
    ("options", "row", "error", "match"),
    [
        ({"threshold": 0}, [0.5, 0.5], InputError, "threshold"),
        ({"threshold": 1.5}, [0.5, 0.5], InputError, "threshold"),
        ({"within": -1}, [0.5, 0.5], InputError, "within"),
        ({}, [1.5, 0.5], WeightError, r"row 0, column 0 \('oak'\) holds 1.5; .*above 1; .*outputs='logits'"),
        ({}, [-0.5, 0.5], WeightError, "negative"),
        ({}, [np.nan, 0.5], WeightError, "holds nan"),
    ],
)
def test_sets_refuse_what_is_no_probability(options, row, error, match):
    with pytest.raises(error, match=match):
        Adapter.from_graph(TREE, ["oak", "moss"]).predict_sets([row], **options)


def test_sets_of_a_block_need_the_distances_between_active_labels():
    adapter = Adapter(build_bundle(TREE, ["tree", "oak"], metric="graph", labels="leaves"))
    with pytest.raises(
        SpaceError, match="1 observed labels above the threshold are not allowed labels, such as 'tree'"
    ):
        adapter.predict_sets([[0.9, 0.9]])
    assert adapter.predict_sets([[0.1, 0.9]]) == [("oak",)]


@given(
    problem=problems(),
    metric=st.sampled_from(["tree", "graph"]),
    leaves=st.booleans(),
    beta=st.sampled_from([1, 2]),
)
def test_an_explanation_adds_up(problem, metric, leaves, beta):
    graph, observed, rows = problem
    labels = "leaves" if leaves else "all"
    adapter = Adapter.from_graph(graph, observed, metric=metric, labels=labels, beta=beta)
    whole = metric_space(graph, "tree")
    for row in rows:
        why = adapter.explain(row)
        ranking = adapter.top_k(row, min(2, adapter.n_labels))
        assert (why.answer, why.value, why.n_tied) == (
            ranking.keys[0][0],
            ranking.values[0, 0],
            ranking.n_tied[0],
        )
        if adapter.n_labels > 1:
            assert why.runner_up == ranking.keys[0][1]
            assert why.margin == (ranking.values[0, 1] - ranking.values[0, 0]) / sum(row)
        else:
            assert why.runner_up is why.margin is None
        assert sum(part.pull for part in why.contributions) == why.value
        assert {part.key for part in why.contributions} == {
            key for key, w in zip(observed, row, strict=True) if w
        }
        largest = [key for key, w in zip(observed, row, strict=True) if w == max(row)]
        assert why.argmax == min(largest, key=graph.keys.index)
        far = whole.distances(whole.point_index([why.argmax]), whole.point_index(observed))[0].tolist()
        if metric == "tree" or why.argmax in adapter.keys:
            assert why.argmax_value == sum(w * d**beta for w, d in zip(row, far, strict=True))
            assert sum(part.pull_at_argmax for part in why.contributions) == why.argmax_value
        else:
            assert why.argmax_value is None
            assert all(part.pull_at_argmax is None for part in why.contributions)
        if adapter.bundle.kind == "tree":
            assert (why.path[0], why.path[-1]) == (why.argmax, why.answer)
            steps = whole.point_index(why.path)
            assert len(set(why.path)) == len(why.path)
            near = [whole.distances([a], [b])[0, 0] for a, b in pairwise(steps)]
            assert near == [1] * (len(why.path) - 1)
        else:
            assert why.path == ()
        assert repr(why.answer) in str(why).splitlines()[0]


def test_an_explanation_shows_names():
    graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names={"n0": "tree", "n1": "oak"})
    why = Adapter.from_graph(graph, ["n1", "n2"]).explain([0.75, 0.25])
    assert why.names == {"n0": "tree", "n1": "oak"}
    lines = str(why).splitlines()
    assert lines[0] == "answer 'n0' (tree): variance 1, tied with 1 more"
    assert lines[1] == "argmax 'n1' (oak): variance 1"
    assert lines[2] == "runner-up 'n1' (oak): variance 1, margin 0"
    assert lines[3] == "path oak - tree"
    assert {line.split()[0] for line in lines[6:]} == {"oak", "n2"}


def test_an_explanation_in_words():
    adapter = Adapter.from_graph(TREE, ["moss", "oak", "elm"])
    shown = str(adapter.explain([0.5, 0.25, 0.25])).splitlines()
    assert shown[0] == "answer 'plant': variance 2.5, tied with 1 more"
    assert shown[1] == "argmax 'moss': variance 4.5"
    assert shown[2] == "runner-up 'tree': variance 2.5, margin 0"
    assert shown[3] == "path moss - plant"
    assert shown[4].startswith("pull: weight times distance")
    assert len(shown) == 9
    wide = LabelGraph.from_edges([(f"v{i}", "root") for i in range(20)])
    lines = str(Adapter.from_graph(wide, [f"v{i}" for i in range(20)]).explain(np.ones(20))).splitlines()
    assert lines[-1] == "and 10 more"
    with pytest.raises(WeightError, match="2 rows given; give one at a time"):
        adapter.explain([[1, 0, 0], [1, 0, 0]])
    within = adapter.explain([0.5, 0.25, 0.25], candidates=Subtree("tree"))
    assert (within.answer, within.runner_up) == ("tree", "elm")
