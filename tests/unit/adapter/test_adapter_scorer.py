"""The adapter answers with the Fréchet mean, whatever the bundle, the order of columns and the dtype."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.adapter import Adapter
from labelgrove.adapter import scorer as scorer_module
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.outputs import gate
from labelgrove.ontology.errors import BindingError, InputError, UnknownLabelError, WeightError
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def random_graph(seed, n, extra):
    """A tree of n labels, and `extra` edges more."""
    draw = random.Random(seed)
    pairs = [(f"v{i}", f"v{draw.randrange(i)}") for i in range(1, n)]
    pairs += [tuple(f"v{i}" for i in sorted(draw.sample(range(n), 2), reverse=True)) for _ in range(extra)]
    return LabelGraph.from_edges(pairs, weights=None)


def oracle(graph, metric, labels, observed, row):
    """Integer Fréchet variances of the allowed labels by the definition, and the first of the smallest."""
    space = metric_space(graph, metric, labels)
    points = space.point_index(observed)
    distances = space.distances(None, points).astype(object)
    totals = [sum(int(w) * int(d) ** 2 for w, d in zip(row, line, strict=True)) for line in distances]
    return totals, totals.index(min(totals)), totals.count(min(totals))


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    extra=st.integers(0, 4),
    metric=st.sampled_from(["tree", "graph"]),
    leaves=st.booleans(),
    data=st.data(),
)
def test_answers_equal_the_definition_on_every_kind_of_bundle(seed, n, extra, metric, leaves, data):
    graph = random_graph(seed, n, extra)
    labels = "leaves" if leaves else "all"
    observed = data.draw(st.lists(st.sampled_from(list(graph.keys)), min_size=1, max_size=5, unique=True))
    rows = data.draw(
        st.lists(
            st.lists(st.integers(0, 6), min_size=len(observed), max_size=len(observed)).filter(any),
            min_size=1,
            max_size=4,
        )
    )
    adapter = Adapter.from_graph(graph, observed, metric=metric, labels=labels)
    k = data.draw(st.integers(1, adapter.n_labels))
    ranking = adapter.top_k(rows, k)
    decision = adapter.decision_function(rows)
    for i, row in enumerate(rows):
        totals, first, n_tied = oracle(graph, metric, labels, observed, row)
        assert adapter.predict_indices(rows)[i] == ranking.indices[i, 0] == first
        assert adapter.predict(rows)[i] == adapter.keys[first] == ranking.keys[i][0]
        assert ranking.n_tied[i] == n_tied
        assert ranking.values[i].tolist() == sorted(totals)[:k]
        assert [totals[j] for j in ranking.indices[i]] == sorted(totals)[:k]
        assert (-decision[i]).tolist() == totals


def test_a_bundle_from_disk_scores_like_the_one_in_memory(tmp_path):
    rng = np.random.default_rng(3)
    P = rng.random((50, 3))
    for graph in (TREE, LabelGraph.grid((4, 4)), LabelGraph.complete(6)):
        bundle = build_bundle(graph, [graph.keys[i] for i in (4, 0, 2)])
        bundle.save(tmp_path / "b.safetensors")
        loaded = Adapter.load(tmp_path / "b.safetensors")
        assert loaded.digest == bundle.digest
        assert loaded.predict(P) == Adapter(bundle).predict(P)
        assert (loaded.top_k(P, 3).values == Adapter(bundle).top_k(P, 3).values).all()


@pytest.mark.parametrize("graph", [TREE, LabelGraph.grid((3, 3))], ids=["tree", "grid"])
def test_columns_may_come_in_any_order(graph):
    observed = [graph.keys[i] for i in (0, 2, 3, 4)]
    P = np.random.default_rng(0).random((40, 4))
    plain = Adapter.from_graph(graph, observed)
    shuffle = np.array([2, 0, 3, 1])
    bound = Adapter(plain.bundle, [observed[i] for i in shuffle])
    assert bound.observed == tuple(observed[i] for i in shuffle)
    assert bound.predict(P[:, shuffle]) == plain.predict(P)
    one, other = bound.top_k(P[:, shuffle], 3), plain.top_k(P, 3)
    assert one.values.tobytes() == other.values.tobytes()
    assert bound.decision_function(P[:, shuffle]).tobytes() == plain.decision_function(P).tobytes()


def test_columns_bind_by_name():
    graph = LabelGraph.from_edges([("n1", "n0"), ("n2", "n0")], names={"n1": "oak", "n2": "elm"})
    adapter = Adapter(build_bundle(graph, ["n1", "n2"]), ["elm", "oak"])
    assert adapter.observed == ("n2", "n1")
    assert adapter.predict([[1.0, 0.0]]) == ["n2"]
    assert list(adapter.names) == ["n0", "oak", "elm"]
    with pytest.raises(BindingError, match="no column stands for"):
        Adapter(build_bundle(graph, ["n1", "n2"]), ["elm"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.uint8, ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtype_and_memory_order_do_not_matter(dtype, order):
    P = np.asarray(
        np.random.default_rng(1).integers(0, 2, (30, 3)) + np.eye(3)[np.arange(30) % 3] > 0, dtype=dtype
    )
    adapter = Adapter.from_graph(TREE, ["oak", "elm", "moss"])
    expected = adapter.predict(P.astype(np.float64).tolist())
    given_array = np.array(P, order=order)
    assert adapter.predict(given_array) == expected
    assert adapter.predict(np.repeat(given_array, 2, axis=0)[::2]) == expected


def test_scaling_a_row_changes_no_answer():
    P = np.random.default_rng(5).random((30, 3))
    adapter = Adapter.from_graph(TREE, ["oak", "elm", "moss"])
    assert adapter.predict(P * 1000) == adapter.predict(P)


def test_one_row_and_no_rows():
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    assert adapter.predict([1.0, 0.0]) == ["oak"]
    assert adapter.predict(np.empty((0, 2))) == []
    assert adapter.predict(np.empty((0, 2)), candidates=[]) == []  # a set for each row
    assert adapter.top_k(np.empty((0, 2)), 2).keys == ()
    assert adapter.decision_function(np.empty((0, 2))).shape == (0, 5)


def test_chunks_change_nothing(monkeypatch):
    P = np.random.default_rng(2).random((25, 3))
    adapter = Adapter.from_graph(TREE, ["oak", "elm", "moss"])
    whole = adapter.top_k(P, 2), adapter.decision_function(P)
    monkeypatch.setattr(gate, "_ROWS_AT_ONCE", 4)
    parts = adapter.top_k(P, 2), adapter.decision_function(P)
    assert parts[0].keys == whole[0].keys
    assert (parts[0].values == whole[0].values).all()
    assert (parts[0].n_tied == whole[0].n_tied).all()
    assert np.allclose(parts[1], whole[1], rtol=1e-14, atol=0)


def test_threads_may_share_an_adapter():
    P = np.random.default_rng(4).random((400, 3))
    for graph in (TREE, LabelGraph.grid((5, 5))):
        adapter = Adapter.from_graph(graph, [graph.keys[i] for i in (0, 2, 4)])
        expected = adapter.predict(P)
        with ThreadPoolExecutor(8) as pool:
            assert all(found == expected for found in pool.map(adapter.predict, [P] * 32))


def test_decision_function_of_candidates_in_their_order():
    P = np.random.default_rng(6).random((5, 2))
    for graph in (TREE, LabelGraph.grid((3, 3))):
        adapter = Adapter.from_graph(graph, [graph.keys[0], graph.keys[4]])
        chosen = [graph.keys[3], graph.keys[1]]
        columns = adapter.keys.indices(chosen)
        found = adapter.decision_function(P, candidates=chosen)
        assert np.allclose(found, adapter.decision_function(P)[:, columns], rtol=1e-14)
    with pytest.raises(UnknownLabelError):
        adapter.decision_function(P, candidates=["nowhere"])
    with pytest.raises(InputError, match="single string"):
        adapter.decision_function(P, candidates="0,0")
    with pytest.raises(InputError, match="at least one"):
        adapter.decision_function(P, candidates=[])


def test_decision_function_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(scorer_module, "MAX_VALUES", 20)
    adapter = Adapter.from_graph(TREE, ["oak", "moss"])
    assert adapter.decision_function(np.ones((4, 2))).shape == (4, 5)
    with pytest.raises(InputError, match="5 rows x 5 labels make more than 20 numbers; pass at most 4 rows"):
        adapter.decision_function(np.ones((5, 2)))
    assert adapter.decision_function(np.ones((5, 2)), candidates=["oak"]).shape == (5, 1)


def test_no_negative_zero():
    decision = Adapter.from_graph(TREE, ["oak"]).decision_function([[1.0]])
    assert not np.signbit(decision[decision == 0]).any()


@pytest.mark.parametrize("k", [0, 6, -1, 1.0, True, "2"])
def test_k_out_of_range_is_refused(k):
    with pytest.raises(InputError, match="from 1 to 5"):
        Adapter.from_graph(TREE, ["oak", "moss"]).top_k([[0.5, 0.5]], k)


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (np.nan, "holds nan"),
        (np.inf, "holds inf.*finite"),
        (-0.5, "holds -0.5.*outputs='logits'"),
    ],
)
@pytest.mark.parametrize("columns", [None, ["moss", "oak"]])
def test_bad_rows_are_numbered_over_all_chunks(bad, match, columns):
    P = np.full((6000, 2), 0.5)
    P[[5001, 5007], 1] = bad
    match = rf"row 5001, column 1 \('{(columns or ['oak', 'moss'])[1]}'\) {match}"
    adapter = Adapter(build_bundle(TREE, ["oak", "moss"]), columns)
    with pytest.raises(WeightError, match=match):
        adapter.predict(P)
    with pytest.raises(WeightError, match=match):
        adapter.decision_function(P)
    with pytest.raises(WeightError, match=match):
        adapter.top_k(P, 2)


def test_rows_of_zeros_are_refused_without_talk_of_logits():
    with pytest.raises(WeightError, match=r"row 1 sums to 0.0; ") as caught:
        Adapter.from_graph(TREE, ["oak", "moss"]).predict([[1, 0], [0, 0]])
    assert "softmax" not in str(caught.value)


@pytest.mark.parametrize(
    "P", [np.ones((3, 3)), np.ones((3, 1)), np.ones(5), np.ones((2, 2, 2)), 1.0, [[1, 2], [3]]]
)
@pytest.mark.parametrize("columns", [None, ["moss", "oak"]])
def test_another_number_of_columns_is_refused(P, columns):
    adapter = Adapter(build_bundle(TREE, ["oak", "moss"]), columns)
    with pytest.raises(WeightError, match=r"^P: "):
        adapter.predict(P)


@pytest.mark.parametrize("P", [[["a", "b"]], [[1j, 2]], [[True, False]], np.array([[None, 1]], dtype=object)])
def test_what_is_no_number_is_refused(P):
    with pytest.raises(WeightError):
        Adapter.from_graph(TREE, ["oak", "moss"]).predict(P)
