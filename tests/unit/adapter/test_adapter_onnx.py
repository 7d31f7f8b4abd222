"""The exported decision runs in onnxruntime, alone and behind a model, and says where it comes from."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.adapter.engines.arrays import ArrayAdapter
from labelgrove.adapter.onnx import OPSET, decision_model, export_onnx
from labelgrove.ontology.errors import BindingError, InputError
from labelgrove.ontology.labelgraph import LabelGraph

TREE = LabelGraph.from_edges(
    [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")], weights=[0.1, 0.2, 0.3, 0.7]
)
OBSERVED = ["oak", "moss", "elm"]


def session(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def classifier(opset, *, columns=3, name="scores", dtype=np.float32):
    """A linear model of two inputs with an output of its own."""
    weight = np.random.default_rng(0).normal(size=(2, columns)).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], [name]),
        helper.make_node("ReduceSum", [name, "one"], ["total"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", kind, [None, 2])],
        [
            helper.make_tensor_value_info(name, kind, [None, columns]),
            helper.make_tensor_value_info("total", kind, [None]),
        ],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(np.array([1]), "one")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model, weight


@pytest.mark.parametrize("outputs", ["logits", "log_probabilities", "probabilities"])
@pytest.mark.parametrize("metric", ["tree", "graph"])
def test_a_file_gives_the_labels_of_the_adapter(outputs, metric, tmp_path):
    bundle = build_bundle(TREE, OBSERVED, metric=metric)
    adapter = Adapter(bundle, ["elm", "oak", "moss"], outputs=outputs)
    rows = np.random.default_rng(1).dirichlet([0.3] * 3, 500)
    rows = rows if outputs == "probabilities" else np.log(rows + 1e-30)
    rows = np.minimum(rows, 0) if outputs == "log_probabilities" else rows
    export_onnx(adapter, tmp_path / "decision.onnx")
    index, label = session(onnx.load(tmp_path / "decision.onnx")).run(None, {outputs: rows})
    assert index.tolist() == adapter.predict_indices(rows).tolist()
    assert label.tolist() == adapter.predict(rows)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_graph_alone_takes_the_dtype_of_the_model_that_feeds_it(dtype):
    adapter = Adapter(build_bundle(TREE, OBSERVED))
    model = decision_model(adapter, input_dtype=dtype)
    rows = np.random.default_rng(3).dirichlet([0.5] * 3, 300).astype(dtype)
    index, _ = session(model).run(None, {"probabilities": rows})
    assert index.tolist() == adapter.predict_indices(rows).tolist()


@pytest.mark.parametrize(("outputs", "temperature"), [("logits", 0.01), ("log_probabilities", 1e-3)])
def test_a_small_temperature_overflows_nothing(outputs, temperature):
    adapter = Adapter(build_bundle(TREE, OBSERVED), outputs=outputs, temperature=temperature)
    rows = np.array([[-1e307, -2e307, -1e307], [-3.0, -1.0, -2.0]])
    index, _ = session(decision_model(adapter)).run(None, {outputs: rows})
    assert index.tolist() == adapter.predict_indices(rows).tolist()
    assert index.tolist() == ArrayAdapter(adapter).predict_indices(rows).tolist()


@pytest.mark.parametrize(("opset", "dtype"), [(13, np.float32), (18, np.float16), (21, np.float64)])
def test_a_model_keeps_its_outputs_and_gains_the_decision(opset, dtype):
    model, weight = classifier(opset, dtype=dtype)
    adapter = Adapter(build_bundle(TREE, OBSERVED), outputs="logits", temperature=0.7)
    x = np.random.default_rng(2).normal(size=(200, 2)).astype(dtype)
    before = model.SerializeToString()
    joined = decision_model(adapter, model=model)
    assert model.SerializeToString() == before
    scores, total, index, label = session(joined).run(None, {"x": x})
    np.testing.assert_allclose(scores, x @ weight, rtol=2e-2 if dtype == np.float16 else 1e-5, atol=1e-2)
    assert index.tolist() == adapter.predict_indices(scores).tolist()
    assert label.tolist() == adapter.predict(scores)
    assert len(total) == 200
    assert max(o.version for o in joined.opset_import) == max(opset, OPSET)


@pytest.mark.parametrize("opset", [13, 18, 21])
def test_a_model_may_list_its_opset_twice(opset):
    """As scikit-learn's converter does, whose model would else be converted in part."""
    model, _ = classifier(opset)
    model.opset_import.extend([helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx", opset - 1)])
    adapter = Adapter(build_bundle(TREE, OBSERVED), outputs="logits")
    joined = decision_model(adapter, model=model)
    assert [(o.domain, o.version) for o in joined.opset_import] == [("", max(opset, OPSET))]
    x = np.random.default_rng(2).normal(size=(20, 2)).astype(np.float32)
    scores, _, index, _ = session(joined).run(None, {"x": x})
    assert index.tolist() == adapter.predict_indices(scores).tolist()


def test_the_file_names_its_bundle_and_columns():
    adapter = Adapter(build_bundle(TREE, OBSERVED, ontology={"name": "plants"}))
    found = {entry.key: entry.value for entry in decision_model(adapter).metadata_props}
    assert found["labelgrove.bundle"] == adapter.digest
    assert found["labelgrove.ontology"] == "plants"
    assert found["labelgrove.ontology_digest"] == TREE.digest
    assert json.loads(found["labelgrove.observed"]) == OBSERVED


def test_a_decision_needs_only_standard_operators_of_its_opset():
    for metric in ("tree", "graph"):
        model = decision_model(Adapter(build_bundle(TREE, OBSERVED, metric=metric)))
        assert {node.domain for node in model.graph.node} == {""}
        assert [(o.domain, o.version) for o in model.opset_import] == [("", OPSET)]


def test_a_tree_is_exported_without_its_matrix():
    n = 3000
    graph = LabelGraph.from_edges([(f"v{i}", f"v{(i - 1) // 2}") for i in range(1, n)])
    observed = [f"v{i}" for i in range(n - 500, n)]
    size = decision_model(Adapter.from_graph(graph, observed)).ByteSize()
    assert size < 500_000 < n * len(observed)


@pytest.mark.parametrize("columns", [2, 3])
def test_the_output_that_feeds_the_decision_must_be_plain(columns):
    model, _ = classifier(18, columns=columns)
    adapter = Adapter(build_bundle(TREE, OBSERVED))
    with pytest.raises(BindingError, match=rf"'total'.*scores \['\?', {columns}\].*0 of them fit.*3\)"):
        decision_model(adapter, model=model, output="total")
    if columns == 2:
        with pytest.raises(BindingError, match="0 of them fit"):
            decision_model(adapter, model=model)
        return
    second = model.graph.output.add()
    second.CopyFrom(helper.make_tensor_value_info("again", TensorProto.FLOAT, [None, 3]))
    model.graph.node.append(helper.make_node("Identity", ["scores"], ["again"]))
    with pytest.raises(BindingError, match="2 of them fit; name one"):
        decision_model(adapter, model=model)
    assert decision_model(adapter, model=model, output="again").graph.output[-1].name == "frechet_label"


def mapped(classes, *, opset=9):
    """A classifier as scikit-learn's converter writes it: labels, and probabilities as maps."""
    kind = "classlabels_strings" if isinstance(classes[0], str) else "classlabels_int64s"
    key = TensorProto.STRING if isinstance(classes[0], str) else TensorProto.INT64
    rng = np.random.default_rng(4)
    linear = helper.make_node(
        "LinearClassifier",
        ["x"],
        ["output_label", "scores"],
        domain="ai.onnx.ml",
        coefficients=rng.normal(size=2 * len(classes)).astype(np.float32).tolist(),
        intercepts=[0.0] * len(classes),
        multi_class=1,
        post_transform="SOFTMAX",
        **{kind.replace("int64s", "ints"): classes},
    )
    maps = helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", **{kind: classes})
    map_type = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    graph = helper.make_graph(
        [linear, maps],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [
            helper.make_tensor_value_info("output_label", key, [None]),
            helper.make_value_info("maps", helper.make_sequence_type_proto(map_type)),
        ],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("classes", [["elm", "moss", "oak"], [0, 1, 2]])
@pytest.mark.parametrize("output", [None, "maps"])
def test_columns_are_read_before_a_zipmap_makes_them_maps(classes, output):
    adapter = Adapter(build_bundle(TREE, OBSERVED), ["elm", "moss", "oak"])
    joined = decision_model(adapter, model=mapped(classes), output=output)
    x = np.random.default_rng(5).normal(size=(100, 2)).astype(np.float32)
    _, maps, index, label = session(joined).run(None, {"x": x})
    rows = np.array([[each[name] for name in classes] for each in maps], dtype=np.float32)
    assert index.tolist() == adapter.predict_indices(rows).tolist()
    assert label.tolist() == adapter.predict(rows)


def test_a_zipmap_whose_classes_stand_in_another_order_is_refused():
    adapter = Adapter(build_bundle(TREE, OBSERVED))
    with pytest.raises(BindingError, match=r"elm, moss, oak, but .* oak, moss, elm;.*classifier.classes_"):
        decision_model(adapter, model=mapped(["elm", "moss", "oak"]))


def test_maps_of_other_classes_are_refused_with_the_line_to_write():
    adapter = Adapter(build_bundle(TREE, OBSERVED))
    with pytest.raises(BindingError, match=r"maps \(maps of 2 classes\), and 0 .*\{'zipmap': False\}"):
        decision_model(adapter, model=mapped(["elm", "oak"]))


def test_what_cannot_be_exported_is_refused():
    adapter = Adapter(build_bundle(TREE, OBSERVED))
    with pytest.raises(InputError, match=r"^dtype: 'float16'"):
        decision_model(adapter, dtype="float16")
    with pytest.raises(InputError, match=r"^input_dtype: 'int8'"):
        decision_model(adapter, input_dtype="int8")
    with pytest.raises(InputError, match=r"^input_dtype: 'float32' given with a model"):
        decision_model(adapter, model=classifier(18)[0], input_dtype="float32")
    with pytest.raises(InputError, match="beta: the adapter has 1"):
        decision_model(Adapter(build_bundle(TREE, OBSERVED), beta=1))
    joined = decision_model(adapter, model=classifier(18)[0])
    with pytest.raises(InputError, match="frechet_index"):
        decision_model(adapter, model=joined, output="scores")
