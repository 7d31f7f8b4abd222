"""What results say of a label, in which versions it is, and the reports of results."""

import re

import pytest

from labelgrove.ontology.geometry import frechet_mean_set, metric_space
from tests.unit.service.service_cases import GARDEN, client_of


@pytest.fixture(scope="module")
def client(resulting):
    with client_of(resulting[0]) as client:
        yield client


def about(client, key, version=None):
    asked = {"key": key} | ({} if version is None else {"version": version})
    return client.get("/v1/ontologies/garden/label/results", params=asked).json()["items"]


def test_a_label_is_told_what_the_locus_says_with_a_witness(client, resulting):
    _, ids = resulting
    document = client.get(f"/v1/jobs/{ids['locus']}/result").json()
    reached = {one["key"]: one["unique"] for one in document["labels"]}
    for key in GARDEN.keys:
        mine = [one for one in about(client, key) if one["kind"] == "locus"]
        (found,) = [one for one in mine if one["relation"] != "OBSERVES"]
        assert (found["relation"] == "REACHES") == (key in reached)
        assert (len(mine) == 2) == (key in ("oak", "elm"))
        if key in reached:
            assert found["unique"] == reached[key]
            weights = {one["key"]: one["weight"] for one in found["witness"]}
            assert {*weights} <= {"oak", "elm"}
            space = metric_space(GARDEN, "tree")
            best = frechet_mean_set(space, list(weights), list(weights.values()))
            assert best == (key,) if found["unique"] else key in best


def test_a_label_is_told_its_round_and_that_others_were_not_picked(client, resulting):
    _, ids = resulting
    rows = client.get(f"/v1/jobs/{ids['selection']}/result").json()["labels"]
    picked = {one["key"]: (one["round"], one["gain"]) for one in rows}
    for key in GARDEN.keys:
        (found,) = [one for one in about(client, key) if one["kind"] == "selection"]
        assert found["relation"] == ("PICKS" if key in picked else None)
        if key in picked:
            assert (found["round"], found["gain"]) == picked[key]


def test_results_about_another_version_are_told_there(client, resulting):
    _, ids = resulting
    second = client.get("/v1/ontologies/garden/versions").json()["items"][1]["digest"]
    assert {one["job"] for one in about(client, "oak")} == {ids["locus"], ids["selection"]}
    (found,) = about(client, "tree", second)
    assert (found["job"], found["relation"]) == (ids["cover"], None)
    assert about(client, "oak", second)[0]["relation"] == "INCLUDES"
    page = client.get(f"/o/garden/label?key=tree&version={second}").text
    assert "not in the cover" in page
    page = client.get("/o/garden/label?key=oak").text
    assert "observed" in page
    assert "reached, as the only answer" in page


def test_the_versions_of_a_label_are_those_that_have_its_key(client):
    versions = client.get("/v1/ontologies/garden/versions").json()["items"]
    for key in GARDEN.keys:
        found = client.get("/v1/ontologies/garden/label/versions", params={"key": key}).json()
        having = [
            one["digest"]
            for one in reversed(versions)
            if client.get(f"/v1/ontologies/garden/lookup?name={key}&version={one['digest']}").json()["total"]
        ]
        assert [one["digest"] for one in found["items"]] == having
        assert (found["total"], found["n_versions"]) == (len(having), 3)
        page = client.get(f"/o/garden/label?key={key}").text
        named = re.findall(r"/o/garden/label\?key=\w+&amp;version=(\w{16})", page)
        assert named == [digest[:16] for digest in having]
        assert f"{len(having)} of the 3 versions {'has' if len(having) == 1 else 'have'} it" in page


def test_an_evaluation_has_a_report_that_says_what_its_document_says(client, resulting):
    _, ids = resulting
    page = client.get(f"/jobs/{ids['evaluation']}/report")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "allow-scripts" not in policy
    assert "frame-ancestors 'self'" in policy
    document = client.get(f"/v1/jobs/{ids['evaluation']}/result").json()["document"]
    assert document["verdict"]["answer"] in page.text
    for rule in document["rules"].values():
        assert f'value="{rule["interval"]["mean"]!r}"' in page.text
    assert "&lt;b&gt;net&lt;/b&gt;" in page.text
    assert "<b>net" not in page.text
    framing = client.get(f"/jobs/{ids['evaluation']}/result").text
    assert f'src="/jobs/{ids["evaluation"]}/report"' in framing
    assert "allow-scripts" not in framing
    assert re.search(r"/o/garden\?version=\w{16}", framing)


def test_a_result_without_a_report_says_so(client, resulting):
    _, ids = resulting
    answer = client.get(f"/jobs/{ids['cover']}/report")
    assert answer.status_code == 404
    assert "only evaluation and experiment have one" in answer.text
    assert "<iframe" not in client.get(f"/jobs/{ids['cover']}/result").text
