"""Schedules over HTTP: the same as on the command line, and each token sees those of its ontologies."""

from __future__ import annotations

import pytest

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.schedules.schedule import add_schedule
from tests.unit.service.service_cases import client_of, printed, settings_of, token_of

NIGHTLY = {"name": "nightly", "cron": "30 2 * * *", "kind": "cover", "parameters": {"ontology": "garden"}}


def test_schedules_are_those_of_the_command_line(client, home):
    added = client.post("/v1/schedules", json=NIGHTLY)
    assert added.status_code == 201
    assert client.get("/v1/schedules").json() == {"items": [added.json()], "total": 1}
    assert printed(home, "jobs", "schedule", "list") == [added.json()]
    assert client.post("/v1/schedules", json=NIGHTLY).status_code == 409
    assert client.delete("/v1/schedules/nightly").status_code == 204
    assert client.delete("/v1/schedules/nightly").status_code == 404
    assert printed(home, "jobs", "schedule", "list") == []


REFUSED = {
    "no name": ({"name": ""}, 400),
    "a path as a name": ({"name": "../x"}, 400),
    "a cron that never is": ({"cron": "61 * * * *"}, 400),
    "an unknown ontology": ({"parameters": {"ontology": "nothing"}}, 404),
    "an ingest": ({"kind": "ingest"}, 400),
    "a file": ({"kind": "evaluation", "parameters": {"ontology": "garden", "truth": "/etc/passwd"}}, 400),
    "a name for a kind without names": ({"target": {"ontology": "garden"}}, 400),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_client_must_not_ask_is_refused_and_nothing_is_added(client, case):
    change, status = REFUSED[case]
    answer = client.post("/v1/schedules", json=NIGHTLY | change)
    assert answer.status_code == status, answer.text
    assert client.get("/v1/schedules").json()["total"] == 0


def test_a_token_sees_adds_and_removes_only_schedules_about_its_ontologies(home):
    with Workspace.open(settings_of(home)) as workspace:
        digest = str(workspace.catalog.current("garden"))
        for name, asked in {"g": "garden", "h": f"garden@{digest[:8]}", "i": digest, "o": "odd"}.items():
            add_schedule(workspace, name, "0 0 * * *", "cover", {"ontology": asked})
        add_schedule(
            workspace,
            "into-garden",
            "0 0 * * *",
            "bundle",
            {"ontology": "garden", "observed": ["oak"]},
            target={"bundle": "b"},
        )
    header = token_of(home, "mine", "read", "work", ontologies=["odd"])
    with client_of(home, local=False) as client:
        sent = {"headers": header}
        assert [one["name"] for one in client.get("/v1/schedules", **sent).json()["items"]] == ["o"]
        refused = client.delete("/v1/schedules/g", **sent)
        assert (refused.status_code, refused.json()["detail"].count("into-garden")) == (404, 0)
        assert client.post("/v1/schedules", json=NIGHTLY, **sent).status_code == 404
        for asked in (digest, f"garden@{digest[:8]}"):
            changed = NIGHTLY | {"parameters": {"ontology": asked}}
            assert client.post("/v1/schedules", json=changed, **sent).status_code == 404
        into = NIGHTLY | {"kind": "bundle", "parameters": {"ontology": "odd", "observed": ["root"]}}
        into |= {"target": {"ontology": "garden", "bundle": "x"}}
        assert client.post("/v1/schedules", json=into, **sent).status_code == 404
        assert client.delete("/v1/schedules/o", **sent).status_code == 204
    with Workspace.open(settings_of(home)) as workspace:
        from labelgrove.workers.schedules.schedule import Timetable

        assert {one.name for one in Timetable(workspace.engine).schedules()} == {"g", "h", "i", "into-garden"}
