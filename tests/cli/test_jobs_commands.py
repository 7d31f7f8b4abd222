"""``grove jobs`` on the embedded default: ask, follow, cancel, retry, look into, and have the clock ask."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import delete_ontology
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client
from labelgrove.workers.kinds import JobKind, Step
from tests.integration.workers_support import add_version, as_given, registered

pytestmark = pytest.mark.long

GARDEN = LabelGraph.from_edges([("tree", "plant"), ("oak", "tree"), ("elm", "tree"), ("moss", "plant")])
COVER = ("cover", "--param", "ontology=garden")


@pytest.fixture
def call(call):
    with Workspace.open(Settings.from_env()) as workspace:
        add_version(workspace, "garden", GARDEN)
    return call


@pytest.fixture
def job(call):
    def run(*arguments: str, code: int = 0) -> dict:
        return json.loads(call("jobs", *arguments, "--json", code=code).stdout)

    return run


def _broken(work):
    raise ValueError(f"no {work.parameters['what']}")


BROKEN = JobKind("broken", 1, as_given, lambda parameters: [Step(parameters)], _broken)


def test_a_request_is_followed_to_its_end_and_computed_once(job, call):
    first = job("submit", *COVER)
    assert (first["state"], first["units"]) == ("done", {"done": 1})
    assert job("submit", *COVER, "--param", "metric=auto") == first
    said = call("jobs", "watch", first["id"][:8]).stderr
    short = first["id"][:12]
    assert said == f"job {short} is done: 1 of 1 units done\nsee the result: grove jobs result {short}\n"


def test_the_first_request_of_a_new_home_is_recorded_without_a_word_of_room(tmp_path, monkeypatch):
    monkeypatch.setenv("GROVE_HOME", str(tmp_path / "new" / "home"))
    asked = ("jobs", "submit", "rebuild-graph", "--param", "request=first", "--detach")
    result = CliRunner().invoke(grove, asked)
    assert (result.exit_code, result.exception) == (0, None)


def test_values_are_json_text_or_files(job, call):
    Path("mine.txt").write_text("oak\nmoss\n")
    name = ("--target", "ontology=garden", "--target", "bundle=mine")
    listed = job("submit", "bundle", "--param", "ontology=garden", "--param", 'observed=["oak", "moss"]')
    read = job("submit", "bundle", "--param", "ontology=garden", "--param", "observed=@mine.txt", *name)
    assert listed["id"] == read["id"]
    assert json.loads(call("bundle", "inspect", "garden/mine", "--json").stdout)["observed"] == [
        "oak",
        "moss",
    ]
    summary = ("submit", "summary", "--param", "ontology=garden", "--param", "target=2")
    assert job(*summary, "--param", "cap=0.50", "--detach")["parameters"]["cap"] == "0.5"


def test_label_keys_are_a_file_or_keys_as_elsewhere(job, call):
    Path("mine.txt").write_text("oak\nmoss\n")
    garden = ("submit", "bundle", "--param", "ontology=garden")
    ways = ("mine.txt", "oak,moss", "@mine.txt", '["oak", "moss"]')
    assert len({job(*garden, "--param", f"observed={way}")["id"] for way in ways}) == 1
    leaves = job(*garden, "--param", "observed=oak", "--param", "labels=leaves")
    assert leaves["parameters"]["labels"] == "leaves"
    for given, code, said in (
        ("[2, 4]", 2, 'label keys are text; write ["2", "4"]'),
        ("[oak, elm]", 2, "is not a JSON list"),
        ("545", 4, "'545'"),
        ("gone.txt", 4, "gone.txt: there is no such file"),
    ):
        assert said in call("jobs", *garden, "--param", f"observed={given}", code=code).stderr


def test_lists_are_short_and_whole(call, job):
    made = job("submit", *COVER)
    header, _, row = call("jobs", "list").stdout.splitlines()
    assert header.split() == ["id", "kind", "ontology", "state", "seconds", "stale", "created_at", "error"]
    assert row.split()[:4] == [made["id"][:12], "cover", "garden", "done"]
    with registered(JobKind("wordy", 1, as_given, lambda parameters: [Step(parameters)], _wordy)):
        call("jobs", "submit", "wordy", code=1)
    assert "word " * 50 + "end" in call("jobs", "list").stdout


def _wordy(work):
    raise ValueError("word " * 50 + "end")


def test_kinds_are_listed_with_their_parameters(call, job):
    listed = {kind["kind"]: {p["name"]: p for p in kind["parameters"]} for kind in job("kinds")}
    assert listed["summary"]["target"]["required"]
    assert listed["summary"]["seed"]["default"] == 0
    assert not listed["summary"]["snapshot"]["required"]
    assert "capped, neighbourhood, node or subtree" in call("jobs", "kinds").stdout


def test_an_estimate_submits_nothing(job, call):
    said = job("submit", *COVER, "--estimate")
    assert said["units"] == 1
    assert said["n_bytes"] > 0
    assert said["seconds"] is None
    assert "unknown" in call("jobs", "submit", *COVER, "--estimate").stdout
    bundle = ("submit", "bundle", "--param", "ontology=garden", "--param", 'observed=["oak", "moss"]')
    said = job(*bundle, "--estimate")
    assert 500 < said["n_bytes"] < 20_000
    assert said["seconds"] > 0
    with registered(BROKEN):
        refused = call("jobs", "submit", "broken", "--param", "what=luck", "--estimate", code=2)
    assert "has no estimate" in refused.stderr
    assert job("list") == []


def test_an_older_version_is_worked_on_when_it_is_named_and_said_to_be_older(job, call):
    grown = LabelGraph.from_edges(
        [*((child, parent) for child, parent, _, _ in GARDEN.edges()), ("fir", "tree")]
    )
    with Workspace.open(Settings.from_env()) as workspace:
        add_version(workspace, "garden", grown)
    older = f"ontology=garden@{GARDEN.digest[:8]}"
    asked = call("jobs", "submit", "cover", "--param", older, "--json")
    told = f"garden@{GARDEN.digest[:12]} is not the current version of garden, which is {grown.digest[:12]}"
    assert told in asked.stderr
    made = json.loads(asked.stdout)
    assert (made["state"], made["stale"], made["parameters"]["ontology"]) == ("done", True, GARDEN.digest)
    asked = call("jobs", "submit", "cover", "--param", f"ontology=garden@{grown.digest}", "--json")
    assert "not the current version" not in asked.stderr
    assert json.loads(asked.stdout)["stale"] is False


@pytest.mark.parametrize("by", ["garden@{digest}", "{digest}"])
def test_a_version_that_was_deleted_is_not_found_and_the_others_are_named(job, call, by):
    grown = LabelGraph.from_edges([("fir", "tree"), ("tree", "plant")])
    with Workspace.open(Settings.from_env()) as workspace:
        add_version(workspace, "garden", grown)
        delete_ontology(workspace, "garden", version=GARDEN.digest)
    asked = by.format(digest=GARDEN.digest)
    said = call("jobs", "submit", "cover", "--param", f"ontology={asked}", code=4).stderr
    assert GARDEN.digest in said
    assert ("only " + grown.digest[:12] if "@" in asked else "(known: garden)") in said
    assert "ingest" in said
    assert job("list") == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nonsense",), 2, "job kind 'nonsense' is not known here; known kinds: bundle"),
        (("cover", "--param", "ontology=weeds"), 4, "'weeds' is not in the catalog (known: garden)"),
        (("cover", "--param", "ontology=garden@0000"), 4, "has no version '0000'"),
        (("cover",), 2, "cover needs ontology; optional: identifying, labels, method, metric"),
        ((*COVER, "--param", "methd=small"), 2, "methd"),
        ((*COVER, "--param", "method"), 2, "--param 'method': write NAME=VALUE"),
        ((*COVER, "--param", "ontology=garden"), 2, "--param ontology: is given twice"),
        ((*COVER, "--param", "method=@gone.txt"), 4, "gone.txt"),
        ((*COVER, "--param", "method=@oak"), 4, "no file oak"),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused(call, job, arguments, code, said):
    assert said in call("jobs", "submit", *arguments, code=code).stderr
    assert job("list") == []


def test_lists_are_of_a_state_or_a_kind(job):
    done, waiting = job("submit", *COVER), job("submit", *COVER, "--param", "method=small", "--detach")
    ids = {
        state: [found["id"] for found in job("list", "--state", state)]
        for state in ("pending", "running", "done", "failed", "cancelled")
    }
    assert ids == {
        "pending": [waiting["id"]],
        "running": [],
        "done": [done["id"]],
        "failed": [],
        "cancelled": [],
    }
    assert job("list", "--kind", "bundle") == []
    assert len(job("list", "--kind", "cover")) == 2
    assert len(job("list", "--limit", "1")) == 1


def test_cancel_is_for_all_and_retry_takes_it_up(call, job):
    made = job("submit", *COVER, "--detach")
    result = call("jobs", "cancel", made["id"][:12], "--json")
    assert "cancelled for everyone who submitted it" in result.stderr
    assert json.loads(result.stdout)["state"] == "cancelled"
    watched = call("jobs", "watch", made["id"], code=1)
    assert "is cancelled; see `grove jobs logs" in watched.stderr
    assert job("retry", made["id"], "--detach")["state"] == "pending"
    assert job("watch", made["id"])["state"] == "done"
    assert (
        "only a failed or cancelled job can be tried again"
        in call("jobs", "retry", made["id"], code=1).stderr
    )
    assert "only a pending or running job" in call("jobs", "cancel", made["id"], code=1).stderr
    for verb in ("watch", "cancel", "retry", "logs", "show"):
        assert "there is no job 'ffff'" in call("jobs", verb, "ffff", code=4).stderr


def test_a_failed_job_ends_with_1_and_its_log_says_why(call, job):
    with registered(BROKEN):
        result = call("jobs", "submit", "broken", "--param", "what=luck", "--json", code=1)
        made = json.loads(result.stdout)
        assert f"job {made['id'][:12]} is failed: ValueError: no luck" in result.stderr
        call("jobs", "watch", made["id"], code=1)
        call("jobs", "retry", made["id"], code=1)
    log = call("jobs", "logs", made["id"], "--json")
    (unit,) = json.loads(log.stdout)
    assert (unit["state"], unit["attempts"], unit["error"]) == ("failed", 1, "ValueError: no luck")
    assert unit["claimed_at"] <= unit["ended_at"]
    assert unit["seconds"] >= 0
    assert "only the last attempt" in log.stderr
    assert "no luck" in call("jobs", "logs", made["id"]).stdout


def test_a_log_with_little_in_it_says_so(call, job):
    wide = JobKind(
        "wide",
        1,
        as_given,
        lambda given: [*(Step({"n": n}) for n in range(3)), Step({}, 1)],
        lambda work: None,
    )
    with registered(wide):
        made = job("submit", "wide", "--detach")
    log = call("jobs", "logs", made["id"], "--limit", "3", "--json")
    assert [unit["stage"] for unit in json.loads(log.stdout)] == [0, 0, 0]
    assert "1 more units; raise --limit" in log.stderr
    assert "no unit has been claimed" in log.stderr


def test_a_broker_that_is_away_ends_a_submit_before_it_waits(call, job, monkeypatch):
    monkeypatch.setenv("GROVE_BROKER_URL", "redis://127.0.0.1:1/0")
    assert "127.0.0.1:1" in call("jobs", "submit", *COVER, code=5).stderr
    assert job("list") == []


def _read_on(terminal):
    try:
        return terminal.read(65_536)
    except OSError as error:
        if error.errno != errno.EIO:  # nobody holds the other end any more
            raise
        return b""


def test_a_terminal_sees_a_bar_and_no_lines(job):
    made = job("submit", *COVER, "--detach")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "labelgrove", "jobs", "watch", made["id"]]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            seen = b"".join(iter(lambda: _read_on(terminal), b"")).decode()
        assert b"done" in process.stdout.read()
    assert process.returncode == 0
    assert "\x1b[" in seen
    assert "units done" not in seen


def test_the_clock_asks(call, job):
    added = job("schedule", "add", "nightly", "--cron", "30 2 * * mon-FRI", *COVER)
    assert (added["name"], added["kind"], added["last_job"]) == ("nightly", "cover", None)
    assert added["next_at"].endswith("T02:30:00Z")
    assert (
        "'nightly' is taken"
        in call("jobs", "schedule", "add", "nightly", "--cron", "0 0 * * *", *COVER, code=1).stderr
    )
    assert job("schedule", "list") == [added]
    with Workspace.open(Settings.from_env()) as workspace:
        with workspace.engine.begin() as connection:
            connection.execute(sa.text("UPDATE schedule SET next_at = 0"))
        other = client.submit(workspace, "cover", {"ontology": "garden", "method": "small"})  # sweeps
    (fired,) = job("schedule", "list")
    assert fired["last_due_at"].endswith("T02:30:00Z")
    assert {found["id"] for found in job("list")} == {other.id, fired["last_job"]}
    assert job("watch", fired["last_job"])["state"] == "done"
    call("jobs", "schedule", "remove", "nightly")
    assert job("schedule", "list") == []
    assert "there is no schedule" in call("jobs", "schedule", "remove", "nightly", code=4).stderr


@pytest.mark.parametrize(
    ("cron", "request_", "code", "said"),
    [
        ("61 * * * *", COVER, 2, "minute is '61'; give * or 0-59"),
        ("0 0 30 2 *", COVER, 2, "is never due"),
        ("0 0 * * *", ("nonsense",), 2, "job kind 'nonsense'"),
        ("0 0 * * *", ("cover", "--param", "ontology=weeds"), 4, "'weeds'"),
    ],
)
def test_a_schedule_that_breaks_a_rule_is_refused(call, job, cron, request_, code, said):
    assert said in call("jobs", "schedule", "add", "s", "--cron", cron, *request_, code=code).stderr
    assert job("schedule", "list") == []


@pytest.mark.parametrize("name", ["", "\udcff", "%", "_", "x", "A"])
def test_what_is_no_beginning_of_an_id_names_no_job(call, job, name):
    job("submit", *COVER)  # the only one, so that a name of any id would be its
    for verb in ("show", "cancel", "retry", "logs"):
        assert "there is no job" in call("jobs", verb, "--", name, code=4).stderr


def test_bytes_that_are_no_text_are_refused(call):
    assert "not UTF-8" in call("jobs", "schedule", "remove", "\udcff", code=2).stderr
    assert "not UTF-8" in call("jobs", "list", "--kind", "\udcff", code=2).stderr
