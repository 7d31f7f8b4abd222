"""What classes reach, over HTTP: the figures of the commands, label by label."""

from __future__ import annotations

import numpy as np
import pytest

from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers import client as jobs
from tests.unit.service.service_cases import add, client_of, printed, settings_of, sign_in, token_of

N = 80


def random_tree(seed: int, *, weighted: bool = False) -> LabelGraph:
    rng = np.random.default_rng(seed)
    pairs = [(f"k{i}", f"k{rng.integers(i)}") for i in range(1, N)]
    return LabelGraph.from_edges(pairs, weights=rng.uniform(0.5, 2, N - 1) if weighted else None)


def random_dag(seed: int) -> LabelGraph:
    rng = np.random.default_rng(seed)
    pairs = {(f"k{i}", f"k{rng.integers(i)}") for i in range(1, N)}
    pairs |= {(f"k{i}", f"k{rng.integers(i)}") for i in range(40, N)}
    return LabelGraph.from_edges(sorted(pairs))


def random_crown(seed: int) -> LabelGraph:
    """Return a connected hierarchy with several roots: labels of which some have parents of two roots."""
    rng = np.random.default_rng(seed)
    pairs = {(f"k{i}", f"k{rng.integers(3)}") for i in range(3, N)}
    pairs |= {("k3", f"k{root}") for root in range(3)} | {(f"k{i}", f"k{i - 5}") for i in range(40, N)}
    return LabelGraph.from_edges(sorted(pairs))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = tmp_path_factory.mktemp("reach") / "home"
    add(made, "tree", random_tree(1))
    add(made, "heavy", random_tree(2, weighted=True))
    add(made, "dag", random_dag(3))
    add(made, "crown", random_crown(4))
    add(made, "complete", LabelGraph.complete(30))
    add(made, "forest", LabelGraph.from_edges([("a", "r"), ("b", "r"), ("c", "s")]))
    return made


@pytest.fixture(scope="module")
def client(home):
    with client_of(home) as opened:
        sign_in(opened)
        yield opened


@pytest.fixture(scope="module")
def stranger(home):
    with client_of(home) as opened:
        yield opened


def observed_of(name: str, n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    keys = [f"k{i}" for i in range(N)] if name != "complete" else [str(i) for i in range(30)]
    return rng.choice(keys, n, replace=False).tolist()


def listed(client, name, asked, which, **query):
    """Return all keys of a list, page by page."""
    keys, after = [], None
    while True:
        params = {"which": which, "limit": 7} | ({"after": after} if after else {}) | query
        answer = client.post(f"/v1/ontologies/{name}/reach/labels", json=asked, params=params)
        assert answer.status_code == 200, answer.text
        document = answer.json()
        keys += [item["key"] for item in document["items"]]
        after = document["next"]
        if after is None:
            assert len(keys) == document["total"]
            return keys


def ask(client, name, **asked):
    answer = client.post(f"/v1/ontologies/{name}/reach", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("name", "metric"), [("tree", "auto"), ("heavy", "tree"), ("dag", "tree")])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_tree_is_answered_at_once_as_by_locus_and_select_member_for_member(client, home, name, metric, n):
    observed = observed_of(name, n)
    found = ask(client, name, observed=observed, metric=metric, picks=5)
    command = (name, "--metric", metric, "--observed", ",".join(observed))
    located = printed(home, "locus", *command)
    before = {"reached": located["size"], "unique": located["n_unique"], "unreached": N - located["size"]}
    assert found["before"] == before | {"share": located["share"], "status": located["status"]}
    assert found["after"] == found["before"]
    asked = {"observed": observed, "metric": metric}
    assert listed(client, name, asked, "reached") == [one["key"] for one in located["members"]]
    unique = [one["key"] for one in located["members"] if one["unique"]]
    assert listed(client, name, asked, "unique") == unique
    assert {*listed(client, name, asked, "tied")} == {one["key"] for one in located["members"]} - {*unique}
    rest = listed(client, name, asked, "unreached")
    assert sorted(rest + [one["key"] for one in located["members"]]) == sorted(f"k{i}" for i in range(N))
    selected = printed(home, "select", *command, "-n", "5")
    picks = [(one["round"], one["key"], one["name"], one["gain"]) for one in selected["picks"]]
    assert [(p["round"], p["key"], p["name"], p["gain"]) for p in found["picks"]["items"]] == picks
    assert found["picks"]["upper_bound"] == selected["upper_bound"]
    assert found["jobs"] == []


@pytest.mark.parametrize("taken", [1, 3, 5])
def test_taken_picks_count_as_observed(client, home, taken):
    observed = observed_of("tree", 3)
    found = ask(client, "tree", observed=observed, picks=5, taken=taken)
    picks = [one["key"] for one in found["picks"]["items"]]
    assert found["after"]["reached"] == found["picks"]["items"][taken - 1]["reached"]
    with_picks = printed(home, "locus", "tree", "--observed", ",".join(observed + picks[:taken]))
    asked = {"observed": observed, "picks": 5, "taken": taken}
    assert listed(client, "tree", asked, "reached") == [one["key"] for one in with_picks["members"]]


def test_a_complete_graph_is_answered_at_once(client, home):
    observed = observed_of("complete", 4)
    found = ask(client, "complete", observed=observed, picks=2)
    located = printed(home, "locus", "complete", "--observed", ",".join(observed))
    assert (found["before"]["reached"], found["before"]["unique"]) == (located["size"], located["n_unique"])


def test_nothing_observed_reaches_nothing_and_is_told_where_to_begin(client, home):
    found = ask(client, "tree", picks=4)
    assert (found["before"]["reached"], found["before"]["unreached"]) == (0, N)
    selected = printed(home, "select", "tree", "-n", "4")
    assert [one["key"] for one in found["picks"]["items"]] == [one["key"] for one in selected["picks"]]
    everything = ask(client, "tree", observed=[f"k{i}" for i in range(N)], picks=4)
    assert everything["before"]["unreached"] == 0
    assert everything["picks"] is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dag", {"metric": "graph"}),
        ("crown", {"metric": "graph"}),
        ("tree", {"labels": "leaves"}),
        ("heavy", {"metric": "tree", "labels": "leaves"}),
    ],
)
def test_other_metrics_are_jobs_whose_results_are_told_once_they_are_done(client, home, name, options):
    observed = observed_of(name, 3)
    asked = {"observed": observed, "picks": 2, "taken": 1, **options}
    first = client.post(f"/v1/ontologies/{name}/reach", json=asked)
    assert (first.status_code, first.json()["before"], first.json()["after"]) == (202, None, None)
    assert client.post(f"/v1/ontologies/{name}/reach/labels", json=asked).status_code == 409
    while (answer := client.post(f"/v1/ontologies/{name}/reach", json=asked)).status_code == 202:
        with Workspace.open(settings_of(home)) as workspace:
            for job in answer.json()["jobs"]:
                assert jobs.wait(workspace, job["job"]).finished
    found = answer.json()
    given = [f"--{key}={value}" for key, value in options.items()]
    command = [name, "--observed", ",".join(observed), *given]
    with Workspace.open(settings_of(home)) as workspace:
        n_jobs = jobs.count_jobs(workspace)
    located, selected = printed(home, "locus", *command), printed(home, "select", *command, "-n", "2")
    with Workspace.open(settings_of(home)) as workspace:
        assert jobs.count_jobs(workspace) == n_jobs  # those of the commands are the same jobs
    assert found["before"]["reached"] == located["size"]
    listing = {"observed": observed, "picks": 0, **options}
    assert listed(client, name, listing, "reached") == [one["key"] for one in located["members"]]
    unique = [one["key"] for one in located["members"] if one["unique"]]
    assert listed(client, name, listing, "unique") == unique
    assert [one["key"] for one in found["picks"]["items"]] == [one["key"] for one in selected["picks"]]
    assert [one["gain"] for one in found["picks"]["items"]] == [one["gain"] for one in selected["picks"]]
    assert found["after"]["reached"] == found["picks"]["items"][0]["reached"]
    unreached = listed(client, name, asked, "unreached")
    assert len(unreached) == found["n_labels"] - found["after"]["reached"]


def test_jobs_take_the_scope_to_submit_them(stranger, home):
    asked = {"observed": ["k1"], "labels": "leaves"}
    answer = stranger.post("/v1/ontologies/tree/reach", json=asked)
    assert (answer.status_code, "scope work" in answer.json()["detail"]) == (401, True)
    assert stranger.post("/v1/ontologies/tree/reach", json={"observed": ["k1"]}).status_code == 200
    header = token_of(home, "reader", "read")
    assert stranger.post("/v1/ontologies/tree/reach", json=asked, headers=header).status_code == 403


def test_the_map_shows_what_is_reached_before_and_after(client):
    observed = observed_of("tree", 4)
    answer = client.post(
        "/v1/ontologies/tree/reach?width=2000&levels=64", json={"observed": observed, "picks": 5, "taken": 2}
    )
    found = answer.json()
    top = found["map"]["rows"][0]["marked"]
    assert top["REACHES"] == [found["before"]["reached"]]
    assert top["ADDS"] == [found["after"]["reached"] - found["before"]["reached"]]
    assert (top["OBSERVES"], top["PICKS"]) == ([4], [2])
    named = {label for row in found["map"]["rows"] for label, _, _ in row["points"]["PICKS"]}
    assert named == {one["idx"] for one in found["picks"]["items"][:2]}
    plain = client.get("/v1/ontologies/tree/map?width=2000&levels=64").json()
    assert [row["cells"] for row in plain["rows"]] == [row["cells"] for row in found["map"]["rows"]]


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"observed": ["nobody"]}, 404, "nobody"),
        ({"observed": ["k1", "k1"]}, 400, "twice"),
        ({"observed": "k1"}, 400, "list"),
        ({"observed": [1]}, 400, "string"),
        ({"observed": ["k1"] * 10_001}, 400, "10000"),
        ({"observed": ["k" * 4_097]}, 400, "4096"),
        ({"observed": ["k1"], "metric": "taxicab"}, 400, "metric"),
        ({"observed": ["k1"], "labels": ["k1"]}, 400, "labels"),
        ({"observed": ["k1"], "picks": -1}, 400, "picks"),
        ({"observed": ["k1"], "picks": 1_001}, 400, "picks"),
        ({"observed": ["k1"], "taken": -1}, 400, "taken"),
        ([], 400, "dictionary"),
    ],
)
def test_what_cannot_be_answered_is_refused(client, asked, status, says):
    for route in ("reach", "reach/labels"):
        answer = client.post(f"/v1/ontologies/tree/{route}", json=asked)
        assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text


def test_an_unknown_class_is_told_with_keys_close_to_it(client):
    answer = client.post("/v1/ontologies/tree/reach", json={"observed": ["k1", "kk17"]})
    document = answer.json()
    assert (answer.status_code, document["type"].endswith("unknown-label")) == (404, True)
    assert "'kk17'" in document["detail"]
    assert "k17" in document["detail"].replace("'kk17'", "")


def test_a_hierarchy_in_parts_says_why_it_has_no_tree_metric(client):
    answer = client.post("/v1/ontologies/forest/reach", json={"observed": ["a"], "metric": "tree"})
    assert (answer.status_code, "roots" in answer.json()["detail"]) == (400, True)


def test_texts_are_bound_by_key_or_name(tmp_path):
    names = {"oak": "Oak", "elm": "Elm", "e2": "Elm", "fern": "oak"}
    add(tmp_path / "home", "garden", LabelGraph.from_edges([(key, "root") for key in names], names=names))
    with client_of(tmp_path / "home") as client:
        found = client.post(
            "/v1/ontologies/garden/bind", json={"texts": ["oak", "Oak", "Elm", "fernn"]}
        ).json()
    oak, by_name, twice, unknown = found["items"]
    assert (oak["key"], by_name["key"], found["total"]) == ("oak", "oak", 4)
    assert (twice["key"], len(twice["candidates"])) == (None, 2)
    assert "2 labels have this name" in twice["problem"]
    assert (unknown["key"], unknown["problem"]) == (None, "no label has this key or name")
    assert "fern" in unknown["close"]
