"""The Open Inference Protocol: answers equal those of the adapter to the last bit, and rules are kept."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest

from labelgrove.ontology.errors import NotFoundError
from labelgrove.ontology.versions.workspace import Workspace
from labelgrove.service.limits import Limits
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


@pytest.mark.parametrize(
    "path",
    [
        "zoo~nothing",
        "nothing~tree",
        "zoo",
        "~",
        "zoo~",
        "..~tree",
        "zoo~..%2F..%2Fetc",
        "ZOO~tree",
        "s3:~bucket",
        "zoo~tree/versions/00000000",
        "zoo~tree/versions/1",
        "zoo~tree/versions/latest",
    ],
)
def test_a_model_that_does_not_exist_is_not_found_and_no_folder_is_named(client, home, path):
    values = outputs_of("probabilities")
    for answer in (
        client.get(f"/v2/models/{path}"),
        client.get(f"/v2/models/{path}/ready"),
        client.post(f"/v2/models/{path}/infer", json={"inputs": [tensor(values)]}),
    ):
        assert answer.status_code in (400, 404), answer.text
        assert str(home) not in answer.text


def test_the_digest_of_another_bundle_is_not_a_version(client, home):
    other = adapter_of(home, "block").digest
    assert client.get(f"/v2/models/zoo~tree/versions/{other}").status_code == 404


VALUES = outputs_of("probabilities", 2)
SOUND = tensor(VALUES)
ENTRY, CONTENT = binary(VALUES)
REFUSED = {
    "a length that is not a number": (b"{}", {LENGTH: "x"}, "give a number"),
    "a negative length": (b"{}", {LENGTH: "-1"}, "give a number"),
    "a length of many digits": (b"{}", {LENGTH: "9" * 30}, "give a number"),
    "a length beyond the body": (b"{}", {LENGTH: "3"}, "for a body of 2 bytes"),
    "no JSON": (b"tensor", {}, "not a JSON document"),
    "no object": (b"[1]", {}, "not a JSON object"),
    "deep JSON": (b"[" * 100_000, {}, "not a JSON document"),
    "half a document": (b'{"inputs": [', {}, "not a JSON document"),
    "text that is not UTF-8": (b'{"inputs": "\xff"}', {}, "not a JSON document"),
    "no inputs": ({}, {}, "no numbers given"),
    "inputs that are no list": ({"inputs": {"name": "a"}}, {}, "a list of objects"),
    "an input that is no object": ({"inputs": [1]}, {}, "a list of objects"),
    "too many inputs": ({"inputs": [SOUND] * 17}, {}, "at most 16"),
    "parameters that are no object": ({"inputs": [SOUND], "parameters": []}, {}, "give an object"),
    "an id that is no text": ({"id": 1, "inputs": [SOUND]}, {}, "id: 1 given"),
    "a long id": ({"id": "x" * 300, "inputs": [SOUND]}, {}, "at most 200 characters"),
    "no name": ({"inputs": [SOUND | {"name": None}]}, {}, "name each tensor"),
    "an empty name": ({"inputs": [SOUND | {"name": ""}]}, {}, "name each tensor"),
    "an unknown datatype": ({"inputs": [SOUND | {"datatype": "FP8"}]}, {}, "give one of FP16"),
    "a datatype that is no text": ({"inputs": [SOUND | {"datatype": 1}]}, {}, "give one of FP16"),
    "no shape": ({"inputs": [SOUND | {"shape": None}]}, {}, "a list of numbers"),
    "a negative shape": ({"inputs": [SOUND | {"shape": [-2, -7]}]}, {}, "a list of numbers"),
    "a shape of fractions": ({"inputs": [SOUND | {"shape": [2.0, 7]}]}, {}, "a list of numbers"),
    "a shape of booleans": ({"inputs": [SOUND | {"shape": [True, 14]}]}, {}, "a list of numbers"),
    "three axes": ({"inputs": [SOUND | {"shape": [1, 2, 7]}]}, {}, r"\[rows, columns\]"),
    "a huge shape": ({"inputs": [SOUND | {"shape": [40_000_000, 40_000_000]}]}, {}, "at most 50,000,000"),
    "a shape that overflows": ({"inputs": [SOUND | {"shape": [2**63, 2**63]}]}, {}, "a list of numbers"),
    "a shape of other size": ({"inputs": [SOUND | {"shape": [3, 7]}]}, {}, "its shape needs 21"),
    "no data": ({"inputs": [SOUND | {"data": None}]}, {}, "a list of numbers"),
    "data that is text": ({"inputs": [SOUND | {"data": "0.5"}]}, {}, "a list of numbers"),
    "texts in data": ({"inputs": [SOUND | {"data": ["0.5"] * 14}]}, {}, "not a list of numbers"),
    "ragged data": ({"inputs": [SOUND | {"data": [[0.5], [0.5, 0.5]]}]}, {}, "different lengths"),
    "objects in data": ({"inputs": [SOUND | {"data": [{}] * 14}]}, {}, "not a list of numbers"),
    "nulls in data": ({"inputs": [SOUND | {"data": [None] * 14}]}, {}, "not a list of numbers"),
    "a size without contents": ({"inputs": [ENTRY]}, {}, "with 0 bytes left"),
    "a negative size": (*packed({"inputs": [binary(VALUES, size=-1)[0]]}, CONTENT), "bytes left"),
    "a size of text": (*packed({"inputs": [binary(VALUES, size="112")[0]]}, CONTENT), "bytes left"),
    "a smaller size": (*packed({"inputs": [binary(VALUES, size=104)[0]]}, CONTENT), "need 112"),
    "a larger size": (*packed({"inputs": [binary(VALUES, size=120)[0]]}, CONTENT), "bytes left"),
    "contents left over": (*packed({"inputs": [ENTRY]}, CONTENT, b"x"), "1 bytes are left"),
    "contents left without tensor": (*packed({"inputs": [SOUND]}, b"xyz"), "3 bytes are left"),
    "other columns": ({"inputs": [tensor(VALUES[:, :3])]}, {}, "3 columns"),
    "NaN": (*packed({"inputs": [binary(VALUES * np.nan)[0]]}, (VALUES * np.nan).tobytes()), "NaN"),
    "a negative probability": ({"inputs": [tensor(VALUES - 1)]}, {}, "negative"),
    "only zeros": ({"inputs": [tensor(VALUES * 0)]}, {}, "sums to 0"),
    "an unknown output": ({"inputs": [SOUND], "outputs": [{"name": "logits"}]}, {}, "name some of label"),
    "outputs that are no list": ({"inputs": [SOUND], "outputs": "label"}, {}, "a list of objects"),
    "no answers": ({"inputs": [SOUND], "parameters": {"k": 0}}, {}, "between 1 and 1,000"),
    "too many answers": ({"inputs": [SOUND], "parameters": {"k": 1_001}}, {}, "between 1 and 1,000"),
    "answers as text": ({"inputs": [SOUND], "parameters": {"k": "3"}}, {}, "between 1 and 1,000"),
    "an unknown kind": ({"inputs": [SOUND], "parameters": {"outputs": "odds"}}, {}, "odds"),
    "a kind that is a list": ({"inputs": [SOUND], "parameters": {"outputs": []}}, {}, "outputs"),
    "temperature 0": (
        {"inputs": [SOUND], "parameters": {"outputs": "logits", "temperature": 0}},
        {},
        "temperature",
    ),
    "temperature as text": (
        {"inputs": [SOUND], "parameters": {"outputs": "logits", "temperature": "1"}},
        {},
        "temperature",
    ),
    "unknown candidates": ({"inputs": [SOUND], "parameters": {"candidates": ["nobody"]}}, {}, "nobody"),
    "candidates of a number": ({"inputs": [SOUND], "parameters": {"candidates": 5}}, {}, "candidates"),
    "a negative classification": (
        {"inputs": [SOUND], "outputs": [{"name": "label", "parameters": {"classification": -1}}]},
        {},
        "classification",
    ),
    "too many classes": (
        {"inputs": [SOUND], "outputs": [{"name": "label", "parameters": {"classification": 10**9}}]},
        {},
        "at most 1,000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_that_breaks_a_rule_is_refused_and_says_which(client, case):
    content, headers, says = REFUSED[case]
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = client.post(INFER.format("tree"), content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    document = answer.json()
    assert document["error"] == document["detail"]
    assert re.search(says, document["detail"]), document["detail"]


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


def test_a_body_that_comes_too_slowly_is_refused(home):
    with client_of(home, Limits(body_s=0.0, requests_per_second=0)) as hasty:
        answer = hasty.post(INFER.format("tree"), json={"inputs": [SOUND]})
        assert (answer.status_code, answer.json()["exit_code"]) == (408, 1)


def test_requests_beyond_those_that_may_wait_are_asked_to_come_again(home):
    limits = Limits(scores_waiting=-(os.cpu_count() or 1), requests_per_second=0)
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
