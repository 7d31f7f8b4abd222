"""Label Studio: its frontend loads a whole hierarchy, level by level, and only pages of named origins may."""

from __future__ import annotations

import base64
from typing import Any
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient

from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.settings import Settings
from tests.unit.service.service_cases import GARDEN, MANUAL, ODD_KEYS, WIDE, client_of, token_of

ORIGIN = "https://labels.example.org"
ROUTE = "/v1/ontologies/garden/label-studio"
ALLOWED = "access-control-allow-origin"
ASKS = {"origin": ORIGIN, "access-control-request-method": "GET"}


class Loader:
    """What `loadItems` in web/libs/editor/src/tags/control/Taxonomy/Taxonomy.jsx of Label Studio does.

    It loads the roots at once, and what is below an item only if the item is not a leaf and has no children.
    """

    def __init__(self, client: TestClient, url: str, **headers: str) -> None:
        self.client, self.url, self.headers, self.n_requests = client, url, headers, 0
        self.items: list[dict[str, Any]] = []
        self.load(None)

    def load(self, path: list[str] | None) -> None:
        item: dict[str, Any] | None = None
        if path:
            item = {"children": self.items}
            for level in path:
                found = (one for one in item.get("children", []) if one["path"][-1] == level)
                item = next(found, None)
                if item is None:
                    return
            if item["isLeaf"] is not False or "children" in item:
                return
        answer = self.client.get(self.url, params={"path": path or []}, headers=self.headers)
        self.n_requests += 1
        assert answer.status_code == 200, answer.text
        made = [self.converted(one, path or []) for one in answer.json()["items"]]
        if item is None:
            self.items = made
        else:
            item["children"] = made

    def converted(self, told: dict[str, Any], path: list[str]) -> dict[str, Any]:
        assert {*told} == {"value", "alias", "isLeaf"}
        return {
            "label": told["value"],
            "path": [*path, told["alias"]],
            "depth": len(path),
            "isLeaf": told["isLeaf"],
        }

    def load_all(self) -> list[dict[str, Any]]:
        """Open every item, as an annotator could, and return all of them."""
        found, wanted = [], list(self.items)
        while wanted:
            item = wanted.pop()
            found.append(item)
            self.load(item["path"])
            wanted += item.get("children", [])
        return found


def test_the_frontend_loads_each_label_below_each_of_its_parents(reader):
    found = Loader(reader, ROUTE).load_all()
    assert {tuple(one["path"]) for one in found} == {
        ("plant",),
        ("plant", "tree"),
        ("plant", "fern"),
        ("plant", "tree", "oak"),
        ("plant", "tree", "elm"),
        ("plant", "fern", "oak"),
    }
    names = dict(zip(GARDEN.keys, GARDEN.names, strict=True))
    assert all(one["label"] == names[one["path"][-1]] for one in found)
    assert {one["path"][-1] for one in found if one["isLeaf"]} == {"oak", "elm"}


def test_odd_keys_are_loaded_and_asked_about(reader):
    found = {one["path"][-1]: one for one in Loader(reader, "/v1/ontologies/odd/label-studio").load_all()}
    assert {*found} == {"root", "x", *ODD_KEYS}
    assert found["x"]["path"] == ["root", ODD_KEYS[0], "x"]


def test_of_many_labels_each_is_reached_through_bounded_answers(reader):
    loader = Loader(reader, "/v1/ontologies/wide/label-studio")
    loader.load(["many"])
    (many,) = loader.items
    assert len(many["children"]) == 1_002
    assert [one["path"][-1] for one in many["children"][-2:]] == ["+1000", "+2000"]
    assert many["children"][-1]["label"] == "2,001 to 2,500 of 2,500: c2000 … c2499"
    assert not any(one["isLeaf"] for one in many["children"][-2:])  # `leafsOnly` keeps them from being chosen
    found = loader.load_all()
    keys = [one["path"][-1] for one in found if not one["path"][-1].startswith("+")]
    assert len(keys) == len({*keys}) == WIDE + 2
    assert loader.n_requests == 5  # roots, many, two groups, c0000
    (last,) = (one for one in found if one["path"][-1] == "c2499")
    assert last["path"] == ["many", "+2000", "c2499"]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (["plont"], "close to it: 'plant'"),
        (["tree"], "label 'tree' is not a root; it is below 'plant'"),
        (["plant", "oak"], "label 'oak' is not right below 'plant'; it is below 'tree'"),
        (["plant", "plant"], "label 'plant' is not right below 'plant'; it is a root"),
        (["plant", "tree", "elm", "+1000"], "this level has 0 labels;"),
        (["+1000"], "this level has 1 label;"),
        (["plant", "+0"], "label '+0' is not"),
    ],
)
def test_a_path_that_is_none_is_not_found(reader, path, wanted):
    answer = reader.get(ROUTE, params={"path": path})
    assert answer.status_code == 404, answer.text
    assert wanted in answer.json()["detail"]


@pytest.mark.parametrize("group", ["+500", "+3000", "+999999999"])
def test_a_group_that_does_not_exist_is_not_found(reader, group):
    answer = reader.get("/v1/ontologies/wide/label-studio", params={"path": ["many", group]})
    assert (answer.status_code, answer.json()["type"]) == (404, "/reference#problem-not-found")


def test_a_graph_without_directions_has_no_levels(reader):
    answer = reader.get("/v1/ontologies/grid/label-studio")
    assert (answer.status_code, answer.json()["type"]) == (400, "/reference#problem-input")
    assert reader.get("/v1/ontologies/grid/label-studio", params={"path": "0,0"}).status_code == 400


# --- pages of other origins ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crossed(filled):
    with client_of(filled, GROVE_SERVE_ORIGINS=f"http://localhost:8080,{ORIGIN}") as client:
        yield client


def test_a_page_of_a_named_origin_may_read_this_and_nothing_else(crossed):
    for status, path in ((200, ROUTE), (404, f"{ROUTE}?path=x"), (304, ROUTE)):
        known = {"if-none-match": "*"} if status == 304 else {}
        answer = crossed.get(path, headers={"origin": ORIGIN, **known})
        assert (answer.status_code, answer.headers[ALLOWED]) == (status, ORIGIN)
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "Origin" in answer.headers["vary"]
        assert "access-control-allow-credentials" not in answer.headers
    for path in ("/v1/ontologies/garden/children?key=plant", "/v1/ontologies", "/", "/healthz"):
        answer = crossed.get(path, headers={"origin": ORIGIN})
        assert ALLOWED not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "https://evil.example",
        f"{ORIGIN}.evil.example",
        f"{ORIGIN}:444",
        "http://labels.example.org",
    ],
)
def test_a_page_of_any_other_origin_may_not(crossed, origin):
    headers = {} if origin is None else {"origin": origin}
    for answer in (
        crossed.get(ROUTE, headers=headers),
        crossed.options(ROUTE, headers=headers | {"access-control-request-method": "GET"}),
    ):
        assert ALLOWED not in answer.headers
        assert "Origin" in answer.headers["vary"]  # or a cache would answer the page that may with this
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_without_the_setting_no_page_may(reader):
    assert ALLOWED not in reader.get(ROUTE, headers={"origin": ORIGIN}).headers
    assert "Origin" not in reader.get(ROUTE).headers.get("vary", "")
    answer = reader.options(ROUTE, headers=ASKS)
    assert (answer.status_code, ALLOWED in answer.headers) == (405, False)


def test_a_browser_that_asks_first_is_told_what_it_may_send(crossed):
    answer = crossed.options(ROUTE, headers=ASKS | {"access-control-request-headers": "authorization"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers[ALLOWED] == ORIGIN
    assert answer.headers["access-control-allow-methods"] == "GET"
    assert answer.headers["access-control-allow-headers"] == "Authorization"
    assert crossed.options("/v1/cypher", headers=ASKS).status_code == 405


def test_a_preflight_still_needs_the_name_of_this_host(crossed):
    answer = crossed.options(ROUTE, headers=ASKS | {"host": "evil.example"})
    assert answer.status_code == 421


@pytest.mark.parametrize(
    "value",
    [
        "*",
        "labels.example.org",
        f"{ORIGIN}/",
        f"{ORIGIN}:443",
        "http://a.example:80",
        "ftp://a.example",
        "null",
    ],
)
def test_an_origin_that_no_browser_sends_is_refused(tmp_path, value):
    with pytest.raises(SettingsError, match=r"GROVE_SERVE_ORIGINS: .*give origins such as https://"):
        Settings.from_env({"GROVE_HOME": str(tmp_path), "GROVE_SERVE_ORIGINS": value})


# --- who asks -----------------------------------------------------------------------------------------------


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def test_a_token_may_be_sent_as_the_password_that_stands_in_the_address(filled):
    header = token_of(filled, "studio", "read", ontologies=["garden"])["Authorization"]
    token = header.removeprefix("Bearer ")
    with client_of(filled, local=False) as client:
        assert client.get(ROUTE).status_code == 401
        loader = Loader(client, ROUTE, Authorization=basic(f"token:{token}"))
        assert len(loader.load_all()) == 6
        sent = {"Authorization": basic(f"token:{token}")}
        assert client.get("/v1/ontologies/wide/label-studio", headers=sent).status_code == 404
        for text in (f"{token}:", "token:grove_unknown", "user:password"):
            assert client.get(ROUTE, headers={"Authorization": basic(text)}).status_code == 401
        for malformed in ("Basic", "Basic !", "Basic /w=="):
            assert client.get(ROUTE, headers={"Authorization": malformed}).status_code == 401


def test_a_password_for_a_proxy_in_front_changes_nothing(reader):
    assert reader.get(ROUTE, headers={"Authorization": basic("user:password")}).status_code == 200


def test_the_labeling_configuration_of_the_manual_loads_what_it_says(reader):
    text = MANUAL.partition("```xml\n")[2].partition("```")[0]
    tag = ElementTree.fromstring(text).find("Taxonomy")
    assert tag is not None
    assert tag.attrib["toName"] in {one.attrib["name"] for one in ElementTree.fromstring(text)}
    separator = tag.attrib["pathSeparator"]
    assert not any(separator in key for key in (*GARDEN.keys, *ODD_KEYS))
    path = tag.attrib["apiUrl"].partition("8321")[2].replace("animals", "garden")
    assert Loader(reader, path).load_all()
