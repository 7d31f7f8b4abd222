"""Uploads: names and contents that somebody made up, what is told of defects, and what is left behind."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

from labelgrove.service.limits import Limits
from labelgrove.service.schemas import ProblemDocument
from tests.unit.service.service_cases import client_of, sign_in

SOUND = b"id;name;parent\na;A;\nb;B;a\n"
LOOP = b"id;name;parent\nr;R;\na;A;b\nb;B;a\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder for temporary files, which is empty after each test."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    yield path
    assert [*path.iterdir()] == []


def send(client, content, name="a.csv", route="validate", **form):
    return client.post(f"/v1/ontologies/mine/{route}", files={"file": (name, content)}, data=form)


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/cron.d/a.csv",
        "/etc/passwd",
        "..",
        "...",
        "a\\..\\b.csv",
        "C:\\a.csv",
        "~/a.csv",
        "-rf.csv",
        "a\x00.csv",
        "a\r\nX-Injected: 1.csv",
        "<script>.csv",
        "שלום.csv",
        "x" * 2_000 + ".csv",
        "http://evil.example/a.csv",
        "file:///etc/passwd",
        "$(reboot).csv",
    ],
    ids=range(16),
)
def test_a_hostile_name_of_a_file_is_only_a_name(owner, folder, name):
    answer = send(owner, SOUND, name)
    assert answer.status_code == 200, answer.text
    assert answer.json()["n_labels"] == 2
    source = answer.json()["source"]
    assert Path(source).name == source
    assert str(folder) not in answer.text
    assert "x-injected" not in answer.headers


@pytest.mark.parametrize(
    ("content", "name", "form"),
    [
        (LOOP, "a.csv", {}),
        (b"\x00\x01\xff", "a.bin", {}),
        (b"", "a.csv", {}),
        (b"\x1f\x8bnot gzip", "a.csv.gz", {}),
        (gzip.compress(SOUND)[:-9], "a.csv.gz", {}),
        (b"<html></html>", "a.owl", {}),
        (SOUND, "a.csv", {"format": "wordnet"}),
        (SOUND, "a.csv", {"format": "taxdump"}),
        (SOUND, "a.csv", {"format": "nothing"}),
        (SOUND, "a.csv", {"delimiter": "too long"}),
        (SOUND, "a.csv", {"policy": "cycle"}),
        (SOUND, "a.csv", {"policy": "nothing=fix"}),
        (SOUND, "a.csv", {"direction": "sideways"}),
        (SOUND, "data.noun", {}),
        (SOUND, "nodes.dmp", {}),
        (b"@prefix : <file:///etc/passwd> .", "a.ttl", {}),
    ],
    ids=range(16),
)
@pytest.mark.parametrize("route", ["validate", pytest.param("ingest", marks=pytest.mark.long)])
def test_no_answer_names_a_folder_of_this_machine(owner, folder, content, name, form, route):
    answer = send(owner, content, name, route, **form)
    assert answer.status_code in (200, 202, 400, 422)
    assert str(folder) not in answer.text
    assert "grove-upload" not in answer.text
    if answer.status_code == 202:
        assert "grove-upload" not in owner.get(answer.headers["location"]).text


def test_defects_are_told_with_file_and_line_and_nothing_is_submitted(owner):
    answer = send(owner, LOOP, "garden.csv", "ingest")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    problem = ProblemDocument.model_validate(answer.json())
    assert (problem.type, problem.exit_code) == ("/reference#problem-defects", 3)
    assert problem.detail.startswith("garden.csv: ")
    report = answer.json()["report"]
    assert report["accepted"] is False
    cycle, roots = report["defects"]
    assert (cycle["code"], roots["code"]) == ("cycle", "roots")
    assert [(one["file"], one["line"]) for one in cycle["examples"]] == [("garden.csv", 3)]
    assert cycle["places"] == ["garden.csv:3"]
    assert owner.get("/v1/jobs").json()["items"] == []
    checked = send(owner, LOOP, "garden.csv")
    assert (checked.status_code, checked.json()) == (200, report)


def test_a_policy_decides_what_becomes_of_a_defect(owner):
    content = b"child,parent\nb,a\nb,a\nc,b\n"
    assert send(owner, content).json()["accepted"] is True
    refused = send(owner, content, policy="duplicate-edge=error")
    assert refused.json()["accepted"] is False
    both = send(owner, content, policy=["duplicate-edge=error", "duplicate-edge=fix"])
    assert both.json()["accepted"] is True


def test_gzip_is_read_and_the_same_file_is_one_job(owner):
    answers = [send(owner, SOUND, route="ingest") for _ in range(2)]
    answers.append(send(owner, gzip.compress(SOUND), "a.csv.gz", "ingest"))
    assert [answer.status_code for answer in answers] == [202] * 3
    assert len({answer.json()["job"] for answer in answers}) == 1
    assert len(owner.get("/v1/jobs").json()["items"]) == 1
    shown = owner.get(answers[0].headers["location"]).json()
    assert (shown["kind"], shown["state"]) == ("ingest", "pending")


def test_more_than_unpacked_bytes_allowed_is_refused_early(owner):
    bomb = gzip.compress(b"a,b\n" + b"\n" * 50_000_000)
    assert len(bomb) < 100_000
    answer = send(owner, bomb, "a.csv.gz")
    assert answer.status_code in (200, 400, 422)
    assert answer.json().get("accepted", False) is False


@pytest.mark.parametrize("name", ["UPPER", "a b", "x" * 65, ".hidden", "a%2Fb", "%2e%2e"])
def test_a_name_that_no_ontology_may_have_is_refused_before_the_file_is_read(owner, name):
    for route in ("validate", "ingest"):
        answer = owner.post(f"/v1/ontologies/{name}/{route}", files={"file": ("a.csv", b"\x00")})
        assert answer.status_code in (400, 404), answer.text


def test_a_form_without_a_file_is_refused(owner):
    assert owner.post("/v1/ontologies/mine/ingest", data={"file": "text"}).status_code == 400
    assert owner.post("/v1/ontologies/mine/ingest").status_code == 400
    assert send(owner, SOUND, "").status_code == 400


def test_a_file_over_the_limit_is_refused(tmp_path):
    with client_of(tmp_path / "home", Limits(upload_bytes=2_000, requests_per_second=0)) as client:
        sign_in(client)
        assert send(client, SOUND).status_code == 200
        assert send(client, SOUND + b"c;C;a\n" * 400).status_code == 413


def test_what_a_killed_server_left_is_removed_a_day_later(tmp_path, folder):
    old, new, other = (folder / name for name in ("grove-upload-old", "grove-score-new", "others"))
    scored = folder / "grove-score-old"
    for path in (old, scored, new, other):
        path.mkdir()
        (path / "a.csv").write_bytes(SOUND)
    for path in (old, scored, other):
        os.utime(path, (time.time() - 25 * 3600,) * 2)
    with client_of(tmp_path / "home"):
        assert {*folder.iterdir()} == {new, other}
    for path in (new, other):
        shutil.rmtree(path)


def test_more_uploads_than_are_read_at_once_are_asked_to_come_again(tmp_path):
    with client_of(tmp_path / "home", Limits(uploads=0, requests_per_second=0)) as client:
        sign_in(client)
        answer = send(client, SOUND)
        assert (answer.status_code, answer.json()["exit_code"]) == (503, 5)
        assert int(answer.headers["retry-after"]) > 0


def test_an_upload_that_takes_too_long_is_stopped(tmp_path):
    with client_of(tmp_path / "home", Limits(upload_s=0.01, requests_per_second=0)) as client:
        sign_in(client)
        answer = send(client, SOUND)
        assert answer.status_code == 422
        assert "took more than 0.01 s" in answer.json()["detail"]


def test_a_reader_that_crashes_ends_alone_and_its_end_is_told(owner, tmp_path, monkeypatch):
    crashing = tmp_path / "crashing"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crashing.chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(crashing))
        answer = send(owner, SOUND, route="ingest")
    assert answer.status_code == 422
    assert "ended with status -11" in answer.json()["detail"]
    assert send(owner, SOUND, route="ingest").status_code == 202


def test_an_upload_that_no_file_can_keep_is_the_fault_of_the_disk(owner, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    for content in (SOUND, SOUND + b"c;C;a\n" * 400_000):  # which is kept in a file while it arrives
        answer = send(owner, content)
        assert (answer.status_code, answer.json()["exit_code"]) == (503, 5)
        assert "cannot be kept in a file (No such file or directory)" in answer.json()["detail"]
