"""``grove export``: a bundle as a model of another model server."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from labelgrove import Adapter
from tests.triton_models import PythonModel, read_config

CLASSES = "elm,moss,oak"


@pytest.fixture
def garden(call):
    Path("garden.csv").write_text("parent,child\nplant,tree\ntree,oak\ntree,elm\nplant,moss\n")
    call("ingest", "garden", "garden.csv")
    call("bundle", "build", "garden", "mine", "--observed", "oak,elm,moss", "--out", "mine.safetensors")


def test_triton_runs_what_was_exported(call, garden):
    found = call(
        *("export", "triton", "garden/mine", "models", "--columns", CLASSES),
        *("--outputs", "logits", "--temperature", "2", "--top", "2", "--json"),
    )
    document = json.loads(found.stdout)
    adapter = Adapter.load("garden/mine", CLASSES.split(","), outputs="logits", temperature=2.0)
    assert document == {
        "model": "garden~mine",
        "version": 1,
        "chain": None,
        "folder": str(Path("models/garden~mine/1")),
        "sha256": adapter.digest,
        "input": {"name": "logits", "datatype": "FP32", "columns": CLASSES.split(",")},
        "new": True,
    }
    logits = np.array([[1.0, 1.0, 0.0], [-2.0, 3.0, 1.0]], np.float32)
    (answers,) = PythonModel(Path("models/garden~mine")).infer(logits)
    assert answers["variance"].tobytes() == adapter.top_k(logits, 2).values.tobytes()


def test_a_chain_and_the_name_of_a_file(call, garden):
    arguments = ("export", "triton", "./mine.safetensors", "models", "--columns", "bundle")
    assert "--name" in call(*arguments, code=2).stderr
    chain = ("--after", "net:logits", "--after-input", "x:FP32:4", "--outputs", "logits")
    said = call(*arguments, *chain, "--name", "mine").stdout
    assert said == "wrote model mine, version 1, in models/mine/1, and the ensemble net~mine\n"
    assert read_config(Path("models/net~mine"))["input"][0]["name"] == "x"
    assert call(*arguments, *chain, "--name", "mine").stdout.startswith("nothing to write")


def test_what_is_wrong_is_said_in_options(call, garden):
    arguments = ("export", "triton", "garden/mine", "models", "--columns", "bundle")
    assert (
        "error: --after-input: given without" in call(*arguments, "--after-input", "x:FP32:4", code=2).stderr
    )
    assert "error: --after net: give MODEL:OUTPUT" in call(*arguments, "--after", "net", code=2).stderr
    assert "error: --after: no inputs of net given" in call(*arguments, "--after", "net:y", code=2).stderr
    assert "error: --name: 'a b' given" in call(*arguments, "--name", "a b", code=2).stderr
    assert "Missing option '--columns'" in call(*arguments[:-2], code=2).stderr
    unknown = call("export", "triton", "garden/none", "models", *arguments[-2:], code=4)
    assert "has no bundle 'none'" in unknown.stderr
    assert not Path("models").exists()
    call(*arguments)
    assert "config.pbtxt: exists and says something other" in call(*arguments, "--top", "2", code=1).stderr
