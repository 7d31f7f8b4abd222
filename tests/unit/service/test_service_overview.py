"""HOME: what is known of each ontology, what the doctor noted, and a search of all of them."""

import threading
import time

import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.kept.checkup import Checkup
from labelgrove.service.limits import Limits
from labelgrove.workers import client as jobs
from labelgrove.workers.ledger.states import State
from tests.services import patient
from tests.unit.service.service_cases import ODD_KEYS, add, client_of, settings_of, sign_in

WAIT_S = patient(60.0)


def noted(ask, wait_s=WAIT_S):
    """Return the notes as soon as there are some."""
    until = time.monotonic() + wait_s
    while (found := ask()) is None:
        assert time.monotonic() < until
        threading.Event().wait(0.05)
    return found


# ---- ontologies ------------------------------------------------------------------------------------


def test_each_ontology_has_its_depth_and_versions(reader):
    found = {one["ontology"]: one for one in reader.get("/v1/overview").json()["ontologies"]}
    assert {name: one["depth"] for name, one in found.items()} == {
        "garden": 2,
        "wide": 2,
        "odd": 2,
        "grid": None,
    }
    assert {name: one["n_versions"] for name, one in found.items()} == {
        "garden": 2,
        "wide": 1,
        "odd": 1,
        "grid": 1,
    }
    assert {(one["stale_jobs"], one["evaluation"]) for one in found.values()} == {(0, None)}
    listed = {one["ontology"]: one for one in reader.get("/v1/ontologies").json()["items"]}
    assert {name: {**one, **listed[name]} for name, one in found.items()} == found
    page = reader.get("/").text
    assert "undirected" in page
    assert "depth <b>2</b>" in page


def test_stale_jobs_and_the_newest_verdict_are_those_of_the_ledger(resulting):
    home, ids = resulting
    with client_of(home) as client:
        for _ in range(2):  # the second answer uses what the first one kept
            (one,) = client.get("/v1/overview").json()["ontologies"]
            verdict = client.get(f"/v1/jobs/{ids['evaluation']}/result").json()["document"]["verdict"]
            assert one["stale_jobs"] == client.get("/v1/jobs?stale=true").json()["total"] == 2
            assert one["evaluation"] == {
                "job": ids["evaluation"],
                "model": "<b>net</b>",
                "answer": verdict["answer"],
                "stale": True,
            }
        page = client.get("/").text
        assert "2 stale jobs" in page
        assert f"&lt;b&gt;net&lt;/b&gt;</bdi>: {verdict['answer']}" in page
        assert f"/jobs/{ids['evaluation']}/result" in page


def test_a_job_that_waits_is_shown_until_it_is_done(tmp_path):
    add(tmp_path, "garden", LabelGraph.from_edges([("oak", "tree")]))
    with client_of(tmp_path) as client, Workspace.open(settings_of(tmp_path)) as workspace:
        job = jobs.submit(workspace, "cover", {"ontology": "garden"}, wait=False)
        waiting = client.get("/v1/overview").json()["unfinished"]
        assert [(one["id"], one["state"]) for one in waiting] == [(job.id, "pending")]
        assert "Running and waiting" in client.get("/").text
        assert jobs.wait(workspace, job.id).state is State.DONE
        assert client.get("/v1/overview").json()["unfinished"] == []
        assert "Running and waiting" not in client.get("/").text


# ---- the doctor ------------------------------------------------------------------------------------


def test_only_the_owner_sees_notes(tmp_path):
    with client_of(tmp_path) as client:
        checkup = client.app.state.shared.checkup
        noted(checkup.notes)
        checkup._notes = [{"part": "disk", "ok": None, "uses": "/<b>", "detail": "free some space"}]
        assert client.get("/v1/overview").json()["notes"] is None
        assert "free some space" not in client.get("/").text
        sign_in(client)
        assert client.get("/v1/overview").json()["notes"] == checkup._notes
        page = client.get("/").text
        assert "free some space" in page
        assert "/&lt;b&gt;" in page


def test_notes_are_what_grove_doctor_says(tmp_path):
    with client_of(tmp_path) as client:
        sign_in(client)
        assert client.get("/").status_code == 200
        assert noted(lambda: client.get("/v1/overview").json()["notes"]) == []
        assert "Health" not in client.get("/").text


def test_what_is_wrong_is_noted_with_its_fix(tmp_path):
    add(tmp_path, "garden", LabelGraph.from_edges([("oak", "tree")]))
    (tmp_path / "elsewhere").mkdir()
    settings = Settings.from_env(
        {"GROVE_HOME": str(tmp_path), "GROVE_ARTIFACTS_URL": str(tmp_path / "elsewhere")}
    )
    checkup = Checkup(settings)
    found = {one["part"]: one for one in noted(checkup.notes)}
    assert found["artifacts"]["ok"] is False
    assert "GROVE_ARTIFACTS_URL" in found["artifacts"]["detail"]
    assert all(one["ok"] is not True and one["part"] != "wordnet" for one in found.values())


def test_nobody_waits_for_a_server_that_is_silent_and_closing_ends_the_run(tmp_path):
    """The address is reserved for documentation (RFC 5737): nothing answers there."""
    checkup = Checkup(
        Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_BROKER_URL": "redis://192.0.2.1:6379"})
    )
    began = time.monotonic()
    assert checkup.notes() is None
    assert checkup.notes() is None
    assert time.monotonic() - began < patient(1)
    running = checkup._process
    assert running is not None
    checkup.close()
    assert running.wait(WAIT_S) != 0
    (said,) = noted(checkup.notes)
    assert (said["part"], said["ok"]) == ("doctor", False)


def test_it_is_asked_again_only_after_some_time(tmp_path):
    for every_s, again in ((3_600.0, False), (0.0, True)):
        checkup = Checkup(settings_of(tmp_path), every_s=every_s)
        assert noted(checkup.notes) == []
        checkup.notes()
        with checkup._lock:
            assert (checkup._process is not None) == again
        checkup.close()


# ---- search ----------------------------------------------------------------------------------------


def test_a_text_is_found_in_every_ontology_the_best_match_first(reader):
    found = reader.get("/v1/search?q=c0000").json()
    assert [one["ontology"] for one in found["items"]] == ["wide"]
    found = reader.get("/v1/search?q=tree&limit=3").json()
    assert found["items"][0]["ontology"] == "garden"
    for text in ("o", "e", "leaf", "many", "root", "1"):
        found = reader.get("/v1/search", params={"q": text, "limit": 3}).json()
        alone = {}
        for name in ("garden", "grid", "odd", "wide"):
            one = reader.get(f"/v1/ontologies/{name}/labels", params={"q": text, "limit": 3}).json()
            if one["total"]:
                alone[name] = {key: one[key] for key in ("ontology", "version", "items", "total")}
        assert {one["ontology"]: one for one in found["items"]} == alone
        assert found["total"] == sum(one["total"] for one in alone.values())


@pytest.mark.parametrize("text", ["", " ", *ODD_KEYS], ids=range(2 + len(ODD_KEYS)))
def test_any_text_can_be_searched_everywhere(reader, text):
    found = reader.get("/v1/search", params={"q": text}).json()
    page = reader.get("/search", params={"q": text})
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    wanted = [] if not text.strip() else [text]
    assert [item["key"] for one in found["items"] for item in one["items"]][:1] == wanted


def test_a_search_of_everything_closes_no_version_to_open_another(tmp_path):
    for name in ("one", "two", "three"):
        add(tmp_path, name, LabelGraph.from_edges([("oak", name)]))
    with client_of(tmp_path, Limits(requests_per_second=0, open_versions=1)) as client:
        client.get("/v1/ontologies/one/label?key=oak")
        assert len(client.get("/v1/search?q=oak").json()["items"]) == 3
        kept = client.app.state.shared.versions._opened
        assert [one.version.ontology for one in kept.values()] == ["one"]
