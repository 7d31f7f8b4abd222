"""``grove evaluate`` and ``grove calibrate`` from file to report, and every wrong use with its exit code."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from click.testing import CliRunner

from adapter.bundle import build_bundle
from labelgrove.cli import grove
from ontology.ingest import register
from ontology.labelgraph import LabelGraph
from ontology.workspace import Workspace

GRAPH = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")])
COLUMNS = ["oak", "elm", "moss"]


@pytest.fixture
def call(tmp_path, monkeypatch):
    """A folder with a bundle, the outputs of 40 samples and their truth; no workspace, no server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "home"))
    build_bundle(GRAPH, COLUMNS).save("plants.safetensors")
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (40, 3))
    np.save("logits.npy", logits)
    np.save("p.npy", np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    Path("truth.txt").write_text("\n".join(GRAPH.keys[i] for i in rng.integers(0, 5, 40)) + "\n")
    Path("seen.txt").write_text("\n".join(COLUMNS[i] for i in rng.integers(0, 3, 40)) + "\n")

    def run(*arguments, code=0):
        result = CliRunner().invoke(grove, list(arguments))
        assert result.exit_code == code, result.stderr or result.exception
        return result

    return run


MODEL = ("--columns", "bundle")


def test_evaluate_prints_json_and_writes_reports(call, monkeypatch):
    reports = [word for name in ("r.md", "r.html", "r.json") for word in ("--report", name)]
    arguments = ("evaluate", "plants.safetensors", "p.npy", "truth.txt", *MODEL)
    monkeypatch.setattr(sys, "argv", ["grove", *arguments])
    found = call(*arguments, "--train-truth", "seen.txt", "--json", *reports)
    result = json.loads(found.stdout)
    assert set(result["verdict"]) == {"answer", "reason", "temperature"}
    assert result["n_samples"] == 40
    assert result["rules"]["loki"]["all"]["hierarchical_f"] > 0
    page, text, data = (Path(name).read_text(encoding="utf-8") for name in ("r.html", "r.md", "r.json"))
    assert f"**Verdict: {result['verdict']['answer']}.**" in text
    assert f"<h1>{result['verdict']['answer']}</h1>" in page
    document = json.loads(data)
    assert document | {"origin": 0} == result | {"origin": 0}
    assert (
        document["origin"]["command"] == "grove evaluate plants.safetensors p.npy truth.txt --columns bundle"
    )
    for name, file in (("outputs", "p.npy"), ("truth", "truth.txt"), ("training truth", "seen.txt")):
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        assert document["origin"][f"sha256 of the {name}"] == digest
        assert digest in page
        assert digest in text
    assert "Answers over the triangle of three classes" in page  # three labels are observed
    for written in (page, text, data):
        assert str(Path.cwd()) not in written
    assert "wrote the report to r.md" in found.stderr
    text = call(*arguments).stdout
    assert "verdict: " in text.splitlines()[-1]


def test_every_form_of_outputs_gives_the_report_of_the_probabilities(call):
    def rules(*arguments):
        found = json.loads(call("evaluate", "plants.safetensors", *arguments, "--json").stdout)["rules"]
        return {rule: scores["severity"] for rule, scores in found.items()}

    P = np.load("p.npy")
    pq.write_table(pa.table({c: P[:, i] for i, c in enumerate(COLUMNS)}).select(COLUMNS[::-1]), "p.parquet")
    np.savez("p.npz", a=P, b=P[:, :2])
    np.savez("sparse.npz", indices=np.argsort(P), values=np.sort(P))
    scipy.sparse.save_npz("scipy.npz", scipy.sparse.csr_array(P))
    expected = rules("p.npy", "truth.txt", *MODEL)
    assert rules("logits.npy", "truth.txt", *MODEL, "--emits", "logits") == expected
    assert rules("p.parquet", "truth.txt") == expected
    assert rules("p.npz", "truth.txt", *MODEL, "--array", "a") == expected
    assert rules("sparse.npz", "truth.txt", *MODEL) == rules("scipy.npz", "truth.txt", *MODEL) == expected
    cold = rules("logits.npy", "truth.txt", *MODEL, "--emits", "logits", "--temperature", "0.001")
    assert cold["loki"] == expected["argmax"]


def test_sparse_outputs_calibrate_as_dense_ones_do(call):
    np.savez("sparse.npz", indices=np.argsort(np.load("p.npy")), values=np.sort(np.load("p.npy")))
    dense, sparse = (
        json.loads(call("calibrate", "plants.safetensors", name, "seen.txt", *MODEL, "--json").stdout)
        for name in ("p.npy", "sparse.npz")
    )
    assert sparse == dense


def test_a_report_names_labels_where_their_ontology_is_at_hand(call):
    edges = [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")]
    with Workspace.open() as workspace:
        register(workspace, "garden", LabelGraph.from_edges(edges, names={"oak": "Quercus", "tree": "Arbor"}))
    call("bundle", "build", "garden", "mine", "--observed", "oak,elm,moss")
    words = ("p.npy", "truth.txt", *MODEL, "--report", "r.html")
    call("evaluate", "garden/mine", *words)
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Quercus (oak)" in page
    assert "Arbor (tree) (" in page  # the branch and its samples
    call("evaluate", "plants.safetensors", *words)
    assert "Quercus" not in Path("r.html").read_text(encoding="utf-8")
    said = call("evaluate", "plants.safetensors", *words, "--ontology", "nothing").stderr
    assert "the report shows keys, not names: " in said


def test_options_reach_the_evaluation(call):
    arguments = ("--top", "2", "--level", "0.8", "--resamples", "50", "--seed", "3", "--branch-level", "2")
    result = json.loads(
        call("evaluate", "plants.safetensors", "p.npy", "truth.txt", *MODEL, *arguments, "--json").stdout
    )
    named = [result[name] for name in ("top_k", "level", "resamples", "seed", "branch_level")]
    assert named == [2, 0.8, 50, 3, 2]


def test_calibrate_prints_the_temperature_and_what_surrounds_it(call):
    arguments = ("calibrate", "plants.safetensors", "logits.npy", "seen.txt", *MODEL, "--emits", "logits")
    result = json.loads(call(*arguments, "--json", "--report", "c.md").stdout)
    assert result["fit"]["by"] == "nll"
    assert result["fit"]["value"] <= result["fit"]["value_before"]
    assert "not calibration for unobserved" in result["notes"][0]
    page = Path("c.md").read_text(encoding="utf-8")
    assert page.startswith("# Which temperature suits this model? temperature ")
    assert "not calibration for unobserved" in page
    assert "- model's outputs: logits\n- measure: nll\n- bins of calibration errors: 15\n" in page
    text = call(*arguments, "--measure", "squared_distance", "--bins", "5").stdout
    assert "by squared_distance" in text
    assert "Loki-best" in text


def test_evaluate_adds_a_calibration_to_its_report(call):
    arguments = ("evaluate", "plants.safetensors", "logits.npy", "truth.txt", *MODEL, "--emits", "logits")
    call(*arguments, "--calibrate", "--report", "r.html", "--report", "r.json")
    assert "E[d²] against calibration error" in Path("r.html").read_text(encoding="utf-8")
    fit = json.loads(Path("r.json").read_bytes())["calibrated"]["fit"]
    assert fit["n_samples"] == 40
    assert "name its file with --report" in call(*arguments, "--calibrate", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("p.npy", "truth.txt"), 2, "--columns"),
        (("p.npy", "nothing.txt", *MODEL), 4, "no such file"),
        (("nothing.npy", "truth.txt", *MODEL), 4, "no such file"),
        (("logits.npy", "truth.txt", *MODEL), 2, "--emits logits"),
        (("p.npy", "truth.txt", *MODEL, "--temperature", "2"), 2, "temperature: 2.0"),
        (("p.npy", "truth.txt", *MODEL, "--report", "no/folder.md"), 2, "cannot be written"),
        (("p.npy", "truth.txt", *MODEL, "--report", "page.pdf"), 2, "end the name in .html, .md, .json"),
        (("p.npy", "few.txt", *MODEL), 2, "1 labels for 40 rows"),
        (("p.npy", "foreign.txt", *MODEL), 4, "row 0 'fern'"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "calibrate"])
def test_a_wrong_use_has_its_exit_code(call, command, arguments, code, said):
    Path("few.txt").write_text("oak\n")
    Path("foreign.txt").write_text("fern\n" * 40)
    np.save("p.npy", np.maximum(np.load("p.npy"), 1e-9))
    found = call(command, "plants.safetensors", *arguments, code=code)
    assert said in found.stderr
    assert found.stdout == ""
