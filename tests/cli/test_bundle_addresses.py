"""What the commands on bundles make of forms, pins, stale bundles and the time without a network."""

import json
from pathlib import Path

import pytest

from labelgrove.adapter import Adapter

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


@pytest.fixture
def call(call, filled_home):
    Path("garden.csv").write_text(EDGES)
    filled_home(lambda: call("ingest", "garden", "garden.csv"))
    return call


def shown(call, uri):
    return json.loads(call("bundle", "inspect", uri, "--json").stdout)


def test_a_tree_is_held_as_a_tree_or_as_a_block_when_asked(call):
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    call("bundle", "build", "garden", "block", "--observed", "oak,elm,moss", "--form", "block")
    call("bundle", "build", "garden", "tree", "--observed", "oak,elm,moss", "--form", "tree")
    found = {name: shown(call, f"garden/{name}") for name in ("all", "block", "tree")}
    assert {name: document["kind"] for name, document in found.items()} == {
        "all": "tree",
        "block": "block",
        "tree": "tree",
    }
    assert found["all"]["digest"] == found["tree"]["digest"]
    P = [[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]]
    assert (
        Adapter.load("garden/all").predict(P) == Adapter.load("garden/block").predict(P) == ["tree", "moss"]
    )
    call("bundle", "build", "garden", "x", "--observed", "oak", "--form", "matrix", code=2)


def test_a_bundle_of_an_earlier_version_is_said_to_be_stale(call, caplog):
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    digest = shown(call, "garden/all@latest")["digest"]
    assert caplog.records == []
    Path("garden.csv").write_text(EDGES + "tree,ash\n")
    call("ingest", "garden", "garden.csv")
    assert shown(call, "garden/all")["digest"] == digest
    assert "is stale" in caplog.text
    assert "stale='" not in caplog.text, "grove has no such option"
    caplog.clear()
    adapter = Adapter.load(f"garden/all@{digest}", pin=True)
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    assert shown(call, "garden/all")["digest"] != digest
    assert adapter.refresh() is False
    assert caplog.records == []
    assert shown(call, f"garden/all@{digest}")["n_labels"] == 5
    refusal = call("bundle", "inspect", f"garden/all@{digest[:12]}", code=4)
    assert refusal.stderr.startswith(f"error: bundle garden/all@{digest[:12]}: this name now refers to ")
    assert "give its full 64-digit digest" in refusal.stderr
    assert "grove jobs list --kind bundle --json" in refusal.stderr
    made = json.loads(call("jobs", "list", "--kind", "bundle", "--json").stdout)
    assert digest in [job["result_sha256"] for job in made]


def test_a_version_behind_the_name_of_a_bundle_is_told_from_a_bundle(call):
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    version = json.loads(call("ontology", "show", "garden", "--json").stdout)["digest"]
    refusal = call("bundle", "inspect", f"garden/all@{version[:12]}", code=4)
    assert f"{version[:12]} is a version of the ontology 'garden'" in refusal.stderr


def test_what_is_no_address_is_told_why_and_what_may_be_meant(call):
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    digest = shown(call, "garden/all")["digest"]
    for uri, said in {
        digest[:12]: "this has 12: it is too short; did you mean garden/all?",
        digest + "0": "this has 65: it is too long",
        digest.upper(): "written in lower case; did you mean garden/all?",
        "Garden/all": "written in lower case; did you mean garden/all?",
        f"garden/all@{digest[:6]}": "after @, give latest, or 8 to 64 hexadecimal digits of the digest "
        "of the bundle; did you mean garden/all?",
        "garden/all@newest": "after @, give latest",
        "garden": "digits of the digest of the bundle; did you mean garden/all?",
    }.items():
        assert said in call("bundle", "inspect", uri, code=2).stderr


def test_an_address_is_refused_the_same_where_no_store_can_be_asked(call, monkeypatch):
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", "s3://nowhere-at-all/x")
    monkeypatch.setenv("GROVE_OFFLINE", "1")
    assert "it is too short\n" in call("bundle", "inspect", "0" * 12, code=2).stderr


def test_without_a_network_the_variable_is_enough(call, monkeypatch):
    monkeypatch.setenv("GROVE_OFFLINE", "1")
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", "s3://nowhere/at-all")
    assert "offline" in call("bundle", "inspect", "garden/all", code=4).stderr


def test_a_name_that_moves_to_another_bundle_says_from_which(call):
    def built(observed, *options):
        return call("bundle", "build", "garden", "all", "--observed", observed, *options).stdout

    def document(observed):
        return json.loads(built(observed, "--json"))

    first = document("oak,elm,moss")
    assert first["replaced"] is None
    assert document("oak,elm,moss")["replaced"] is None, "the same bundle takes nobody's place"
    assert "in place of" not in built("oak,elm,moss")
    assert f", in place of {first['sha256'][:12]} (3 observed labels) (job " in built("oak,elm")
    second = shown(call, "garden/all")["digest"]
    again = document("oak,elm,moss")
    assert (again["sha256"], again["replaced"]) == (first["sha256"], second)
