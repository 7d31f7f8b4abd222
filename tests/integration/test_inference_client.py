"""A client of model servers asks a real server: its answers are those of the adapter to the last bit."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
import tritonclient.http as triton
import uvicorn
from tritonclient.utils import InferenceServerException

from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.app import make_app
from tests.integration.first_model_app import LENGTH
from tests.integration.serving_process import ROOT, Serving
from tests.unit.service.scoring_cases import N_OBSERVED, adapter_of, fill_with_bundles, outputs_of
from tests.unit.service.service_cases import settings_of


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("triton") / "home"
    fill_with_bundles(folder)
    return folder


@pytest.fixture(scope="module")
def client(home):
    application = make_app(Workspace.open(settings_of(home)))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(application, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        opened = triton.InferenceServerClient(address, connection_timeout=60, network_timeout=60)
        yield opened
        opened.close()
        server.should_exit = True
        thread.join()


def asked(values, name, *, binary, datatype="FP64"):
    tensor = triton.InferInput(name, values.shape, datatype)
    tensor.set_data_from_numpy(values, binary_data=binary)
    return [tensor]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("bundle", ["tree", "block"])
def test_answers_are_those_of_the_adapter(client, home, bundle, binary):
    values = outputs_of("probabilities")
    names = ("label", "index", "variance", "n_tied")
    outputs = [triton.InferRequestedOutput(name, binary_data=binary) for name in names]
    found = client.infer(
        f"zoo~{bundle}",
        asked(values, "probabilities", binary=binary),
        outputs=outputs,
        request_id="mine",
        parameters={"k": 3},
    )
    ranking = adapter_of(home, bundle).top_k(values, 3)
    assert found.get_response()["id"] == "mine"
    assert found.as_numpy("index").tolist() == ranking.indices.tolist()
    assert found.as_numpy("variance").tobytes() == ranking.values.tobytes()
    assert found.as_numpy("n_tied").ravel().tolist() == ranking.n_tied.tolist()
    labels = found.as_numpy("label").tolist()
    decoded = [[one.decode() if binary else one for one in row] for row in labels]
    assert decoded == [list(keys) for keys in ranking.keys]


def test_logits_are_given_classes(client, home):
    values = outputs_of("logits").astype(np.float32)
    found = client.infer(
        "zoo~tree",
        asked(values, "logits", binary=True, datatype="FP32"),
        outputs=[triton.InferRequestedOutput("label", class_count=2)],
    )
    ranking = adapter_of(home, "tree").with_outputs("logits").top_k(values, 2)
    keys = [[one.decode().rsplit(":", 1)[1] for one in row] for row in found.as_numpy("label")]
    assert keys == [list(row) for row in ranking.keys]


def test_the_service_and_its_models_are_described(client, home):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.get_server_metadata()["name"] == "labelgrove"
    assert {one["name"] for one in client.get_model_repository_index()} == {"zoo~tree", "zoo~block"}
    assert client.is_model_ready("zoo~tree")
    assert client.is_model_ready("zoo~tree", adapter_of(home, "tree").digest)
    assert not client.is_model_ready("zoo~nothing")
    assert client.get_model_metadata("zoo~tree")["inputs"][0]["shape"] == [-1, N_OBSERVED]


def test_what_is_refused_is_told_as_the_client_shows_it(client):
    values = outputs_of("probabilities")[:, :3]
    with pytest.raises(InferenceServerException, match="3 columns"):
        client.infer("zoo~tree", asked(np.ascontiguousarray(values), "probabilities", binary=True))
    with pytest.raises(InferenceServerException, match="there is no bundle 'zoo/nothing'"):
        client.infer("zoo~nothing", asked(outputs_of("logits"), "logits", binary=True))


@pytest.mark.long
def test_two_servers_are_a_chain_without_anything_between(home, tmp_path):
    """What the first answers, byte by byte, is what the second is asked."""
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(50, 12)), rng.normal(size=(12, N_OBSERVED))
    np.save(tmp_path / "weights.npy", weights)
    tensor = triton.InferInput("features", features.shape, "FP64")
    tensor.set_data_from_numpy(features)
    body, length = triton.InferenceServerClient.generate_request_body([tensor])
    command = [sys.executable, "-m", "tests.integration.first_model_app", str(tmp_path / "weights.npy")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as first:
        try:
            with Serving(home, "--no-worker") as second:
                for model in (
                    f"http://127.0.0.1:{first.stdout.readline().strip()}/v2/models/linear",
                    f"{second.url}/v2/models/zoo~tree",
                ):
                    asked = urllib.request.Request(f"{model}/infer", body, {LENGTH: str(length)})
                    with urllib.request.urlopen(asked, timeout=60) as answer:
                        body, length = answer.read(), answer.headers[LENGTH]
        finally:
            first.terminate()
    ranking = adapter_of(home, "tree").with_outputs("logits").top_k(features @ weights, 1)
    found = triton.InferenceServerClient.parse_response_body(body, header_length=length and int(length))
    assert json.loads(body[: length and int(length)])["model_name"] == "zoo~tree"
    assert found.as_numpy("index").tolist() == ranking.indices.tolist()
