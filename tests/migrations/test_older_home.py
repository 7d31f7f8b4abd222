"""A home, a bundle, a saved adapter and a ledger of jobs that an older commit wrote are used as they are.

`write_older_home.sh` says how they were made, and with which commit.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from labelgrove.adapter.scorer import Adapter
from labelgrove.cli import grove

ARCHIVE = Path(__file__).with_name("older_home.tar.xz")

REQUESTS = {
    "cover": ["cover", "ontology=animals"],
    "distances": ["distances", "ontology=web", "block=8"],
    "evaluation": [
        *("evaluation", "ontology=animals", "bundle=mine", "model=m1"),
        *("outputs=probabilities.npy", "truth=truth.txt"),
    ],
    "locus": ["locus", "ontology=web", "observed=w03,w11,w20"],
    "locus_tree": ["locus", "ontology=animals", "observed=@observed.txt"],
    "selection": ["selection", "ontology=animals", "n=5", "observed=n005,n012"],
    "summary": ["summary", "ontology=web", "target=8"],
    "rebuild": ["rebuild-graph", "request=once"],
}
"""What was requested then, by the name of the file with its result.

An experiment names the versions of the libraries that it ran with: the same request is another job today.
"""

RAISED = {"locus", "locus_tree"}
"""The requests of kinds that have another version today, so that the same request is another job."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack what the older commit wrote."""
    folder = tmp_path_factory.mktemp("written")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def older(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a copy of it, as the current folder and the home of every command."""
    folder = tmp_path / "older"
    shutil.copytree(written, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GROVE_HOME", str(folder / "home"))
    return folder


def run(*arguments: str) -> str:
    result = CliRunner().invoke(grove, list(arguments))
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def submitted(name: str) -> dict:
    kind, *parameters = REQUESTS[name]
    return json.loads(run("jobs", "submit", kind, *(f"--param={text}" for text in parameters), "--json"))


def jobs_then(folder: Path) -> dict[str, str]:
    return dict(line.split() for line in (folder / "jobs.txt").read_text().splitlines())


def test_the_ontologies_are_there_with_both_versions(older):
    rows = json.loads(run("ontology", "list", "--json"))
    assert {(row["ontology"], row["n_labels"], row["n_edges"]) for row in rows} == {
        ("animals", 60, 59),
        ("web", 30, 36),
    }
    then = json.loads((older / "cypher.json").read_text())
    query = "MATCH (l:Label {version: $version}) RETURN l.key, l.name, l.depth ORDER BY l.idx"
    assert json.loads(run("cypher", "--ontology", "animals", query, "--json")) == then
    assert "again" in run("ingest", "animals", "fewer.csv")
    assert json.loads(run("ontology", "show", "animals", "--json"))["n_labels"] == 50


def test_a_source_reads_as_the_version_that_it_was(older):
    """The rules of canonical order and digests have not changed."""
    before = json.loads(run("ontology", "show", "animals", "--json"))["digest"]
    run("ingest", "copy", "animals.csv")
    assert json.loads(run("ontology", "show", "copy", "--json"))["digest"] == before


def result_then(folder: Path, name: str) -> dict:
    """Return what `grove jobs result` printed, its rules under the names of today."""
    text = (folder / f"result-{name}.json").read_text()
    return json.loads(text.replace('"loki"', '"frechet_mean"') if name == "evaluation" else text)


@pytest.mark.parametrize("name", [*REQUESTS, "experiment"])
def test_results_are_printed_as_they_were(older, name):
    now = json.loads(run("jobs", "result", jobs_then(older)[name], "--json"))
    assert now == result_then(older, name)


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in RAISED])
def test_the_same_request_is_the_same_job_and_is_done(older, name):
    then = {row["id"]: row for row in json.loads((older / "jobs.json").read_text())}
    now = submitted(name)
    assert now["id"] == jobs_then(older)[name]
    assert now["finished_at"] == then[now["id"]]["finished_at"]


@pytest.mark.parametrize("name", sorted(RAISED))
def test_the_same_request_of_a_raised_kind_is_another_job(older, name):
    now, then = submitted(name), result_then(older, name)
    assert now["id"] != jobs_then(older)[name]
    found = json.loads(run("jobs", "result", now["id"], "--json"))
    assert (found["status"], found["labels"]) == (then["status"], then["labels"])


def test_a_job_that_waited_is_computed(older):
    job = json.loads((older / "waiting.json").read_text())["id"]
    run("jobs", "watch", job)
    assert json.loads(run("jobs", "show", job, "--json"))["state"] == "done"


def test_a_job_that_waits_for_an_older_version_of_its_kind_says_how_to_go_on(older):
    job = json.loads((older / "waiting_for_older_kind.json").read_text())["id"]
    result = CliRunner().invoke(grove, ["jobs", "watch", job])
    assert result.exit_code == 1
    assert "submit it again" in result.stderr


def test_a_job_of_a_worker_that_died_goes_on_from_its_done_units(older):
    job = json.loads((older / "halfway.json").read_text())["id"]
    run("jobs", "watch", job)
    shown = json.loads(run("jobs", "show", job, "--json"))
    assert (shown["state"], shown["units"]) == ("done", {"done": 5})
    attempts = [row["attempts"] for row in json.loads(run("jobs", "logs", job, "--json"))]
    assert sorted(attempts) == [1, 1, 1, 1, 2], (
        "the unit in the hands of the dead worker alone is tried again"
    )


def test_schedules_are_kept(older):
    (row,) = json.loads(run("jobs", "schedule", "list", "--json"))
    assert (row["name"], row["kind"]) == ("leap-day", "cover")


def test_scores_are_those_of_then(older):
    then = json.loads((older / "score.json").read_text())
    command = ("score", "animals/mine", "probabilities.npy", "--columns", "observed.txt", "--top", "3")
    assert json.loads(run(*command, "--json")) == then


@pytest.mark.parametrize(
    "opened",
    [lambda: Adapter.load("animals/mine"), lambda: Adapter.from_pretrained("saved")],
    ids=["bundle", "saved adapter"],
)
def test_adapters_answer_as_then(older, opened: Callable[[], Adapter]):
    then = json.loads((older / "adapter.json").read_text())
    probabilities = np.load(older / "probabilities.npy")
    adapter = opened()
    assert list(adapter.predict(probabilities)) == then["predict"]
    assert [list(row) for row in adapter.top_k(probabilities, 3).keys] == then["top_k"]


def test_a_home_backed_up_and_restored_is_the_same(older, monkeypatch):
    run("backup", "kept")
    monkeypatch.setenv("GROVE_HOME", str(older / "restored"))
    run("restore", "kept")
    for name, job in jobs_then(older).items():
        assert json.loads(run("jobs", "result", job, "--json")) == result_then(older, name)
