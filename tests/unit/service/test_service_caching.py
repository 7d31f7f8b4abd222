"""Caching: what never changes is immutable, what may change is asked for again, and tags tell them apart."""

import re
from pathlib import Path

import pytest

import labelgrove.service
from labelgrove.ontology.labelgraph import LabelGraph
from tests.unit.browse.browse_cases import NameRow
from tests.unit.service.service_cases import GARDEN, add, client_of

ASSETS_FOLDER = Path(labelgrove.service.__file__).parent / "static"

ABOUT_A_VERSION = [
    "label?key=oak",
    "children?key=tree",
    "siblings?key=oak",
    "ancestors?key=oak",
    "descendants?key=plant",
    "context?key=oak",
    "path?from=oak&to=elm",
    "lca?from=oak&to=elm",
    "labels?q=oak",
    "suggest?q=o",
    "lookup?name=oak",
    "window?at=0",
    "map?width=300",
    "export?format=json",
]


@pytest.mark.parametrize("route", ABOUT_A_VERSION)
def test_an_answer_is_immutable_only_with_its_version_and_its_state(reader, route):
    shown = reader.get("/v1/ontologies/garden").json()
    version, state = shown["digest"], shown["state_tag"]
    url = f"/v1/ontologies/garden/{route}"

    def kept(more: str) -> bool:
        answer = reader.get(url + more)
        assert answer.status_code == 200
        return "immutable" in answer.headers["cache-control"]

    assert kept(f"&version={version}&state={state}")
    for more in ("", f"&version={version}", f"&state={state}", f"&version={version}&state={state}x"):
        assert not kept(more)
    (other,) = [one["digest"] for one in shown["versions"] if one["digest"] != version]
    if "elm" not in route and "plant" not in route:
        assert not kept(f"&version={other}&state={state}")


@pytest.mark.parametrize("route", ["", *(f"/{one}" for one in ABOUT_A_VERSION if "export" not in one)])
def test_what_the_client_has_is_not_sent_again(reader, route):
    url = f"/v1/ontologies/garden{route}"
    answer = reader.get(url)
    tag = answer.headers["etag"]
    for given in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = reader.get(url, headers={"if-none-match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == answer.headers["cache-control"]
    assert reader.get(url, headers={"if-none-match": tag.strip('"')}).status_code == 200


def test_answers_to_other_questions_have_other_tags(reader):
    urls = [f"/v1/ontologies/garden/{route}" for route in ("children?key=tree", "children?key=plant")]
    first, second = (reader.get(url).headers["etag"] for url in urls)
    assert first != second


def test_a_tag_changes_with_annotations_although_the_digest_does_not(tmp_path):
    digest = add(tmp_path, "garden", GARDEN)
    with client_of(tmp_path) as client:
        url = "/v1/ontologies/garden/label?key=oak"
        before = client.get(url)
        known = client.get("/v1/ontologies/garden").json()["state_tag"]
        assert add(tmp_path, "garden", GARDEN, [NameRow(GARDEN.keys.index("oak"), "Eiche")]) == digest
        after = client.get(url, headers={"if-none-match": before.headers["etag"]})
        assert after.status_code == 200
        assert [name["text"] for name in after.json()["names"]] == ["Eiche"]
        old = client.get(f"{url}&version={digest}&state={known}")
        assert "immutable" not in old.headers["cache-control"]


def test_the_tag_of_an_ontology_changes_when_another_version_becomes_current(tmp_path):
    add(tmp_path, "garden", GARDEN)
    digest = GARDEN.digest
    with client_of(tmp_path) as client:
        url = f"/v1/ontologies/garden?version={digest}"
        before = client.get(url)
        add(tmp_path, "garden", LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")]))
        after = client.get(url, headers={"if-none-match": before.headers["etag"]})
        assert (before.json()["current"], after.json()["current"]) == (True, False)


def test_more_versions_than_are_kept_open_are_answered(tmp_path):
    from labelgrove.service.limits import Limits

    graphs = [LabelGraph.from_edges([(f"a{i}", "root"), ("b", "root")]) for i in range(3)]
    for graph in graphs:
        add(tmp_path, "many", graph)
    with client_of(tmp_path, Limits(open_versions=1)) as client:
        for i, graph in [*enumerate(graphs)] * 2:
            answer = client.get(f"/v1/ontologies/many/label?key=a{i}&version={graph.digest}")
            assert answer.json()["version"] == graph.digest


def test_scripts_and_styles_are_kept_for_good_at_the_addresses_that_pages_name(reader):
    page = reader.get("/").text
    named = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert {url.rpartition(".")[2] for url in named} == {"css", "js", "svg"}
    for url in named:
        assert "immutable" in reader.get(url).headers["cache-control"], url
    tag = named[0].split("/")[2]
    for script in ASSETS_FOLDER.glob("*.js"):
        content = script.read_text(encoding="utf-8")
        for module in re.findall(r'from "(.+?)"', content):
            assert module.startswith("./"), (script.name, module)  # relative: with the same tag
            assert "immutable" in reader.get(f"/static/{tag}/{module[2:]}").headers["cache-control"]


def test_the_scripts_of_another_release_are_asked_for_again(reader):
    url = "/static/0123456789abcdef/page.js"
    answer = reader.get(url)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-cache")
    again = reader.get(url, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for missing in (
        "/static/page.js",
        "/static/",
        "/static/0/",
        "/static/0/../app.py",
        "/static/0/%2e%2e/app.py",
    ):
        assert reader.get(missing).status_code == 404, missing
