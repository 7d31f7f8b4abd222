"""A misspelled setting ends every command before it works with a default in its place."""

import json
import os
from pathlib import Path

import click
import numpy as np
import pytest

from labelgrove.adapter import Adapter
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.cli import grove
from labelgrove.ontology.errors import SettingsError
from labelgrove.ontology.labelgraph import LabelGraph
from tests.cli.reference import walk

LEAVES = [path[1:] for path, command in walk(grove) if not isinstance(command, click.Group)]
BESIDE = {("doctor",), ("completion",)}


@pytest.mark.parametrize("command", [c for c in LEAVES if c not in BESIDE], ids=" ".join)
def test_every_command_refuses_a_misspelled_setting(command, call, monkeypatch, tmp_path):
    monkeypatch.setenv("GROVE_DATABSE_URL", "postgresql://u:canary@db/grove")
    result = call(*command, code=2)
    assert "GROVE_DATABSE_URL: did you mean GROVE_DATABASE_URL?" in result.stderr
    assert "unset GROVE_DATABSE_URL" in result.stderr
    assert "canary" not in result.output
    assert not list(tmp_path.iterdir())


def test_help_is_given_whatever_is_set(call, monkeypatch):
    monkeypatch.setenv("GROVE_DATABSE_URL", "x")
    assert "Usage" in call("ontology", "list", "--help").stdout
    assert "Usage" in call("-h").stdout


def test_a_line_of_the_env_file_is_refused_too(call, monkeypatch):
    Path(".env").write_text("NEO4J_PASSWORD=x\nGROVE_ARTIFACTS_DIR=/srv\nGROVE_GRAF_URL=bolt://canary\n")
    # a way to have what the file sets taken away again
    for name in ("GROVE_GRAF_URL", "GROVE_ARTIFACTS_DIR", "NEO4J_PASSWORD"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    message = call("ontology", "list", code=2).stderr
    assert "GROVE_GRAF_URL: did you mean GROVE_GRAPH_URL?" in message
    assert "delete its line in .env" in message
    assert "GROVE_ARTIFACTS_DIR" not in message
    monkeypatch.delenv("GROVE_GRAF_URL")
    Path(".env").write_text("GROVE_ARTIFACTS_DIR=/srv\n")
    call("ontology", "list")


def test_doctor_lists_settings_and_what_is_not_one(call, monkeypatch):
    def rows(code):
        return {
            part["part"]: part for part in json.loads(call("doctor", "--json", code=code).stdout)["parts"]
        }

    for name in [name for name in os.environ if name.startswith("GROVE_TEST_")]:
        monkeypatch.delenv(name)  # where the servers of the tests are
    fine = rows(0)
    assert fine["settings"]["detail"] == "GROVE_HOME"
    monkeypatch.setenv("GROVE_DATABSE_URL", "postgresql://u:canary@db/grove")
    monkeypatch.setenv("GROVE_OFFLIN", "1")
    found = rows(1)
    assert found["settings"]["detail"] == "GROVE_HOME"
    assert "did you mean GROVE_DATABASE_URL?" in found["GROVE_DATABSE_URL"]["detail"]
    assert "did you mean GROVE_OFFLINE?" in found["GROVE_OFFLIN"]["detail"]
    assert found.keys() - fine.keys() == {"GROVE_DATABSE_URL", "GROVE_OFFLIN"}
    assert found["database"]["ok"] is True
    assert "canary" not in str(found)


def test_a_library_that_reads_the_settings_refuses_it_as_well(tmp_path, monkeypatch):
    graph = LabelGraph.from_edges([("oak", "tree"), ("elm", "tree")])
    build_bundle(graph, ["oak", "elm"]).save(tmp_path / "b.safetensors")
    monkeypatch.setenv("GROVE_ARTEFACTS_URL", str(tmp_path))
    with pytest.raises(SettingsError, match="did you mean GROVE_ARTIFACTS_URL"):
        Adapter.load("trees/all")
    # a file is what it is, wherever the settings are
    assert Adapter.load(os.fspath(tmp_path / "b.safetensors")).predict(np.eye(2)) == ["oak", "elm"]
