"""What the commands on bundles make of forms, pins, stale bundles and the time without a network."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adapter import Adapter
from labelgrove.cli import grove

EDGES = "parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n"


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0):
        result = CliRunner().invoke(grove, list(arguments))
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    Path("garden.csv").write_text(EDGES)
    run("ingest", "garden", "garden.csv")
    return run


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
    caplog.clear()
    adapter = Adapter.load(f"garden/all@{digest}", pin=True)
    call("bundle", "build", "garden", "all", "--observed", "oak,elm,moss")
    assert shown(call, "garden/all")["digest"] != digest
    assert adapter.refresh() is False
    assert caplog.records == []
    assert shown(call, f"garden/all@{digest}")["n_labels"] == 5
    refusal = call("bundle", "inspect", f"garden/all@{digest[:12]}", code=4)
    assert "give all 64 digits" in refusal.stderr


def test_without_a_network_the_variable_is_enough(call, monkeypatch):
    monkeypatch.setenv("GROVE_OFFLINE", "1")
    monkeypatch.setenv("GROVE_ARTIFACTS_URL", "s3://nowhere/at-all")
    assert "offline" in call("bundle", "inspect", "garden/all", code=4).stderr
