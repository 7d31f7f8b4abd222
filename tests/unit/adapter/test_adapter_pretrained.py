"""An adapter as a folder: what was saved is what is read, and nothing else is."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter import Adapter
from labelgrove.adapter.bundles.bundle import build_bundle
from labelgrove.adapter.bundles.pretrained import BUNDLE_FILE, CONFIG_FILE, PRETRAINED_FORMAT
from labelgrove.ontology.errors import ArtifactError, BundleError, InputError, NotFoundError, ServiceError
from labelgrove.ontology.labelgraph import LabelGraph

GRAPH = LabelGraph.from_edges(
    [("oak", "tree"), ("elm", "tree"), ("tree", "plant"), ("moss", "plant")], names={"elm": "Ulme"}
)
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    bundle = build_bundle(GRAPH, ["oak", "elm", "moss"], ontology={"name": "garden"})
    adapter = Adapter(bundle, ["moss", "oak", "elm"], outputs="logits", temperature=2.5, beta=3)
    adapter.save_pretrained(tmp_path / "models" / "plants")
    return tmp_path / "models" / "plants"


def test_what_is_read_answers_as_what_was_saved(folder, tmp_path):
    assert sorted(p.name for p in folder.iterdir()) == [BUNDLE_FILE, CONFIG_FILE]
    adapter = Adapter.from_pretrained(folder)
    assert adapter.observed == ("moss", "oak", "elm")
    assert (adapter.outputs, adapter.temperature, adapter.beta) == ("logits", 2.5, 3)
    config = json.loads((folder / CONFIG_FILE).read_text())
    assert (config["format"], config["sha256"]) == (PRETRAINED_FORMAT, adapter.digest)
    assert (config["ontology"], config["ontology_digest"]) == ("garden", GRAPH.digest)
    P = np.random.default_rng(0).normal(size=(50, 3))
    original = Adapter(adapter.bundle, ["moss", "oak", "elm"], outputs="logits", temperature=2.5, beta=3)
    assert adapter.predict(P) == original.predict(P)
    adapter.save_pretrained(str(tmp_path / "again"))
    for name in (BUNDLE_FILE, CONFIG_FILE):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    assert pickle.loads(pickle.dumps(adapter)).predict(P) == adapter.predict(P)
    with pytest.raises(InputError, match="refresh"):
        adapter.refresh()


def test_another_adapter_takes_the_place_of_the_one_before(folder):
    Adapter(build_bundle(GRAPH, ["oak", "elm"])).save_pretrained(folder)
    assert Adapter.from_pretrained(folder).observed == ("oak", "elm")
    assert sorted(p.name for p in folder.iterdir()) == [BUNDLE_FILE, CONFIG_FILE]


def test_nothing_in_the_folder_is_run_and_no_network_asked(folder):
    (folder / "adapter.py").write_text("raise SystemExit('ran what lay in the folder')")
    (folder / "config.py").write_text("raise SystemExit('ran what lay in the folder')")
    program = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('asked the network')\n"
        "socket.socket.connect = socket.create_connection = refuse\n"
        "import pickle; pickle.load = pickle.loads = refuse\n"
        "from labelgrove.adapter import Adapter\n"
        "print(Adapter.from_pretrained(sys.argv[1]).predict([[0.0, 0.0, 9.0]])[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("elm\n", "")


def edited(folder, **changes):
    config = json.loads((folder / CONFIG_FILE).read_text()) | changes
    config = {name: value for name, value in config.items() if value is not ...}
    (folder / CONFIG_FILE).write_text(json.dumps(config))


def test_notes_that_a_hub_adds_are_left_alone(folder):
    edited(folder, _commit_hash="abc", _name_or_path={"any": ["thing"]})
    assert Adapter.from_pretrained(folder).n_observed == 3


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"format": "labelgrove/adapter/2"}, BundleError, "this version reads .*upgrade with: pip install"),
        ({"format": "labelgrove/adapter/99999999999"}, BundleError, "upgrade"),
        ({"format": "labelgrove/adapter/x"}, BundleError, "not the folder of an adapter"),
        ({"format": ...}, BundleError, "format is None"),
        ({"format": ["labelgrove/adapter/1"]}, BundleError, "expected"),
        ({"temprature": 2.0}, BundleError, "unknown field 'temprature'; did you mean 'temperature'"),
        ({"architectures": []}, BundleError, "unknown field 'architectures'.*begin with '_'"),
        ({"beta": ...}, BundleError, "no field beta"),
        ({"sha256": "0" * 64}, ArtifactError, "do not belong together.*save the folder again"),
        ({"sha256": 7}, BundleError, "sha256 is 7, expected text"),
        ({"ontology": "forest"}, BundleError, "ontology is 'forest', but the bundle says 'garden'"),
        ({"ontology_digest": "f" * 64}, BundleError, "ontology_digest"),
        ({"columns": "oak,elm"}, BundleError, "columns must be a list"),
        ({"columns": ["oak", "elm", 3]}, BundleError, "columns must be a list"),
        ({"columns": ["oak", "elm", "fern"]}, BundleError, "does not fit its bundle.*'fern' is unknown"),
        ({"columns": ["oak", "elm"]}, BundleError, "no column stands for the observed label 'moss'"),
        ({"outputs": "guesses"}, BundleError, "does not fit its bundle.*guesses"),
        ({"temperature": "2"}, BundleError, "temperature is '2', expected a number"),
        ({"temperature": True}, BundleError, "temperature is True"),
        ({"temperature": -1.0}, BundleError, "does not fit its bundle"),
        ({"beta": -1}, BundleError, "does not fit its bundle"),
    ],
)
def test_a_wrong_configuration_is_refused_and_says_why(changes, error, match, folder):
    edited(folder, **changes)
    with pytest.raises(error, match=f"(?s){match}") as refusal:
        Adapter.from_pretrained(folder)
    assert str(folder) in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"format": "labelgrove/adapter/1", "format": "x"}', "\ufeff{}", "[" * 100_000],
)
def test_what_is_no_configuration_is_refused(text, folder):
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=CONFIG_FILE):
        Adapter.from_pretrained(folder)
    (folder / CONFIG_FILE).write_bytes(b'{"format": "\xff"}')
    with pytest.raises(BundleError, match="not JSON"):
        Adapter.from_pretrained(folder)


def test_a_damaged_or_missing_file_is_refused(folder, tmp_path):
    data = bytearray((folder / BUNDLE_FILE).read_bytes())
    data[data.index(b"Ulme")] = ord("X")
    (folder / BUNDLE_FILE).write_bytes(data)
    with pytest.raises(ArtifactError, match="do not belong together"):
        Adapter.from_pretrained(folder)
    (folder / BUNDLE_FILE).write_bytes(data[:-1])
    with pytest.raises(ArtifactError):
        Adapter.from_pretrained(folder)
    (folder / BUNDLE_FILE).unlink()
    with pytest.raises(
        NotFoundError, match=r"no bundle\.safetensors next to config\.json; save the adapter again"
    ):
        Adapter.from_pretrained(folder)
    with pytest.raises(NotFoundError, match="give a folder that save_pretrained wrote"):
        Adapter.from_pretrained(tmp_path / "absent")
    with pytest.raises(ArtifactError, match="cannot be read"):
        Adapter.from_pretrained("nul\0")


def test_a_folder_that_cannot_be_written_is_a_service_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match=r"cannot be written .*give a folder"):
        Adapter(build_bundle(GRAPH, ["oak"])).save_pretrained(tmp_path / "file" / "folder")
    os.mkdir(tmp_path / "plants")
    os.mkdir(tmp_path / "plants" / CONFIG_FILE)
    with pytest.raises(ServiceError, match="cannot be written"):
        Adapter(build_bundle(GRAPH, ["oak"])).save_pretrained(tmp_path / "plants")
    assert sorted(p.name for p in (tmp_path / "plants").iterdir()) == [BUNDLE_FILE, CONFIG_FILE]
