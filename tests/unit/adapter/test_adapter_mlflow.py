"""The adapter as a model of MLflow: every way of serving it answers as the adapter does, to the last bit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelgrove import Adapter, LabelGraph
from labelgrove.adapter import Subtree
from labelgrove.ontology.errors import BundleError, InputError, WeightError

pytestmark = [
    pytest.mark.mlflow,
    pytest.mark.filterwarnings("ignore:Operation with range is deprecated"),  # MLflow's, on its example
    pytest.mark.filterwarnings("ignore:.*input example was not provided:UserWarning"),
]

CLASSES = ["k16", "k11", "k12", "k13", "k14", "k15", "k10"]  # not in the order of the bundle


@pytest.fixture
def flavor(tmp_path, monkeypatch):
    """The module; MLflow writes below the test's folder, which it forgets afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database would ask for the whole of MLflow
    import mlflow

    from labelgrove.adapter import mlflow as module

    mlflow.set_tracking_uri(f"file:{tmp_path / 'runs'}")
    return module


def adapter_of(metric="tree", kind="probabilities", temperature=1.0, beta=2.0):
    rng = np.random.default_rng(0)
    pairs = [(f"k{i}", f"k{rng.integers(i)}") for i in range(1, 60)]
    graph = LabelGraph.from_edges([*pairs, ("k59", "k3")], names={f"k{i}": f"ñame {i}" for i in range(40)})
    bundle = Adapter.from_graph(graph, sorted(CLASSES), metric=metric).bundle
    return Adapter(bundle, CLASSES, outputs=kind, temperature=temperature, beta=beta)


def outputs_of(kind="probabilities", n_rows=50):
    logits = np.round(np.random.default_rng(0).normal(size=(n_rows, len(CLASSES))) * 3)  # with ties
    return logits if kind == "logits" else np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def table_of(values, columns=CLASSES):
    import pandas as pd

    return pd.DataFrame(values, columns=CLASSES)[list(columns)]


def check_equal(found, adapter, values, k=1, candidates=None):
    ranking = adapter.top_k(values, k, candidates=candidates)
    assert len(found.columns) == 4 * k + 1
    for rank in range(k):
        end = f"_{rank + 1}" if rank else ""
        assert found[f"label{end}"].tolist() == [keys[rank] for keys in ranking.keys]
        assert found[f"name{end}"].tolist() == [adapter.names[int(i)] for i in ranking.indices[:, rank]]
        assert found[f"index{end}"].tolist() == ranking.indices[:, rank].tolist()
        assert found[f"variance{end}"].to_numpy().tobytes() == ranking.values[:, rank].tobytes()
    assert found["n_tied"].tolist() == ranking.n_tied.tolist()


@pytest.mark.parametrize("metric", ["tree", "graph"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_table_is_answered_as_the_adapter_does(flavor, metric, dtype):
    import mlflow

    adapter, values = adapter_of(metric), outputs_of().astype(dtype)
    flavor.save_model(adapter, "model")
    model = mlflow.pyfunc.load_model("model")
    check_equal(model.predict(table_of(values)), adapter, values)
    check_equal(model.predict(table_of(values, sorted(CLASSES))), adapter, values)
    assert flavor.load_model("model").observed == adapter.observed


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_array_is_answered_as_the_adapter_does(flavor, dtype):
    import mlflow

    adapter, values = adapter_of(), outputs_of().astype(dtype)
    flavor.save_model(adapter, "model", array=dtype)
    model = mlflow.pyfunc.load_model("model")
    check_equal(model.predict(values), adapter, values)
    with pytest.raises(mlflow.MlflowException, match="shape"):
        model.predict(values[:, 1:])


def test_parameters_are_those_of_the_adapter(flavor):
    import mlflow

    adapter, values = adapter_of(kind="logits", temperature=1.5, beta=1.0), outputs_of("logits")
    flavor.save_model(adapter, "model")
    model = mlflow.pyfunc.load_model("model")
    for given, among in [
        (["all"], None),
        (["leaves"], "leaves"),
        (["observed"], "observed"),
        (["subtree:k3"], Subtree("k3")),
        (["k1", "k2", "k3"], ["k1", "k2", "k3"]),
    ]:
        found = model.predict(table_of(values), params={"k": 3, "candidates": given})
        check_equal(found, adapter, values, 3, among)
    found = model.predict(table_of(values), params={"temperature": 0.25, "candidates": ["k1"]})
    check_equal(found, adapter.with_outputs("logits", 0.25), values, 1, ["k1"])
    check_equal(model.predict(table_of(values)), adapter, values)


def test_what_the_adapter_refuses_is_refused(flavor):
    import mlflow

    flavor.save_model(adapter_of(), "model")
    model = mlflow.pyfunc.load_model("model")
    values = outputs_of()
    values[3, 2] = np.nan
    with pytest.raises(WeightError, match="row 3"):
        model.predict(table_of(values))
    with pytest.raises(InputError, match="k: 61"):
        model.predict(table_of(outputs_of()), params={"k": 61})
    with pytest.raises(mlflow.MlflowException, match="k10"):
        model.predict(table_of(outputs_of()).drop(columns="k10"))
    with pytest.raises(InputError, match="array: 'int8' given"):
        flavor.save_model(adapter_of(), "other", array="int8")
    assert not Path("other").exists()


def test_the_scoring_server_answers_as_the_adapter_does(flavor):
    import mlflow.pyfunc.scoring_server
    from starlette.testclient import TestClient

    adapter, values = adapter_of(), outputs_of()
    flavor.save_model(adapter, "model")
    client = TestClient(mlflow.pyfunc.scoring_server.init(mlflow.pyfunc.load_model("model")))
    table = table_of(values, sorted(CLASSES))
    split = {"columns": list(table.columns), "data": table.to_numpy().tolist()}
    answered = client.post("/invocations", json={"dataframe_split": split, "params": {"k": 2}})
    import pandas as pd

    check_equal(pd.DataFrame(answered.json()["predictions"]), adapter, values, 2)
    csv = client.post("/invocations", content=table.to_csv(index=False), headers={"content-type": "text/csv"})
    assert [row["label"] for row in csv.json()["predictions"]] == adapter.predict(values)
    table.iloc[0, 0] = -1.0
    refused = client.post("/invocations", json={"dataframe_split": table.to_dict(orient="split")})
    assert refused.status_code == 400
    assert "row 0" in refused.text


def test_a_model_is_logged_and_loaded_by_its_address(flavor):
    import mlflow

    adapter, values = adapter_of(kind="logits", temperature=2.0), outputs_of("logits")
    example = table_of(values[:1])
    with mlflow.start_run():
        found = flavor.log_model(adapter, input_example=example, metadata={"digest": adapter.digest})
    loaded = flavor.load_model(found.model_uri)
    assert (loaded.digest, loaded.outputs, loaded.temperature) == (adapter.digest, "logits", 2.0)
    check_equal(mlflow.pyfunc.load_model(found.model_uri).predict(table_of(values)), adapter, values)
    assert found.metadata == {"digest": adapter.digest}
    assert found.signature.inputs.input_names() == CLASSES


def test_the_model_says_what_its_environment_needs(flavor):
    import labelgrove

    flavor.save_model(adapter_of(), "model")
    needed = Path("model/requirements.txt").read_text().split()
    assert f"labelgrove=={labelgrove.__version__}" in needed
    assert "numpy<3,>=2.0" in needed
    flavor.save_model(adapter_of(), "other", pip_requirements=["./labelgrove.whl"])
    assert "labelgrove==" not in Path("other/requirements.txt").read_text()


def test_a_process_without_a_home_loads_it(flavor, tmp_path):
    """The model holds all that it needs; no store is asked."""
    flavor.save_model(adapter_of(), "model")
    values = outputs_of(n_rows=4)
    code = (
        "import json, sys, mlflow, pandas as pd\n"
        "table = pd.DataFrame(**json.load(sys.stdin))\n"
        "print(json.dumps(mlflow.pyfunc.load_model('model').predict(table)['label'].tolist()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"data": values.tolist(), "columns": CLASSES}),
        env={"HOME": str(tmp_path), "GROVE_HOME": str(tmp_path / "nowhere")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == adapter_of().predict(values)
    assert not (tmp_path / "nowhere").exists()


def test_a_model_of_others_is_refused(flavor):
    import mlflow

    Path("theirs.py").write_text("def _load_pyfunc(path):\n    return None\n")
    Path("data").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(".")
        mlflow.pyfunc.save_model(
            "model", loader_module="theirs", data_path="data", pip_requirements=["numpy"]
        )
    with pytest.raises(BundleError, match="its loader is 'theirs'"):
        flavor.load_model("model")
