"""Lists, limits and odd keys: pages name each label once, and any key can be asked about."""

import pytest

from labelgrove.ontology.browse.pages import LARGEST_PAGE
from tests.unit.service.service_cases import ODD_KEYS, WIDE


@pytest.mark.parametrize("limit", [1_000, 999, 37])
@pytest.mark.parametrize("route", ["children", "descendants"])
def test_cursors_walk_through_a_long_list_and_name_each_label_once(reader, route, limit):
    seen, after, n = [], {}, WIDE + (route == "descendants")
    while after is not None:
        answer = reader.get(
            f"/v1/ontologies/wide/{route}", params={"key": "many", "limit": limit, **after}
        ).json()
        assert answer["total"] == n
        assert len(answer["items"]) == min(limit, n - len(seen))
        seen += [item["key"] for item in answer["items"]]
        after = None if answer["next"] is None else {"after": answer["next"]}
    assert len(seen) == len({*seen}) == n


def test_a_cursor_of_another_question_is_refused(reader):
    first = reader.get("/v1/ontologies/wide/children?key=many&limit=5").json()["next"]
    for url in (
        f"/v1/ontologies/wide/children?key=c0000&after={first}",
        f"/v1/ontologies/wide/descendants?key=many&after={first}",
        "/v1/ontologies/wide/children?key=many&after=%F0%9F%8C%B3",
        "/v1/ontologies/wide/children?key=many&after=AAAA",
    ):
        assert reader.get(url).json()["exit_code"] == 2, url


@pytest.mark.parametrize(
    "route",
    [
        "garden/labels?q=o",
        "garden/suggest?q=o",
        "garden/children?key=tree",
        "garden/siblings?key=oak",
        "garden/descendants?key=plant",
        "garden/context?key=oak",
        "../jobs?",
    ],
)
def test_the_limit_of_a_list_is_bounded(reader, route):
    url = f"/v1/ontologies/{route}&limit=" if "jobs" not in route else "/v1/jobs?limit="
    for limit in (0, -1, LARGEST_PAGE + 1, 10**30, "many"):
        assert reader.get(f"{url}{limit}").status_code == 400, limit
    for limit in (1, LARGEST_PAGE):
        assert reader.get(f"{url}{limit}").status_code == 200, limit


@pytest.mark.parametrize(
    "url",
    [
        "window?at=-1",
        "window?rows=0",
        "window?rows=1001",
        "window?open=99",
        "window?open=1,x",
        "window?open=1e3",
        "window?open=" + "9" * 40,
        "window?closed=-1",
        "window?open=" + ",".join(["0"] * 2_001),
        "map?width=15",
        "map?width=8193",
        "map?levels=0",
        "map?levels=65",
        "labels?q=o&depth=-1",
        "labels?q=" + "x" * 5_000,
    ],
)
def test_a_number_out_of_range_is_refused(reader, url):
    assert reader.get(f"/v1/ontologies/garden/{url}").status_code == 400


@pytest.mark.parametrize("url", [f"window?at={10**30}", f"labels?q=oak&depth={10**30}", f"window?at={2**63}"])
def test_a_number_beyond_what_exists_finds_nothing_or_is_refused(reader, url):
    answer = reader.get(f"/v1/ontologies/garden/{url}")
    assert answer.status_code == 400 or answer.json()["items"] == []


@pytest.mark.parametrize("key", ODD_KEYS, ids=range(len(ODD_KEYS)))
def test_any_key_can_be_asked_about_on_every_route(reader, key):
    def ask(route, **query):
        answer = reader.get(f"/v1/ontologies/odd/{route}", params=query)
        assert answer.status_code == 200, (route, answer.text[:200])
        return answer.json()

    def keys(items):
        return [item["key"] for item in items]

    has_child = key == ODD_KEYS[0]
    assert ask("label", key=key)["key"] == key
    assert keys(ask("children", key=key)["items"]) == ["x"] * has_child
    assert keys(ask("descendants", key=key)["items"]) == ["x"] * has_child
    assert sorted(keys(ask("siblings", key=key)["items"])) == sorted({*ODD_KEYS} - {key})
    assert keys(ask("ancestors", key=key)["items"]) == ["root"]
    assert ask("context", key=key)["label"]["key"] == key
    assert keys(ask("path", **{"from": key, "to": "root"})["items"]) == [key, "root"]
    assert keys(ask("path", **{"from": "root", "to": key})["items"]) == ["root", key]
    assert keys(ask("lca", **{"from": key, "to": key})["items"]) == [key]
    assert key in keys(ask("lookup", name=key)["items"])
    assert key in keys(ask("labels", q=key, limit=100)["items"])
    assert key in keys(ask("labels", q=key, under=key)["items"])
    assert key in keys(ask("suggest", q=key, limit=100)["items"])
    assert ask("map", focus=key)["focus"]["key"] == key
    window = ask("window", to=key, rows=100)
    assert window["items"][window["position"] - window["at"]]["key"] == key
    exported = reader.get("/v1/ontologies/odd/export", params={"format": "outline", "under": key})
    assert exported.status_code == 200


def test_nothing_typed_suggests_nothing_and_what_is_misspelt_is_told(reader):
    assert reader.get("/v1/ontologies/garden/suggest?q=%20").json()["items"] == []
    found = reader.get("/v1/ontologies/garden/labels?q=plent").json()
    assert (found["total"], found["close"]) == (0, ["plant"])


def test_a_window_opened_at_a_label_can_be_scrolled_with_what_it_tells(reader):
    first = reader.get("/v1/ontologies/garden/window?to=oak").json()
    again = reader.get(
        "/v1/ontologies/garden/window", params={"open": ",".join(map(str, first["opened"]))}
    ).json()
    assert again["items"][first["position"]]["key"] == "oak"
    closed = reader.get("/v1/ontologies/garden/window?to=oak&closed=0,1,2,3,4").json()
    assert closed["items"][closed["position"] - closed["at"]]["key"] == "oak"
