"""``grove experiment`` and ``grove train``: what they print, write and refuse."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("sklearn")

from labelgrove.cli import grove
from labelgrove.experiments import NAMES, PRETRAINED, load


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0):
        monkeypatch.setattr(sys, "argv", ["grove", *arguments])
        result = CliRunner().invoke(grove, list(arguments))
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    return run


def test_the_list_names_every_experiment_with_its_claim(call):
    text = call("experiment", "list").stdout
    for name in (*NAMES, *PRETRAINED):
        assert name in text
    rows = json.loads(call("experiment", "list", "--json").stdout)
    assert [row["name"] for row in rows] == [*NAMES, *PRETRAINED]
    assert rows[0]["settings"]["seeds"] == [0, 1, 2, 3, 4]


def test_one_experiment_prints_its_verdict_and_leaves_its_files(call):
    result = call("experiment", "complete-graph", "--quick", "--out", "found")
    assert "complete-graph  holds" in result.stdout
    assert "4 units computed during this command" in result.stderr
    assert f"\npage: {Path('found/complete-graph/result.html')}\n" in result.stderr
    assert "--quick runs too few trials" in result.stderr
    assert sorted(p.name for p in Path("found/complete-graph").iterdir()) == [
        "result.html",
        "result.json",
        "result.md",
    ]
    again = call("experiment", "complete-graph", "--quick", "--out", "found", "--json")
    assert "0 units computed" in again.stderr
    document = json.loads(again.stdout)
    assert document == json.loads(Path("found/complete-graph/result.json").read_text())
    assert document["command"] == "grove experiment complete-graph --quick"


def test_a_result_is_written_again_from_the_ledger_and_earlier_files_are_left_alone(call):
    call("experiment", "complete-graph", "--quick", "--out", "found")
    kept = Path("found/complete-graph/units/0123456789abcdef/K=2,seed=0.json")  # as earlier versions wrote
    kept.parent.mkdir(parents=True)
    kept.write_text("{")
    result = Path("found/complete-graph/result.json")
    content = result.read_bytes()
    result.unlink()
    said = call("experiment", "complete-graph", "--quick", "--out", "found").stderr
    assert "complete-graph: holds (0 units computed during this command; " in said
    assert (result.read_bytes(), kept.read_text()) == (content, "{")
    (job,) = json.loads(call("jobs", "list", "--json").stdout)
    call("jobs", "result", job["id"], "--out", "result.json")
    assert Path("result.json").read_bytes() == content


def test_settings_are_changed_by_name(call):
    result = call(
        "experiment", "complete-graph", "--set", "sizes=3", "--set", "seeds=7", "--set", "n_rows=50", "--json"
    )
    (unit,) = json.loads(result.stdout)["units"]
    assert unit["parameters"] == {"K": 3, "seed": 7}
    assert "give NAME=VALUES" in call("experiment", "complete-graph", "--set", "rows=1", code=2).stderr


def test_seeds_are_counted_from_another_one(call):
    said = call("experiment", "complete-graph", "--quick", "--seeds-from", "7", "--json")
    document = json.loads(said.stdout)
    assert {unit["parameters"]["seed"] for unit in document["units"]} == {7, 8}
    assert document["command"] == "grove experiment complete-graph --quick --seeds-from 7"
    again = call("experiment", "complete-graph", "--quick", "--set", "seeds=7,8", "--json")
    assert "0 units computed" in again.stderr
    assert json.loads(again.stdout)["command"] == document["command"]
    for wrong in (("--set", "seeds=1,2"), ("--set", "large_seeds=1")):
        said = call("experiment", "active-locus", "--seeds-from", "7", *wrong, code=2).stderr
        assert "give only one of them" in said
    assert "not in the range" in call("experiment", "complete-graph", "--seeds-from", "-1", code=2).stderr


def test_all_claims_are_counted_from_another_seed_and_the_page_says_so(call, monkeypatch):
    monkeypatch.setattr("labelgrove.experiments.NAMES", ("digits-grid", "complete-graph"))
    documents = json.loads(call("experiment", "all", "--quick", "--seeds-from", "30", "--json").stdout)
    for document in documents:
        assert {unit["parameters"]["seed"] for unit in document["units"]} == {30, 31}
        assert document["command"] == f"grove experiment {document['experiment']} --quick --seeds-from 30"
    page = Path("experiments/results.md").read_text(encoding="utf-8")
    assert "Written by grove experiment all --seeds-from 30, which anyone can repeat" in page
    assert "- setting seeds: 30, 31" in page


def test_what_does_not_fit_is_refused_before_anything_is_computed(call):
    assert "choose among digits-grid" in call("experiment", "digits", code=4).stderr
    assert "does not take files" in call("experiment", "all", "--probs", "p.npy", code=2).stderr
    assert (
        "it takes no files of your own"
        in call("experiment", "digits-grid", "--probs", "p.npy", code=2).stderr
    )
    assert not Path("experiments").exists()


@pytest.mark.parametrize("option", [("--metric", "graph"), ("--answers", "leaves")])
def test_how_a_hierarchy_is_read_is_refused_without_one(call, option):
    said = call("experiment", "complete-graph", "--quick", *option, code=2).stderr
    assert f"{option[0]}: applies to --hierarchy; give --hierarchy or leave {option[0]} out" in said
    given = ("--param", "experiment=complete-graph", "--param", "=".join(option)[2:])
    assert f"{option[0]}: applies to" in call("jobs", "submit", "experiment", *given, code=2).stderr


def predictions():
    np.save("p.npy", np.eye(4)[[0, 1, 2, 3, 0, 1, 2, 3]] * 0.8 + 0.05)
    Path("columns.txt").write_text("oak\nelm\nmoss\nfern\n")
    Path("truth.txt").write_text("oak\nelm\nmoss\nfern\n" * 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "parent,child\nroot,oak\noak,elm\nelm,oak\nroot,moss\nroot,fern\n",
            "remove one edge of each loop\n",
        ),
        ("parent,child\nroot,oak\nother,elm\nroot,moss\nother,fern\n", "correct the file"),
        ("parent,child\nroot,oak\nroot,elm\nroot,moss\n", "--columns: 1 of 4 keys are not allowed labels"),
        ("", "--hierarchy: empty-file at --hierarchy (the file has no content"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_by_its_option(call, tmp_path, content, said):
    predictions()
    Path("bad.csv").write_text(content)
    files = ("--hierarchy", "bad.csv", "--probs", "p.npy", "--columns", "columns.txt", "--truth", "truth.txt")
    error = call("experiment", "metric-comparison", "--set", "seeds=0", *files, code=2).stderr
    assert said in error
    (job,) = json.loads(call("jobs", "list", "--json").stdout)
    for text in (error, job["error"]):
        assert "/hierarchy.csv" not in text
        assert "labelgrove" not in text
        assert "--policy" not in text


def test_a_file_may_be_a_url(call):
    import fsspec

    with fsspec.open("memory://experiment-files/tree.csv", "wb") as file:
        file.write(b"parent,child\nroot,oak\nroot,elm\noak,acorn\noak,leaf\n")
    options = (
        "--set",
        "seeds=0",
        "--set",
        "rounds=2",
        "--set",
        "n_start=2",
        "--hierarchy",
        "memory://experiment-files/tree.csv",
    )
    document = json.loads(call("experiment", "active-locus", *options, "--json").stdout)
    assert set(document["files"]) == {"answers", "hierarchy", "metric"}


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).claim.command])
def test_the_command_for_own_files_is_one_that_is_understood(call, name):
    """It ends at the files, which are not there, and no sooner."""
    words = shlex.split(load(name).claim.command.replace("\\\n", " "))
    assert words[:3] == ["grove", "experiment", name]
    assert "there is no such file" in call(*words[1:], code=4).stderr


def test_a_trained_model_scores(call):
    rng = np.random.default_rng(0)
    np.save("train.npy", np.repeat(np.eye(2) * 5, 10, axis=0) + rng.normal(size=(20, 2)))
    np.save("test.npy", np.eye(2) * 5)
    Path("labels.txt").write_text("moss\n" * 10 + "oak\n" * 10)
    Path("garden.csv").write_text("child,parent\ntree,plant\nmoss,plant\noak,tree\n")
    trained = json.loads(call("train", "train.npy", "labels.txt", "test.npy", "--json").stdout)
    assert (trained["n_samples"], trained["n_columns"]) == (2, 2)
    call("ingest", "garden", "garden.csv")
    call("bundle", "build", "garden", "mine", "--observed", "moss,oak")
    scored = call("score", "garden/mine", trained["probabilities"], "--columns", trained["columns"]).stdout
    assert [line.split(",")[2] for line in scored.splitlines()[1:]] == ["moss", "oak"]
    Path("texts.txt").write_text("green and soft\ntall and hard\ngreen moss\nhard wood\n")
    Path("of.txt").write_text("moss\noak\nmoss\noak\n")
    said = call("train", "texts.txt", "of.txt", "texts.txt", "--model", "logistic", "--out", "m").stdout
    assert "4 rows of 2 probabilities: m/probabilities.npy" in said
    Path("gaps.txt").write_text("green moss\n\nhard wood\r\n\n")
    call("train", "texts.txt", "of.txt", "gaps.txt", "--model", "logistic", "--out", "gaps")
    moss, _, oak, _ = np.load("gaps/probabilities.npy").argmax(axis=1)  # blank lines too
    assert (moss, oak) == (0, 1)
    assert "4 for 20 training samples" in call("train", "train.npy", "of.txt", "test.npy", code=2).stderr
