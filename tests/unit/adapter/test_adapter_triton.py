"""An adapter as a model of Triton: the same answers to the last bit, and a repository that stays whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from labelgrove import Adapter, LabelGraph
from labelgrove.adapter.bundles import pretrained
from labelgrove.adapter.triton.config import OUTPUTS, After, TensorSpec
from labelgrove.adapter.triton.repository import export_triton
from labelgrove.ontology.errors import ConflictError, InputError, ServiceError
from tests.triton_models import PythonModel, Refused, read_config, run_chain

N_OBSERVED = 7
CLASSES = [f"k{i}" for i in range(16, 9, -1)]  # not in the order of the bundle


def adapter_of(metric: str = "tree", kind: str = "probabilities", temperature: float = 1.0) -> Adapter:
    rng = np.random.default_rng(0)
    pairs = [(f"k{i}", f"k{rng.integers(i)}") for i in range(1, 60)]
    graph = LabelGraph.from_edges([*pairs, ("k59", "k3")], names={f"k{i}": f"ñame {i}" for i in range(40)})
    bundle = Adapter.from_graph(graph, sorted(CLASSES), metric=metric).bundle
    return Adapter(bundle, CLASSES, outputs=kind, temperature=temperature)


def outputs_of(kind: str, n_rows: int, seed: int = 0) -> np.ndarray:
    logits = np.round(np.random.default_rng(seed).normal(size=(n_rows, N_OBSERVED)) * 3)  # with ties
    return logits if kind == "logits" else np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def check_equal(found: dict, adapter: Adapter, values: np.ndarray, k: int) -> None:
    ranking = adapter.top_k(values, k)
    assert found["index"].tobytes() == ranking.indices.tobytes()
    assert found["variance"].tobytes() == ranking.values.tobytes()
    assert found["n_tied"].ravel().tolist() == ranking.n_tied.tolist()
    assert [[one.decode() for one in row] for row in found["label"]] == [list(row) for row in ranking.keys]
    names = [[adapter.names[int(i)] for i in row] for row in ranking.indices]
    assert [[one.decode() for one in row] for row in found["name"]] == names


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
@pytest.mark.parametrize(
    ("metric", "kind", "temperature"),
    [("tree", "probabilities", 1.0), ("graph", "logits", 2.5)],
)
def test_answers_are_those_of_the_adapter(tmp_path, metric, kind, temperature, datatype, k):
    adapter = adapter_of(metric, kind, temperature)
    found = export_triton(adapter, tmp_path, "zoo~mine", k=k, datatype=datatype)
    del adapter._state  # nothing but the folder may be used
    model = PythonModel(tmp_path / "zoo~mine")
    dtype = {"FP16": np.float16, "FP32": np.float32, "FP64": np.float64}[datatype]
    batches = [outputs_of(kind, n, seed=n).astype(dtype) for n in (1, 50, 7)]
    for answers, values in zip(model.infer(*batches), batches, strict=True):
        check_equal(answers, adapter_of(metric, kind, temperature), values, k)
    assert found.folder == tmp_path / "zoo~mine" / "1"


def test_only_the_outputs_that_a_request_names_are_answered(tmp_path):
    export_triton(adapter_of(), tmp_path, "mine")
    (found,) = PythonModel(tmp_path / "mine").infer(
        outputs_of("probabilities", 2).astype(np.float32), wanted=["variance", "label"]
    )
    assert found.keys() == {"variance", "label"}


def test_a_wrong_row_refuses_its_own_request_alone(tmp_path):
    export_triton(adapter_of(), tmp_path, "mine")
    good = outputs_of("probabilities", 3).astype(np.float32)
    bad = good.copy()
    bad[1, 2] = np.nan
    first, refused, last = PythonModel(tmp_path / "mine").infer(good, bad, good)
    check_equal(first, adapter_of(), good, 1)
    check_equal(last, adapter_of(), good, 1)
    assert isinstance(refused, Refused)
    assert refused.args[0] == "INVALID_ARG"
    assert "row 1" in refused.args[1]


def test_the_configuration_is_what_triton_reads(tmp_path):
    export_triton(adapter_of(kind="logits"), tmp_path, "mine", k=2, datatype="FP64", max_batch_size=17)
    config = read_config(tmp_path / "mine")
    assert config["input"] == [{"name": "logits", "data_type": "TYPE_FP64", "dims": [str(N_OBSERVED)]}]
    assert {one["name"]: (one["data_type"], one["dims"]) for one in config["output"]} == {
        name: (f"TYPE_{kind}", ["1" if name == "n_tied" else "2"]) for name, kind in OUTPUTS.items()
    }
    assert config["max_batch_size"] == 17
    assert config["dynamic_batching"] == {}
    assert config["instance_group"] == [{"kind": "KIND_CPU", "count": 1}]


def test_a_chain_answers_what_the_model_before_it_says(tmp_path):
    weights = np.random.default_rng(1).normal(size=(4, N_OBSERVED)).astype(np.float32)
    after = After("net", "logits", (TensorSpec("label_like", "FP32", (4,)), TensorSpec("bias", "FP32", (1,))))
    found = export_triton(adapter_of(kind="logits"), tmp_path, "mine", k=2, after=after)
    assert found.chain == "net~mine"
    model = PythonModel(tmp_path / "mine")
    features, bias = (
        np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32),
        np.ones((5, 1), np.float32),
    )
    logits = features @ weights + bias
    answers = run_chain(
        tmp_path / "net~mine",
        {
            "net": lambda label_like, bias: {"logits": label_like @ weights + bias},
            "mine": lambda logits: model.infer(logits)[0],
        },
        label_like=features,
        bias=bias,
    )
    check_equal(answers, adapter_of(kind="logits"), logits, 2)
    of_chain, of_model = read_config(tmp_path / "net~mine"), read_config(tmp_path / "mine")
    assert of_chain["output"] == of_model["output"]
    assert of_chain["max_batch_size"] == of_model["max_batch_size"]


def test_an_export_that_is_there_is_done_and_a_new_version_is_served(tmp_path):
    assert export_triton(adapter_of(), tmp_path, "mine").new
    before = files_of(tmp_path)
    assert not export_triton(adapter_of(), tmp_path, "mine").new
    assert files_of(tmp_path) == before
    newer = adapter_of(metric="graph")
    assert export_triton(newer, tmp_path, "mine", version=2).new
    assert before.items() <= files_of(tmp_path).items()
    values = outputs_of("probabilities", 9).astype(np.float32)
    check_equal(PythonModel(tmp_path / "mine").infer(values)[0], newer, values, 1)
    check_equal(PythonModel(tmp_path / "mine", 1).infer(values)[0], adapter_of(), values, 1)


@pytest.mark.parametrize(
    ("arguments", "changed", "said"),
    [
        ({}, {"kind": "probabilities"}, "config.pbtxt: exists and says something other"),
        ({"k": 2}, {}, "config.pbtxt: exists and says something other"),
        ({}, {"metric": "graph"}, "1: exists and is not this export"),
        ({}, {"temperature": 2.0}, "1: exists and is not this export"),
    ],
)
def test_what_is_there_is_not_replaced(tmp_path, arguments, changed, said):
    export_triton(adapter_of(kind="logits"), tmp_path, "mine")
    before = files_of(tmp_path)
    with pytest.raises(ConflictError, match=said):
        export_triton(adapter_of(**{"kind": "logits", **changed}), tmp_path, "mine", **arguments)
    assert files_of(tmp_path) == before


def test_the_models_of_others_are_left_alone(tmp_path):
    (tmp_path / "mine" / "1").mkdir(parents=True)
    (tmp_path / "mine" / "1" / "model.onnx").write_bytes(b"theirs")
    before = files_of(tmp_path)
    with pytest.raises(ConflictError, match="was not exported here"):
        export_triton(adapter_of(), tmp_path, "mine")
    assert files_of(tmp_path) == before
    (tmp_path / "mine" / "config.pbtxt").write_text('name: "mine"')
    with pytest.raises(ConflictError, match="says something other"):
        export_triton(adapter_of(), tmp_path, "mine")


def test_a_damaged_version_is_refused_not_taken_for_the_same(tmp_path):
    found = export_triton(adapter_of(), tmp_path, "mine")
    bundle = found.folder / "adapter" / pretrained.BUNDLE_FILE
    bundle.write_bytes(bundle.read_bytes()[:-1] + b"?")
    with pytest.raises(ConflictError, match="is not this export"):
        export_triton(adapter_of(), tmp_path, "mine")


def test_a_failed_export_leaves_no_version_and_is_continued(tmp_path, monkeypatch):
    """A version appears whole or not at all; what was written before the fault does not refuse a retry."""

    def full(*_):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(pretrained, "write_whole", full)
        with pytest.raises(ServiceError, match="No space left"):
            export_triton(adapter_of(), tmp_path, "mine")
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["config.pbtxt"]
    (tmp_path / "mine" / ".tmp-of-a-killed-process").mkdir()
    assert export_triton(adapter_of(), tmp_path, "mine").new
    assert (tmp_path / "mine" / "1" / "model.py").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "../mine"}, "name: '../mine' given"),
        ({"name": ""}, "name: '' given"),
        ({"name": 'a"b'}, "name: "),
        ({"version": 0}, "version: 0 given"),
        ({"version": True}, "version: True given"),
        ({"max_batch_size": 0}, "max_batch_size: 0 given"),
        ({"datatype": "BF16"}, "datatype: 'BF16' given"),
        ({"k": 61}, "61"),
        ({"after": After("mine", "y", (TensorSpec("x", "FP32", (1,)),))}, "give another name"),
    ],
)
def test_wrong_arguments_write_nothing(tmp_path, arguments, said):
    with pytest.raises(InputError) as caught:
        export_triton(adapter_of(), tmp_path, **{"name": "mine", **arguments})
    assert said in str(caught.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("images:FP32:3,224,224", TensorSpec("images", "FP32", (3, 224, 224))),
        ("in:0:STRING:-1", TensorSpec("in:0", "STRING", (-1,))),
    ],
)
def test_inputs_are_read(text, found):
    assert TensorSpec.read(text) == found


@pytest.mark.parametrize(
    "text", ["x", "x:FP32", "x:FP33:1", "x:FP32:0", "x:FP32:", 'x":FP32:1', ":FP32:1", "x:FP32:1,"]
)
def test_inputs_that_cannot_be_read_are_refused(text):
    with pytest.raises(InputError):
        TensorSpec.read(text)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [((), "no inputs"), (("label",), "output of the chain"), (("x", "x"), "given twice")],
)
def test_inputs_of_a_chain_have_names_of_their_own(inputs, said):
    with pytest.raises(InputError, match=said):
        After("net", "y", tuple(TensorSpec(name, "FP32", (1,)) for name in inputs))
