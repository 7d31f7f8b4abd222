"""Requests of the Open Inference Protocol that break one of its rules."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.unit.service.hostile.hostile_case import Case, get, post
from tests.unit.service.scoring_cases import outputs_of

__all__ = ["CASES"]

_MODEL = "/v2/models/zoo~tree"
_LENGTH = "Inference-Header-Content-Length"
_VALUES = outputs_of("probabilities", 2)
_DATA = _VALUES.astype("<f8").tobytes()


def _sent(
    rule: str, says: str, document: object, contents: bytes = b"", length: str | None = None, **more: Any
) -> Case:
    head = document if isinstance(document, bytes) else json.dumps(document).encode()
    if length is None and contents:
        length = str(len(head))
    headers = {} if length is None else {_LENGTH: length}
    return post(
        rule,
        more.get("status", 400),
        more.get("kind", "tensor"),
        says,
        f"{_MODEL}/infer",
        head + contents,
        **headers,
    )


def _input(rule: str, says: str, contents: bytes = b"", /, **changed: Any) -> Case:
    return _sent(rule, says, {"inputs": [_SOUND | changed]}, contents)


def _numbers(rule: str, says: str, contents: bytes = b"", /, **changed: Any) -> Case:
    """Return the case of a sound tensor whose numbers are not outputs of a model."""
    return _sent(rule, says, {"inputs": [_SOUND | changed]}, contents, kind="input")


def _binary(rule: str, says: str, size: object, contents: bytes = _DATA) -> Case:
    return _input(rule, says, contents, parameters={"binary_data_size": size}, data=None)


def _asked(rule: str, says: str, parameters: object, kind: str = "input", status: int = 400) -> Case:
    return _sent(rule, says, {"inputs": [_SOUND], "parameters": parameters}, kind=kind, status=status)


def _wanted(rule: str, says: str, outputs: object, kind: str = "tensor") -> Case:
    return _sent(rule, says, {"inputs": [_SOUND], "outputs": outputs}, kind=kind)


_SOUND = {"name": "probabilities", "datatype": "FP64", "shape": [2, 7], "data": _VALUES.tolist()}
CASES = [
    _sent("a length of the head that is not a number", "give a number", b"{}", length="x"),
    _sent("a negative length of the head", "give a number", b"{}", length="-1"),
    _sent("a length of the head of 30 digits", "give a number", b"{}", length="9" * 30),
    _sent("a length of the head beyond the body", "for a body of 2 bytes", b"{}", length="3"),
    _sent("a head cut off by its length", "not a JSON document", b'{"inputs": []}', length="5"),
    _sent("a tensor that is not JSON", "not a JSON document", b"tensor"),
    _sent("a request that is a list", "not a JSON object", b"[1]"),
    _sent("a request of brackets", "not a JSON object", b"[" * 100_000),
    _sent("half a request", "not a JSON document", b'{"inputs": ['),
    _sent("a request that is not UTF-8", "inputs: give a list of objects", b'{"inputs": "\xff"}'),
    _sent("a request without inputs", "no numbers given", {}),
    _sent("inputs that are not a list", "a list of objects", {"inputs": {"name": "a"}}),
    _sent("an input that is not an object", "a list of objects", {"inputs": [1]}),
    _sent("17 inputs", "at most 16", {"inputs": [_SOUND] * 17}),
    _sent(
        "two inputs of numbers",
        "inputs: 'probabilities', 'probabilities' given; call the",
        {"inputs": [_SOUND, _SOUND]},
        kind="input",
    ),
    _sent("inputs of texts alone", "no numbers given", {"inputs": [_SOUND | {"datatype": "BYTES"}]}),
    _sent("an id that is a number", "id: 1 given", {"id": 1, "inputs": [_SOUND]}),
    _sent("an id of 300 characters", "at most 200 characters", {"id": "x" * 300, "inputs": [_SOUND]}),
    _input("an input without a name", "name each tensor", name=None),
    _input("an input with an empty name", "name each tensor", name=""),
    _input("an input with a name of 201 characters", "name each tensor", name="x" * 201),
    _input("an unknown datatype", "give one of FP16", datatype="FP8"),
    _input("a datatype that is a number", "give one of FP16", datatype=1),
    _input("an input without a shape", "a list of numbers", shape=None),
    _input("a negative shape", "a list of numbers", shape=[-2, -7]),
    _input("a shape of fractions", "a list of numbers", shape=[2.0, 7]),
    _input("a shape of booleans", "a list of numbers", shape=[True, 14]),
    _input("a shape of three axes", "[rows, columns]", shape=[1, 2, 7]),
    _input("a shape of 1.6 * 10^15 numbers", "at most 50,000,000", shape=[40_000_000, 40_000_000]),
    _input("a shape that overflows", "a list of numbers", shape=[2**63, 2**63]),
    _input("a shape of more numbers than there are", "give a list of 21 numbers", shape=[3, 7]),
    _input(
        "an input without data", "give a list of 14 numbers, flat or nested as the shape [2, 7]", data=None
    ),
    _input("data that is text", "give a list of 14 numbers, flat or nested as the shape [2, 7]", data="0.5"),
    _input(
        "data of texts", "give a list of 14 numbers, flat or nested as the shape [2, 7]", data=["0.5"] * 14
    ),
    _input(
        "data of rows of different lengths",
        "give a list of 14 numbers, flat or nested as the shape [2, 7]",
        data=[[0.5], [0.5, 0.5]],
    ),
    _input("no data for one number", "give a list of 1 numbers", shape=[1, 1], data=[]),
    _input("no data for three rows", "give a list of 3 numbers", shape=[3, 1], data=[[], [], []]),
    _input("a number for no rows", "give a list of 0 numbers", shape=[0, 7], data=[0.5]),
    _sent("200,000 objects", "more than 100,000 objects", b'{"x": [' + b"{}," * 200_000 + b"{}]}"),
    _input("a name of a million lists", "name: more than 4,194,304 bytes", name=[[]] * 1_100_000),
    _input(
        "data of objects", "give a list of 14 numbers, flat or nested as the shape [2, 7]", data=[{}] * 14
    ),
    _input(
        "data of nulls", "give a list of 14 numbers, flat or nested as the shape [2, 7]", data=[None] * 14
    ),
    _input(
        "data of 10,000 brackets",
        "data of 'probabilities': '[[[[",
        data=json.loads("[" * 200 + "]" * 200),
    ),
    *[
        _input(f"{rule}, as {datatype}", "its datatype cannot hold", datatype=datatype, data=[number] * 14)
        for rule, datatype, number in (
            ("a number beyond eight bits", "INT8", 300),
            ("a number below zero", "UINT8", -1),
            ("a number beyond 63 bits", "INT64", 2**63),
            ("a fraction", "INT32", 0.5),
            ("a number beyond all whole numbers", "INT16", 1e300),
        )
    ],
    _numbers("an input of fewer columns", "3 columns", shape=[2, 3], data=[0.5] * 6),
    _numbers("an input of zeros", "sums to 0", data=[0.0] * 14),
    _numbers("an input of negative probabilities", "negative", data=[-1.0] * 14),
    _numbers(
        "an input beyond half precision",
        "P: row 0, column 0 ('k10') holds inf (and 1 more of rows 0",
        datatype="FP16",
        data=[1e300] * 14,
    ),
    _input("parameters of an input that are a list", "give an object", parameters=[]),
    _input("a size without contents", "with 0 bytes left", parameters={"binary_data_size": 112}, data=None),
    _binary("a negative size", "bytes left", -1),
    _binary("a size that is text", "bytes left", "112"),
    _binary("a size that is a boolean", "bytes left", True),
    _binary("a size below the shape", "need 112", 104),
    _binary("a size beyond the contents", "bytes left", 120),
    _binary("a size of 2^80", "bytes left", 2**80),
    _binary("a byte behind the tensor", "1 bytes are left", 112, _DATA + b"x"),
    _numbers(
        "a tensor of not-a-number",
        "NaN",
        (_VALUES * np.nan).tobytes(),
        parameters={"binary_data_size": 112},
        data=None,
    ),
    _sent("contents without a tensor", "3 bytes are left", {"inputs": [_SOUND]}, b"xyz"),
    _asked("parameters of a request that are a list", "give an object", [], "tensor"),
    _asked("no answer", "between 1 and 1,000", {"k": 0}),
    _asked("1,001 answers to a row", "between 1 and 1,000", {"k": 1_001}),
    _asked("a number of answers that is text", "between 1 and 1,000", {"k": "3"}),
    _asked("outputs of an odd kind", "odds", {"outputs": "odds"}),
    _asked("a kind of outputs that is a list", "outputs", {"outputs": []}),
    _asked("temperature 0", "temperature", {"outputs": "logits", "temperature": 0}),
    _asked("temperature as text", "temperature", {"outputs": "logits", "temperature": "1"}),
    _asked("unknown candidates", "nobody", {"candidates": ["nobody"]}, "unknown-label", 404),
    _asked("candidates that are a number", "candidates", {"candidates": 5}),
    _asked("candidates that are an empty list", "candidates", {"candidates": []}),
    _wanted("an output that nobody knows", "name some of label", [{"name": "logits"}], "input"),
    _wanted("outputs that are text", "a list of objects", "label"),
    _wanted("an output without a name", "name each tensor", [{}]),
    _wanted("17 outputs", "at most 16", [{"name": "label"}] * 17),
    _wanted(
        "a negative classification",
        "classification",
        [{"name": "label", "parameters": {"classification": -1}}],
    ),
    _wanted(
        "a classification that is text",
        "classification",
        [{"name": "label", "parameters": {"classification": "3"}}],
    ),
    _wanted(
        "10^9 classes", "at most 1,000", [{"name": "label", "parameters": {"classification": 10**9}}], "input"
    ),
    get(
        "a model of no bundle",
        404,
        "not-found",
        "there is no bundle 'zoo/nothing'; see /v1/bundles",
        "/v2/models/zoo~nothing",
    ),
    get(
        "a model of no ontology",
        404,
        "not-found",
        "there is no bundle 'nothing/tree'; see /v1/bundles",
        "/v2/models/nothing~tree",
    ),
    get(
        "a model without a tilde",
        404,
        "not-found",
        "model: 'zoo' given; models are called ontology~bundle, see",
        "/v2/models/zoo",
    ),
    get(
        "a model of a tilde alone",
        400,
        "input",
        "ontology name '': use 1 to 64 characters of a-z, 0-9, '.',",
        "/v2/models/~",
    ),
    get(
        "a model that is a path",
        400,
        "input",
        "ontology name '..': use 1 to 64 characters of a-z, 0-9,",
        "/v2/models/..~tree",
    ),
    get(
        "a model whose bundle is a path",
        400,
        "input",
        "ontology name '..\\\\..\\\\etc': use 1 to 64 characters of a-z,",
        "/v2/models/zoo~..%5C..%5Cetc",
    ),
    get(
        "a model that is an address",
        400,
        "input",
        "ontology name 's3:': use 1 to 64 characters of a-z, 0-9,",
        "/v2/models/s3:~bucket",
    ),
    get(
        "a version of a model that is another",
        404,
        "not-found",
        "there is no bundle 'zoo/tree@00000000'; see /v1/bundles",
        "/v2/models/zoo~tree/versions/00000000",
    ),
    get(
        "a version of a model of one digit",
        400,
        "input",
        "version: String should match pattern '^[0-9a-f]{8,64}$';",
        "/v2/models/zoo~tree/versions/1",
    ),
    get(
        "a version of a model that is a word",
        400,
        "input",
        "version: String should match pattern '^[0-9a-f]{8,64}$';",
        "/v2/models/zoo~tree/versions/latest",
    ),
]
