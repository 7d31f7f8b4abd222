"""Commands on loci, covers, selections, summaries and distances are jobs: computed once, then remembered."""

import json
from pathlib import Path

import numpy as np
import pytest

from labelgrove.cli.waiting import following
from labelgrove.ontology.labelgraph import LabelGraph

EDGES = "child,parent\ntree,plant\nmoss,plant\noak,tree\nelm,tree\nholm oak,oak\n"

QUESTIONS = {
    "locus": ("locus", "garden", "--observed", "elm,moss", "--witness", "tree"),
    "pairs": ("locus", "garden", "--observed", "elm,moss", "--method", "pairs"),
    "cover": ("cover", "garden", "--identifying"),
    "check": ("cover", "garden", "--observed", "elm,moss"),
    "plot": ("plot", "locus", "garden", "--observed", "elm,moss", "--out", "locus.png"),
    "select": ("select", "garden", "--observed", "moss", "--budget", "2.5", "--required", "elm"),
    "summarize": ("summarize", "garden", "--target", "3", "--method", "node", "--seed", "1"),
    "summarize alike": ("summarize", "garden", "--target", "2", "--method", "subtree", "--seed", "5"),
}


@pytest.fixture
def garden(call, filled_home):
    Path("garden.csv").write_text(EDGES)
    filled_home(lambda: call("ingest", "garden", "garden.csv"))
    return call


def jobs(call):
    return json.loads(call("jobs", "list", "--json").stdout)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_question_again_is_answered_from_the_ledger(name, garden, monkeypatch):
    question = QUESTIONS[name] if name == "plot" else (*QUESTIONS[name], "--json")
    first = garden(*question)
    (job,) = jobs(garden)
    assert (job["state"], job["units"]) == ("done", {"done": 1})
    (unit,) = json.loads(garden("jobs", "logs", job["id"], "--json").stdout)

    def computed(*_, **__):
        raise AssertionError("it was computed already")

    monkeypatch.setattr("labelgrove.workers.running.pool.execute_unit", computed)
    again = garden(*question)
    assert (again.stdout, again.stderr) == (first.stdout, first.stderr)
    assert json.loads(garden("jobs", "logs", job["id"], "--json").stdout) == [unit]
    assert len(jobs(garden)) == 1


@pytest.mark.parametrize("name", [*QUESTIONS, "distances", "bundle"])
def test_a_command_and_its_job_open_the_snapshot_once(name, garden, monkeypatch):
    more = {
        "distances": ("distances", "garden", "--columns", "moss,elm"),
        "bundle": ("bundle", "build", "garden", "first", "--observed", "elm,moss"),
    }
    monkeypatch.setattr("labelgrove.cli.distances._MOST_SHOWN", 0)  # more are a job
    opened = []
    given = LabelGraph.from_arrays.__func__

    def counted(cls, *content):
        opened.append(content)
        return given(cls, *content)

    monkeypatch.setattr(LabelGraph, "from_arrays", classmethod(counted))
    garden(*(QUESTIONS | more)[name])
    assert [job["state"] for job in jobs(garden)] == ["done"]
    assert len(opened) == 1


def test_what_is_asked_by_name_and_in_another_version_is_another_answer(garden):
    before = json.loads(garden("locus", "garden", "--observed", "elm,moss", "--json").stdout)
    Path("garden.csv").write_text(EDGES + "peat,moss\n")
    garden("ingest", "garden", "garden.csv")
    after = json.loads(garden("locus", "garden", "--observed", "elm,moss", "--json").stdout)
    assert (before["size"], after["size"], before["n_labels"], after["n_labels"]) == (4, 4, 6, 7)
    old = f"garden@{before['digest'][:8]}"
    assert json.loads(garden("locus", old, "--observed", "elm,moss", "--json").stdout) == before


def test_many_distances_are_a_job_and_few_are_not(garden, monkeypatch):
    few = garden("distances", "garden", "--columns", "moss,elm", "--out", "few.npy")
    assert jobs(garden) == []
    monkeypatch.setattr("labelgrove.cli.distances._MOST_SHOWN", 0)
    many = garden("distances", "garden", "--columns", "moss,elm", "--out", "many.npy")
    assert [job["kind"] for job in jobs(garden)] == ["distances"]
    assert np.array_equal(np.load("many.npy"), np.load("few.npy"))
    assert Path("many.columns.txt").read_text() == "moss\nelm\n"
    assert many.stderr.splitlines()[0] == few.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("select", "garden", "-n", "77"), "n: 77 given"),
        (("select", "garden", "--observed", "moss", "--budget", "-1"), "budget: -1.0"),
        (("summarize", "garden", "--target", "3", "--cap", "1"), "cap: 3 supernodes of at most 1"),
        (("summarize", "garden", "--target", "0"), "target"),
    ],
)
def test_a_question_that_has_no_answer_is_refused_as_usage(command, said, garden):
    assert said in garden(*command, code=2).stderr
    assert said in garden(*command, code=2).stderr  # not remembered as an answer


def test_an_answer_takes_no_work_of_others_on(garden):
    garden("jobs", "submit", "cover", "--param", "ontology=garden", "--detach")
    garden("locus", "garden", "--observed", "elm")
    assert {job["kind"]: job["state"] for job in jobs(garden)} == {"cover": "pending", "locus": "done"}


def test_the_next_sweep_shows_the_answer_in_the_graph(garden):
    count = ("cypher", "--ontology", "garden", "MATCH (l:Locus) RETURN count(*) AS n", "--json")
    garden("locus", "garden", "--observed", "elm")
    garden("jobs", "submit", "cover", "--param", "ontology=garden")
    assert json.loads(garden(*count).stdout)["rows"] == [[1]]


@pytest.mark.services
def test_without_a_worker_somebody_who_waits_is_told(garden, redis_url, monkeypatch):
    """The broker is there and nobody listens: the command says so, and ends when the job is cancelled."""
    monkeypatch.setenv("GROVE_BROKER_URL", redis_url)
    monkeypatch.setattr(following, "_PATIENCE_S", 0.0)
    said = []

    def note(message):
        said.append(message)
        if "no worker has taken job" in message:
            (job,) = jobs(garden)
            garden("jobs", "cancel", job["id"])

    monkeypatch.setattr(following, "note", note)
    assert "is cancelled" in garden("locus", "garden", "--observed", "elm", code=1).stderr
    assert any("; Ctrl-C does not stop it" in line for line in said)
    assert sum("start one: grove worker" in line for line in said) == 1
