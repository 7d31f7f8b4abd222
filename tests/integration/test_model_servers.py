"""The recipes of docs/model-servers.md run as they stand: answers are the adapter's to the last bit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from labelgrove.adapter import Adapter, build_bundle
from labelgrove.ontology.labelgraph import LabelGraph
from labelgrove.ontology.settings import Settings
from labelgrove.ontology.versions.ingest import register
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.workers.client import build_bundle_job

pytestmark = pytest.mark.recipes

PAGE = Path(__file__).parents[2] / "docs" / "model-servers.md"
PETS = LabelGraph.from_edges([("cat", "pet"), ("dog", "pet"), ("cow", "animal"), ("pet", "animal")])
CLASSES = ["cat", "dog", "cow"]
FEATURES = np.round(np.random.default_rng(0).normal(size=(20, 4)), 3)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 3))
STARTS_S = 90.0


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("weights.npy", WEIGHTS)
    build_bundle(PETS, CLASSES).save("mine.safetensors")
    return tmp_path


def recipe(name: str) -> str:
    """Write the file of a recipe, and return its name."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"```python {name}\n(.*?)```", text, re.DOTALL)
    Path(f"{name}_labels.py").write_text(found[1])
    return f"{name}_labels.py"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(url: str, document: bytes | None = None):
    """Return the answer as bytes."""
    request = urllib.request.Request(url, document, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


@contextlib.contextmanager
def running(command: list[str], port: int, probe: str, **variables: str):
    """Run a server until the block ends; the block begins when it answers."""
    address = f"http://127.0.0.1:{port}"
    with Path(f"server-{port}.log").open("w+") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | {"PORT": str(port)} | variables
        )
        try:
            ends = time.monotonic() + STARTS_S
            while True:
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    ask(f"{address}{probe}")
                    break
                if server.poll() is not None or time.monotonic() > ends:
                    log.seek(0)
                    pytest.fail(log.read()[-4000:])
                time.sleep(0.2)  # it opens its port when it is ready; nothing else tells
            yield address
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def ranking(k: int):
    """Return the answers of the adapter."""
    return Adapter.load("./mine.safetensors", CLASSES, outputs="logits").top_k(FEATURES @ WEIGHTS, k)


def check(answer: bytes) -> None:
    document, expected = json.loads(answer), ranking(2)
    assert document["labels"] == [list(keys) for keys in expected.keys]
    assert document["variances"] == expected.values.tolist()


def test_litserve():
    pytest.importorskip("litserve")
    port = free_port()
    with running([sys.executable, recipe("litserve")], port, "/health") as address:
        check(ask(f"{address}/predict", json.dumps({"features": FEATURES.tolist()}).encode()))


def test_bentoml(folder):
    pytest.importorskip("bentoml")
    port, name = free_port(), recipe("bentoml").removesuffix(".py")
    serve = [sys.executable, "-m", "bentoml", "serve", f"{name}:Labels", "--host", "127.0.0.1"]
    quiet = {"BENTOML_DO_NOT_TRACK": "1", "BENTOML_HOME": str(folder / "bento")}
    with running([*serve, "--port", str(port)], port, "/readyz", **quiet) as address:
        check(ask(f"{address}/predict", json.dumps({"features": FEATURES.tolist()}).encode()))


def test_a_chain_from_kserve_to_grove(folder):
    """What KServe answers is sent on as it is."""
    pytest.importorskip("kserve")
    home = folder / "home"
    with Workspace.open(Settings.from_env({"GROVE_HOME": str(home)})) as workspace:
        register(workspace, "pets", PETS)
        build_bundle_job(workspace, "pets", "mine", CLASSES, metric="graph")
    ports = free_port(), free_port()
    tensor = {
        "name": "features",
        "shape": list(FEATURES.shape),
        "datatype": "FP64",
        "data": FEATURES.ravel().tolist(),
    }
    serve = [sys.executable, "-m", "labelgrove", "serve", "--port", str(ports[1]), "--no-worker"]
    with (
        running([sys.executable, recipe("kserve")], ports[0], "/v2/health/ready") as model,
        running(serve, ports[1], "/v2/health/ready", GROVE_HOME=str(home)) as grove,
    ):
        outputs = ask(f"{model}/v2/models/classifier/infer", json.dumps({"inputs": [tensor]}).encode())
        answer = json.loads(ask(f"{grove}/v2/models/pets~mine/infer", outputs))
    given = {one["name"]: one["data"] for one in answer["outputs"]}
    expected = ranking(1)
    assert given["label"] == [keys[0] for keys in expected.keys]
    assert given["variance"] == expected.values.ravel().tolist()
