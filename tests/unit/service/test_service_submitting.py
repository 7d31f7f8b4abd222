"""Jobs submitted over HTTP: one request is one job, and nothing that a client must not name is read."""

from __future__ import annotations

import time

import pytest

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.routes import submitting
from labelgrove.workers import client as jobs
from tests.services import patient
from tests.unit.service.service_cases import client_of, printed, settings_of, token_of

COVER = {"kind": "cover", "parameters": {"ontology": "garden"}}


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
        wait_s = min(60, int(patient(30)))
        began = time.monotonic()
        answer = client.post("/v1/jobs", json=COVER, headers={"Prefer": f"wait={wait_s}"})
        assert (answer.status_code, answer.json()["state"]) == (202, "pending")
        assert time.monotonic() - began < wait_s / 2
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
    "a file": {"kind": "evaluation", "parameters": EVALUATION},
    "an address": {"kind": "evaluation", "parameters": {"ontology": "garden", "truth": "http://x/"}},
    "an ingest": {"kind": "ingest", "parameters": {"ontology": "garden"}},
    "a rebuild": {"kind": "rebuild-graph", "parameters": {"request": "x"}},
    "an experiment": {"kind": "experiment", "parameters": {"experiment": "calibration"}},
    "an artifact": {"kind": "cover", "parameters": {"ontology": "garden", "snapshot": "0" * 64}},
}
"""What a client must not name; `hostile.work` has requests for jobs that break other rules."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_client_must_not_ask_is_refused_and_nothing_is_submitted(client, case):
    for route in ("jobs", "estimate"):
        answer = client.post(f"/v1/{route}", json=REFUSED[case])
        assert answer.status_code == 400, answer.text
    assert client.get("/v1/jobs").json()["total"] == 0


@pytest.mark.parametrize(
    ("kind", "parameters", "status"),
    [
        ("magic", {"ontology": "garden"}, 400),
        ("cover", {"ontology": "nothing"}, 404),
        ("cover", {}, 400),
        ("cover", [], 400),
        ("cover", {"ontology": "garden", "color": 1}, 400),
        ("locus", {"ontology": "garden", "observed": ["nobody"]}, 404),
    ],
)
def test_an_estimate_is_refused_as_its_job_is(client, kind, parameters, status):
    answer = client.post("/v1/estimate", json={"kind": kind, "parameters": parameters})
    assert answer.status_code == status, answer.text


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


def test_units_costs_and_strip_are_those_of_the_command_line(client, home):
    job = client.post("/v1/jobs", json=COVER).json()["id"]
    with Workspace.open(settings_of(home)) as workspace:
        assert jobs.wait(workspace, job).finished
    units = client.get(f"/v1/jobs/{job}/units").json()
    assert units["items"] == printed(home, "jobs", "logs", job)
    assert client.get(f"/v1/jobs/{job}/units?errors=true").json() == {"items": [], "total": 0, "next": None}
    strip = client.get(f"/v1/jobs/{job}/strip?cells=1").json()
    assert strip["total"] == units["total"] == strip["items"][0]["units"]["done"]
    costs = client.get(f"/v1/jobs/{job}/costs").json()
    assert costs == printed(home, "jobs", "costs", job)
    estimated = client.post("/v1/estimate", json=COVER).json()
    assert costs["estimated"] == {k: v for k, v in estimated.items() if k != "free_bytes"}
    assert costs["used"]["n_bytes"] == sum(unit["size"] for unit in units["items"])
    assert client.get(f"/v1/jobs/{job}/units?after=x").status_code == 400


def test_jobs_are_listed_by_ontology_and_by_who_asked(client, home):
    mine = client.post("/v1/jobs", json=COVER).json()["id"]
    with Workspace.open(settings_of(home)) as workspace:
        other = jobs.submit(workspace.seen_by("token:x"), "cover", {"ontology": "odd"}, wait=False).id
    for query, arguments, expected in (
        ("ontology=garden", ["--ontology", "garden"], [mine]),
        ("asked_by=token:x", ["--asked-by", "token:x"], [other]),
        ("asked_by=token:x&ontology=garden", ["--asked-by", "token:x", "--ontology", "garden"], []),
        ("asked_by=owner&stale=true", ["--asked-by", "owner", "--stale"], []),
    ):
        found = client.get(f"/v1/jobs?{query}").json()
        assert [one["id"] for one in found["items"]] == expected
        assert found["total"] == len(expected)
        assert [one["id"] for one in printed(home, "jobs", "list", *arguments)] == expected
