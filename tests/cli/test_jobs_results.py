"""``grove jobs result``: what each kind of job gave, as a table, a document and a file."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelgrove.adapter import open_bundle
from labelgrove.cli import grove
from labelgrove.ontology import LabelGraph, geometry
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.kinds import Step
from tests.integration.workers_support import PARTS, add_version, registered

GARDEN = LabelGraph.from_edges(
    [("tree", "plant"), ("oak", "tree"), ("elm", "tree"), ("moss", "plant")], names={"oak": "Oak"}
)
SPACE = geometry.metric_space(GARDEN)


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0):
        outcome = CliRunner().invoke(grove, ["jobs", *arguments])
        assert outcome.exit_code == code, (arguments, outcome.output, outcome.exception)
        return outcome

    with Workspace.open(Settings.from_env()) as workspace:
        add_version(workspace, "garden", GARDEN)
    return run


@pytest.fixture
def done(call):
    """Run a job and return the beginning of its id, as it is told on stderr."""

    def run(kind: str, *parameters: str, target: tuple[str, ...] = ()) -> str:
        given = [part for p in ("ontology=garden", *parameters) for part in ("--param", p)]
        named = [part for name in target for part in ("--target", name)]
        said = call("submit", kind, *given, *named).stderr.splitlines()[-1]
        assert said.startswith("see the result: grove jobs result ")
        return said.split()[-1]

    return run


def document(call, job: str) -> dict:
    return json.loads(call("result", job, "--json").stdout)


def rows_of(path: str) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_a_cover(call, done):
    job = done("cover")
    keys = list(geometry.minimum_locus_cover(SPACE).keys)
    said = document(call, job)
    assert [label["key"] for label in said["labels"]] == keys
    assert (said["kind"], said["ontology"], said["digest"]) == ("cover", "garden", GARDEN.digest)
    assert call("result", job, "--out", "cover.csv").stdout.splitlines()[0].split() == ["rank", "key", "name"]
    rows = rows_of("cover.csv")
    assert rows[0] == ["rank", "key", "name"]
    assert [row[1] for row in rows[1:]] == keys
    assert [row[2] for row in rows if row[1] == "oak"] == ["Oak"]


def test_the_example_of_the_manual_goes_from_a_job_to_labels(done, capsys):
    page = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(code.replace("08d0a9", done("cover")), {})
    assert capsys.readouterr().out == f"{geometry.minimum_locus_cover(SPACE).keys}\n"


def test_a_selection(call, done):
    found = geometry.select_classes(SPACE, ["oak"], 2)
    picks = document(call, done("selection", "observed=oak", "n=2"))["labels"]
    assert [(pick["key"], pick["gain"]) for pick in picks] == list(
        zip(found.keys, found.gains.tolist(), strict=True)
    )


def test_a_locus(call, done):
    found = geometry.locus(SPACE, ["oak", "moss"])
    labels = document(call, done("locus", "observed=oak,moss"))["labels"]
    assert {label["key"] for label in labels} == set(found.members)
    assert {label["key"] for label in labels if label["unique"]} == set(found.unique)


def test_a_summary(call, done):
    job = done("summary", "target=2")
    found = geometry.summarize(GARDEN, 2, seed=0)
    assert document(call, job)["sizes"] == found.sizes.tolist()
    call("result", job, "--out", "of.csv")
    assert rows_of("of.csv")[1:] == [
        [key, str(node)] for key, node in zip(GARDEN.keys, found.assignment.tolist(), strict=True)
    ]


def test_distances(call, done):
    job = done("distances", "columns=oak,moss")
    said = document(call, job)
    assert (said["shape"], said["dtype"]) == ([5, 2], "uint8")
    call("result", job, "--out", "d.npy")
    columns = Path("d.columns.txt").read_text().split()
    assert Path("d.rows.txt").read_text().split() == list(SPACE.keys)
    expected = geometry.pairwise_distances(SPACE, None, SPACE.point_index(columns))
    assert np.array_equal(np.load("d.npy"), expected)
    assert "name a .npy file" in call("result", job, "--out", "d.csv", code=2).stderr


def test_a_bundle_is_told_by_its_name_or_its_digest(call, done):
    job = done("bundle", "observed=oak,moss")
    said = document(call, job)
    assert (said["names"], said["uri"]) == ([], said["sha256"])
    done("bundle", "observed=oak,moss", target=("bundle=mine",))
    assert document(call, job)["uri"] == "garden/mine"
    call("result", job, "--out", "mine.safetensors")
    assert list(open_bundle("mine.safetensors").observed_keys) == ["oak", "moss"]
    assert open_bundle("garden/mine").ontology_digest == GARDEN.digest


def test_what_changes_the_graph_says_what_was_made(call, done):
    with Workspace.open(Settings.from_env()) as workspace:
        (version,) = workspace.catalog.versions("garden")
    made = call("submit", "ingest", "--param", f"ontology={version.digest}", "--json")
    said = document(call, json.loads(made.stdout)["id"])
    assert (said["n_labels"], said["n_edges"]) == (GARDEN.n_labels, GARDEN.n_edges)
    rebuilt = json.loads(call("submit", "rebuild-graph", "--param", "request=one", "--json").stdout)
    assert document(call, rebuilt["id"])["versions"] == [GARDEN.digest]


def test_a_kind_of_another_package_shows_its_arrays(call):
    with registered(PARTS):
        job = json.loads(call("submit", "parts", "--param", "numbers=[1, 2]", "--json").stdout)
        said = call("result", job["id"])
    assert "is not a known kind of job" in said.stderr
    assert said.stdout.split()[:3] == ["array", "dtype", "shape"]


def test_a_job_that_is_not_done_has_none(call):
    job = json.loads(call("submit", "cover", "--param", "ontology=garden", "--detach", "--json").stdout)
    refused = call("result", job["id"], code=1).stderr
    assert f"job {job['id'][:12]} is pending; it has no result" in refused
    assert "grove jobs watch" in refused
    call("cancel", job["id"])
    assert "is cancelled; it has no result" in call("result", job["id"], code=1).stderr


def test_an_evaluation_and_its_document(call, done):
    np.save("outputs.npy", [[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 2)
    Path("truth.txt").write_text("oak\noak\nelm\nmoss\nmoss\n")
    files = ("outputs=outputs.npy", "truth=truth.txt")
    job = done("evaluation", "observed=oak,moss", "model=50", "seed=3", *files)
    said = document(call, job)
    found = said["document"]
    assert (found["model"], found["ontology"], found["seed"]) == ("50", GARDEN.digest, 3)
    shown = call("result", job, "--out", "found.json")
    assert "50 on 5 samples: too little to tell: 5 samples are too few; 30 or more are needed" in shown.stderr
    rules = [line.split()[0] for line in shown.stdout.splitlines()[2:]]  # below the heading
    assert rules == list(found["rules"])
    assert json.loads(Path("found.json").read_text()) == found
    call("result", job, "--out", "found.csv")
    rows = {row[0]: row[1:] for row in rows_of("found.csv")}
    assert float(rows["argmax"][0]) == found["rules"]["argmax"]["interval"]["mean"] == 0.8
    assert rows["rule"] == ["error", "low", "high", "accuracy"]


def test_an_experiment_and_its_document(call):
    pytest.importorskip("sklearn")
    asked = ("experiment=complete-graph", 'settings={"sizes": "3", "seeds": "1", "n_rows": "20"}')
    said = call("submit", "experiment", *(part for text in asked for part in ("--param", text)))
    job = said.stderr.splitlines()[-1].split()[-1]
    assert "complete-graph: holds" in call("result", job, "--out", "result.json").stderr
    found = json.loads(Path("result.json").read_text())
    assert document(call, job)["document"] == found
    (unit,) = found["units"]
    assert unit["parameters"] == {"K": 3, "seed": 1}


def test_a_document_of_a_foreign_kind_is_told_by_its_size(call):
    foreign = replace(PARTS, name="words", plan=lambda p: [Step(p)], execute=lambda work: b"two words")
    with registered(foreign):
        said = call("submit", "words", "--param", "numbers=[1]").stderr
        job = said.splitlines()[-1].split()[-1]
        assert document(call, job)["bytes"] == 9
