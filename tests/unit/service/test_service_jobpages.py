"""Pages about jobs: buttons for those who may, forms that do what the routes do, and strips of any length."""

from __future__ import annotations

import re

from labelgrove.ontology.sql.database import writing
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client as jobs
from labelgrove.workers.kinds import kind_named
from labelgrove.workers.ledger.ledger import Ledger
from labelgrove.workers.ledger.schema import unit_table
from labelgrove.workers.ledger.specs import PlannedJob, PlannedUnit
from tests.unit.service.service_cases import client_of, settings_of, token_of

VERSION = kind_named("locus").version

COVER = {"kind": "cover", "p.ontology": "garden"}


def test_a_job_is_estimated_submitted_cancelled_and_retried_by_forms(client):
    estimated = client.post("/jobs/new", data=COVER | {"action": "estimate"})
    assert "What it would take" in estimated.text
    assert client.get("/v1/jobs").json()["total"] == 0
    sent = client.post("/jobs/new", data=COVER | {"action": "submit"}, follow_redirects=False)
    assert sent.status_code == 303
    address = sent.headers["location"]
    assert f'href="{address}/cancel"' in client.get(address).text
    assert f'action="{address}/retry"' not in client.get(address).text
    assert client.get(f"/v1{address}").json()["state"] == "pending"
    asked = client.get(f"{address}/cancel").text
    assert "for everybody" in asked
    assert client.get(f"/v1{address}").json()["state"] == "pending"
    cancelled = client.post(f"{address}/cancel", follow_redirects=False)
    assert (cancelled.status_code, cancelled.headers["location"]) == (303, address)
    assert client.get(f"/v1{address}").json()["state"] == "cancelled"
    assert f'action="{address}/retry"' in client.get(address).text
    assert client.post(f"{address}/retry", follow_redirects=False).status_code == 303
    assert client.get(f"/v1{address}").json()["state"] == "pending"
    assert client.post(f"{address}/retry").status_code == 409


def test_a_job_that_ended_before_it_was_cancelled_is_told_with_the_way_back(client, home):
    with Workspace.open(settings_of(home)) as workspace:
        address = f"/jobs/{jobs.submit(workspace, 'cover', {'ontology': 'garden'}).id}"
    for answered, status in ((client.get(f"{address}/cancel"), 200), (client.post(f"{address}/cancel"), 409)):
        assert answered.status_code == status
        main = answered.text.partition("<main")[2]
        assert "It is done already" in main
        assert f'href="{address}"' in main
        assert "<button" not in main


def test_a_job_is_shown_with_its_ontology_and_a_kind_with_its_purpose(client):
    address = client.post("/jobs/new", data=COVER | {"action": "submit"}, follow_redirects=False).headers[
        "location"
    ]
    assert "cover of garden" in client.get(address).text
    assert '<a href="/o/garden">garden</a></td>' in client.get("/").text
    shown = client.get("/jobs/new?kind=selection&ontology=garden").text
    assert "which classes to collect next" in shown
    assert "as a decimal string; or null; may stay empty" in shown  # costs are no list of keys
    assert "keys of labels never to pick; one key on each line; may stay empty" in shown


def test_every_kind_that_is_offered_has_a_purpose(client):
    offered = re.findall(r"<option[^>]*>([a-z-]+)</option>", client.get("/jobs/new").text)
    assert "bundle" in offered
    for kind in offered:
        head = client.get(f"/jobs/new?kind={kind}").text.partition('class="sheet"')[0]
        assert re.search(r'<span class="quiet">\w', head)


def test_a_form_from_another_site_changes_nothing(client):
    address = client.post("/jobs/new", data=COVER | {"action": "submit"}, follow_redirects=False).headers[
        "location"
    ]
    for path, data in ((f"{address}/cancel", {}), ("/jobs/new", COVER | {"action": "submit"})):
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert client.post(path, data=data, headers=headers).status_code == 403
    assert [one["state"] for one in client.get("/v1/jobs").json()["items"]] == ["pending"]


def test_forms_give_each_parameter_as_its_kind_takes_it(client):
    keys = {"kind": "bundle", "p.ontology": "garden", "p.observed": "oak\n elm \n\n", "target": "bundle=b"}
    keys |= {"p.metric": "tree"}
    answer = client.post("/jobs/new", data=keys | {"action": "submit"}, follow_redirects=False)
    assert answer.status_code == 303
    by_json = {"ontology": "garden", "observed": ["oak", "elm"], "metric": "tree"}
    same = client.post("/v1/jobs", json={"kind": "bundle", "parameters": by_json})
    assert f"/jobs/{same.json()['id']}" == answer.headers["location"]
    shown = client.post("/jobs/new", data=keys | {"p.observed": "oak\r\nelm\r\n", "action": "estimate"}).text
    assert "--param=observed=oak,elm<" in shown
    assert "auto, tree or graph; auto by default" in client.get("/jobs/new?kind=bundle").text
    for change, said in (
        ({"p.observed": "[1"}, "observed: is not a JSON list"),
        ({"target": "mine"}, "NAME=VALUE"),
        ({"p.observed": "nobody"}, "nobody"),
        (
            {"action": "schedule", "name": "x" * 65, "cron": "* * * * *"},
            "name: String should have at most 64 characters",
        ),
        ({"action": "schedule", "name": "x", "cron": "every day"}, "cron"),
    ):
        refused = client.post("/jobs/new", data=keys | {"action": "estimate"} | change)
        assert said in refused.text
        assert 'role="alert"' in refused.text


def test_a_list_of_endless_brackets_is_refused_below_the_form(client):
    asked = {"kind": "locus", "p.ontology": "garden", "p.observed": "[" * 100_000, "action": "submit"}
    answer = client.post("/jobs/new", data=asked)
    assert answer.status_code == 200
    assert "is not a JSON list; give one label key on each line" in answer.text


def test_a_schedule_is_added_shown_and_removed_by_forms(client):
    data = COVER | {"action": "schedule", "name": "nightly", "cron": "30 2 * * *"}
    assert client.post("/jobs/new", data=data, follow_redirects=False).status_code == 303
    assert "nightly" in client.get("/jobs/schedules").text
    assert client.post("/jobs/schedules/nightly/remove", follow_redirects=False).status_code == 303
    assert "There is no schedule" in client.get("/jobs/schedules").text


def test_whoever_may_not_work_gets_no_buttons_and_is_told_how_to_get_them(home):
    with Workspace.open(settings_of(home)) as workspace:
        job = jobs.submit(workspace, "cover", {"ontology": "garden"}, wait=False).id
    with client_of(home) as anonymous:
        for path in (f"/jobs/{job}", "/jobs", "/jobs/new", "/jobs/schedules"):
            text = anonymous.get(path).text
            assert 'method="post"' not in text or path == "/jobs/new"
            assert f'href="/sign-in?next={path.replace("/", "%2F")}"' in text
            assert not re.search(r"Cancel…|>Submit<|>Retry<", text)
    reads = token_of(home, "reads", "read")
    with client_of(home, local=False) as client:
        text = client.get(f"/jobs/{job}", headers=reads).text
        assert "token:reads does not have" in text
        assert "Signed in as <b>token:reads</b>" in text
        for path in (f"/jobs/{job}/cancel", f"/jobs/{job}/retry", "/jobs/new"):
            assert client.post(path, headers=reads, data=COVER).status_code == 403
    with client_of(home, local=False) as client:
        assert client.get(f"/jobs/{job}", follow_redirects=False).headers["location"].startswith("/sign-in")


def test_jobs_are_filtered_on_the_page(client, home):
    mine = client.post("/v1/jobs", json={"kind": "cover", "parameters": {"ontology": "garden"}}).json()["id"]
    with Workspace.open(settings_of(home)) as workspace:
        other = jobs.submit(workspace.seen_by("token:x"), "cover", {"ontology": "odd"}, wait=False).id
    for query, shown in (
        ("", {mine, other}),
        ("?ontology=garden&state=&kind=&asked_by=", {mine}),
        ("?asked_by=owner", {mine}),
        ("?asked_by=token%3Ax", {other}),
        ("?ontology=odd&asked_by=owner", set()),
    ):
        assert set(re.findall(r'href="/jobs/([0-9a-f]{64})"', client.get(f"/jobs{query}").text)) == shown


def test_a_page_of_a_job_of_any_size_has_a_bounded_size(client, home):
    sizes = {}
    with Workspace.open(settings_of(home)) as workspace:
        ledger = Ledger(workspace.engine)
        for n in (3, 700, 20_000):
            units = tuple(PlannedUnit(f"{n:05d}{i:059x}", 0, "{}") for i in range(n))
            spec = '{"format":"labelgrove/job/1","parameters":{}}'
            job = f"{n:064x}"
            ledger.submit(PlannedJob(job, "locus", VERSION, spec, units, parameters={}))
            with writing(workspace.engine) as connection:
                key = unit_table.c.key
                failed = {"state": "failed", "error": "torn cable", "attempts": 3, "ended_at": 1.0}
                connection.execute(unit_table.update().where(key == units[-1].key).values(**failed))
            text = client.get(f"/jobs/{job}").text
            assert len(re.findall(r"<rect", text)) == min(n, 200)
            assert len(re.findall(r'<rect class="failed"', text)) == 1
            assert text.count("torn cable") == (2 if n < 100 else 1)
            sizes[n] = len(text)
            address = f"/jobs/{job}"
            for _ in range(8):
                page = client.get(address).text
                more = re.search(r'<a href="([^"]*[?]after=[^"]*)">Next units', page)
                if more is None:
                    break
                address = more[1].replace("&amp;", "&")
            if n == 700:
                assert page.count("<tr><td><code>") == 100 + 1
    assert sizes[20_000] < 1.1 * sizes[700] < 150_000


def test_a_job_that_is_about_no_ontology_is_listed_too(client, home):
    spec, key = '{"format":"labelgrove/job/1","parameters":{}}', "e" * 64
    with Workspace.open(settings_of(home)) as workspace:
        units = (PlannedUnit(key, 0, "{}"),)
        Ledger(workspace.engine).submit(PlannedJob(key, "locus", VERSION, spec, units, parameters={}))
    for page in ("/", "/jobs"):
        assert f'href="/jobs/{key}"' in client.get(page).text
