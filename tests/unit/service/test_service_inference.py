"""The Open Inference Protocol: answers equal those of the adapter to the last bit, and rules are kept."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.limits import Limits
from labelgrove.service.scoring.cores import usable_cores
from labelgrove.service.scoring.models import Models
from labelgrove.service.scoring.tensors import DATATYPES
from tests.unit.service.scoring_cases import (
    N_OBSERVED,
    adapter_of,
    build,
    fill_with_bundles,
    outputs_of,
)
from tests.unit.service.service_cases import client_of, settings_of

KINDS = ("probabilities", "log_probabilities", "logits")
OUTPUTS = ("label", "name", "index", "variance", "n_tied")
INFER = "/v2/models/zoo~{}/infer"
LENGTH = "Inference-Header-Content-Length"


@pytest.fixture(scope="module")
def home(with_bundles):
    return with_bundles


@pytest.fixture(scope="module")
def client(scoring):
    return scoring


def tensor(values, name="probabilities", datatype="FP64", **more):
    return {"name": name, "datatype": datatype, "shape": list(values.shape), "data": values.tolist()} | more


def packed(document, *contents):
    """Return the body and the headers of a request whose tensors are binary."""
    head = json.dumps(document).encode()
    return b"".join([head, *contents]), {LENGTH: str(len(head))}


def binary(values, name="probabilities", datatype="FP64", size=None):
    content = values.astype(DATATYPES[datatype]).tobytes()
    parameters = {"binary_data_size": len(content) if size is None else size}
    shape = list(values.shape)
    return {"name": name, "datatype": datatype, "shape": shape, "parameters": parameters}, content


def read(answer):
    """Return the arrays of an answer by name, whether binary or not."""
    length = answer.headers.get(LENGTH)
    head = json.loads(answer.content if length is None else answer.content[: int(length)])
    rest = b"" if length is None else answer.content[int(length) :]
    found = {}
    for one in head["outputs"]:
        if "data" in one:
            values = np.array(one["data"], dtype=object if one["datatype"] == "BYTES" else None)
        else:
            size = one["parameters"]["binary_data_size"]
            content, rest = rest[:size], rest[size:]
            if one["datatype"] == "BYTES":
                texts = []
                while content:
                    n = int.from_bytes(content[:4], "little")
                    texts.append(content[4 : 4 + n].decode())
                    content = content[4 + n :]
                values = np.array(texts, dtype=object)
            else:
                values = np.frombuffer(content, {"INT64": "<i8", "FP64": "<f8"}[one["datatype"]])
        found[one["name"]] = values.reshape(one["shape"])
    assert rest == b""
    return found


def same_as(adapter, found, values, k=1, candidates=None):
    ranking = adapter.top_k(values, k, candidates=candidates)
    assert found["index"].tolist() == ranking.indices.tolist()
    assert found["variance"].tobytes() == ranking.values.tobytes()
    assert found["label"].tolist() == [list(keys) for keys in ranking.keys]
    assert found["n_tied"].ravel().tolist() == ranking.n_tied.tolist()
    names = adapter.names
    assert found["name"].tolist() == [[names[i] for i in row] for row in ranking.indices.tolist()]


@pytest.mark.parametrize("bundle", ["tree", "block"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
@pytest.mark.parametrize("k", [1, 4])
def test_answers_are_those_of_the_adapter_to_the_last_bit(client, home, bundle, kind, datatype, k):
    values = outputs_of(kind).astype(DATATYPES[datatype])
    expected = adapter_of(home, bundle).with_outputs(kind, 1.0 if kind == "probabilities" else 1.5)
    parameters = {"k": k} if kind == "probabilities" else {"k": k, "temperature": 1.5}
    entry, content = binary(values, kind, datatype)
    wanted = [{"name": name, "parameters": {"binary_data": True}} for name in OUTPUTS]
    body, headers = packed({"inputs": [entry], "outputs": wanted, "parameters": parameters}, content)
    same_as(expected, read(client.post(INFER.format(bundle), content=body, headers=headers)), values, k)
    plain = {"inputs": [tensor(values, kind, datatype)], "outputs": [{"name": name} for name in OUTPUTS]}
    answer = client.post(INFER.format(bundle), json=plain | {"parameters": parameters})
    assert LENGTH not in answer.headers
    same_as(expected, read(answer), values, k)


@pytest.mark.parametrize("datatype", [name for name in DATATYPES if "INT" in name])
def test_whole_numbers_are_weights(client, home, datatype):
    values = np.random.default_rng(1).integers(1, 9, (20, N_OBSERVED))
    asked = {"inputs": [tensor(values, datatype=datatype)], "outputs": [{"name": name} for name in OUTPUTS]}
    same_as(adapter_of(home, "tree"), read(client.post(INFER.format("tree"), json=asked)), values)


@pytest.mark.parametrize("candidates", ["observed", "locus", "leaves", ["k3", "k20", "k9"]])
def test_candidates_are_a_parameter(client, home, candidates):
    values = outputs_of("probabilities")
    asked = {"inputs": [tensor(values)], "outputs": [{"name": name} for name in OUTPUTS]}
    answer = client.post(INFER.format("tree"), json=asked | {"parameters": {"candidates": candidates}})
    same_as(adapter_of(home, "tree"), read(answer), values, candidates=candidates)


def test_one_row_may_be_flat_and_no_outputs_named(client, home):
    row = outputs_of("probabilities")[0]
    answer = client.post(INFER.format("tree"), json={"id": "mine", "inputs": [tensor(row)]})
    assert answer.json()["id"] == "mine"
    assert answer.json()["model_name"] == "zoo~tree"
    found = read(answer)
    assert [*found] == ["label", "index", "variance"]
    assert found["label"].tolist() == [adapter_of(home, "tree").predict(row)]


def test_binary_outputs_may_be_asked_for_once(client):
    asked = {"inputs": [tensor(outputs_of("probabilities"))], "parameters": {"binary_data_output": True}}
    answer = client.post(INFER.format("tree"), json=asked)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert read(answer)["label"].shape == (50, 1)


def test_classes_are_text_best_first(client, home):
    values = outputs_of("probabilities")
    asked = {"inputs": [tensor(values)], "outputs": [{"name": "label", "parameters": {"classification": 3}}]}
    found = read(client.post(INFER.format("tree"), json=asked))["label"]
    ranking = adapter_of(home, "tree").top_k(values, 3)
    for row, keys, indices, variances in zip(
        found, ranking.keys, ranking.indices, ranking.values, strict=True
    ):
        for text, key, index, variance in zip(row, keys, indices, variances, strict=True):
            value, at, label = text.split(":")
            assert (float(value), int(at), label) == (-variance, index, key)


def test_the_answer_of_the_model_before_is_taken_as_it_is(client, home):
    values = outputs_of("logits")
    entry, content = binary(values, "logits")
    texts = b"\x01\x00\x00\x00a"
    other = {"name": "label", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 5}}
    body, headers = packed({"model_name": "before", "outputs": [other, entry]}, texts, content)
    found = read(client.post(INFER.format("tree"), content=body, headers=headers))
    expected = adapter_of(home, "tree").with_outputs("logits").predict_indices(values)
    assert found["index"].ravel().tolist() == expected.tolist()


def test_nulls_in_the_answer_of_a_model_of_kserve_are_taken_as_left_out(client, home):
    values = outputs_of("logits")
    entry = tensor(values, "logits") | {"parameters": None}
    answer = {
        "model_name": "before",
        "model_version": None,
        "id": None,
        "parameters": None,
        "outputs": [entry],
    }
    found = read(client.post(INFER.format("tree"), json=answer))
    expected = adapter_of(home, "tree").with_outputs("logits").predict(values)
    assert found["label"].ravel().tolist() == expected


def test_of_several_tensors_the_one_with_the_columns_is_read(client, home):
    values = outputs_of("probabilities")
    asked = {"inputs": [tensor(np.zeros((50, 3)), "embedding"), tensor(values, "scores")]}
    found = read(client.post(INFER.format("tree"), json=asked))
    assert found["label"].ravel().tolist() == adapter_of(home, "tree").predict(values)
    both = {"inputs": [tensor(values, "a"), tensor(values, "b")]}
    refused = client.post(INFER.format("tree"), json=both)
    assert (refused.status_code, "call the tensor" in refused.json()["error"]) == (400, True)


def test_models_are_listed_and_described(client, home):
    digest = adapter_of(home, "tree").digest
    listed = {one["name"]: one for one in client.post("/v2/repository/index").json()}
    assert set(listed) == {"zoo~tree", "zoo~block"}
    assert listed["zoo~tree"]["version"] == digest
    described = client.get("/v2/models/zoo~tree").json()
    assert described["versions"] == [digest]
    assert described["inputs"][0]["shape"] == [-1, N_OBSERVED]
    assert described["parameters"]["observed"] == list(adapter_of(home, "tree").observed)
    assert client.get("/v2").json()["name"] == "labelgrove"
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert client.get("/v2/models/zoo~tree/ready").status_code == 200
    for version in (digest, digest[:8]):
        assert client.get(f"/v2/models/zoo~tree/versions/{version}").json()["versions"] == [digest]
        assert client.get(f"/v2/models/zoo~tree/versions/{version}/ready").status_code == 200
        asked = {"inputs": [tensor(outputs_of("probabilities"))]}
        answer = client.post(f"/v2/models/zoo~tree/versions/{version}/infer", json=asked)
        assert answer.json()["model_version"] == digest


def test_the_digest_of_another_bundle_is_not_a_version(client, home):
    other = adapter_of(home, "block").digest
    assert client.get(f"/v2/models/zoo~tree/versions/{other}").status_code == 404


VALUES = outputs_of("probabilities", 2)
SOUND = tensor(VALUES)


def test_the_body_and_its_numbers_are_bounded(home):
    with client_of(home, Limits(score_bytes=2_000, score_values=20, requests_per_second=0)) as small:
        few, many = outputs_of("probabilities", 2), outputs_of("probabilities", 3)
        assert small.post(INFER.format("tree"), json={"inputs": [tensor(few)]}).status_code == 200
        assert small.post(INFER.format("tree"), json={"inputs": [tensor(many)]}).status_code == 400
        assert small.post(INFER.format("tree"), json={"inputs": [tensor(few)] * 9}).status_code == 413


def test_the_answers_of_a_request_are_bounded(home):
    classes = [{"name": "label", "parameters": {"classification": 3}}]
    asked = {"inputs": [tensor(outputs_of("probabilities", 5))]}
    with client_of(home, Limits(score_answers=10, requests_per_second=0)) as small:
        assert small.post(INFER.format("tree"), json=asked | {"parameters": {"k": 2}}).status_code == 200
        for more in ({"parameters": {"k": 3}}, {"outputs": classes}):
            answer = small.post(INFER.format("tree"), json=asked | more)
            assert (answer.status_code, "more than 10 answers" in answer.json()["error"]) == (400, True)


def test_names_of_no_bundle_close_none(home):
    with Workspace.open(settings_of(home)) as workspace:
        models = Models(workspace, 1)
        models.open("zoo", "tree")
        opened = models._opened["zoo/tree"]
        with pytest.raises(NotFoundError):
            models.open("zoo", "none")
        assert models._opened == {"zoo/tree": opened}
        models.open("zoo", "block")
        assert [*models._opened] == ["zoo/block"]


def test_requests_beyond_those_that_may_wait_are_asked_to_come_again(home):
    limits = Limits(scores_waiting=-usable_cores(), requests_per_second=0)
    with client_of(home, limits) as full:
        answer = full.post(INFER.format("tree"), json={"inputs": [SOUND]})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "error" in answer.json()


def test_a_bundle_is_renewed_while_it_answers_and_every_answer_is_of_one_bundle(tmp_path):
    home = tmp_path / "home"
    fill_with_bundles(home)
    values = outputs_of("probabilities", 3)
    asked = {"inputs": [tensor(values)]}
    known = {adapter_of(home, "tree").digest: adapter_of(home, "tree").predict(values)}
    seen = []
    with client_of(home) as client:
        for first in (20, 30):
            with Workspace.open(settings_of(home)) as workspace:
                build(workspace, "tree", range(first, first + N_OBSERVED))
            newest = adapter_of(home, "tree")
            known[newest.digest] = newest.predict(values)
            while seen[-1:] != [newest.digest]:  # the timeout of the test ends it, if ever
                answer = client.post(INFER.format("tree"), json=asked)
                assert answer.status_code == 200
                document = answer.json()
                assert document["outputs"][0]["data"] == known[document["model_version"]]
                seen.append(document["model_version"])
    assert seen[-1] == [*known][-1]


PEAK = """
import resource, sys
from labelgrove.service.problems import Problem
from labelgrove.service.scoring.tensors import read_request
n = 3_000_000
numbers = b"0.5" if sys.argv[1] == "numbers" else b"[]"
head = b'{"inputs": [{"name": "a", "datatype": "FP32", "shape": [%d, 2], "data": [' % n
body = head + b",".join([numbers] * 2 * n) + b"]}]}"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_request(body, None, 2 * n)
except Problem:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, len(body))
"""


@pytest.mark.parametrize("what", ["numbers", "lists"])
def test_a_large_document_takes_little_more_memory_than_itself(what):
    """An object for each number, or each list of none, would take ten to thirty times as much."""
    done = subprocess.run([sys.executable, "-c", PEAK, what], capture_output=True, text=True, check=True)
    peak, size = map(int, done.stdout.split())
    assert peak < 5 * size
