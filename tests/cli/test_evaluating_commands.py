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

from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.cli import grove
from labelgrove.ontology.geometry import metric_space
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds.evaluation.file import read_evaluation

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
COLUMN_NUMBERS = (
    "these look like column numbers; write the key of the column with that number, counted from 0"
)


def test_evaluate_prints_json_and_writes_reports(call, monkeypatch):
    reports = [word for name in ("r.md", "r.html", "r.json") for word in ("--report", name)]
    arguments = ("evaluate", "plants.safetensors", "p.npy", "truth.txt", *MODEL)
    monkeypatch.setattr(sys, "argv", ["grove", *arguments])
    found = call(*arguments, "--train-truth", "seen.txt", "--json", *reports)
    result = json.loads(found.stdout)
    assert set(result["verdict"]) == {"answer", "reason", "temperature", "enough"}
    assert result["n_samples"] == 40
    assert result["rules"]["frechet_mean"]["all"]["hierarchical_f"] > 0
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
    assert text.splitlines()[0].endswith("diameter 3 edges")


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
    assert rules("logits.npy", "truth.txt", *MODEL, "--outputs", "logits") == expected
    assert rules("p.parquet", "truth.txt") == expected
    assert rules("p.npz", "truth.txt", *MODEL, "--array", "a") == expected
    assert rules("sparse.npz", "truth.txt", *MODEL) == rules("scipy.npz", "truth.txt", *MODEL) == expected
    cold = rules("logits.npy", "truth.txt", *MODEL, "--outputs", "logits", "--temperature", "0.001")
    assert cold["frechet_mean"] == expected["argmax"]


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
    printed = call("evaluate", "garden/mine", *words).stdout
    page = Path("r.html").read_text(encoding="utf-8")
    assert "\nArbor (tree)  " in printed  # the table of branches
    assert "constant: 'Arbor (tree)', the Fréchet mean" in printed
    assert "constant: 'Arbor (tree)', the Fréchet mean" in page.replace("&#x27;", "'")
    assert printed == call("evaluate", "garden/mine", *words[:-2]).stdout  # without a report as well
    assert "Quercus (oak)" in page
    assert "Arbor (tree) (" in page  # the branch and its samples
    call("evaluate", "plants.safetensors", *words)
    assert "Quercus" not in Path("r.html").read_text(encoding="utf-8")
    said = call("evaluate", "plants.safetensors", *words, "--ontology", "nothing").stderr
    assert "labels are shown by key because their names cannot be read: " in said


def test_a_job_reads_files_as_the_command_does(call):
    """Both take sparse outputs, leave out a column that names rows, and find the truth by the header."""
    with Workspace.open() as workspace:
        register(workspace, "garden", GRAPH)
    call("bundle", "build", "garden", "mine", "--observed", ",".join(COLUMNS))
    P, truth = np.load("p.npy"), Path("truth.txt").read_text().split()
    np.savez("p.npz", indices=np.argsort(P), values=np.sort(P))
    rows = [",".join(map(repr, [i, *row])) for i, row in enumerate(P.tolist())]
    Path("p.csv").write_text("\n".join(["id," + ",".join(COLUMNS), *rows]))
    Path("truth.csv").write_text("\n".join(["id,truth", *(f"{i},{key}" for i, key in enumerate(truth))]))

    def found(outputs, labels, *columns):
        said = call("evaluate", "garden/mine", outputs, labels, *columns, "--resamples", "50", "--json")
        with Workspace.open() as workspace:
            asked = {"ontology": "garden", "bundle": "mine", "model": "m", "resamples": 50}
            job = client.submit(workspace, "evaluation", asked | {"outputs": outputs, "truth": labels})
            assert job.error is None
            document = read_evaluation(workspace.artifacts, job.result_sha256)
        shared = json.loads(said.stdout)
        assert {name: document[name] for name in shared} == shared
        return document["inputs"]

    expected = found("p.npy", "truth.txt", *MODEL)
    assert found("p.npz", "truth.csv", *MODEL) == found("p.csv", "truth.csv") == expected


def test_options_reach_the_evaluation(call):
    arguments = ("--top", "2", "--level", "0.8", "--resamples", "50", "--seed", "3", "--branch-level", "2")
    result = json.loads(
        call("evaluate", "plants.safetensors", "p.npy", "truth.txt", *MODEL, *arguments, "--json").stdout
    )
    named = [result[name] for name in ("top_k", "level", "resamples", "seed", "branch_level")]
    assert named == [2, 0.8, 50, 3, 2]


def test_calibrate_prints_the_temperature_and_what_surrounds_it(call):
    arguments = ("calibrate", "plants.safetensors", "logits.npy", "seen.txt", *MODEL, "--outputs", "logits")
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
    last = text.splitlines()[-1]
    assert last.startswith("to answer at temperature ")
    assert ": --outputs logits --temperature " in last
    assert "outputs='" not in text
    assert "E[d²]-best" in text


@pytest.mark.parametrize("command", ["calibrate", "evaluate"])
@pytest.mark.parametrize("wrong", ["probabilities called logits", "scores called probabilities"])
def test_a_note_on_misread_outputs_stands_next_to_the_last_line(call, command, wrong):
    """The last line gives assured advice, which is worth nothing if the outputs were misread."""
    called, odd = ("--outputs", "logits"), "these look like probabilities"
    said = f"{odd}; leave out --outputs logits"
    outputs = np.load("p.npy")
    if wrong == "scores called probabilities":
        outputs, called, odd, said = outputs + 0.3, (), "do not sum to 1", "For logits say --outputs logits"
    np.save("wrong.npy", outputs)
    arguments = (command, "plants.safetensors", "wrong.npy", "seen.txt", *MODEL, *called)
    lines = call(*arguments).stdout.splitlines()
    assert lines[-2].startswith("note: ")
    assert lines[-2].endswith(said)
    assert sum(said in line for line in lines) == 1
    call(*arguments, "--report", "r.md")
    assert odd in Path("r.md").read_text(encoding="utf-8")
    right = call(command, "plants.safetensors", "p.npy", "seen.txt", *MODEL).stdout
    assert "note: " not in right


def test_evaluate_adds_a_calibration_to_its_report(call):
    arguments = ("evaluate", "plants.safetensors", "logits.npy", "truth.txt", *MODEL, "--outputs", "logits")
    call(*arguments, "--calibrate", "--report", "r.html", "--report", "r.json")
    assert "E[d²] against calibration error" in Path("r.html").read_text(encoding="utf-8")
    fit = json.loads(Path("r.json").read_bytes())["calibrated"]["fit"]
    assert fit["n_samples"] == 40
    assert "name its file with --report" in call(*arguments, "--calibrate", code=2).stderr


def test_a_calibration_needs_no_observed_truth(call):
    """Nothing can be said of the confidence then; the temperature goes by squared distance, as always."""
    Path("unseen.txt").write_text("tree\nplant\n" * 20)
    arguments = ("evaluate", "plants.safetensors", "logits.npy", "unseen.txt", *MODEL, "--outputs", "logits")
    call(*arguments, "--calibrate", "--report", "r.html", "--report", "r.json")
    document, page = json.loads(Path("r.json").read_bytes()), Path("r.html").read_text(encoding="utf-8")
    fit = document["calibrated"]["fit"]
    assert (fit["by"], fit["n_unobserved"]) == ("squared_distance", 40)
    assert fit["value"] <= fit["value_before"]
    assert document["rules"]["frechet_mean"]["observed"]["n"] == 0
    assert "No sample has an observed truth" in page
    said = call("calibrate", *arguments[1:], code=2).stderr
    assert "fit --measure squared_distance" in said


def test_two_temperatures_on_a_page_say_what_each_is_for(call):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 400)
    apart = metric_space(GRAPH).distances()
    logits = rng.normal(0, 0.5, (400, 3)) - 2 * apart[np.ix_(truth, [GRAPH.keys.index(c) for c in COLUMNS])]
    np.save("clear.npy", logits)
    Path("clear.txt").write_text("\n".join(GRAPH.keys[i] for i in truth) + "\n")
    arguments = ("evaluate", "plants.safetensors", "clear.npy", "clear.txt", *MODEL, "--outputs", "logits")
    call(*arguments, "--temperature", "30", "--calibrate", "--report", "r.html", "--report", "r.json")
    document, page = json.loads(Path("r.json").read_bytes()), Path("r.html").read_text(encoding="utf-8")
    chosen, fitted = document["verdict"]["temperature"], document["calibrated"]["fit"]["temperature"]
    assert document["verdict"]["answer"] == "calibrate first"
    assert f"Temperature {fitted:.4g} makes E[d²] smallest" in page
    assert f"The verdict's temperature, {chosen:.4g}, is a different one" in page
    assert page.count("to answer at temperature") == 1
    assert f"to answer at temperature {chosen:.4g}: " in page


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("p.npy", "truth.txt"), 2, "--columns"),
        (("p.npy", "nothing.txt", *MODEL), 4, "no such file"),
        (("nothing.npy", "truth.txt", *MODEL), 4, "no such file"),
        (("logits.npy", "truth.txt", *MODEL), 2, "--outputs logits"),
        (("p.npy", "truth.txt", *MODEL, "--temperature", "2"), 2, "temperature: 2.0"),
        (("p.npy", "truth.txt", *MODEL, "--report", "no/folder.md"), 2, "cannot be written"),
        (("p.npy", "truth.txt", *MODEL, "--report", "page.pdf"), 2, "end the name in .html, .md, .json"),
        (("p.npy", "few.txt", *MODEL), 2, "few.txt: 1 label for 40 rows of the outputs"),
        (("p.npy", "foreign.txt", *MODEL), 4, "foreign.txt:1 'fern' is unknown"),
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


TRUTH = ["oak", "elm", "moss", "tree"] * 10


@pytest.mark.parametrize("by", ["auto", "key", "name"])
@pytest.mark.parametrize("command", ["evaluate", "calibrate"])
def test_a_label_that_is_unknown_is_named_by_its_line(call, command, by):
    """Blank lines count, as they do in an editor; a text that stands twice is listed once."""
    Path("bad.txt").write_text("oak\n\n\nmos\nmos\nelmm\n" + "oak\n" * 36)
    words = (command, "plants.safetensors", "p.npy", "bad.txt", *MODEL, "--by", by)
    assert call(*words, code=4).stderr.splitlines() == [
        f"error: bad.txt: 2 labels cannot be found (by {by}):",
        "  bad.txt:4 'mos' is unknown; close to it: 'moss'",
        "  bad.txt:6 'elmm' is unknown; close to it: 'elm'",
    ]


def test_a_label_of_the_training_truth_that_is_unknown_is_named_by_its_line(call):
    Path("train.txt").write_text("oak\nelmm\n")
    words = ("evaluate", "plants.safetensors", "p.npy", "truth.txt", *MODEL, "--train-truth", "train.txt")
    assert "train.txt:2 'elmm' is unknown; close to it: 'elm'" in call(*words, code=4).stderr


def test_labels_that_are_known_and_not_allowed_are_called_so(call):
    """A block holds its allowed and observed labels alone; what else is known, the ontology says."""
    graph = LabelGraph.from_edges([*[edge[:2] for edge in GRAPH.edges()], ("moss", "tree")])
    with Workspace.open() as workspace:
        register(workspace, "web", graph)
    call(
        "bundle",
        "build",
        "web",
        "mine",
        "--observed",
        "oak,elm,moss",
        "--metric",
        "graph",
        "--labels",
        "leaves",
    )
    Path("inner.txt").write_text("oak\n" * 38 + "tree\nplant\n")
    for command, more in (("evaluate", ()), ("calibrate", ("--measure", "squared_distance"))):
        said = call(command, "web/mine", "p.npy", "inner.txt", *MODEL, *more, code=4).stderr
        assert "2 of 40 rows have a known label that is not among the 3 allowed labels: row 38 'tree'" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("header.csv", "truth\n" + "\n".join(TRUTH)),
        ("capitals.csv", "Label\r\n" + "\r\n".join(TRUTH)),
        ("columns.csv", "sample,truth\n" + "\n".join(f"s{i},{t}" for i, t in enumerate(TRUTH))),
        ("y.csv", "y,sample\n" + "\n".join(f"{t},s{i}" for i, t in enumerate(TRUTH))),
        ("first.csv", "\n".join(f"{t},y" for t in TRUTH)),  # no header: a label stands in the line
    ],
)
def test_a_csv_of_truths_may_have_a_header(call, name, text):
    Path(name).write_text(text)
    Path("plain.txt").write_text("\n".join(TRUTH))
    words = ("evaluate", "plants.safetensors", "p.npy")
    found, expected = (call(*words, given, *MODEL, "--json").stdout for given in (name, "plain.txt"))
    assert found == expected


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "t.csv",
            "species\n" + "\n".join(TRUTH),
            "if 'species' is a header, delete the line, or call it truth",
        ),
        ("t.txt", "truth\n" + "\n".join(TRUTH), "if 'truth' is a header, delete the line"),
        (
            "t.csv",
            "sample,species\n" + "s,oak\n" * 40,
            "none of the columns 'sample', 'species' are called truth,",
        ),
        ("t.csv", "label,y\n" + "oak,oak\n" * 40, "2 of the columns 'label', 'y' are called truth, label, y"),
        ("t.csv", "sample,truth\n" + "s,oak\n" * 20 + "s\n", "t.csv:22: 1 cell under a header of 2"),
        ("t.csv", "truth\n" + "oak\n" * 41, "t.csv: 41 labels for 40 rows of the outputs"),
        ("t.json", json.dumps(TRUTH), "t.json: looks like JSON; write one label per line"),
        ("t.txt", json.dumps({"truth": TRUTH}, indent=1), "t.txt: looks like JSON; write one label per line"),
        ("t.txt", "0\n1\n2\n2\n" * 10, f"\n{COLUMN_NUMBERS}\n"),
        ("t.txt", "-1\n1\n2\noak\n" * 10, f"\n{COLUMN_NUMBERS}\n"),  # all that are unknown
    ],
)
def test_a_truth_of_another_form_is_told_what_it_looks_like(call, name, text, said):
    Path(name).write_text(text)
    for command in ("evaluate", "calibrate"):
        found = CliRunner().invoke(grove, [command, "plants.safetensors", "p.npy", name, *MODEL])
        assert found.exit_code in (2, 4)
        assert said in found.stderr


def test_numbers_are_not_taken_for_indices_where_one_is_not(call):
    Path("t.txt").write_text("0\n1\n2\n3\n" * 10)  # three classes are 0, 1 and 2
    found = call("evaluate", "plants.safetensors", "p.npy", "t.txt", *MODEL, code=4)
    assert "column numbers" not in found.stderr


@pytest.mark.parametrize(
    ("name", "columns", "said"),
    [
        ("bare.csv", "names.txt", "--columns does not replace the header of a .csv file"),
        ("numbers.csv", "names.txt", "put them in its first line, or save numbers without names as .npy"),
        ("p.npy", "0,1,2", "columns: 0, 1, 2 look like column numbers; name the classes"),
        ("turned.npy", "bundle", "it looks transposed: save its transpose"),
        ("turned.csv", "bundle", "--columns does not replace"),
    ],
)
def test_outputs_of_another_form_are_told_what_they_look_like(call, name, columns, said):
    P = np.load("p.npy")
    np.savetxt("bare.csv", P, delimiter=",")
    np.savetxt("numbers.csv", P, delimiter=",", header="0,1,2", comments="")
    np.save("turned.npy", P.T)
    np.savetxt("turned.csv", P.T, delimiter=",")
    Path("names.txt").write_text("\n".join(COLUMNS))
    for command, more in (("evaluate", ["truth.txt"]), ("calibrate", ["truth.txt"]), ("score", [])):
        words = (command, "plants.safetensors", name, *more, "--columns", columns)
        assert said in " ".join(call(*words, code=2).stderr.split())


def test_columns_that_are_numbers_are_refused_in_one_line(call):
    words = ("evaluate", "plants.safetensors", "p.npy", "truth.txt", "--columns")
    assert len(call(*words, "0,1,2", code=2).stderr.splitlines()) == 1
    assert "column 2 '3' is unknown" in call(*words, "0,1,3", code=2).stderr  # no numbers of three columns


def test_labels_may_be_numbers(call):
    build_bundle(LabelGraph.from_edges([("0", "r"), ("1", "r"), ("2", "r")]), ["0", "1", "2"]).save(
        "n.safetensors"
    )
    Path("n.txt").write_text("0\n1\n2\nr\n" * 10)
    call("evaluate", "n.safetensors", "p.npy", "n.txt", "--columns", "0,1,2")


def test_figures_of_the_samples_that_chose_the_temperature_are_called_so(call):
    said = "chosen and measured on the same samples; expect a smaller gain on others"
    words = ("plants.safetensors", "logits.npy", "truth.txt", *MODEL, "--outputs", "logits")
    assert call("calibrate", *words, "--report", "c.html").stdout.count(said) == 1
    call("evaluate", *words, "--calibrate", "--report", "e.html")
    for name in ("c.html", "e.html"):
        page = Path(name).read_text(encoding="utf-8")
        beware = page.partition("Cautions</h2>")[2]
        assert said in beware
        assert "o answer at temperature" not in beware
        assert "grove: --" in page.partition("Cautions</h2>")[0]  # what to do, where the figure is
