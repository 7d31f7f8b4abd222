"""Jobs submitted over HTTP: one request is one job, and nothing that a client must not name is read."""

from __future__ import annotations

import json
import shutil
import time

import pytest
from click.testing import CliRunner

from labelgrove.cli import grove
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.routes import submitting
from labelgrove.workers import client as jobs
from tests.unit.service.service_cases import client_of, settings_of, sign_in, token_of

COVER = {"kind": "cover", "parameters": {"ontology": "garden"}}


@pytest.fixture
def home(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def client(home):
    with client_of(home) as opened:
        sign_in(opened)
        yield opened


def printed(home, *arguments):
    done = CliRunner().invoke(grove, [*arguments, "--json"], env={"GROVE_HOME": str(home)})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_request_is_one_job_and_tells_where_it_is(client, home):
    first, second = (client.post("/v1/jobs", json=COVER) for _ in range(2))
    assert (first.status_code, first.json()["state"]) == (202, "pending")
    assert first.json() == second.json()
    assert first.headers["location"] == f"/v1/jobs/{first.json()['id']}"
    assert client.get(first.headers["location"]).json() == first.json()
    assert client.get("/v1/jobs").json()["total"] == 1
    assert first.json()["asked_by"] == "owner"
    with Workspace.open(settings_of(home)) as workspace:
        assert jobs.wait(workspace, first.json()["id"]).finished
    done = client.post("/v1/jobs", json=COVER)
    assert (done.status_code, done.json()["state"]) == (200, "done")
    assert printed(home, "jobs", "submit", "cover", "--param", "ontology=garden")["id"] == done.json()["id"]


def test_a_client_may_wait_for_a_job_that_others_run(client):
    waited = client.post("/v1/jobs", json=COVER, headers={"Prefer": "respond-async, wait=0"})
    assert waited.status_code == 202
    for text in ("wait=soon", "wait=-1", "wait=9999", "wait="):
        assert client.post("/v1/jobs", json=COVER, headers={"Prefer": text}).status_code == 400


def test_requests_that_wait_leave_threads_for_others(client):
    for _ in range(submitting._MOST_WAITING):
        assert submitting._waiting.acquire(blocking=False)
    try:
        began = time.monotonic()
        answer = client.post("/v1/jobs", json=COVER, headers={"Prefer": "wait=30"})
        assert (answer.status_code, answer.json()["state"]) == (202, "pending")
        assert time.monotonic() - began < 15
    finally:
        for _ in range(submitting._MOST_WAITING):
            submitting._waiting.release()


def test_cancelled_jobs_can_be_tried_again(client):
    job = client.post("/v1/jobs", json=COVER).json()["id"]
    cancelled = client.post(f"/v1/jobs/{job}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    again = client.post(f"/v1/jobs/{job}/retry")
    assert (again.status_code, again.json()["state"]) == (202, "pending")
    assert client.post(f"/v1/jobs/{job}/retry").status_code == 409
    assert client.post(f"/v1/jobs/{'0' * 64}/cancel").status_code == 404


def test_kinds_and_estimates_are_those_of_the_command_line(client, home):
    assert client.get("/v1/kinds").json()["items"] == printed(home, "jobs", "kinds")
    estimated = client.post("/v1/estimate", json=COVER).json()
    told = printed(home, "jobs", "submit", "cover", "--param", "ontology=garden", "--estimate")
    assert {k: v for k, v in estimated.items() if k != "free_bytes"} == {
        k: v for k, v in told.items() if k != "free_bytes"
    }
    assert client.get("/v1/jobs").json()["total"] == 0


EVALUATION = {"ontology": "garden", "truth": "/etc/passwd", "outputs": "/etc/passwd"}
REFUSED = {
    "an unknown kind": ({"kind": "magic"}, 400),
    "a file": ({"kind": "evaluation", "parameters": EVALUATION}, 400),
    "an address": ({"kind": "evaluation", "parameters": {"ontology": "garden", "truth": "http://x/"}}, 400),
    "an ingest": ({"kind": "ingest", "parameters": {"ontology": "garden"}}, 400),
    "a rebuild": ({"kind": "rebuild-graph", "parameters": {"request": "x"}}, 400),
    "an experiment": ({"kind": "experiment", "parameters": {"experiment": "calibration"}}, 400),
    "an artifact": ({"kind": "cover", "parameters": {"ontology": "garden", "snapshot": "0" * 64}}, 400),
    "an unknown ontology": ({"kind": "cover", "parameters": {"ontology": "nothing"}}, 404),
    "no ontology": ({"kind": "cover", "parameters": {}}, 400),
    "an unknown parameter": ({"kind": "cover", "parameters": {"ontology": "garden", "color": 1}}, 400),
    "an unknown label": (
        {"kind": "locus", "parameters": {"ontology": "garden", "observed": ["nobody"]}},
        404,
    ),
    "a name for a kind without names": (COVER | {"target": {"ontology": "garden"}}, 400),
    "parameters that are a list": (COVER | {"parameters": []}, 400),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("route", ["jobs", "estimate"])
def test_what_a_client_must_not_ask_is_refused_and_nothing_is_submitted(client, case, route):
    asked, status = REFUSED[case]
    if route == "estimate" and "target" in asked:
        asked, status = {k: v for k, v in asked.items() if k != "target"} | {"parameters": []}, 400
    answer = client.post(f"/v1/{route}", json=asked)
    assert answer.status_code == status, answer.text
    assert client.get("/v1/jobs").json()["total"] == 0


def test_a_restricted_token_submits_only_for_its_ontologies(home):
    header = token_of(home, "mine", "read", "work", ontologies=["odd"])
    with client_of(home, local=False) as client:
        sent = {"headers": header}
        assert client.post("/v1/jobs", json=COVER, **sent).status_code == 404
        assert client.post("/v1/estimate", json=COVER, **sent).status_code == 404
        mine = client.post("/v1/jobs", json={"kind": "cover", "parameters": {"ontology": "odd"}}, **sent)
        assert (mine.status_code, mine.json()["asked_by"]) == (202, "token:mine")
        with Workspace.open(settings_of(home)) as workspace:
            other = jobs.submit(workspace, "cover", {"ontology": "garden"}, wait=False)
            digest = workspace.catalog.current("garden")
        for action in ("cancel", "retry"):
            assert client.post(f"/v1/jobs/{other.id}/{action}", **sent).status_code == 404
        for name in (digest, f"garden@{digest[:8]}"):
            asked = {"kind": "cover", "parameters": {"ontology": name}}
            assert client.post("/v1/jobs", json=asked, **sent).status_code == 404
        named = {"kind": "bundle", "parameters": {"ontology": "odd", "observed": ["root"]}}
        into = named | {"target": {"ontology": "garden", "bundle": "x"}}
        assert client.post("/v1/jobs", json=into, **sent).status_code == 404
