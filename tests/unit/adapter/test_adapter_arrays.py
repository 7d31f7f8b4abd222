"""Arrays of any library come back as answers in the same library; bad rows are refused there, too."""

import importlib
import sys

import array_api_strict as strict
import numpy as np
import pytest

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.adapter.engines import arrays as module
from labelgrove.adapter.engines.arrays import ArrayAdapter
from labelgrove.adapter.engines.tables import TreeTable, decide, table_of
from labelgrove.datasets.randomgraphs import random_tree
from labelgrove.ontology.errors import InputError, MissingExtraError, WeightError
from labelgrove.ontology.geometry import CompleteSpace
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])


def adapters(n=300, k=20):
    graph = random_tree(n, seed=3)
    observed = [graph.keys[i] for i in range(0, n, n // k)]
    return {
        "tree": Adapter.from_graph(graph, observed),
        "leaves": Adapter.from_graph(graph, observed, labels="leaves"),
        "block": Adapter.from_graph(graph, observed, metric="graph"),
        "complete": Adapter(build_bundle(CompleteSpace(graph.keys), observed)),
    }


@pytest.mark.parametrize("kind", ["tree", "leaves", "block", "complete"])
def test_batches_do_not_change_the_answer(kind, monkeypatch):
    adapter = adapters()[kind]
    rows = np.random.default_rng(0).integers(0, 3, (500, adapter.n_observed)) + np.eye(
        500, adapter.n_observed
    )
    expected = adapter.predict_indices(rows)
    monkeypatch.setattr(module, "_ROW_ENTRIES", 40 * 4 * 300)
    monkeypatch.setattr(module, "_PAIR_ENTRIES", 500)
    monkeypatch.setattr("labelgrove.adapter.engines.tables._BLOCK_ENTRIES", 333)
    found = ArrayAdapter(adapter).predict_indices(strict.asarray(rows))
    assert np.asarray(found).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["tree", "leaves", "block", "complete", "few labels"])
def test_no_batch_holds_more_weights_than_it_may(kind, monkeypatch):
    made = adapters()
    block = made["block"]
    made["few labels"] = Adapter.from_graph(
        random_tree(300, seed=3), block.observed, metric="graph", labels=[block.keys[1], block.keys[2]]
    )
    adapter = made[kind]
    sizes = []

    def decided(xp, table, weights, *rest):
        sizes.append(weights.size)
        return decide(xp, table, weights, *rest)

    monkeypatch.setattr(module, "decide", decided)
    monkeypatch.setattr(module, "_ROW_ENTRIES", 40 * 4 * 300)
    ArrayAdapter(adapter).predict_indices(np.ones((20_000, adapter.n_observed)))
    assert sum(sizes) == 20_000 * adapter.n_observed
    assert max(sizes) <= 40 * 4 * 300


@pytest.mark.parametrize("kind", ["tree", "leaves", "block", "complete"])
def test_decision_function_equals_that_of_the_adapter(kind):
    adapter = adapters()[kind]
    rows = np.random.default_rng(1).integers(0, 9, (30, adapter.n_observed))
    found = ArrayAdapter(adapter).decision_function(strict.asarray(rows))
    assert found.dtype == strict.float64
    assert (np.asarray(found) == adapter.decision_function(rows)).all()


@pytest.mark.parametrize("outputs", ["logits", "log_probabilities"])
def test_logits_and_their_temperature_are_those_of_the_adapter(outputs):
    logs = np.log(np.random.default_rng(2).dirichlet([0.2] * 3, 400) + 1e-300)
    adapter = Adapter(build_bundle(TREE, ["oak", "moss", "elm"]), outputs=outputs, temperature=2.0)
    logs = np.minimum(logs, 0) if outputs == "log_probabilities" else logs + 1000
    found = ArrayAdapter(adapter).predict_indices(strict.asarray(logs))
    assert np.asarray(found).tolist() == adapter.predict_indices(logs).tolist()


def test_one_row_and_no_row():
    arrays = ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"]))
    assert arrays.predict_indices(strict.asarray([1.0, 0.0])).shape == (1,)
    assert arrays.predict_indices(strict.zeros((0, 2))).shape == (0,)


def test_what_running_sums_cannot_tell_apart_is_settled_by_the_plain_sum():
    """Far from the hull's first vertex, variances are tiny beside the rounding of running sums."""
    n = 1000
    path = LabelGraph.from_edges([(f"v{i:03d}", f"v{i - 1:03d}") for i in range(1, n)])
    adapter = Adapter.from_graph(path, ["v000", "v998", "v999"])
    shares = np.random.default_rng(4).random(300)
    even = np.stack([0 * shares, shares, shares], axis=1)
    uneven = even * [0, 1, 1 + 1e-10]  # no tie: a hundred times the tolerance apart
    for rows, expected in ((even, 998), (uneven, 999), (even * [0, 1, 1 + 1e-14], 998)):
        assert adapter.predict_indices(rows).tolist() == [expected] * 300
        assert ArrayAdapter(adapter).predict_indices(rows).tolist() == [expected] * 300


@pytest.mark.parametrize("labels", ["all", "leaves"])
def test_lengths_of_any_size(labels):
    """Fractions that float64 cannot hold, and edges a million million times longer than others."""
    for seed in range(25):
        draw = np.random.default_rng(seed)
        n = int(draw.integers(3, 40))
        pairs = [(f"v{i:02d}", f"v{draw.integers(i):02d}") for i in range(1, n)]
        lengths = draw.choice([1e-7, 0.1, 0.2, 0.3, 2.5, 1e5], n - 1)
        graph = LabelGraph.from_edges(pairs, weights=lengths.tolist())
        observed = [graph.keys[int(i)] for i in draw.permutation(n)[: draw.integers(1, 10)]]
        adapter = Adapter.from_graph(graph, observed, labels=labels)
        rows = draw.integers(0, 4, (60, len(observed))) * 0.1
        rows = rows[rows.any(axis=1)]
        assert ArrayAdapter(adapter).predict_indices(rows).tolist() == adapter.predict_indices(rows).tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_bad_rows_are_named(bad, monkeypatch):
    monkeypatch.setattr(module, "_ROW_ENTRIES", 1)  # rows are counted over all batches
    arrays = ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"]))
    rows = np.ones((5, 2))
    rows[3, 1] = bad
    for call in (arrays.predict_indices, arrays.decision_function):
        with pytest.raises(WeightError, match=rf"row 3, column 1 \('moss'\) holds {bad}; a row must have"):
            call(strict.asarray(rows))
    with pytest.raises(WeightError, match=r"row 0 sums to 0.0 \(and 6 more of rows 0 to 6\); "):
        arrays.decision_function(strict.zeros((7, 2)))


def test_what_is_no_array_of_the_right_shape_is_refused():
    arrays = ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"]))
    with pytest.raises(InputError, match="list given"):
        arrays.predict_indices([[1.0, 0.0]])
    with pytest.raises(WeightError, match=r"3 columns given, expected 2.*oak, moss"):
        arrays.predict_indices(strict.ones((2, 3)))
    with pytest.raises(WeightError, match="complex128"):
        arrays.predict_indices(strict.ones((2, 2), dtype=strict.complex128))
    with pytest.raises(InputError, match="beta: the adapter has 1"):
        ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"], beta=1))


def test_too_many_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_VALUES", 9)
    arrays = ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"]))
    with pytest.raises(InputError, match="2 rows x 5 labels make more than 9 numbers; pass at most 1 rows"):
        arrays.decision_function(strict.ones((2, 2)))


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(MissingExtraError, match=r"'array-api-compat'.*\[arrays\]"):
        ArrayAdapter(Adapter.from_graph(TREE, ["oak", "moss"]))


@pytest.mark.parametrize("package", ["torch", "onnx"])
def test_a_missing_framework_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"adapter.{package}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*\[{package}\]"):
        importlib.import_module(f"adapter.{package}")


def test_a_tree_takes_no_matrix():
    table = table_of(adapters(3000, 500)["tree"])
    assert isinstance(table, TreeTable)
    held = sum(getattr(table, name).size for name in table.__dataclass_fields__)
    assert held < 20 * 3000 + 12 * 500
